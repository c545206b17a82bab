//! A server that is asked things of which the others know nothing: plain requests, plain answers.

use super::api::CellError;
use super::kubeconfig;
use super::remote::Remote;
use super::transport::Transport;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request};
use http_body_util::{BodyExt, Limited};
use std::time::Duration;

/// An answer that takes longer does not come.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// Nobody answers with more.
const ANSWER_BYTES_MAX: usize = 64 << 20;

#[derive(Debug)]
pub struct Line(Remote);

impl Line {
    pub fn new(text: &str) -> Result<Self, CellError> {
        let access = kubeconfig::read(text).map_err(|error| CellError::Unusable(error.to_string()))?;
        Remote::new(&access).map(Self)
    }

    /// The answer to a request: an error, unless it says that all is well.
    pub async fn ask(&self, method: Method, path: &str, content_type: &str, body: Bytes) -> Result<Bytes, CellError> {
        let unusable = |error: http::Error| CellError::Unusable(error.to_string());
        let request = Request::builder().method(method).uri(path).header(CONTENT_TYPE, content_type).body(body);
        let request = request.map_err(unusable)?;
        let late = |_| CellError::Unreachable(format!("no answer in {} seconds", ANSWER_MAX.as_secs()));
        let answer = tokio::time::timeout(ANSWER_MAX, self.0.send(request)).await.map_err(late)??;
        let (parts, body) = answer.into_parts();
        let read = tokio::time::timeout(ANSWER_MAX, Limited::new(body, ANSWER_BYTES_MAX).collect()).await;
        let read = read.map_err(late)?.map_err(|error| CellError::Unreachable(error.to_string()))?.to_bytes();
        if parts.status.is_success() {
            return Ok(read);
        }
        let status: serde_json::Value = serde_json::from_slice(&read).unwrap_or_default();
        let word = |key: &str| status[key].as_str().unwrap_or_default().to_owned();
        let message = Some(word("message")).filter(|text| !text.is_empty()).unwrap_or_else(|| parts.status.to_string());
        Err(CellError::Refused { code: parts.status.as_u16(), reason: word("reason"), message })
    }
}
