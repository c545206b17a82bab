//! Validation rules of custom resources, as their authors and their users meet them.

use crate::stage::Stage;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boxes.example.com";
const BOXES: &str = "/apis/example.com/v1/namespaces/n/boxes";
const BOX: &str = "/apis/example.com/v1/namespaces/n/boxes/b";

fn boxes(rules: Value) -> Value {
    let spec = json!({
        "type": "object", "x-kubernetes-validations": rules,
        "properties": {
            "width": { "type": "integer" }, "height": { "type": "integer" },
            "label": { "type": "string", "maxLength": 8 },
            "words": { "type": "array", "items": { "type": "string" } },
        },
    });
    let status = json!({
        "type": "object", "properties": { "filled": { "type": "integer" } },
        "x-kubernetes-validations": [{ "rule": "self.filled >= oldSelf.filled", "message": "is never emptied" }],
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "boxes.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "boxes", "kind": "Box" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": {
                    "type": "object", "properties": { "spec": spec, "status": status },
                } },
            }],
        },
    })
}

fn square() -> Value {
    json!([
        { "rule": "self.width == self.height", "messageExpression": "'is %d by %d'.format([self.width, self.height])" },
        { "rule": "!has(oldSelf.label) || self.label == oldSelf.label", "message": "is immutable", "fieldPath": ".label",
          "reason": "FieldValueForbidden" },
    ])
}

fn of(spec: Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Box", "metadata": { "name": "b" }, "spec": spec })
}

async fn stage_with(rules: Value) -> Stage {
    let stage = Stage::new().await;
    stage.send(&format!("POST {DEFINITIONS}"), &boxes(rules)).await.expect(201);
    stage
}

async fn merge(stage: &Stage, at: &str, patch: Value) -> crate::stage::Answer {
    stage.send_as(&format!("PATCH {at}"), "application/merge-patch+json", patch.to_string()).await
}

#[tokio::test]
async fn objects_are_held_to_the_rules_of_their_definition() {
    let stage = stage_with(square()).await;
    let (reason, message) =
        stage.send(&format!("POST {BOXES}"), &of(json!({ "width": 1, "height": 2 }))).await.refused(422);
    assert_eq!(reason, "Invalid");
    assert_eq!(message, "Box.example.com \"b\" is invalid: spec: Invalid value: is 1 by 2");
    stage.send(&format!("POST {BOXES}"), &of(json!({ "width": 2, "height": 2, "label": "a" }))).await.expect(201);
    let (_, message) = merge(&stage, BOX, json!({ "spec": { "label": "b" } })).await.refused(422);
    assert_eq!(message, "Box.example.com \"b\" is invalid: spec.label: Forbidden: is immutable");
    merge(&stage, BOX, json!({ "spec": { "width": 3, "height": 3 } })).await.expect(200);
}

#[tokio::test]
async fn rules_are_not_asked_of_what_the_schema_refuses() {
    let stage = stage_with(square()).await;
    let odd = of(json!({ "width": "x", "height": 2 }));
    let (_, message) = stage.send(&format!("POST {BOXES}"), &odd).await.refused(422);
    assert!(message.contains("spec.width: Invalid value: \"string\""), "{message}");
    assert!(message.contains("<nil>: Invalid value: null: some validation rules were not checked"), "{message}");
}

#[tokio::test]
async fn a_status_has_rules_too() {
    let stage = stage_with(square()).await;
    stage.send(&format!("POST {BOXES}"), &of(json!({ "width": 2, "height": 2 }))).await.expect(201);
    let status = format!("{BOX}/status");
    merge(&stage, &status, json!({ "status": { "filled": 2 } })).await.expect(200);
    let (_, message) = merge(&stage, &status, json!({ "status": { "filled": 1 } })).await.refused(422);
    assert!(message.ends_with("status: Invalid value: is never emptied"), "{message}");
    merge(&stage, &status, json!({ "status": { "filled": 3 } })).await.expect(200);
}

#[tokio::test]
async fn what_broke_a_rule_before_the_rule_came_may_stay_as_it_is() {
    let stage = stage_with(json!([])).await;
    stage.send(&format!("POST {BOXES}"), &of(json!({ "width": 1, "height": 2 }))).await.expect(201);
    let mut definition = stage.ask(&format!("GET {DEFINITION}")).await.expect(200);
    let version = &mut definition["spec"]["versions"][0];
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = square();
    stage.send(&format!("PUT {DEFINITION}"), &definition).await.expect(200);
    let kept = merge(&stage, BOX, json!({ "metadata": { "labels": { "a": "b" } } })).await;
    // Its author is told all the same.
    let warning = kept.header("warning").unwrap_or_default();
    assert!(warning.contains("spec: Invalid value:") && warning.contains("is 1 by 2"), "{warning}");
    kept.expect(200);
    merge(&stage, BOX, json!({ "spec": { "label": "x" } })).await.refused(422);
    merge(&stage, BOX, json!({ "spec": { "width": 2 } })).await.expect(200);
}

#[tokio::test]
async fn rules_that_do_not_compile_are_refused_with_the_place() {
    let stage = Stage::new().await;
    let bad = boxes(json!([{ "rule": "self.depth > 1" }]));
    let (_, message) = stage.send(&format!("POST {DEFINITIONS}"), &bad).await.refused(422);
    let place = "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: ";
    assert!(message.contains(place), "{message}");
    let why = "compilation failed: ERROR: <input>:1:5: undefined field 'depth'\n | self.depth > 1\n | ....^";
    assert!(message.ends_with(why), "{message}");
    stage.send(&format!("POST {DEFINITIONS}"), &boxes(square())).await.expect(201);
    let mut definition = stage.ask(&format!("GET {DEFINITION}")).await.expect(200);
    let version = &mut definition["spec"]["versions"][0];
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"][0]["rule"] = json!("self");
    let (_, message) = stage.send(&format!("PUT {DEFINITION}"), &definition).await.refused(422);
    assert!(message.ends_with("cel expression must evaluate to a bool"), "{message}");
}

#[tokio::test]
async fn rules_that_may_cost_too_much_are_refused() {
    let stage = Stage::new().await;
    let bad = boxes(json!([{ "rule": "self.words.all(x, self.words.all(y, x != y))" }]));
    let (_, message) = stage.send(&format!("POST {DEFINITIONS}"), &bad).await.refused(422);
    assert!(message.contains("estimated rule cost exceeds budget by factor of more than 100x"), "{message}");
    assert!(message.contains("estimated rule cost total for entire OpenAPIv3 schema exceeds budget"), "{message}");
}
