//! Questions that are asked by making an object, and what others need to check our answers.

use crate::stage::Stage;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

const ACCOUNT: &str = "/api/v1/namespaces/n/serviceaccounts/default/token";

#[tokio::test]
async fn whoever_trusts_the_issuer_finds_the_key_that_signs_its_tokens() {
    let stage = Stage::new().await;
    let request = Stage::request("GET /.well-known/openid-configuration").header("host", "api.example.com:6443");
    let told = stage.answer(request.body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(told.header("content-type"), Some("application/json"));
    let told = told.expect(200);
    assert_eq!(told["issuer"], "https://issuer");
    assert_eq!(told["jwks_uri"], "https://api.example.com:6443/openid/v1/jwks");
    assert_eq!(told["id_token_signing_alg_values_supported"], json!(["ES256"]));

    let keys = stage.ask("GET /openid/v1/jwks").await;
    assert_eq!(keys.header("content-type"), Some("application/jwk-set+json"));
    let keys = keys.expect(200);
    let key = &keys["keys"][0];
    assert_eq!((&key["kty"], &key["crv"], &key["alg"]), (&json!("EC"), &json!("P-256"), &json!("ES256")));

    let made = stage.send(&format!("POST {ACCOUNT}"), &json!({ "spec": {} })).await.expect(201);
    let token = made["status"]["token"].as_str().unwrap();
    let header = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    assert_eq!(header["kid"], key["kid"]);
    let point = |name: &str| key[name].as_str().unwrap();
    let checking = jsonwebtoken::DecodingKey::from_ec_components(point("x"), point("y")).unwrap();
    let mut rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::ES256);
    (rules.validate_exp, rules.validate_aud) = (false, false);
    rules.set_issuer(&["https://issuer"]);
    jsonwebtoken::decode::<Value>(token, &checking, &rules).unwrap();
}

#[tokio::test]
async fn a_token_that_was_asked_for_says_when_it_was_made() {
    let stage = Stage::new().await;
    let made = stage.send(&format!("POST {ACCOUNT}"), &json!({ "spec": {} })).await.expect(201);
    assert_eq!(made["metadata"]["creationTimestamp"], "2027-01-15T08:00:00Z");
    assert!(made["metadata"]["uid"].as_str().is_some_and(|uid| uid.len() == 36));
    let odd = json!({ "spec": { "boundObjectRef": { "kind": "Odd", "name": "x", "apiVersion": "v1" } } });
    let (_, message) = stage.send(&format!("POST {ACCOUNT}"), &odd).await.refused(400);
    assert_eq!(message, "cannot bind token to object of type /v1, Kind=Odd");
}

#[tokio::test]
async fn a_question_has_no_name() {
    let stage = Stage::new().await;
    let about = json!({ "resourceAttributes": { "verb": "get", "resource": "pods" } });
    let named = json!({ "metadata": { "name": "x" }, "spec": about });
    let line = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (_, message) = stage.send(line, &named).await.refused(422);
    assert!(message.ends_with("metadata: Invalid value: {\"name\":\"x\"}: must be empty"), "{message}");
    let about = json!({ "user": "u", "resourceAttributes": { "verb": "get", "resource": "pods", "namespace": "n" } });
    let local = "POST /apis/authorization.k8s.io/v1/namespaces/n/localsubjectaccessreviews";
    stage.send(local, &json!({ "spec": about })).await.expect(201);
}

#[tokio::test]
async fn a_question_about_some_objects_says_which_in_one_way() {
    let stage = Stage::new().await;
    let check = async |name: &str, selector: Value, expected: &[&str]| {
        for (plural, within) in [
            ("subjectaccessreviews", ""),
            ("selfsubjectaccessreviews", ""),
            ("localsubjectaccessreviews", "namespaces/n/"),
        ] {
            let about = json!({ "verb": "list", "resource": "pods", "namespace": "n", name: selector });
            let subject = if plural.starts_with("self") { Value::Null } else { json!("u") };
            let review = json!({ "spec": { "user": subject, "resourceAttributes": about } });
            let answer = stage.send(&format!("POST /apis/authorization.k8s.io/v1/{within}{plural}"), &review).await;
            if expected.is_empty() {
                answer.expect(201);
                continue;
            }
            let status = answer.expect(422);
            let causes = status["details"]["causes"].as_array().unwrap().iter();
            let told: Vec<String> = causes.map(|cause| format!("{}: {}", cause["field"], cause["message"])).collect();
            let place = format!("spec.resourceAttributes.{name}");
            let expected: Vec<String> = expected.iter().map(|one| one.replace("@", &place)).collect();
            assert_eq!(told, expected, "{plural} {selector}");
        }
    };
    let one = |operator: &str, values: Value| json!({ "key": "a", "operator": operator, "values": values });
    for name in ["fieldSelector", "labelSelector"] {
        check(name, json!({ "rawSelector": "a=b" }), &[]).await;
        check(name, json!({ "requirements": [one("In", json!(["b"])), one("Odd", json!([]))] }), &[]).await;
        let neither =
            "\"@.requirements\": \"Required value: when @ is specified, requirements or rawSelector is required\"";
        check(name, json!({}), &[neither]).await;
        let both =
            "\"@.rawSelector\": \"Invalid value: \\\"a\\\": may not specified at the same time as requirements\"";
        check(name, json!({ "rawSelector": "a", "requirements": [one("In", json!(["b"]))] }), &[both]).await;
        let none =
            "\"@.requirements[0].values\": \"Required value: must be specified when `operator` is 'In' or 'NotIn'\"";
        check(name, json!({ "requirements": [one("NotIn", json!([]))] }), &[none]).await;
        let some = "\"@.requirements[0].values\": \"Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'\"";
        check(name, json!({ "requirements": [one("Exists", json!(["b"]))] }), &[some]).await;
    }
    let keyless = json!({ "requirements": [{ "operator": "In", "values": ["b"] }] });
    check("fieldSelector", keyless, &["\"@.requirements[0].key\": \"Required value: must be specified\""]).await;
}

#[tokio::test]
async fn a_pod_is_bound_to_one_node_once() {
    let stage = Stage::new().await;
    let pods = "/api/v1/namespaces/n/pods";
    for name in ["p", "q"] {
        let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
        let pod = json!({ "metadata": { "name": name, "labels": { "a": "own" } }, "spec": spec });
        stage.send(&format!("POST {pods}"), &pod).await.expect(201);
    }
    let metadata = json!({ "name": "p", "annotations": { "x": "1" }, "labels": { "a": "2", "b": "3" } });
    let binding = json!({ "metadata": metadata, "target": { "kind": "Node", "name": "here" } });
    let line = format!("POST {pods}/p/binding");
    assert_eq!(stage.send(&line, &binding).await.expect(201)["status"], "Success");
    let bound = stage.ask(&format!("GET {pods}/p")).await.expect(200);
    assert_eq!(bound["spec"]["nodeName"], "here");
    assert_eq!(bound["metadata"]["annotations"], json!({ "x": "1" }));
    assert_eq!(bound["metadata"]["labels"], json!({ "a": "own", "b": "3" }));
    let scheduled = &bound["status"]["conditions"][0];
    assert_eq!((&scheduled["type"], &scheduled["status"]), (&json!("PodScheduled"), &json!("True")));

    let (reason, message) = stage.send(&line, &binding).await.refused(409);
    let expected = "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"here\"";
    assert_eq!((&*reason, &*message), ("Conflict", expected));
    let other = format!("POST {pods}/q/binding");
    stage.send(&other, &binding).await.refused(400);
    let stale = json!({ "metadata": { "name": "q", "uid": "another" }, "target": { "name": "here" } });
    stage.send(&other, &stale).await.refused(409);
    stage.send(&other, &json!({ "metadata": { "name": "q" }, "target": {} })).await.refused(422);
    let old = json!({ "metadata": { "name": "q" }, "target": { "name": "there" } });
    stage.send("POST /api/v1/namespaces/n/bindings", &old).await.expect(201);
    assert_eq!(stage.ask(&format!("GET {pods}/q")).await.expect(200)["spec"]["nodeName"], "there");
}

#[tokio::test]
async fn an_event_is_judged_by_the_rules_of_the_group_it_comes_through() {
    let stage = Stage::new().await;
    let about = json!({ "kind": "Pod", "namespace": "n", "name": "p" });
    let event = json!({ "metadata": { "name": "e" }, "regarding": about, "reason": "R", "type": "Odd" });
    let status = stage.send("POST /apis/events.k8s.io/v1/namespaces/n/events", &event).await.expect(422);
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with("Event \"e\" is invalid: ["), "{message}");
    assert!(message.contains("eventTime: Required value"), "{message}");
    let old = json!({ "metadata": { "name": "e" }, "involvedObject": about, "reason": "R", "type": "Odd" });
    stage.send("POST /api/v1/namespaces/n/events", &old).await.expect(201);
}
