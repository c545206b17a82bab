//! What Go makes of the same input. The texts beside this file are written by `generate/`; for a longer run write more of
//! them into a directory and name it in `OPENAPI_VECTORS`.

use serde_json::Value;

mod damage;
mod defaults;
mod documents;
mod mistakes;
mod quantities;
mod structural;
mod survival;
mod times;
mod vectors;

fn text(name: &str) -> String {
    let beside = || format!("{}/tests/go", env!("CARGO_MANIFEST_DIR"));
    let path = format!("{}/{name}", std::env::var("OPENAPI_VECTORS").unwrap_or_else(|_| beside()));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The lines of one of the texts, taken apart at tabs.
fn lines<const N: usize>(name: &str) -> Vec<[String; N]> {
    let text = text(name);
    let parts = |line: &str| {
        line.split('\t').map(str::to_owned).collect::<Vec<_>>().try_into().expect("as many parts as asked for")
    };
    text.lines().map(parts).collect()
}

/// Where two trees part, for a failure that can be read.
fn difference(found: &Value, expected: &Value) -> Option<String> {
    match (found, expected) {
        (Value::Object(a), Value::Object(b)) => a.keys().chain(b.keys()).find_map(|key| {
            let (a, b) = (a.get(key), b.get(key));
            match (a, b) {
                (Some(a), Some(b)) => difference(a, b).map(|inner| format!(".{key}{inner}")),
                _ => Some(format!(".{key}: {a:?}, but {b:?} expected")),
            }
        }),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(at, (a, b))| difference(a, b).map(|inner| format!("[{at}]{inner}")))
        }
        _ => (found != expected).then(|| format!(": {found}, but {expected} expected")),
    }
}
