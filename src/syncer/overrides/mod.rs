//! What is different in some cells, carried out on an object.

mod document;
mod entries;
mod image;
mod patch;
mod words;

use crate::scheduler::Cell;
use crate::scheduler::change::Change;
use crate::scheduler::change::Override;
use serde_json::Value;

/// Why an object cannot be made what it should be in a cell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    #[error("cannot change {path}: {why}")]
    Field { path: String, why: String },
    #[error("{path} holds no text to change")]
    NoText { path: String },
    #[error("the text at {path} is not {syntax}: {why}")]
    Syntax { path: String, syntax: &'static str, why: String },
}

/// In order; the first that fails ends it.
pub(super) fn apply(object: &mut Value, overrides: &[Override], cell: &Cell) -> Result<(), OverrideError> {
    for meant in overrides.iter().filter(|one| one.cells.admits(cell)) {
        for change in &meant.changes {
            carry_out(object, change)?;
        }
    }
    Ok(())
}

fn carry_out(object: &mut Value, change: &Change) -> Result<(), OverrideError> {
    match change {
        Change::Image(change) => image::change(object, change),
        Change::Command(change) => {
            words::change(object, "command", change);
            Ok(())
        }
        Change::Args(change) => {
            words::change(object, "args", change);
            Ok(())
        }
        Change::Labels(change) => {
            entries::change(object, "labels", change);
            Ok(())
        }
        Change::Annotations(change) => {
            entries::change(object, "annotations", change);
            Ok(())
        }
        Change::Document(change) => document::change(object, change),
        Change::Field(change) => patch::change(object, std::slice::from_ref(change)),
    }
}
