//! Creating, replacing and patching.

use crate::stage::{CONFIGMAPS, Stage};
use openapi::protobuf;
use serde_json::{Value, json};

#[tokio::test]
async fn a_created_object_has_what_only_the_server_knows() {
    let stage = Stage::new().await;
    let object = json!({ "metadata": { "name": "a", "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z" } });
    let made = stage.send(&format!("POST {CONFIGMAPS}"), &object).await.expect(201);
    assert_eq!((&made["kind"], &made["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
    assert_eq!(made["metadata"]["creationTimestamp"], "2027-01-15T08:00:00Z");
    assert_ne!(made["metadata"]["uid"], "mine");
    assert_eq!(made["metadata"]["namespace"], "n");
    let read = stage.ask(&format!("GET {CONFIGMAPS}/a")).await.expect(200);
    assert_eq!(read, made);
    let revision: u64 = made["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    assert!(revision > 0);
}

#[tokio::test]
async fn what_cannot_be_created_is_refused_in_kubernetes_words() {
    let stage = Stage::new().await;
    stage.configmap("a", json!({})).await;
    let post = format!("POST {CONFIGMAPS}");
    let check = async |line: &str, object: Value, code, reason: &str, message: &str| {
        let (found, text) = stage.send(line, &object).await.refused(code);
        assert_eq!(found, reason);
        assert!(text.contains(message), "{text}");
    };
    check(&post, json!({ "metadata": { "name": "a" } }), 409, "AlreadyExists", "configmaps \"a\" already exists").await;
    check(&post, json!({ "metadata": {} }), 422, "Invalid", "name or generateName is required").await;
    check(&post, json!({ "metadata": { "name": "No" } }), 422, "Invalid", "metadata.name: Invalid value: \"No\"").await;
    let elsewhere = json!({ "metadata": { "name": "b", "namespace": "m" } });
    check(&post, elsewhere, 400, "BadRequest", "does not match the namespace sent on the request").await;
    check(&post, json!({ "kind": "Secret" }), 400, "BadRequest", "does not match the expected kind").await;
    let seen = json!({ "metadata": { "name": "b", "resourceVersion": "1" } });
    check(&post, seen, 500, "", "resourceVersion should not be set").await;
    let missing = "POST /api/v1/namespaces/missing/configmaps";
    check(missing, json!({ "metadata": { "name": "b" } }), 404, "NotFound", "namespaces \"missing\" not found").await;
}

#[tokio::test]
async fn generated_names_are_unique() {
    let stage = Stage::new().await;
    let mut names = Vec::new();
    for _ in 0..20 {
        let made = stage.send(&format!("POST {CONFIGMAPS}"), &json!({ "metadata": { "generateName": "x-" } })).await;
        names.push(made.expect(201)["metadata"]["name"].as_str().unwrap().to_owned());
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 20);
    assert!(names.iter().all(|name| name.len() == 7 && name.starts_with("x-")));
}

#[tokio::test]
async fn what_follows_from_a_generated_name_is_nobodys() {
    let stage = Stage::new().await;
    let made =
        stage.send("POST /api/v1/namespaces", &json!({ "metadata": { "generateName": "x-" } })).await.expect(201);
    assert_eq!(made["metadata"]["labels"]["kubernetes.io/metadata.name"], made["metadata"]["name"]);
    let owned = &made["metadata"]["managedFields"][0]["fieldsV1"];
    assert_eq!(*owned, json!({ "f:metadata": { "f:generateName": {} } }));
}

#[tokio::test]
async fn whoever_writes_a_daemon_set_owns_the_number_of_its_template() {
    let stage = Stage::new().await;
    let sets = "/apis/apps/v1/namespaces/n/daemonsets";
    let template = json!({ "metadata": { "labels": { "a": "b" } },
        "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let selector = json!({ "matchLabels": { "a": "b" } });
    let set = json!({ "metadata": { "name": "d" }, "spec": { "selector": selector, "template": template } });
    let made = stage.send(&format!("POST {sets}"), &set).await.expect(201);
    let number = "deprecated.daemonset.template.generation";
    assert_eq!(made["metadata"]["annotations"], json!({ number: "1" }));
    let owned = &made["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:annotations"];
    assert_eq!(*owned, json!({ ".": {}, format!("f:{number}"): {} }));
    let status = stage.send(&format!("PUT {sets}/d/status"), &set).await.expect(200);
    assert_eq!(status["metadata"]["annotations"], json!({ number: "1" }));
}

#[tokio::test]
async fn a_dry_run_answers_and_leaves_nothing() {
    let stage = Stage::new().await;
    let before = stage.store.recent().revision();
    let object = json!({ "metadata": { "name": "a" } });
    stage.send(&format!("POST {CONFIGMAPS}?dryRun=All"), &object).await.expect(201);
    assert_eq!(stage.store.recent().revision(), before);
    stage.send(&format!("POST {CONFIGMAPS}?dryRun=Some"), &object).await.refused(422);
}

#[tokio::test]
async fn unknown_and_repeated_fields_are_an_error_a_warning_or_nothing() {
    let stage = Stage::new().await;
    let body = r#"{"metadata":{"name":"a","odd":1},"data":{"k":"1","k":"2"},"more":true}"#;
    let post = |validation: &str| format!("POST {CONFIGMAPS}?fieldValidation={validation}");
    let (_, message) = stage.send_as(&post("Strict"), "application/json", body).await.refused(400);
    let expected = r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.odd", duplicate field "data.k", unknown field "more""#;
    assert_eq!(message, expected);
    let warned = stage.send_as(&post("Warn"), "application/json", body).await;
    let warnings: Vec<_> = warned.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect();
    assert_eq!(warnings[0], r#"299 - "unknown field \"metadata.odd\"""#);
    let made = warned.expect(201);
    assert_eq!((&made["data"]["k"], made.get("more")), (&json!("2"), None));
    let body = body.replace(r#""a""#, r#""b""#);
    let ignored = stage.send_as(&post("Ignore"), "application/json", body).await;
    assert_eq!((ignored.code, ignored.header("warning")), (201, None));
    assert_eq!(stage.send_as(&post("Odd"), "application/json", "{}").await.code, 422);
}

#[tokio::test]
async fn bodies_come_in_protobuf_and_yaml_too() {
    let stage = Stage::new().await;
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "p" }, "data": { "k": "v" } });
    let bytes = protobuf::encode(&object).unwrap();
    let post = format!("POST {CONFIGMAPS}");
    let made = stage.send_as(&post, "application/vnd.kubernetes.protobuf", bytes).await.expect(201);
    assert_eq!(made["data"]["k"], "v");
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: why\ndata:\n  k: v\n";
    stage.send_as(&post, "application/yaml", yaml).await.expect(201);
    let read = stage.ask_for(&format!("GET {CONFIGMAPS}/why"), "application/vnd.kubernetes.protobuf").await;
    assert_eq!(protobuf::decode(&read.bytes).unwrap()["data"]["k"], "v");
    let read = stage.ask_for(&format!("GET {CONFIGMAPS}/why"), "application/yaml").await;
    assert!(String::from_utf8(read.bytes).unwrap().contains("\nkind: ConfigMap\n"));
}

#[tokio::test]
async fn bad_bodies_are_refused_and_nothing_breaks() {
    let stage = Stage::new().await;
    let post = format!("POST {CONFIGMAPS}");
    for body in ["", "{", "[]", "null", "\"x\"", "{\"metadata\":[]}", "{\"data\":{\"k\":1}}"] {
        assert_eq!(stage.send_as(&post, "application/json", body).await.code / 100, 4, "{body}");
    }
    stage.send_as(&post, "application/json", "[".repeat(100_000)).await.refused(400);
    stage.send_as(&post, "application/vnd.kubernetes.protobuf", "k8s\0\x0a\x7f").await.refused(400);
    stage.send_as(&post, "application/yaml", "a: [").await.refused(400);
    stage.send_as(&post, "text/plain", "x").await.refused(415);
    stage.send_as(&post, "application/json", vec![b' '; 3 * 1024 * 1024 + 1]).await.refused(413);
}

#[tokio::test]
async fn a_stale_write_is_refused_and_one_that_changes_nothing_is_none() {
    let stage = Stage::new().await;
    let made = stage.configmap("a", json!({})).await;
    let put = format!("PUT {CONFIGMAPS}/a");
    let same = stage.send(&put, &made).await.expect(200);
    assert_eq!(same["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    let mut changed = made.clone();
    changed["data"]["k"] = json!("w");
    let newer = stage.send(&put, &changed).await.expect(200);
    assert_ne!(newer["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    let (reason, message) = stage.send(&put, &changed).await.refused(409);
    assert_eq!(reason, "Conflict");
    assert!(message.ends_with("please apply your changes to the latest version and try again"), "{message}");
    changed["metadata"]["resourceVersion"] = json!("");
    stage.send(&put, &changed).await.expect(200);
    changed["metadata"]["uid"] = json!("another");
    stage.send(&put, &changed).await.refused(409);
    changed["metadata"]["name"] = json!("b");
    stage.send(&put, &changed).await.refused(400);
    stage.send(&format!("PUT {CONFIGMAPS}/missing"), &json!({ "metadata": { "name": "missing" } })).await.refused(404);
}

#[tokio::test]
async fn some_kinds_are_made_by_writing_them_and_some_must_name_what_they_replace() {
    let stage = Stage::new().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l";
    let lease = json!({ "metadata": { "name": "l" }, "spec": { "holderIdentity": "me" } });
    stage.send(&format!("PUT {leases}"), &lease).await.expect(201);
    let (reason, message) = stage.send(&format!("PUT {leases}"), &lease).await.refused(422);
    assert_eq!(reason, "Invalid");
    assert!(message.contains("must be specified for an update"), "{message}");
}

#[tokio::test]
async fn patches_of_every_kind_change_what_they_name() {
    let stage = Stage::new().await;
    let deployment = json!({
        "metadata": { "name": "d" },
        "spec": {
            "selector": { "matchLabels": { "a": "b" } },
            "template": {
                "metadata": { "labels": { "a": "b" } },
                "spec": { "containers": [{ "name": "x", "image": "x:1" }, { "name": "y", "image": "y:1" }] },
            },
        },
    });
    let deployments = "/apis/apps/v1/namespaces/n/deployments";
    stage.send(&format!("POST {deployments}"), &deployment).await.expect(201);
    let patch = format!("PATCH {deployments}/d");
    let images = |tree: &Value| {
        let list = tree["spec"]["template"]["spec"]["containers"].as_array().unwrap().clone();
        list.iter().map(|one| one["image"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let strategic = json!({ "spec": { "template": { "spec": { "containers": [{ "name": "y", "image": "y:2" }] } } } });
    let answer = stage.send_as(&patch, "application/strategic-merge-patch+json", strategic.to_string()).await;
    let tree = answer.expect(200);
    assert_eq!(images(&tree), ["x:1", "y:2"]);
    assert_eq!(tree["metadata"]["generation"], 2);
    let json_patch = json!([{ "op": "replace", "path": "/spec/replicas", "value": 4 }]);
    let tree = stage.send_as(&patch, "application/json-patch+json", json_patch.to_string()).await.expect(200);
    assert_eq!((&tree["spec"]["replicas"], &tree["metadata"]["generation"]), (&json!(4), &json!(3)));
    let merge = json!({ "metadata": { "labels": { "k": "v" } } });
    let tree = stage.send_as(&patch, "application/merge-patch+json", merge.to_string()).await.expect(200);
    assert_eq!(tree["metadata"]["generation"], 3, "labels are not asked of anybody");
    let merge = json!({ "metadata": { "annotations": { "k": "v" } } });
    let tree = stage.send_as(&patch, "application/merge-patch+json", merge.to_string()).await.expect(200);
    assert_eq!(tree["metadata"]["generation"], 4, "a deployment's annotations are, in Kubernetes");
    let stale = json!({ "metadata": { "resourceVersion": "1" } });
    stage.send_as(&patch, "application/merge-patch+json", stale.to_string()).await.refused(409);
    let failing = json!([{ "op": "test", "path": "/spec/replicas", "value": 9 }]);
    stage.send_as(&patch, "application/json-patch+json", failing.to_string()).await.refused(422);
    stage.send_as(&patch, "application/unknown", "{}").await.refused(415);
    stage.send_as(&patch, "application/merge-patch+json", "[]").await.refused(400);
    stage.send_as(&format!("PATCH {deployments}/missing"), "application/merge-patch+json", "{}").await.refused(404);
}

#[tokio::test]
async fn status_and_spec_have_doors_of_their_own() {
    let stage = Stage::new().await;
    let deployments = "/apis/apps/v1/namespaces/n/deployments";
    let deployment = json!({
        "metadata": { "name": "d" }, "status": { "replicas": 9 },
        "spec": {
            "selector": { "matchLabels": { "a": "b" } },
            "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "x", "image": "x" }] } },
        },
    });
    let made = stage.send(&format!("POST {deployments}"), &deployment).await.expect(201);
    assert_eq!(made["status"], json!({}));
    let mut told = made.clone();
    told["status"] = json!({ "replicas": 3, "observedGeneration": 1 });
    told["spec"]["replicas"] = json!(7);
    let told = stage.send(&format!("PUT {deployments}/d/status"), &told).await.expect(200);
    assert_eq!((&told["status"]["replicas"], &told["spec"]["replicas"]), (&json!(3), &json!(1)));
    let mut asked = told.clone();
    asked["status"] = json!({});
    asked["spec"]["replicas"] = json!(2);
    let asked = stage.send(&format!("PUT {deployments}/d"), &asked).await.expect(200);
    assert_eq!((&asked["status"]["replicas"], &asked["spec"]["replicas"]), (&json!(3), &json!(2)));
    let scale = stage.ask(&format!("GET {deployments}/d/scale")).await.expect(200);
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(2)));
    assert_eq!(scale["status"], json!({ "replicas": 3, "selector": "a=b" }));
    let wanted = json!({ "metadata": { "name": "d", "namespace": "n" }, "spec": { "replicas": 5 } });
    stage.send(&format!("PUT {deployments}/d/scale"), &wanted).await.expect(200);
    let merge = r#"{"spec":{"replicas":6}}"#;
    let scaled = stage.send_as(&format!("PATCH {deployments}/d/scale"), "application/merge-patch+json", merge).await;
    assert_eq!(scaled.expect(200)["spec"]["replicas"], 6);
    let negative = json!({ "metadata": { "name": "d" }, "spec": { "replicas": -1 } });
    stage.send(&format!("PUT {deployments}/d/scale"), &negative).await.refused(422);
}

#[tokio::test]
async fn one_event_is_seen_through_two_groups() {
    let stage = Stage::new().await;
    let event = json!({
        "metadata": { "name": "e" }, "involvedObject": { "kind": "Pod", "name": "p", "namespace": "n" },
        "reason": "Because", "message": "it happened", "type": "Normal", "count": 1,
        "firstTimestamp": "2027-01-15T08:00:00Z", "lastTimestamp": "2027-01-15T08:00:00Z",
    });
    stage.send("POST /api/v1/namespaces/n/events", &event).await.expect(201);
    let seen = stage.ask("GET /apis/events.k8s.io/v1/namespaces/n/events/e").await.expect(200);
    assert_eq!((&seen["note"], &seen["regarding"]["name"]), (&json!("it happened"), &json!("p")));
    assert_eq!(seen["apiVersion"], "events.k8s.io/v1");
    let found = stage.ask("GET /apis/events.k8s.io/v1/events?fieldSelector=regarding.name%3Dp").await.expect(200);
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn tokens_of_service_accounts_are_good_until_the_account_goes() {
    let stage = Stage::new().await;
    let accounts = "/api/v1/namespaces/n/serviceaccounts";
    stage.send(&format!("POST {accounts}"), &json!({ "metadata": { "name": "s" } })).await.expect(201);
    let made = stage.send(&format!("POST {accounts}/s/token"), &json!({ "spec": {} })).await.expect(201);
    let token = made["status"]["token"].as_str().unwrap().to_owned();
    let reviews = "POST /apis/authentication.k8s.io/v1/tokenreviews";
    let ask = json!({ "spec": { "token": token } });
    let review = stage.send(reviews, &ask).await.expect(201);
    assert_eq!(review["status"]["user"]["username"], "system:serviceaccount:n:s");
    let other = json!({ "spec": { "token": token, "audiences": ["elsewhere"] } });
    assert_ne!(stage.send(reviews, &other).await.expect(201)["status"]["authenticated"], true);
    stage.send(&format!("POST {accounts}/s/token"), &json!({ "spec": { "expirationSeconds": 5 } })).await.refused(422);
    stage.ask(&format!("DELETE {accounts}/s")).await.expect(200);
    assert_ne!(stage.send(reviews, &ask).await.expect(201)["status"]["authenticated"], true);
}

#[tokio::test]
async fn questions_that_make_no_sense_are_refused() {
    let stage = Stage::new().await;
    let reviews = "/apis/authorization.k8s.io/v1";
    let local = format!("POST {reviews}/namespaces/n/localsubjectaccessreviews");
    let about = |namespace: &str| {
        let pods = json!({ "namespace": namespace, "verb": "list", "resource": "pods" });
        json!({ "metadata": { "namespace": "n" }, "spec": { "user": "eve", "resourceAttributes": pods } })
    };
    stage.send(&local, &about("n")).await.expect(201);
    let (_, message) = stage.send(&local, &about("elsewhere")).await.refused(422);
    assert!(message.ends_with("must match metadata.namespace"), "{message}");
    let anybody = stage.send(&format!("POST {reviews}/subjectaccessreviews"), &json!({ "spec": {} })).await.expect(422);
    assert_eq!(anybody["details"]["causes"].as_array().map(Vec::len), Some(2), "{anybody}");
    let rules = format!("POST {reviews}/selfsubjectrulesreviews");
    assert_eq!(stage.send(&rules, &json!({ "spec": {} })).await.refused(400).1, "no namespace on request");
    stage.send(&rules, &json!({ "spec": { "namespace": "n" } })).await.expect(201);
}

#[tokio::test]
async fn kinds_that_had_their_day_come_with_a_warning() {
    let stage = Stage::new().await;
    let expected = "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"";
    for line in ["GET /api/v1/namespaces/n/endpoints", "GET /api/v1/namespaces/n/endpoints/absent"] {
        assert_eq!(stage.ask(line).await.header("warning"), Some(expected), "{line}");
    }
    assert_eq!(stage.ask("GET /api/v1/namespaces/n/services").await.header("warning"), None);
}

#[tokio::test]
async fn an_autoscaler_of_version_1_says_that_nothing_runs() {
    let stage = Stage::new().await;
    let spec =
        json!({ "maxReplicas": 2, "scaleTargetRef": { "kind": "Deployment", "name": "d", "apiVersion": "apps/v1" } });
    let at = "/apis/autoscaling/v1/namespaces/n/horizontalpodautoscalers";
    let wanted = json!({ "metadata": { "name": "a" }, "spec": spec });
    let made = stage.send(&format!("POST {at}"), &wanted).await.expect(201);
    assert_eq!(made["status"], json!({ "currentReplicas": 0, "desiredReplicas": 0 }));
}

#[tokio::test]
async fn a_scale_is_of_the_object_it_names() {
    let stage = Stage::new().await;
    let pod =
        json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let spec = json!({ "selector": { "matchLabels": { "a": "b" } }, "template": pod });
    let at = "/apis/apps/v1/namespaces/n/deployments";
    stage.send(&format!("POST {at}"), &json!({ "metadata": { "name": "d" }, "spec": spec })).await.expect(201);
    let scale = |name: &str| json!({ "metadata": { "name": name }, "spec": { "replicas": 4 } });
    let (_, message) = stage.send(&format!("PUT {at}/d/scale"), &scale("other")).await.refused(400);
    assert_eq!(message, "the name of the object (other) does not match the name on the URL (d)");
    stage.send(&format!("PUT {at}/d/scale"), &scale("d")).await.expect(200);
}
