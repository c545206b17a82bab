//! The contract of a store, as tests: one suite, run on everything that claims to be a store.
//!
//! A case opens a store of its own through a [`Fixture`], does something to it, and says what must be seen. It assumes
//! of revisions only that they grow. Each topic is a file; [`conformance!`](crate::conformance!) names every case.

pub mod commit;
pub mod history;
pub mod lifecycle;
pub mod limits;
pub mod snapshot;
pub mod watch;
mod words;

use crate::{Backend, BackendError, Batch, Clock, MemoryBackend, Options, Store, Visit};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// One test for each case of the suite, in a module called `$name`. `$fixture` is evaluated for each of them.
#[macro_export]
macro_rules! conformance {
    ($name:ident, $fixture:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $crate::conformance_cases!(commit, $fixture,
                a_key_is_created_replaced_and_deleted
                a_put_without_conditions_takes_whatever_is_there
                a_conflict_says_what_was_expected_and_what_was_found
                a_conflict_changes_nothing
                a_recreated_key_is_not_the_one_it_was
                several_keys_change_together_or_not_at_all
                conditions_may_be_on_keys_that_are_not_written
                what_changes_nothing_makes_no_revision
                deleting_what_is_absent_beside_a_write_is_no_change
                creation_is_remembered_until_deletion
                the_answer_lists_the_changes_in_the_order_of_the_writes
                the_revision_is_written_into_the_gap_for_every_reader
                an_acknowledged_commit_is_seen_at_once
                concurrent_increments_are_all_counted
                of_concurrent_creators_one_wins
                a_writer_that_stops_waiting_leaves_all_or_nothing
            );
            $crate::conformance_cases!(limits, $fixture,
                keys_must_not_be_empty
                keys_have_a_longest_length
                values_have_a_largest_size
                transactions_have_a_most_of_operations
                a_key_is_written_once_in_a_transaction
                the_largest_value_comes_back_whole
                any_bytes_make_a_key
                an_empty_value_is_not_an_absent_one
            );
            $crate::conformance_cases!(snapshot, $fixture,
                ranges_hold_what_they_say
                scans_are_whole_at_every_length
                pages_add_up_to_one_scan_while_writes_go_on
                every_revision_reads_as_it_was
                what_was_forgotten_is_compacted_and_what_is_to_come_is_future
                a_held_snapshot_does_not_change
                a_scan_overtaken_by_compaction_says_so_and_ends
                a_deleted_prefix_is_passed_over
            );
            $crate::conformance_cases!(watch, $fixture,
                a_watch_from_now_tells_what_comes
                a_watch_from_the_past_tells_all_since
                the_changes_of_one_commit_come_together
                only_the_watched_range_is_told
                nested_ranges_are_each_told_their_part
                an_empty_range_is_silent
                a_watch_cannot_start_in_the_future
                a_watch_cannot_start_before_the_oldest_revision
                a_watch_can_start_at_the_oldest_revision
                progress_is_told_when_nothing_waits
                a_quiet_watcher_keeps_its_place
                trying_never_waits
                a_slow_watcher_misses_nothing
                a_watcher_slower_than_history_is_told
                a_watcher_that_keeps_up_does_not_mind_compaction
                compaction_does_not_overtake_watchers_that_could_keep_up
                watchers_of_one_range_are_told_the_same
                many_ranges_are_each_told_their_own
                dropped_watchers_release_their_ranges
                a_watcher_that_stops_waiting_loses_nothing
                watchers_that_join_during_writes_miss_nothing_and_repeat_nothing
            );
            $crate::conformance_cases!(history, $fixture,
                history_is_bounded_by_age
                history_is_bounded_by_bytes
                compaction_keeps_what_is_current
                compaction_never_goes_back_nor_ahead
                a_key_deleted_before_the_floor_is_gone
                a_long_history_is_forgotten_in_one_call
                reopening_after_compaction_reads_right
            );
            $crate::conformance_cases!(lifecycle, $fixture,
                a_new_store_is_empty
                everything_survives_reopening
                the_past_survives_reopening
                revisions_go_on_after_reopening
                dropping_the_store_lets_go_of_it
                closing_finishes_what_was_accepted
                closing_ends_watches_after_their_last_change
                a_closed_store_takes_nothing_and_still_reads
                the_size_is_exact
                waiting_for_a_revision_ends_when_it_is_there
                a_copy_holds_what_the_snapshot_shows
            );
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    ($topic:ident, $fixture:expr, $($case:ident)+) => {
        mod $topic {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let case = $crate::conformance::$topic::$case($fixture);
                    $crate::conformance::in_time(stringify!($case), case).await;
                }
            )+
        }
    };
}

/// Far more than any case needs on a busy machine: a case that takes longer hangs.
const DEADLINE: Duration = Duration::from_secs(30);

/// Fails by name instead of hanging.
pub async fn in_time<T>(what: &str, doing: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, doing).await {
        Ok(done) => done,
        Err(_) => panic!("{what}: not done after {DEADLINE:?}"),
    }
}

/// A place of its own for one case, that can be opened again and again.
#[derive(Clone)]
pub struct Fixture {
    open: Arc<dyn Fn(Options) -> Store + Send + Sync>,
    keeps_history: bool,
}

impl Fixture {
    /// `open` is called on a blocking thread. The first time it must give an empty store, later the same one again.
    pub fn new(open: impl Fn(Options) -> Store + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), keeps_history: true }
    }

    /// For a store that comes back with all of the present but less of the past.
    #[must_use]
    pub fn without_history(mut self) -> Self {
        self.keeps_history = false;
        self
    }

    async fn open(&self) -> Store {
        self.open_with(Options::default()).await
    }

    async fn open_with(&self, options: Options) -> Store {
        let open = self.open.clone();
        tokio::task::spawn_blocking(move || open(options)).await.expect("the store opens")
    }

    async fn reopen(&self, store: Store) -> Store {
        store.close().await;
        drop(store);
        self.open().await
    }
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture").field("keeps_history", &self.keeps_history).finish_non_exhaustive()
    }
}

/// Memory that outlives the stores on it: what a disk is to an embedded engine.
#[derive(Clone, Debug, Default)]
pub struct KeptMemory(Arc<Mutex<MemoryBackend>>);

impl Backend for KeptMemory {
    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), BackendError> {
        self.0.lock().scan(from, to, visit)
    }

    fn ledger(&self) -> Result<Option<Vec<u8>>, BackendError> {
        self.0.lock().ledger()
    }

    fn persist(&mut self, batch: &Batch) -> Result<(), BackendError> {
        self.0.lock().persist(batch)
    }

    fn reopen(&mut self) -> Result<(), BackendError> {
        self.0.lock().reopen()
    }
}

/// A clock that stands still until it is moved.
#[derive(Clone, Debug, Default)]
pub struct Hands(Arc<AtomicU64>);

impl Hands {
    pub fn clock(&self) -> Clock {
        let millis = self.0.clone();
        Clock::new(move || Duration::from_millis(millis.load(Ordering::SeqCst)))
    }

    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    }
}
