//! What an object is to be in all the cells that it goes to: read once, and good for each of them while it holds.

use super::wish::Problem;
use crate::apis::Kind;
use crate::apis::interpret::Interpreter;
use crate::fleet::CellId;
use crate::scheduler::controller::{staying_in, targets_of};
use crate::scheduler::{Because, Target, Terms};
use crate::syncer::Origin;
use apiserver::catalog::ResourceDef;
use apiserver::object::Object;
use apiserver::place::{ObjectRef, Workspace};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

/// What was read, as long as it was: of recipes that are kept, and once more of those that were kept before them. Enough for a
/// thousand objects in a hundred cells each: with less, a restart would read each of them anew for every cell.
const KEPT_BYTES_MAX: usize = 12 << 20;

/// What a recipe was made of. Whoever keeps bytes of the store keeps them where they are: what is elsewhere is another
/// version.
#[derive(Clone, Debug)]
pub(super) struct MadeOf {
    pub(super) placement: Bytes,
    pub(super) source: Bytes,
    pub(super) namespace: Option<Bytes>,
    /// What was stored is read as this says; a definition that was changed is another one.
    pub(super) resource: Arc<ResourceDef>,
    /// Of the rules.
    pub(super) edition: u64,
    pub(super) origin: Origin,
}

impl MadeOf {
    pub(super) fn is_still(&self, now: &Self) -> bool {
        let same = |one: &Bytes, other: &Bytes| (one.as_ptr(), one.len()) == (other.as_ptr(), other.len());
        let namespaces = match (&self.namespace, &now.namespace) {
            (Some(one), Some(other)) => same(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        self.edition == now.edition
            && self.origin == now.origin
            && namespaces
            && Arc::ptr_eq(&self.resource, &now.resource)
            && same(&self.placement, &now.placement)
            && same(&self.source, &now.source)
    }

    fn weight(&self) -> usize {
        self.placement.len() + self.source.len()
    }
}

/// What a cell is sent, ready.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) object: Value,
    pub(super) hash: String,
    /// What the cell gets to see of the source's status, and its hash.
    pub(super) status: Option<(Value, String)>,
    /// Why it cannot be made.
    pub(super) problem: Option<Problem>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Recipe {
    pub(super) made_of: MadeOf,
    /// Which object it is about, as records name it.
    pub(super) named: Arc<Value>,
    pub(super) at: ObjectRef,
    /// Without who manages its fields, unless that matters.
    pub(super) source: Value,
    pub(super) namespace: Option<Arc<Value>>,
    pub(super) namespace_at: Option<ObjectRef>,
    pub(super) terms: Terms,
    pub(super) interpreter: Interpreter,
    /// The decision, without what it says of each cell.
    pub(super) decision: Object,
    /// By the workspace of their cells, in the order of their names.
    targets: HashMap<Workspace, Arc<[Target]>>,
    /// Where it is only because others refer to it.
    only_follows: HashSet<CellId>,
    /// By the replicas that it is for; where it is the same for whichever cell. Held for one operation.
    made: Mutex<HashMap<Option<i64>, Arc<Made>>>,
}

/// What a recipe is begun with.
pub(super) struct Ingredients {
    pub(super) made_of: MadeOf,
    pub(super) at: ObjectRef,
    pub(super) source: Value,
    pub(super) namespace: Option<(ObjectRef, Value)>,
    pub(super) terms: Terms,
    pub(super) interpreter: Interpreter,
}

impl Recipe {
    fn new(placement: &Object, lists: &Lists, all: Ingredients) -> Self {
        let Ingredients { made_of, at, mut source, namespace, terms, interpreter } = all;
        forget_managers(&mut source);
        let part = |key: &str| placement.pointer(&["spec", key]).cloned().unwrap_or_default();
        let named = Arc::new(part("source"));
        let spec = json!({ "evictions": part("evictions") });
        let decision = json!({ "metadata": { "generation": placement.generation() }, "spec": spec });
        let homes = placement.items(&["spec", "cells"]).filter_map(|cell| cell["workspace"].as_str());
        let homes: BTreeSet<&str> = homes.collect();
        let mut only_follows = HashSet::new();
        let targets = homes.into_iter().map(Workspace::new);
        let mut within = |home: &Workspace| lists.shared(targets_within(placement, home, &mut only_follows));
        let targets = targets.map(|home| (home.clone(), within(&home))).collect();
        let (namespace_at, namespace) = namespace.map(|(at, found)| (at, Arc::new(found))).unzip();
        Self {
            named,
            at,
            source,
            namespace,
            namespace_at,
            terms,
            interpreter,
            targets,
            only_follows,
            decision: Object::try_from(decision).unwrap_or_else(|_| placement.clone()),
            made_of,
            made: Mutex::default(),
        }
    }

    /// Where it is to be, of the cells of a workspace.
    pub(super) fn targets_in(&self, home: &Workspace) -> &[Target] {
        self.targets.get(home).map(|targets| &**targets).unwrap_or_default()
    }

    /// Whether it is to be in a cell: for good, or until it has left it.
    pub(super) fn is_for(&self, cell: &CellId) -> bool {
        let this = (cell.workspace.as_str(), cell.name.as_str());
        self.target(cell).is_some() || staying_in(&self.decision).any(|stays| stays == this)
    }

    pub(super) fn target(&self, cell: &CellId) -> Option<&Target> {
        let targets = self.targets_in(&cell.workspace);
        let at = targets.binary_search_by(|target| target.cell.as_str().cmp(&cell.name)).ok()?;
        targets.get(at)
    }

    /// Whether it is in a cell for no other reason than that others refer to it.
    pub(super) fn only_follows_to(&self, cell: &CellId) -> bool {
        self.only_follows.contains(cell)
    }

    /// Whether it is the same wherever there are as many replicas of it.
    pub(super) fn is_the_same_everywhere(&self) -> bool {
        let is_divided_job = self.terms.divides && Kind::of(&self.source).name() == ("batch", "Job");
        self.terms.overrides.is_empty() && !is_divided_job
    }

    /// What is sent to cells for which there are so many replicas.
    pub(super) fn made(&self, replicas: Option<i64>, make: impl FnOnce() -> Made) -> Arc<Made> {
        if let Some(made) = self.made.lock().get(&replicas) {
            return made.clone();
        }
        let made = Arc::new(make());
        self.made.lock().entry(replicas).or_insert(made).clone()
    }
}

/// The targets in a workspace by name, without their reasons: there may be hundreds of them, and one question is asked
/// of what each says.
fn targets_within(placement: &Object, home: &Workspace, only_follows: &mut HashSet<CellId>) -> Vec<Target> {
    let mut targets = targets_of(placement, home);
    targets.sort_by(|one, other| one.cell.cmp(&other.cell));
    for target in &mut targets {
        if target.because.iter().all(|because| matches!(because, Because::Follows(_))) {
            only_follows.insert(CellId { workspace: home.clone(), name: target.cell.clone() });
        }
        target.because = BTreeSet::new();
    }
    targets
}

/// Takes away who manages which fields: it may be most of an object, and no copy has it. Of a service it tells which ports
/// somebody asked for.
fn forget_managers(source: &mut Value) {
    if Kind::of(source).name() == ("", "Service") {
        return;
    }
    if let Some(metadata) = source.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Lists of targets, each kept once: objects of one rule go to the same cells, and there may be hundreds of those. It holds
/// as much as there are lists in use, and a bounded number that were.
#[derive(Debug, Default)]
struct Lists(Mutex<Listed>);

/// Lists that are not in use any more are forgotten whenever there are a quarter more than were in use, and this many: so
/// looking for them costs little for each that comes.
const LISTS_MORE: usize = 64;

#[derive(Debug, Default)]
struct Listed {
    /// By what they say, as one number: two that have the same number are not shared.
    lists: HashMap<u64, Weak<[Target]>>,
    in_use: usize,
}

impl Lists {
    /// The same list as others have it, who say the same.
    fn shared(&self, targets: Vec<Target>) -> Arc<[Target]> {
        let mut hasher = DefaultHasher::new();
        for target in &targets {
            (&target.cell, target.replicas).hash(&mut hasher);
        }
        let (hash, mut listed) = (hasher.finish(), self.0.lock());
        if let Some(known) = listed.lists.get(&hash).and_then(Weak::upgrade).filter(|known| **known == *targets) {
            return known;
        }
        let targets: Arc<[Target]> = targets.into();
        listed.lists.insert(hash, Arc::downgrade(&targets));
        if listed.lists.len() > listed.in_use + listed.in_use / 4 + LISTS_MORE {
            listed.lists.retain(|_, list| list.strong_count() > 0);
            listed.in_use = listed.lists.len();
        }
        targets
    }
}

/// Recipes that were used of late.
#[derive(Debug, Default)]
pub(super) struct Recipes {
    kept: Kept<Recipe>,
    lists: Lists,
}

impl Recipes {
    pub(super) fn get(&self, workspace: &Workspace, uid: &str) -> Option<Arc<Recipe>> {
        self.kept.get(workspace, uid)
    }

    /// The recipe for what has this UID, which is kept from now on.
    pub(super) fn make(&self, of: (&Workspace, &str), placement: &Object, all: Ingredients) -> Arc<Recipe> {
        let recipe = Arc::new(Recipe::new(placement, &self.lists, all));
        self.kept.keep(of.0, of.1, &recipe, recipe.made_of.weight());
        recipe
    }
}

/// What was used of late: what is used stays, and how much is kept is bounded.
#[derive(Debug)]
pub(super) struct Kept<T>(Mutex<Shelves<T>>);

/// By the workspace and the UID of the source; with what it weighs.
type Shelf<T> = HashMap<(Workspace, String), (Arc<T>, usize)>;

#[derive(Debug)]
struct Shelves<T> {
    new: Shelf<T>,
    old: Shelf<T>,
    weight: usize,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::new(Shelves { new: Shelf::new(), old: Shelf::new(), weight: 0 }))
    }
}

impl<T> Kept<T> {
    pub(super) fn get(&self, workspace: &Workspace, uid: &str) -> Option<Arc<T>> {
        let mut shelves = self.0.lock();
        let key = (workspace.clone(), uid.to_owned());
        if let Some((found, _)) = shelves.new.get(&key) {
            return Some(found.clone());
        }
        let found = shelves.old.remove(&key)?;
        shelves.put(key, found.clone());
        Some(found.0)
    }

    pub(super) fn keep(&self, workspace: &Workspace, uid: &str, kept: &Arc<T>, weight: usize) {
        self.0.lock().put((workspace.clone(), uid.to_owned()), (kept.clone(), weight));
    }
}

impl<T> Shelves<T> {
    fn put(&mut self, key: (Workspace, String), kept: (Arc<T>, usize)) {
        if self.weight >= KEPT_BYTES_MAX {
            self.old = std::mem::take(&mut self.new);
            self.weight = 0;
        }
        self.weight += kept.1;
        if let Some((_, former)) = self.new.insert(key, kept) {
            self.weight -= former;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiserver::catalog::Catalog;

    #[test]
    fn what_is_used_stays_and_the_rest_makes_room() {
        let (kept, workspace, third) = (Kept::default(), Workspace::new("w"), KEPT_BYTES_MAX / 3 + 1);
        let keep = |number: u32| kept.keep(&workspace, &number.to_string(), &Arc::new(number), third);
        for number in 0..100 {
            keep(number);
            assert_eq!(kept.get(&workspace, "0").as_deref(), Some(&0), "it is used all the time, also after {number}");
        }
        assert_eq!(kept.get(&workspace, "50"), None);
        let held = || {
            let shelves = kept.0.lock();
            shelves.new.len() + shelves.old.len()
        };
        assert!(held() <= 6, "{} are held", held());
        for _ in 0..100 {
            keep(7);
        }
        assert!(held() <= 6 && kept.0.lock().weight <= KEPT_BYTES_MAX + third, "the same weighs once");
    }

    #[test]
    fn who_goes_to_the_same_cells_has_the_same_list() {
        let lists = Lists::default();
        let list = |names: &[&str], replicas: Option<i64>| {
            let target = |name: &&str| Target { cell: (*name).to_owned(), replicas, because: BTreeSet::new() };
            lists.shared(names.iter().map(target).collect())
        };
        let one = list(&["a", "b"], None);
        assert!(Arc::ptr_eq(&one, &list(&["a", "b"], None)));
        for other in [list(&["a"], None), list(&["a", "b"], Some(1)), list(&["ab"], None), list(&[], None)] {
            assert!(!Arc::ptr_eq(&one, &other) && *one != *other);
        }
        for number in 0..1000 {
            list(&["c"], Some(number));
        }
        let held = lists.0.lock().lists.len();
        assert!(held <= LISTS_MORE + 2, "{held} are held, and one is in use");
        assert!(Arc::ptr_eq(&one, &list(&["a", "b"], None)));
    }

    #[test]
    fn who_manages_fields_is_kept_only_where_it_matters() {
        let kept = |version: &str, kind: &str| {
            let metadata = json!({ "name": "x", "managedFields": [{ "manager": "m" }] });
            let mut source = json!({ "apiVersion": version, "kind": kind, "metadata": metadata });
            forget_managers(&mut source);
            assert_eq!(source["metadata"]["name"], "x");
            source["metadata"].get("managedFields").is_some()
        };
        assert!(kept("v1", "Service"));
        assert!(!kept("v1", "ConfigMap") && !kept("serving.knative.dev/v1", "Service"));
    }

    #[test]
    fn whatever_it_was_made_of_ends_it_when_it_changes() {
        let bytes = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        let resource = || Catalog::builtin().find("", "v1", "secrets").unwrap().clone();
        let origin = |workspace: &str| Origin { owner: "hub".to_owned(), workspace: workspace.to_owned() };
        let known = MadeOf {
            placement: bytes("p"),
            source: bytes("s"),
            namespace: Some(bytes("n")),
            resource: resource(),
            edition: 1,
            origin: origin("root:a"),
        };
        assert!(known.is_still(&known.clone()));
        let others = [
            MadeOf { placement: bytes("p"), ..known.clone() },
            MadeOf { source: bytes("s"), ..known.clone() },
            MadeOf { namespace: Some(bytes("n")), ..known.clone() },
            MadeOf { namespace: None, ..known.clone() },
            MadeOf { resource: resource(), ..known.clone() },
            MadeOf { edition: 2, ..known.clone() },
            MadeOf { origin: origin("root:b"), ..known.clone() },
        ];
        for other in others {
            assert!(!known.is_still(&other), "{other:?}");
        }
    }
}
