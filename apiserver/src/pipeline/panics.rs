//! A bug is an answer, not a dead connection.

use crate::call::refuse;
use crate::error::ApiError;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;

pub(super) async fn panics(request: Request, next: Next) -> Response {
    // Nothing of a request is looked at after it panicked.
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => {
            let what = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let what = what.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            tracing::error!(what, "a request panicked");
            refuse(&ApiError::internal("this is a bug, and was logged as one"), None)
        }
    }
}
