//! What a store must show, computed in the plainest way: a whole map for every revision.

use std::collections::BTreeMap;
use std::time::Duration;
use storage::{Change, Draft, Expect, Key, KeyRange, Revision, Txn, Version};

pub(crate) type State = BTreeMap<Key, Version>;

/// A transaction whose inside can be seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) expects: Vec<(Key, Expect)>,
    /// A value to put, with a gap at its end if `true`; or a deletion.
    pub(crate) writes: Vec<(Key, Option<(String, bool)>)>,
}

/// What must become of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Conflict { key: Key, expected: Expect, found: Option<Revision> },
    Nothing,
    Change,
}

#[derive(Debug)]
pub(crate) struct Oracle {
    states: BTreeMap<Revision, State>,
    changes: Vec<Change>,
    learned: BTreeMap<Revision, Duration>,
    pub(crate) floor: Revision,
}

impl Plan {
    pub(crate) fn txn(&self) -> Txn {
        let expects = self.expects.iter().fold(Txn::new(), |txn, (key, expect)| txn.expect(key.clone(), *expect));
        self.writes.iter().fold(expects, |txn, (key, write)| match write {
            Some((value, true)) => txn.put(key.clone(), Draft::with_gap(value.clone(), value.len())),
            Some((value, false)) => txn.put(key.clone(), value.clone()),
            None => txn.delete(key.clone()),
        })
    }
}

impl Oracle {
    /// Of a store that is empty at `start`.
    pub(crate) fn new(start: Revision, floor: Revision) -> Self {
        Self { states: [(start, State::new())].into(), changes: Vec::new(), learned: BTreeMap::new(), floor }
    }

    pub(crate) fn newest(&self) -> (Revision, &State) {
        let (revision, state) = self.states.last_key_value().expect("the first state is never forgotten");
        (*revision, state)
    }

    /// The revisions there were, oldest first.
    pub(crate) fn revisions(&self) -> Vec<Revision> {
        self.states.keys().copied().collect()
    }

    /// The state at any revision, also one between two commits.
    pub(crate) fn at(&self, revision: Revision) -> &State {
        self.states.range(..=revision).next_back().map(|(_, state)| state).expect("not before the beginning")
    }

    pub(crate) fn fate(&self, plan: &Plan) -> Fate {
        let (_, state) = self.newest();
        for (key, expected) in &plan.expects {
            let found = state.get(key).map(|version| version.modified);
            let holds = match expected {
                Expect::Absent => found.is_none(),
                Expect::At(revision) => found == Some(*revision),
            };
            if !holds {
                return Fate::Conflict { key: key.clone(), expected: *expected, found };
            }
        }
        let changes = plan.writes.iter().any(|(key, write)| write.is_some() || state.contains_key(key));
        if changes { Fate::Change } else { Fate::Nothing }
    }

    /// `plan` happened at `revision`; returns what it changed.
    pub(crate) fn apply(&mut self, plan: &Plan, revision: Revision, now: Duration) -> Vec<Change> {
        let (last, state) = self.newest();
        assert!(revision > last, "{revision} comes after {last}");
        let mut state = state.clone();
        let mut changes = Vec::new();
        for (key, write) in &plan.writes {
            let previous = state.get(key).cloned();
            let current = write.as_ref().map(|(value, gap)| {
                let value = if *gap { format!("{value}{revision}") } else { value.clone() };
                let created = previous.as_ref().map_or(revision, |previous| previous.created);
                Version { created, modified: revision, value: value.into() }
            });
            match &current {
                Some(version) => drop(state.insert(key.clone(), version.clone())),
                None if previous.is_none() => continue,
                None => drop(state.remove(key)),
            }
            changes.push(Change { revision, key: key.clone(), previous, current });
        }
        self.states.insert(revision, state);
        self.learned.insert(revision, now);
        self.changes.extend(changes.iter().cloned());
        changes
    }

    /// The changes in `range` after `after`.
    pub(crate) fn changes(&self, range: &KeyRange, after: Revision) -> Vec<Change> {
        let inside = |change: &&Change| change.revision > after && range.contains(change.key.as_bytes());
        self.changes.iter().filter(inside).cloned().collect()
    }

    /// Opened again: everything is learned anew, and of the order within a commit only that of the keys is left.
    pub(crate) fn reopened(&mut self, floor: Revision, now: Duration) {
        assert!(floor <= self.floor, "reopening forgets nothing: {floor} after {}", self.floor);
        self.floor = floor;
        self.learned.values_mut().for_each(|learned| *learned = now);
        self.changes.sort_by(|a, b| a.revision.cmp(&b.revision).then(a.key.cmp(&b.key)));
    }

    /// Where the floor must be when nothing older than `age_max` is kept.
    pub(crate) fn due(&self, age_max: Duration, now: Duration) -> Revision {
        let remembered = self.learned.iter().filter(|(revision, _)| **revision > self.floor);
        let old = remembered.take_while(|(_, learned)| now - **learned > age_max).last();
        old.map_or(self.floor, |(revision, _)| *revision)
    }
}
