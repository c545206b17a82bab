//! What changes in the objects of a workspace that is put elsewhere: what is said of workspaces by their ids and paths.
//! Pure.

use serde_json::Value;

/// What is not taken along: what the new workspace says of itself and of those in it, and records of what is in cells.
const LEFT: [(&str, &str); 4] = [
    ("core.kcp.io", "logicalclusters"),
    ("tenancy.kcp.io", "workspaces"),
    ("federation.hanse.dev", "placements"),
    ("federation.hanse.dev", "copies"),
];

/// A workspace that is put elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Move {
    pub(super) old_id: String,
    pub(super) new_id: String,
    pub(super) old_path: String,
    pub(super) new_path: String,
}

pub(super) fn is_workspace(entry: &Value) -> bool {
    entry["at"][0] == "tenancy.kcp.io" && entry["at"][1] == "workspaces"
}

/// A page as it is put into the workspace of `own`; nothing, if nothing is left of it.
pub(super) fn moved(mut page: Value, own: &Move, all: &[Move]) -> Option<Value> {
    let entries = page.get_mut("entries")?.as_array_mut()?;
    entries.retain(|entry| {
        let word = |at: usize| entry["at"][at].as_str().unwrap_or_default();
        let mounted = is_workspace(entry) && !entry["object"]["spec"]["mount"].is_null();
        mounted || !LEFT.contains(&(word(0), word(1)))
    });
    for entry in entries.iter_mut() {
        change(&mut entry["object"], own, all);
    }
    (!entries.is_empty()).then_some(page)
}

fn change(object: &mut Value, own: &Move, all: &[Move]) {
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        if annotations.get("kcp.io/cluster").is_some_and(|id| *id == own.old_id.as_str()) {
            annotations.insert("kcp.io/cluster".to_owned(), own.new_id.as_str().into());
        }
        if let Some(path) = annotations.get_mut("kcp.io/path") {
            follow_path(path, all);
        }
    }
    for place in ["/spec/reference/export/path", "/spec/export/path", "/spec/type/path"] {
        if let Some(path) = object.pointer_mut(place) {
            follow_path(path, all);
        }
    }
    if let Some(id) = object.pointer_mut("/status/apiExportClusterName")
        && let Some(moved) = all.iter().find(|one| *id == one.old_id.as_str())
    {
        *id = moved.new_id.as_str().into();
    }
}

/// A path into one of the workspaces leads where that is now: the innermost decides.
fn follow_path(path: &mut Value, all: &[Move]) {
    let Some(text) = path.as_str() else { return };
    let inside = |one: &&Move| {
        let below = text.strip_prefix(&*one.old_path);
        below.is_some_and(|below| below.is_empty() || below.starts_with(':'))
    };
    let innermost = all.iter().filter(inside).max_by_key(|one| one.old_path.len());
    if let Some(one) = innermost {
        *path = format!("{}{}", one.new_path, &text[one.old_path.len()..]).into();
    }
}

/// Why what a binding refers to is not to be had, if it is not.
pub(super) fn not_found(binding: &Value) -> Option<&str> {
    let conditions = binding.pointer("/status/conditions").and_then(Value::as_array);
    let is_so = |found: &&Value| found["type"] == "APIExportValid" && found["status"] == "False";
    conditions.into_iter().flatten().find(is_so).and_then(|found| found["message"].as_str())
}

/// Where a workspace of a file is put that begins with one at `top`.
pub(super) fn new_path(path: &str, top: &str, onto: &str) -> String {
    format!("{onto}{}", path.strip_prefix(top).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_names_a_workspace_names_it_where_it_is_now() {
        let to = |old_id: &str, new_id: &str, old_path: &str, new_path: &str| Move {
            old_id: old_id.to_owned(),
            new_id: new_id.to_owned(),
            old_path: old_path.to_owned(),
            new_path: new_path.to_owned(),
        };
        let all = [to("i", "j", "root:a", "root:z"), to("k", "l", "root:a:b", "root:z:b")];
        let page = json!({ "entries": [
            { "at": ["apis.kcp.io", "apibindings", "", "", "x"], "object": {
                "metadata": { "annotations": { "kcp.io/cluster": "i", "kcp.io/path": "root:a" } },
                "spec": { "reference": { "export": { "path": "root:a:b" } } },
                "status": { "apiExportClusterName": "k" },
            } },
            { "at": ["", "configmaps", "", "n", "c"], "object": { "metadata": { "name": "c" }, "data": { "p": "root:a" } } },
            { "at": ["tenancy.kcp.io", "workspaces", "", "", "b"], "object": {} },
        ] });
        let moved = moved(page, &all[0], &all).unwrap();
        let entries = moved["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(
            entries[0]["object"],
            json!({
                "metadata": { "annotations": { "kcp.io/cluster": "j", "kcp.io/path": "root:z" } },
                "spec": { "reference": { "export": { "path": "root:z:b" } } },
                "status": { "apiExportClusterName": "l" },
            })
        );
        assert_eq!(entries[1]["object"]["data"]["p"], "root:a", "what is somebody's own stays as it is");
        let mut other = json!("root:ab");
        follow_path(&mut other, &all);
        assert_eq!(other, "root:ab");
        assert_eq!(super::moved(json!({ "entries": [] }), &all[0], &all), None);
        assert_eq!(new_path("root:a:b", "root:a", "root:t:z"), "root:t:z:b");
    }

    #[test]
    fn a_binding_says_that_its_export_is_not_to_be_had() {
        let binding = |status: &str| {
            json!({ "status": { "conditions": [
            { "type": "Ready", "status": "False", "message": "another" },
            { "type": "APIExportValid", "status": status, "message": "APIExport root:a|b not found" },
        ] } })
        };
        assert_eq!(not_found(&binding("False")), Some("APIExport root:a|b not found"));
        assert_eq!((not_found(&binding("True")), not_found(&json!({}))), (None, None));
    }
}
