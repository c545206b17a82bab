//! Objects that their authors convert.

use super::stage::Caller;
use crate::hooks::Endpoint;
use crate::hooks::call::CallError;
use crate::hooks::conversion::convert;
use serde_json::{Value, json};

fn thing(version: &str, name: &str) -> Value {
    json!({ "apiVersion": format!("g/{version}"), "kind": "Thing", "metadata": { "name": name, "uid": "u", "labels": { "a": "1" } } })
}

type Change = fn(&mut Value);

/// What an honest converter answers, after `change` had its way with it.
async fn converted(objects: Vec<Value>, versions: &[&str], change: Change) -> Result<Vec<Value>, String> {
    let caller = Caller::new(move |_, review| {
        let mut objects = review["request"]["objects"].clone();
        for object in objects.as_array_mut().unwrap() {
            object["apiVersion"] = review["request"]["desiredAPIVersion"].clone();
        }
        let result = json!({ "status": "Success" });
        let mut answer = json!({
            "kind": "ConversionReview", "apiVersion": review["apiVersion"],
            "response": { "uid": review["request"]["uid"], "convertedObjects": objects, "result": result },
        });
        change(&mut answer);
        if answer.is_null() { Err(CallError::Failed("oh".to_owned())) } else { Ok(answer) }
    });
    let to = Endpoint::read(&json!({ "url": "https://hook/convert" })).unwrap();
    let versions: Vec<String> = versions.iter().map(|version| (*version).to_owned()).collect();
    convert(&caller, &to, &versions, objects, "g/v2", "id".to_owned()).await
}

async fn check(change: Change, expect: &str) {
    let found = converted(vec![thing("v1", "x")], &["v1"], change).await;
    assert_eq!(found, Err(format!("conversion webhook for g/v1, Kind=Thing {expect}")));
}

#[tokio::test]
async fn objects_come_back_in_the_other_version_and_in_order() {
    let mixed =
        vec![thing("v1", "x"), thing("v2", "y"), json!({ "kind": "T", "apiVersion": "g/v1" }), thing("v3", "z")];
    let found = converted(mixed, &["v5", "v1"], |answer| {
        assert_eq!(answer["response"]["convertedObjects"].as_array().unwrap().len(), 2);
        answer["response"]["convertedObjects"][0]["spec"] = json!(1);
    });
    let mut expect =
        vec![thing("v2", "x"), thing("v2", "y"), json!({ "kind": "T", "apiVersion": "g/v2" }), thing("v2", "z")];
    expect[0]["spec"] = json!(1);
    assert_eq!(found.await, Ok(expect));
    assert_eq!(
        converted(vec![thing("v2", "x")], &["v1"], |_| panic!("nobody is asked")).await,
        Ok(vec![thing("v2", "x")])
    );
    let none = converted(vec![thing("v1", "x")], &["v7"], |_| {}).await;
    assert_eq!(none, Err("no supported conversion review versions".to_owned()));
}

#[tokio::test]
async fn labels_and_annotations_may_change_and_nothing_else_of_metadata() {
    let found = converted(vec![thing("v1", "x")], &["v1"], |answer| {
        let object = &mut answer["response"]["convertedObjects"][0];
        object["metadata"] = json!({ "name": "x", "uid": "u", "annotations": { "b": "2" }, "finalizers": ["f"] });
    });
    let metadata = json!({ "name": "x", "uid": "u", "annotations": { "b": "2" } });
    assert_eq!(found.await.unwrap()[0]["metadata"], metadata);
}

#[tokio::test]
async fn answers_that_do_not_go_with_the_question_are_refused() {
    check(|answer| *answer = Value::Null, "failed: oh").await;
    check(|answer| answer["response"] = Value::Null, "failed: no response provided").await;
    check(|answer| answer["response"]["uid"] = json!("x"), "failed: expected response.uid=\"id\", got \"x\"").await;
    let kind = "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got";
    check(|answer| answer["kind"] = json!("X"), &format!("{kind} apiextensions.k8s.io/v1, Kind=X")).await;
    check(|answer| answer["apiVersion"] = json!("v1"), &format!("{kind} /v1, Kind=ConversionReview")).await;
    check(|answer| answer["response"]["result"] = json!({ "message": "no" }), "failed: no").await;
    let status = "failed: response.result.status was 'Failure', not 'Success'";
    check(|answer| answer["response"]["result"]["status"] = json!("Failure"), status).await;
    check(|answer| answer["response"]["convertedObjects"] = Value::Null, "returned 0 objects, expected 1").await;
    let beta = converted(vec![thing("v1", "x")], &["v1beta1"], |answer| {
        answer["kind"] = json!("X");
        answer["response"]["uid"] = json!("other");
    });
    assert!(beta.await.is_ok());
}

#[tokio::test]
async fn objects_that_are_others_are_refused() {
    fn one(answer: &mut Value) -> &mut Value {
        &mut answer["response"]["convertedObjects"][0]
    }
    let version = "returned invalid object at index 0: invalid groupVersion (expected g/v2, received g/v1)";
    check(|answer| one(answer)["apiVersion"] = json!("g/v1"), version).await;
    let kind = "returned invalid object at index 0: invalid kind (expected Thing, received Other)";
    check(|answer| one(answer)["kind"] = json!("Other"), kind).await;
    let name = "returned invalid object: must have the same name: x != y";
    check(|answer| one(answer)["metadata"]["name"] = json!("y"), name).await;
    let namespace = "returned invalid object: must have the same namespace:  != n";
    check(|answer| one(answer)["metadata"]["namespace"] = json!("n"), namespace).await;
    let uid = "returned invalid object: must have the same UID: u != v";
    check(|answer| one(answer)["metadata"]["uid"] = json!("v"), uid).await;
    let labels = "returned invalid metadata: invalid metadata.labels of type []interface {} in converted object";
    check(|answer| one(answer)["metadata"]["labels"] = json!([]), labels).await;
    let label = "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object";
    check(|answer| one(answer)["metadata"]["labels"]["a"] = json!(1), label).await;
    let found =
        converted(vec![thing("v1", "x")], &["v1"], |answer| one(answer)["metadata"]["labels"]["a"] = json!("-"));
    let text =
        "conversion webhook for g/v1, Kind=Thing returned invalid metadata: metadata.labels: Invalid value: \"-\": ";
    assert!(found.await.unwrap_err().starts_with(text));
    assert!(converted(vec![thing("v1", "x")], &["v1"], |answer| *one(answer) = json!(5)).await.is_err());
    let many = converted(vec![thing("v1", "x"), thing("v1", "y")], &["v1"], |answer| {
        answer["response"]["convertedObjects"][1]["metadata"]["name"] = json!("z");
    });
    let text = "conversion webhook for g/v2, Kind=ThingList returned invalid converted object at index 1: must have the same \
                name: y != z";
    assert_eq!(many.await, Err(text.to_owned()));
}
