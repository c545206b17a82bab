//! The labels and annotations by which Karmada's tools know what was propagated to a member.

use super::names;
use crate::apis;
use crate::apis::Kind;
use crate::scheduler::affinity::Affinity;
use crate::scheduler::change::Change;
use crate::scheduler::change::EntriesChange;
use crate::scheduler::change::Operation;
use crate::scheduler::change::Override;
use serde_json::Value;

/// For the copy of `object` in one cell; carried out like any override, after all others.
pub fn marks(object: &Value, cell: &str) -> Override {
    let meta = |key| apis::text(object, &["metadata", key]).unwrap_or_default();
    let kind = Kind::of(object).kind;
    let (namespace, name, uid) = (meta("namespace"), meta("name"), meta("uid"));
    let generation = apis::number(object, &["metadata", "generation"]).unwrap_or(0).to_string();
    let (binding, work) = (names::binding_name(&kind, name), names::work_name(&kind, namespace, name));
    let execution = names::execution_namespace(cell);
    let labels = [
        ("karmada.io/managed", "true"),
        ("resourcebinding.karmada.io/permanent-id", uid),
        ("work.karmada.io/permanent-id", uid),
    ];
    let mut annotations = vec![
        ("resourcetemplate.karmada.io/generation", generation.as_str()),
        ("resourcetemplate.karmada.io/uid", uid),
        ("work.karmada.io/name", work.as_str()),
        ("work.karmada.io/namespace", execution.as_str()),
    ];
    if namespace.is_empty() {
        annotations.push(("clusterresourcebinding.karmada.io/name", &binding));
    } else {
        annotations.push(("resourcebinding.karmada.io/name", &binding));
        annotations.push(("resourcebinding.karmada.io/namespace", namespace));
    }
    let changes = vec![Change::Labels(entries(&labels)), Change::Annotations(entries(&annotations))];
    Override { cells: Affinity::named(&[cell]), changes }
}

fn entries(entries: &[(&str, &str)]) -> EntriesChange {
    let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    EntriesChange { operation: Operation::Add, entries }
}
