//! Who has copies where: every record of a copy, found by the object it is of, by its cell, and by its namespace there.
//!
//! It only ever says as much as it has been told, and up to which revision that was: whoever lets something go because
//! there is no copy asks for a revision after the decision that no copy be made.

mod index;

use super::cell::CellId;
use apiserver::client::Seen;
use apiserver::keyspace;
use apiserver::object::Peek;
use apiserver::place::Workspace;
use index::Index;
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;
use storage::Revision;
use tokio::sync::watch;

/// The record of a copy: the workspace it is in, which is that of its source, and its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CopyId {
    pub workspace: Workspace,
    pub name: String,
}

/// What matters of a record to find others by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyFacts {
    pub cell: CellId,
    /// The UID of what it is a copy of.
    pub source: String,
    pub kind: CopyKind,
    /// The namespace in the cell; empty where there is none.
    pub namespace: String,
    pub name: String,
    /// The UID that it has in the cell; empty until it is known to be there.
    pub uid: String,
    /// Whether it is known to be in the cell.
    pub applied: bool,
    /// Somebody wants it gone, whatever was decided.
    pub going: bool,
}

/// The resource of a copy in its cell.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CopyKind {
    pub group: String,
    pub version: String,
    pub resource: String,
    pub kind: String,
}

/// What is read of a record: what it says of the cell, of what it is a copy of, and of the copy. What it does not say is
/// empty.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec<'a> {
    #[serde(borrow)]
    cell: SaidOfCell<'a>,
    #[serde(borrow)]
    source: SaidOfSource<'a>,
    #[serde(borrow)]
    object: SaidOfObject<'a>,
}

/// There are very many records, and most of their text is only looked at.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SaidOfCell<'a> {
    #[serde(borrow)]
    workspace: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SaidOfSource<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SaidOfObject<'a> {
    #[serde(borrow)]
    group: Cow<'a, str>,
    #[serde(borrow)]
    version: Cow<'a, str>,
    #[serde(borrow)]
    resource: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    namespace: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
}

impl CopyFacts {
    fn read(record: Peek<'_>) -> Option<Self> {
        let Spec { cell, source, object } = serde_json::from_slice(record.raw(&["spec"])?).ok()?;
        let status = record.raw(&["status"]).map(Peek::of);
        let told = |key: &str| status.and_then(|status| status.text(&[key]));
        Some(Self {
            cell: CellId::new(&cell.workspace, &cell.name),
            source: source.uid.into_owned(),
            kind: CopyKind {
                group: object.group.into_owned(),
                version: object.version.into_owned(),
                resource: object.resource.into_owned(),
                kind: object.kind.into_owned(),
            },
            namespace: object.namespace.into_owned(),
            name: object.name.into_owned(),
            uid: told("uid").unwrap_or_default().into_owned(),
            applied: told("applied").is_some_and(|applied| applied == "True"),
            going: record.text(&["metadata", "deletionTimestamp"]).is_some(),
        })
    }

    pub fn is_namespace(&self) -> bool {
        self.kind.group.is_empty() && self.kind.resource == "namespaces"
    }
}

/// See the module. It holds as much as there are copies.
#[derive(Debug)]
pub struct Ledger {
    /// Guards nothing but itself, and is held for one question.
    volumes: Mutex<Volumes>,
    told: watch::Sender<Revision>,
}

/// What questions are answered from, and what is told anew.
#[derive(Debug, Default)]
struct Volumes {
    told: Index,
    draft: Option<Index>,
    /// What is known before it was told, and how: as many as were written down a moment ago.
    foretold: HashSet<CopyId>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { volumes: Mutex::default(), told: watch::Sender::new(Revision::ZERO) }
    }
}

impl Ledger {
    /// Everything will be told anew. Until all of it was, what was known is still found; that nothing is there is not known.
    pub fn forget(&self) {
        let mut volumes = self.volumes.lock();
        volumes.told.revision = Revision::ZERO;
        volumes.draft = Some(Index::default());
        drop(volumes);
        self.told.send_replace(Revision::ZERO);
    }

    fn index(&self) -> MappedMutexGuard<'_, Index> {
        MutexGuard::map(self.volumes.lock(), |volumes| &mut volumes.told)
    }

    /// Learns of a change of a record; answers with what it was before and what it is now.
    pub fn learn(&self, seen: &Seen) -> Option<(CopyId, Option<CopyFacts>, Option<CopyFacts>)> {
        let parts = keyspace::parse(&seen.key)?;
        let now = seen.now.as_ref().and_then(|version| CopyFacts::read(Peek::new(version)));
        let Volumes { told, draft, foretold } = &mut *self.volumes.lock();
        let index = draft.as_mut().unwrap_or(told);
        let id = CopyId { workspace: index.workspace(parts.workspace), name: parts.name.to_owned() };
        let before = index.remove(&id).filter(|_| !foretold.remove(&id));
        if let Some(facts) = &now {
            index.insert(&id, facts);
        }
        Some((id, before, now))
    }

    /// Learns of a record from whoever has just made it: from now on it is found by those who look for whom to wake. When it
    /// is told of, it is as new as if it had not been known.
    pub fn foretell(&self, id: &CopyId, facts: &CopyFacts, written: Revision) {
        let Volumes { told, draft, foretold } = &mut *self.volumes.lock();
        // What was told of already may be gone again; and while everything is told anew, all of it is looked at after that.
        if draft.is_none() && told.revision < written && told.facts(id).is_none() {
            told.insert(id, facts);
            foretold.insert(id.clone());
        }
    }

    /// Everything up to this revision has been told. Says nothing while what there was is still being told.
    pub fn reach(&self, revision: Revision) {
        let mut volumes = self.volumes.lock();
        if let Some(draft) = volumes.draft.take() {
            volumes.told = draft;
            volumes.foretold.clear();
        }
        volumes.told.revision = volumes.told.revision.max(revision);
        drop(volumes);
        self.told.send_if_modified(|told| std::mem::replace(told, revision.max(*told)) < revision);
    }

    /// Whether everything up to this revision is known.
    pub fn knows(&self, revision: Revision) -> bool {
        let index = self.index();
        index.is_complete() && index.revision >= revision
    }

    /// Waits until everything there was has been told.
    pub async fn complete(&self) {
        // It is told by whoever holds it.
        let _ = self.told.subscribe().wait_for(|told| *told > Revision::ZERO).await;
    }

    pub fn of_source(&self, uid: &str) -> Vec<CopyId> {
        self.index().of_source(uid)
    }

    pub fn in_cell(&self, cell: &CellId) -> Vec<CopyId> {
        self.index().in_cell(cell)
    }

    pub fn number_in(&self, cell: &CellId) -> usize {
        self.index().number_in(cell)
    }

    /// Whether anything of ours is in a namespace of a cell; `None` while not everything has been told. What is not
    /// used any more is taken away, with all that is in it.
    pub fn is_used(&self, cell: &CellId, namespace: &str) -> Option<bool> {
        let index = self.index();
        index.is_complete().then(|| index.is_used(cell, namespace))
    }

    /// The copies in one namespace of a cell.
    pub fn in_namespace(&self, cell: &CellId, namespace: &str) -> Vec<CopyId> {
        self.index().in_namespace(cell, namespace)
    }

    /// The copy of a namespace in a cell.
    pub fn namespace(&self, cell: &CellId, name: &str) -> Option<(CopyId, CopyFacts)> {
        let index = self.index();
        let id = index.at(cell, ["", "namespaces", "", name]).into_iter().min()?;
        let facts = index.facts(&id)?;
        Some((id, facts))
    }

    /// The records that are about one object of a cell: group, resource, namespace and name.
    pub fn of_object(&self, cell: &CellId, object: [&str; 4]) -> Vec<CopyId> {
        self.index().at(cell, object)
    }

    /// The record of what has a UID in a cell.
    pub fn of_uid(&self, cell: &CellId, uid: &str) -> Option<CopyId> {
        self.index().of_uid(cell, uid)
    }

    /// The copies of a resource in a cell.
    pub fn of_resource(&self, cell: &CellId, group: &str, plural: &str) -> Vec<CopyId> {
        self.index().of_resource(cell, group, plural)
    }

    /// Whether a cell has copies of a resource; `None` while not everything has been told.
    pub fn has_any_of(&self, cell: &CellId, group: &str, plural: &str) -> Option<bool> {
        let index = self.index();
        index.is_complete().then(|| !index.of_resource(cell, group, plural).is_empty())
    }

    pub fn facts(&self, id: &CopyId) -> Option<CopyFacts> {
        self.index().facts(id)
    }

    /// As what a copy was made in its cell; nothing if it is not known to be there.
    pub fn made_as(&self, id: &CopyId) -> Option<Arc<CopyKind>> {
        self.index().made_as(id)
    }

    /// Every cell with copies.
    pub fn cells(&self) -> Vec<CellId> {
        self.index().cells()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(cell: &CellId, resource: &str, namespace: &str, name: &str) -> CopyFacts {
        let own = |text: &str| text.to_owned();
        let kind = CopyKind { group: String::new(), version: own("v1"), resource: own(resource), kind: String::new() };
        let (source, uid) = (own("source"), own("uid"));
        let (namespace, name) = (own(namespace), own(name));
        CopyFacts { cell: cell.clone(), source, kind, namespace, name, uid, applied: true, going: false }
    }

    fn id(name: &str) -> CopyId {
        CopyId { workspace: Workspace::new("w"), name: name.to_owned() }
    }

    #[test]
    fn that_nothing_is_there_is_known_only_when_everything_has_been_told() {
        let (ledger, cell) = (Ledger::default(), CellId::new("w", "a"));
        let questions = || (ledger.is_used(&cell, "n"), ledger.has_any_of(&cell, "", "configmaps"));
        assert_eq!(questions(), (None, None));
        ledger.reach(Revision(7));
        assert_eq!(questions(), (Some(false), Some(false)));
        ledger.index().insert(&id("1"), &facts(&cell, "configmaps", "n", "x"));
        assert_eq!(questions(), (Some(true), Some(true)));
        ledger.forget();
        assert_eq!(questions(), (None, None), "everything is told anew");
        assert!(ledger.facts(&id("1")).is_some(), "what was known is still found");
        ledger.reach(Revision(9));
        assert_eq!((questions(), ledger.facts(&id("1"))), ((Some(false), Some(false)), None));
    }

    fn told(name: &str, revision: u64, now: bool) -> Seen {
        let resource = apiserver::catalog::Catalog::builtin().find("", "v1", "nodes").unwrap().clone();
        let within = apiserver::place::Collection { resource, workspace: Workspace::new("w"), namespace: None };
        let record = r#"{"spec":{"cell":{"name":"a","workspace":"w"},"object":{"name":"x","namespace":"n"}}}"#;
        let version = |text: &'static str| storage::Version {
            created: Revision(revision),
            modified: Revision(revision),
            value: text.into(),
        };
        let key = keyspace::key(&within.object(name)).unwrap();
        Seen { key, before: None, now: now.then(|| version(record)), revision: Revision(revision) }
    }

    #[test]
    fn what_was_foretold_is_found_at_once_and_new_when_it_is_told() {
        let (ledger, cell) = (Ledger::default(), CellId::new("w", "a"));
        let foretold = facts(&cell, "configmaps", "n", "x");
        ledger.reach(Revision(7));
        ledger.foretell(&id("1"), &foretold, Revision(8));
        assert_eq!(ledger.in_namespace(&cell, "n"), [id("1")]);
        let (_, before, now) = ledger.learn(&told("1", 8, true)).unwrap();
        assert!(before.is_none() && now.is_some(), "nobody was told of it before");
        let (_, before, _) = ledger.learn(&told("1", 9, true)).unwrap();
        assert!(before.is_some());
    }

    #[test]
    fn what_was_told_and_is_gone_does_not_come_back_by_being_foretold() {
        let (ledger, cell) = (Ledger::default(), CellId::new("w", "a"));
        let foretold = facts(&cell, "configmaps", "n", "x");
        ledger.reach(Revision(7));
        for (revision, now) in [(8, true), (9, false)] {
            ledger.learn(&told("1", revision, now));
            ledger.reach(Revision(revision));
        }
        ledger.foretell(&id("1"), &foretold, Revision(8));
        assert_eq!(ledger.facts(&id("1")), None);
        ledger.forget();
        ledger.foretell(&id("1"), &foretold, Revision(12));
        assert_eq!(ledger.facts(&id("1")), None, "everything is told anew");
    }

    #[test]
    fn a_namespace_is_found_among_many_by_its_name() {
        let (ledger, cell) = (Ledger::default(), CellId::new("w", "a"));
        ledger.index().insert(&id("1"), &facts(&cell, "namespaces", "", "n"));
        ledger.index().insert(&id("2"), &facts(&cell, "configmaps", "", "m"));
        assert_eq!(ledger.namespace(&cell, "n").map(|(id, _)| id), Some(id("1")));
        assert_eq!(ledger.namespace(&cell, "m"), None);
        assert_eq!(ledger.namespace(&CellId::new("w", "b"), "n"), None);
    }
}
