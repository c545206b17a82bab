//! Our own language: `FederationRule`.

use crate::apis;
use crate::apis::Kind;
use crate::scheduler::affinity::Affinity;
use crate::scheduler::rule::{CellChoice, Group, Namespaces, ObjectSelector, Rule};
use apiserver::selector::LabelSelector;
use serde_json::Value;

/// Interim.
pub fn compile(object: &Value) -> Option<Rule> {
    let spec = &object["spec"];
    let selector = |tree: &Value| LabelSelector::from_object(tree).ok().filter(|_| tree.is_object());
    let objects = apis::list(spec, &["objects"]).iter().map(|tree| ObjectSelector {
        kind: Some(Kind::of(tree)),
        workspaces: apis::texts(tree, &["workspaces"]),
        namespace: apis::text(tree, &["namespace"]).map(str::to_owned),
        name: apis::text(tree, &["name"]).map(str::to_owned),
        labels: selector(&tree["labelSelector"]),
    });
    let cells = &spec["cells"];
    let affinity = Affinity {
        labels: selector(&cells["labelSelector"]),
        names: apis::texts(cells, &["names"]),
        exclude: apis::texts(cells, &["exclude"]),
        ..Affinity::default()
    };
    let group = Group { name: String::new(), affinity, overflow: Vec::new() };
    Some(Rule {
        name: apis::text(object, &["metadata", "name"])?.to_owned(),
        objects: objects.collect(),
        cells: CellChoice { groups: vec![group], ..CellChoice::default() },
        namespaces: match apis::text(spec, &["namespaces"]) {
            Some("Same") => Some(Namespaces::Same),
            Some("ByUid") => Some(Namespaces::ByUid),
            _ => None,
        },
        ..Rule::default()
    })
}
