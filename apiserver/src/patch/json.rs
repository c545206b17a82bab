//! JSON patch: RFC 6902, with the habits of the library that Kubernetes uses.
//!
//! Those are: an index may be negative and counts from the end then; `replace` and `copy` take an absent field of an
//! object for `null`, and so does `test`; what stands before the first `/` of a path does not matter.

use serde_json::{Map, Value};

use super::{PatchError, malformed, unprocessable};
use crate::go;

/// Kubernetes' own bound.
pub const OPERATIONS_MAX: usize = 10_000;
/// What all the `copy` operations of a patch may add together: Kubernetes' own bound. A few of them could otherwise double
/// an object again and again.
pub const COPIED_BYTES_MAX: usize = 3 << 20;
/// Objects and lists inside of each other: what `serde_json` reads. Values added inside of each other could otherwise
/// make a tree too deep to be written, read or even dropped.
pub const DEPTH_MAX: usize = 127;
/// Items of lists that move when others come or go before them, and values looked at to see how deep they are: less than
/// a second's work. A patch at the bounds above could otherwise take minutes on a long list.
const STEPS_MAX: usize = 1 << 26;

/// The target as the patch would have it.
pub fn json(target: &Value, patch: &[u8]) -> Result<Value, PatchError> {
    let operations = read(patch)?;
    if operations.len() > OPERATIONS_MAX {
        return Err(PatchError::TooManyOperations(operations.len()));
    }
    let mut document = Document { root: target.clone(), copied_bytes: 0, steps: Steps(STEPS_MAX) };
    for operation in operations {
        document.apply(operation).map_err(unprocessable)?;
    }
    Ok(document.root)
}

struct Operation {
    op: Option<String>,
    path: Option<String>,
    from: Option<String>,
    value: Option<Value>,
}

fn read(patch: &[u8]) -> Result<Vec<Operation>, PatchError> {
    let wrong = |value: &Value, what: &str| {
        malformed(format!("error decoding patch: json: cannot unmarshal {} into Go {what}", go::word(value)))
    };
    match serde_json::from_slice(patch).map_err(|error| malformed(format!("error decoding patch: {error}")))? {
        Value::Null => Ok(Vec::new()),
        Value::Array(operations) => operations
            .into_iter()
            .map(|operation| match operation {
                Value::Object(fields) => Operation::read(fields),
                Value::Null => Operation::read(Map::new()),
                other => Err(wrong(&other, "value of type handlers.jsonPatchOp")),
            })
            .collect(),
        other => Err(wrong(&other, "value of type []handlers.jsonPatchOp")),
    }
}

impl Operation {
    fn read(mut fields: Map<String, Value>) -> Result<Self, PatchError> {
        let mut text = |name: &str| match fields.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => {
                let found = go::word(&other);
                let into = format!("Go struct field jsonPatchOp.{name} of type string");
                Err(malformed(format!("error decoding patch: json: cannot unmarshal {found} into {into}")))
            }
        };
        let (op, path, from) = (text("op")?, text("path")?, text("from")?);
        Ok(Self { op, path, from, value: fields.remove("value") })
    }
}

struct Document {
    root: Value,
    copied_bytes: usize,
    steps: Steps,
}

/// What is left of them.
struct Steps(usize);

impl Steps {
    fn take(&mut self, steps: usize) -> Result<(), String> {
        self.0 = self.0.checked_sub(steps).ok_or_else(|| format!("the patch takes more than {STEPS_MAX} steps"))?;
        Ok(())
    }
}

impl Document {
    fn apply(&mut self, operation: Operation) -> Result<(), String> {
        let Operation { op, path, from, value } = operation;
        let op = op.unwrap_or_else(|| "unknown".to_owned());
        let undecoded = |what: &str, why: &str| format!("{op} operation failed to decode {what}: {why}");
        let path = match op.as_str() {
            "add" | "remove" | "copy" => path.ok_or_else(|| undecoded("path", "missing value")),
            _ => path.ok_or_else(|| undecoded("path", "operation missing path field: missing value")),
        };
        let from = from.ok_or_else(|| undecoded("from", "operation, missing from field: missing value"));
        match op.as_str() {
            "add" => self.add(&path?, value.unwrap_or_default()),
            "remove" => self.remove(&path?),
            "replace" => self.replace(&path?, value),
            "move" => self.relocate(&from?, path),
            "copy" => self.copy(&from?, path),
            "test" => self.test(&path?, value),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Result<(), String> {
        let Some((holder, key)) = find(&mut self.root, path) else {
            return Err(format!("add operation does not apply: doc is missing path: \"{path}\": missing value"));
        };
        insert(holder, &key, value, path, &mut self.steps)
            .map_err(|why| format!("error in add for path: '{path}': {why}"))
    }

    fn remove(&mut self, path: &str) -> Result<(), String> {
        let Some((holder, key)) = find(&mut self.root, path) else {
            return Err(format!("remove operation does not apply: doc is missing path: \"{path}\": missing value"));
        };
        take(holder, &key, &mut self.steps)
            .map(drop)
            .map_err(|why| format!("error in remove for path: '{path}': {why}"))
    }

    fn replace(&mut self, path: &str, value: Option<Value>) -> Result<(), String> {
        if path.is_empty() {
            return match value {
                Some(value @ (Value::Object(_) | Value::Array(_))) => {
                    self.root = value;
                    Ok(())
                }
                // Go's own slip.
                _ => Err("replace operation value must be object or array: %!w(<nil>)".to_owned()),
            };
        }
        let missing =
            |what: &str| format!("replace operation does not apply: doc is missing {what}: {path}: missing value");
        let (holder, key) = find(&mut self.root, path).ok_or_else(|| missing("path"))?;
        get(holder, &key).map_err(|_| missing("key"))?;
        let value = value.unwrap_or_default();
        ensure_depth(path, &value, &mut self.steps)?;
        match holder {
            Value::Object(fields) => drop(fields.insert(key, value)),
            Value::Array(items) => {
                let at = index(&key, items.len())?;
                items[at] = value;
            }
            _ => {}
        }
        Ok(())
    }

    fn relocate(&mut self, from: &str, path: Result<String, String>) -> Result<(), String> {
        let Some((holder, key)) = find(&mut self.root, from) else {
            return Err(format!("move operation does not apply: doc is missing from path: {from}: missing value"));
        };
        let value =
            take(holder, &key, &mut self.steps).map_err(|why| format!("error in move for path: '{key}': {why}"))?;
        let path = path?;
        let Some((holder, key)) = find(&mut self.root, &path) else {
            return Err(format!(
                "move operation does not apply: doc is missing destination path: {path}: missing value"
            ));
        };
        insert(holder, &key, value, &path, &mut self.steps)
            .map_err(|why| format!("error in move for path: '{path}': {why}"))
    }

    fn copy(&mut self, from: &str, path: Result<String, String>) -> Result<(), String> {
        let Some((holder, key)) = find(&mut self.root, from) else {
            return Err(format!("copy operation does not apply: doc is missing from path: {from}: missing value"));
        };
        let found = get(holder, &key).map_err(|why| format!("error in copy for from: '{from}': {why}"))?;
        self.copied_bytes += found.map_or(0, |value| value.to_string().len());
        let within = self.copied_bytes <= COPIED_BYTES_MAX;
        let value = found.filter(|_| within).cloned().unwrap_or_default();
        let path = path?;
        let Some((holder, key)) = find(&mut self.root, &path) else {
            return Err(format!(
                "copy operation does not apply: doc is missing destination path: {path}: missing value"
            ));
        };
        if !within {
            let grown = format!("the accumulated size increase of copy is {}", self.copied_bytes);
            return Err(format!("Unable to complete the copy, {grown}, exceeding the limit {COPIED_BYTES_MAX}"));
        }
        insert(holder, &key, value, &path, &mut self.steps)
            .map_err(|why| format!("error while adding value during copy: {why}"))
    }

    fn test(&mut self, path: &str, value: Option<Value>) -> Result<(), String> {
        let found = if path.is_empty() {
            Some(&self.root)
        } else {
            let Some((holder, key)) = find(&mut self.root, path) else {
                return Err(format!("test operation does not apply: is missing path: {path}: missing value"));
            };
            get(holder, &key).map_err(|why| format!("error in test for path: '{path}': {why}"))?
        };
        match found.unwrap_or(&Value::Null) == &value.unwrap_or_default() {
            true => Ok(()),
            false => Err(format!("testing value {path} failed: test failed")),
        }
    }
}

/// The object or list that holds what the path ends in, and the key of that in it.
fn find<'a>(root: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (holders, key) = path.rsplit_once('/')?;
    let mut holder = root;
    for name in holders.split('/').skip(1) {
        let name = decoded(name);
        holder = match holder {
            Value::Object(fields) => fields.get_mut(&name)?,
            Value::Array(items) => {
                let at = index(&name, items.len()).ok()?;
                items.get_mut(at)?
            }
            _ => return None,
        };
    }
    matches!(holder, Value::Object(_) | Value::Array(_)).then(|| (holder, decoded(key)))
}

fn decoded(name: &str) -> String {
    name.replace("~1", "/").replace("~0", "~")
}

/// The place that `key` names in a list of which `places` may be named.
fn index(key: &str, places: usize) -> Result<usize, String> {
    let at: i64 = key.parse().map_err(|error: std::num::ParseIntError| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let too_large = matches!(error.kind(), NegOverflow | PosOverflow);
        let why = if too_large { "value out of range" } else { "invalid syntax" };
        format!("strconv.Atoi: parsing {key:?}: {why}")
    })?;
    let from_start =
        if at < 0 { i64::try_from(places).ok().and_then(|places| places.checked_add(at)) } else { Some(at) };
    from_start
        .and_then(|at| usize::try_from(at).ok())
        .filter(|at| *at < places)
        .ok_or_else(|| format!("Unable to access invalid index: {at}: invalid index referenced"))
}

/// What stands there; `None` is an absent field of an object.
fn get<'a>(holder: &'a Value, key: &str) -> Result<Option<&'a Value>, String> {
    match holder {
        Value::Array(items) => index(key, items.len()).map(|at| items.get(at)),
        other => Ok(other.get(key)),
    }
}

fn take(holder: &mut Value, key: &str, steps: &mut Steps) -> Result<Value, String> {
    match holder {
        Value::Array(items) => {
            let at = index(key, items.len())?;
            steps.take(items.len() - at)?;
            Ok(items.remove(at))
        }
        Value::Object(fields) => {
            fields.remove(key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value"))
        }
        _ => Ok(Value::Null),
    }
}

fn insert(holder: &mut Value, key: &str, value: Value, path: &str, steps: &mut Steps) -> Result<(), String> {
    ensure_depth(path, &value, steps)?;
    match holder {
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let at = index(key, items.len() + 1).map_err(|why| match why.starts_with("strconv") {
                true => format!("value was not a proper array index: '{key}': {why}"),
                false => why,
            })?;
            steps.take(items.len() - at)?;
            items.insert(at, value);
        }
        Value::Object(fields) => drop(fields.insert(key.to_owned(), value)),
        _ => {}
    }
    Ok(())
}

fn ensure_depth(path: &str, value: &Value, steps: &mut Steps) -> Result<(), String> {
    let holders = path.matches('/').count();
    match DEPTH_MAX.checked_sub(holders) {
        Some(left) if fits(value, left, steps)? => Ok(()),
        _ => Err(format!("the patched object would be more than {DEPTH_MAX} levels deep")),
    }
}

fn fits(value: &Value, levels: usize, steps: &mut Steps) -> Result<bool, String> {
    steps.take(1)?;
    match value {
        Value::Object(fields) => all_fit(fields.values(), levels, steps),
        Value::Array(items) => all_fit(items.iter(), levels, steps),
        _ => Ok(true),
    }
}

fn all_fit<'a>(inside: impl Iterator<Item = &'a Value>, levels: usize, steps: &mut Steps) -> Result<bool, String> {
    let Some(levels) = levels.checked_sub(1) else { return Ok(false) };
    for value in inside {
        if !fits(value, levels, steps)? {
            return Ok(false);
        }
    }
    Ok(true)
}
