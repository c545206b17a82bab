//! Admission policies in the path of a write.

use crate::stage::Stage;
use serde_json::{Value, json};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CONFIGMAPS: &str = "/api/v1/namespaces/n/configmaps";

fn constraints() -> Value {
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"],
    });
    json!({ "resourceRules": [rule] })
}

async fn make(stage: &Stage, plural: &str, kind: &str, spec: Value) -> crate::stage::Answer {
    let object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": "p" }, "spec": spec,
    });
    stage.send(&format!("POST {GROUP}/{plural}"), &object).await
}

async fn validating(stage: &Stage, validation: Value, actions: &[&str]) {
    let spec = json!({ "matchConstraints": constraints(), "validations": [validation] });
    make(stage, "validatingadmissionpolicies", "ValidatingAdmissionPolicy", spec).await.expect(201);
    let spec = json!({ "policyName": "p", "validationActions": actions });
    make(stage, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", spec).await.expect(201);
}

fn configmap(name: &str, size: &str) -> Value {
    json!({ "metadata": { "name": name }, "data": { "size": size } })
}

#[tokio::test]
async fn a_policy_refuses_what_its_binding_says() {
    let stage = Stage::new().await;
    let validation = json!({ "expression": "int(object.data.size) <= 3", "message": "too large" });
    validating(&stage, validation, &["Deny"]).await;
    let (reason, message) = stage.send(&format!("POST {CONFIGMAPS}"), &configmap("a", "4")).await.refused(422);
    assert_eq!(reason, "Invalid");
    let told = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: too large";
    assert!(message.ends_with(told), "{message}");
    stage.send(&format!("POST {CONFIGMAPS}"), &configmap("a", "3")).await.expect(201);
    stage.ask(&format!("DELETE {GROUP}/validatingadmissionpolicybindings/p")).await.expect(200);
    stage.send(&format!("POST {CONFIGMAPS}"), &configmap("b", "4")).await.expect(201);
}

#[tokio::test]
async fn a_policy_may_only_warn() {
    let stage = Stage::new().await;
    validating(&stage, json!({ "expression": "has(object.data.color)" }), &["Warn"]).await;
    let made = stage.send(&format!("POST {CONFIGMAPS}"), &configmap("a", "4")).await;
    assert!(made.header("warning").is_some_and(|warning| warning.contains("has(object.data.color)")));
    made.expect(201);
}

#[tokio::test]
async fn a_policy_changes_what_is_written() {
    let stage = Stage::new().await;
    let expression = "Object{metadata: Object.metadata{labels: {'seen': 'yes'}}}";
    let mutation = json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } });
    let spec = json!({ "matchConstraints": constraints(), "mutations": [mutation], "reinvocationPolicy": "Never" });
    make(&stage, "mutatingadmissionpolicies", "MutatingAdmissionPolicy", spec).await.expect(201);
    let spec = json!({ "policyName": "p" });
    make(&stage, "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", spec).await.expect(201);
    let made = stage.send(&format!("POST {CONFIGMAPS}"), &configmap("a", "4")).await.expect(201);
    assert_eq!(made["metadata"]["labels"], json!({ "seen": "yes" }));
}

#[tokio::test]
async fn a_policy_that_makes_no_sense_is_refused_when_it_is_written() {
    let stage = Stage::new().await;
    let spec = json!({ "matchConstraints": constraints(), "validations": [{ "expression": "object.x +" }] });
    let (_, message) =
        make(&stage, "validatingadmissionpolicies", "ValidatingAdmissionPolicy", spec).await.refused(422);
    assert!(
        message.contains("spec.validations[0].expression: Invalid value: \"object.x +\": compilation failed"),
        "{message}"
    );
}
