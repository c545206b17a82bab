//! Objects that leave things out, and what a Kubernetes API server holds after decoding them.

use openapi::builtin::{Type, kind_in};
use openapi::{defaults, normalize};
use serde_json::Value;

use super::difference;

struct Pair {
    ty: &'static Type,
    written: Value,
    held: Value,
}

fn pairs() -> impl Iterator<Item = Pair> {
    super::lines("defaults.txt").into_iter().map(|[written, held]| {
        let written: Value = serde_json::from_str(&written).expect("JSON");
        let word = |name: &str| written[name].as_str().unwrap_or_default();
        let ty = kind_in(word("apiVersion"), word("kind")).expect("a built-in kind");
        let mut plain = written.clone();
        normalize(&mut plain, ty);
        let mut held = if held.is_empty() { plain } else { serde_json::from_str(&held).expect("JSON") };
        without_counter(&mut held);
        Pair { ty, written, held }
    })
}

/// Go counts the templates of a `DaemonSet` in a field that only its memory has, and prints it as an annotation. The count
/// is not a default: it begins with the creation of the object.
fn without_counter(object: &mut Value) {
    if let Some(items) = object.get_mut("items").and_then(Value::as_array_mut) {
        items.iter_mut().for_each(without_counter);
    }
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return };
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else { return };
    annotations.remove("deprecated.daemonset.template.generation");
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

fn defaulted(object: &Value, ty: &'static Type) -> Value {
    let mut object = object.clone();
    normalize(&mut object, ty);
    defaults::apply(&mut object, ty);
    object
}

#[test]
fn what_is_left_out_gets_the_defaults_of_go() {
    assert!(pairs().count() > 400, "only {} pairs", pairs().count());
    let failures: Vec<String> = pairs()
        .filter_map(|Pair { ty, written, held }| {
            let found = difference(&defaulted(&written, ty), &held)?;
            Some(format!("{} {}: {found}", ty.name, written["metadata"]["name"]))
        })
        .collect();
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn defaults_change_nothing_the_second_time() {
    for Pair { ty, written, .. } in pairs() {
        let once = defaulted(&written, ty);
        assert_eq!(difference(&defaulted(&once, ty), &once), None, "{} {}", ty.name, written["metadata"]["name"]);
    }
}
