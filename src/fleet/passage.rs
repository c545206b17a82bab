//! Requests that go through to a cell, as whoever sends them.

use super::cell::CellId;
use super::session::Fleet;
use crate::apis::definitions::CELLS;
use apiserver::auth::User;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::passage::{Passage, Passed};
use apiserver::place::ObjectRef;
use bytes::Bytes;
use http::Request;
use std::sync::Arc;

/// Leads to the cell that has the name of an object.
#[derive(Debug)]
pub struct Doors {
    pub client: Client,
    pub fleet: Fleet,
}

impl Doors {
    /// Why nobody deals with a cell: there is none, or it has just joined, or it cannot even be tried.
    async fn closed(&self, at: &ObjectRef) -> ApiError {
        let cells = match self.client.at(CELLS, at.workspace(), None) {
            Ok(cells) => cells,
            Err(error) => return error,
        };
        match self.client.get(&cells.object(&at.name)).await {
            Ok(Some(_)) => ApiError::unavailable(format!("nobody has reached the cell {} yet", at.name)),
            Ok(None) => ApiError::not_found(at.resource(), &at.name),
            Err(error) => error,
        }
    }
}

impl Passage for Doors {
    fn pass<'a>(&'a self, at: &'a ObjectRef, user: &'a Arc<User>, request: Request<Bytes>) -> Passed<'a> {
        Box::pin(async move {
            let cell = CellId { workspace: at.workspace().clone(), name: at.name.clone() };
            let Some(session) = self.fleet.session(&cell) else { return Err(self.closed(at).await) };
            let answer = session.api.pass(request, user).await;
            answer.map_err(|error| ApiError::unavailable(error.to_string()))
        })
    }
}
