//! Writers and watchers that remember everything, and what must be true of it all afterwards.

use crate::in_time;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use storage::{Change, CommitError, KeyRange, Revision, Store, Txn};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The nth transaction of a writer: it makes a key of its own and writes its number to two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Attempt {
    writer: usize,
    nth: usize,
}

/// What the writer was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Committed(Revision),
    Uncertain,
    Refused,
}

impl Attempt {
    fn keys(self) -> [String; 3] {
        let Self { writer, nth } = self;
        [format!("log/{writer}/{nth:06}"), format!("pair/{writer}/left"), format!("pair/{writer}/right")]
    }

    fn txn(self) -> Txn {
        let [log, left, right] = self.keys();
        let nth = self.nth.to_string();
        Txn::create(log, nth.clone()).put(left, nth.clone()).put(right, nth)
    }

    /// The attempt that these changes, all of one revision, are the whole of.
    fn of(changes: &[Arc<Change>]) -> Self {
        let log = changes[0].key.to_string();
        let parts: Vec<_> = log.split('/').collect();
        let ["log", writer, nth] = parts[..] else { panic!("a commit that begins with {log}") };
        let attempt = Self { writer: writer.parse().expect("a number"), nth: nth.parse().expect("a number") };
        let keys: Vec<_> = changes.iter().map(|change| change.key.to_string()).collect();
        assert_eq!(keys, attempt.keys(), "torn, at revision {}", changes[0].revision);
        for change in changes {
            let value = &change.current.as_ref().expect("a value").value;
            assert_eq!(value, attempt.nth.to_string().as_bytes(), "{} at {}", change.key, change.revision);
        }
        attempt
    }
}

pub(crate) struct Traffic {
    stores: Vec<Store>,
    writers: Vec<JoinHandle<Vec<(Attempt, Fate)>>>,
    watchers: Vec<JoinHandle<Vec<Arc<Change>>>>,
    pulse: Arc<Pulse>,
}

/// How many commits of each writer were acknowledged.
struct Pulse {
    acknowledged: Vec<AtomicUsize>,
    beat: Notify,
    stop: AtomicBool,
}

/// Writers on each store: enough that some are always between two steps.
const WRITERS_EACH: usize = 2;

impl Traffic {
    /// Begins to write to and to watch every one of `stores`.
    pub(crate) fn start(stores: &[Store]) -> Self {
        let count = stores.len() * WRITERS_EACH;
        let acknowledged = (0..count).map(|_| AtomicUsize::new(0)).collect();
        let pulse = Arc::new(Pulse { acknowledged, beat: Notify::new(), stop: AtomicBool::new(false) });
        let after = stores.iter().map(|store| store.recent().revision()).min().expect("a store");
        let watchers = stores.iter().map(|store| tokio::spawn(watch(store.clone(), after))).collect();
        let writers = (0..count).map(|nth| tokio::spawn(write(stores[nth % stores.len()].clone(), nth, pulse.clone())));
        Self { stores: stores.to_vec(), writers: writers.collect(), watchers, pulse }
    }

    /// Waits until every writer has had so many more acknowledged.
    pub(crate) async fn goes_on(&self, what: &str, more: usize) {
        let count = |writer: &AtomicUsize| writer.load(Ordering::SeqCst);
        let goals: Vec<_> = self.pulse.acknowledged.iter().map(|writer| count(writer) + more).collect();
        let reached = async {
            loop {
                let beat = self.pulse.beat.notified();
                if self.pulse.acknowledged.iter().zip(&goals).all(|(writer, goal)| count(writer) >= *goal) {
                    return;
                }
                beat.await;
            }
        };
        in_time(what, reached).await;
    }

    /// Ends the writing, and checks all that was written, told and seen, also by a replica that comes only now.
    pub(crate) async fn verify(self, newcomer: &Store) {
        self.pulse.stop.store(true, Ordering::SeqCst);
        let mut fates = HashMap::new();
        for writer in self.writers {
            let attempts = in_time("a writer's end", writer).await.expect("a writer");
            let told: Vec<_> = attempts.iter().filter_map(|(_, fate)| committed(*fate)).collect();
            assert!(told.is_sorted_by(|a, b| a < b), "a writer's revisions grow");
            fates.extend(attempts);
        }
        let last = in_time("a snapshot", self.stores[0].snapshot()).await.expect("a snapshot").revision();
        let expected = end(newcomer, last).await;
        let mut histories = Vec::new();
        for (store, watcher) in self.stores.iter().zip(self.watchers) {
            assert_eq!(end(store, last).await, expected, "every replica shows the same");
            // It ends with its store, after its last change.
            store.close().await;
            let mut changes = in_time("a watcher's end", watcher).await.expect("a watcher");
            changes.retain(|change| change.revision <= last);
            histories.push(changes);
        }
        for history in &histories {
            check(history, &fates, &expected);
        }
        let count = |kind: fn(&Fate) -> bool| fates.values().filter(|fate| kind(fate)).count();
        eprintln!(
            "{} commits acknowledged, {} uncertain, {} refused; history of {} changes, {} times",
            count(|fate| matches!(fate, Fate::Committed(_))),
            count(|fate| *fate == Fate::Uncertain),
            count(|fate| *fate == Fate::Refused),
            histories[0].len(),
            histories.len(),
        );
    }
}

fn committed(fate: Fate) -> Option<Revision> {
    if let Fate::Committed(revision) = fate { Some(revision) } else { None }
}

async fn write(store: Store, writer: usize, pulse: Arc<Pulse>) -> Vec<(Attempt, Fate)> {
    let mut attempts = Vec::new();
    while !pulse.stop.load(Ordering::SeqCst) {
        let attempt = Attempt { writer, nth: attempts.len() };
        let fate = match in_time("a commit", store.commit(attempt.txn())).await {
            Ok(done) => {
                assert_eq!(done.changes.len(), 3);
                pulse.acknowledged[writer].fetch_add(1, Ordering::SeqCst);
                pulse.beat.notify_one();
                Fate::Committed(done.revision)
            }
            Err(CommitError::Uncertain(_)) => Fate::Uncertain,
            Err(CommitError::Unavailable(_)) => Fate::Refused,
            Err(other) => panic!("{attempt:?}: {other}"),
        };
        attempts.push((attempt, fate));
    }
    attempts
}

async fn watch(store: Store, after: Revision) -> Vec<Arc<Change>> {
    store.reached(after).await.expect("it is there, or will be");
    let mut watcher = store.watch(KeyRange::all(), after).expect("a watch");
    let mut changes = Vec::new();
    loop {
        match watcher.next().await {
            Ok(change) => changes.push(change),
            Err(storage::ReadError::Closed) => return changes,
            Err(error) => panic!("after {:?}: {error}", changes.last()),
        }
    }
}

/// Everything as it was at `revision`.
async fn end(store: &Store, revision: Revision) -> BTreeMap<String, (Revision, String)> {
    in_time("the last revision", store.reached(revision)).await.expect("it is there");
    let entries = store.snapshot_at(revision).expect("a view").scan(KeyRange::all());
    entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let value = String::from_utf8(entry.version.value.to_vec()).expect("text");
            (entry.key.to_string(), (entry.version.modified, value))
        })
        .collect()
}

/// Every commit whole, once, in order; every acknowledged one there; no refused one; and nothing else.
fn check(history: &[Arc<Change>], fates: &HashMap<Attempt, Fate>, end: &BTreeMap<String, (Revision, String)>) {
    assert!(history.is_sorted_by_key(|change| change.revision), "changes come in order");
    let mut seen = HashMap::new();
    let mut replayed = BTreeMap::new();
    for commit in history.chunk_by(|a, b| a.revision == b.revision) {
        let (attempt, revision) = (Attempt::of(commit), commit[0].revision);
        let fate = fates.get(&attempt).unwrap_or_else(|| panic!("{attempt:?} was never made"));
        assert_ne!(*fate, Fate::Refused, "{attempt:?} was refused, and happened");
        assert!(committed(*fate).is_none_or(|told| told == revision), "{attempt:?}: {fate:?}, seen at {revision}");
        assert_eq!(seen.insert(attempt, revision), None, "{attempt:?} was seen twice");
        for key in attempt.keys() {
            replayed.insert(key, (revision, attempt.nth.to_string()));
        }
    }
    for (attempt, fate) in fates {
        assert!(committed(*fate).is_none() || seen.contains_key(attempt), "{attempt:?} was acknowledged, and is lost");
    }
    assert_eq!(replayed, *end, "the changes make the state");
}
