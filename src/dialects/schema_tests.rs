//! Holding documents to definitions, for the tests of every dialect.

use openapi::structural::Structural;
use openapi::validation::definition;
use serde_json::Value;

#[track_caller]
fn schema(definitions: &[Value], object: &Value) -> Structural {
    let kind = |definition: &&Value| definition["spec"]["names"]["kind"] == object["kind"];
    let found = definitions.iter().find(kind).unwrap_or_else(|| panic!("{} is not defined", object["kind"]));
    let group = found["spec"]["group"].as_str().unwrap();
    let versions = found["spec"]["versions"].as_array().unwrap();
    let served = |version: &&Value| object["apiVersion"] == format!("{group}/{}", version["name"].as_str().unwrap());
    let version = versions.iter().find(served).unwrap_or_else(|| panic!("{} is not served", object["apiVersion"]));
    Structural::read(&version["schema"]["openAPIV3Schema"])
}

/// Whether every definition is one that a server takes.
#[track_caller]
pub(super) fn sound(definitions: &[Value]) {
    for one in definitions {
        let mut one = one.clone();
        // What a server writes when it takes a definition.
        one["status"] = serde_json::json!({"storedVersions": [one["spec"]["versions"][0]["name"]]});
        let errors = definition::validate(&one, None);
        assert!(errors.is_empty(), "{}: {errors:?}", one["metadata"]["name"]);
    }
}

/// Every field is known, and every value is one that may stand there.
#[track_caller]
pub(super) fn accepts(definitions: &[Value], object: &Value) {
    let schema = schema(definitions, object);
    let mut pruned = object.clone();
    assert_eq!(schema.prune(&mut pruned), Vec::<String>::new());
    let errors = schema.validate(object, None, openapi::validation::embedded_metadata);
    assert!(errors.is_empty(), "{errors:?}");
}

#[track_caller]
pub(super) fn refuses(definitions: &[Value], object: &Value) {
    assert!(
        !schema(definitions, object).validate(object, None, openapi::validation::embedded_metadata).is_empty(),
        "{object}"
    );
}
