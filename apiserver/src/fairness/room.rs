//! One priority level of a workspace: who sits there, and the lines of those who wait for it.
//!
//! A flow is dealt a hand of the lines and waits in the shortest. Of lines in which somebody waits, the one is next that
//! was given least: each has a count of the seats that it was given, and one that was empty begins where the others are.

use super::flow::Queuing;
use super::lines::{Ticket, Waiting};
use std::collections::{BTreeMap, HashMap, VecDeque};

#[derive(Debug)]
pub(super) struct Room<T> {
    /// Seats that are taken.
    pub(super) seated: usize,
    pub(super) waiting: usize,
    pub(super) queues: BTreeMap<u32, Queue<T>>,
    pub(super) sitting: HashMap<u64, Ticket>,
    /// What the line was given that was served last.
    given: u64,
    pub(super) told: Told,
}

/// What became of those who came, since the level was idle the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) dispatched: usize,
    pub(super) rejected: usize,
    pub(super) late: usize,
    pub(super) left: usize,
}

#[derive(Debug)]
pub(super) struct Queue<T> {
    pub(super) waiting: VecDeque<Waiting<T>>,
    pub(super) given: u64,
}

impl<T> Default for Room<T> {
    fn default() -> Self {
        Self {
            seated: 0,
            waiting: 0,
            queues: BTreeMap::new(),
            sitting: HashMap::new(),
            given: 0,
            told: Told::default(),
        }
    }
}

impl<T> Room<T> {
    pub(super) fn is_idle(&self) -> bool {
        self.sitting.is_empty() && self.waiting == 0
    }

    /// The line in which a flow waits; nothing if that is full.
    pub(super) fn line(&self, flow: u64, queuing: Queuing) -> Option<u32> {
        let length = |at: &u32| self.queues.get(at).map_or(0, |queue| queue.waiting.len());
        let line = hand(flow, queuing).min_by_key(length)?;
        (length(&line) < queuing.queue_length_limit as usize).then_some(line)
    }

    pub(super) fn wait(&mut self, line: u32, waiting: Waiting<T>) {
        let begins = self.given;
        let queue = self.queues.entry(line).or_insert_with(|| Queue { waiting: VecDeque::new(), given: begins });
        if queue.waiting.is_empty() {
            queue.given = queue.given.max(begins);
        }
        queue.waiting.push_back(waiting);
        self.waiting += 1;
    }

    pub(super) fn sit(&mut self, ticket: Ticket) {
        self.seated += ticket.width;
        self.told.dispatched += 1;
        self.sitting.insert(ticket.id, ticket);
    }

    pub(super) fn next(&mut self) -> Option<Waiting<T>> {
        let waited = self.queues.values_mut().filter(|queue| !queue.waiting.is_empty());
        let queue = waited.min_by_key(|queue| queue.given)?;
        let next = queue.waiting.pop_front()?;
        self.given = queue.given;
        queue.given += next.ticket.width as u64;
        self.waiting -= 1;
        self.tidy();
        Some(next)
    }

    /// Somebody does not wait any longer. False: they do not wait here.
    pub(super) fn forget(&mut self, id: u64) -> bool {
        for queue in self.queues.values_mut() {
            if let Some(at) = queue.waiting.iter().position(|waiting| waiting.ticket.id == id) {
                queue.waiting.remove(at);
                self.waiting -= 1;
                self.tidy();
                return true;
            }
        }
        false
    }

    /// Where nobody waits there is nothing to be fair about.
    fn tidy(&mut self) {
        if self.waiting == 0 {
            self.queues.clear();
            self.given = 0;
        }
    }
}

/// Different lines of a flow: always the same ones. Two flows that share all of them are unlikely.
fn hand(flow: u64, queuing: Queuing) -> impl Iterator<Item = u32> {
    let (mut left, mut dealt) = (flow, Vec::with_capacity(queuing.hand_size as usize));
    for nth in 0..queuing.hand_size {
        let among = u64::from(queuing.queues - nth);
        let mut card = (left % among) as u32;
        left /= among;
        // The cards that were dealt before are not there any more.
        dealt.sort_unstable();
        for other in &dealt {
            if *other <= card {
                card += 1;
            }
        }
        dealt.push(card);
    }
    dealt.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_hand_has_different_lines_and_flows_have_different_hands() {
        let queuing = Queuing { queues: 64, hand_size: 6, queue_length_limit: 50 };
        let mut hands = BTreeSet::new();
        for flow in 0..200u64 {
            let dealt: BTreeSet<u32> = hand(flow.wrapping_mul(0x9E37_79B9_7F4A_7C15), queuing).collect();
            assert_eq!(dealt.len(), 6);
            assert!(dealt.iter().all(|line| *line < 64));
            hands.insert(dealt);
        }
        assert!(hands.len() > 195, "{}", hands.len());
        let all = Queuing { queues: 3, hand_size: 3, queue_length_limit: 1 };
        assert_eq!(hand(12345, all).collect::<BTreeSet<_>>(), BTreeSet::from([0, 1, 2]));
    }
}
