//! Server-side apply, and who is said to own what after any write.

use crate::stage::Stage;
use serde_json::{Value, json};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/n/deployments";
const WEB: &str = "/apis/apps/v1/namespaces/n/deployments/web";

async fn sent(stage: &Stage, line: &str, content_type: &str, body: String) -> (u16, Value) {
    let answer = stage.send_as(line, content_type, body).await;
    (answer.code, answer.tree())
}

async fn json(stage: &Stage, line: &str, body: &Value) -> (u16, Value) {
    sent(stage, line, "application/json", body.to_string()).await
}

async fn merge(stage: &Stage, path: &str, body: &Value) -> (u16, Value) {
    sent(stage, &format!("PATCH {path}"), "application/merge-patch+json", body.to_string()).await
}

async fn apply(stage: &Stage, path: &str, body: &Value) -> (u16, Value) {
    sent(stage, &format!("PATCH {path}"), "application/apply-patch+yaml", body.to_string()).await
}

fn by(path: &str, owner: &str) -> String {
    format!("{path}?fieldManager={owner}")
}

fn deployment(spec: Value) -> Value {
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx"}]},
        },
    }});
    if let (Value::Object(more), Some(all)) = (spec, object["spec"].as_object_mut()) {
        all.extend(more);
    }
    object
}

fn only(spec: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
}

/// Who owns something under a path of `fieldsV1`: `name operation subresource`.
fn owners(object: &Value, path: &str) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let owning = entries.filter(|entry| entry["fieldsV1"].pointer(path).is_some());
    let word = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    owning
        .map(|entry| {
            let words = [word(entry, "manager"), word(entry, "operation"), word(entry, "subresource")];
            words.join(" ").trim_end().to_owned()
        })
        .collect()
}

const REPLICAS: &str = "/f:spec/f:replicas";

#[tokio::test]
async fn applying_makes_an_object_and_then_changes_it() {
    let stage = Stage::new().await;
    let (code, made) = apply(&stage, &by(WEB, "ci"), &deployment(json!({"replicas": 2}))).await;
    assert_eq!((code, &made["spec"]["replicas"]), (201, &json!(2)), "{made}");
    assert_eq!(owners(&made, REPLICAS), ["ci Apply"]);
    // Defaults are nobody's.
    assert_eq!(made["spec"]["revisionHistoryLimit"], 10);
    assert_eq!(owners(&made, "/f:spec/f:revisionHistoryLimit"), [""; 0]);
    let (code, again) = apply(&stage, &by(WEB, "ci"), &deployment(json!({"replicas": 2}))).await;
    assert_eq!((code, &again), (200, &made), "nothing is written twice");
    let (_, dropped) = apply(&stage, &by(WEB, "ci"), &deployment(json!({}))).await;
    assert_eq!(dropped["spec"]["replicas"], 1, "what is dropped is what it is by default");
    assert_eq!(owners(&dropped, REPLICAS), [""; 0]);
}

#[tokio::test]
async fn conflicts_are_refused_unless_by_force() {
    let stage = Stage::new().await;
    apply(&stage, &by(WEB, "ci"), &deployment(json!({"replicas": 2}))).await;
    let (code, scaled) = merge(&stage, &by(WEB, "tester"), &json!({"spec": {"replicas": 5}})).await;
    assert_eq!((code, owners(&scaled, REPLICAS)), (200, vec!["tester Update".to_owned()]));
    let (code, refused) = apply(&stage, &by(WEB, "ci"), &deployment(json!({"replicas": 3}))).await;
    let message = "Apply failed with 1 conflict: conflict with \"tester\" using apps/v1: .spec.replicas";
    assert_eq!((code, &refused["reason"], &refused["message"]), (409, &json!("Conflict"), &json!(message)));
    let cause = json!({
        "reason": "FieldManagerConflict", "message": "conflict with \"tester\" using apps/v1", "field": ".spec.replicas",
    });
    assert_eq!(refused["details"], json!({"causes": [cause]}));
    let (code, forced) = apply(&stage, &by(WEB, "ci&force=true"), &deployment(json!({"replicas": 3}))).await;
    assert_eq!((code, owners(&forced, REPLICAS)), (200, vec!["ci Apply".to_owned()]));
    let (_, shared) = apply(&stage, &by(WEB, "other"), &only(json!({"replicas": 3}))).await;
    assert_eq!(owners(&shared, REPLICAS), ["other Apply", "ci Apply"]);
    let (_, left) = apply(&stage, &by(WEB, "ci"), &deployment(json!({}))).await;
    assert_eq!((&left["spec"]["replicas"], owners(&left, REPLICAS)), (&json!(3), vec!["other Apply".to_owned()]));
}

#[tokio::test]
async fn items_of_lists_are_owned_by_their_keys() {
    let stage = Stage::new().await;
    json(&stage, &format!("POST {}", by(DEPLOYMENTS, "maker")), &deployment(json!({}))).await;
    let sidecar = json!({"template": {"spec": {"containers": [{"name": "mesh", "image": "envoy"}]}}});
    let (code, both) = apply(&stage, &by(WEB, "mesh"), &only(sidecar)).await;
    let names: Vec<&Value> =
        both["spec"]["template"]["spec"]["containers"].as_array().into_iter().flatten().map(|c| &c["name"]).collect();
    assert_eq!((code, names), (200, vec![&json!("web"), &json!("mesh")]));
    let key = "/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"mesh\"}/f:image";
    assert_eq!(owners(&both, key), ["mesh Apply"]);
    let nothing = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}});
    let (_, gone) = apply(&stage, &by(WEB, "mesh"), &nothing).await;
    assert_eq!(gone["spec"]["template"]["spec"]["containers"].as_array().map(Vec::len), Some(1));
    assert_eq!(owners(&gone, ""), ["maker Update"]);
}

#[tokio::test]
async fn a_status_is_owned_through_its_subresource() {
    let stage = Stage::new().await;
    let mut object = deployment(json!({}));
    object["status"] = json!({"replicas": 7});
    let (_, made) = json(&stage, &format!("POST {}", by(DEPLOYMENTS, "maker")), &object).await;
    assert_eq!(owners(&made, "/f:status"), [""; 0]);
    let status = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "status": {"replicas": 1}, "spec": {"replicas": 9},
    });
    let (code, applied) = apply(&stage, &by(&format!("{WEB}/status"), "runner"), &status).await;
    assert_eq!((code, &applied["status"]["replicas"], &applied["spec"]["replicas"]), (200, &json!(1), &json!(1)));
    assert_eq!(owners(&applied, "/f:status/f:replicas"), ["runner Apply status"]);
    assert_eq!(owners(&applied, REPLICAS), ["maker Update"]);
    let (_, patched) = merge(&stage, &by(&format!("{WEB}/status"), "other"), &json!({"status": {"replicas": 2}})).await;
    assert_eq!(owners(&patched, "/f:status/f:replicas"), ["other Update status"]);
}

#[tokio::test]
async fn scaling_owns_the_replicas_of_what_is_scaled() {
    let stage = Stage::new().await;
    json(&stage, &format!("POST {}", by(DEPLOYMENTS, "maker")), &deployment(json!({"replicas": 1}))).await;
    let (code, _) = merge(&stage, &by(&format!("{WEB}/scale"), "hpa"), &json!({"spec": {"replicas": 4}})).await;
    let (_, scaled) = json(&stage, &format!("GET {WEB}"), &Value::Null).await;
    assert_eq!((code, owners(&scaled, REPLICAS)), (200, vec!["hpa Update scale".to_owned()]));
    let scale = |replicas: u32| {
        json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": "n"},
            "spec": {"replicas": replicas},
        })
    };
    let path = by(&format!("{WEB}/scale"), "ci");
    let (code, refused) = apply(&stage, &path, &scale(5)).await;
    let message = "Apply failed with 1 conflict: conflict with \"hpa\" with subresource \"scale\" using \
                   autoscaling/v1: .spec.replicas";
    assert_eq!((code, &refused["message"]), (409, &json!(message)));
    let (code, forced) = apply(&stage, &format!("{path}&force=true"), &scale(5)).await;
    assert_eq!((code, &forced["spec"]), (200, &json!({"replicas": 5})), "{forced}");
    let (_, scaled) = json(&stage, &format!("GET {WEB}"), &Value::Null).await;
    assert_eq!(
        (&scaled["spec"]["replicas"], owners(&scaled, REPLICAS)),
        (&json!(5), vec!["ci Apply scale".to_owned()])
    );
}

#[tokio::test]
async fn owners_are_forgotten_on_request_and_not_by_accident() {
    let stage = Stage::new().await;
    let (_, made) = json(&stage, &format!("POST {}", by(DEPLOYMENTS, "maker")), &deployment(json!({}))).await;
    assert_eq!(owners(&made, ""), ["maker Update"]);
    let (_, put) = json(&stage, &format!("PUT {}", by(WEB, "other")), &deployment(json!({}))).await;
    assert_eq!(put, made, "the same again changes nothing");
    let (_, reset) = merge(&stage, WEB, &json!({"metadata": {"managedFields": []}})).await;
    assert_eq!(reset["metadata"].get("managedFields"), None);
    let (_, later) = merge(&stage, WEB, &json!({"spec": {"replicas": 2}})).await;
    assert_eq!(later["metadata"].get("managedFields"), None);
    let (_, applied) = apply(&stage, &by(WEB, "ci"), &only(json!({"replicas": 2}))).await;
    assert_eq!(owners(&applied, REPLICAS), ["ci Apply", "before-first-apply Update"]);
}

#[tokio::test]
async fn bodies_and_options_that_make_no_sense_are_refused() {
    let stage = Stage::new().await;
    let refused = async |path: &str, body: Value, code: u16, words: &str| {
        let (found, told) = apply(&stage, path, &body).await;
        let message = told["message"].as_str().unwrap_or_default().to_owned();
        assert!(found == code && message.contains(words), "{found} {message}");
    };
    refused(WEB, deployment(json!({})), 422, "fieldManager: Required value: is required for apply patch").await;
    let ci = by(WEB, "ci");
    refused(&ci, json!({"kind": "Deployment"}), 400, "invalid object type: /, Kind=Deployment").await;
    refused(&ci, json!({"apiVersion": "v1", "kind": "Pod"}), 400, "invalid object type: /v1, Kind=Pod").await;
    refused(&ci, only(json!({"unheardOf": 1})), 422, ".spec.unheardOf: field not declared in schema").await;
    let twice = json!({"template": {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}});
    refused(&ci, only(twice), 422, "duplicate entries for key [name=\"a\"]").await;
    refused(&by(&format!("{WEB}/status"), "ci"), only(json!({})), 404, "not found").await;
    let mut owned = deployment(json!({}));
    owned["metadata"]["managedFields"] = json!([{"manager": "x"}]);
    refused(&ci, owned, 400, "metadata.managedFields must be nil").await;
    let mut named = deployment(json!({}));
    named["metadata"]["name"] = json!("other");
    refused(&ci, named, 400, "does not match the name on the URL (web)").await;
    let (code, told) = merge(&stage, &format!("{WEB}?force=true"), &json!({})).await;
    assert_eq!((code, told["message"].as_str().unwrap_or_default().contains("non-apply patch")), (422, true));
    let (code, _) = sent(&stage, &format!("PATCH {ci}"), "application/apply-patch+yaml", ": [".to_owned()).await;
    assert_eq!(code, 400);
}

#[tokio::test]
async fn yaml_is_read_and_other_versions_keep_their_own_names() {
    let stage = Stage::new().await;
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: one\n";
    let path = by("/api/v1/namespaces/n/configmaps/c", "ci");
    let (code, made) = sent(&stage, &format!("PATCH {path}"), "application/apply-patch+yaml", text.to_owned()).await;
    assert_eq!((code, owners(&made, "/f:data/f:a")), (201, vec!["ci Apply".to_owned()]), "{made}");
    let path = "/apis/autoscaling/v1/namespaces/n/horizontalpodautoscalers/h";
    let scaler = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 50,
        },
    });
    let (code, made) = apply(&stage, &by(path, "ci"), &scaler).await;
    assert_eq!((code, owners(&made, "/f:spec/f:targetCPUUtilizationPercentage")), (201, vec!["ci Apply".to_owned()]));
    let (code, again) = apply(&stage, &by(path, "ci"), &scaler).await;
    assert_eq!((code, again), (200, made));
}
