//! What this server itself wants of a backend: whether it is there, what it serves, and that things in it go.

use super::forward::{address, unreached};
use super::{Relay, headers};
use crate::auth::User;
use crate::backends::{Address, Backend};
use crate::error::ApiError;
use crate::hooks::call::reason;
use crate::place::Workspace;
use axum::body::Body;
use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use http_body_util::{BodyExt, Limited};
use std::time::Duration;
use tokio::time::timeout;

/// A document that is longer is not one of an API server.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// What Go says when time is up.
const LATE: &str = "context deadline exceeded";

/// A request of the server itself.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub method: &'a Method,
    /// With its query.
    pub path: &'a str,
    pub accept: &'a str,
    /// Who asks.
    pub user: &'a User,
    pub within: Duration,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub code: u16,
    pub content_type: String,
    pub bytes: Bytes,
}

impl Relay {
    /// Asks one of the addresses of a backend.
    pub async fn ask(
        &self,
        workspace: &Workspace,
        backend: &Backend,
        question: Question<'_>,
    ) -> Result<Answer, ApiError> {
        let (_, at) = self.way(workspace, backend, true)?;
        self.ask_at(workspace, backend, &at, question).await
    }

    /// Asks this address of a backend.
    pub async fn ask_at(
        &self,
        workspace: &Workspace,
        backend: &Backend,
        at: &Address,
        question: Question<'_>,
    ) -> Result<Answer, ApiError> {
        let sender = self.line(workspace, backend, at, true)?;
        let mut request = address(question.method, at, question.path)?.body(Body::empty()).unwrap_or_default();
        let mut headers = HeaderMap::new();
        if let Ok(accept) = HeaderValue::from_str(question.accept) {
            headers.insert(header::ACCEPT, accept);
        }
        let named = headers::outgoing(&headers, question.user, headers::Origin::default(), &self.0.name);
        *request.headers_mut() = named.map_err(|why| ApiError::internal(why.to_string()))?;
        let work = async {
            let response = sender.request(request).await.map_err(|error| unreached(&error))?;
            let (parts, body) = response.into_parts();
            let read = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let bytes = read.map_err(|error| ApiError::unavailable(reason(&*error)))?.to_bytes();
            let content_type = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
            let content_type = content_type.unwrap_or_default().to_owned();
            Ok(Answer { code: parts.status.as_u16(), content_type, bytes })
        };
        timeout(question.within, work).await.unwrap_or_else(|_| Err(ApiError::unavailable(LATE)))
    }
}

impl Answer {
    pub fn is_success(&self) -> bool {
        StatusCode::from_u16(self.code).is_ok_and(|code| code.is_success())
    }
}
