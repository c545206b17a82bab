//! The log by itself: what it makes of segments that are torn, missing, or back again.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const VALUE_BYTES: usize = 20_000;

struct Bench {
    dir: tempfile::TempDir,
    log: LogBackend,
    expected: BTreeMap<Vec<u8>, Vec<u8>>,
    revision: u64,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let log = LogBackend::open(dir.path().join("log")).unwrap();
        Self { dir, log, expected: BTreeMap::new(), revision: 0 }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// Puts a new pair for `key` and removes the one before it, if there is one.
    fn overwrite(&mut self, key: u8, length: usize) {
        self.revision += 1;
        let old: Vec<_> = self.expected.keys().filter(|old| old.ends_with(&[key])).cloned().collect();
        let put = ([&self.revision.to_be_bytes()[..], &[key]].concat(), vec![self.revision as u8; length]);
        let ledger = self.revision.to_be_bytes().to_vec();
        self.log.persist(&Batch { puts: vec![put.clone()], removals: old.clone(), ledger }).unwrap();
        self.expected.insert(put.0, put.1);
        old.iter().for_each(|old| drop(self.expected.remove(old)));
    }

    fn found(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut add = |key: &[u8], value: &[u8]| {
            assert!(found.insert(key.to_vec(), value.to_vec()).is_none(), "each pair once");
            Ok(ControlFlow::Continue(()))
        };
        self.log.scan(&[], &[u8::MAX; 9], &mut add).unwrap();
        found
    }

    fn check(&self) {
        assert!(self.found() == self.expected);
        assert_eq!(self.log.ledger().unwrap(), Some(self.revision.to_be_bytes().to_vec()));
    }

    fn segments(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path()).unwrap();
        let mut segments: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        segments.sort();
        segments
    }

    fn reopened(self) -> Result<Self, String> {
        let Self { dir, log, expected, revision } = self;
        drop(log);
        let log = LogBackend::open(dir.path().join("log")).map_err(|error| error.to_string())?;
        Ok(Self { dir, log, expected, revision })
    }
}

/// Several segments, the first of them with something that is still needed.
fn grown() -> Bench {
    let mut bench = Bench::new();
    for nth in 0..160 {
        bench.overwrite(nth, VALUE_BYTES);
    }
    assert!(bench.segments().len() > 2);
    bench
}

#[test]
fn a_segment_that_came_back_is_not_needed_and_goes() {
    let mut bench = grown();
    let first = bench.segments()[0].clone();
    let bytes = std::fs::read(&first).unwrap();
    while first.exists() {
        (0..160).for_each(|nth| bench.overwrite(nth, VALUE_BYTES));
    }
    std::fs::write(&first, bytes).unwrap();
    let bench = bench.reopened().unwrap();
    bench.check();
    assert!(!first.exists());
}

#[test]
fn a_missing_segment_is_named() {
    for nth in 0..2 {
        let bench = grown();
        let missing = bench.segments()[nth].clone();
        std::fs::remove_file(&missing).unwrap();
        let refused = bench.reopened().err().unwrap();
        assert_eq!(refused, format!("{} is damaged: it is missing", missing.display()));
    }
}

#[test]
fn what_was_not_finished_is_cut_off_and_what_follows_stays() {
    let mut bench = grown();
    let last = bench.segments().pop().unwrap();
    let whole = std::fs::read(&last).unwrap();
    std::fs::write(&last, [&whole[..], &whole[..whole.len().min(500)]].concat()).unwrap();
    bench = bench.reopened().unwrap();
    bench.check();
    assert_eq!(std::fs::read(&last).unwrap(), whole);
    bench.overwrite(1, 10);
    bench.reopened().unwrap().check();
}

#[test]
fn an_earlier_segment_must_be_whole_to_its_end() {
    let bench = grown();
    let first = bench.segments()[0].clone();
    let length = std::fs::metadata(&first).unwrap().len();
    File::options().write(true).open(&first).unwrap().set_len(length - 1).unwrap();
    let refused = bench.reopened().err().unwrap();
    assert!(refused.starts_with(&format!("{} is damaged: it cannot be read from byte ", first.display())), "{refused}");
}

#[test]
fn a_segment_that_rots_while_the_log_is_open_keeps_nobody_from_writing() {
    let mut bench = grown();
    let first = bench.segments()[0].clone();
    File::options().write(true).open(&first).unwrap().write_all_at(&[7; 100], 500).unwrap();
    // Key 0 is in it and never written again.
    for nth in 0..600u32 {
        bench.overwrite(1 + (nth % 150) as u8, VALUE_BYTES);
    }
    assert!(first.exists() && bench.log.open.as_ref().unwrap().stuck);
    let refused = bench.reopened().err().unwrap();
    assert!(refused.contains(&*first.to_string_lossy()), "{refused}");
}

#[test]
fn after_a_failure_it_is_read_back() {
    let mut bench = grown();
    let (away, here) = (bench.dir.path().join("away"), bench.path());
    std::fs::rename(&here, &away).unwrap();
    let refused = bench.log.persist(&Batch::default()).unwrap_err();
    assert!(matches!(refused, BackendError::Gone { .. }), "{refused}");
    assert!(matches!(bench.log.reopen(), Err(BackendError::Gone { .. })));
    assert!(bench.log.persist(&Batch::default()).is_err(), "not before it was reopened");
    std::fs::rename(&away, &here).unwrap();
    bench.log.reopen().unwrap();
    bench.overwrite(3, 10);
    bench.check();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Cut anywhere: what is left is what was there after some batch, or a refusal.
    #[test]
    fn a_cut_anywhere_in_the_last_segment_leaves_a_whole_past(
        keys in prop::collection::vec((0u8..12, 0usize..60_000), 20..120), cut in any::<prop::sample::Index>(),
    ) {
        let mut bench = Bench::new();
        let mut past = vec![BTreeMap::new()];
        for (key, length) in keys {
            bench.overwrite(key, length);
            past.push(bench.expected.clone());
        }
        bench.check();
        let last = bench.segments().pop().unwrap();
        let length = std::fs::metadata(&last).unwrap().len() as usize;
        File::options().write(true).open(&last).unwrap().set_len(cut.index(length + 1) as u64).unwrap();
        match bench.reopened() {
            Ok(bench) => prop_assert!(past.contains(&bench.found())),
            // The frame that was cut off said that they may go.
            Err(refused) => prop_assert!(refused.ends_with("it is missing"), "{}", refused),
        }
    }
}
