//! What Kubernetes makes of the same policies. The lines are written by `make generate`.

use super::stage::{mutating, play, validating};
use crate::catalog::Catalog;
use crate::hooks::tests::stage::{object, scene};
use crate::hooks::{Versions, View, without_objects};
use crate::managed_fields::Schema;
use crate::policy::authority::Authority;
use crate::policy::change::Failure;
use crate::policy::decide::Note;
use crate::policy::evaluate::Facts;
use crate::policy::{check, type_checking};
use openapi::builtin::kind_in;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The vectors that have such a field.
fn vectors(field: &str) -> Vec<Value> {
    let all = include_str!("vectors.jsonl").lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found: Vec<Value> = all.filter(|vector| vector.get(field).is_some()).collect();
    assert!(found.len() > 5, "{field}");
    found
}

/// Runs something with what is told of the request that all vectors are about.
fn with_facts<T>(vector: &Value, work: impl FnOnce(Facts<'_>) -> T) -> T {
    let seen = object(vector["object"].clone());
    let params = Some(&vector["params"]).filter(|tree| tree.is_object()).map(|tree| object(tree.clone()));
    play(&scene("CREATE apps/v1/deployments n/web"), |ask| {
        let view = View::new(ask, Some(Cow::Borrowed(&seen)));
        let authority = Authority::new(ask);
        work(Facts {
            request: &without_objects(ask, &view),
            object: Some(&seen),
            old: None,
            namespace: Some(&vector["namespace"]).filter(|tree| tree.is_object()),
            params: params.as_ref(),
            authority: Some(&authority),
        })
    })
}

/// Everything that differs, so that one run tells it all.
#[track_caller]
fn none(differing: Vec<String>) {
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
}

fn compared(of: &Value, found: &Value, expected: &Value) -> Option<String> {
    (found != expected).then(|| format!("{}\n   found {found}\nexpected {expected}\n", of["spec"]))
}

#[test]
fn policies_decide_as_in_kubernetes() {
    let differing = |vector: &Value| {
        let policies = validating(std::slice::from_ref(&vector["decide"]));
        let decided = with_facts(vector, |facts| policies.validating[0].decide(facts));
        let decisions = decided.decisions.iter().map(|one| {
            let reason = if one.denies { one.reason } else { "" };
            json!({ "denies": one.denies, "message": one.message, "reason": reason })
        });
        let notes = decided.notes.iter().map(|note| match note {
            Note::Publish(key, value) => json!({ "key": key, "value": value }),
            Note::Failed(why) => json!({ "error": why }),
        });
        let found = json!([decisions.collect::<Vec<_>>(), notes.collect::<Vec<_>>()]);
        let mut expected = vector["decisions"].clone();
        for decision in expected.as_array_mut().unwrap() {
            // A failure has none of its own, and is told as invalid.
            if decision["denies"] == true && decision["reason"] == "" {
                decision["reason"] = json!("Invalid");
            }
            // Nobody is told why nothing is refused.
            if decision["denies"] == false {
                (decision["message"], decision["reason"]) = (json!(""), json!(""));
            }
        }
        let mut found = found;
        for decision in found[0].as_array_mut().unwrap() {
            if decision["denies"] == false {
                decision["message"] = json!("");
            }
        }
        compared(&vector["decide"], &found, &json!([expected, vector["notes"]]))
    };
    none(vectors("decide").iter().filter_map(differing).collect());
}

#[test]
fn policies_change_objects_as_in_kubernetes() {
    let settled = |tree: &Value| {
        let settled = Catalog::builtin().settle(object(tree.clone()), "apps/v1", "Deployment");
        Value::from(settled.unwrap())
    };
    let differing = |vector: &Value| {
        let policies = mutating(std::slice::from_ref(&vector["mutate"]));
        let (policy, before) = (&policies.mutating[0], object(vector["object"].clone()));
        let schema = Schema::of_kind(kind_in("apps/v1", "Deployment").unwrap());
        let changed = with_facts(vector, |facts| policy.rules.list[0].change(&before, schema, facts, &policy.named));
        let found = match changed {
            Ok(changed) => json!({ "changed": settled(&changed.into()) }),
            Err(Failure::Wrong(why)) => json!({ "error": why }),
            Err(Failure::Refused(error)) => json!({ "error": error.message() }),
        };
        let expected = match vector.get("changed") {
            Some(changed) => json!({ "changed": settled(changed) }),
            None => json!({ "error": vector["error"] }),
        };
        compared(&vector["mutate"], &found, &expected)
    };
    none(vectors("mutate").iter().filter_map(differing).collect());
}

#[test]
fn expressions_are_refused_as_in_kubernetes() {
    let differing = |vector: &Value| {
        let found: Vec<String> = check(&object(vector["write"].clone())).iter().map(ToString::to_string).collect();
        compared(&vector["write"], &json!(found), &vector["errors"])
    };
    none(vectors("write").iter().filter_map(differing).collect());
}

#[test]
fn types_are_checked_as_in_kubernetes() {
    let differing = |vector: &Value| {
        let found = type_checking(&object(vector["types"].clone()), &Catalog::builtin());
        let found = found.get("expressionWarnings").cloned().unwrap_or_else(|| json!([]));
        compared(&vector["types"], &found, &vector["warnings"])
    };
    none(vectors("types").iter().filter_map(differing).collect());
}
