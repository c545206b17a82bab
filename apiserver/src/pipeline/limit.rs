//! How many requests are answered at the same time, and who waits for whom. Watches do not count: they wait, most of the
//! time; but nobody may have any number of them.

use super::refused;
use crate::api::Api;
use crate::auth::{MASTERS, User};
use crate::error::ApiError;
use crate::fairness::{Bounds, Guest, Seats, Watches, Watching};
use crate::place::Workspace;
use crate::target::Target;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
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
            Target::Objects { .. } | Target::Object { .. } | Target::Discovery(..) | Target::OpenApi(..) => {
                Some(Self::Read)
            }
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

pub(super) async fn limit(
    State((api, limiter)): State<(Api, Arc<Limiter>)>,
    Extension(user): Extension<Arc<User>>,
    Extension(workspace): Extension<Workspace>,
    Extension(target): Extension<Target>,
    request: Request,
    next: Next,
) -> Response {
    let Some(load) = Load::of(&target) else { return next.run(request).await };
    // Whoever may do everything has to be able to put an end to a crowd.
    if user.is_in(MASTERS) {
        return counted(&api, load, request, next).await;
    }
    let guest = Guest { workspace, user: user.name.as_str().into() };
    let seats = match load {
        Load::Watch => return watched(&limiter.watches, guest, request, next).await,
        Load::Read => &limiter.reads,
        Load::Write => &limiter.writes,
    };
    match seats.take(&guest).await {
        Ok(_seat) => counted(&api, load, request, next).await,
        Err(_) => refused(&request, &ApiError::too_many_requests()),
    }
}

async fn counted(api: &Api, load: Load, request: Request, next: Next) -> Response {
    if load == Load::Watch {
        return next.run(request).await;
    }
    api.metrics.in_flight(load == Load::Write, 1);
    let response = next.run(request).await;
    api.metrics.in_flight(load == Load::Write, -1);
    response
}

/// A watch is over when its answer is.
async fn watched(watches: &Watches, guest: Guest, request: Request, next: Next) -> Response {
    let Some(watching) = watches.begin(guest) else { return refused(&request, &ApiError::too_many_requests()) };
    next.run(request).await.map(|body| Body::new(Counted { body, _watching: watching }))
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
