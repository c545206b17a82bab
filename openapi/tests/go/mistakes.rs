//! Objects with mistakes in them: the words of Go's strict decoder, and what it understood.

use openapi::builtin::{Type, kind_in};
use openapi::{Problem, check, normalize, prune};
use serde_json::Value;

use super::difference;

struct Spoiled {
    ty: &'static Type,
    object: Value,
    words: String,
    reading: Option<Value>,
}

fn spoiled() -> impl Iterator<Item = Spoiled> {
    super::lines("mistakes.txt").into_iter().map(|[object, words, reading]| {
        let object: Value = serde_json::from_str(&object).expect("JSON");
        let word = |name: &str| object[name].as_str().unwrap_or_default();
        let ty = kind_in(word("apiVersion"), word("kind")).expect("a built-in kind");
        let reading = (!reading.is_empty()).then(|| serde_json::from_str(&reading).expect("JSON"));
        Spoiled { ty, object, words, reading }
    })
}

/// Go tells of the first wrong value alone, or else of all unknown fields.
fn words(problems: &[Problem]) -> String {
    if let Some(wrong) = problems.iter().find(|problem| matches!(problem, Problem::WrongValue { .. })) {
        return wrong.to_string();
    }
    let unknown: Vec<_> = problems.iter().map(Problem::to_string).collect();
    if unknown.is_empty() { String::new() } else { format!("strict decoding error: {}", unknown.join(", ")) }
}

#[test]
fn problems_are_told_in_the_words_of_go() {
    for Spoiled { ty, object, words: expected, .. } in spoiled() {
        assert_eq!(words(&check(&object, ty)), expected, "{object}");
    }
}

#[test]
fn what_go_understands_prints_the_same() {
    for Spoiled { ty, mut object, reading, .. } in spoiled() {
        let Some(expected) = reading else { continue };
        normalize(&mut object, ty);
        assert_eq!(difference(&object, &expected), None, "{}", ty.name);
        normalize(&mut object, ty);
        assert_eq!(difference(&object, &expected), None, "{}: not stable", ty.name);
    }
}

#[test]
fn nothing_unknown_is_left_after_pruning() {
    for Spoiled { ty, mut object, .. } in spoiled() {
        let unknown = |object: &Value| {
            check(object, ty).iter().filter(|problem| matches!(problem, Problem::UnknownField { .. })).count()
        };
        let (before, wrong) = (object.clone(), check(&object, ty).len() - unknown(&object));
        prune(&mut object, ty);
        assert_eq!((unknown(&object), check(&object, ty).len()), (0, wrong), "{before}");
    }
}
