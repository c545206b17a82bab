//! What goes where others go that refer to it: which objects refer to which, and where they are.
//!
//! A placement says what its object refers to, so that this is known again after a restart.

use super::record::{self, Manner};
use crate::apis::kinds::Reference;
use crate::scheduler::Followed;
use apiserver::catalog::Catalog;
use apiserver::custom::Definition;
use apiserver::object::Object;
use apiserver::place::{ObjectRef, Workspace};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use storage::Key;

/// An object whose references go where it goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Leader {
    /// `namespace/name-kind`
    by: String,
    /// By the workspace of the cells.
    cells: BTreeMap<Workspace, BTreeSet<String>>,
    manner: Manner,
    references: BTreeSet<Key>,
}

/// Placements are known by workspace and the UID of what they are about.
type Id = (Workspace, String);

/// It holds as much as there are references of objects that others follow.
#[derive(Debug, Default)]
pub(super) struct Followers {
    leaders: HashMap<Id, Leader>,
    by_reference: HashMap<Key, BTreeSet<Id>>,
}

impl Followers {
    /// Answers with everything that may have to go elsewhere now.
    pub(super) fn learn(&mut self, id: Id, now: Option<Leader>) -> BTreeSet<Key> {
        let before = self.leaders.remove(&id);
        let now = now.filter(|leader| !leader.references.is_empty());
        let mut concerned = BTreeSet::new();
        if before != now {
            concerned.extend(before.iter().chain(&now).flat_map(|leader| leader.references.clone()));
        }
        for reference in before.iter().flat_map(|leader| &leader.references) {
            if let Some(ids) = self.by_reference.get_mut(reference) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.by_reference.remove(reference);
                }
            }
        }
        if let Some(leader) = now {
            for reference in &leader.references {
                self.by_reference.entry(reference.clone()).or_default().insert(id.clone());
            }
            self.leaders.insert(id, leader);
        }
        concerned
    }

    pub(super) fn is_followed(&self, key: &Key) -> bool {
        self.by_reference.contains_key(key)
    }

    /// Who refers to an object, by the workspace of the cells they are in; and how they are there.
    pub(super) fn of(&self, key: &Key) -> (BTreeMap<Workspace, Vec<Followed>>, Option<Manner>) {
        let ids = self.by_reference.get(key).into_iter().flatten();
        let leaders: Vec<&Leader> = ids.filter_map(|id| self.leaders.get(id)).collect();
        let mut homes: BTreeMap<Workspace, Vec<Followed>> = BTreeMap::new();
        for leader in &leaders {
            for (home, cells) in &leader.cells {
                let followed = Followed { by: leader.by.clone(), cells: cells.iter().cloned().collect() };
                homes.entry(home.clone()).or_default().push(followed);
            }
        }
        (homes, leaders.first().map(|leader| leader.manner))
    }
}

/// Reads what others follow out of a placement. `key_of` finds what a reference names.
pub(super) fn leader(record: &Object, key_of: impl Fn(&Value) -> Option<Key>) -> Leader {
    let source = |key: &str| record.text(&["spec", "source", key]);
    let mut cells: BTreeMap<Workspace, BTreeSet<String>> = BTreeMap::new();
    for cell in record.items(&["spec", "cells"]) {
        let word = |key: &str| cell[key].as_str().unwrap_or_default();
        cells.entry(Workspace::new(word("workspace"))).or_default().insert(word("name").to_owned());
    }
    // What stays for a while in cells that it is leaving needs what it refers to.
    for (home, name) in record::staying_in(record) {
        cells.entry(Workspace::new(home)).or_default().insert(name.to_owned());
    }
    Leader {
        by: format!("{}/{}-{}", source("namespace"), source("name"), source("kind").to_lowercase()),
        cells,
        manner: record::manner_of(record),
        references: record.items(&["spec", "references"]).filter_map(key_of).collect(),
    }
}

/// What an object refers to, as a placement says it: what it needs, and the definition of its kind.
pub(super) fn references(at: &ObjectRef, needed: BTreeSet<Reference>, catalog: &Catalog) -> Vec<Value> {
    let namespace = at.namespace().unwrap_or_default();
    let named = needed.into_iter().filter_map(|reference| {
        let resource = catalog.of_kind(&reference.kind.api_version, &reference.kind.kind)?;
        let mut told = reference.to_value(namespace);
        told["resource"] = json!(resource.plural);
        if !resource.namespaced {
            told["namespace"] = json!("");
        }
        Some(told)
    });
    let definition = definition_of(at).map(|name| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "resource": "customresourcedefinitions", "namespace": "", "name": name,
        })
    });
    named.chain(definition).collect()
}

/// The name of the definition that a workspace has of the kind of an object.
pub(super) fn definition_of(at: &ObjectRef) -> Option<&str> {
    match &at.resource().custom()?.definition {
        Definition::Kept { name, .. } => Some(name),
        Definition::Given(_) | Definition::Shared(_) | Definition::Lent { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leader(cells: &[&str], references: &[&str]) -> Leader {
        let cells = cells.iter().map(|cell| (*cell).to_owned()).collect();
        Leader {
            by: "n/web-deployment".to_owned(),
            cells: BTreeMap::from([(Workspace::new("w"), cells)]),
            manner: Manner::default(),
            references: references.iter().map(|key| Key::new(*key)).collect(),
        }
    }

    fn id(uid: &str) -> Id {
        (Workspace::new("w"), uid.to_owned())
    }

    #[test]
    fn whatever_is_referred_to_follows_and_is_let_go_with_the_last_who_did() {
        let mut followers = Followers::default();
        let concerned = followers.learn(id("1"), Some(leader(&["a"], &["x", "y"])));
        assert_eq!(concerned.len(), 2);
        followers.learn(id("2"), Some(leader(&["b"], &["x"])));
        let (homes, _) = followers.of(&Key::new("x"));
        let cells: Vec<&str> =
            homes[&Workspace::new("w")].iter().flat_map(|one| &one.cells).map(String::as_str).collect();
        assert_eq!(cells, ["a", "b"]);
        assert!(followers.learn(id("1"), Some(leader(&["a"], &["x", "y"]))).is_empty(), "nothing changed");
        assert_eq!(followers.learn(id("1"), Some(leader(&["a"], &["x"]))).len(), 2, "also what it was");
        assert!(!followers.is_followed(&Key::new("y")));
        followers.learn(id("1"), None);
        followers.learn(id("2"), None);
        assert!(!followers.is_followed(&Key::new("x")) && followers.leaders.is_empty());
    }
}
