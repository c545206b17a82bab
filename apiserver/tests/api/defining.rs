//! Custom resources: defined, used at once, changed, and gone with their definition.

use crate::stage::Stage;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CATS: &str = "/apis/pets.example.com/v1/namespaces/n/cats";
const TOM: &str = "/apis/pets.example.com/v1/namespaces/n/cats/tom";

fn version(name: &str, stored: bool, spec: Value) -> Value {
    json!({
        "name": name, "served": true, "storage": stored,
        "schema": { "openAPIV3Schema": { "type": "object", "properties": {
            "spec": { "type": "object", "properties": spec },
            "status": { "type": "object", "properties": { "mood": { "type": "string" }, "kittens": { "type": "integer" } } },
        } } },
    })
}

fn fur() -> Value {
    json!({
        "color": { "type": "string", "default": "black", "enum": ["black", "white"] },
        "lives": { "type": "integer", "minimum": 1 },
        "toys": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": { "type": "object", "required": ["name"], "properties": {
                "name": { "type": "string" }, "size": { "type": "integer" },
            } },
        },
    })
}

fn definition(plural: &str, kind: &str, versions: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.pets.example.com") },
        "spec": {
            "group": "pets.example.com", "scope": "Namespaced", "names": { "plural": plural, "kind": kind },
            "versions": versions,
        },
    })
}

/// Cats with a status of their own, that can be scaled, selected by color and shown with it.
fn cats() -> Value {
    let mut version = version("v1", true, fur());
    version["subresources"] = json!({
        "status": {}, "scale": { "specReplicasPath": ".spec.lives", "statusReplicasPath": ".status.kittens" },
    });
    version["additionalPrinterColumns"] = json!([{ "name": "Color", "type": "string", "jsonPath": ".spec.color" }]);
    version["selectableFields"] = json!([{ "jsonPath": ".spec.color" }]);
    definition("cats", "Cat", json!([version]))
}

fn tom(spec: &Value) -> Value {
    json!({ "apiVersion": "pets.example.com/v1", "kind": "Cat", "metadata": { "name": "tom" }, "spec": spec })
}

async fn stage_with_cats() -> Stage {
    let stage = Stage::new().await;
    stage.send(&format!("POST {DEFINITIONS}"), &cats()).await.expect(201);
    stage
}

fn condition<'a>(definition: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let all = definition["status"]["conditions"].as_array().unwrap();
    let found = all.iter().find(|condition| condition["type"] == kind).unwrap();
    (found["status"].as_str().unwrap(), found["reason"].as_str().unwrap())
}

#[tokio::test]
async fn what_is_defined_can_be_used_at_once() {
    let stage = Stage::new().await;
    stage.ask(&format!("GET {CATS}")).await.refused(404);
    let made = stage.send(&format!("POST {DEFINITIONS}"), &cats()).await.expect(201);
    assert_eq!(condition(&made, "Established"), ("True", "InitialNamesAccepted"));
    assert_eq!(made["status"]["storedVersions"], json!(["v1"]));
    let cat = stage.send(&format!("POST {CATS}"), &tom(&json!({ "lives": 9 }))).await.expect(201);
    assert_eq!(cat["spec"], json!({ "color": "black", "lives": 9 }), "defaults are filled in");
    assert_eq!(cat["metadata"]["generation"], 1);
    let list = stage.ask(&format!("GET {CATS}")).await.expect(200);
    assert_eq!((&list["kind"], &list["items"][0]["metadata"]["name"]), (&json!("CatList"), &json!("tom")));
}

#[tokio::test]
async fn other_workspaces_know_nothing_of_it() {
    let stage = stage_with_cats().await;
    stage.ask("GET /clusters/other/apis/pets.example.com/v1/cats").await.refused(404);
    stage.ask("GET /clusters/other/apis/pets.example.com").await.refused(404);
    stage.ask("GET /apis/pets.example.com").await.expect(200);
}

#[tokio::test]
async fn objects_are_held_to_their_schema() {
    let stage = stage_with_cats().await;
    let post = format!("POST {CATS}");
    let (reason, message) = stage.send(&post, &tom(&json!({ "lives": 0 }))).await.refused(422);
    assert_eq!(reason, "Invalid");
    assert!(message.contains("spec.lives: Invalid value: 0"), "{message}");
    let (_, message) = stage.send(&post, &tom(&json!({ "color": "green" }))).await.refused(422);
    assert!(message.contains("spec.color: Unsupported value: \"green\""), "{message}");
    let (_, message) =
        stage.send(&post, &tom(&json!({ "toys": [{ "name": "a" }, { "name": "a" }] }))).await.refused(422);
    assert!(message.contains("spec.toys[1]: Duplicate value"), "{message}");
    let (_, message) =
        stage.send(&format!("{post}?fieldValidation=Strict"), &tom(&json!({ "x": 1 }))).await.refused(400);
    assert!(message.ends_with("strict decoding error: unknown field \"spec.x\""), "{message}");
    let pruned = stage.send(&post, &tom(&json!({ "x": 1 }))).await.expect(201);
    assert_eq!(pruned["spec"], json!({ "color": "black" }));
}

#[tokio::test]
async fn a_status_is_written_apart_and_changes_are_counted() {
    let stage = stage_with_cats().await;
    let mut cat = tom(&json!({ "lives": 9 }));
    cat["status"] = json!({ "mood": "good" });
    let mut made = stage.send(&format!("POST {CATS}"), &cat).await.expect(201);
    assert!(made.get("status").is_none(), "a status is nobody's to bring along");
    made["status"] = json!({ "mood": "bad" });
    made["spec"]["lives"] = json!(8);
    let told = stage.send(&format!("PUT {TOM}/status"), &made).await.expect(200);
    assert_eq!((&told["status"]["mood"], &told["spec"]["lives"]), (&json!("bad"), &json!(9)));
    assert_eq!(told["metadata"]["generation"], 1);
    let patch = json!({ "spec": { "lives": 7 }, "status": { "mood": "odd" } });
    let changed =
        stage.send_as(&format!("PATCH {TOM}"), "application/merge-patch+json", patch.to_string()).await.expect(200);
    assert_eq!((&changed["status"]["mood"], &changed["metadata"]["generation"]), (&json!("bad"), &json!(2)));
    let strategic =
        stage.send_as(&format!("PATCH {TOM}"), "application/strategic-merge-patch+json", patch.to_string()).await;
    assert_eq!(strategic.code, 415);
}

#[tokio::test]
async fn it_is_scaled_where_its_definition_says() {
    let stage = stage_with_cats().await;
    stage.send(&format!("POST {CATS}"), &tom(&json!({ "lives": 9 }))).await.expect(201);
    let mut scale = stage.ask(&format!("GET {TOM}/scale")).await.expect(200);
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(9)));
    scale["spec"]["replicas"] = json!(3);
    stage.send(&format!("PUT {TOM}/scale"), &scale).await.expect(200);
    assert_eq!(stage.ask(&format!("GET {TOM}")).await.expect(200)["spec"]["lives"], 3);
}

#[tokio::test]
async fn it_is_selected_and_shown_as_its_definition_says() {
    let stage = stage_with_cats().await;
    for (name, color) in [("tom", "black"), ("kit", "white")] {
        let mut cat = tom(&json!({ "color": color }));
        cat["metadata"]["name"] = name.into();
        stage.send(&format!("POST {CATS}"), &cat).await.expect(201);
    }
    let white = stage.ask(&format!("GET {CATS}?fieldSelector=spec.color%3Dwhite")).await.expect(200);
    assert_eq!(white["items"].as_array().unwrap().len(), 1);
    stage.ask(&format!("GET {CATS}?fieldSelector=spec.lives%3D9")).await.refused(400);
    let table = stage.ask_for(&format!("GET {CATS}"), "application/json;as=Table;g=meta.k8s.io;v=v1").await.expect(200);
    assert_eq!(table["columnDefinitions"][1]["name"], "Color");
    assert_eq!(table["rows"][0]["cells"], json!(["kit", "white"]));
    assert_eq!(stage.ask_for(&format!("GET {TOM}"), "application/vnd.kubernetes.protobuf").await.code, 406);
}

#[tokio::test]
async fn applied_lists_are_merged_by_the_keys_of_the_schema() {
    let stage = stage_with_cats().await;
    let apply = async |owner: &str, toys: Value| {
        let line = format!("PATCH {TOM}?fieldManager={owner}");
        stage.send_as(&line, "application/apply-patch+yaml", tom(&json!({ "toys": toys })).to_string()).await
    };
    apply("a", json!([{ "name": "mouse", "size": 1 }])).await.expect(201);
    let both = apply("b", json!([{ "name": "ball", "size": 2 }])).await.expect(200);
    assert_eq!(both["spec"]["toys"].as_array().unwrap().len(), 2);
    let (reason, message) = apply("b", json!([{ "name": "mouse", "size": 3 }])).await.refused(409);
    assert_eq!(reason, "Conflict");
    assert!(message.contains(".spec.toys[name=\"mouse\"].size"), "{message}");
    let left = apply("a", json!([])).await.expect(200);
    assert_eq!(left["spec"]["toys"], json!([{ "name": "ball", "size": 2 }]), "what nobody applies any more goes");
}

#[tokio::test]
async fn an_object_is_seen_in_every_version_and_kept_in_one() {
    let stage = Stage::new().await;
    let mut more = fur();
    more["tail"] = json!({ "type": "string", "default": "long" });
    let mut old = version("v1", true, fur());
    old["deprecated"] = json!(true);
    let versions = json!([old, version("v2", false, more)]);
    stage.send(&format!("POST {DEFINITIONS}"), &definition("cats", "Cat", versions)).await.expect(201);
    let made = stage.send(&format!("POST {CATS}"), &tom(&json!({}))).await;
    assert_eq!(
        made.header("warning"),
        Some("299 - \"pets.example.com/v1 Cat is deprecated; use pets.example.com/v2 Cat\"")
    );
    made.expect(201);
    let seen = stage.ask(&format!("GET {}", TOM.replace("v1", "v2"))).await.expect(200);
    let filled_in = json!({ "color": "black" });
    assert_eq!((&seen["apiVersion"], &seen["spec"]), (&json!("pets.example.com/v2"), &filled_in), "by v1 alone");
    let seen = stage.ask(&format!("GET {TOM}")).await.expect(200);
    assert_eq!((&seen["apiVersion"], seen["spec"].get("tail")), (&json!("pets.example.com/v1"), None));
}

#[tokio::test]
async fn what_a_definition_comes_to_ask_for_is_filled_in_when_objects_are_read() {
    let stage = Stage::new().await;
    let made = definition("cats", "Cat", json!([version("v1", true, fur())]));
    let mut made = stage.send(&format!("POST {DEFINITIONS}"), &made).await.expect(201);
    stage.send(&format!("POST {CATS}"), &tom(&json!({ "lives": 9 }))).await.expect(201);
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
        json!({ "color": { "type": "string" }, "tail": { "type": "string", "default": "long" } });
    let path = format!("{DEFINITIONS}/cats.pets.example.com");
    stage.send(&format!("PUT {path}"), &made).await.expect(200);
    let seen = stage.ask(&format!("GET {TOM}")).await.expect(200);
    assert_eq!(seen["spec"], json!({ "color": "black", "tail": "long" }), "lives are no longer known");
    let list = stage.ask(&format!("GET {CATS}")).await.expect(200);
    assert_eq!(list["items"][0]["spec"], seen["spec"]);
}

#[tokio::test]
async fn of_two_definitions_with_one_name_the_second_is_not_served() {
    let stage = stage_with_cats().await;
    let other = definition("tigers", "Cat", json!([version("v1", true, fur())]));
    let made = stage.send(&format!("POST {DEFINITIONS}"), &other).await.expect(201);
    assert_eq!(condition(&made, "NamesAccepted"), ("False", "ListKindConflict"));
    assert_eq!(condition(&made, "Established"), ("False", "NotAccepted"));
    stage.ask("GET /apis/pets.example.com/v1/tigers").await.refused(404);
}

#[tokio::test]
async fn a_definition_that_is_going_takes_no_more_objects() {
    let stage = stage_with_cats().await;
    stage.send(&format!("POST {CATS}"), &tom(&json!({}))).await.expect(201);
    let going = stage.ask(&format!("DELETE {DEFINITIONS}/cats.pets.example.com")).await.expect(200);
    assert_eq!(condition(&going, "Terminating"), ("True", "InstanceDeletionPending"));
    assert_eq!(going["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    let mut kit = tom(&json!({}));
    kit["metadata"]["name"] = "kit".into();
    let (_, message) = stage.send(&format!("POST {CATS}"), &kit).await.refused(403);
    assert!(message.ends_with("create not allowed while custom resource definition is terminating"), "{message}");
    stage.ask(&format!("GET {TOM}")).await.expect(200);
}

#[tokio::test]
async fn a_definition_that_makes_no_sense_is_refused_in_the_words_of_kubernetes() {
    let stage = Stage::new().await;
    let mut odd = cats();
    odd["metadata"]["name"] = "dogs.pets.example.com".into();
    let (_, message) = stage.send(&format!("POST {DEFINITIONS}"), &odd).await.refused(422);
    assert!(message.contains("must be spec.names.plural+\".\"+spec.group"), "{message}");
    let untyped = json!([{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {} } }]);
    let (_, message) =
        stage.send(&format!("POST {DEFINITIONS}"), &definition("cats", "Cat", untyped)).await.refused(422);
    assert!(message.contains("type: Required value: must not be empty at the root"), "{message}");
}

#[tokio::test]
async fn discovery_and_openapi_follow_the_definitions() {
    let stage = stage_with_cats().await;
    let resources = stage.ask("GET /apis/pets.example.com/v1").await.expect(200);
    let names: Vec<&str> =
        resources["resources"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["cats", "cats/status", "cats/scale"]);
    let index = stage.ask("GET /openapi/v3").await.expect(200);
    let place = index["paths"]["apis/pets.example.com/v1"]["serverRelativeURL"].as_str().unwrap().to_owned();
    let document = stage.ask(&format!("GET {place}")).await.expect(200);
    let schema = &document["components"]["schemas"]["com.example.pets.v1.Cat"];
    assert_eq!(schema["properties"]["spec"]["properties"]["lives"]["type"], "integer");
    let whole = stage.ask("GET /openapi/v2").await.expect(200);
    assert!(whole["definitions"]["com.example.pets.v1.Cat"].is_object());
    assert!(whole["definitions"]["io.k8s.api.apps.v1.Deployment"].is_object());
    assert!(whole["paths"]["/apis/pets.example.com/v1/namespaces/{namespace}/cats/{name}"].is_object());
}

#[tokio::test]
async fn what_the_stored_version_does_not_know_is_not_kept() {
    let stage = Stage::new().await;
    let mut more = fur();
    more["tail"] = json!({ "type": "string", "default": "long" });
    let versions = json!([version("v1", true, fur()), version("v2", false, more)]);
    stage.send(&format!("POST {DEFINITIONS}"), &definition("cats", "Cat", versions)).await.expect(201);
    let cat = json!({ "metadata": { "name": "tom" }, "spec": { "tail": "short" } });
    stage.send(&format!("POST {}", CATS.replace("v1", "v2")), &cat).await.expect(201);
    let (one, two) = (TOM.to_owned(), TOM.replace("v1", "v2"));
    assert_eq!(stage.ask(&format!("GET {one}")).await.expect(200)["spec"], json!({ "color": "black" }));
    assert_eq!(stage.ask(&format!("GET {two}")).await.expect(200)["spec"], json!({ "color": "black" }));
}

#[tokio::test]
async fn whoever_is_refused_is_told_what_else_is_wrong() {
    let stage = stage_with_cats().await;
    stage.send(&format!("POST {CATS}"), &tom(&json!({}))).await.expect(201);
    let refused = stage.send(&format!("PUT {TOM}"), &tom(&json!({ "x": 1 }))).await;
    assert_eq!(refused.header("warning"), Some(r#"299 - "unknown field \"spec.x\"""#));
    let status = refused.expect(422);
    assert_eq!(status["details"]["kind"], "cats", "the resource, where a version is missing");
}

#[tokio::test]
async fn unknown_fields_can_be_applied_below_a_place_that_keeps_them() {
    let stage = Stage::new().await;
    let spec = json!({ "inner": { "type": "object", "properties": { "a": { "type": "string" } } } });
    let mut open = version("v1", true, spec);
    open["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-preserve-unknown-fields"] = json!(true);
    stage.send(&format!("POST {DEFINITIONS}"), &definition("cats", "Cat", json!([open]))).await.expect(201);
    let cat = tom(&json!({ "more": 1, "inner": { "a": "1", "b": "2" } }));
    let line = format!("PATCH {TOM}?fieldManager=m");
    let made = stage.send_as(&line, "application/apply-patch+yaml", cat.to_string()).await.expect(201);
    assert_eq!(made["spec"], json!({ "more": 1, "inner": { "a": "1" } }), "kept where the schema says so");
}

/// Dogs, as a definition has them that comes with the server.
fn dogs() -> Value {
    let mut dogs = definition("dogs", "Dog", json!([version("v1", true, fur())]));
    dogs["spec"]["names"]["singular"] = json!("dog");
    dogs["spec"]["names"]["listKind"] = json!("DogList");
    dogs
}

#[tokio::test]
async fn a_kind_that_came_with_the_server_is_served_in_every_workspace_and_nobody_defines_another() {
    let stage = Stage::with_given(&[dogs()]).await;
    let dog = json!({ "apiVersion": "pets.example.com/v1", "kind": "Dog", "metadata": { "name": "rex" }, "spec": {} });
    let made = stage.send("POST /apis/pets.example.com/v1/namespaces/n/dogs", &dog).await.expect(201);
    assert_eq!(made["spec"]["color"], "black");
    let there = stage.ask("GET /clusters/other/apis/pets.example.com/v1/dogs").await.expect(200);
    assert_eq!((&there["kind"], &there["items"]), (&json!("DogList"), &json!([])));
    assert!(stage.ask(&format!("GET {DEFINITIONS}")).await.expect(200)["items"].as_array().unwrap().is_empty());

    // One more kind in the same group, and one of the same name, which changes nothing.
    stage.send(&format!("POST {DEFINITIONS}"), &cats()).await.expect(201);
    let mut white = dogs();
    white["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["color"]["default"] =
        json!("white");
    stage.send(&format!("POST {DEFINITIONS}"), &white).await.expect(201);
    let mut max = dog.clone();
    max["metadata"]["name"] = json!("max");
    let made = stage.send("POST /apis/pets.example.com/v1/namespaces/n/dogs", &max).await.expect(201);
    assert_eq!(made["spec"]["color"], "black");
    let served = stage.ask("GET /apis/pets.example.com/v1").await.expect(200);
    let kinds = |served: &Value| {
        let all = served["resources"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|found| !found["name"].as_str().unwrap().contains('/'));
        all.map(|found| found["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&served), ["Dog", "Cat"]);
    assert_eq!(kinds(&stage.ask("GET /clusters/other/apis/pets.example.com/v1").await.expect(200)), ["Dog"]);
}

#[tokio::test]
async fn a_kind_that_came_with_the_server_is_described_like_any_other() {
    let stage = Stage::with_given(&[dogs()]).await;
    for workspace in ["", "/clusters/other"] {
        let v3 = stage.ask(&format!("GET {workspace}/openapi/v3/apis/pets.example.com/v1")).await.expect(200);
        let model = &v3["components"]["schemas"]["com.example.pets.v1.Dog"];
        assert_eq!(model["properties"]["spec"]["properties"]["lives"]["minimum"], 1, "{v3}");
        let v2 = stage.ask(&format!("GET {workspace}/openapi/v2")).await.expect(200);
        assert!(v2["definitions"]["com.example.pets.v1.Dog"].is_object());
        assert!(v2["definitions"]["io.k8s.api.apps.v1.Deployment"].is_object());
        stage.send(&format!("POST {DEFINITIONS}"), &cats()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_changes_an_object_does_not_notice_that_its_definition_is_touched() {
    let stage = std::sync::Arc::new(stage_with_cats().await);
    stage.send(&format!("POST {CATS}"), &tom(&json!({}))).await.expect(201);
    let touching = tokio::spawn({
        let stage = stage.clone();
        async move {
            for number in 0..200 {
                let touch = json!({ "metadata": { "annotations": { "n": number.to_string() } } });
                let line = format!("PATCH {DEFINITIONS}/cats.pets.example.com");
                stage.send_as(&line, "application/merge-patch+json", touch.to_string()).await.expect(200);
            }
        }
    });
    let mut number = 0;
    while !touching.is_finished() {
        number += 1;
        let lives = json!({ "spec": { "lives": number } });
        stage.send_as(&format!("PATCH {TOM}"), "application/merge-patch+json", lives.to_string()).await.expect(200);
        let applied = tom(&json!({ "color": "white" }));
        let line = format!("PATCH {TOM}?fieldManager=me&force=true");
        stage.send_as(&line, "application/apply-patch+yaml", applied.to_string()).await.expect(200);
    }
    touching.await.unwrap();
    assert!(number > 1);
}
