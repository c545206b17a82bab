//! Random operations against a plain model: whatever is done to a store, it shows what the model shows.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod oracle;
mod player;
mod script;

use player::Player;
use proptest::prelude::*;
use script::{Op, ops};
use storage::conformance::KeptMemory;
use storage::{Engine, Faults, FaultyBackend, Options, Place, Store};

fn play(open: impl Fn(Options) -> Store + 'static, faults: Faults, seed: u64, ops: &[Op]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { Player::new(Box::new(open), faults, seed).play(ops).await });
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 2000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn memory_shows_what_the_model_shows(ops in ops(80, false)) {
        let kept = KeptMemory::default();
        let open = move |options| Store::on(Box::new(kept.clone()), options).unwrap();
        play(open, Faults::default(), 0, &ops);
    }

    #[test]
    fn a_failing_backend_shows_what_the_model_shows(ops in ops(80, true), seed in any::<u64>()) {
        let (kept, faults) = (KeptMemory::default(), Faults::default());
        let failing = faults.clone();
        let open = move |options| {
            Store::on(Box::new(FaultyBackend::new(kept.clone(), failing.clone())), options).unwrap()
        };
        play(open, faults, seed, &ops);
    }
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn the_log_shows_what_the_model_shows(ops in ops(60, false)) {
        embedded(Engine::Log, &ops);
    }

    #[test]
    fn fjall_shows_what_the_model_shows(ops in ops(60, false)) {
        embedded(Engine::Fjall, &ops);
    }

    #[test]
    fn sled_shows_what_the_model_shows(ops in ops(60, false)) {
        embedded(Engine::Sled, &ops);
    }
}

fn embedded(engine: Engine, ops: &[Op]) {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::Dir { dir: dir.path().to_owned(), engine };
    play(move |options| Store::open(&place, options).unwrap(), Faults::default(), 0, ops);
}
