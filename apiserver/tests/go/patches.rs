//! Patches: the object that results, or the words of the refusal.

use apiserver::patch::{self, PatchError};
use openapi::builtin::kind_in;
use serde_json::Value;

fn patched(what: &str, object: &Value, patch: &str) -> Result<Value, PatchError> {
    let tree = || serde_json::from_str::<Value>(patch).expect("JSON");
    let mut target = object.clone();
    match what.split_once(' ') {
        None if what == "json" => return patch::json(object, patch.as_bytes()),
        None => patch::merge(&mut target, &tree()),
        Some((api_version, kind)) => {
            patch::strategic(&mut target, &tree(), kind_in(api_version, kind).expect("a built-in kind"))?;
        }
    }
    Ok(target)
}

/// As the texts beside this file write it.
fn told(outcome: Result<Value, PatchError>) -> String {
    match outcome {
        Ok(object) => object.to_string(),
        Err(error) => {
            let code = match error {
                PatchError::TooManyOperations(_) => 413,
                PatchError::Malformed(_) => 400,
                PatchError::Unprocessable(_) => 422,
            };
            format!("!{code} {}", Value::from(error.to_string()))
        }
    }
}

/// Go escapes more characters than needed, and does not sort an object that it left alone.
fn normal(expected: &str) -> String {
    let tree = |text: &str| serde_json::from_str::<Value>(text).expect("JSON").to_string();
    match expected.split_once(' ').filter(|_| expected.starts_with('!')) {
        Some((code, text)) => format!("{code} {}", tree(text)),
        None => tree(expected),
    }
}

#[test]
fn objects_are_patched_as_in_go() {
    let mut wrong = Vec::new();
    let lines = super::lines("patches.txt");
    assert!(lines.len() > 500, "only {}", lines.len());
    for [what, object, patch, expected] in lines {
        let target: Value = serde_json::from_str(&object).expect("JSON");
        let (found, expected) = (told(patched(&what, &target, &patch)), normal(&expected));
        if found != expected {
            wrong.push(format!("{what}\n  {object}\n  {patch}\n  {found}\n  {expected}, expected"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{} in all", wrong.join("\n"), wrong.len());
}
