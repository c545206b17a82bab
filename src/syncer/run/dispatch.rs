//! Tells each cell's worker which copies need a look, whenever anything changes here that they depend on.

use super::records;
use super::report::SourceId;
use crate::apis::change;
use crate::apis::definitions::{CELLS, COPIES, GROUP, PLACEMENTS};
use crate::controller::{Mailbox, Source};
use crate::fleet::{CellId, CopyFacts, CopyId, CopyKind, Ledger};
use crate::scheduler::controller::manner_of;
use apiserver::client::{Client, Follow, Seen};
use apiserver::keyspace::{self, Parts};
use apiserver::object::{Object, Peek};
use apiserver::place::Workspace;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;
use storage::{Key, ReadError, Revision, Version};

/// Group and plural of what defines kinds.
const DEFINITIONS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

/// Where each cell's worker, and whoever reports on sources, finds what to look at. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Post {
    /// As many as there are cells. Held for one operation.
    cells: Arc<Mutex<HashMap<CellId, Arc<Mailbox<CopyId>>>>>,
    /// Sources whose status may have to be told: workspace and UID.
    pub(super) reports: Arc<Mailbox<SourceId>>,
    wanted: Arc<Mutex<Wanted>>,
}

/// Where placements want objects to be. It holds as much as there are placements and what they want: a pointer for each
/// copy, as there may be very many of them.
#[derive(Debug, Default)]
struct Wanted {
    placements: HashMap<Arc<SourceId>, Known>,
    by_source: HashMap<Key, BTreeSet<Arc<SourceId>>>,
    by_cell: HashMap<Arc<CellId>, HashSet<Arc<SourceId>>>,
}

/// What matters of a placement.
#[derive(Clone, Debug, Default)]
struct Known {
    source: Option<Key>,
    cells: BTreeSet<Arc<CellId>>,
    /// Cells are told of the status of the source.
    status_down: bool,
}

impl Post {
    pub(super) fn mailbox(&self, cell: &CellId) -> Arc<Mailbox<CopyId>> {
        self.cells.lock().entry(cell.clone()).or_default().clone()
    }

    fn mailboxes(&self) -> Vec<(CellId, Arc<Mailbox<CopyId>>)> {
        self.cells.lock().iter().map(|(cell, mailbox)| (cell.clone(), mailbox.clone())).collect()
    }

    /// Whether a placement wants what a record is about in a cell.
    fn wants(&self, id: &CopyId, cell: &CellId) -> bool {
        let Some(uid) = records::placed_by(id) else { return false };
        let source = (id.workspace.clone(), uid.to_owned());
        self.wanted.lock().placements.get(&source).is_some_and(|known| known.cells.contains(cell))
    }

    /// Everything that is wanted in a cell.
    pub(super) fn wanted_in(&self, cell: &CellId) -> Vec<CopyId> {
        let wanted = self.wanted.lock();
        let sources = wanted.by_cell.get(cell).into_iter().flatten();
        sources.map(|source| records::id(&source.0, &source.1, cell)).collect()
    }
}

/// Follows everything.
pub(super) struct Dispatch {
    pub(super) client: Client,
    pub(super) ledger: Arc<Ledger>,
    pub(super) post: Post,
    pub(super) since: Revision,
    pub(super) complete: bool,
}

impl Source for Dispatch {
    type Key = Infallible;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        self.ledger.forget();
        *self.post.wanted.lock() = Wanted::default();
        self.complete = false;
        let follow = self.client.follow_all()?;
        self.since = follow.since();
        Ok(follow)
    }

    fn keys(&mut self, seen: &Seen) -> Vec<Infallible> {
        if let Some(parts) = keyspace::parse(&seen.key) {
            match (parts.group, parts.resource) {
                (GROUP, resource) if resource == COPIES.2 => self.of_copy(seen),
                (GROUP, resource) if resource == PLACEMENTS.2 => self.of_placement(parts, seen),
                (GROUP, resource) if resource == CELLS.2 => self.of_cell(parts, seen),
                ("", "namespaces") => self.of_namespace(seen),
                DEFINITIONS => self.of_definition(parts, seen),
                _ => {}
            }
            self.of_source(seen);
        }
        if self.complete {
            self.ledger.reach(seen.revision);
        }
        Vec::new()
    }

    /// Until then nobody was woken for what there was: there is too much of it to be looked at twice.
    fn caught_up(&mut self) {
        self.complete = true;
        self.ledger.reach(self.since);
        for (cell, mailbox) in self.post.mailboxes() {
            for id in self.post.wanted_in(&cell).into_iter().chain(self.ledger.in_cell(&cell)) {
                mailbox.put(id);
            }
        }
    }
}

impl Dispatch {
    /// Has a copy looked at. Not while everything is told: what there is to do is known when all of it is.
    fn wake(&self, cell: &CellId, id: CopyId) {
        if self.complete {
            self.post.mailbox(cell).put(id);
        }
    }

    fn of_copy(&self, seen: &Seen) {
        let Some((id, before, now)) = self.ledger.learn(seen) else { return };
        // Then its placement is told of, too, and once for all cells.
        if self.complete {
            self.post.reports.put((id.workspace.clone(), records::source_of(&id).to_owned()));
        }
        match (before, now) {
            (None, Some(facts)) => {
                self.wake_others(&facts);
                // Whoever wants it there has written it down and goes on from there.
                if facts.is_namespace() || !self.post.wants(&id, &facts.cell) {
                    self.wake(&facts.cell, id);
                }
            }
            (Some(before), None) => {
                // Somebody else may have taken it away; and its namespace may be empty now, or its definition not needed.
                self.wake_namespace(&before);
                self.wake_definition(&before);
                self.wake_elsewhere(&id);
                self.wake(&before.cell, id);
            }
            (Some(before), Some(now)) if now.going && !before.going => self.wake(&now.cell, id),
            (Some(before), Some(now)) if now.is_namespace() && now.applied && !before.applied => {
                for inside in self.ledger.in_namespace(&now.cell, &now.name) {
                    self.wake(&now.cell, inside);
                }
            }
            _ => {}
        }
    }

    /// Copies elsewhere may have waited for its end.
    fn wake_elsewhere(&self, gone: &CopyId) {
        for id in self.ledger.of_source(records::source_of(gone)) {
            if let Some(facts) = self.ledger.facts(&id).filter(|_| id.workspace == gone.workspace) {
                self.wake(&facts.cell, id);
            }
        }
    }

    fn wake_namespace(&self, copy: &CopyFacts) {
        if let Some((id, _)) = self.ledger.namespace(&copy.cell, &copy.namespace) {
            self.wake(&copy.cell, id);
        }
        // Whoever waits for the end of a namespace is in the one that is made anew.
        if copy.is_namespace() {
            for inside in self.ledger.in_namespace(&copy.cell, &copy.name) {
                self.wake(&copy.cell, inside);
            }
        }
    }

    /// The definition of a kind waits for the last of its objects.
    fn wake_definition(&self, copy: &CopyFacts) {
        let CopyKind { group, resource, .. } = &copy.kind;
        let definition = format!("{resource}.{group}");
        for id in self.ledger.of_object(&copy.cell, [DEFINITIONS.0, DEFINITIONS.1, "", &definition]) {
            self.wake(&copy.cell, id);
        }
    }

    /// A definition that is to go is left to whoever else comes to need it.
    fn wake_others(&self, copy: &CopyFacts) {
        if (copy.kind.group.as_str(), copy.kind.resource.as_str()) == DEFINITIONS {
            for id in self.ledger.of_object(&copy.cell, [DEFINITIONS.0, DEFINITIONS.1, "", &copy.name]) {
                self.wake(&copy.cell, id);
            }
        }
    }

    fn of_placement(&self, parts: Parts<'_>, seen: &Seen) {
        let key = (Workspace::new(parts.workspace), parts.name.to_owned());
        let record = seen.now.as_ref().and_then(|version| Object::parse(&version.value).ok());
        let known = record.as_ref().map(|record| self.read(&key.0, record)).unwrap_or_default();
        let cells = known.cells.clone();
        let before = self.post.wanted.lock().replace(&key, known);
        for cell in cells.union(&before) {
            self.wake(cell, records::id(&key.0, &key.1, cell));
        }
        self.post.reports.put(key);
    }

    fn read(&self, workspace: &Workspace, record: &Object) -> Known {
        let named = record.pointer(&["spec", "source"]).unwrap_or(&Value::Null);
        let place = records::source_place(&self.client, workspace, named);
        let word = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let cells = record.items(&["spec", "cells"]).chain(record.items(&["spec", "evictions"]));
        let cells = cells.map(|entry| Arc::new(CellId::new(&word(entry, "workspace"), &word(entry, "name")))).collect();
        let source = place.and_then(|place| keyspace::key(&place).ok());
        Known { source, cells, status_down: manner_of(record).status_down }
    }

    /// A cell that leaves keeps nothing, also not what would stay otherwise.
    fn of_cell(&self, parts: Parts<'_>, seen: &Seen) {
        let leaving = |version: &Version| Peek::new(version).text(&["metadata", "deletionTimestamp"]).is_some();
        if !seen.now.as_ref().is_some_and(leaving) {
            return;
        }
        let cell = CellId::new(parts.workspace, parts.name);
        for id in self.ledger.in_cell(&cell) {
            self.wake(&cell, id);
        }
    }

    /// A namespace that goes may be one that was made in cells, too.
    fn of_namespace(&self, seen: &Seen) {
        let Some(uid) = seen.now.as_ref().or(seen.before.as_ref()).and_then(uid) else { return };
        for id in self.ledger.of_source(&uid) {
            if let Some(facts) = self.ledger.facts(&id) {
                self.wake(&facts.cell, id);
            }
        }
    }

    /// What is stored is read as its definition says: what is of a kind that was changed may be something else by now.
    fn of_definition(&self, parts: Parts<'_>, seen: &Seen) {
        let Some((plural, group)) = parts.name.split_once('.').filter(|_| !is_told_only(seen)) else { return };
        let is_of = |key: &Key| {
            keyspace::parse(key).is_some_and(|source| {
                (source.workspace, source.group, source.resource) == (parts.workspace, group, plural)
            })
        };
        let wanted = self.post.wanted.lock();
        for (_, placements) in wanted.by_source.iter().filter(|(key, _)| is_of(key)) {
            self.wake_placed(&wanted, placements, |_| true);
        }
    }

    fn of_source(&self, seen: &Seen) {
        let wanted = self.post.wanted.lock();
        if let Some(placements) = wanted.by_source.get(&seen.key) {
            let told_only = is_told_only(seen);
            self.wake_placed(&wanted, placements, |known| known.status_down || !told_only);
        }
    }

    fn wake_placed(&self, wanted: &Wanted, placements: &BTreeSet<Arc<SourceId>>, concerned: impl Fn(&Known) -> bool) {
        for key in placements {
            let known = wanted.placements.get(key).filter(|known| concerned(known));
            for cell in known.into_iter().flat_map(|known| &known.cells) {
                self.wake(cell, records::id(&key.0, &key.1, cell));
            }
        }
    }
}

/// Whether only the status of an object changed.
fn is_told_only(seen: &Seen) -> bool {
    match (&seen.before, &seen.now) {
        (Some(before), Some(now)) => !change::of_what_is_asked_for(Peek::new(before), Peek::new(now)),
        _ => false,
    }
}

fn uid(version: &Version) -> Option<String> {
    Some(Peek::new(version).text(&["metadata", "uid"])?.into_owned())
}

impl Wanted {
    /// Answers with the cells that it was wanted in before.
    fn replace(&mut self, key: &SourceId, mut known: Known) -> BTreeSet<Arc<CellId>> {
        let before = self.remove(key);
        if known.source.is_none() && known.cells.is_empty() {
            return before;
        }
        let key = Arc::new(key.clone());
        known.cells = known.cells.into_iter().map(|cell| self.want(cell, &key)).collect();
        if let Some(source) = &known.source {
            self.by_source.entry(source.clone()).or_default().insert(key.clone());
        }
        self.placements.insert(key, known);
        before
    }

    /// Writes down that something is wanted in a cell; answers with the cell as all others refer to it.
    fn want(&mut self, cell: Arc<CellId>, key: &Arc<SourceId>) -> Arc<CellId> {
        let cell = self.by_cell.get_key_value(&cell).map_or(cell, |(known, _)| known.clone());
        self.by_cell.entry(cell.clone()).or_default().insert(key.clone());
        cell
    }

    fn remove(&mut self, key: &SourceId) -> BTreeSet<Arc<CellId>> {
        let Known { source, cells, .. } = self.placements.remove(key).unwrap_or_default();
        for cell in &cells {
            if let Some(wanted) = self.by_cell.get_mut(cell) {
                wanted.remove(key);
                if wanted.is_empty() {
                    self.by_cell.remove(cell);
                }
            }
        }
        if let Some(source) = &source
            && let Some(placements) = self.by_source.get_mut(source)
        {
            placements.remove(key);
            if placements.is_empty() {
                self.by_source.remove(source);
            }
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_found_by_its_cell_until_nobody_wants_it_there() {
        let (mut wanted, workspace) = (Wanted::default(), Workspace::new("w"));
        let known = |cells: &[&str]| Known {
            source: Some(Key::from(&b"source"[..])),
            cells: cells.iter().map(|name| Arc::new(CellId::new("w", name))).collect(),
            status_down: false,
        };
        let names = |cells: BTreeSet<Arc<CellId>>| -> String { cells.iter().map(|cell| cell.name.as_str()).collect() };
        let (one, other) = ((workspace.clone(), "1".to_owned()), (workspace, "2".to_owned()));
        assert_eq!(names(wanted.replace(&one, known(&["a", "b"]))), "");
        assert_eq!(names(wanted.replace(&other, known(&["b"]))), "");
        assert_eq!(wanted.by_cell[&CellId::new("w", "b")].len(), 2);
        assert_eq!(names(wanted.replace(&one, known(&["b", "c"]))), "ab");
        assert!(!wanted.by_cell.contains_key(&CellId::new("w", "a")));
        assert_eq!(names(wanted.replace(&one, Known::default())), "bc");
        assert_eq!(names(wanted.replace(&other, Known::default())), "b");
        assert!(wanted.placements.is_empty() && wanted.by_source.is_empty() && wanted.by_cell.is_empty());
    }
}
