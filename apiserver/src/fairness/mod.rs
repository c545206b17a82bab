//! Who is served next when not everybody can be at once.
//!
//! There are so many seats, and no workspace has more than its share of them. Whoever finds none waits, in a line of
//! their own; when a seat is free, the workspaces take turns, and in each of them its users. So a crowd waits behind
//! itself: somebody who comes alone waits for one request to end, however many others there are. Lines have an end, and
//! so has waiting. A workspace that nobody asks anything of has no place here.

mod lines;
mod watches;

pub use watches::{Watches, Watching};

use crate::place::Workspace;
use lines::{Lines, Place};
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
    /// Of one user of one workspace.
    pub waiting_of_one: usize,
    pub wait: Duration,
}

/// Why somebody cannot be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    /// The line is full.
    Away,
    /// It did not move for too long.
    Late,
}

/// Somebody, somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guest {
    pub workspace: Workspace,
    pub user: Arc<str>,
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
    seats: Seats,
    /// Nobody ever sat here: who was called is gone.
    empty: bool,
}

impl Seats {
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, lines: Arc::new(Mutex::new(Lines::new(bounds))) }
    }

    /// Waits for a seat, if there is any point in it.
    pub async fn take(&self, guest: &Guest) -> Result<Seat, Turned> {
        let called = {
            let mut lines = self.lines.lock();
            match lines.arrive(guest, || oneshot::channel()) {
                Place::Seat => return Ok(self.seat(&guest.workspace)),
                Place::Line(called) => called,
                Place::None => return Err(Turned::Away),
            }
        };
        match tokio::time::timeout(self.bounds.wait, called).await {
            Ok(Ok(seat)) => Ok(seat),
            // Whoever is late is passed over when their turn comes.
            Ok(Err(_)) | Err(_) => Err(Turned::Late),
        }
    }

    fn seat(&self, workspace: &Workspace) -> Seat {
        Seat { workspace: workspace.clone(), seats: self.clone(), empty: false }
    }

    /// Calls whoever comes next, as long as there are seats.
    fn call(&self) {
        loop {
            let Some((workspace, waiting)) = self.lines.lock().next() else { return };
            // The lock is not held: what is sent to somebody who is gone is dropped here.
            if let Err(mut seat) = waiting.send(self.seat(&workspace)) {
                seat.empty = true;
                self.lines.lock().leave(&workspace);
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if !self.empty {
            self.seats.lines.lock().leave(&self.workspace);
            self.seats.call();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn guest(workspace: &str, user: &str) -> Guest {
        Guest { workspace: Workspace::new(workspace), user: user.into() }
    }

    const BOUNDS: Bounds =
        Bounds { seats: 4, seats_of_one: 2, waiting: 6, waiting_of_one: 3, wait: Duration::from_secs(10) };

    #[tokio::test(start_paused = true)]
    async fn a_crowd_waits_behind_itself() {
        let seats = Seats::new(BOUNDS);
        let mut crowd = Vec::new();
        for _ in 0..2 {
            crowd.push(seats.take(&guest("crowd", "a")).await.unwrap());
        }
        let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(async { seats.take(&guest("crowd", "a")).await })).collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }
        // The line is full; somebody else's is not, and a seat is kept for others.
        assert_eq!(seats.take(&guest("crowd", "a")).await.unwrap_err(), Turned::Away);
        let alone = seats.take(&guest("quiet", "b")).await.unwrap();
        drop(alone);
        drop(crowd.pop());
        let called = waiting.remove(0).await.unwrap();
        drop((called, crowd));
    }

    #[tokio::test(start_paused = true)]
    async fn users_of_a_workspace_take_turns() {
        let seats = Seats::new(Bounds { seats: 1, seats_of_one: 1, ..BOUNDS });
        let first = seats.take(&guest("w", "a")).await.unwrap();
        let many: Vec<_> = (0..2)
            .map(|_| {
                tokio::spawn({
                    let seats = seats.clone();
                    async move { seats.take(&guest("w", "a")).await }
                })
            })
            .collect();
        tokio::task::yield_now().await;
        let other = tokio::spawn({
            let seats = seats.clone();
            async move { seats.take(&guest("w", "b")).await }
        });
        tokio::task::yield_now().await;
        drop(first);
        // One of the many was there first; then it is the other's turn.
        let mut many = many.into_iter();
        drop(many.next().unwrap().await.unwrap().unwrap());
        let served = other.await.unwrap().unwrap();
        let last = many.next().unwrap();
        assert!(!last.is_finished());
        drop(served);
        drop(last.await.unwrap().unwrap());
        assert!(seats.lines.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_has_an_end_and_those_who_left_are_passed_over() {
        let seats = Seats::new(Bounds { seats: 1, seats_of_one: 1, ..BOUNDS });
        let held = seats.take(&guest("w", "a")).await.unwrap();
        assert_eq!(seats.take(&guest("w", "a")).await.unwrap_err(), Turned::Late);
        let patient = tokio::spawn({
            let seats = seats.clone();
            async move { seats.take(&guest("v", "b")).await.map(drop) }
        });
        tokio::task::yield_now().await;
        drop(held);
        patient.await.unwrap().unwrap();
        assert!(seats.lines.lock().is_empty());
    }
}
