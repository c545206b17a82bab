//! Policies about custom resources.

use super::stage::{mutate, policy, validate};
use crate::catalog::{self, Catalog, Origin};
use crate::custom::Interned;
use crate::hooks::tests::stage::{Scene, object, scene_in};
use crate::policy::type_checking;
use serde_json::{Value, json};
use std::sync::Arc;
use storage::Revision;

/// A workspace with CronTabs in it.
fn crontabs() -> Arc<Catalog> {
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
        "replicas": { "type": "integer" },
        "image": { "type": "string" },
        "args": { "type": "array", "items": { "type": "string" } },
        "jobs": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": { "type": "object", "required": ["name"], "properties": {
                "name": { "type": "string" }, "every": { "type": "integer" },
            } },
        },
    } } } });
    let names = json!({ "plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList" });
    let definition = object(json!({
        "metadata": { "name": "crontabs.example.com" },
        "spec": { "group": "example.com", "scope": "Namespaced", "names": names, "versions": [
            { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } },
        ] },
        "status": { "acceptedNames": names, "conditions": [
            { "type": "NamesAccepted", "status": "True" }, { "type": "Established", "status": "True" },
        ] },
    }));
    let origin = Origin { revision: Revision::ZERO, since: Revision::ZERO };
    let defined = catalog::defined(&definition, origin, &Interned::default());
    Arc::new(Catalog::with(&Arc::new(Catalog::builtin()), defined.iter().cloned()))
}

fn crontab() -> Scene {
    let mut scene = scene_in(crontabs(), "CREATE example.com/v1/crontabs n/c");
    if let Some(object) = &mut scene.object {
        object["spec"] = json!({ "replicas": 1, "jobs": [{ "name": "a", "every": 5 }, { "name": "b" }] });
    }
    scene
}

fn spec(expression: &str) -> Result<Value, String> {
    let mutation = json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } });
    let changed = mutate(&crontab(), &[policy("p", json!({ "mutations": [mutation] }))]);
    changed.map(|changed| Value::from(changed.object.unwrap())["spec"].clone()).map_err(|error| {
        let message = error.message().to_owned();
        message.split_once("denied request: ").map_or(message.clone(), |(_, why)| why.to_owned())
    })
}

#[test]
fn their_schemas_say_how_they_are_merged() {
    let job = "Object{spec: Object.spec{replicas: 2, jobs: [Object.spec.jobs{name: 'a', every: 7}]}}";
    let jobs = json!([{ "name": "a", "every": 7 }, { "name": "b" }]);
    assert_eq!(spec(job), Ok(json!({ "replicas": 2, "jobs": jobs })));
    let atomic =
        "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.args";
    assert_eq!(spec("Object{spec: Object.spec{args: ['a']}}"), Err(atomic.to_owned()));
    let unknown =
        "error applying patch: failed to convert patch object to typed object: .spec.odd: field not declared in schema";
    assert_eq!(spec("Object{spec: Object.spec{odd: 1}}"), Err(unknown.to_owned()));
}

#[test]
fn what_they_say_is_judged() {
    let judged = |expression: &str| {
        validate(&crontab(), &[policy("p", json!({ "validations": [{ "expression": expression }] }))]).is_ok()
    };
    assert!(judged("object.spec.jobs.all(j, !has(j.every) || j.every == 5)"));
    assert!(!judged("object.spec.replicas > 1"));
}

#[test]
fn their_schemas_say_which_expressions_seem_wrong() {
    let checked = |expression: &str| {
        let rule = json!({
            "operations": ["CREATE"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["crontabs"],
        });
        let spec = json!({
            "matchConstraints": { "resourceRules": [rule] }, "validations": [{ "expression": expression }],
        });
        let checked = type_checking(&object(policy("p", spec)), &crontabs());
        checked["expressionWarnings"][0]["warning"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(checked("object.spec.replicas > 1 && object.metadata.name != ''"), "");
    let kind = "example.com/v1, Kind=CronTab: ERROR: <input>";
    let overload = checked("object.spec.replicas > '1'");
    let expected = format!("{kind}:1:22: found no matching overload for '_>_' applied to '(int, string)'");
    assert!(overload.starts_with(&expected), "{overload}");
    let field = checked("object.spec.maxRetries < 10");
    assert!(field.starts_with(&format!("{kind}:1:12: undefined field 'maxRetries'")), "{field}");
}
