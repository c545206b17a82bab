//! What is in a cell because of us, as its watches tell.

mod kept;

use super::marks;
use crate::fleet::api::{CellResource, Listed};
use kept::{Kept, Objects};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;

/// What matters of an object in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Actual {
    pub(super) uid: String,
    /// The UID of what it is a copy of.
    pub(super) source: String,
    /// Which fields are ours there: others take them away from us by writing them.
    pub(super) fields: String,
    /// The same for its status.
    pub(super) status_fields: String,
    pub(super) generation: i64,
    pub(super) deleting: bool,
    pub(super) status: Option<Value>,
}

impl Actual {
    pub(super) fn read(object: &Value) -> Self {
        let metadata = &object["metadata"];
        Self {
            uid: metadata["uid"].as_str().unwrap_or_default().to_owned(),
            source: marks::source_of(object).unwrap_or_default().to_owned(),
            fields: marks::fields_of(object),
            status_fields: marks::status_fields_of(object),
            generation: metadata["generation"].as_i64().unwrap_or_default(),
            deleting: metadata["deletionTimestamp"].is_string(),
            status: object.get("status").filter(|status| !status.is_null()).cloned(),
        }
    }
}

/// Namespace and name, with a slash between them. There may be very many of them, and neither has one in it.
pub(super) type Name = Box<str>;

pub(super) fn name(namespace: &str, name: &str) -> Name {
    [namespace, "/", name].concat().into()
}

pub(super) fn name_of(object: &Value) -> Name {
    let word = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    name(word("namespace"), word("name"))
}

/// What is known of a place in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Known {
    /// Nobody watches there yet.
    Nothing,
    Absent,
    Present(Actual),
}

/// It holds as much as there are copies in the cell.
#[derive(Debug, Default)]
pub(super) struct Actuals {
    /// Guards nothing but itself, and is held for one question.
    state: Mutex<HashMap<CellResource, State>>,
}

/// What is known of one resource. The answer to a request may come before or after a watch has told of the same change,
/// or of later ones: which is the later one is told by their versions.
#[derive(Debug, Default)]
struct State {
    objects: Objects,
    /// The watch has told of everything up to this version.
    reached: Option<u64>,
    synced: bool,
}

fn kept(object: &Value) -> Kept {
    Kept::new(&name_of(object), version_of(object), &Actual::read(object))
}

fn version_of(object: &Value) -> Option<u64> {
    version(object["metadata"]["resourceVersion"].as_str().unwrap_or_default())
}

fn version(text: &str) -> Option<u64> {
    text.parse().ok()
}

fn is_later(one: Option<u64>, than: Option<u64>) -> bool {
    one.zip(than).is_some_and(|(one, than)| one > than)
}

impl State {
    /// Whether anything changed that matters.
    fn put(&mut self, now: Kept) -> bool {
        let before = self.objects.get(now.name());
        if before.is_some_and(|known| is_later(known.version(), now.version())) {
            return false;
        }
        let changed = before.is_none_or(|known| !known.says_the_same(&now));
        self.objects.put(now);
        changed
    }
}

impl Actuals {
    pub(super) fn at(&self, resource: &CellResource, name: &Name) -> Known {
        let state = self.state.lock();
        let Some(of_kind) = state.get(resource).filter(|of_kind| of_kind.synced) else { return Known::Nothing };
        of_kind.objects.get(name).map_or(Known::Absent, |kept| Known::Present(kept.actual()))
    }

    /// Takes in everything there is of a resource; answers with the names of what is not as it was.
    pub(super) fn replace(&self, resource: &CellResource, listed: &Listed) -> Vec<Name> {
        let now: Objects = listed.items.iter().map(kept).collect();
        let now = State { objects: now, reached: version(&listed.resource_version), synced: true };
        let mut state = self.state.lock();
        let known = state.entry(resource.clone()).or_default();
        let before = std::mem::replace(known, now).objects;
        let is_new = |kept: &&Kept| before.get(kept.name()).is_none();
        let is_other = |kept: &&Kept| known.objects.get(kept.name()).is_none_or(|now| !now.says_the_same(kept));
        let changed = known.objects.iter().filter(is_new).chain(before.iter().filter(is_other));
        changed.map(|kept| kept.name().into()).collect()
    }

    /// Takes in what a watch tells; whether anything changed that matters.
    pub(super) fn told(&self, resource: &CellResource, object: &Value) -> bool {
        let now = kept(object);
        let mut state = self.state.lock();
        let known = state.entry(resource.clone()).or_default();
        known.reached = now.version().or(known.reached);
        known.put(now)
    }

    /// Takes in what a cell answers. What the watch has gone past and does not show any more has gone meanwhile.
    pub(super) fn answered(&self, resource: &CellResource, object: &Value) {
        let now = kept(object);
        let mut state = self.state.lock();
        let known = state.entry(resource.clone()).or_default();
        let (is_known, version) = (known.objects.get(now.name()).is_some(), now.version());
        if is_known || version.is_none() || is_later(version, known.reached) {
            known.put(now);
        }
    }

    /// Takes in that a watch tells of the end of an object; whether that matters: it may have been made anew since.
    pub(super) fn gone(&self, resource: &CellResource, object: &Value) -> bool {
        let (name, at) = (name_of(object), version_of(object));
        let mut state = self.state.lock();
        let known = state.entry(resource.clone()).or_default();
        known.reached = at.or(known.reached);
        if known.objects.get(&name).is_some_and(|known| is_later(known.version(), at)) {
            return false;
        }
        known.objects.remove(&name);
        true
    }

    /// Nobody watches any more.
    pub(super) fn unsync(&self, resource: &CellResource) {
        if let Some(known) = self.state.lock().get_mut(resource) {
            known.synced = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn deployments() -> CellResource {
        CellResource {
            group: "apps".to_owned(),
            version: "v1".to_owned(),
            plural: "deployments".to_owned(),
            kind: "Deployment".to_owned(),
            namespaced: true,
        }
    }

    fn object(uid: &str, version: &str, ready: i64) -> Value {
        json!({ "status": { "readyReplicas": ready },
            "metadata": { "namespace": "n", "name": "web", "uid": uid, "resourceVersion": version } })
    }

    /// With one object in it, as of version 7.
    fn actuals() -> Actuals {
        let actuals = Actuals::default();
        let listed = Listed { items: vec![object("u", "7", 3)], resource_version: "7".to_owned() };
        actuals.replace(&deployments(), &listed);
        actuals
    }

    fn known(actuals: &Actuals) -> Option<(String, i64)> {
        match actuals.at(&deployments(), &name("n", "web")) {
            Known::Present(actual) => Some((actual.uid, actual.status?["readyReplicas"].as_i64()?)),
            Known::Absent | Known::Nothing => None,
        }
    }

    #[test]
    fn what_is_kept_is_what_was_read() {
        let odd = json!({ "metadata": { "uid": "a\nb", "generation": 7, "deletionTimestamp": "t" }, "status": { "x": "1\n2" } });
        for object in [object("u", "7", 3), json!({}), odd] {
            assert_eq!(kept(&object).actual(), Actual::read(&object));
        }
    }

    #[test]
    fn what_is_listed_anew_tells_what_is_not_as_it_was() {
        let actuals = actuals();
        let listed = |names: &[(&str, i64)]| {
            let named = |(name, ready): &(&str, i64)| {
                let mut object = object("u", "9", *ready);
                object["metadata"]["name"] = json!(name);
                object
            };
            let listed = Listed { items: names.iter().map(named).collect(), resource_version: "9".to_owned() };
            let mut changed = actuals.replace(&deployments(), &listed);
            changed.sort();
            changed.join(" ")
        };
        assert_eq!(listed(&[("web", 3), ("db", 1)]), "n/db", "a later version that says the same is no change");
        assert_eq!(listed(&[("web", 4), ("db", 1)]), "n/web");
        assert_eq!(listed(&[("db", 2), ("new", 1)]), "n/db n/new n/web");
        assert_eq!(listed(&[]), "n/db n/new");
    }

    #[test]
    fn what_is_known_is_never_replaced_by_what_was_before_it() {
        let actuals = actuals();
        let told = |uid: &str, version: &str, ready: i64| actuals.told(&deployments(), &object(uid, version, ready));
        assert!(told("u", "9", 4), "a watch tells of a later change");
        actuals.answered(&deployments(), &object("u", "8", 3));
        assert_eq!(known(&actuals), Some(("u".to_owned(), 4)), "before the answer to what caused it comes");
        assert!(!told("u", "10", 4), "nothing that matters");
        assert!(told("v", "12", 1), "another object of that name");
        assert!(told("v", "odd", 2), "who counts otherwise is believed");
    }

    #[test]
    fn what_was_made_anew_is_not_gone_because_its_predecessor_is() {
        let actuals = actuals();
        actuals.answered(&deployments(), &object("v", "9", 1));
        assert!(!actuals.gone(&deployments(), &object("u", "8", 3)), "told late");
        assert_eq!(known(&actuals), Some(("v".to_owned(), 1)));
        assert!(actuals.gone(&deployments(), &object("v", "10", 1)));
        assert_eq!(known(&actuals), None);
    }

    #[test]
    fn what_is_gone_does_not_come_back_with_an_answer_that_was_late() {
        let actuals = actuals();
        assert!(actuals.told(&deployments(), &object("u", "8", 4)));
        assert!(actuals.gone(&deployments(), &object("u", "9", 4)));
        actuals.answered(&deployments(), &object("u", "8", 4));
        assert_eq!(known(&actuals), None);
        actuals.answered(&deployments(), &object("v", "11", 1));
        assert_eq!(known(&actuals), Some(("v".to_owned(), 1)), "made anew, and the watch has yet to tell");
    }
}
