//! The lines themselves: who sits, who waits, and whose turn it is. Nothing here waits.

use super::{Bounds, Guest};
use crate::place::Workspace;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Where somebody who arrives ends up.
#[derive(Debug)]
pub(super) enum Place<R> {
    Seat,
    Line(R),
    None,
}

#[derive(Debug)]
pub(super) struct Lines<T> {
    bounds: Bounds,
    seated: usize,
    waiting: usize,
    houses: HashMap<Workspace, House<T>>,
    /// Workspaces in which somebody waits, the next one first.
    turns: VecDeque<Workspace>,
}

/// One workspace.
#[derive(Debug)]
struct House<T> {
    seated: usize,
    lines: HashMap<Arc<str>, VecDeque<T>>,
    /// Users who wait, the next one first.
    turns: VecDeque<Arc<str>>,
}

impl<T> Default for House<T> {
    fn default() -> Self {
        Self { seated: 0, lines: HashMap::new(), turns: VecDeque::new() }
    }
}

impl<T> Lines<T> {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, seated: 0, waiting: 0, houses: HashMap::new(), turns: VecDeque::new() }
    }

    /// Whoever arrives sits down if nobody waits before them; or gets in line, as what `waiting` makes.
    pub(super) fn arrive<R>(&mut self, guest: &Guest, waiting: impl FnOnce() -> (T, R)) -> Place<R> {
        let Bounds { seats, seats_of_one, waiting: waiting_max, waiting_of_one, .. } = self.bounds;
        let house = self.houses.entry(guest.workspace.clone()).or_default();
        if self.seated < seats && house.seated < seats_of_one && house.turns.is_empty() {
            self.seated += 1;
            house.seated += 1;
            return Place::Seat;
        }
        let line = house.lines.entry(guest.user.clone()).or_default();
        if self.waiting >= waiting_max || line.len() >= waiting_of_one {
            if line.is_empty() {
                house.lines.remove(&guest.user);
            }
            self.tidy(&guest.workspace);
            return Place::None;
        }
        let (entry, ticket) = waiting();
        if line.is_empty() {
            if house.turns.is_empty() {
                self.turns.push_back(guest.workspace.clone());
            }
            house.turns.push_back(guest.user.clone());
        }
        line.push_back(entry);
        self.waiting += 1;
        Place::Line(ticket)
    }

    /// Somebody is done.
    pub(super) fn leave(&mut self, workspace: &Workspace) {
        self.seated = self.seated.saturating_sub(1);
        if let Some(house) = self.houses.get_mut(workspace) {
            house.seated = house.seated.saturating_sub(1);
        }
        self.tidy(workspace);
    }

    /// Whoever comes next sits down, if there is a seat.
    pub(super) fn next(&mut self) -> Option<(Workspace, T)> {
        if self.seated >= self.bounds.seats {
            return None;
        }
        // The first in turn whose workspace has not all it may have.
        let may = |workspace: &Workspace| {
            self.houses.get(workspace).is_some_and(|house| house.seated < self.bounds.seats_of_one)
        };
        let at = self.turns.iter().position(may)?;
        let workspace = self.turns.remove(at)?;
        let house = self.houses.get_mut(&workspace)?;
        let user = house.turns.pop_front()?;
        let line = house.lines.get_mut(&user)?;
        let entry = line.pop_front()?;
        if line.is_empty() {
            house.lines.remove(&user);
        } else {
            house.turns.push_back(user);
        }
        house.seated += 1;
        if !house.turns.is_empty() {
            self.turns.push_back(workspace.clone());
        }
        self.seated += 1;
        self.waiting -= 1;
        Some((workspace, entry))
    }

    /// A workspace in which nobody sits or waits is forgotten.
    fn tidy(&mut self, workspace: &Workspace) {
        if self.houses.get(workspace).is_some_and(|house| house.seated == 0 && house.turns.is_empty()) {
            self.houses.remove(workspace);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.houses.is_empty() && self.turns.is_empty() && self.seated == 0 && self.waiting == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    #[derive(Clone, Debug)]
    enum Step {
        Arrive(u8, u8),
        Leave(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let arrive = (0u8..4, 0u8..3).prop_map(|(workspace, user)| Step::Arrive(workspace, user));
        proptest::collection::vec(prop_oneof![2 => arrive, 1 => any::<usize>().prop_map(Step::Leave)], 0..200)
    }

    proptest! {
        #[test]
        fn bounds_hold_nobody_waits_before_an_empty_seat_and_nothing_is_left_behind(steps in steps()) {
            let bounds =
                Bounds { seats: 5, seats_of_one: 2, waiting: 9, waiting_of_one: 2, wait: Duration::ZERO };
            let mut lines = Lines::new(bounds);
            let (mut seated, mut next) = (Vec::new(), 0);
            for step in steps {
                match step {
                    Step::Arrive(workspace, user) => {
                        let workspace = Workspace::new(&workspace.to_string());
                        let guest = Guest { workspace: workspace.clone(), user: user.to_string().into() };
                        next += 1;
                        if let Place::Seat = lines.arrive(&guest, || (next, ())) {
                            seated.push(workspace);
                        }
                    }
                    Step::Leave(at) if !seated.is_empty() => {
                        let workspace = seated.swap_remove(at % seated.len());
                        lines.leave(&workspace);
                        while let Some((workspace, _)) = lines.next() {
                            seated.push(workspace);
                        }
                    }
                    Step::Leave(_) => {}
                }
                prop_assert!(seated.len() <= bounds.seats && lines.waiting <= bounds.waiting);
                prop_assert_eq!(seated.len(), lines.seated);
                for house in lines.houses.values() {
                    prop_assert!(house.seated <= bounds.seats_of_one);
                    prop_assert!(house.lines.values().all(|line| (1..=bounds.waiting_of_one).contains(&line.len())));
                    // Whoever waits does so because all seats are taken, or all of the workspace's.
                    let full = lines.seated == bounds.seats || house.seated == bounds.seats_of_one;
                    prop_assert!(house.turns.is_empty() || full);
                }
            }
            while let Some(workspace) = seated.pop() {
                lines.leave(&workspace);
                while let Some((workspace, _)) = lines.next() {
                    seated.push(workspace);
                }
            }
            prop_assert!(lines.is_empty());
        }
    }
}
