//! Plays operations against a store and an oracle, and compares what both say after each.

use crate::oracle::{Fate, Oracle, Plan, State};
use crate::script::{Op, Step, What, key, range};
use std::time::Duration;
use storage::conformance::{Hands, in_time};
use storage::{
    Change, CommitError, Committed, Entry, Expect, Faults, HistoryBounds, KeyRange, Options, ReadError, Revision,
    Store, Watcher,
};

const AGE_MAX: Duration = Duration::from_secs(60);

/// Rounds a watcher may surely be behind without falling out of its channel.
const BEHIND_MAX: usize = 60;

type Open = Box<dyn Fn(Options) -> Store>;

pub(crate) struct Player {
    open: Open,
    store: Store,
    hands: Hands,
    now: Duration,
    oracle: Oracle,
    watches: Vec<Watch>,
    faults: Faults,
    /// One step in so many fails at the moment; 0: none.
    one_in: u64,
    seed: u64,
    /// A commit of uncertain fate: it may show up later, or never.
    pending: Option<Plan>,
}

struct Watch {
    watcher: Watcher,
    /// Everything up to here was delivered.
    position: Revision,
}

fn options(hands: &Hands) -> Options {
    let history = HistoryBounds { age_max: AGE_MAX, ..HistoryBounds::default() };
    Options { history, clock: hands.clock(), ..Options::default() }
}

impl Player {
    pub(crate) fn new(open: Open, faults: Faults, seed: u64) -> Self {
        let hands = Hands::default();
        let store = open(options(&hands));
        let oracle = Oracle::new(store.recent().revision(), store.stats().oldest);
        let (now, watches) = (Duration::ZERO, Vec::new());
        Self { open, store, hands, now, oracle, watches, faults, one_in: 0, seed, pending: None }
    }

    pub(crate) async fn play(&mut self, ops: &[Op]) {
        for op in ops {
            self.perform(op).await;
            if self.pending.is_none() {
                self.check_present();
            }
        }
        self.recover().await;
        self.check_past();
        for nth in (0..self.watches.len()).rev() {
            self.drain(nth).await;
        }
        self.reopen().await;
        self.check_present();
        self.check_past();
        self.store.close().await;
    }

    async fn perform(&mut self, op: &Op) {
        match op {
            Op::Commit(steps) => self.commit(self.plan(steps)).await,
            Op::Burst(times) => {
                for turn in 0..*times {
                    let writes = vec![(key(0), Some((turn.to_string(), false)))];
                    self.commit(Plan { expects: Vec::new(), writes }).await;
                }
            }
            Op::Read { back, range: nth } => self.read(*back, range(*nth)),
            Op::Page { back, limit } => self.page(*back, *limit),
            Op::Watch { back, range: nth } => self.watch(*back, range(*nth)).await,
            Op::Drain(nth) if !self.watches.is_empty() => self.drain(nth % self.watches.len()).await,
            Op::Unwatch(nth) if !self.watches.is_empty() => {
                drop(self.watches.remove(nth % self.watches.len()));
            }
            Op::Drain(_) | Op::Unwatch(_) => {}
            Op::Compact { back } => self.compact(*back).await,
            Op::Age(seconds) => self.age(Duration::from_secs(*seconds)).await,
            Op::Reopen => self.reopen().await,
            Op::Fail { one_in } => self.set_faults(*one_in),
        }
    }

    fn set_faults(&mut self, one_in: u64) {
        self.one_in = one_in;
        self.seed = self.seed.wrapping_add(1);
        self.faults.set(self.seed, one_in);
    }

    /// A revision so many commits ago, not before the beginning; sometimes one that no commit has, because a failure
    /// took it.
    fn back(&self, back: usize) -> Revision {
        let revisions = self.oracle.revisions();
        let revision = revisions[revisions.len() - 1 - back % revisions.len()];
        if back.is_multiple_of(3) { revision.next().min(self.oracle.newest().0) } else { revision }
    }

    fn plan(&self, steps: &[Step]) -> Plan {
        let (_, state) = self.oracle.newest();
        let mut plan = Plan::default();
        for Step { key: nth, what, value } in steps {
            let key = key(*nth);
            if plan.writes.iter().any(|(written, _)| *written == key) {
                continue;
            }
            let right = state.get(&key).map_or(Expect::Absent, |version| Expect::At(version.modified));
            let wrong = match right {
                Expect::Absent => Expect::At(self.back(usize::from(*value))),
                Expect::At(_) if value.is_multiple_of(2) => Expect::Absent,
                Expect::At(revision) => Expect::At(Revision(revision.0 + 1)),
            };
            let put = Some((value.to_string(), value.is_multiple_of(3)));
            let (expect, write) = match what {
                What::Put => (None, Some(put)),
                What::Delete => (None, Some(None)),
                What::PutIfRight => (Some(right), Some(put)),
                What::DeleteIfRight => (Some(right), Some(None)),
                What::PutIfWrong => (Some(wrong), Some(put)),
                What::OnlyAsk => (Some(right), None),
            };
            plan.expects.extend(expect.map(|expect| (key.clone(), expect)));
            plan.writes.extend(write.map(|write| (key, write)));
        }
        plan
    }

    async fn commit(&mut self, plan: Plan) {
        let trouble = self.one_in > 0 || self.store.stats().failure.is_some();
        let answer = self.store.commit(plan.txn()).await;
        let refused = matches!(answer, Err(CommitError::Unavailable(_)));
        self.settle_pending(refused, answer.as_ref().ok().map(|done| done.revision));
        let fate = self.oracle.fate(&plan);
        match answer {
            Ok(done) => self.check_done(&plan, &fate, &done),
            Err(CommitError::Conflict { key, expected, found }) => {
                assert_eq!(Fate::Conflict { key, expected, found }, fate);
            }
            Err(CommitError::Unavailable(why)) => assert!(trouble, "{why}"),
            Err(CommitError::Uncertain(why)) => {
                assert!(trouble, "{why}");
                assert_eq!(fate, Fate::Change, "only a change can be uncertain");
                self.pending = Some(plan);
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn check_done(&mut self, plan: &Plan, fate: &Fate, done: &Committed) {
        let expected = match fate {
            Fate::Change => self.oracle.apply(plan, done.revision, self.now),
            Fate::Nothing => Vec::new(),
            Fate::Conflict { .. } => panic!("{plan:?} should not have happened"),
        };
        assert!(done.changes.iter().map(|change| &**change).eq(&expected), "{:?} is not {expected:?}", done.changes);
        assert_eq!(done.revision, self.oracle.newest().0);
    }

    /// Finds out what became of the uncertain commit, if that is known by now. A store that took another one since
    /// (`refused` is false) has found out for itself.
    fn settle_pending(&mut self, refused: bool, since: Option<Revision>) {
        let Some(plan) = self.pending.take() else { return };
        let (last, _) = self.oracle.newest();
        let mut watcher = self.store.watch(KeyRange::all(), last).unwrap();
        let mut shown: Vec<Change> = Vec::new();
        while let Some(change) = watcher.try_next().unwrap() {
            if Some(change.revision) != since {
                shown.push((*change).clone());
            }
        }
        if let Some(first) = shown.first() {
            let mut expected = self.oracle.apply(&plan, first.revision, self.now);
            // Whether it is shown in the order of writes or of keys depends on who found it, this store or the next.
            expected.sort_by(|a, b| a.key.cmp(&b.key));
            shown.sort_by(|a, b| a.key.cmp(&b.key));
            assert_eq!(shown, expected, "all of it, and only it");
        } else if refused {
            self.pending = Some(plan);
        }
    }

    /// The disk works; waits until the store has noticed. Then it goes on failing as before.
    async fn recover(&mut self) {
        self.faults.set(0, 0);
        for _ in 0..3 {
            let answer = self.store.commit(Plan::default().txn()).await;
            self.settle_pending(answer.is_err(), None);
            if answer.is_ok() {
                assert!(self.pending.is_none() && self.store.stats().failure.is_none());
                self.faults.set(self.seed, self.one_in);
                return;
            }
        }
        panic!("the store does not recover: {:?}", self.store.stats());
    }

    fn entries(&self, revision: Revision, range: KeyRange) -> Result<State, ReadError> {
        let scan = self.store.snapshot_at(revision)?.scan(range);
        scan.map(|entry| entry.map(|Entry { key, version }| (key, version))).collect()
    }

    fn check_present(&self) {
        let (revision, state) = self.oracle.newest();
        let stats = self.store.stats();
        assert_eq!((stats.revision, stats.oldest), (revision, self.oracle.floor));
        assert_eq!(self.entries(revision, KeyRange::all()).as_ref(), Ok(state));
        let bytes: usize = state.iter().map(|(key, version)| key.as_bytes().len() + version.value.len()).sum();
        assert_eq!((stats.size.keys, stats.size.bytes), (state.len() as u64, bytes as u64));
    }

    fn check_past(&self) {
        for revision in self.oracle.revisions() {
            self.check_at(revision, KeyRange::all());
        }
    }

    fn check_at(&self, revision: Revision, range: KeyRange) {
        let oldest = self.oracle.floor;
        let found = self.entries(revision, range.clone());
        if revision < oldest {
            assert_eq!(found, Err(ReadError::Compacted { asked: revision, oldest }));
            return;
        }
        let inside = self.oracle.at(revision).iter().filter(|(key, _)| range.contains(key.as_bytes()));
        let expected: State = inside.map(|(key, version)| (key.clone(), version.clone())).collect();
        assert_eq!(found, Ok(expected), "{range:?} at {revision}");
    }

    fn read(&self, back: usize, range: KeyRange) {
        let revision = self.back(back);
        self.check_at(revision, range);
        let (newest, _) = self.oracle.newest();
        // While a commit is uncertain, the store may know more than we do.
        if self.pending.is_none() {
            let asked = newest.next();
            let refused = self.store.snapshot_at(asked).unwrap_err();
            assert_eq!(refused, ReadError::Future { asked, newest });
        }
    }

    fn page(&self, back: usize, limit: usize) {
        let revision = self.back(back).max(self.oracle.floor);
        let seen = self.store.snapshot_at(revision).unwrap();
        let mut rest = KeyRange::all();
        let mut found = State::new();
        loop {
            let page = seen.page(&rest, limit).unwrap();
            let Some(last) = page.last() else { break };
            assert!(page.len() <= limit);
            rest = rest.after(&last.key);
            found.extend(page.into_iter().map(|Entry { key, version }| (key, version)));
        }
        assert_eq!(found, *self.oracle.at(revision), "pages of {limit} at {revision}");
    }

    async fn watch(&mut self, back: usize, range: KeyRange) {
        let after = self.back(back);
        match self.store.watch(range, after) {
            Ok(watcher) if self.watches.len() < 5 => self.watches.push(Watch { watcher, position: after }),
            Ok(_) => {}
            Err(error) => assert_eq!(error, ReadError::Compacted { asked: after, oldest: self.oracle.floor }),
        }
        assert!(after < self.oracle.floor || !self.watches.is_empty());
    }

    /// Reads all that one watcher must be told. It may only be told that it is too late if that is so.
    async fn drain(&mut self, nth: usize) {
        if self.pending.is_some() {
            self.recover().await;
        }
        let Watch { watcher, position } = &mut self.watches[nth];
        let expected = self.oracle.changes(watcher.range(), *position);
        let behind = expected.chunk_by(|a, b| a.revision == b.revision).count();
        for change in &expected {
            let told = match watcher.try_next() {
                Ok(None) => in_time("a change", watcher.next()).await,
                Ok(Some(change)) => Ok(change),
                Err(error) => Err(error),
            };
            match told {
                Ok(told) => assert_eq!(*told, *change),
                Err(ReadError::Compacted { oldest, .. }) => {
                    assert_eq!(oldest, self.oracle.floor);
                    let missed = expected[0].revision <= oldest || (behind > BEHIND_MAX && *position < oldest);
                    assert!(missed, "nothing after {position} was forgotten: {:?}", expected[0]);
                    drop(self.watches.remove(nth));
                    return;
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(watcher.try_next(), Ok(None), "once and no more");
        let (newest, _) = self.oracle.newest();
        in_time("progress", async {
            while watcher.progress() != Some(newest) {
                tokio::task::yield_now().await;
            }
        })
        .await;
        *position = newest;
    }

    async fn compact(&mut self, back: usize) {
        self.recover().await;
        let floor = self.back(back).max(self.oracle.floor);
        assert_eq!(self.store.compact(floor).await.unwrap(), floor);
        self.oracle.floor = floor;
    }

    async fn age(&mut self, by: Duration) {
        self.recover().await;
        self.hands.advance(by);
        self.now += by;
        let due = self.oracle.due(AGE_MAX, self.now);
        assert_eq!(self.store.enforce_bounds().await.unwrap(), due);
        self.oracle.floor = due;
    }

    async fn reopen(&mut self) {
        self.store.close().await;
        self.faults.set(0, 0);
        for mut watch in self.watches.drain(..) {
            while let Ok(change) = watch.watcher.next().await {
                assert!(change.revision > watch.position);
            }
        }
        self.store = (self.open)(options(&self.hands));
        self.settle_pending(false, None);
        self.oracle.reopened(self.store.stats().oldest, self.now);
        self.faults.set(self.seed, self.one_in);
    }
}
