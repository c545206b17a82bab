//! The OpenAPI documents, compared with those that Kubernetes publishes: every schema and every path, descriptions aside.

use std::collections::BTreeSet;

use openapi::document;
use serde_json::{Map, Value};

use crate::lines;

type Line = [String; 3];

#[test]
fn documents_are_those_that_kubernetes_publishes() {
    let published: BTreeSet<Line> = lines("documents.txt").into_iter().collect();
    let mut ours = BTreeSet::new();
    for at in document::v3_paths() {
        let document: Value = serde_json::from_slice(&document::v3(at).expect(at)).expect(at);
        let schemas = &document["components"]["schemas"];
        let names = Value::from_iter(schemas.as_object().into_iter().flat_map(Map::keys).cloned());
        ours.insert(line("v3 document", at, &names));
        add(&mut ours, "v3 schema", schemas);
        add(&mut ours, "v3 path", &document["paths"]);
    }
    let document: Value = serde_json::from_slice(&document::v2()).expect("JSON");
    add(&mut ours, "v2 schema", &document["definitions"]);
    add(&mut ours, "v2 path", &document["paths"]);
    let name = |[what, name, _]: &Line| format!("{what} {name}");
    let missing: Vec<String> = published.difference(&ours).map(name).collect();
    let differing: Vec<String> = ours.difference(&published).map(name).collect();
    assert_eq!((missing, differing), (vec![], vec![]), "published but not ours, ours but not published");
}

fn add(lines: &mut BTreeSet<Line>, what: &str, values: &Value) {
    lines.extend(values.as_object().into_iter().flatten().map(|(name, value)| line(what, name, &bare(value))));
}

fn line(what: &str, name: &str, value: &Value) -> Line {
    [what.to_owned(), name.to_owned(), format!("{:016x}", fnv(value.to_string().as_bytes()))]
}

fn bare(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let said = map.iter().filter(|(name, value)| *name != "description" || !value.is_string());
            let bare: Map<String, Value> = said.map(|(name, value)| (name.clone(), bare(value))).collect();
            match bare.get("allOf").and_then(Value::as_array) {
                // Only a description makes a reference need it.
                Some(all) if bare.len() == 1 && all.len() == 1 => all[0].clone(),
                _ => bare.into(),
            }
        }
        Value::Array(items) => items.iter().map(bare).collect(),
        value => value.clone(),
    }
}

/// The 64 bit FNV-1a hash.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
