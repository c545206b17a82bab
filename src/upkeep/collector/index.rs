//! Who depends on whom: an index from owners to dependents, kept for objects that have owners and for nothing else.
//!
//! Owners are known by workspace and uid, whether they exist or not. An owner in a namespace has dependents only there;
//! references from elsewhere lead nowhere, and so can hold nobody up.

use super::facts::Facts;
use apiserver::keyspace;
use apiserver::place::Workspace;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use storage::{Key, Revision};

/// An object that is, or was, or is said to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Id {
    workspace: Workspace,
    uid: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    owner: Id,
    blocks: bool,
}

#[derive(Debug, Default)]
pub(super) struct Index {
    /// The owners of each object that has any.
    links: HashMap<Key, Vec<Link>>,
    dependents: HashMap<Id, HashSet<Key>>,
    /// Owners that are to go when what they own is gone, both ways.
    waiting: HashMap<Key, Id>,
    waiting_keys: HashMap<Id, Key>,
    /// Everything up to here is known; `None` until everything there was has been told.
    reached: Option<Revision>,
}

/// What depends on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dependents {
    pub(super) keys: Vec<Key>,
    /// Some of them have to go before it.
    pub(super) blocking: bool,
}

impl Index {
    /// Learns how an object changed. Answers with what needs a look because of it.
    pub(super) fn learn(&mut self, key: &Key, before: Option<&Facts>, now: Option<&Facts>) -> Vec<Key> {
        let Some(workspace) = keyspace::workspace(key) else { return Vec::new() };
        let id = |uid: &str| Id { workspace: workspace.clone(), uid: uid.into() };
        let mut look = Vec::new();
        let links = now.into_iter().flat_map(|facts| &facts.owners);
        let links = links.map(|owner| Link { owner: id(&owner.uid), blocks: owner.blocks }).collect();
        self.relink(key, links, &mut look);
        match now {
            None => {
                self.stop_waiting(key);
                look.extend(before.into_iter().flat_map(|facts| self.of_owner(key, &id(&facts.uid))));
            }
            Some(facts) => {
                if facts.is_waiting() && !self.waiting.contains_key(key) {
                    look.extend(self.of_owner(key, &id(&facts.uid)));
                    self.waiting.insert(key.clone(), id(&facts.uid));
                    self.waiting_keys.insert(id(&facts.uid), key.clone());
                } else if !facts.is_waiting() {
                    self.stop_waiting(key);
                }
                let concerned = !facts.owners.is_empty() || facts.is_waiting() || facts.is_orphaning();
                if concerned && before != now {
                    look.push(key.clone());
                }
            }
        }
        look
    }

    /// Puts an object under its owners; those that wait for it need a look when it is no longer there, or blocks no more.
    fn relink(&mut self, key: &Key, links: Vec<Link>, look: &mut Vec<Key>) {
        let old = self.links.remove(key).unwrap_or_default();
        if old != links {
            look.extend(old.iter().filter_map(|link| self.waiting_keys.get(&link.owner).cloned()));
            for link in &old {
                let empty = self.dependents.get_mut(&link.owner).is_some_and(|keys| {
                    keys.remove(key);
                    keys.is_empty()
                });
                if empty {
                    self.dependents.remove(&link.owner);
                }
            }
            for link in &links {
                self.dependents.entry(link.owner.clone()).or_default().insert(key.clone());
            }
        }
        if !links.is_empty() {
            self.links.insert(key.clone(), links);
        }
    }

    fn stop_waiting(&mut self, key: &Key) {
        if let Some(id) = self.waiting.remove(key) {
            self.waiting_keys.remove(&id);
        }
    }

    /// Everything there was has been told, as of this revision.
    pub(super) fn reach(&mut self, revision: Revision) {
        self.reached = self.reached.max(Some(revision));
    }

    /// A change of this revision has been told. It says nothing of the whole before the whole was told.
    pub(super) fn advance(&mut self, revision: Revision) {
        if self.reached.is_some() {
            self.reach(revision);
        }
    }

    pub(super) fn reached(&self) -> Option<Revision> {
        self.reached
    }

    /// What depends on the object with this key and uid.
    pub(super) fn dependents(&self, key: &Key, uid: &str) -> Dependents {
        let Some(workspace) = keyspace::workspace(key) else {
            return Dependents { keys: Vec::new(), blocking: false };
        };
        let id = Id { workspace, uid: uid.into() };
        // One that waits for the object itself does not hold it up: in a circle, nobody could ever go.
        let blocking = self.blockers(key, &id).iter().any(|blocker| !self.waits_for(blocker, key));
        Dependents { keys: self.of_owner(key, &id), blocking }
    }

    fn of_owner(&self, owner: &Key, id: &Id) -> Vec<Key> {
        let dependents = self.dependents.get(id).into_iter().flatten();
        dependents.filter(|dependent| may_own(owner, dependent)).cloned().collect()
    }

    fn blockers(&self, owner: &Key, id: &Id) -> Vec<Key> {
        let blocks = |dependent: &Key| {
            self.links.get(dependent).into_iter().flatten().any(|link| link.blocks && link.owner == *id)
        };
        self.of_owner(owner, id).into_iter().filter(blocks).collect()
    }

    /// Whether `from` can go only after `target`: it waits for it, or for something that waits for it.
    fn waits_for(&self, from: &Key, target: &Key) -> bool {
        let (mut left, mut seen) = (vec![from.clone()], HashSet::new());
        while let Some(key) = left.pop() {
            if key == *target {
                return true;
            }
            if let Some(id) = self.waiting.get(&key)
                && seen.insert(key.clone())
            {
                left.extend(self.blockers(&key, id));
            }
        }
        false
    }
}

/// An owner in a namespace owns nothing elsewhere.
fn may_own(owner: &Key, dependent: &Key) -> bool {
    let namespace = keyspace::parse(owner).and_then(|parts| parts.namespace);
    namespace.is_none() || namespace == keyspace::parse(dependent).and_then(|parts| parts.namespace)
}

#[cfg(test)]
mod tests {
    use super::super::facts::Owner;
    use super::*;

    /// A small world: objects named by a letter, which is their uid, too.
    #[derive(Default)]
    struct World {
        index: Index,
        facts: HashMap<String, Facts>,
    }

    fn key(name: &str) -> Key {
        let (namespace, name) = name.split_once('/').unwrap_or(("n", name));
        Key::new(format!("core/pods/-/w/{namespace}/{name}"))
    }

    impl World {
        /// `a` is owned by `b`, which waits for it if it is followed by `!`.
        fn put(&mut self, name: &str, owners: &[&str], waiting: bool) -> Vec<String> {
            let owner = |owner: &&str| Owner {
                uid: owner.trim_end_matches('!').to_owned(),
                blocks: owner.ends_with('!'),
                ..Owner::default()
            };
            let facts = Facts {
                uid: name.to_owned(),
                going: waiting,
                foreground: waiting,
                orphan: false,
                owners: owners.iter().map(owner).collect(),
            };
            let before = self.facts.insert(name.to_owned(), facts.clone());
            told(self.index.learn(&key(name), before.as_ref(), Some(&facts)))
        }

        fn remove(&mut self, name: &str) -> Vec<String> {
            let before = self.facts.remove(name);
            told(self.index.learn(&key(name), before.as_ref(), None))
        }

        #[track_caller]
        fn check(&self, name: &str, expect: &str, blocking: bool) {
            let found = self.index.dependents(&key(name), name);
            assert_eq!((told(found.keys).join(" "), found.blocking), (expect.to_owned(), blocking), "{name}");
        }
    }

    fn told(keys: Vec<Key>) -> Vec<String> {
        let mut names: Vec<String> = keys.iter().map(|key| keyspace::parse(key).unwrap().name.to_owned()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn dependents_need_a_look_when_their_owner_goes_and_owners_that_wait_when_a_dependent_did() {
        let mut world = World::default();
        assert_eq!(world.put("a", &[], false), [""; 0]);
        assert_eq!(world.put("b", &["a!"], false), ["b"]);
        assert_eq!(world.put("c", &["a"], false), ["c"]);
        assert_eq!(world.put("b", &["a!"], false), [""; 0], "nothing changed that matters");
        world.check("a", "b c", true);
        assert_eq!(world.put("a", &[], true), ["a", "b", "c"]);
        assert_eq!(world.remove("c"), ["a"]);
        assert_eq!(world.put("b", &["a"], false), ["a", "b"]);
        world.check("a", "b", false);
        assert_eq!(world.remove("a"), ["b"]);
        assert_eq!(world.remove("b"), [""; 0]);
        let Index { links, dependents, waiting, waiting_keys, .. } = &world.index;
        let left = (links.len(), dependents.len(), waiting.len(), waiting_keys.len());
        assert_eq!(left, (0, 0, 0, 0), "nothing is remembered of what is gone");
    }

    #[test]
    fn objects_without_owners_are_not_remembered() {
        let mut world = World::default();
        world.put("a", &[], false);
        assert!(world.index.links.is_empty() && world.index.dependents.is_empty());
    }

    #[test]
    fn a_circle_holds_nobody_up() {
        let mut world = World::default();
        world.put("a", &["c!"], true);
        world.put("b", &["a!"], true);
        world.put("c", &["b!"], false);
        world.check("a", "b", true);
        world.put("c", &["b!"], true);
        world.check("c", "a", false);
        world.put("self", &["self!"], true);
        world.check("self", "self", false);
    }

    #[test]
    fn what_hangs_on_a_circle_from_outside_still_blocks() {
        let mut world = World::default();
        world.put("a", &["b!"], true);
        world.put("b", &["a!"], true);
        world.put("d", &["b!"], false);
        world.check("b", "a d", true);
        world.check("a", "b", false);
    }

    #[test]
    fn references_from_another_namespace_lead_nowhere() {
        let mut world = World::default();
        world.put("a", &[], true);
        world.put("other/x", &["a!"], false);
        world.check("a", "", false);
    }

    #[test]
    fn an_index_that_is_not_complete_has_reached_nothing() {
        let mut index = Index::default();
        index.advance(Revision(7));
        assert_eq!(index.reached(), None);
        index.reach(Revision(9));
        index.advance(Revision(12));
        assert_eq!(index.reached(), Some(Revision(12)));
    }
}
