//! Custom resource definitions.

use serde_json::{Map, Value, json};

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    let on = |name| Rule::on("apiextensions.v1", name);
    vec![
        on("CustomResourceDefinition")
            .set("spec.conversion", json!({"strategy": "None"}))
            .lacking("status.storedVersions", |definition| definition.then(store_one_version)),
        on("CustomResourceDefinitionSpec").having("names.kind", |spec| spec.then(name_after_kind)),
        on("ServiceReference").set("port", 443),
    ]
}

fn name_after_kind(spec: &mut Map<String, Value>) {
    let Some(Value::Object(names)) = spec.get_mut("names") else { return };
    let Some(kind) = names.get("kind").and_then(Value::as_str).map(str::to_owned) else { return };
    for (field, name) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
        if names.get(field).is_none_or(|value| value == "" || value.is_null()) {
            names.insert(field.to_owned(), name.into());
        }
    }
}

fn store_one_version(definition: &mut Map<String, Value>) {
    let versions = definition.get("spec").and_then(|spec| spec["versions"].as_array());
    let stored = versions.and_then(|all| all.iter().find(|version| version["storage"] == true));
    let Some(name) = stored.map(|version| version["name"].clone()) else { return };
    if let Some(Value::Object(status)) = definition.get_mut("status") {
        status.insert("storedVersions".to_owned(), Value::Array(vec![name]));
    }
}
