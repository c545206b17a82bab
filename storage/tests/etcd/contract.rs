//! What is particular to a store in etcd.

use crate::servers::{Lease, Servers, Tls};
use crate::{in_time, open, open_with, until};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use storage::{
    CommitError, Draft, Engine, EtcdIdentity, EtcdTls, Expect, HistoryBounds, Invalid, KeyRange, OpenError, Options,
    Place, Revision, Store, Txn,
};

async fn commit(store: &Store, txn: Txn) -> Revision {
    in_time("a commit", store.commit(txn)).await.expect("a commit").revision
}

fn contents(store: &Store) -> String {
    let entries = store.recent().scan(KeyRange::all()).map(|entry| {
        let entry = entry.expect("an entry");
        format!("{}={}", entry.key, String::from_utf8_lossy(&entry.version.value))
    });
    entries.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn stores_under_different_prefixes_do_not_meet() {
    let servers = Lease::take().await;
    let prefix = Lease::prefix();
    let stores = [&prefix, &format!("{prefix}x"), &format!("{prefix}/x")].map(|p| open(&servers.endpoints(), p));
    for (nth, store) in stores.iter().enumerate().take(2) {
        commit(store, Txn::create("k", nth.to_string())).await;
    }
    assert_eq!(stores.each_ref().map(contents), ["k=0", "k=1", ""]);
    let same = open(&servers.endpoints(), &format!("{prefix}/"));
    assert_eq!(contents(&same), "k=0", "a slash at the end makes no difference");
}

#[test]
fn a_caller_needs_no_runtime_that_keeps_time() {
    let full = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let servers = full.block_on(Lease::take());
    let store = open(&servers.endpoints(), &Lease::prefix());
    let bare = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    bare.block_on(async {
        let done = store.commit(Txn::create("a", Draft::with_gap("rv=", 3))).await.expect("a creation");
        assert_eq!(contents(&store), format!("a=rv={}", done.revision));
        assert_eq!(store.snapshot().await.expect("a snapshot").revision(), done.revision);
        assert!(matches!(store.commit(Txn::create("a", "")).await, Err(CommitError::Conflict { .. })));
        assert_eq!(store.commit(Txn::new()).await.expect("nothing").revision, done.revision);
    });
}

#[tokio::test]
async fn more_than_etcd_takes_is_refused_for_good() {
    let servers = Lease::take().await;
    let store = open(&servers.endpoints(), &Lease::prefix());
    let large = vec![7; 1 << 20];
    let txn = (0..6).fold(Txn::new(), |txn, nth| txn.put(format!("k{nth}"), large.clone()));
    let answer = in_time("an answer", store.commit(txn)).await;
    assert!(matches!(answer, Err(CommitError::Invalid(Invalid::Refused { .. }))), "{answer:?}");
    assert_eq!(contents(&store), "");
}

#[tokio::test]
async fn what_is_large_is_read_in_parts_and_put_together_whole() {
    let servers = Lease::take().await;
    let prefix = Lease::prefix();
    let first = open(&servers.endpoints(), &prefix);
    let start = first.recent().revision();
    let mut made = Vec::new();
    for nth in 0..8u8 {
        // etcd sends about four of these at once, so that it cuts some transactions in two.
        let three = ["x", "y", "z"].map(|part| format!("{part}{nth}"));
        let txn = three.iter().fold(Txn::new(), |txn, key| txn.put(key.clone(), vec![nth; 1_000_000]));
        made.push((commit(&first, txn).await, three, nth));
    }
    first.close().await;

    let second = open(&servers.endpoints(), &prefix);
    let mut watcher = second.watch(KeyRange::all(), start).expect("a watch from before it was opened");
    for (revision, keys, nth) in made {
        for key in keys {
            let change = in_time("a change", watcher.next()).await.expect("a change");
            assert_eq!((change.revision, change.key.to_string()), (revision, key));
            let value = &change.current.as_ref().expect("a value").value;
            assert!(value.len() == 1_000_000 && value.iter().all(|byte| *byte == nth), "whole");
        }
    }
    // Now as a state: compacted, so that it cannot be replayed.
    second.compact(second.recent().revision()).await.expect("compaction");
    let oldest = second.recent().revision();
    until("etcd is compacted, too", || open(&servers.endpoints(), &prefix).stats().oldest >= oldest).await;
    let third = open(&servers.endpoints(), &prefix);
    assert_eq!((third.stats().oldest, third.stats().size), (oldest, second.stats().size));
}

#[tokio::test]
async fn a_foreign_value_hides_its_key_and_nothing_else() {
    let servers = Lease::take().await;
    let prefix = Lease::prefix();
    let store = open(&servers.endpoints(), &prefix);
    commit(&store, Txn::new().put("a", "1").put("b", "1")).await;
    let mut watcher = store.watch(KeyRange::all(), store.recent().revision()).expect("a watch");
    let mut client = servers.client(0).await;
    let put = client.put(format!("{prefix}/a"), "not ours", None).await.expect("a put");
    let foreign = Revision(put.header().expect("a header").revision() as u64);
    client.put(format!("{prefix}/new"), "{}", None).await.expect("a put");
    let change = in_time("a change", watcher.next()).await.expect("a change");
    assert_eq!((change.key.to_string().as_str(), &change.current), ("a", &None), "to readers it is gone");
    in_time("a snapshot", store.snapshot()).await.expect("a snapshot");
    assert_eq!((contents(&store).as_str(), store.stats().unreadable), ("b=1", 2));
    let late = open(&servers.endpoints(), &prefix);
    assert_eq!(contents(&late), "b=1", "also to those who come later");

    let answer = in_time("an answer", store.commit(Txn::create("a", "2"))).await;
    let Err(CommitError::Conflict { expected: Expect::Absent, found, .. }) = answer else { panic!("{answer:?}") };
    assert_eq!(found, Some(foreign), "to writers it is there");
    commit(&store, Txn::new().put("a", "2").delete("new")).await;
    let change = in_time("a change", watcher.next()).await.expect("a change");
    assert_eq!((change.key.to_string().as_str(), change.previous.is_some()), ("a", false));
    assert_eq!(contents(&store), "a=2 b=1");
    assert_eq!(watcher.try_next(), Ok(None), "what was never there did not end");
    commit(&late, Txn::create("new", "3")).await;
    assert_eq!(contents(&late), "a=2 b=1 new=3");
}

#[tokio::test]
async fn a_prefix_that_belongs_to_others_is_not_opened() {
    let servers = Lease::take().await;
    let prefix = Lease::prefix();
    servers.client(0).await.put(format!("{prefix}/"), "hanse-store 9 future", None).await.expect("a put");
    let place = Place::Etcd { endpoints: servers.endpoints(), prefix: prefix.clone(), tls: None };
    let refused = Store::open(&place, Options::default()).expect_err("another format");
    let said = refused.to_string();
    assert_eq!(said, format!("{prefix}/ is not a store this version can read: hanse-store 9 future"));
}

#[tokio::test]
async fn what_cannot_be_reached_is_named_in_time() {
    let refused = |endpoint: &str, tls| {
        let place = Place::Etcd { endpoints: vec![endpoint.to_owned()], prefix: "p".to_owned(), tls };
        let begun = Instant::now();
        let error = Store::open(&place, Options::default()).expect_err("nobody is there");
        let OpenError::Backend(why) = error else { panic!("{error}") };
        (why.to_string(), begun.elapsed())
    };
    let (said, after) = refused("http://127.0.0.1:1", None);
    assert!(said.starts_with("cannot reach http://127.0.0.1:1: ") && said.contains("refused"), "{said}");
    assert!(after < Duration::from_secs(20), "{after:?}");
    let nobody = Place::Etcd { endpoints: Vec::new(), prefix: "p".to_owned(), tls: None };
    let refusal = Store::open(&nobody, Options::default()).expect_err("nobody");
    assert!(format!("{refusal:?}").contains("no endpoint is given"), "{refusal:?}");
    let (said, after) = refused("not a url", None);
    assert!(said.contains("not a url") && after < Duration::from_secs(1), "{said}, {after:?}");
    let tls = EtcdTls { ca: PathBuf::from("/nowhere/ca.pem"), identity: None };
    let (said, after) = refused("https://127.0.0.1:1", Some(tls));
    assert!(said.contains("/nowhere/ca.pem") && after < Duration::from_secs(1), "{said}, {after:?}");
}

#[tokio::test]
async fn a_copy_can_be_made_and_restored_elsewhere() {
    let servers = Lease::take().await;
    let store = open(&servers.endpoints(), &Lease::prefix());
    commit(&store, Txn::new().put("a", "1").put("b", "2")).await;
    let mut copy = Vec::new();
    let made = store.backup(&mut copy).expect("a copy");
    assert_eq!((made.revision, made.entries), (store.recent().revision(), 2));
    let dir = tempfile::tempdir().expect("a directory");
    let place = Place::Dir { dir: dir.path().join("store"), engine: Engine::Fjall };
    storage::restore(&dir.path().join("store"), Engine::Fjall, &copy[..], 1000).expect("a restored store");
    let restored = Store::open(&place, Options::default()).expect("the restored store");
    assert_eq!(contents(&restored), "a=1 b=2");
}

#[tokio::test]
async fn history_stays_within_its_bounds_while_nothing_happens() {
    let servers = Lease::take().await;
    let history = HistoryBounds::exactly(Duration::from_millis(200), usize::MAX);
    let store = open_with(&servers.endpoints(), &Lease::prefix(), Options { history, ..Options::default() });
    for nth in 0..10 {
        let done = in_time("a commit", store.commit(Txn::new().put("a", nth.to_string()))).await.expect("a commit");
        assert_eq!(done.changes[0].previous.is_some(), nth > 0);
    }
    let newest = store.recent().revision();
    until("it has forgotten", || store.stats().oldest == newest && store.stats().history_bytes == 0).await;

    let nothing = HistoryBounds::exactly(Duration::MAX, 0);
    let options = Options { history: nothing, ..Options::default() };
    let store = open_with(&servers.endpoints(), &Lease::prefix(), options);
    for nth in 0..10 {
        let done = in_time("a commit", store.commit(Txn::new().put("a", nth.to_string()))).await.expect("a commit");
        let previous = done.changes[0].previous.as_ref().map(|version| version.value.clone());
        assert_eq!(previous, (nth > 0).then(|| (nth - 1).to_string().into()), "a writer has its answer first");
    }
}

/// An authority, and one certificate of it for both sides.
fn certificates(dir: &Path) -> Tls {
    let openssl = |arguments: &str| {
        let made = Command::new("openssl").args(arguments.split(' ')).current_dir(dir).output();
        let made = made.expect("openssl is not installed: it is in the Debian package openssl");
        assert!(made.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&made.stderr));
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=authority -days 2"));
    let name = "-subj /CN=node -addext subjectAltName=IP:127.0.0.1";
    openssl(&format!("req {key} -keyout key.pem -out request.pem {name}"));
    openssl("x509 -req -in request.pem -CA ca.pem -CAkey ca.key -copy_extensions copy -out cert.pem -days 2");
    Tls { ca: dir.join("ca.pem"), cert: dir.join("cert.pem"), key: dir.join("key.pem") }
}

#[tokio::test]
async fn an_etcd_that_wants_certificates_gets_them() {
    let dir = tempfile::tempdir().expect("a directory");
    let tls = certificates(dir.path());
    let servers = Servers::start_with(1, &[], Some(&tls)).await;
    let place = |identity| {
        let tls = EtcdTls { ca: tls.ca.clone(), identity };
        Place::Etcd { endpoints: servers.endpoints(), prefix: "p".to_owned(), tls: Some(tls) }
    };
    let identity = EtcdIdentity { cert: tls.cert.clone(), key: tls.key.clone() };
    let store = Store::open(&place(Some(identity)), Options::default()).expect("a store");
    commit(&store, Txn::create("a", "1")).await;
    assert_eq!(contents(&store), "a=1");
    let refused = Store::open(&place(None), Options::default()).expect_err("nobody in particular");
    assert!(matches!(refused, OpenError::Backend(_)), "{refused}");
}
