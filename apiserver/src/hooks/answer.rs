//! What came back from a hook, read as Kubernetes' client reads answers.

use super::syntax;
use crate::body::Body;
use crate::media::Encoding;
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use serde_json::{Value, json};
use std::error::Error;
use std::io;
use std::time::Duration;

/// What is repeated of a text that should have been a review: Kubernetes' own bound.
const TEXT_BYTES_MAX: usize = 2048;

/// YAML takes long to read, and nobody means to send it.
const YAML_BYTES_MAX: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) code: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Reads an answer that is not too large.
pub(super) async fn read(response: Response<Incoming>, max: usize) -> Result<Answer, String> {
    let (parts, body) = response.into_parts();
    match Limited::new(body, max).collect().await {
        Ok(body) => Ok(Answer { code: parts.status, headers: parts.headers, body: body.to_bytes() }),
        Err(error) if error.is::<LengthLimitError>() => Err(format!("the answer is larger than {max} bytes")),
        Err(error) => Err(broken_off(&*error)),
    }
}

/// Why the rest of an answer did not come.
fn broken_off(error: &(dyn Error + 'static)) -> String {
    let chain = || std::iter::successors(Some(error), |error| (*error).source());
    let is_short = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
    if chain().filter_map(|error| error.downcast_ref()).any(is_short) {
        return "unexpected EOF".to_owned();
    }
    chain().last().map(ToString::to_string).unwrap_or_default()
}

impl Answer {
    fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// How long the hook wants to be left alone before it is asked again.
    pub(super) fn asks_for_patience(&self) -> Option<Duration> {
        let busy = self.code == StatusCode::TOO_MANY_REQUESTS || self.code.is_server_error();
        let secs: i64 = self.header(header::RETRY_AFTER).parse().ok()?;
        busy.then(|| Duration::from_secs(u64::try_from(secs).unwrap_or_default()))
    }

    /// The tree that was sent, or why none was.
    /// In what words it was refused.
    pub(super) fn refusal(&self) -> String {
        self.status_message().unwrap_or_else(|| self.unexpected())
    }

    pub(super) fn tree(&self) -> Result<Value, String> {
        if !(200..=206).contains(&self.code.as_u16()) {
            return Err(self.refusal());
        }
        if self.body.is_empty() {
            let content_type = Some(self.header(header::CONTENT_TYPE)).filter(|given| !given.is_empty());
            let (code, content_type) = (self.code.as_u16(), content_type.unwrap_or("application/json"));
            return Err(format!("0-length response with status code: {code} and content type: {content_type}"));
        }
        let unreadable = |why: &str| format!("couldn't get version/kind; json parse error: {why}");
        let tree = if self.body.trim_ascii_start().starts_with(b"{") {
            serde_json::from_slice(&self.body).map_err(|error| unreadable(&syntax::words(&self.body, &error)))?
        } else if self.body.len() > YAML_BYTES_MAX {
            return Err(unreadable("the answer does not begin like an object"));
        } else {
            // Go takes for YAML whatever does not begin like an object.
            let body = Body::Encoded { bytes: self.body.clone(), encoding: Encoding::Yaml };
            body.tree().map_err(|error| error.to_string())?
        };
        match tree {
            Value::Object(_) => Ok(tree),
            Value::Null => Ok(json!({})),
            other => {
                let fields =
                    r#"APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"""#;
                Err(unreadable(&syntax::mismatch(&other, &format!("value of type struct {{ {fields} }}"))))
            }
        }
    }

    /// What a `Status` says went wrong.
    fn status_message(&self) -> Option<String> {
        let tree: Value = serde_json::from_slice(&self.body).ok()?;
        let word = |field: &str| tree.get(field).and_then(Value::as_str);
        let is_failure = word("kind") == Some("Status") && word("status") == Some("Failure");
        is_failure.then(|| word("message").unwrap_or_default().to_owned())
    }

    fn text(&self) -> String {
        let content_type = self.header(header::CONTENT_TYPE);
        if !content_type.is_empty() && !content_type.starts_with("text/") {
            return "unknown".to_owned();
        }
        let part = &self.body[..self.body.len().min(TEXT_BYTES_MAX)];
        String::from_utf8_lossy(part).trim().to_owned()
    }

    /// What an answer means that is none.
    fn unexpected(&self) -> String {
        let text = match self.code.as_u16() {
            400 => "the server rejected our request for an unknown reason",
            401 => "the server has asked for the client to provide credentials",
            403 | 415 => return self.text(),
            404 => "the server could not find the requested resource",
            405 => "the server does not allow this method on the requested resource",
            406 => match self.text().as_str() {
                "" | "unknown" => "the server was unable to respond with a content type that the client supports",
                said => return said.to_owned(),
            },
            409 => "the server reported a conflict",
            422 => "the server rejected our request due to an error in our request",
            429 => "the server has received too many requests and has asked us to try again later",
            503 => "the server is currently unable to handle the request",
            504 => {
                "the server was unable to return a response in the time allotted, but may still be processing the request"
            }
            500.. => {
                return format!("an error on the server ({:?}) has prevented the request from succeeding", self.text());
            }
            code => {
                return format!("the server responded with the status code {code} but did not return more information");
            }
        };
        text.to_owned()
    }
}
