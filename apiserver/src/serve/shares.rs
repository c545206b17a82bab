//! Whose turn it is on the processors. Nothing here waits, and nothing here knows the time.
//!
//! Whoever is paid for by somebody who has used least is next. A payer for whom nobody runs or waits is forgotten, and
//! begins again where those are who are being served: nobody saves up turns, and nobody is made to wait for past ones.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Shares<T> {
    /// Processors that nobody runs on. While there are any, nobody waits.
    free: usize,
    accounts: HashMap<u64, Account<T>>,
    /// Payers of whoever waits, those first that have used least.
    order: BTreeSet<(Duration, u64)>,
    /// What the payer had used who was last in turn.
    level: Duration,
}

#[derive(Debug)]
struct Account<T> {
    used: Duration,
    running: usize,
    waiting: VecDeque<T>,
}

impl<T> Shares<T> {
    pub(super) fn new(processors: usize) -> Self {
        Self { free: processors.max(1), accounts: HashMap::new(), order: BTreeSet::new(), level: Duration::ZERO }
    }

    /// Whether whoever arrives may run at once. If not, what `waiting` makes gets in line.
    pub(super) fn arrive(&mut self, payer: u64, waiting: impl FnOnce() -> T) -> bool {
        let begins = self.level;
        let account = self.accounts.entry(payer).or_insert_with(|| Account {
            used: begins,
            running: 0,
            waiting: VecDeque::new(),
        });
        if self.free > 0 {
            self.free -= 1;
            account.running += 1;
            return true;
        }
        if account.waiting.is_empty() {
            self.order.insert((account.used, payer));
        }
        account.waiting.push_back(waiting());
        false
    }

    /// Somebody ran for so long, and whoever is next runs now.
    pub(super) fn leave(&mut self, payer: u64, took: Duration) -> Option<(u64, T)> {
        if let Some(account) = self.accounts.get_mut(&payer) {
            let waits = !account.waiting.is_empty() && self.order.remove(&(account.used, payer));
            account.used += took;
            account.running -= 1;
            if waits {
                self.order.insert((account.used, payer));
            }
            if account.running == 0 && account.waiting.is_empty() {
                self.accounts.remove(&payer);
            }
        }
        let next = self.next();
        if next.is_none() {
            self.free += 1;
        }
        next
    }

    fn next(&mut self) -> Option<(u64, T)> {
        let (used, payer) = self.order.pop_first()?;
        let account = self.accounts.get_mut(&payer)?;
        let next = account.waiting.pop_front()?;
        account.running += 1;
        if !account.waiting.is_empty() {
            self.order.insert((used, payer));
        }
        self.level = self.level.max(used);
        Some((payer, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOUD: u64 = 1;
    const QUIET: u64 = 2;
    const STEP: Duration = Duration::from_millis(1);

    #[test]
    fn who_comes_alone_is_next_however_many_wait_for_somebody_else() {
        let mut shares = Shares::new(2);
        assert!(shares.arrive(LOUD, || 0) && shares.arrive(LOUD, || 1));
        for number in 2..500 {
            assert!(!shares.arrive(LOUD, || number));
        }
        for round in 0..50 {
            assert!(!shares.arrive(QUIET, || 1_000));
            let (payer, next) = shares.leave(LOUD, STEP).unwrap();
            assert_eq!((payer, next), (QUIET, 1_000), "round {round}");
            // It ends, and somebody of the crowd has the processor.
            assert_eq!(shares.leave(QUIET, STEP / 10).unwrap().0, LOUD);
        }
    }

    #[test]
    fn processors_are_divided_by_time_and_not_by_turns() {
        let mut shares = Shares::new(1);
        assert!(shares.arrive(LOUD, || ()));
        let (mut running, mut used) = (LOUD, HashMap::from([(LOUD, Duration::ZERO), (QUIET, Duration::ZERO)]));
        shares.arrive(QUIET, || ());
        for _ in 0..1_000 {
            // Each comes again at once, and one of them runs five times as long.
            shares.arrive(running, || ());
            let took = if running == LOUD { STEP * 5 } else { STEP };
            *used.get_mut(&running).unwrap() += took;
            running = shares.leave(running, took).unwrap().0;
        }
        let difference = used[&LOUD].abs_diff(used[&QUIET]);
        assert!(difference <= STEP * 10, "{used:?}");
    }

    #[test]
    fn nobody_saves_up_turns_and_who_is_gone_is_forgotten() {
        let mut shares = Shares::new(1);
        assert!(shares.arrive(LOUD, || ()));
        for _ in 0..100 {
            shares.arrive(LOUD, || ());
            assert_eq!(shares.leave(LOUD, STEP).unwrap().0, LOUD);
        }
        // A newcomer is first once, and then both take turns.
        shares.arrive(LOUD, || ());
        for _ in 0..3 {
            shares.arrive(QUIET, || ());
        }
        let mut served = Vec::new();
        let mut running = LOUD;
        while let Some((next, ())) = shares.leave(running, STEP) {
            served.push(next);
            running = next;
        }
        assert_eq!(served, [QUIET, LOUD, QUIET, QUIET]);
        assert!(shares.accounts.is_empty() && shares.order.is_empty());
        assert_eq!(shares.free, 1);
    }
}
