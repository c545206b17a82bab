//! How many requests are answered at the same time, and who waits for whom. Watches do not count: they wait, most of the
//! time; but nobody may have any number of them.

use crate::api::Api;
use crate::auth::User;
use crate::error::ApiError;
use crate::fairness::{Bounds, Guest, Seat, Seats, Watches, Watching};
use crate::place::Workspace;
use crate::target::Target;
use axum::body::Body;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Requests at a time at most, of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub reads: Bounds,
    pub writes: Bounds,
    /// Of one user of one workspace.
    pub watches: usize,
}

impl Default for Limits {
    /// As many as Kubernetes answers at a time, and waits for.
    fn default() -> Self {
        let wait = Duration::from_secs(15);
        Self {
            reads: Bounds { seats: 400, seats_of_one: 32, waiting: 20_000, waiting_of_one: 2_000, wait },
            writes: Bounds { seats: 400, seats_of_one: 128, waiting: 20_000, waiting_of_one: 2_000, wait },
            watches: 10_000,
        }
    }
}

/// What a request weighs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Read,
    Write,
    Watch,
}

impl Load {
    fn of(target: &Target) -> Option<Self> {
        match target {
            _ if target.is_watch() => Some(Self::Watch),
            Target::Objects { verb, .. } | Target::Object { verb, .. } if verb.changes_something() => Some(Self::Write),
            Target::Remote(remote) if remote.verb.changes_something() => Some(Self::Write),
            Target::Remote(_)
            | Target::Objects { .. }
            | Target::Object { .. }
            | Target::Discovery(..)
            | Target::OpenApi(..) => Some(Self::Read),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Limiter {
    reads: Seats,
    writes: Seats,
    watches: Watches,
}

impl Limiter {
    pub(super) fn new(limits: Limits) -> Self {
        let Limits { reads, writes, watches } = limits;
        Self { reads: Seats::new(reads), writes: Seats::new(writes), watches: Watches::new(watches) }
    }
}

/// What holds for as long as a request is being answered.
pub(super) enum Turn<'a> {
    Answering { api: &'a Api, writes: bool, _seat: Option<Seat> },
    Watching(Option<Watching>),
    Free,
}

impl Limiter {
    /// Waits until it is this request's turn.
    pub(super) async fn turn<'a>(
        &self,
        api: &'a Api,
        user: &User,
        workspace: &Workspace,
        target: &Target,
    ) -> Result<Turn<'a>, ApiError> {
        let Some(load) = Load::of(target) else { return Ok(Turn::Free) };
        // Whoever may do everything has to be able to put an end to a crowd.
        if user.is_master() {
            return Ok(Turn::begin(api, load, None));
        }
        let guest = Guest { workspace: workspace.clone(), user: user.name.as_str().into() };
        let seats = match load {
            Load::Watch => {
                let watching = self.watches.begin(guest).ok_or_else(ApiError::too_many_requests)?;
                return Ok(Turn::Watching(Some(watching)));
            }
            Load::Read => &self.reads,
            Load::Write => &self.writes,
        };
        let seat = seats.take(&guest).await.map_err(|_| ApiError::too_many_requests())?;
        Ok(Turn::begin(api, load, Some(seat)))
    }
}

impl<'a> Turn<'a> {
    fn begin(api: &'a Api, load: Load, seat: Option<Seat>) -> Self {
        if load == Load::Watch {
            return Self::Watching(None);
        }
        let writes = load == Load::Write;
        api.metrics.in_flight(writes, 1);
        Self::Answering { api, writes, _seat: seat }
    }

    /// A watch is over when its answer is; everything else when there is one.
    pub(super) fn until_sent(mut self, response: Response) -> Response {
        match &mut self {
            Self::Watching(watching) => match watching.take() {
                Some(watching) => response.map(|body| Body::new(Counted { body, _watching: watching })),
                None => response,
            },
            Self::Answering { .. } | Self::Free => response,
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Self::Answering { api, writes, .. } = self {
            api.metrics.in_flight(*writes, -1);
        }
    }
}

/// An answer that counts for as long as it is being sent.
struct Counted {
    body: Body,
    _watching: Watching,
}

impl http_body::Body for Counted {
    type Data = bytes::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
