//! One workspace: its seats, divided among the priority levels that it has.
//!
//! A level has its nominal seats. It may sit on others' as well, within its own bound, for as long as those keep what they
//! do not lend; what is lent comes back when a request ends. A level that nobody declared, and that nobody is about of,
//! lends all it has: whoever comes of it is next, so that one user alone has the workspace's seats. Who is exempt waits for nobody of the workspace, and has no
//! more seats than the workspace has.

use super::flow::{Flows, Level};
use super::lines::{Place, Ticket, Waiting};
use super::room::Room;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct House<T> {
    /// What counts now. Whoever came when something else did is served by this.
    pub(super) flows: Arc<Flows>,
    pub(super) seated: usize,
    pub(super) waiting: usize,
    pub(super) rooms: BTreeMap<Arc<str>, Room<T>>,
}

impl<T> House<T> {
    pub(super) fn new(flows: Arc<Flows>) -> Self {
        Self { flows, seated: 0, waiting: 0, rooms: BTreeMap::new() }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.seated == 0 && self.waiting == 0
    }

    /// Whether a level may have one more. Whoever is next may sit on more than what is left: somebody who needs many seats
    /// would wait forever otherwise.
    fn may(&self, level: &Level, seats: usize) -> bool {
        if self.seated >= seats {
            return false;
        }
        let seated = |name: &Arc<str>| self.rooms.get(name).map_or(0, |room| room.seated);
        let (limits, own) = (self.flows.limits(level, seats), seated(&level.name));
        if level.share.exempt || own < limits.nominal {
            return true;
        }
        let others = self.flows.levels().filter(|other| other.name != level.name);
        let keeping = others.filter(|other| other.keeps_while_idle() || self.rooms.contains_key(&other.name));
        let kept: usize =
            keeping.map(|other| self.flows.limits(other, seats).kept.saturating_sub(seated(&other.name))).sum();
        own < limits.max && seats - self.seated > kept
    }

    /// Whoever arrives sits down if nobody of their level waits before them.
    pub(super) fn arrive<R>(
        &mut self,
        ticket: Ticket,
        (seats, free, room_to_wait): (usize, bool, bool),
        waiting: impl FnOnce() -> (T, R),
    ) -> Place<R> {
        let (level, flow) = (ticket.class.level.clone(), ticket.class.flow);
        let may = free && self.may(&level, seats);
        let room = self.rooms.entry(level.name.clone()).or_default();
        if may && room.waiting == 0 {
            self.seated += ticket.width;
            room.sit(ticket);
            return Place::Seat;
        }
        // Whoever is exempt has one line of their own.
        let line = match level.share.queuing {
            _ if !room_to_wait => None,
            _ if level.share.exempt => Some(0),
            None => None,
            Some(queuing) => room.line(flow, queuing),
        };
        let Some(line) = line else {
            room.told.rejected += 1;
            self.tidy(&level.name);
            return Place::None;
        };
        let (call, called) = waiting();
        room.wait(line, Waiting { ticket, call });
        self.waiting += 1;
        Place::Line(called)
    }

    /// Whoever comes next sits down: those who are exempt, then the level that has least of what it should have.
    pub(super) fn next(&mut self, seats: usize) -> Option<Waiting<T>> {
        let waited = self.rooms.iter().filter(|(_, room)| room.waiting > 0);
        let ready = waited.filter_map(|(name, room)| {
            let known = self.flows.levels().find(|level| level.name == *name);
            let Some(level) = known else { return (self.seated < seats).then_some(((0, 0), name)) };
            let nominal = self.flows.limits(level, seats).nominal.max(1);
            let rank = if level.share.exempt { (0, 0) } else { (1, room.seated * seats / nominal) };
            self.may(level, seats).then_some((rank, name))
        });
        let name = ready.min_by_key(|(rank, _)| *rank)?.1.clone();
        let room = self.rooms.get_mut(&name)?;
        let next = room.next()?;
        room.sit(next.ticket.clone());
        self.waiting -= 1;
        self.seated += next.ticket.width;
        Some(next)
    }

    pub(super) fn leave(&mut self, ticket: &Ticket) {
        let name = &ticket.class.level.name;
        if let Some(room) = self.rooms.get_mut(name)
            && room.sitting.remove(&ticket.id).is_some()
        {
            room.seated -= ticket.width;
            self.seated -= ticket.width;
        }
        self.tidy(name);
    }

    /// Somebody does not wait any longer.
    pub(super) fn forget(&mut self, ticket: &Ticket, late: bool) -> bool {
        let name = &ticket.class.level.name;
        let Some(room) = self.rooms.get_mut(name).filter(|room| room.waiting > 0) else { return false };
        let found = room.forget(ticket.id);
        if found {
            self.waiting -= 1;
            *if late { &mut room.told.late } else { &mut room.told.left } += 1;
        }
        self.tidy(name);
        found
    }

    fn tidy(&mut self, name: &Arc<str>) {
        if self.rooms.get(name).is_some_and(Room::is_idle) {
            self.rooms.remove(name);
        }
    }
}
