//! Custom resources in several versions, and what is said of them that does not fit.

use crate::stage::{Answer, Stage};
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn version(name: &str, stored: bool, properties: Value) -> Value {
    json!({
        "name": name, "served": true, "storage": stored,
        "schema": { "openAPIV3Schema": { "type": "object", "properties": properties } },
    })
}

fn definition(versions: Value) -> Value {
    json!({
        "metadata": { "name": "cats.pets.example.com" },
        "spec": {
            "group": "pets.example.com", "scope": "Namespaced", "names": { "plural": "cats", "kind": "Cat" },
            "versions": versions,
        },
    })
}

async fn stage_with(versions: Value) -> Stage {
    let stage = Stage::new().await;
    stage.send(&format!("POST {DEFINITIONS}"), &definition(versions)).await.expect(201);
    stage
}

fn cats(version: &str) -> String {
    format!("/apis/pets.example.com/{version}/namespaces/n/cats")
}

/// A cat that says what `more` says.
fn cat(version: &str, more: &Value) -> Value {
    let mut cat = json!({
        "apiVersion": format!("pets.example.com/{version}"), "kind": "Cat", "metadata": { "name": "tom" },
    });
    for (name, value) in more.as_object().unwrap() {
        cat[name] = value.clone();
    }
    cat
}

async fn make(stage: &Stage, version: &str, more: &Value) -> Answer {
    stage.send(&format!("POST {}", cats(version)), &cat(version, more)).await
}

async fn apply(stage: &Stage, version: &str, more: &Value) -> Answer {
    let line = format!("PATCH {}/tom?fieldManager=m&force=true", cats(version));
    stage.send_as(&line, "application/apply-patch+yaml", cat(version, more).to_string()).await
}

#[tokio::test]
async fn a_null_that_is_applied_is_refused_where_one_that_is_sent_is_dropped() {
    let text = json!({ "type": "string" });
    let properties =
        json!({ "a": text, "b": { "type": "string", "nullable": true }, "c": { "type": "string", "default": "x" } });
    let stage = stage_with(json!([version("v1", true, properties)])).await;
    let made = make(&stage, "v1", &json!({ "a": null, "b": null, "c": null })).await.expect(201);
    assert_eq!((made.get("a"), &made["b"], &made["c"]), (None, &Value::Null, &json!("x")));
    let (_, message) = apply(&stage, "v1", &json!({ "a": null })).await.refused(422);
    assert_eq!(
        message,
        r#"Cat.pets.example.com "tom" is invalid: a: Invalid value: "null": a in body must be of type string: "null""#
    );
    let applied = apply(&stage, "v1", &json!({ "b": null, "c": null })).await.expect(200);
    assert_eq!((&applied["b"], &applied["c"]), (&Value::Null, &json!("x")));
}

#[tokio::test]
async fn what_is_no_text_may_be_applied_where_a_format_stands_and_is_refused_by_the_schema() {
    let properties = json!({
        "when": { "type": "string", "format": "date-time" }, "either": { "x-kubernetes-int-or-string": true },
        "plain": { "type": "string" },
    });
    let stage = stage_with(json!([version("v1", true, properties)])).await;
    for (said, field) in [(json!({ "when": 1.5 }), "when"), (json!({ "either": ["a"] }), "either")] {
        let (reason, message) = apply(&stage, "v1", &said).await.refused(422);
        assert_eq!(reason, "Invalid");
        assert!(message.contains(&format!("{field} in body must be of type")), "{message}");
    }
    let (_, message) = apply(&stage, "v1", &json!({ "plain": 1.5 })).await.refused(422);
    assert!(message.contains(".plain: expected string"), "{message}");
}

#[tokio::test]
async fn another_kind_is_a_mistake_in_the_object_and_another_version_in_the_request() {
    let stage = stage_with(json!([version("v1", true, json!({}))])).await;
    let mut dog = cat("v1", &json!({}));
    dog["kind"] = "Dog".into();
    let status = stage.send(&format!("POST {}", cats("v1")), &dog).await.expect(422);
    assert_eq!(status["message"], r#"Dog.pets.example.com "tom" is invalid: kind: Invalid value: "Dog": must be Cat"#);
    assert_eq!(status["details"]["kind"], "Dog");
    stage.send(&format!("POST {}", cats("v1")), &cat("v2", &json!({}))).await.refused(400);
}

#[tokio::test]
async fn metadata_that_cannot_be_read_is_told_by_itself() {
    let stage = stage_with(json!([version("v1", true, json!({}))])).await;
    let odd = json!({ "metadata": { "name": "tom", "labels": ["a"] } });
    let (_, message) = make(&stage, "v1", &odd).await.refused(400);
    assert_eq!(
        message,
        "Cat in version \"v1\" cannot be handled as a Cat: json: cannot unmarshal array into Go struct field \
         ObjectMeta.labels of type map[string]string"
    );
}

#[tokio::test]
async fn a_field_that_a_version_of_another_owner_does_not_know_is_not_applied() {
    let text = json!({ "type": "string" });
    let versions =
        json!([version("v1", true, json!({ "a": text })), version("v2", false, json!({ "a": text, "z": text }))]);
    let stage = stage_with(versions).await;
    apply(&stage, "v1", &json!({ "a": "1" })).await.expect(201);
    let (_, message) = apply(&stage, "v2", &json!({ "z": "1" })).await.refused(422);
    assert_eq!(
        message,
        "failed to prune fields: failed to convert merged object to last applied version: .z: field not declared in \
         schema"
    );
    apply(&stage, "v2", &json!({ "a": "2" })).await.expect(200);
}

#[tokio::test]
async fn owners_stay_as_they_were_when_a_change_fits_no_version_of_theirs() {
    let text = json!({ "type": "string" });
    let versions =
        json!([version("v1", true, json!({ "a": text })), version("v2", false, json!({ "a": text, "z": text }))]);
    let stage = stage_with(versions).await;
    let made = make(&stage, "v1", &json!({ "a": "1" })).await.expect(201);
    let line = format!("PATCH {}/tom", cats("v2"));
    let patched = stage.send_as(&line, "application/merge-patch+json", r#"{"z":"1"}"#).await.expect(200);
    assert_eq!(patched["metadata"]["managedFields"], made["metadata"]["managedFields"]);
}

#[tokio::test]
async fn warnings_come_in_order_and_with_refusals() {
    let mut old = version("v1", false, json!({ "a": { "type": "string" } }));
    old["deprecated"] = json!(true);
    let stage = stage_with(json!([old, version("v2", true, json!({}))])).await;
    let warnings = |answer: &Answer| -> Vec<String> {
        answer.headers.get_all("warning").iter().map(|value| value.to_str().unwrap().to_owned()).collect()
    };
    let deprecated = "299 - \"pets.example.com/v1 Cat is deprecated; use pets.example.com/v2 Cat\"";
    let unknown = "299 - \"unknown field \\\"b\\\"\"";
    let made = make(&stage, "v1", &json!({ "b": "1" })).await;
    assert_eq!((made.code, warnings(&made)), (201, vec![deprecated.to_owned(), unknown.to_owned()]));
    let mut other = cat("v1", &json!({ "b": "1" }));
    other["metadata"]["name"] = "other".into();
    let missing = stage.send(&format!("PUT {}/other", cats("v1")), &other).await;
    assert_eq!((missing.code, warnings(&missing)), (404, vec![deprecated.to_owned(), unknown.to_owned()]));
}

#[tokio::test]
async fn unknown_fields_of_embedded_objects_are_told_last() {
    let fields = json!({ "data": { "type": "string" } });
    let embedded = json!({ "type": "object", "x-kubernetes-embedded-resource": true, "properties": fields });
    let stage = stage_with(json!([version("v1", true, json!({ "inner": embedded }))])).await;
    let inner = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p", "odd": 1 }, "status": {} });
    let made = make(&stage, "v1", &json!({ "inner": inner, "more": 1 })).await;
    let told: Vec<&str> = made.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect();
    let paths: Vec<&str> = told.iter().map(|text| text.split("\\\"").nth(1).unwrap()).collect();
    assert_eq!(paths, ["inner.status", "more", "inner.metadata.odd"]);
}

#[tokio::test]
async fn a_default_is_held_to_its_rules_whatever_is_wrong_with_others() {
    let stage = Stage::new().await;
    let properties = json!({
        "a": { "type": "string", "format": "ipv6", "default": "abc" },
        "b": { "type": "boolean", "default": true, "x-kubernetes-validations": [{ "rule": "!self" }] },
    });
    let made = stage.send(&format!("POST {DEFINITIONS}"), &definition(json!([version("v1", true, properties)]))).await;
    let (_, message) = made.refused(422);
    assert!(message.contains("properties[a].default") && message.contains("properties[b].default"), "{message}");
}

#[tokio::test]
async fn formats_that_nobody_knows_are_told() {
    let stage = Stage::new().await;
    let properties = json!({ "a": { "type": "string", "format": "nonsense" } });
    let made = stage.send(&format!("POST {DEFINITIONS}"), &definition(json!([version("v1", true, properties)]))).await;
    assert_eq!((made.code, made.header("warning")), (201, Some(r#"299 - "unrecognized format \"nonsense\"""#)));
}

#[tokio::test]
async fn the_document_of_a_custom_group_says_nothing_but_what_is_defined() {
    let mut selected = version("v1", true, json!({ "a": { "type": "string" } }));
    selected["selectableFields"] = json!([{ "jsonPath": ".a" }]);
    let stage = stage_with(json!([selected])).await;
    let document = stage.ask("GET /openapi/v3/apis/pets.example.com/v1").await.expect(200);
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let foreign = ["APIResourceList", "WatchEvent"].map(|name| format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}"));
    assert!(foreign.iter().all(|name| !schemas.contains_key(name)));
    let fields = json!([{ "fieldPath": "a" }]);
    assert_eq!(schemas["com.example.pets.v1.Cat"]["x-kubernetes-selectable-fields"], fields);
    assert_eq!(schemas["com.example.pets.v1.CatList"]["x-kubernetes-selectable-fields"], fields);
}

#[tokio::test]
async fn whoever_writes_an_object_as_it_is_leaves_it_in_the_version_that_is_stored_now() {
    let text = json!({ "a": { "type": "string" } });
    let stage = stage_with(json!([version("v1", true, text.clone()), version("v2", false, text.clone())])).await;
    let made = make(&stage, "v1", &json!({ "a": "x" })).await.expect(201);
    let patch = async |line: &str, body: Value| {
        stage.send_as(&format!("PATCH {line}"), "application/merge-patch+json", body.to_string()).await.expect(200)
    };
    let is_same =
        |one: &Value, other: &Value| one["metadata"]["resourceVersion"] == other["metadata"]["resourceVersion"];
    let tom = |version: &str| format!("{}/tom", cats(version));
    assert!(is_same(&patch(&tom("v2"), json!({})).await, &made), "it is stored as it should be");
    let swapped = json!([version("v1", false, text.clone()), version("v2", true, text.clone())]);
    let definition = format!("{DEFINITIONS}/cats.pets.example.com");
    patch(&definition, json!({ "spec": { "versions": swapped } })).await;
    let moved = patch(&tom("v1"), json!({})).await;
    assert!(!is_same(&moved, &made) && moved["apiVersion"] == "pets.example.com/v1", "{moved}");
    assert!(is_same(&patch(&tom("v1"), json!({})).await, &moved), "once is enough");
    // So a version can go, as it does in Kubernetes.
    let status = format!("{definition}/status");
    patch(&status, json!({ "status": { "storedVersions": ["v2"] } })).await;
    patch(&definition, json!({ "spec": { "versions": [version("v2", true, text)] } })).await;
    let left = stage.ask(&format!("GET {}", tom("v2"))).await.expect(200);
    assert_eq!((&left["a"], &left["apiVersion"]), (&json!("x"), &json!("pets.example.com/v2")));
    let changed = patch(&tom("v2"), json!({ "a": "y" })).await;
    assert_eq!(changed["a"], "y");
}
