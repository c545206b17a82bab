//! Objects of our own kinds from one version to another. What the other version cannot say is kept in annotations, under
//! the names that kcp gives them, so that nothing is lost on the way there and back.

use apiserver::custom::Converter;
use apiserver::object::Object;
use serde_json::{Map, Value, json};

/// Schemas that v1alpha1 could not name.
const CLAIMS_OF_EXPORT: &str = "apis.v1alpha2.kcp.io/permission-claims";
const CLAIMS_OF_BINDING: &str = "apis.v1alpha2.kcp.io/acceptable-permission-claims";
/// What v1alpha1 said of claims.
const CLAIMS_BEFORE: &str = "apis.v1alpha2.kcp.io/v1alpha1-permission-claims";

/// By which annotations users bring along what a version cannot say.
pub const CARRIED: [&str; 3] = [CLAIMS_OF_EXPORT, CLAIMS_OF_BINDING, CLAIMS_BEFORE];

/// How objects of a kind get from one version to another, where that takes more than a name.
pub fn converter(group: &str, plural: &str) -> Option<Converter> {
    match (group, plural) {
        ("apis.kcp.io", "apiexports") => Some(export),
        ("apis.kcp.io", "apibindings") => Some(binding),
        _ => None,
    }
}

/// An export in another version.
pub fn export(object: &mut Object, version: &str) {
    match version {
        "v1alpha1" => {
            let schemas: Vec<Value> =
                object.items(&["spec", "resources"]).map(|resource| resource["schema"].clone()).collect();
            object.spec_mut().remove("resources");
            put_list(object.spec_mut(), "latestResourceSchemas", schemas);
            claims_down(object, CLAIMS_OF_EXPORT);
        }
        _ => {
            let names = object.items(&["spec", "latestResourceSchemas"]).filter_map(Value::as_str);
            let resources: Vec<Value> = names.map(described).collect();
            object.spec_mut().remove("latestResourceSchemas");
            put_list(object.spec_mut(), "resources", resources);
            claims_up(object, CLAIMS_OF_EXPORT);
        }
    }
}

/// A binding in another version.
pub fn binding(object: &mut Object, version: &str) {
    let down = version == "v1alpha1";
    if down {
        claims_down(object, CLAIMS_OF_BINDING);
    } else {
        claims_up(object, CLAIMS_OF_BINDING);
    }
    let Some(Value::Object(status)) = object.map_mut().get_mut("status") else { return };
    for field in ["exportPermissionClaims", "appliedPermissionClaims"] {
        let Some(Value::Array(claims)) = status.get_mut(field) else { continue };
        for claim in claims {
            *claim = if down { lowered(claim) } else { raised(claim, field != "exportPermissionClaims") };
        }
    }
}

/// `today.cowboys.wildwest.dev`: which kind a schema is of, as its name says.
fn described(schema: &str) -> Value {
    let mut parts = schema.splitn(3, '.').skip(1);
    let (plural, group) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let group = if group == "core" { "" } else { group };
    json!({ "name": plural, "group": group, "schema": schema, "storage": { "crd": {} } })
}

fn claims_down(object: &mut Object, kept: &str) {
    let claims: Vec<Value> = object.items(&["spec", "permissionClaims"]).cloned().collect();
    let before = taken(object, CLAIMS_BEFORE);
    let lost: Vec<Value> = claims.iter().filter(|claim| lowered_loses(claim)).cloned().collect();
    let lowered = claims.iter().map(|claim| {
        let mut low = lowered(claim);
        if let Some(original) = before.iter().find(|other| is_same(other, claim)) {
            copy(&mut low, original, "all");
            copy(&mut low, original, "resourceSelector");
        }
        low
    });
    let lowered = lowered.collect();
    put_list(object.spec_mut(), "permissionClaims", lowered);
    if !lost.is_empty() {
        object.set_annotation(kept, &Value::Array(lost).to_string());
    }
}

fn claims_up(object: &mut Object, kept: &str) {
    let claims: Vec<Value> = object.items(&["spec", "permissionClaims"]).cloned().collect();
    let kept = taken(object, kept);
    let selects =
        |claim: &Value| claim.get("resourceSelector").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let lost: Vec<Value> = claims.iter().filter(|claim| selects(claim)).cloned().collect();
    let of_binding = object.kind() == "APIBinding";
    let raised = claims.iter().map(|claim| {
        let mut high = raised(claim, of_binding);
        if let Some(original) = kept.iter().find(|other| is_same(other, claim)) {
            for field in ["verbs", "selector", "defaultSelector", "export"] {
                copy(&mut high, original, field);
            }
        }
        high
    });
    let raised = raised.collect();
    put_list(object.spec_mut(), "permissionClaims", raised);
    if !lost.is_empty() {
        object.set_annotation(CLAIMS_BEFORE, &Value::Array(lost).to_string());
    }
}

fn lowered(claim: &Value) -> Value {
    let mut low = only(claim, &["group", "resource", "identityHash", "state"]);
    let all = claim.get("selector").is_none_or(|selector| selector["matchAll"] == true);
    low["all"] = json!(all);
    low
}

fn lowered_loses(claim: &Value) -> bool {
    let all = claim.get("selector").is_none_or(|selector| *selector == json!({ "matchAll": true }));
    let says = |field: &str| claim.get(field).is_some();
    claim["verbs"] != json!(["*"]) || !all || says("defaultSelector") || says("export")
}

/// What selected by name in v1alpha1 always meant everything.
fn raised(claim: &Value, selects: bool) -> Value {
    let mut high = only(claim, &["group", "resource", "identityHash", "state"]);
    high["verbs"] = json!(["*"]);
    if selects {
        high["selector"] = json!({ "matchAll": true });
    }
    high
}

fn is_same(one: &Value, other: &Value) -> bool {
    let word = |claim: &Value, field: &str| claim.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    ["group", "resource", "identityHash"].iter().all(|field| word(one, field) == word(other, field))
}

fn only(claim: &Value, fields: &[&str]) -> Value {
    let mut kept = json!({});
    fields.iter().for_each(|field| copy(&mut kept, claim, field));
    kept
}

fn copy(to: &mut Value, from: &Value, field: &str) {
    if let Some(value) = from.get(field) {
        to[field] = value.clone();
    }
}

/// What an annotation lists, which is taken off.
fn taken(object: &mut Object, annotation: &str) -> Vec<Value> {
    let found = object.annotation(annotation).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    if let Some(Value::Object(all)) = object.metadata_mut().get_mut("annotations") {
        all.remove(annotation);
        if all.is_empty() {
            object.remove_metadata("annotations");
        }
    }
    found
}

fn put_list(map: &mut Map<String, Value>, field: &str, list: Vec<Value>) {
    if list.is_empty() {
        map.remove(field);
    } else {
        map.insert(field.to_owned(), Value::Array(list));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(convert: fn(&mut Object, &str), new: Value, old: Value) {
        let object = |tree: &Value| Object::try_from(tree.clone()).unwrap();
        let (mut lowered, mut raised) = (object(&new), object(&old));
        convert(&mut lowered, "v1alpha1");
        assert_eq!(Value::from(lowered), old, "down");
        convert(&mut raised, "v1alpha2");
        assert_eq!(Value::from(raised), new, "up");
    }

    #[test]
    fn schemas_are_named_or_described() {
        check(
            export,
            json!({ "kind": "APIExport", "metadata": {}, "spec": { "resources": [
                { "name": "cowboys", "group": "wild.west", "schema": "v1.cowboys.wild.west", "storage": { "crd": {} } },
                { "name": "pods", "group": "", "schema": "v1.pods.core", "storage": { "crd": {} } },
            ] } }),
            json!({ "kind": "APIExport", "metadata": {}, "spec": {
                "latestResourceSchemas": ["v1.cowboys.wild.west", "v1.pods.core"],
            } }),
        );
    }

    #[test]
    fn verbs_and_selectors_of_claims_survive_a_version_that_knows_none() {
        let narrow = json!([{ "group": "", "resource": "secrets", "verbs": ["get"], "state": "Accepted",
            "selector": { "matchLabels": { "a": "b" } } }]);
        check(
            binding,
            json!({ "kind": "APIBinding", "metadata": {}, "spec": { "permissionClaims": narrow } }),
            json!({ "kind": "APIBinding", "metadata": { "annotations": { CLAIMS_OF_BINDING: narrow.to_string() } },
                "spec": { "permissionClaims": [
                    { "group": "", "resource": "secrets", "state": "Accepted", "all": false },
                ] } }),
        );
    }

    #[test]
    fn names_that_were_selected_are_remembered() {
        let named = json!([{ "resource": "secrets", "all": false, "resourceSelector": [{ "name": "x" }] }]);
        check(
            export,
            json!({ "kind": "APIExport", "metadata": { "annotations": { CLAIMS_BEFORE: named.to_string() } },
                "spec": { "permissionClaims": [{ "resource": "secrets", "verbs": ["*"] }] } }),
            json!({ "kind": "APIExport", "metadata": {}, "spec": { "permissionClaims": named } }),
        );
    }
}
