//! Whose an object in a cell is, and where it comes from.
//!
//! Labels are Datum's contract (`meta.datumapis.com/upstream-*`) and have to stay short; annotations say the same in
//! full. Identity is the UID of the source: an object of the same name that was made anew is another one.

use crate::apis;
use crate::apis::Kind;
use crate::apis::fnv;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

pub use crate::apis::definitions::OWNER;

/// The UID of the source.
pub const SOURCE_UID: &str = "federation.hanse.dev/source-uid";
/// Its generation.
pub const SOURCE_GENERATION: &str = "federation.hanse.dev/source-generation";
/// Its workspace, in full.
pub const SOURCE_WORKSPACE: &str = "federation.hanse.dev/source-workspace";
/// Namespace and name, in full.
pub const SOURCE_NAME: &str = "federation.hanse.dev/source-name";

const UPSTREAM: &str = "meta.datumapis.com/upstream-";

/// What Kubernetes takes as the value of a label.
const LABEL_MAX: usize = 63;

/// Where a source is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Who federates; unique among those that share a cell.
    pub owner: String,
    /// The path of the workspace.
    pub workspace: String,
}

/// Marks an object of a cell as the copy of `source`.
pub(super) fn mark(object: &mut Value, source: &Value, origin: &Origin) {
    let meta = |key| apis::text(source, &["metadata", key]).unwrap_or_default();
    let kind = Kind::of(source);
    let labels = apis::map_mut(object, &["metadata", "labels"]);
    let mut upstream = |what: &str, value: &str| {
        labels.insert(format!("{UPSTREAM}{what}"), label_value(value).into());
    };
    upstream("cluster-name", &cluster_name(&origin.workspace));
    upstream("group", kind.group());
    upstream("kind", &kind.kind);
    upstream("name", meta("name"));
    upstream("namespace", meta("namespace"));
    labels.insert(OWNER.to_owned(), label_value(&origin.owner).into());
    let generation = apis::number(source, &["metadata", "generation"]).unwrap_or(0);
    let annotations = apis::map_mut(object, &["metadata", "annotations"]);
    annotations.insert(SOURCE_UID.to_owned(), meta("uid").into());
    annotations.insert(SOURCE_GENERATION.to_owned(), generation.to_string().into());
    annotations.insert(SOURCE_WORKSPACE.to_owned(), origin.workspace.as_str().into());
    annotations.insert(SOURCE_NAME.to_owned(), format!("{}/{}", meta("namespace"), meta("name")).into());
}

/// The namespace that stands for a source namespace in a cell.
pub fn namespace(name_in_cell: &str, source: &Value, origin: &Origin) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name_in_cell}});
    mark(&mut object, source, origin);
    object
}

/// `cluster-<workspace>`, as Datum writes it.
fn cluster_name(workspace: &str) -> String {
    format!("cluster-{}", workspace.replace(['/', ':'], "_"))
}

/// A long text is cut and told apart by a hash.
pub fn label_value(text: &str) -> String {
    if text.len() <= LABEL_MAX {
        return text.to_owned();
    }
    let hash = format!("{:016x}", fnv::hash_64(text.as_bytes()));
    let kept: String = text.chars().filter(char::is_ascii).take(LABEL_MAX - hash.len() - 1).collect();
    format!("{kept}-{hash}")
}

/// Whose an object in a cell is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Belongs {
    /// This federation put it there, for the source with this UID.
    Us(String),
    Stranger,
}

/// The object of a cell as scripts that were written for Karmada know it: they ask by its annotations of which
/// generation of the source it is.
pub fn as_karmada_marks(object: &Value) -> Value {
    let mut shown = object.clone();
    let pairs = [
        (SOURCE_GENERATION, "resourcetemplate.karmada.io/generation"),
        (SOURCE_UID, "resourcetemplate.karmada.io/uid"),
    ];
    for (ours, theirs) in pairs {
        if let Some(said) = apis::text(object, &["metadata", "annotations", ours]) {
            apis::map_mut(&mut shown, &["metadata", "annotations"]).insert(theirs.to_owned(), said.into());
        }
    }
    shown
}

/// Puts back what says where an object is and whose it is, whatever became of it.
pub(super) fn restore(object: &mut Value, from: &Value) {
    for key in ["apiVersion", "kind"] {
        apis::map_mut(object, &[]).extend(from.get(key).map(|said| (key.to_owned(), said.clone())));
    }
    for key in ["name", "namespace"] {
        apis::remove(object, &["metadata", key]);
        let said = apis::at(from, &["metadata", key]).map(|said| (key.to_owned(), said.clone()));
        apis::map_mut(object, &["metadata"]).extend(said);
    }
    for field in ["labels", "annotations"] {
        let said = apis::map(from, &["metadata", field]).into_iter().flatten();
        let ours: Vec<_> =
            said.filter(|(key, _)| is_ours(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
        if !ours.is_empty() {
            apis::map_mut(object, &["metadata", field]).extend(ours);
        }
    }
}

fn is_ours(key: &str) -> bool {
    key.starts_with(UPSTREAM) || key.starts_with("federation.hanse.dev/")
}

/// Who put it there.
pub fn belongs(object: &Value, owner: &str) -> Belongs {
    let said = apis::text(object, &["metadata", "labels", OWNER]);
    let uid = apis::text(object, &["metadata", "annotations", SOURCE_UID]);
    match (said, uid) {
        (Some(said), Some(uid)) if said == label_value(owner) => Belongs::Us(uid.to_owned()),
        _ => Belongs::Stranger,
    }
}

/// The labels and annotations of ours that an object has, each `null`: a merge patch that lets it go.
pub fn release(object: &Value) -> Value {
    let ours = |field: &str| -> Map<String, Value> {
        let entries = apis::map(object, &["metadata", field]).into_iter().flatten();
        entries.map(|(key, _)| key).filter(|key| is_ours(key)).map(|key| (key.clone(), Value::Null)).collect()
    };
    json!({"metadata": {"labels": ours("labels"), "annotations": ours("annotations")}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(workspace: &str) -> Origin {
        Origin { owner: "hub-1".to_owned(), workspace: workspace.to_owned() }
    }

    fn source() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": "default", "name": "web", "uid": "u-1", "generation": 4}})
    }

    #[test]
    fn a_copy_says_where_it_comes_from() {
        let mut copy = json!({"metadata": {}});
        mark(&mut copy, &source(), &origin("org/my-project"));
        let label = |key: &str| copy["metadata"]["labels"][format!("{UPSTREAM}{key}")].clone();
        assert_eq!(label("cluster-name"), "cluster-org_my-project");
        assert_eq!(label("group"), "apps");
        assert_eq!(label("kind"), "Deployment");
        assert_eq!(label("name"), "web");
        assert_eq!(label("namespace"), "default");
        assert_eq!(copy["metadata"]["annotations"][SOURCE_GENERATION], "4");
        assert_eq!(belongs(&copy, "hub-1"), Belongs::Us("u-1".to_owned()));
        assert_eq!(belongs(&copy, "hub-2"), Belongs::Stranger);
        assert_eq!(belongs(&source(), "hub-1"), Belongs::Stranger);
    }

    #[test]
    fn whatever_becomes_of_a_copy_it_stays_where_and_whose_it_is() {
        let mut copy = json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "web", "labels": {"app": "web"}}});
        mark(&mut copy, &source(), &origin("w"));
        let mut changed = json!({"apiVersion": "v2", "kind": "Y",
            "metadata": {"name": "other", "namespace": "n", "labels": {"app": "mine"}}});
        restore(&mut changed, &copy);
        let mut expect = copy.clone();
        expect["metadata"]["labels"]["app"] = json!("mine");
        assert_eq!(changed, expect);
        let shown = as_karmada_marks(&copy);
        assert_eq!(shown["metadata"]["annotations"]["resourcetemplate.karmada.io/generation"], "4");
    }

    #[test]
    fn long_names_stay_apart_and_are_kept_in_full() {
        let (a, b) = (format!("{}a", "n".repeat(80)), format!("{}b", "n".repeat(80)));
        assert_ne!(label_value(&a), label_value(&b));
        assert_eq!(label_value(&a).len(), LABEL_MAX);
        assert_eq!(label_value(&"n".repeat(63)), "n".repeat(63));
        let mut copy = json!({"metadata": {}});
        mark(&mut copy, &source(), &origin(&a));
        assert_eq!(copy["metadata"]["annotations"][SOURCE_WORKSPACE], a);
    }

    #[test]
    fn letting_go_takes_our_marks_and_no_others() {
        let mut copy = json!({"metadata": {"labels": {"app": "web"}}});
        mark(&mut copy, &source(), &origin("w"));
        let patch = release(&copy);
        apiserver::patch::merge(&mut copy, &patch);
        assert_eq!(copy, json!({"metadata": {"labels": {"app": "web"}, "annotations": {}}}));
    }
}
