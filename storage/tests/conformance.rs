//! The contract, on every backend.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use storage::conformance::{Fixture, KeptMemory};
use storage::{Engine, Faults, FaultyBackend, Options, Place, Ring, Seal, SealKey, Store};

fn memory() -> Fixture {
    let kept = KeptMemory::default();
    Fixture::new(move |options| Store::on(Box::new(kept.clone()), options).expect("memory"))
}

/// What the faulty backend does while nothing fails.
fn faulty() -> Fixture {
    let kept = KeptMemory::default();
    Fixture::new(move |options| {
        let backend = FaultyBackend::new(kept.clone(), Faults::default());
        Store::on(Box::new(backend), options).expect("memory")
    })
}

fn embedded(engine: Engine) -> Fixture {
    let dir = tempfile::tempdir().expect("a directory");
    let place = Place::Dir { dir: dir.path().to_owned(), engine };
    Fixture::new(move |options| {
        // The directory lives as long as whoever may open it.
        assert!(dir.path().is_dir());
        Store::open(&place, options).expect("an embedded store")
    })
}

/// The same, with everything sealed.
fn sealed(engine: Engine) -> Fixture {
    let dir = tempfile::tempdir().expect("a directory");
    let place = Place::Dir { dir: dir.path().to_owned(), engine };
    let key = SealKey::new("key", &[7; 32]).expect("a key");
    Fixture::new(move |options| {
        assert!(dir.path().is_dir());
        let seal = Seal::new(Ring::new(vec![key.clone()], |_| Some(0)));
        Store::open(&place, Options { seal, ..options }).expect("a sealed store")
    })
}

storage::conformance!(on_memory, memory());
storage::conformance!(on_faulty, faulty());
storage::conformance!(on_log, embedded(Engine::Log));
storage::conformance!(on_fjall, embedded(Engine::Fjall));
storage::conformance!(on_sled, embedded(Engine::Sled));
storage::conformance!(on_sealed_log, sealed(Engine::Log));

#[test]
fn every_case_is_in_the_suite() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/conformance");
    let suite = std::fs::read_to_string(dir.join("mod.rs")).unwrap();
    let listed: Vec<_> = suite.lines().map(str::trim).collect();
    let mut cases = 0;
    for file in std::fs::read_dir(&dir).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        let signatures = source.lines().filter_map(|line| line.strip_prefix("pub async fn "));
        for case in signatures.filter_map(|rest| rest.strip_suffix("(fixture: Fixture) {")) {
            assert!(listed.contains(&case), "{case} is never run");
            cases += 1;
        }
    }
    assert!(cases > 60, "only {cases} cases were found");
}
