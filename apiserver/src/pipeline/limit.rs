//! How many requests are answered at the same time, and who waits for whom. Watches count until they have begun: after
//! that they wait, most of the time; but nobody may have any number of them.

mod estimate;

use super::trace::Noted;
use crate::api::Api;
use crate::auth::{Asked, Attributes, User};
use crate::error::ApiError;
use crate::fairness::{Bounds, Costs, Guest, Listed, Rates, Seat, Seats, Turned, Watcher, Watches, Watching};
use crate::place::Workspace;
use crate::target::{Dump, Target};
use axum::body::Body;
use axum::response::Response;
use estimate::Sizes;
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
    /// Requests of one workspace; any number, if there is none.
    pub per_second: Option<u32>,
}

impl Default for Limits {
    /// As many as Kubernetes answers at a time, and waits for.
    fn default() -> Self {
        let wait = Duration::from_secs(15);
        Self {
            reads: Bounds { seats: 400, seats_of_one: 32, waiting: 20_000, waiting_of_one: 4_000, wait },
            writes: Bounds { seats: 400, seats_of_one: 128, waiting: 20_000, waiting_of_one: 4_000, wait },
            watches: 10_000,
            per_second: None,
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
            | Target::Content(_)
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
    sizes: Sizes,
    rates: Rates,
    costs: Costs,
}

impl Limiter {
    pub(super) fn new(limits: Limits) -> Self {
        let Limits { reads, writes, watches, per_second } = limits;
        let (reads, writes) = (Seats::new(reads), Seats::new(writes));
        let (watches, rates) = (Watches::new(watches), Rates::new(per_second));
        Self { reads, writes, watches, sizes: Sizes::default(), rates, costs: Costs::default() }
    }
}

/// What holds for as long as a request is being answered.
pub(super) struct Turn<'a> {
    api: &'a Api,
    /// What is counted as being answered: whether it writes.
    counted: Option<bool>,
    watching: Option<Watching>,
    _seat: Option<Seat>,
    listed: Option<(&'a Sizes, usize)>,
}

impl Limiter {
    /// Waits until it is this request's turn.
    pub(super) async fn turn<'a>(
        &'a self,
        api: &'a Api,
        user: &Arc<User>,
        (workspace, target): (&Workspace, &Target),
        (asked, query): (&Asked, Option<&str>),
        noted: &mut Noted,
    ) -> Result<Turn<'a>, ApiError> {
        let flows = api.resources.flows(workspace)?;
        // Whoever is somebody elsewhere only belongs to nobody's flow here.
        let known = user.is_somebody_in(workspace);
        let class = if known { flows.classify(user, &Attributes::of(target, asked)) } else { flows.last(user) };
        let class = class.ok_or_else(|| ApiError::internal("there is no flow schema"))?;
        noted.flow = Some(class.schema.clone());
        let mut turn = Turn { api, counted: None, watching: None, _seat: None, listed: None };
        let Some(load) = Load::of(target) else { return Ok(turn) };
        turn.begin(load);
        // Whoever may do everything has to be able to put an end to a crowd. Masters of one workspace cannot: they are
        // exempt in it, and it has its seats.
        if user.is_master() {
            return Ok(turn);
        }
        if load == Load::Watch {
            let watcher = Watcher { workspace: workspace.clone(), user: user.name.clone() };
            turn.watching = Some(self.watches.begin(watcher).ok_or_else(ApiError::too_many_requests)?);
        }
        let size = self.sizes.of(target);
        turn.listed = size.map(|at| (&self.sizes, at));
        let width = size.map_or(1, |at| self.sizes.seats(at, query));
        let arrived = api.resources.ambient().now();
        let guest = Guest { workspace: workspace.clone(), user: user.clone(), class, width, arrived };
        let seats = if load == Load::Write { &self.writes } else { &self.reads };
        let taken = seats.take(&guest, &flows).await;
        turn._seat = Some(taken.map_err(|turned| {
            api.metrics.turned(if turned == Turned::Late { "time-out" } else { "queue-full" });
            ApiError::too_many_requests()
        })?);
        Ok(turn)
    }

    /// Refuses what a workspace asks too often. Only those count who may ask.
    pub(super) fn pace(&self, api: &Api, user: &User, workspace: &Workspace, target: &Target) -> Result<(), ApiError> {
        let counts = Load::of(target).is_some() && !user.is_master();
        if !counts || self.rates.take(workspace, api.resources.ambient().now()) {
            return Ok(());
        }
        api.metrics.turned("rate");
        Err(ApiError::too_many_requests())
    }

    /// Takes in what a request of a workspace has cost.
    pub(super) fn note(&self, workspace: &Workspace, took: Duration) {
        self.costs.note(workspace, took);
    }

    /// Which workspaces have cost most.
    pub(super) fn costs(&self, api: &Api) -> String {
        self.costs.told(|workspace| api.workspaces.path(workspace)).to_string()
    }

    /// What goes on in a workspace, in its own words.
    pub(super) fn dump(&self, api: &Api, workspace: &Workspace, what: Dump) -> Result<String, ApiError> {
        Ok(what.text(&[&self.reads, &self.writes], workspace, &*api.resources.flows(workspace)?))
    }

    pub(super) fn waiting(&self) -> usize {
        self.reads.waiting() + self.writes.waiting()
    }
}

impl Turn<'_> {
    fn begin(&mut self, load: Load) {
        if load != Load::Watch {
            self.counted = Some(load == Load::Write);
            self.api.metrics.in_flight(load == Load::Write, 1);
        }
    }

    /// A watch is over when its answer is; everything else when there is one.
    pub(super) fn until_sent(mut self, mut response: Response) -> Response {
        if let (Some((sizes, at)), Some(listed)) = (self.listed, response.extensions_mut().remove::<Listed>()) {
            sizes.note(at, listed);
        }
        match self.watching.take() {
            Some(watching) => response.map(|body| Body::new(Counted { body, _watching: watching })),
            None => response,
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(writes) = self.counted {
            self.api.metrics.in_flight(writes, -1);
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
