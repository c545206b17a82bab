//! The lines themselves: who sits, who waits, and whose turn it is. Nothing here waits.

use super::flow::{Class, Flows};
use super::house::House;
use super::{Bounds, Guest};
use crate::auth::User;
use crate::place::Workspace;
use openapi::scalar::time::Instant;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Where somebody who arrives ends up.
#[derive(Debug)]
pub(super) enum Place<R> {
    Seat,
    Line(R),
    None,
}

/// Somebody who came.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub(super) id: u64,
    pub(super) class: Class,
    pub(super) user: Arc<User>,
    /// Seats that they need.
    pub(super) width: usize,
    pub(super) arrived: Instant,
}

#[derive(Debug)]
pub(super) struct Waiting<T> {
    pub(super) ticket: Ticket,
    pub(super) call: T,
}

#[derive(Debug)]
pub(super) struct Lines<T> {
    bounds: Bounds,
    seated: usize,
    waiting: usize,
    /// How many have come.
    came: u64,
    houses: HashMap<Workspace, House<T>>,
    /// Workspaces in which somebody waits, the next one first.
    turns: VecDeque<Workspace>,
}

impl<T> Lines<T> {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, seated: 0, waiting: 0, came: 0, houses: HashMap::new(), turns: VecDeque::new() }
    }

    pub(super) fn house(&self, workspace: &Workspace) -> Option<&House<T>> {
        self.houses.get(workspace)
    }

    /// Whoever arrives sits down if nobody waits before them; or gets in line, as what `waiting` makes.
    pub(super) fn arrive<R>(
        &mut self,
        guest: &Guest,
        flows: &Arc<Flows>,
        waiting: impl FnOnce() -> (T, R),
    ) -> (Ticket, Place<R>) {
        let Bounds { seats, seats_of_one, waiting: waiting_max, waiting_of_one, .. } = self.bounds;
        self.came += 1;
        let Guest { workspace, user, class, arrived, .. } = guest.clone();
        let width = guest.width.clamp(1, (seats_of_one / 4).max(1));
        let ticket = Ticket { id: self.came, class, user, width, arrived };
        let house = self.houses.entry(workspace.clone()).or_insert_with(|| House::new(flows.clone()));
        if !Arc::ptr_eq(&house.flows, flows) {
            house.flows = flows.clone();
        }
        let room_to_wait = self.waiting < waiting_max && house.waiting < waiting_of_one;
        let free = self.seated < seats;
        let alone = house.waiting == 0;
        let place = house.arrive(ticket.clone(), (seats_of_one, free, room_to_wait), waiting);
        match place {
            Place::Seat => self.seated += width,
            Place::Line(_) => {
                self.waiting += 1;
                if alone {
                    self.turns.push_back(workspace);
                }
            }
            Place::None => self.tidy(&workspace),
        }
        (ticket, place)
    }

    /// Somebody is done.
    pub(super) fn leave(&mut self, workspace: &Workspace, ticket: &Ticket) {
        if let Some(house) = self.houses.get_mut(workspace) {
            let before = house.seated;
            house.leave(ticket);
            self.seated -= before - house.seated;
        }
        self.tidy(workspace);
    }

    /// Somebody does not wait any longer: they are gone, or it took too long.
    pub(super) fn forget(&mut self, workspace: &Workspace, ticket: &Ticket, late: bool) {
        let Some(house) = self.houses.get_mut(workspace) else { return };
        if house.forget(ticket, late) {
            self.waiting -= 1;
            if house.waiting == 0 {
                self.turns.retain(|other| other != workspace);
            }
        }
        self.tidy(workspace);
    }

    /// Whoever comes next sits down, if there is a seat.
    pub(super) fn next(&mut self) -> Option<(Workspace, Waiting<T>)> {
        if self.seated >= self.bounds.seats {
            return None;
        }
        // The first in turn that has not all it may have.
        for _ in 0..self.turns.len() {
            let workspace = self.turns.pop_front()?;
            let house = self.houses.get_mut(&workspace)?;
            let next = house.next(self.bounds.seats_of_one);
            if house.waiting > 0 {
                self.turns.push_back(workspace.clone());
            }
            if let Some(next) = next {
                self.seated += next.ticket.width;
                self.waiting -= 1;
                return Some((workspace, next));
            }
        }
        None
    }

    /// A workspace in which nobody sits or waits is forgotten.
    fn tidy(&mut self, workspace: &Workspace) {
        if self.houses.get(workspace).is_some_and(House::is_idle) {
            self.houses.remove(workspace);
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.houses.is_empty() && self.turns.is_empty() && self.seated == 0 && self.waiting == 0
    }

    #[cfg(test)]
    pub(super) fn seated(&self, workspace: &Workspace, level: &str) -> usize {
        self.houses.get(workspace).and_then(|house| house.rooms.get(level)).map_or(0, |room| room.seated)
    }
}
