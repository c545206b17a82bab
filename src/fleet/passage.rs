//! Requests that go through to a cell, as whoever sends them.

use super::cell::CellId;
use super::session::Fleet;
use apiserver::auth::User;
use apiserver::error::ApiError;
use apiserver::passage::{Passage, Passed};
use apiserver::place::ObjectRef;
use bytes::Bytes;
use http::Request;
use std::sync::Arc;

/// Leads to the cell that has the name of an object.
#[derive(Debug)]
pub struct Doors(pub Fleet);

impl Passage for Doors {
    fn pass<'a>(&'a self, at: &'a ObjectRef, user: &'a Arc<User>, request: Request<Bytes>) -> Passed<'a> {
        Box::pin(async move {
            let cell = CellId { workspace: at.workspace().clone(), name: at.name.clone() };
            let session = self.0.session(&cell).ok_or_else(|| ApiError::not_found(at.resource(), &at.name))?;
            let answer = session.api.pass(request, user).await;
            answer.map_err(|error| ApiError::unavailable(error.to_string()))
        })
    }
}
