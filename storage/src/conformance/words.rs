//! The words the cases are written in: short ways to write, and plain text for what is read.

use crate::{Change, Key, KeyRange, Revision, Snapshot, Store, Txn, Watcher};
use std::fmt::Write as _;
use std::sync::Arc;

pub(super) async fn put(store: &Store, key: &str, value: &str) -> Revision {
    store.commit(Txn::new().put(key, value.to_owned())).await.expect("a put").revision
}

pub(super) async fn delete(store: &Store, key: &str) -> Revision {
    store.commit(Txn::new().delete(key)).await.expect("a deletion").revision
}

/// Everything in `range`, in the order of a scan: `a=1 b=2`.
pub(super) fn contents(snapshot: &Snapshot, range: KeyRange) -> String {
    let mut text = String::new();
    for entry in snapshot.scan(range) {
        let entry = entry.expect("a readable revision");
        let gap = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{gap}{}={}", entry.key, entry.version.value.escape_ascii());
    }
    text
}

pub(super) fn all(store: &Store) -> String {
    contents(&store.recent(), KeyRange::all())
}

/// The keys of `range`, in the order of a scan.
pub(super) fn keys(snapshot: &Snapshot, range: KeyRange) -> Vec<Key> {
    snapshot.scan(range).map(|entry| entry.expect("a readable revision").key).collect()
}

/// `+a=1` created, `a=1>2` changed, `-a=2` deleted; `|` between one commit and the next.
pub(super) fn tell(changes: &[Arc<Change>]) -> String {
    let commits = changes.chunk_by(|a, b| a.revision == b.revision);
    let commits: Vec<_> =
        commits.map(|commit| commit.iter().map(|change| tell_one(change)).collect::<Vec<_>>().join(" ")).collect();
    commits.join(" | ")
}

fn tell_one(change: &Change) -> String {
    let key = &change.key;
    match (&change.previous, &change.current) {
        (None, Some(new)) => format!("+{key}={}", new.value.escape_ascii()),
        (Some(old), Some(new)) => format!("{key}={}>{}", old.value.escape_ascii(), new.value.escape_ascii()),
        (Some(old), None) => format!("-{key}={}", old.value.escape_ascii()),
        (None, None) => format!("?{key}"),
    }
}

/// The next `count` changes; waits for them.
pub(super) async fn next(watcher: &mut Watcher, count: usize) -> Vec<Arc<Change>> {
    let mut changes = Vec::with_capacity(count);
    while changes.len() < count {
        changes.push(watcher.next().await.expect("a change"));
    }
    changes
}

/// Every change up to and including `last`, which must be one of the watcher's. Their order is checked.
pub(super) async fn until(watcher: &mut Watcher, last: Revision) -> Vec<Arc<Change>> {
    let mut changes: Vec<Arc<Change>> = Vec::new();
    // The commit at `last` may have several changes: it is over when the watcher has nothing more up to there.
    while changes.last().is_none_or(|change| change.revision < last) {
        changes.push(watcher.next().await.expect("a change"));
    }
    while let Some(change) = watcher.try_next().expect("an open watch") {
        changes.push(change);
    }
    assert!(changes.is_sorted_by_key(|change| change.revision), "in the order of revisions: {}", tell(&changes));
    changes
}

/// A watch of everything from now on.
pub(super) fn watch_all(store: &Store) -> Watcher {
    watch(store, KeyRange::all())
}

/// A watch from now on.
pub(super) fn watch(store: &Store, range: KeyRange) -> Watcher {
    store.watch(range, store.recent().revision()).expect("a watch")
}
