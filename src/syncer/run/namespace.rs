//! Namespaces of cells: there before anything goes into them, and gone when nothing is left that would need them.

use crate::scheduler::rule::Namespaces;
use apiserver::object::Object;
use serde_json::{Value, json};

/// Whether a record is about a namespace.
pub(super) fn is_one(record: &Object) -> bool {
    record.text(&["spec", "object", "resource"]) == "namespaces" && record.text(&["spec", "object", "group"]).is_empty()
}

/// What a namespace is called in cells.
pub(super) fn name_in_cell(namespaces: Namespaces, name: &str, uid: &str) -> String {
    match namespaces {
        Namespaces::Same => name.to_owned(),
        Namespaces::ByUid => format!("ns-{uid}"),
    }
}

/// Where a namespace of a cell comes from, for whoever looks at it there.
pub(super) fn labels(workspace: &str, name: &str) -> Value {
    let workspace = format!("cluster-{}", workspace.replace(['/', ':'], "_"));
    json!({
        "meta.datumapis.com/upstream-cluster-name": clipped(&workspace),
        "meta.datumapis.com/upstream-namespace": name,
    })
}

/// As long as a label may be.
fn clipped(text: &str) -> &str {
    text.get(..63).unwrap_or(text).trim_end_matches(['-', '_', '.'])
}
