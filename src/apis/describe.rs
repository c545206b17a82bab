//! Says in our own definitions what each field is for: `kubectl explain` shows it, and so does the reference.
//!
//! The text is in `descriptions.txt`, a line each: a kind, the path of a field, and what it is for. A path that begins with
//! `*.` is meant wherever fields end like it and nothing else is said.

use serde_json::{Value, json};

const DESCRIPTIONS: &str = include_str!("descriptions.txt");

/// The definition with what is said of its fields.
pub fn describe(mut definition: Value) -> Value {
    let kind = definition["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    for version in definition["spec"]["versions"].as_array_mut().into_iter().flatten() {
        within(&mut version["schema"]["openAPIV3Schema"], &kind, "");
    }
    definition
}

fn within(schema: &mut Value, kind: &str, path: &str) {
    if let Some(text) = said(kind, path) {
        schema["description"] = json!(text);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(inner).filter(|inner| inner.is_object()) {
            below(inner, kind, path);
        }
    }
    below(schema, kind, path);
}

fn below(schema: &mut Value, kind: &str, path: &str) {
    for (name, field) in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        within(field, kind, &at);
    }
}

fn said(kind: &str, path: &str) -> Option<&'static str> {
    let exact = |at: &str| at == path || (path.is_empty() && at == ".");
    let ending = |at: &str| at.strip_prefix("*.").is_some_and(|end| path.ends_with(&format!(".{end}")));
    let find =
        |fits: &dyn Fn(&str) -> bool| lines().find(|(of, at, _)| *of == kind && fits(at)).map(|(_, _, text)| text);
    find(&exact).or_else(|| find(&ending))
}

/// Kind, path and text of every line.
fn lines() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let read = |line: &'static str| {
        let (place, text) = line.split_once(": ")?;
        let (kind, path) = place.split_once(' ')?;
        Some((kind, path, text))
    };
    DESCRIPTIONS.lines().filter(|line| !line.starts_with('#')).filter_map(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apis::definitions;

    fn definition(kind: &str, spec: Value) -> Value {
        let schema = json!({ "type": "object", "properties": { "spec": spec } });
        json!({ "spec": { "names": { "kind": kind }, "versions": [{ "schema": { "openAPIV3Schema": schema } }] } })
    }

    #[test]
    fn fields_of_lists_and_of_maps_are_described_like_others() {
        let text = json!({ "type": "string" });
        let spec =
            json!({ "properties": { "region": text, "taints": { "items": { "properties": { "key": text } } } } });
        let described = describe(definition("Cell", spec));
        let schema = &described["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        assert!(schema["description"].is_string());
        let spec = &schema["properties"]["spec"]["properties"];
        assert!(spec["region"]["description"].is_string(), "{described}");
        assert!(spec["taints"]["items"]["properties"]["key"]["description"].is_string(), "{described}");
    }

    #[test]
    fn every_line_is_read_and_what_is_kept_by_the_scheduler_is_described() {
        let written = DESCRIPTIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        assert_eq!(lines().count(), written);
        for definition in definitions::all() {
            let text = definition.to_string();
            assert!(text.contains("\"description\""), "{text}");
        }
    }
}
