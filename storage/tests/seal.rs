//! Values that are sealed on the disk and in backups, on every embedded engine.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::error::Error;
use std::path::Path;
use storage::{
    CommitError, Engine, HistoryBounds, KeyRange, OpenError, Options, Place, Ring, Seal, SealKey, Store, Txn,
    copy_of_running, read_backup, restore, sealed_by,
};
use tempfile::TempDir;

const ENGINES: [Engine; 3] = [Engine::Log, Engine::Fjall, Engine::Sled];
const HIDDEN: &str = "the treasure lies under the third oak";
const SHOWN: &str = "everybody may know of the oaks";

/// Keys by name and secret; the first one seals whatever begins with `hidden/`.
fn ring(keys: &[(&str, u8)]) -> Ring {
    let keys = keys.iter().map(|(name, secret)| SealKey::new(*name, &[*secret; 32]).unwrap()).collect();
    Ring::new(keys, |key| key.as_bytes().starts_with(b"hidden/").then_some(0))
}

fn open(dir: &Path, engine: Engine, seal: Seal) -> Result<Store, OpenError> {
    Store::open(&Place::Dir { dir: dir.to_owned(), engine }, Options { seal, ..Options::default() })
}

fn with(dir: &Path, engine: Engine, keys: &[(&str, u8)]) -> Result<Store, OpenError> {
    open(dir, engine, Seal::new(ring(keys)))
}

fn why(refused: Result<Store, OpenError>) -> String {
    let error = refused.unwrap_err();
    format!("{error}: {}", error.source().map(ToString::to_string).unwrap_or_default())
}

fn value(store: &Store, key: &str) -> String {
    String::from_utf8(store.recent().get(key).unwrap().unwrap().value.to_vec()).unwrap()
}

async fn put(store: &Store, key: &str, value: &'static str) {
    store.commit(Txn::new().put(key, value)).await.unwrap();
}

/// Whether any file below `dir` has these bytes.
fn found_in(dir: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(dir).unwrap().any(|entry| {
        let entry = entry.unwrap();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found_in(&entry.path(), bytes),
            kind if kind.is_file() => has(&std::fs::read(entry.path()).unwrap(), bytes),
            _ => false,
        }
    })
}

fn has(all: &[u8], bytes: &[u8]) -> bool {
    all.windows(bytes.len()).any(|window| window == bytes)
}

#[tokio::test]
async fn what_is_sealed_is_nowhere_on_the_disk_and_everywhere_in_memory() {
    for engine in ENGINES {
        let dir = TempDir::new().unwrap();
        let store = with(dir.path(), engine, &[("one", 1)]).unwrap();
        let mut watch = store.watch(KeyRange::all(), store.recent().revision()).unwrap();
        put(&store, "hidden/a", HIDDEN).await;
        put(&store, "shown/a", SHOWN).await;
        assert_eq!(watch.next().await.unwrap().current.as_ref().unwrap().value, HIDDEN);
        let mut backup = Vec::new();
        store.backup(&mut backup).unwrap();
        let mut copy = Vec::new();
        std::io::Read::read_to_end(&mut copy_of_running(dir.path()).unwrap(), &mut copy).unwrap();
        for bytes in [&backup, &copy] {
            assert!(has(bytes, SHOWN.as_bytes()) && !has(bytes, HIDDEN.as_bytes()), "{engine:?}");
        }
        store.close().await;
        drop(store);
        assert!(!found_in(dir.path(), HIDDEN.as_bytes()), "{engine:?} shows it");
        // sled compresses nothing and fjall little: what is not sealed is found, so the look was a good one.
        assert!(found_in(dir.path(), SHOWN.as_bytes()), "{engine:?} hides what is not sealed");
        let again = with(dir.path(), engine, &[("one", 1)]).unwrap();
        assert_eq!([value(&again, "hidden/a"), value(&again, "shown/a")], [HIDDEN, SHOWN]);
    }
}

#[tokio::test]
async fn a_store_without_its_key_stays_closed_and_says_which_one_it_wants() {
    for engine in ENGINES {
        let dir = TempDir::new().unwrap();
        let store = with(dir.path(), engine, &[("one", 1)]).unwrap();
        put(&store, "hidden/a", HIDDEN).await;
        store.close().await;
        drop(store);
        let missing =
            "the value of hidden/a at revision 1 is sealed with the key \"one\", which is not among those given";
        assert!(why(open(dir.path(), engine, Seal::default())).contains(missing), "{engine:?}");
        assert!(why(with(dir.path(), engine, &[("two", 2)])).contains(missing), "{engine:?}");
        let other = "is sealed with another key of the name \"one\"";
        assert!(why(with(dir.path(), engine, &[("one", 2)])).contains(other), "{engine:?}");
        assert_eq!(value(&with(dir.path(), engine, &[("two", 2), ("one", 1)]).unwrap(), "hidden/a"), HIDDEN);
    }
}

#[tokio::test]
async fn a_new_key_seals_what_is_written_from_then_on_while_the_store_runs() {
    let dir = TempDir::new().unwrap();
    let seal = Seal::new(ring(&[("one", 1)]));
    let history = HistoryBounds::exactly(std::time::Duration::MAX, 0);
    let options = Options { seal: seal.clone(), history, ..Options::default() };
    let store = Store::open(&Place::Dir { dir: dir.path().to_owned(), engine: Engine::Log }, options).unwrap();
    put(&store, "hidden/a", HIDDEN).await;
    put(&store, "hidden/b", HIDDEN).await;
    seal.use_ring(ring(&[("two", 2), ("one", 1)]));
    put(&store, "hidden/a", HIDDEN).await;
    store.close().await;
    drop(store);
    let refused = why(with(dir.path(), Engine::Log, &[("two", 2)]));
    assert!(refused.contains("hidden/b") && refused.contains("\"one\""), "{refused}");
    // What was written again by the new key alone needs no other, once history has forgotten the old version.
    let store = with(dir.path(), Engine::Log, &[("two", 2), ("one", 1)]).unwrap();
    put(&store, "hidden/b", HIDDEN).await;
    store.compact(store.recent().revision()).await.unwrap();
    // A compaction is written with the commit after it.
    put(&store, "shown/a", SHOWN).await;
    store.enforce_bounds().await.unwrap();
    store.close().await;
    drop(store);
    let only = with(dir.path(), Engine::Log, &[("two", 2)]).unwrap();
    assert_eq!([value(&only, "hidden/a"), value(&only, "hidden/b")], [HIDDEN, HIDDEN]);
}

#[tokio::test]
async fn what_was_not_sealed_before_is_read_as_it_is_and_sealed_when_it_is_written() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path(), Engine::Log, Seal::default()).unwrap();
    put(&store, "hidden/a", HIDDEN).await;
    store.close().await;
    drop(store);
    let store = with(dir.path(), Engine::Log, &[("one", 1)]).unwrap();
    assert_eq!(value(&store, "hidden/a"), HIDDEN);
    put(&store, "hidden/b", "what comes now").await;
    store.close().await;
    drop(store);
    assert!(found_in(dir.path(), HIDDEN.as_bytes()) && !found_in(dir.path(), b"what comes now"));
}

#[tokio::test]
async fn copies_are_made_and_checked_without_any_key() {
    let room = TempDir::new().unwrap();
    let dir = room.path().join("original");
    let store = with(&dir, Engine::Log, &[("one", 1)]).unwrap();
    put(&store, "hidden/a", HIDDEN).await;
    put(&store, "hidden/gone", HIDDEN).await;
    store.commit(Txn::new().delete("hidden/gone")).await.unwrap();
    put(&store, "shown/a", SHOWN).await;
    store.close().await;
    drop(store);

    let shut = open(&dir, Engine::Log, Seal::shut()).unwrap();
    let closed = shut.recent().get("hidden/a").unwrap().unwrap().value;
    assert_eq!((sealed_by(&closed), has(&closed, HIDDEN.as_bytes())), (Some("one"), false));
    assert_eq!(value(&shut, "shown/a"), SHOWN);
    let refused = shut.commit(Txn::new().put("shown/a", "")).await;
    assert!(matches!(refused, Err(CommitError::Unavailable(_))), "{refused:?}");
    let mut copy = Vec::new();
    shut.backup(&mut copy).unwrap();
    shut.close().await;
    let mut sealed = Vec::new();
    let read = read_backup(copy.as_slice(), |entry| {
        sealed.push((entry.key.to_string(), sealed_by(&entry.version.value).map(str::to_owned)));
        Ok(())
    });
    assert_eq!(read.unwrap().entries, 2);
    assert_eq!(sealed, [("hidden/a".to_owned(), Some("one".to_owned())), ("shown/a".to_owned(), None)]);

    for engine in ENGINES {
        let restored = room.path().join(engine.name());
        restore(&restored, engine, copy.as_slice(), 10).unwrap();
        assert!(!found_in(&restored, HIDDEN.as_bytes()));
        assert!(why(open(&restored, engine, Seal::default())).contains("\"one\""));
        assert_eq!(value(&with(&restored, engine, &[("one", 1)]).unwrap(), "hidden/a"), HIDDEN);
    }
    let again = with(&dir, Engine::Log, &[("one", 1)]).unwrap();
    assert_eq!(value(&again, "hidden/a"), HIDDEN, "looking changed nothing");
}
