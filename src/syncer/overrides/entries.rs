//! Labels and annotations.

use crate::apis;
use crate::scheduler::change::EntriesChange;
use crate::scheduler::change::Operation;
use serde_json::Value;

/// What is not there can neither be replaced nor removed, and nobody is told.
pub(super) fn change(object: &mut Value, field: &str, change: &EntriesChange) {
    if change.operation != Operation::Add && apis::map(object, &["metadata", field]).is_none() {
        return;
    }
    let entries = apis::map_mut(object, &["metadata", field]);
    for (key, value) in &change.entries {
        match change.operation {
            Operation::Remove => drop(entries.remove(key)),
            Operation::Replace if !entries.contains_key(key) => {}
            Operation::Add | Operation::Replace => drop(entries.insert(key.clone(), value.as_str().into())),
        }
    }
}
