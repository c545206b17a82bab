//! Who is served next when not everybody can be at once.
//!
//! There are so many seats, and no workspace has more than its share of them; when one is free, the workspaces take turns.
//! So a crowd waits behind itself: somebody who comes alone waits for one request to end, however many others there are.
//! Within a workspace it is its own business who comes first: its flow schemas and priority levels say so ([`Flows`]).
//! Lines have an end, and so has waiting. A workspace that nobody asks anything of has no place here.

mod costs;
mod dump;
mod flow;
mod house;
mod lines;
mod payer;
mod rate;
mod room;
#[cfg(test)]
mod tests;
mod watches;

pub(crate) use costs::Costs;
pub use flow::{Class, Flows, Schema};
pub(crate) use payer::Payer;
pub(crate) use rate::Rates;
pub use watches::{Watcher, Watches, Watching};

use crate::auth::User;
use crate::place::Workspace;
use lines::{Lines, Place, Ticket};
use openapi::scalar::time::Instant;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// How many may do something at once, and how many may wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub seats: usize,
    /// Of one workspace. So few that one crowd does not keep the processors from everybody else; so many that they are
    /// kept busy, and that commits are shared by many.
    pub seats_of_one: usize,
    /// In all lines together: what they hold in memory.
    pub waiting: usize,
    /// Of one workspace, however many lines it asks for.
    pub waiting_of_one: usize,
    pub wait: Duration,
}

/// How many objects an answer lists, and whether there are more of them: what the next one like it will need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    pub(crate) sent: usize,
    pub(crate) more: bool,
}

/// Why somebody cannot be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    /// The line is full, or there is none.
    Away,
    /// It did not move for too long.
    Late,
}

/// Somebody, somewhere, with something to do.
#[derive(Clone, Debug)]
pub struct Guest {
    pub workspace: Workspace,
    pub user: Arc<User>,
    pub class: Class,
    /// Seats that what they want to do needs.
    pub width: usize,
    pub arrived: Instant,
}

/// All seats of one sort. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Seats {
    bounds: Bounds,
    /// Held for as long as it takes to find whose turn it is.
    lines: Arc<Mutex<Lines<oneshot::Sender<Seat>>>>,
}

/// Somebody is being served, until this is dropped.
#[derive(Debug)]
pub struct Seat {
    workspace: Workspace,
    ticket: Ticket,
    seats: Seats,
    /// Nobody ever sat here: who was called is gone.
    empty: bool,
}

/// Somebody waits, until this is dropped.
struct InLine<'a> {
    seats: &'a Seats,
    workspace: &'a Workspace,
    ticket: Ticket,
    late: bool,
    called: bool,
}

impl Seats {
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, lines: Arc::new(Mutex::new(Lines::new(bounds))) }
    }

    /// Waits for a seat, if there is any point in it.
    pub async fn take(&self, guest: &Guest, flows: &Arc<Flows>) -> Result<Seat, Turned> {
        let (ticket, place) = self.lines.lock().arrive(guest, flows, oneshot::channel);
        let called = match place {
            Place::Seat => return Ok(self.seat(&guest.workspace, ticket)),
            Place::Line(called) => called,
            Place::None => return Err(Turned::Away),
        };
        let mut line = InLine { seats: self, workspace: &guest.workspace, ticket, late: false, called: false };
        match tokio::time::timeout(self.bounds.wait, called).await {
            Ok(Ok(seat)) => {
                line.called = true;
                Ok(seat)
            }
            Ok(Err(_)) | Err(_) => {
                line.late = true;
                Err(Turned::Late)
            }
        }
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.lines.lock().waiting()
    }

    fn seat(&self, workspace: &Workspace, ticket: Ticket) -> Seat {
        Seat { workspace: workspace.clone(), ticket, seats: self.clone(), empty: false }
    }

    /// Calls whoever comes next, as long as there are seats.
    fn call(&self) {
        loop {
            let Some((workspace, waiting)) = self.lines.lock().next() else { return };
            // The lock is not held: what is sent to somebody who is gone is dropped here.
            if let Err(mut seat) = waiting.call.send(self.seat(&workspace, waiting.ticket)) {
                seat.empty = true;
                self.lines.lock().leave(&workspace, &seat.ticket);
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !self.empty {
            self.seats.lines.lock().leave(&self.workspace, &self.ticket);
            self.seats.call();
        }
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        if !self.called {
            self.seats.lines.lock().forget(self.workspace, &self.ticket, self.late);
        }
    }
}
