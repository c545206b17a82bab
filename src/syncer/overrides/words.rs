//! The command of a container, and its arguments.

use crate::apis::kinds;
use crate::scheduler::change::WordsChange;
use serde_json::Value;

/// Nothing happens to what has no such container.
pub(super) fn change(object: &mut Value, field: &str, change: &WordsChange) {
    let Some(template) = kinds::pod_template_mut(object) else { return };
    let containers = template.pointer_mut("/spec/containers").and_then(Value::as_array_mut);
    let named = |container: &&mut serde_json::Map<String, Value>| {
        container.get("name").and_then(Value::as_str) == Some(change.container.as_str())
    };
    for container in containers.into_iter().flatten().filter_map(Value::as_object_mut).filter(named) {
        let words = container.entry(field).or_insert_with(|| Value::Array(Vec::new()));
        let Some(words) = words.as_array_mut() else { continue };
        if change.remove {
            words.retain(|word| !change.words.iter().any(|gone| word.as_str() == Some(gone)));
        } else {
            words.extend(change.words.iter().cloned().map(Value::from));
        }
    }
}
