//! Objects through which requests go on to what is behind them: a subresource that takes any path, and hands it over.

use crate::auth::User;
use crate::error::ApiError;
use crate::place::ObjectRef;
use axum::response::Response;
use bytes::Bytes;
use http::Request;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// An answer that is waited for. Its body may go on for as long as a watch does.
pub type Passed<'a> = Pin<Box<dyn Future<Output = Result<Response, ApiError>> + Send + 'a>>;

/// Knows what is behind objects.
pub trait Passage: fmt::Debug + Send + Sync {
    /// Answers a request that was permitted to go through an object. Its path is what is behind the object; nothing in
    /// it says who asks but `user`.
    fn pass<'a>(&'a self, at: &'a ObjectRef, user: &'a Arc<User>, request: Request<Bytes>) -> Passed<'a>;
}
