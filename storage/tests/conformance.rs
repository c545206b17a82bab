//! The contract, on every backend.

use storage::conformance::{Fixture, KeptMemory};
use storage::{Engine, Faults, FaultyBackend, Place, Store};

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

storage::conformance!(on_memory, memory());
storage::conformance!(on_faulty, faulty());
storage::conformance!(on_fjall, embedded(Engine::Fjall));
storage::conformance!(on_sled, embedded(Engine::Sled));
