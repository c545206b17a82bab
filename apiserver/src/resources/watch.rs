//! Watching: what is there, if that was asked for, and then every change.

use super::computed::Viewing;
use super::reading::Reading;
use super::versions::{has_to_be_asked_for, shown_at_once};
use super::{Filter, Resources};
use crate::auth::Authorized;
use crate::error::ApiError;
use crate::object::with_revision;
use crate::options::{ListOptions, Match};
use crate::place::Collection;
use bytes::Bytes;
use std::sync::Arc;
use storage::{Change, Entry, ReadError, Revision, Watcher};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    Added,
    Modified,
    Deleted,
}

impl EventKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// Something a watcher is told.
#[derive(Clone, Debug)]
pub enum Event {
    Object {
        kind: EventKind,
        bytes: Bytes,
        revision: Revision,
        /// When what is shown was written: earlier than the end of an object.
        modified: Revision,
    },
    /// Everything up to here was told.
    Bookmark { revision: Revision, initial_end: bool },
}

/// A watch: first what is there, then what changes.
#[derive(Debug)]
pub struct Watch {
    at: Collection,
    resources: Resources,
    filter: Filter,
    initial: Option<Initial>,
    watcher: Watcher,
    bookmarks: bool,
    /// The newest revision that was told.
    told: Revision,
    /// Where events come from if nothing of the resource is stored.
    viewing: Option<Viewing>,
    /// Where something may happen that changes what can be seen.
    beside: Option<Watcher>,
}

#[derive(Debug)]
struct Initial {
    scan: Reading,
    revision: Revision,
    /// The client waits to be told that this was all.
    announced: bool,
}

impl Resources {
    /// Every change of a collection, or of one object in it.
    pub async fn watch(
        &self,
        at: &Authorized<Collection>,
        name: Option<&str>,
        options: ListOptions,
    ) -> Result<Watch, ApiError> {
        let ListOptions { selection, revision, matching, watch, .. } = options;
        let (range, filter) = Filter::plan(at.get(), name, selection)?;
        let asked = watch.initial_events.unwrap_or(false) && matching == Some(Match::NotOlderThan);
        let all = asked || (watch.initial_events.is_none() && matches!(revision, None | Some(0)));
        let mut viewing = None;
        let (initial, after) = match revision {
            Some(revision) if !all && revision > 0 => {
                self.reach(Revision(revision)).await?;
                if let Some(computing) = self.computing(&at.get().resource) {
                    let then = self.inner.store.snapshot_at(Revision(revision))?;
                    viewing = Some(computing.watch(at.get(), (filter.clone(), name), &then, false)?);
                }
                (None, Revision(revision))
            }
            _ => {
                let snapshot = self.at_least(revision).await?;
                if let Some(computing) = self.computing(&at.get().resource) {
                    viewing = Some(computing.watch(at.get(), (filter.clone(), name), &snapshot, all)?);
                }
                let revision = snapshot.revision();
                let scan = all.then(|| filter.reading(&snapshot, range.clone())).transpose()?;
                (scan.map(|scan| Initial { scan, revision, announced: asked }), revision)
            }
        };
        let watcher = self.inner.store.watch(range, after).map_err(|error| match error {
            ReadError::Compacted { asked, oldest } => ApiError::too_old_to_watch(asked, oldest),
            other => other.into(),
        })?;
        let depends_on = filter.view().and_then(|view| view.depends_on());
        let beside = depends_on.map(|range| self.inner.store.watch(range, after)).transpose()?;
        let (at, resources, bookmarks) = (at.get().clone(), self.clone(), watch.bookmarks);
        Ok(Watch { at, resources, filter, initial, watcher, bookmarks, told: after, viewing, beside })
    }
}

impl Watch {
    /// The next event; waits for it. Cancel safe.
    pub async fn next(&mut self) -> Result<Event, ReadError> {
        if self.viewing.is_some() {
            return self.next_computed().await;
        }
        loop {
            if let Some(event) = self.next_stored()? {
                return Ok(self.shown(event).await);
            }
            let change = self.next_change().await?;
            if let Some(event) = self.told(&change) {
                return Ok(self.shown(event).await);
            }
        }
    }

    /// Waits for a change. One that changes what can be seen is the end of it: whoever watches has to look again.
    async fn next_change(&mut self) -> Result<Arc<Change>, ReadError> {
        let Some(beside) = &mut self.beside else { return self.watcher.next().await };
        loop {
            tokio::select! {
                biased;
                change = beside.next() => {
                    let change = change?;
                    if self.filter.view().is_some_and(|view| view.is_moved_by(&change)) {
                        return Err(ReadError::Compacted { asked: self.told, oldest: change.revision });
                    }
                }
                change = self.watcher.next() => return change,
            }
        }
    }

    /// The same for what is not stored: what there was first, then that this was all.
    async fn next_computed(&mut self) -> Result<Event, ReadError> {
        if let Some(event) = self.try_next()? {
            return Ok(event);
        }
        match &mut self.viewing {
            Some(viewing) => viewing.next().await,
            None => std::future::pending().await,
        }
    }

    /// The next event if it is there already, and nobody has to be asked how to show it.
    pub fn try_next(&mut self) -> Result<Option<Event>, ReadError> {
        if let Some(viewing) = &mut self.viewing {
            let ready = viewing.try_next();
            return if ready.is_some() { Ok(ready) } else { self.next_initial() };
        }
        if has_to_be_asked_for(&self.at.resource) {
            return Ok(None);
        }
        let Some(event) = self.next_stored()? else { return Ok(None) };
        Ok(Some(match event {
            Event::Object { kind, bytes, revision, modified } => {
                let bytes = shown_at_once(&self.at.resource, bytes, modified);
                Event::Object { kind, bytes, revision, modified }
            }
            bookmark @ Event::Bookmark { .. } => bookmark,
        }))
    }

    /// An object that cannot be converted is shown as it is stored: a watch cannot refuse a single event.
    async fn shown(&self, event: Event) -> Event {
        let Event::Object { kind, bytes, revision, modified } = event else { return event };
        let bytes = if has_to_be_asked_for(&self.at.resource) {
            let version = storage::Version { value: bytes.clone(), created: modified, modified };
            self.resources.shown(&self.at, version).await.unwrap_or(bytes)
        } else {
            shown_at_once(&self.at.resource, bytes, modified)
        };
        Event::Object { kind, bytes, revision, modified }
    }

    /// The next event if it is there already, as it is stored.
    fn next_stored(&mut self) -> Result<Option<Event>, ReadError> {
        if let Some(event) = self.next_initial()? {
            return Ok(Some(event));
        }
        while let Some(change) = self.watcher.try_next()? {
            if let Some(event) = self.told(&change) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// How far this watch is, if its client wants to know.
    pub fn bookmark(&mut self) -> Option<Event> {
        if !self.bookmarks || self.initial.is_some() {
            return None;
        }
        let revision = self.watcher.progress().unwrap_or(self.told).max(self.told);
        Some(Event::Bookmark { revision, initial_end: false })
    }

    fn next_initial(&mut self) -> Result<Option<Event>, ReadError> {
        let Some(initial) = &mut self.initial else { return Ok(None) };
        for entry in &mut initial.scan {
            let Entry { key, version } = entry?;
            if self.filter.sees(&key, &version.value) {
                let (bytes, modified) = (self.filter.shown(&key, &version.value), version.modified);
                return Ok(Some(Event::Object { kind: EventKind::Added, bytes, revision: modified, modified }));
            }
        }
        let (revision, announced) = (initial.revision, initial.announced && self.bookmarks);
        self.initial = None;
        Ok(announced.then_some(Event::Bookmark { revision, initial_end: true }))
    }

    /// What a change means to this watch.
    fn told(&mut self, change: &Change) -> Option<Event> {
        self.told = change.revision;
        let seen = |version: &&storage::Version| self.filter.sees(&change.key, &version.value);
        let shown = |version: &storage::Version| self.filter.shown(&change.key, &version.value);
        let before = change.previous.as_ref().filter(seen);
        let after = change.current.as_ref().filter(seen);
        let (kind, bytes, modified) = match (before, after) {
            (None, None) => return None,
            (None, Some(after)) => (EventKind::Added, shown(after), after.modified),
            (Some(_), Some(after)) => (EventKind::Modified, shown(after), after.modified),
            // The object as it was last seen, at the revision at which it left.
            (Some(before), None) => {
                (EventKind::Deleted, with_revision(&shown(before), change.revision), before.modified)
            }
        };
        Some(Event::Object { kind, bytes, revision: change.revision, modified })
    }
}
