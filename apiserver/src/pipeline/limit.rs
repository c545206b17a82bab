//! How many requests are answered at the same time. Watches do not count: they wait, most of the time.

use super::refused;
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

#[derive(Debug)]
pub(super) struct Limiter {
    reads: Semaphore,
    writes: Semaphore,
}

impl Limiter {
    pub(super) fn new(limits: Limits) -> Self {
        Self { reads: Semaphore::new(limits.reads), writes: Semaphore::new(limits.writes) }
    }

    fn of(&self, target: &Target) -> Option<&Semaphore> {
        match target {
            _ if target.is_watch() => None,
            Target::Objects { verb, .. } | Target::Object { verb, .. } if verb.changes_something() => Some(&self.writes),
            Target::Objects { .. } | Target::Object { .. } => Some(&self.reads),
            _ => None,
        }
    }
}

pub(super) async fn limit(
    State(limiter): State<Arc<Limiter>>,
    Extension(target): Extension<Target>,
    request: Request,
    next: Next,
) -> Response {
    let Some(semaphore) = limiter.of(&target) else { return next.run(request).await };
    match semaphore.try_acquire() {
        Ok(_permit) => next.run(request).await,
        Err(_) => refused(&request, &ApiError::too_many_requests()),
    }
}
