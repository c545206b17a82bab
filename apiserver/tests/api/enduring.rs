//! Requests that are meant to hurt: each is answered, with a `Status` where it is refused, and soon.

use crate::stage::{Answer, CONFIGMAPS, Stage};
use serde_json::{Map, Value, json};
use std::time::Duration;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/hostile.example.com/v1/namespaces/n/things";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";

/// Far more than any of these takes, and far less than what it would take without a bound.
const SOON: Duration = Duration::from_secs(40);

async fn soon(answer: impl Future<Output = Answer>) -> Answer {
    tokio::time::timeout(SOON, answer).await.expect("it is answered soon")
}

async fn define(stage: &Stage, spec: Value) -> Answer {
    let schema = json!({ "type": "object", "properties": { "spec": spec } });
    let definition = json!({
        "metadata": { "name": "things.hostile.example.com" },
        "spec": {
            "group": "hostile.example.com", "scope": "Namespaced", "names": { "plural": "things", "kind": "Thing" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    soon(stage.send(&format!("POST {DEFINITIONS}"), &definition)).await
}

async fn make(stage: &Stage, spec: Value) -> Answer {
    let thing =
        json!({ "apiVersion": "hostile.example.com/v1", "kind": "Thing", "metadata": { "name": "t" }, "spec": spec });
    soon(stage.send(&format!("POST {THINGS}"), &thing)).await
}

fn text(pattern: &str) -> Value {
    json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": pattern } } })
}

#[tokio::test]
async fn patterns_that_would_take_forever_elsewhere_do_not() {
    for pattern in ["^(a+)+$", "^(a|aa)+$", "^(.*a){20}$", "(x+x+)+y"] {
        let stage = Stage::new().await;
        define(&stage, text(pattern)).await.expect(201);
        make(&stage, json!({ "a": format!("{}!", "a".repeat(200_000)) })).await.refused(422);
    }
    for pattern in ["((a{1,100}){1,100}){1,100}", "(((((a{10}){10}){10}){10}){10}){10}", "a{1001}"] {
        let (_, message) = define(&Stage::new().await, text(pattern)).await.refused(422);
        assert!(message.contains("pattern"), "{message}");
    }
}

#[tokio::test]
async fn schemas_within_schemas_end() {
    let wide: Vec<Value> = (0..4000).map(|at| json!({ "minLength": at % 3 })).collect();
    let nested = (0..50).fold(json!({ "minLength": 1 }), |inner, _| json!({ "allOf": [inner] }));
    for all_of in [json!(wide), json!([nested])] {
        let stage = Stage::new().await;
        let spec = json!({ "type": "object", "properties": { "a": { "type": "string", "allOf": all_of } } });
        if define(&stage, spec).await.code == 201 {
            make(&stage, json!({ "a": "" })).await.refused(422);
        }
    }
}

#[tokio::test]
async fn references_lead_nowhere() {
    let spec = json!({ "type": "object", "properties": { "a": { "$ref": "#/properties/spec" } } });
    let (_, message) = define(&Stage::new().await, spec).await.refused(422);
    assert!(message.contains("$ref is not supported"), "{message}");
}

#[tokio::test]
async fn a_definition_that_is_too_large_is_refused_and_a_large_one_is_read() {
    let stage = Stage::new().await;
    let large = |fields: usize, words: usize| {
        let field = |at: usize| (format!("field{at}"), json!({ "type": "string", "description": "x".repeat(words) }));
        json!({ "type": "object", "properties": (0..fields).map(field).collect::<Map<_, _>>() })
    };
    let (reason, _) = define(&stage, large(10_000, 1000)).await.refused(413);
    assert_eq!(reason, "RequestEntityTooLarge");
    define(&stage, large(2_000, 500)).await.expect(201);
    make(&stage, json!({ "field7": "x", "odd": 1 })).await.expect(201);
}

#[tokio::test]
async fn rules_that_explode_are_refused_before_they_run() {
    let spec = |rule: &str| {
        let list = json!({ "type": "array", "items": { "type": "string" } });
        json!({ "type": "object", "properties": { "l": list }, "x-kubernetes-validations": [{ "rule": rule }] })
    };
    let loops = "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d != ''))))";
    let deep = format!("{}true{}", "(".repeat(5_000), ")".repeat(5_000));
    let wide = vec!["self.l.size() > 0"; 20_000].join(" && ");
    for rule in [loops, &deep, &wide] {
        define(&Stage::new().await, spec(rule)).await.refused(422);
    }
    let stage = Stage::new().await;
    let rule =
        json!({ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"] });
    for expression in [deep, wide] {
        let spec = json!({
            "matchConstraints": { "resourceRules": [rule] }, "validations": [{ "expression": expression }],
        });
        let policy = json!({ "metadata": { "name": "p" }, "spec": spec });
        let answered = soon(stage.send(&format!("POST {POLICIES}"), &policy)).await;
        assert!([201, 422].contains(&answered.code), "{}", answered.code);
        soon(stage.ask(&format!("DELETE {POLICIES}/p"))).await;
    }
}

#[tokio::test]
async fn a_crowd_of_owners_and_what_they_cannot_own_is_survived() {
    let stage = Stage::new().await;
    let made = stage.configmap("a", json!({})).await;
    let entry = |at: usize, fields: Value| {
        json!({
            "manager": format!("m{at}"), "operation": if at.is_multiple_of(2) { "Apply" } else { "Update" }, "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields,
        })
    };
    let crowd: Vec<Value> = (0..5_000).map(|at| entry(at, json!({ "f:data": { format!("f:k{at}"): {} } }))).collect();
    let mut changed = made.clone();
    changed["metadata"]["managedFields"] = json!(crowd);
    changed["data"]["k"] = "2".into();
    soon(stage.send(&format!("PUT {CONFIGMAPS}/a"), &changed)).await.expect(200);
    let applied = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": "3" } });
    let line = format!("PATCH {CONFIGMAPS}/a?fieldManager=m&force=true");
    soon(stage.send_as(&line, "application/apply-patch+yaml", applied.to_string())).await.expect(200);
    let owned = stage.configmap("b", json!({})).await;
    for odd in [
        json!({ "f:data": 7 }),
        json!({ "x": {} }),
        json!([1]),
        json!({ "k:{": {} }),
        json!({ "i:x": {} }),
        json!({ "v:nonsense": {} }),
        json!({ "f:a": { "k:[]": {} } }),
        json!("text"),
    ] {
        let mut changed = owned.clone();
        changed["metadata"]["managedFields"] = json!([entry(0, odd.clone())]);
        changed["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        let answered = soon(stage.send(&format!("PUT {CONFIGMAPS}/b"), &changed)).await;
        assert!([200, 400, 422].contains(&answered.code), "{odd}: {}", answered.code);
    }
}
