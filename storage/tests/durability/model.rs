//! What a store must hold after everything its writers were told, and the proof that it does.

use crate::load::{Ack, Job, Mark, Op, author};
use std::collections::{BTreeMap, HashMap, HashSet};
use storage::{Change, Key, KeyRange, Options, ReadError, Revision, Store, Version};

#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) seed: u64,
    /// By key; `None` where the last operation was a deletion.
    state: HashMap<Key, (Option<Mark>, Revision)>,
    /// Every commit whose revision is known.
    commits: BTreeMap<Revision, Mark>,
    /// Operations that were under way when their writer died: they may have happened.
    pending: HashSet<Mark>,
    /// The next operation of each writer.
    pub(crate) next: Vec<u64>,
    /// The newest revision ever seen.
    newest: Revision,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checked {
    pub(crate) replayed: usize,
}

impl Model {
    pub(crate) fn new(seed: u64, writers: usize) -> Self {
        Self {
            seed,
            state: HashMap::new(),
            commits: BTreeMap::new(),
            pending: HashSet::new(),
            next: vec![0; writers],
            newest: Revision::ZERO,
        }
    }

    pub(crate) fn acknowledged(&self) -> usize {
        self.commits.len()
    }

    /// The writers were told `lines` and then died.
    pub(crate) fn told(&mut self, lines: &[String]) -> Result<usize, String> {
        let before = self.newest;
        let mut acknowledged = 0;
        for line in lines {
            let Some(ack) = Ack::parse(line) else { continue };
            acknowledged += 1;
            let next = &mut self.next[ack.mark.writer as usize];
            if ack.mark.nth != *next {
                return Err(format!("operation {} was acknowledged, expected the {next}th", ack.mark));
            }
            *next += 1;
            let Some(revision) = ack.revision else { continue };
            if revision <= before {
                return Err(format!("operation {} got revision {revision} after {before} had been seen", ack.mark));
            }
            if let Some(other) = self.commits.insert(revision, ack.mark) {
                return Err(format!("operations {} and {other} both got revision {revision}", ack.mark));
            }
            self.newest = self.newest.max(revision);
            self.apply(&Op::planned(self.seed, ack.mark), revision);
        }
        for (writer, next) in (0..).zip(&mut self.next) {
            self.pending.insert(Mark { writer, nth: *next });
            *next += 1;
        }
        Ok(acknowledged)
    }

    fn apply(&mut self, op: &Op, revision: Revision) {
        for (key, _) in &op.keys {
            let latest = self.state.get(key).map_or(Revision::ZERO, |(_, revision)| *revision);
            if revision > latest {
                self.state.insert(key.clone(), ((!op.deletes).then_some(op.mark), revision));
            }
        }
    }

    /// Opens the store and compares: everything acknowledged is there or was followed by something later, nothing is
    /// there by half, nothing is there that nobody wrote, and the history tells the same story.
    pub(crate) async fn verify(&mut self, job: &Job) -> Result<Checked, String> {
        let store = Store::open(&job.place(), Options::default()).map_err(|error| crate::chain(&error))?;
        let outcome = self.compare(&store);
        store.close().await;
        outcome
    }

    /// The same for a store that is open. It must not be forgetting meanwhile.
    pub(crate) fn compare(&mut self, store: &Store) -> Result<Checked, String> {
        let stats = store.stats();
        if stats.revision < self.newest {
            return Err(format!("it ends at revision {}, but {} was acknowledged", stats.revision, self.newest));
        }
        let replayed = self.replay(store, stats.oldest).map_err(|what| format!("history: {what}"))?;
        let found = read(store, stats.revision).map_err(|error| error.to_string())?;
        self.settle(&found);
        self.same(&found)?;
        self.newest = stats.revision;
        Ok(Checked { replayed })
    }

    /// Adopts what the pending operations did, where it can be seen.
    fn settle(&mut self, found: &BTreeMap<Key, Version>) {
        let mut pending: Vec<Mark> = self.pending.iter().copied().collect();
        pending.sort_unstable();
        for mark in pending {
            let op = Op::planned(self.seed, mark);
            let written = op.keys.iter().filter_map(|(key, _)| found.get(key)).find(|v| author(&v.value) == Some(mark));
            let gone = |(key, _): &(Key, usize)| {
                let known = self.state.get(key).is_some_and(|(held, _)| held.is_some());
                known && !found.contains_key(key)
            };
            if let Some(version) = written {
                let revision = version.modified;
                self.commits.insert(revision, mark);
                self.apply(&op, revision);
            } else if op.deletes && op.keys.iter().any(gone) {
                // When it happened only history knows; that it happened to all of its keys is compared below.
                self.state.retain(|key, _| op.keys.iter().all(|(gone, _)| gone != key));
            }
        }
        // Whatever was under way has happened by now or never will.
        self.pending.clear();
    }

    fn same(&self, found: &BTreeMap<Key, Version>) -> Result<(), String> {
        for (key, (held, revision)) in &self.state {
            let Some(mark) = held else { continue };
            let Some(version) = found.get(key) else {
                return Err(format!("{key} is missing: operation {mark} wrote it at revision {revision}"));
            };
            let expected = Op::planned(self.seed, *mark).value(key, *revision);
            if version.modified != *revision || Some(&version.value) != expected.as_ref() {
                let author = author(&version.value).map_or("nobody".to_owned(), |mark| mark.to_string());
                return Err(format!(
                    "{key} is by {author} at revision {}, expected {mark} at {revision}",
                    version.modified
                ));
            }
        }
        let held = |key: &&Key| self.state.get(*key).is_some_and(|(held, _)| held.is_some());
        match found.keys().find(|key| !held(key)) {
            Some(key) => Err(format!("{key} is there, but it was deleted or never written")),
            None => Ok(()),
        }
    }

    /// Watches from the oldest revision and plays every change on top of the state at that revision.
    fn replay(&mut self, store: &Store, oldest: Revision) -> Result<usize, String> {
        let text = |error: ReadError| error.to_string();
        let mut state = read(store, oldest).map_err(text)?;
        let mut watcher = store.watch(KeyRange::all(), oldest).map_err(text)?;
        let mut changes = Vec::new();
        while let Some(change) = watcher.try_next().map_err(text)? {
            changes.push(change);
        }
        let mut seen = HashSet::new();
        for commit in changes.chunk_by(|a, b| a.revision == b.revision) {
            let revision = commit[0].revision;
            if !seen.insert(revision) {
                return Err(format!("revision {revision} comes twice"));
            }
            self.recognise(revision, commit)?;
            for change in commit {
                let previous = match &change.current {
                    Some(version) => state.insert(change.key.clone(), version.clone()),
                    None => state.remove(&change.key),
                };
                if previous != change.previous {
                    return Err(format!("{} at {revision} followed something else", change.key));
                }
            }
        }
        if !changes.is_sorted_by_key(|change| change.revision) {
            return Err("it is out of order".to_owned());
        }
        if let Some((revision, mark)) =
            self.commits.range(oldest.next()..).find(|(revision, _)| !seen.contains(revision))
        {
            return Err(format!("operation {mark} at revision {revision} is not in it"));
        }
        if state != read(store, store.stats().revision).map_err(text)? {
            return Err("it leads to another state than the newest".to_owned());
        }
        Ok(changes.len())
    }

    /// Whose commit this is; all of it must be there.
    fn recognise(&mut self, revision: Revision, commit: &[std::sync::Arc<Change>]) -> Result<(), String> {
        let written = commit.iter().find_map(|change| author(&change.current.as_ref()?.value));
        let keys: HashSet<&Key> = commit.iter().map(|change| &change.key).collect();
        let fits = |mark: &Mark| {
            let op = Op::planned(self.seed, *mark);
            let planned: HashSet<&Key> = op.keys.iter().map(|(key, _)| key).collect();
            if op.deletes { keys.is_subset(&planned) } else { keys == planned }
        };
        let known = self.commits.get(&revision).copied();
        let mark = known
            .or(written)
            .or_else(|| self.pending.iter().copied().find(|mark| Op::planned(self.seed, *mark).deletes && fits(mark)));
        let Some(mark) = mark.filter(|mark| known.is_some() || self.pending.contains(mark)) else {
            return Err(format!("nobody made the commit at revision {revision}: {keys:?}"));
        };
        if !fits(&mark) {
            return Err(format!("operation {mark} at revision {revision} is there by half: {keys:?}"));
        }
        let op = Op::planned(self.seed, mark);
        for change in commit {
            let expected = if op.deletes { None } else { op.value(&change.key, revision) };
            if change.current.as_ref().map(|version| &version.value) != expected.as_ref() {
                return Err(format!("{} at revision {revision} is not what operation {mark} wrote", change.key));
            }
        }
        if self.pending.remove(&mark) {
            self.commits.insert(revision, mark);
            self.apply(&op, revision);
        }
        Ok(())
    }
}

fn read(store: &Store, at: Revision) -> Result<BTreeMap<Key, Version>, ReadError> {
    store.snapshot_at(at)?.scan(KeyRange::all()).map(|entry| entry.map(|entry| (entry.key, entry.version))).collect()
}
