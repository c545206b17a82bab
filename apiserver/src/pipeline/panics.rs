//! A bug is an answer, not a dead connection.

use crate::error::ApiError;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;

/// What the steps come to. The error of the outer result is that of a panic.
pub(super) async fn caught<T>(steps: impl Future<Output = T>) -> Result<T, ApiError> {
    // Nothing of a request is looked at after it panicked.
    AssertUnwindSafe(steps).catch_unwind().await.map_err(|panic| {
        let what = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let what = what.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        tracing::error!(what, "a request panicked");
        ApiError::internal("this is a bug, and was logged as one")
    })
}
