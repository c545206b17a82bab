//! Custom resources that `generate/validation/structural` made, and what Go made of them.

use openapi::FieldError;
use openapi::document::Kind;
use openapi::document::{Version, published};
use openapi::structural::{Pattern, Structural};
use openapi::validation::definition;
use serde_json::{Value, json};

fn said(error: &FieldError) -> String {
    format!("{}|{}|{}", error.field, error.wrong.reason(), error.body())
}

fn texts(vector: &Value, name: &str) -> Vec<String> {
    vector[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Replays every vector that has an object, and tells of those with which something is not as it should be.
fn replay(judge: impl Fn(&Structural, &Value) -> Result<(), String>) {
    replay_all(judge, false);
}

/// As [`replay`], with `bare` schemas too.
fn replay_all(judge: impl Fn(&Structural, &Value) -> Result<(), String>, bare: bool) {
    let vectors = crate::text("structural.txt");
    let mut wrong = Vec::new();
    for (at, line) in vectors.lines().enumerate() {
        let vector: Value = serde_json::from_str(line).expect("a vector is JSON");
        if vector.get("object").is_none() && !bare {
            continue;
        }
        let structural = Structural::read(&vector["schema"]);
        if let Err(difference) = judge(&structural, &vector) {
            wrong.push(format!("{}: {} {}\n  {difference}", at + 1, vector["schema"], vector["object"]));
        }
    }
    let of = vectors.lines().count();
    assert!(wrong.is_empty(), "{} of {of} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn same<T: PartialEq + std::fmt::Debug>(expected: T, found: T) -> Result<(), String> {
    if expected == found { Ok(()) } else { Err(format!("expected: {expected:#?}\n  found: {found:#?}")) }
}

/// What Go made of the object; what it left as it was is not in the vector.
fn made<'a>(vector: &'a Value, name: &str) -> &'a Value {
    vector.get(name).unwrap_or(&vector["object"])
}

#[test]
fn objects_are_pruned_as_in_go() {
    replay(|structural, vector| {
        let mut object = vector["object"].clone();
        let mut unknown = structural.prune(&mut object);
        unknown.sort();
        same(texts(vector, "unknown"), unknown)?;
        same(made(vector, "pruned"), &object)
    });
}

#[test]
fn objects_are_defaulted_as_in_go() {
    replay(|structural, vector| {
        let mut object = vector["object"].clone();
        structural.prune(&mut object);
        structural.drop_nulls(&mut object);
        structural.default(&mut object);
        same(made(vector, "defaulted"), &object)
    });
}

#[test]
fn objects_are_refused_as_in_go() {
    replay(|structural, vector| {
        let found = structural.validate(&vector["object"], vector.get("old"), openapi::validation::embedded_metadata);
        let mut found: Vec<String> = found.iter().map(said).collect();
        found.sort();
        same(texts(vector, "errors"), found)
    });
}

#[test]
fn definitions_are_refused_as_in_go() {
    let judge = |_: &Structural, vector: &Value| {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": vector["schema"]},
                }],
            },
            "status": {"storedVersions": ["v1"]},
        });
        let mut found: Vec<String> = definition::validate(&definition, None).iter().map(said).collect();
        found.sort();
        same(texts(vector, "definition"), found)
    };
    replay_all(judge, true);
}

/// What embedded resources say of themselves is said in other words here.
fn set_words_aside(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if map.get("x-kubernetes-embedded-resource").is_some() {
                for field in ["apiVersion", "kind"] {
                    let said = map.get_mut("properties").and_then(|properties| properties.get_mut(field));
                    said.and_then(Value::as_object_mut).map(|said| said.remove("description"));
                }
            }
            map.values_mut().for_each(set_words_aside);
        }
        Value::Array(items) => items.iter_mut().for_each(set_words_aside),
        _ => {}
    }
}

#[test]
fn schemas_are_published_as_in_go() {
    replay(|_, vector| {
        let kind = Kind { group: "example.com", version: "v1", kind: "Widget" };
        for (name, version) in [("v3", Version::V3), ("v2", Version::V2)] {
            let Some(mut expected) = vector.get(name).cloned() else { continue };
            let mut found = published(Some(&vector["schema"]), kind, &[], version);
            [&mut found, &mut expected].into_iter().for_each(set_words_aside);
            if let Some(difference) = crate::difference(&found, &expected) {
                return Err(format!("{name} {difference}"));
            }
        }
        Ok(())
    });
}

#[test]
fn texts_have_formats_and_match_patterns_as_in_go() {
    let vectors = crate::text("texts.txt");
    let mut wrong = Vec::new();
    for line in vectors.lines() {
        let vector: Value = serde_json::from_str(line).expect("a vector is JSON");
        let mut refused = Vec::new();
        if let Some(pattern) = vector["pattern"].as_str() {
            let error = Pattern::steps(pattern).err().map(|error| error.to_string());
            if error.as_deref() != vector["error"].as_str() {
                wrong.push(format!("{vector}\n  {error:?}"));
            }
        }
        let of = |name: &str| vector.get(name).cloned().unwrap_or(Value::from(""));
        let schema = json!({"properties": {"a": {"type": "string", "pattern": of("pattern"), "format": of("format")}}});
        let structural = Structural::read(&schema);
        for (name, fits) in [("right", true), ("wrong", false)] {
            for text in texts(&vector, name) {
                if structural.validate(&json!({"a": text}), None, openapi::validation::embedded_metadata).is_empty()
                    != fits
                {
                    refused.push(format!("{text:?}: {fits}"));
                }
            }
        }
        if !refused.is_empty() {
            wrong.push(format!("{}{}\n  {}", of("format"), of("pattern"), refused.join("\n  ")));
        }
    }
    let of = vectors.lines().count();
    assert!(wrong.is_empty(), "{} of {of} differ:\n{}", wrong.len(), wrong.join("\n"));
}
