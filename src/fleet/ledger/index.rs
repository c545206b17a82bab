//! Every record of a copy, kept small: of one object there may be a hundred, and of a thousand objects a hundred thousand.
//!
//! Records have numbers, by which all else refers to them; what many of them say in the same words is kept once. What they
//! are found by is not kept again: a table holds numbers, and the records say whether they are meant.

use super::{CopyFacts, CopyId, CopyKind};
use crate::fleet::CellId;
use apiserver::place::Workspace;
use hashbrown::HashTable;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use storage::Revision;

type Number = u32;
type Word = Arc<str>;

/// What a record says, as far as others are found by it.
#[derive(Debug)]
struct Entry {
    workspace: Workspace,
    id: Box<str>,
    cell: Number,
    kind: Number,
    source: Word,
    namespace: Word,
    name: Word,
    uid: Box<str>,
    applied: bool,
    going: bool,
}

#[derive(Debug, Default)]
pub(super) struct Index {
    /// Everything up to this has been told; zero while what there was is still being told.
    pub(super) revision: Revision,
    hasher: RandomState,
    words: HashSet<Word>,
    workspaces: HashMap<String, Workspace>,
    cells: Table<CellId>,
    kinds: Table<CopyKind>,
    entries: Vec<Option<Entry>>,
    free: Vec<Number>,
    by_id: HashTable<Number>,
    by_source: HashMap<Word, Vec<Number>>,
    by_cell: HashMap<Number, HashSet<Number>>,
    by_namespace: HashMap<(Number, Word), HashSet<Number>>,
    /// By the cell, the group and the resource, and namespace and name there.
    by_place: HashTable<Number>,
    /// By the cell and the UID there.
    by_uid: HashTable<Number>,
}

/// What is kept once and has a number. It holds as much as there ever was since everything was told.
#[derive(Debug)]
struct Table<T> {
    numbers: HashMap<Arc<T>, Number>,
    all: Vec<Arc<T>>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), all: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Table<T> {
    fn enter(&mut self, value: &T) -> Number {
        if let Some(number) = self.numbers.get(value) {
            return *number;
        }
        let (value, number) = (Arc::new(value.clone()), numbered(self.all.len()));
        self.all.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    fn number(&self, value: &T) -> Option<Number> {
        self.numbers.get(value).copied()
    }

    fn get(&self, number: Number) -> Option<&Arc<T>> {
        self.all.get(number as usize)
    }
}

/// More than four thousand million records would need more memory than there is.
fn numbered(place: usize) -> Number {
    Number::try_from(place).unwrap_or(Number::MAX)
}

/// What a record is found by, beside its name: which cell, and what of it.
struct Hashes {
    id: u64,
    place: u64,
    uid: Option<u64>,
}

impl Index {
    /// Everything there was has been told.
    pub(super) fn is_complete(&self) -> bool {
        self.revision > Revision::ZERO
    }

    pub(super) fn workspace(&mut self, id: &str) -> Workspace {
        if let Some(known) = self.workspaces.get(id) {
            return known.clone();
        }
        let workspace = Workspace::new(id);
        self.workspaces.insert(id.to_owned(), workspace.clone());
        workspace
    }

    pub(super) fn insert(&mut self, id: &CopyId, facts: &CopyFacts) {
        let entry = Entry {
            workspace: self.workspace(id.workspace.as_str()),
            id: id.name.as_str().into(),
            cell: self.cells.enter(&facts.cell),
            kind: self.kinds.enter(&facts.kind),
            source: self.word(&facts.source),
            namespace: self.word(&facts.namespace),
            name: self.word(&facts.name),
            uid: facts.uid.as_str().into(),
            applied: facts.applied,
            going: facts.going,
        };
        let number = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            numbered(self.entries.len() - 1)
        });
        self.by_source.entry(entry.source.clone()).or_default().push(number);
        self.by_cell.entry(entry.cell).or_default().insert(number);
        self.by_namespace.entry((entry.cell, entry.namespace.clone())).or_default().insert(number);
        let hashes = self.hashes(&entry);
        self.entries[number as usize] = Some(entry);
        self.enter(number, &hashes);
    }

    fn enter(&mut self, number: Number, hashes: &Hashes) {
        let Self { hasher, kinds, entries, by_id, by_place, by_uid, .. } = self;
        // A table that grows asks where those belong that are in it.
        let again = |what: fn(&Hashes) -> u64| {
            let (hasher, kinds, entries) = (&*hasher, &*kinds, &*entries);
            move |number: &Number| {
                let entry = entries.get(*number as usize).and_then(Option::as_ref);
                entry.map_or(0, |entry| what(&hashes_of(hasher, kinds, entry)))
            }
        };
        by_id.insert_unique(hashes.id, number, again(|hashes| hashes.id));
        by_place.insert_unique(hashes.place, number, again(|hashes| hashes.place));
        if let Some(uid) = hashes.uid {
            by_uid.insert_unique(uid, number, again(|hashes| hashes.uid.unwrap_or_default()));
        }
    }

    pub(super) fn remove(&mut self, id: &CopyId) -> Option<CopyFacts> {
        let number = self.number(id)?;
        let hashes = self.hashes(self.entry(number)?);
        for (table, hash) in [(&mut self.by_id, Some(hashes.id)), (&mut self.by_place, Some(hashes.place))]
            .into_iter()
            .chain([(&mut self.by_uid, hashes.uid)])
        {
            if let Some(hash) = hash
                && let Ok(found) = table.find_entry(hash, |other| *other == number)
            {
                found.remove();
            }
        }
        let entry = self.entries.get_mut(number as usize)?.take()?;
        self.free.push(number);
        let facts = self.read(&entry)?;
        drop_from(&mut self.by_source, &entry.source, number);
        drop_member(&mut self.by_cell, &entry.cell, number);
        drop_member(&mut self.by_namespace, &(entry.cell, entry.namespace.clone()), number);
        let Entry { source, namespace, name, .. } = entry;
        for word in [source, namespace, name] {
            self.release(word);
        }
        Some(facts)
    }

    pub(super) fn facts(&self, id: &CopyId) -> Option<CopyFacts> {
        self.read(self.entry(self.number(id)?)?)
    }

    pub(super) fn made_as(&self, id: &CopyId) -> Option<Arc<CopyKind>> {
        let entry = self.entry(self.number(id)?).filter(|entry| !entry.uid.is_empty())?;
        self.kinds.get(entry.kind).cloned()
    }

    pub(super) fn of_source(&self, uid: &str) -> Vec<CopyId> {
        self.ids(self.by_source.get(uid).into_iter().flatten())
    }

    pub(super) fn in_cell(&self, cell: &CellId) -> Vec<CopyId> {
        self.ids(self.numbers_in(cell))
    }

    pub(super) fn number_in(&self, cell: &CellId) -> usize {
        self.numbers_in(cell).count()
    }

    pub(super) fn cells(&self) -> Vec<CellId> {
        self.by_cell.keys().filter_map(|cell| self.cells.get(*cell).map(|cell| (**cell).clone())).collect()
    }

    pub(super) fn in_namespace(&self, cell: &CellId, namespace: &str) -> Vec<CopyId> {
        self.ids(self.members(cell, namespace).into_iter().flatten())
    }

    pub(super) fn is_used(&self, cell: &CellId, namespace: &str) -> bool {
        self.members(cell, namespace).is_some()
    }

    pub(super) fn at(&self, cell: &CellId, [group, resource, namespace, name]: [&str; 4]) -> Vec<CopyId> {
        let Some(cell) = self.cells.number(cell) else { return Vec::new() };
        let is_there = |number: &&Number| {
            let is_of = |kind: &Arc<CopyKind>| kind.group == group && kind.resource == resource;
            self.entry(**number).is_some_and(|entry| {
                (entry.cell, &*entry.namespace, &*entry.name) == (cell, namespace, name)
                    && self.kinds.get(entry.kind).is_some_and(is_of)
            })
        };
        let hash = self.hasher.hash_one((cell, group, resource, namespace, name));
        self.ids(self.by_place.iter_hash(hash).filter(is_there))
    }

    pub(super) fn of_uid(&self, cell: &CellId, uid: &str) -> Option<CopyId> {
        let cell = self.cells.number(cell)?;
        let mut same = self.by_uid.iter_hash(self.hasher.hash_one((cell, uid)));
        same.find_map(|number| {
            let entry = self.entry(*number).filter(|entry| (entry.cell, &*entry.uid) == (cell, uid))?;
            Some(entry.id())
        })
    }

    /// The records in a cell that are of a resource.
    pub(super) fn of_resource(&self, cell: &CellId, group: &str, resource: &str) -> Vec<CopyId> {
        let is_of = |kind: &Arc<CopyKind>| kind.group == group && kind.resource == resource;
        let of = |number: &&Number| {
            let kind = self.entry(**number).and_then(|entry| self.kinds.get(entry.kind));
            kind.is_some_and(is_of)
        };
        self.ids(self.numbers_in(cell).filter(of))
    }

    fn number(&self, id: &CopyId) -> Option<Number> {
        let hash = self.hasher.hash_one((id.workspace.as_str(), id.name.as_str()));
        let is_it = |number: &Number| {
            let entry = self.entry(*number);
            entry.is_some_and(|entry| *entry.id == *id.name && entry.workspace == id.workspace)
        };
        self.by_id.find(hash, is_it).copied()
    }

    fn entry(&self, number: Number) -> Option<&Entry> {
        self.entries.get(number as usize)?.as_ref()
    }

    fn hashes(&self, entry: &Entry) -> Hashes {
        hashes_of(&self.hasher, &self.kinds, entry)
    }

    fn ids<'a>(&self, numbers: impl Iterator<Item = &'a Number>) -> Vec<CopyId> {
        numbers.filter_map(|number| Some(self.entry(*number)?.id())).collect()
    }

    fn numbers_in(&self, cell: &CellId) -> impl Iterator<Item = &Number> {
        self.cells.number(cell).and_then(|cell| self.by_cell.get(&cell)).into_iter().flatten()
    }

    fn members(&self, cell: &CellId, namespace: &str) -> Option<&HashSet<Number>> {
        self.by_namespace.get(&(self.cells.number(cell)?, self.words.get(namespace)?.clone()))
    }

    fn read(&self, entry: &Entry) -> Option<CopyFacts> {
        Some(CopyFacts {
            cell: (**self.cells.get(entry.cell)?).clone(),
            source: entry.source.as_ref().to_owned(),
            kind: (**self.kinds.get(entry.kind)?).clone(),
            namespace: entry.namespace.as_ref().to_owned(),
            name: entry.name.as_ref().to_owned(),
            uid: entry.uid.as_ref().to_owned(),
            applied: entry.applied,
            going: entry.going,
        })
    }

    fn word(&mut self, text: &str) -> Word {
        if let Some(known) = self.words.get(text) {
            return known.clone();
        }
        let word: Word = text.into();
        self.words.insert(word.clone());
        word
    }

    /// Forgets a word that nobody says any more.
    fn release(&mut self, word: Word) {
        // One is here, one among the words.
        if Arc::strong_count(&word) == 2 {
            self.words.remove(&word);
        }
    }
}

impl Entry {
    fn id(&self) -> CopyId {
        CopyId { workspace: self.workspace.clone(), name: self.id.as_ref().to_owned() }
    }
}

fn hashes_of(hasher: &RandomState, kinds: &Table<CopyKind>, entry: &Entry) -> Hashes {
    let Entry { workspace, id, cell, kind, namespace, name, uid, .. } = entry;
    let (group, resource) = kinds.get(*kind).map_or(("", ""), |kind| (&kind.group, &kind.resource));
    Hashes {
        id: hasher.hash_one((workspace.as_str(), &**id)),
        place: hasher.hash_one((*cell, group, resource, &**namespace, &**name)),
        uid: (!uid.is_empty()).then(|| hasher.hash_one((*cell, &**uid))),
    }
}

fn drop_from<K: Eq + Hash>(index: &mut HashMap<K, Vec<Number>>, key: &K, number: Number) {
    if let Some(numbers) = index.get_mut(key) {
        numbers.retain(|other| *other != number);
        if numbers.is_empty() {
            index.remove(key);
        }
    }
}

fn drop_member<K: Eq + Hash>(index: &mut HashMap<K, HashSet<Number>>, key: &K, number: Number) {
    if let Some(numbers) = index.get_mut(key) {
        numbers.remove(&number);
        if numbers.is_empty() {
            index.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(cell: &str, name: &str, uid: &str) -> CopyFacts {
        let own = |text: &str| text.to_owned();
        CopyFacts {
            cell: CellId::new("w", cell),
            source: format!("source of {name}"),
            kind: CopyKind { group: own("g"), version: own("v1"), resource: own("things"), kind: own("Thing") },
            namespace: own("n"),
            name: own(name),
            uid: own(uid),
            applied: true,
            going: false,
        }
    }

    fn id(name: &str) -> CopyId {
        CopyId { workspace: Workspace::new("w"), name: name.to_owned() }
    }

    #[test]
    fn a_record_is_found_by_all_that_it_says_until_it_is_gone() {
        let mut index = Index::default();
        let all = [("1", facts("a", "x", "u1")), ("2", facts("b", "x", "u2")), ("3", facts("a", "y", ""))];
        for (name, facts) in &all {
            index.insert(&id(name), facts);
            assert_eq!(index.facts(&id(name)).as_ref(), Some(facts));
        }
        let (a, b) = (CellId::new("w", "a"), CellId::new("w", "b"));
        let sorted = |mut ids: Vec<CopyId>| {
            ids.sort();
            ids.into_iter().map(|id| id.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(sorted(index.of_source("source of x")), "1 2");
        assert_eq!(sorted(index.in_cell(&a)), "1 3");
        assert_eq!(sorted(index.in_namespace(&a, "n")), "1 3");
        assert_eq!(sorted(index.at(&b, ["g", "things", "n", "x"])), "2");
        assert_eq!(sorted(index.of_resource(&a, "g", "things")), "1 3");
        assert_eq!(index.of_uid(&b, "u2"), Some(id("2")));
        assert_eq!(index.of_uid(&a, "u2"), None);
        for (name, facts) in &all {
            assert_eq!(index.remove(&id(name)).as_ref(), Some(facts));
        }
        let left = (index.words.len(), index.by_source.len(), index.by_cell.len(), index.by_namespace.len());
        assert_eq!((left, index.by_place.len(), index.by_uid.len(), index.by_id.len()), ((0, 0, 0, 0), 0, 0, 0));
        index.insert(&id("4"), &facts("a", "z", "u4"));
        assert_eq!(index.entries.len(), 3, "numbers are used again");
    }

    #[test]
    fn everything_is_found_when_there_is_much_of_it_and_after_much_of_it_went() {
        let (mut index, cell) = (Index::default(), CellId::new("w", "a"));
        let name = |number: u32| format!("x{number}");
        for number in 0..10_000 {
            index.insert(&id(&name(number)), &facts("a", &name(number), &format!("u{number}")));
        }
        for number in (0..10_000).filter(|number| number % 3 > 0) {
            assert!(index.remove(&id(&name(number))).is_some());
        }
        for number in 0..10_000 {
            let is_there = number % 3 == 0;
            let found = index.at(&cell, ["g", "things", "n", &name(number)]);
            assert_eq!(found, if is_there { vec![id(&name(number))] } else { Vec::new() });
            assert_eq!(index.of_uid(&cell, &format!("u{number}")).is_some(), is_there);
            assert_eq!(index.facts(&id(&name(number))).is_some(), is_there);
        }
    }
}
