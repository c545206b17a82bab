//! How many requests are answered at the same time. Watches do not count: they wait, most of the time.

use super::refused;
use crate::api::Api;
use crate::error::ApiError;
use crate::target::Target;
use axum::Extension;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Requests in flight at most, of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub reads: usize,
    pub writes: usize,
}

impl Default for Limits {
    /// Kubernetes' own.
    fn default() -> Self {
        Self { reads: 400, writes: 200 }
    }
}

/// What a request weighs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Read,
    Write,
}

impl Load {
    fn of(target: &Target) -> Option<Self> {
        match target {
            _ if target.is_watch() => None,
            Target::Objects { verb, .. } | Target::Object { verb, .. } if verb.changes_something() => Some(Self::Write),
            Target::Objects { .. } | Target::Object { .. } => Some(Self::Read),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Limiter {
    reads: Semaphore,
    writes: Semaphore,
}

impl Limiter {
    pub(super) fn new(limits: Limits) -> Self {
        Self { reads: Semaphore::new(limits.reads), writes: Semaphore::new(limits.writes) }
    }

    fn of(&self, load: Load) -> &Semaphore {
        match load {
            Load::Read => &self.reads,
            Load::Write => &self.writes,
        }
    }
}

pub(super) async fn limit(
    State((api, limiter)): State<(Api, Arc<Limiter>)>,
    Extension(target): Extension<Target>,
    request: Request,
    next: Next,
) -> Response {
    let Some(load) = Load::of(&target) else { return next.run(request).await };
    match limiter.of(load).try_acquire() {
        Ok(_permit) => {
            api.metrics.in_flight(load == Load::Write, 1);
            let response = next.run(request).await;
            api.metrics.in_flight(load == Load::Write, -1);
            response
        }
        Err(_) => refused(&request, &ApiError::too_many_requests()),
    }
}
