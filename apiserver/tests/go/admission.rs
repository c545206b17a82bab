//! A story that a real kube-apiserver was told, told to this one: every answer is the same, but for what is random.

use apiserver::ambient::Ambient;
use apiserver::catalog::Catalog;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use apiserver::place::{Collection, Workspace};
use apiserver::resources::{Deleted, Resources};
use apiserver::strategy::Part;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use storage::{Options, Place, Store};

/// Steps whose answers differ, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("pods whole2", "requests of a pod are not yet held against those of its containers"),
    ("persistentvolumeclaims c5 - {\"spec\":{\"resources", "Go's difference of the two is not part of the message"),
];

struct Step {
    verb: String,
    at: Collection,
    name: String,
    part: Part,
    body: Value,
}

async fn take(client: &Client, step: &Step) -> Result<Value, ApiError> {
    let at = step.at.object(&step.name);
    let object = || Object::try_from(step.body.clone()).expect("an object");
    Ok(match &*step.verb {
        "create" => client.create(&step.at, step.body.clone()).await?.into(),
        "update" => client.update(&at, step.part, object()).await?.into(),
        "merge" => client.merge(&at, step.part, &step.body).await?.into(),
        "get" => client.get(&at).await?.ok_or_else(|| ApiError::not_found(at.resource(), &at.name))?.into(),
        _ => match client.delete(&at, &DeleteOptions::default()).await? {
            Deleted::Gone { last: bytes, .. } | Deleted::Going { now: bytes } => {
                serde_json::from_slice(&bytes).expect("JSON")
            }
        },
    })
}

/// What both servers make up by themselves is given a name.
fn plain(value: &mut Value, uid: &str) {
    match value {
        Value::Object(map) => plain_map(map, uid),
        Value::Array(items) => items.iter_mut().for_each(|item| plain(item, uid)),
        Value::String(text) if !uid.is_empty() && *text == uid => *text = "<uid>".to_owned(),
        Value::String(text)
            if text.starts_with("kube-api-access-") && text.len() == 21 && text != "kube-api-access-mine1" =>
        {
            *text = "<token volume>".to_owned();
        }
        // Those that were asked for are below 10.0.0.128.
        Value::String(text) if text.starts_with("10.0.") && !text.starts_with("10.0.0.") => *text = "<ip>".to_owned(),
        _ => {}
    }
}

fn plain_map(map: &mut Map<String, Value>, uid: &str) {
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink"] {
        map.remove(field);
    }
    for (name, value) in map.iter_mut() {
        match &**name {
            "nodePort" | "healthCheckNodePort" if value.as_i64().is_some_and(|port| port >= 30_086) => {
                *value = "<port>".into()
            }
            name if name.ends_with("Time") && value.as_str().is_some_and(|text| !text.starts_with("2020")) => {
                *value = "<time>".into();
            }
            // Both servers know everybody by another name.
            "username" | "groups" => *value = "<user>".into(),
            _ => plain(value, uid),
        }
    }
}

fn compared(mut object: Value) -> Value {
    let uid = object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned();
    plain(&mut object, &uid);
    object
}

fn answer(outcome: Result<Value, ApiError>) -> Value {
    match outcome {
        Ok(object) => compared(object),
        Err(error) => json!({ "code": error.code(), "reason": error.reason(), "message": error.message() }),
    }
}

fn expected(code: &str, body: &str) -> Value {
    let mut body: Value = serde_json::from_str(body).expect("JSON");
    if code.starts_with('2') {
        return compared(body);
    }
    json!({ "code": body["code"], "reason": body["reason"].take(), "message": body["message"].take() })
}

/// Where two trees differ.
fn differences(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let at = |map: &Map<String, Value>| map.get(name).cloned().unwrap_or(Value::Null);
                differences(&format!("{path}.{name}"), &at(a), &at(b), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{path}[{at}]"), a, b, found);
            }
        }
        _ if ours != theirs => found.push(format!("{path}: {ours} instead of {theirs}")),
        _ => {}
    }
}

async fn workspace() -> (Client, Workspace) {
    let store = Store::open(&Place::Memory, Options::default()).expect("a store");
    let resources = Resources::new(store, Arc::new(Catalog::builtin()), Ambient::real());
    let (client, workspace) = (Client::as_system(resources, "test"), Workspace::new("w"));
    let classes = client.at(("scheduling.k8s.io", "v1", "priorityclasses"), &workspace, None).expect("served");
    let class = json!({ "metadata": { "name": "system-node-critical" }, "value": 2_000_001_000 });
    client.create(&classes, class).await.expect("made");
    (client, workspace)
}

#[tokio::test]
async fn every_object_becomes_what_kubernetes_makes_of_it() {
    let (client, workspace) = workspace().await;
    let (mut taken, mut wrong) = (0, Vec::new());
    for [verb, api_version, plural, namespace, name, sub, body, code, answered] in super::lines("admission.txt") {
        let said = |text: &str| Some(text.to_owned()).filter(|text| text != "-");
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let at = client.at((group, version, &plural), &workspace, said(&namespace).as_deref()).expect("served");
        let part = Part::of_subresource(said(&sub).as_deref()).expect("a part");
        let body = said(&body).map_or(Value::Null, |body| serde_json::from_str(&body).expect("JSON"));
        let label = said(&name).or_else(|| body["metadata"]["name"].as_str().map(str::to_owned)).unwrap_or_default();
        let what = format!("{taken} {verb} {plural} {label} {sub} {body}");
        let step = Step { verb, at, name: label, part, body };
        let ours = answer(take(&client, &step).await);
        let mut found = Vec::new();
        if step.verb == "delete" && ours.get("code").is_none() && code == "200" {
            taken += 1;
            continue;
        }
        differences("", &ours, &expected(&code, &answered), &mut found);
        let excused = DIFFERENT.iter().any(|(which, _)| what.contains(which));
        if !found.is_empty() && !excused {
            wrong.push(format!("{what}\n    {}", found.join("\n    ")));
        }
        taken += 1;
    }
    assert!(taken > 200, "only {taken}");
    assert!(wrong.is_empty(), "{} of {taken} differ:\n{}", wrong.len(), wrong.join("\n"));
}
