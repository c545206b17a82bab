//! Fields of a document that stands in a string of the object, such as a file in a ConfigMap.

use super::OverrideError;
use super::patch;
use crate::scheduler::change::DocumentChange;
use crate::scheduler::change::Syntax;
use serde_json::Value;

pub(super) fn change(object: &mut Value, change: &DocumentChange) -> Result<(), OverrideError> {
    let no_text = || OverrideError::NoText { path: change.at.clone() };
    let place = object.pointer_mut(&change.at).ok_or_else(no_text)?;
    let mut document = read(change, place.as_str().ok_or_else(no_text)?)?;
    patch::change(&mut document, &change.steps)?;
    *place = Value::String(write(change, &document)?);
    Ok(())
}

fn read(change: &DocumentChange, text: &str) -> Result<Value, OverrideError> {
    match change.syntax {
        Syntax::Json => serde_json::from_str(text).map_err(|error| wrong(change, "JSON", &error)),
        Syntax::Yaml => serde_saphyr::from_str(text).map_err(|error| wrong(change, "YAML", &error)),
    }
}

/// Keys come out sorted.
fn write(change: &DocumentChange, document: &Value) -> Result<String, OverrideError> {
    match change.syntax {
        Syntax::Json => Ok(document.to_string()),
        Syntax::Yaml => serde_saphyr::to_string(document).map_err(|error| wrong(change, "YAML", &error)),
    }
}

fn wrong(change: &DocumentChange, syntax: &'static str, why: &impl ToString) -> OverrideError {
    OverrideError::Syntax { path: change.at.clone(), syntax, why: why.to_string() }
}
