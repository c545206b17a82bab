//! Whether a schema may take the place of another for those who have bound it. Pure.
//!
//! Nobody who has bound a kind loses anything by a change of mind elsewhere: versions that were served stay until they
//! were deprecated, fields stay and are of the type that they were, and none becomes required. Values that are not accepted any more are refused only
//! when they are changed.

use apiserver::object::Object;
use openapi::structural::{Change, Structural};
use serde_json::Value;

/// Changes that are named.
const NAMED_MAX: usize = 5;

/// What a schema would break for those who are bound to a definition: nothing, if it may take its place.
pub(super) fn breaks(taken: &Object, schema: &Object) -> Vec<String> {
    let mut broken = Vec::new();
    if taken.text(&["spec", "scope"]) != schema.text(&["spec", "scope"]) {
        broken.push(format!(
            "the scope is {} and would be {}",
            taken.text(&["spec", "scope"]),
            schema.text(&["spec", "scope"])
        ));
    }
    if taken.text(&["spec", "names", "kind"]) != schema.text(&["spec", "names", "kind"]) {
        broken.push(format!("the kind is called {}", taken.text(&["spec", "names", "kind"])));
    }
    let version = |name: &Value| schema.items(&["spec", "versions"]).find(|found| found["name"] == *name);
    let stored = taken.items(&["spec", "versions"]).filter(|found| found["storage"] == true);
    for found in stored.filter(|found| version(&found["name"]).is_none()) {
        let name = found["name"].as_str().unwrap_or_default();
        broken.push(format!("objects are stored in version {name}: a schema that stores another has to come first"));
    }
    let served = taken.items(&["spec", "versions"]).filter(|found| found["served"] == true);
    // Whoever uses a version that is deprecated has been warned with every answer.
    let counted_on = served.filter(|found| found["deprecated"] != true);
    for found in counted_on.filter(|found| version(&found["name"]).is_none_or(|new| new["served"] != true)) {
        let name = found["name"].as_str().unwrap_or_default();
        broken.push(format!("version {name} is no longer served, and was not deprecated before"));
    }
    broken.extend(told(taken, schema, Change::breaks));
    broken
}

/// Versions that a schema does not have, and that objects of a kind as it is bound may be stored in.
pub(super) fn stranded<'a>(bound: &'a Value, schema: &Object) -> Vec<&'a str> {
    let has = |name: &str| schema.items(&["spec", "versions"]).any(|found| found["name"] == name);
    let stored = bound["storageVersions"].as_array().into_iter().flatten().filter_map(Value::as_str);
    stored.filter(|name| !has(name)).collect()
}

/// What would not be accepted any more of those who are bound to a definition.
pub(super) fn tightens(taken: &Object, schema: &Object) -> Vec<String> {
    told(taken, schema, |change| !change.breaks())
}

/// Changes of the versions that both have, as far as they are wanted: `v1: spec.hat is gone`.
fn told(taken: &Object, schema: &Object, wanted: impl Fn(&Change) -> bool) -> Vec<String> {
    let mut told = Vec::new();
    for new in schema.items(&["spec", "versions"]) {
        let mut versions = taken.items(&["spec", "versions"]);
        let Some(old) = versions.find(|old| old["name"] == new["name"]) else { continue };
        let old = Structural::read(old.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null));
        let now = Structural::read(&new["schema"]);
        let name = new["name"].as_str().unwrap_or_default();
        let changes = old.root().changes_to(now.root());
        told.extend(changes.iter().filter(|change| wanted(change)).map(|change| format!("{name}: {change}")));
    }
    let more = told.len().saturating_sub(NAMED_MAX);
    told.truncate(NAMED_MAX);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(fields: &Value) -> (Object, Object) {
        let shape = json!({ "type": "object", "properties": fields });
        let version =
            |schema: Value| json!({ "spec": { "versions": [{ "name": "v1", "served": true, "schema": schema }] } });
        let definition = Object::try_from(version(json!({ "openAPIV3Schema": shape }))).unwrap();
        (definition, Object::try_from(version(shape)).unwrap())
    }

    #[test]
    fn fields_stay_and_rules_may_change() {
        let (text, short) = (json!({ "type": "string" }), json!({ "type": "string", "maxLength": 3 }));
        let old = of(&json!({ "a": text, "b": text })).0;
        let check = |new: Value, broken: &[&str], tightened: &[&str]| {
            let new = of(&new).1;
            assert_eq!(breaks(&old, &new), broken);
            assert_eq!(tightens(&old, &new), tightened);
        };
        check(json!({ "a": text, "b": text, "c": text }), &[], &[]);
        check(json!({ "a": text, "b": short }), &[], &["v1: b: maxLength would be 3"]);
        check(
            json!({ "a": { "type": "integer" } }),
            &["v1: a is of type string and would be of type integer", "v1: b is gone"],
            &[],
        );
    }

    #[test]
    fn of_many_changes_some_are_named() {
        let names: Vec<String> = (0..9).map(|number| format!("f{number}")).collect();
        let fields: Value = names
            .iter()
            .map(|name| (name.clone(), json!({ "type": "string" })))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let told = breaks(&of(&fields).0, &of(&json!({})).1);
        assert_eq!((told.len(), told.last().map(String::as_str)), (NAMED_MAX + 1, Some("and 4 more")));
    }
}
