//! Every record of a copy, kept small: of one object there may be a hundred, and of a thousand objects a hundred thousand.
//!
//! Records have numbers, by which all else refers to them; what many of them say in the same words is kept once, and what
//! follows from the rest is not kept. What they are found by is not kept again: a table holds numbers, and the records say
//! whether they are meant.

mod rows;
mod words;

use super::{CopyFacts, CopyId, CopyKind};
use crate::apis::definitions::copy_name;
use crate::apis::uid;
use crate::fleet::CellId;
use apiserver::place::Workspace;
use hashbrown::HashTable;
use rows::{Beside, Of, Row};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use storage::Revision;
use words::Words;

type Number = u32;

/// What a record says, as far as others are found by it.
#[derive(Debug)]
struct Entry {
    id: Id,
    workspace: Number,
    cell: Number,
    kind: Number,
    /// These are words.
    source: Number,
    namespace: Number,
    name: Number,
    uid: Uid,
    beside: [Beside; 2],
    applied: bool,
    going: bool,
}

/// What a record is called.
#[derive(Clone, Copy, Debug)]
enum Id {
    /// As all are called by the object and the cell, with this word before it.
    Usual(Number),
    /// This word.
    Odd(Number),
}

/// The UID that a copy has in its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Uid {
    Unknown,
    Usual([u8; 16]),
    /// This word.
    Odd(Number),
}

#[derive(Debug, Default)]
pub(super) struct Index {
    /// Everything up to this has been told; zero while what there was is still being told.
    pub(super) revision: Revision,
    hasher: RandomState,
    told: Told,
    free: Vec<Number>,
    by_id: HashTable<Number>,
    /// By the word.
    by_source: HashMap<Number, Row>,
    /// By the cell, and the word for the namespace there.
    by_cell: HashMap<Number, HashMap<Number, Row>>,
    /// By the cell, and namespace and name there.
    by_place: HashTable<Number>,
    /// By the cell and the UID there.
    by_uid: HashTable<Number>,
}

/// What records say.
#[derive(Debug, Default)]
struct Told {
    words: Words,
    workspaces: Table<Workspace>,
    cells: Table<CellId>,
    kinds: Table<CopyKind>,
    entries: Vec<Option<Entry>>,
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

/// What a record is found by.
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
        let workspace = Workspace::new(id);
        let number = self.told.workspaces.enter(&workspace);
        self.told.workspaces.get(number).map_or(workspace, |known| (**known).clone())
    }

    pub(super) fn insert(&mut self, id: &CopyId, facts: &CopyFacts) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.told.entries.push(None);
            numbered(self.told.entries.len() - 1)
        });
        let entry = self.told.entry_of(id, facts);
        let (cell, namespace, source) = (entry.cell, entry.namespace, entry.source);
        let hashes = self.told.hashes(&self.hasher, &entry);
        let entries = &mut self.told.entries;
        entries[number as usize] = Some(entry);
        self.by_source.entry(source).or_default().join(entries, Of::Source, number);
        let in_cell = self.by_cell.entry(cell).or_default();
        in_cell.entry(namespace).or_default().join(entries, Of::Namespace, number);
        self.enter(number, &hashes);
    }

    fn enter(&mut self, number: Number, hashes: &Hashes) {
        let Self { hasher, told, by_id, by_place, by_uid, .. } = self;
        // A table that grows asks where those belong that are in it.
        let again = |what: fn(&Told, &RandomState, &Entry) -> u64| {
            let (hasher, told) = (&*hasher, &*told);
            move |number: &Number| told.entry(*number).map_or(0, |entry| what(told, hasher, entry))
        };
        by_id.insert_unique(hashes.id, number, again(Told::id_hash));
        by_place.insert_unique(hashes.place, number, again(Told::place_hash));
        if let Some(uid) = hashes.uid {
            by_uid.insert_unique(uid, number, again(Told::uid_hash));
        }
    }

    pub(super) fn remove(&mut self, id: &CopyId) -> Option<CopyFacts> {
        let number = self.number(id)?;
        let entry = self.told.entry(number)?;
        let (facts, hashes) = (self.told.facts(entry)?, self.told.hashes(&self.hasher, entry));
        let (cell, namespace, source) = (entry.cell, entry.namespace, entry.source);
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
        leave(&mut self.by_source, source, &mut self.told.entries, (Of::Source, number));
        if let Some(in_cell) = self.by_cell.get_mut(&cell) {
            leave(in_cell, namespace, &mut self.told.entries, (Of::Namespace, number));
            if in_cell.is_empty() {
                self.by_cell.remove(&cell);
            }
        }
        self.told.forget(number);
        self.free.push(number);
        Some(facts)
    }

    pub(super) fn facts(&self, id: &CopyId) -> Option<CopyFacts> {
        self.told.facts(self.told.entry(self.number(id)?)?)
    }

    pub(super) fn made_as(&self, id: &CopyId) -> Option<Arc<CopyKind>> {
        let entry = self.told.entry(self.number(id)?).filter(|entry| entry.uid != Uid::Unknown)?;
        self.told.kinds.get(entry.kind).cloned()
    }

    pub(super) fn of_source(&self, uid: &str) -> Vec<CopyId> {
        let row = self.told.words.number(uid).and_then(|source| self.by_source.get(&source));
        self.ids(row.into_iter().flat_map(|row| row.members(&self.told.entries, Of::Source)))
    }

    pub(super) fn in_cell(&self, cell: &CellId) -> Vec<CopyId> {
        self.ids(self.numbers_in(cell))
    }

    pub(super) fn number_in(&self, cell: &CellId) -> usize {
        self.rows_in(cell).map(|row| row.length as usize).sum()
    }

    pub(super) fn cells(&self) -> Vec<CellId> {
        self.by_cell.keys().filter_map(|cell| self.told.cells.get(*cell).map(|cell| (**cell).clone())).collect()
    }

    pub(super) fn in_namespace(&self, cell: &CellId, namespace: &str) -> Vec<CopyId> {
        let row = self.row(cell, namespace);
        self.ids(row.into_iter().flat_map(|row| row.members(&self.told.entries, Of::Namespace)))
    }

    pub(super) fn is_used(&self, cell: &CellId, namespace: &str) -> bool {
        self.row(cell, namespace).is_some()
    }

    pub(super) fn at(&self, cell: &CellId, [group, resource, namespace, name]: [&str; 4]) -> Vec<CopyId> {
        let words = &self.told.words;
        let place = (self.told.cells.number(cell), words.number(namespace), words.number(name));
        let (Some(cell), Some(namespace), Some(name)) = place else { return Vec::new() };
        let is_there = |number: &Number| {
            self.told.entry(*number).is_some_and(|entry| {
                (entry.cell, entry.namespace, entry.name) == (cell, namespace, name)
                    && self.told.is_of(entry, group, resource)
            })
        };
        let same = self.by_place.iter_hash(self.hasher.hash_one((cell, namespace, name)));
        self.ids(same.copied().filter(is_there))
    }

    pub(super) fn of_uid(&self, cell: &CellId, uid: &str) -> Option<CopyId> {
        let (cell, uid) = (self.told.cells.number(cell)?, self.told.known_uid(uid)?);
        let mut same = self.by_uid.iter_hash(self.hasher.hash_one((cell, uid)));
        same.find_map(|number| {
            let entry = self.told.entry(*number).filter(|entry| (entry.cell, entry.uid) == (cell, uid))?;
            self.told.id(entry)
        })
    }

    /// The records in a cell that are of a resource.
    pub(super) fn of_resource(&self, cell: &CellId, group: &str, resource: &str) -> Vec<CopyId> {
        let of =
            |number: &Number| self.told.entry(*number).is_some_and(|entry| self.told.is_of(entry, group, resource));
        self.ids(self.numbers_in(cell).filter(of))
    }

    fn number(&self, id: &CopyId) -> Option<Number> {
        let hash = self.hasher.hash_one((id.workspace.as_str(), id.name.as_str()));
        let is_it = |number: &Number| {
            let entry = self.told.entry(*number);
            entry.and_then(|entry| self.told.id(entry)).is_some_and(|found| found == *id)
        };
        self.by_id.find(hash, is_it).copied()
    }

    fn ids(&self, numbers: impl Iterator<Item = Number>) -> Vec<CopyId> {
        numbers.filter_map(|number| self.told.id(self.told.entry(number)?)).collect()
    }

    fn numbers_in(&self, cell: &CellId) -> impl Iterator<Item = Number> {
        self.rows_in(cell).flat_map(|row| row.members(&self.told.entries, Of::Namespace))
    }

    fn rows_in(&self, cell: &CellId) -> impl Iterator<Item = &Row> {
        self.told.cells.number(cell).and_then(|cell| self.by_cell.get(&cell)).into_iter().flat_map(HashMap::values)
    }

    fn row(&self, cell: &CellId, namespace: &str) -> Option<&Row> {
        let in_cell = self.by_cell.get(&self.told.cells.number(cell)?)?;
        in_cell.get(&self.told.words.number(namespace)?)
    }
}

impl Told {
    fn entry(&self, number: Number) -> Option<&Entry> {
        self.entries.get(number as usize)?.as_ref()
    }

    fn entry_of(&mut self, id: &CopyId, facts: &CopyFacts) -> Entry {
        let CopyFacts { cell, source, kind, namespace, name, uid, applied, going } = facts;
        let usual = copy_name(id.workspace.as_str(), source, (cell.workspace.as_str(), &cell.name));
        let named = match id.name.strip_suffix(&usual) {
            Some(before) => Id::Usual(self.words.say(before)),
            None => Id::Odd(self.words.say(&id.name)),
        };
        let uid = match (uid.as_str(), uid::packed(uid)) {
            ("", _) => Uid::Unknown,
            (_, Some(packed)) => Uid::Usual(packed),
            (odd, None) => Uid::Odd(self.words.say(odd)),
        };
        Entry {
            id: named,
            workspace: self.workspaces.enter(&id.workspace),
            cell: self.cells.enter(cell),
            kind: self.kinds.enter(kind),
            source: self.words.say(source),
            namespace: self.words.say(namespace),
            name: self.words.say(name),
            uid,
            beside: <[Beside; 2]>::default(),
            applied: *applied,
            going: *going,
        }
    }

    fn forget(&mut self, number: Number) {
        let Some(Entry { id, source, namespace, name, uid, .. }) =
            self.entries.get_mut(number as usize).and_then(Option::take)
        else {
            return;
        };
        let (Id::Usual(id) | Id::Odd(id)) = id;
        let uid = if let Uid::Odd(uid) = uid { Some(uid) } else { None };
        [id, source, namespace, name].into_iter().chain(uid).for_each(|word| self.words.unsay(word));
    }

    fn id(&self, entry: &Entry) -> Option<CopyId> {
        let workspace = Workspace::clone(self.workspaces.get(entry.workspace)?);
        let name = match entry.id {
            Id::Odd(name) => self.words.text(name).to_owned(),
            Id::Usual(before) => {
                let cell = self.cells.get(entry.cell)?;
                let cell = (cell.workspace.as_str(), cell.name.as_str());
                let mut name = copy_name(workspace.as_str(), self.words.text(entry.source), cell);
                name.insert_str(0, self.words.text(before));
                name
            }
        };
        Some(CopyId { workspace, name })
    }

    fn uid(&self, uid: Uid) -> String {
        match uid {
            Uid::Unknown => String::new(),
            Uid::Usual(packed) => uid::text(packed),
            Uid::Odd(word) => self.words.text(word).to_owned(),
        }
    }

    /// How a UID is kept, if it may be that of a record.
    fn known_uid(&self, uid: &str) -> Option<Uid> {
        uid::packed(uid).map(Uid::Usual).or_else(|| self.words.number(uid).map(Uid::Odd))
    }

    fn is_of(&self, entry: &Entry, group: &str, resource: &str) -> bool {
        self.kinds.get(entry.kind).is_some_and(|kind| kind.group == group && kind.resource == resource)
    }

    fn facts(&self, entry: &Entry) -> Option<CopyFacts> {
        Some(CopyFacts {
            cell: (**self.cells.get(entry.cell)?).clone(),
            source: self.words.text(entry.source).to_owned(),
            kind: (**self.kinds.get(entry.kind)?).clone(),
            namespace: self.words.text(entry.namespace).to_owned(),
            name: self.words.text(entry.name).to_owned(),
            uid: self.uid(entry.uid),
            applied: entry.applied,
            going: entry.going,
        })
    }

    fn hashes(&self, hasher: &RandomState, entry: &Entry) -> Hashes {
        Hashes {
            id: self.id_hash(hasher, entry),
            place: self.place_hash(hasher, entry),
            uid: (entry.uid != Uid::Unknown).then(|| self.uid_hash(hasher, entry)),
        }
    }

    fn id_hash(&self, hasher: &RandomState, entry: &Entry) -> u64 {
        self.id(entry).map_or(0, |id| hasher.hash_one((id.workspace.as_str(), id.name.as_str())))
    }

    /// What is called the same and of another kind is rare enough to be looked at.
    fn place_hash(&self, hasher: &RandomState, entry: &Entry) -> u64 {
        hasher.hash_one((entry.cell, entry.namespace, entry.name))
    }

    fn uid_hash(&self, hasher: &RandomState, entry: &Entry) -> u64 {
        hasher.hash_one((entry.cell, entry.uid))
    }
}

/// Takes a record out of one of several rows; a row with nobody in it is none.
fn leave(rows: &mut HashMap<Number, Row>, key: Number, entries: &mut [Option<Entry>], (of, number): (Of, Number)) {
    if let Some(row) = rows.get_mut(&key) {
        row.leave(entries, of, number);
        if row.length == 0 {
            rows.remove(&key);
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
        let left = (index.told.words.len(), index.by_source.len(), index.by_cell.len());
        assert_eq!((left, index.by_place.len(), index.by_uid.len(), index.by_id.len()), ((0, 0, 0), 0, 0, 0));
        index.insert(&id("4"), &facts("a", "z", "u4"));
        assert_eq!(index.told.entries.len(), 3, "numbers are used again");
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

    #[test]
    fn whatever_a_record_and_its_copy_are_called_is_the_same_again() {
        let usual = "0f8fad5b-d9cb-469f-a165-70867728950e";
        let mut index = Index::default();
        let names = [
            format!("{usual}.a"),
            format!("ns-{usual}.a"),
            format!("{usual}.a.0000abcd"),
            format!("{usual}.b"),
            usual.to_owned(),
            ".a".to_owned(),
            String::new(),
        ];
        let uids = [usual, &usual.to_uppercase(), "odd", "", "x"];
        let all: Vec<(CopyId, CopyFacts)> = (names.iter().flat_map(|name| uids.map(|uid| (name, uid))))
            .zip(["a", "b.c"].into_iter().cycle())
            .zip(0..)
            .map(|(((name, uid), cell), nth)| {
                let workspace = Workspace::new(&format!("w{nth}"));
                let facts = CopyFacts { source: usual.to_owned(), ..facts(cell, "x", uid) };
                (CopyId { workspace, name: name.clone() }, facts)
            })
            .collect();
        for (id, facts) in &all {
            index.insert(id, facts);
        }
        for (id, facts) in &all {
            assert_eq!(index.facts(id).as_ref(), Some(facts), "{id:?}");
            assert_eq!(index.made_as(id).is_some(), !facts.uid.is_empty());
            let others = all.iter().filter(|(_, other)| (&other.cell, &other.uid) == (&facts.cell, &facts.uid));
            let found = index.of_uid(&facts.cell, &facts.uid);
            assert_eq!(found.is_some(), !facts.uid.is_empty());
            assert!(found.is_none_or(|found| others.clone().any(|(other, _)| *other == found)));
        }
        let ids: Vec<CopyId> = all.iter().map(|(id, _)| id.clone()).collect();
        assert_eq!(index.of_source(usual), ids, "in the order in which they came");
        for (id, facts) in &all {
            assert_eq!(index.remove(id).as_ref(), Some(facts));
        }
        assert_eq!((index.told.words.len(), index.of_source(usual)), (0, Vec::new()));
    }

    #[test]
    fn a_row_stays_whole_whoever_leaves_it() {
        let (mut index, cell) = (Index::default(), CellId::new("w", "a"));
        let facts = |name: &str| CopyFacts { source: "one".to_owned(), ..facts("a", name, "") };
        let mut expected: Vec<String> = (0..7).map(|nth| nth.to_string()).collect();
        for name in &expected {
            index.insert(&id(name), &facts(name));
        }
        for (gone, comes) in [("0", "7"), ("6", "8"), ("3", "9"), ("8", "10"), ("1", "11")] {
            index.remove(&id(gone));
            index.insert(&id(comes), &facts(comes));
            expected.retain(|name| name != gone);
            expected.push(comes.to_owned());
            let names = |ids: Vec<CopyId>| ids.into_iter().map(|id| id.name).collect::<Vec<_>>();
            assert_eq!(names(index.of_source("one")), expected);
            assert_eq!(names(index.in_namespace(&cell, "n")), expected);
            assert_eq!((names(index.in_cell(&cell)), index.number_in(&cell)), (expected.clone(), 7));
        }
    }
}
