//! What is left in a namespace: what is still to be deleted, and what is going already, counted.

use super::conditions::Facts;
use apiserver::object::Peek;
use apiserver::place::{Collection, ObjectRef};
use openapi::scalar::time::{Instant, Precision};
use std::collections::BTreeMap;
use storage::Entry;

/// Objects that are deleted before the content is looked at again: bounds how much is held at once.
const DOOMED_MAX: usize = 1024;

/// Finalizers that ask what is to become of dependents. In a namespace that goes, they go.
const ABOUT_DEPENDENTS: [&str; 2] = ["orphan", "foregroundDeletion"];

/// An object in the namespace.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) at: ObjectRef,
    pub(super) uid: String,
    pub(super) going: bool,
    /// It had its time to end, and nobody who runs it has said that it did.
    pub(super) overdue: bool,
    pub(super) finalizers: Vec<String>,
}

impl Item {
    pub(super) fn read(within: &Collection, entry: &Entry, now: Instant) -> Self {
        let object = Peek::new(&entry.version);
        let text = |field| object.text(&["metadata", field]).map(|text| text.into_owned());
        let ends = text("deletionTimestamp");
        let passed =
            |ends: &String| Instant::parse(ends, Precision::Seconds).is_ok_and(|ends| ends.seconds <= now.seconds);
        Self {
            at: within.object(&text("name").unwrap_or_default()),
            uid: text("uid").unwrap_or_default(),
            overdue: ends.as_ref().is_some_and(passed),
            going: ends.is_some(),
            finalizers: object.value(&["metadata", "finalizers"]).unwrap_or_default(),
        }
    }

    fn is_doomed(&self) -> bool {
        let asks = self.finalizers.iter().any(|name| ABOUT_DEPENDENTS.contains(&name.as_str()));
        !self.going || asks || (self.overdue && self.finalizers.is_empty())
    }
}

/// Everything that was found in a namespace.
#[derive(Debug, Default)]
pub(super) struct Content {
    doomed: Vec<Item>,
    /// How many of each resource are going.
    remaining: BTreeMap<String, usize>,
    /// How many wait for each finalizer.
    finalizers: BTreeMap<String, usize>,
}

impl Content {
    pub(super) fn add(&mut self, item: Item) {
        if item.is_doomed() {
            self.doomed.push(item);
            return;
        }
        let resource = item.at.resource();
        *self.remaining.entry(format!("{}.{}", resource.plural, resource.group)).or_default() += 1;
        for finalizer in item.finalizers {
            *self.finalizers.entry(finalizer).or_default() += 1;
        }
    }

    /// There is enough to do; what is left is counted when that is done.
    pub(super) fn is_full(&self) -> bool {
        self.doomed.len() == DOOMED_MAX
    }

    pub(super) fn is_empty(&self) -> bool {
        self.doomed.is_empty() && self.remaining.is_empty()
    }

    pub(super) fn take_doomed(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.doomed)
    }

    pub(super) fn facts(self) -> Facts {
        Facts { remaining: self.remaining, finalizers: self.finalizers, ..Facts::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiserver::catalog::Catalog;
    use apiserver::place::Workspace;
    use serde_json::{Value, json};
    use storage::{Revision, Version};

    const NOW: &str = "2026-01-01T00:00:30Z";

    fn item(metadata: Value) -> Item {
        let resource = Catalog::builtin().find("", "v1", "pods").unwrap().clone();
        let within = Collection { resource, workspace: Workspace::new("w"), namespace: Some("n".to_owned()) };
        let value = json!({ "metadata": metadata }).to_string().into();
        let version = Version { created: Revision(1), modified: Revision(1), value };
        let now = Instant::parse(NOW, Precision::Seconds).unwrap();
        Item::read(&within, &Entry { key: "k".into(), version }, now)
    }

    fn check(metadata: Value, doomed: bool) {
        assert_eq!(item(metadata.clone()).is_doomed(), doomed, "{metadata}");
    }

    #[test]
    fn what_is_not_going_yet_is_deleted_and_what_is_overdue_again() {
        check(json!({ "name": "a" }), true);
        check(json!({ "finalizers": ["x"] }), true);
        check(json!({ "deletionTimestamp": "2026-01-01T00:00:10Z", "finalizers": ["x"] }), false);
        check(json!({ "deletionTimestamp": "2026-01-01T00:01:00Z" }), false);
        check(json!({ "deletionTimestamp": NOW }), true);
        check(json!({ "deletionTimestamp": NOW, "finalizers": ["x", "foregroundDeletion"] }), true);
        check(json!({ "deletionTimestamp": NOW, "finalizers": ["orphan"] }), true);
    }

    #[test]
    fn what_is_going_is_counted() {
        let mut content = Content::default();
        assert!(content.is_empty());
        for finalizers in [json!(["x"]), json!(["x", "y"])] {
            content.add(item(json!({ "deletionTimestamp": NOW, "finalizers": finalizers })));
        }
        content.add(item(json!({ "name": "a" })));
        assert_eq!(content.take_doomed().len(), 1);
        assert!(!content.is_empty());
        let facts = content.facts();
        assert_eq!(facts.remaining, BTreeMap::from([("pods.".to_owned(), 2)]));
        assert_eq!(facts.finalizers, BTreeMap::from([("x".to_owned(), 2), ("y".to_owned(), 1)]));
    }
}
