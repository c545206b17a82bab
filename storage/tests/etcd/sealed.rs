//! What is sealed in etcd, and read by replicas that have the key.

use crate::servers::Lease;
use crate::{in_time, open_with, until};
use etcd_client::GetOptions;
use std::error::Error;
use storage::{Draft, OpenError, Options, Place, Ring, Seal, SealKey, Store, Txn};

const HIDDEN: &str = "the treasure lies under the third oak";

fn ring(keys: &[(&str, u8)]) -> Ring {
    let key = |(name, secret): &(&str, u8)| SealKey::new(*name, &[*secret; 32]).expect("a key");
    Ring::new(keys.iter().map(key).collect(), |_| Some(0))
}

fn options(seal: &Seal) -> Options {
    Options { seal: seal.clone(), ..Options::default() }
}

fn refused(endpoints: &[String], prefix: &str, seal: &Seal) -> String {
    let place = Place::Etcd { endpoints: endpoints.to_vec(), prefix: prefix.to_owned(), tls: None };
    let error: OpenError = Store::open(&place, options(seal)).expect_err("a key is missing");
    format!("{error}: {}", error.source().map(ToString::to_string).unwrap_or_default())
}

fn value(store: &Store, key: &str) -> Option<String> {
    let version = store.recent().get(key).expect("a look")?;
    Some(String::from_utf8_lossy(&version.value).into_owned())
}

#[tokio::test]
async fn etcd_has_nothing_to_read_and_every_replica_with_the_key_reads_all() {
    let servers = Lease::take().await;
    let (endpoints, prefix) = (servers.endpoints(), Lease::prefix());
    let seal = Seal::new(ring(&[("one", 1)]));
    let store = open_with(&endpoints, &prefix, options(&seal));
    let draft = Draft::with_gap(format!("{HIDDEN} "), HIDDEN.len() + 1);
    let made = in_time("a commit", store.commit(Txn::create("k", draft))).await.expect("a commit").revision;
    let expected = Some(format!("{HIDDEN} {made}"));
    assert_eq!(value(&store, "k"), expected);

    let everything = GetOptions::new().with_prefix();
    let stored = servers.client(0).await.get(prefix.as_str(), Some(everything)).await.expect("what is stored");
    let shows = |text: &str| stored.kvs().iter().any(|kv| String::from_utf8_lossy(kv.value()).contains(text));
    assert!(shows("sealed1") && !shows("treasure"));

    let second = open_with(&endpoints, &prefix, options(&Seal::new(ring(&[("two", 2), ("one", 1)]))));
    assert_eq!(value(&second, "k"), expected);
    let missing = "is sealed with the key \"one\", which is not among those given";
    let none = Seal::default();
    let why = in_time("a refusal", tokio::task::spawn_blocking(move || refused(&endpoints, &prefix, &none))).await;
    assert!(why.as_ref().is_ok_and(|why| why.contains(missing)), "{why:?}");
}

#[tokio::test]
async fn a_replica_waits_for_the_key_of_what_another_one_sealed() {
    let servers = Lease::take().await;
    let (endpoints, prefix) = (servers.endpoints(), Lease::prefix());
    let (early, late) = (Seal::new(ring(&[("one", 1)])), Seal::new(ring(&[("one", 1)])));
    let [first, second] = [&early, &late].map(|seal| open_with(&endpoints, &prefix, options(seal)));
    early.use_ring(ring(&[("two", 2), ("one", 1)]));
    in_time("a commit", first.commit(Txn::create("k", HIDDEN))).await.expect("a commit");
    let failure = || second.stats().failure.map(|why| why.to_string()).unwrap_or_default();
    until("the missing key is named", || failure().contains("the key \"two\"")).await;
    assert_eq!(value(&second, "k"), None);
    late.use_ring(ring(&[("one", 1), ("two", 2)]));
    until("it is read", || value(&second, "k").as_deref() == Some(HIDDEN)).await;
    assert_eq!(second.stats().unreadable, 0);
}
