//! The events of a watch, out of the lines of an answer that does not end.

use super::api::{CellError, CellEvent, CellEvents};
use axum::body::Body;
use bytes::BytesMut;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use serde_json::Value;

/// The longest line: an object as large as it may be, a few times over.
const LINE_MAX: usize = 16 << 20;

/// Ends when the watch does; after an error nothing follows.
pub(super) fn events(body: Body) -> CellEvents {
    let lines = Lines { body, pending: BytesMut::new(), ended: false };
    stream::unfold(lines, |mut lines| async move { Some((lines.next().await?, lines)) }).boxed()
}

struct Lines {
    body: Body,
    pending: BytesMut,
    ended: bool,
}

impl Lines {
    async fn next(&mut self) -> Option<Result<CellEvent, CellError>> {
        loop {
            if self.ended {
                return None;
            }
            if let Some(end) = self.pending.iter().position(|byte| *byte == b'\n') {
                let line = self.pending.split_to(end + 1);
                if self.pending.is_empty() {
                    // Most watches are silent most of the time, and there is one for each kind in each cell.
                    self.pending = BytesMut::new();
                }
                let event = event(&line);
                self.ended = event.is_err();
                return Some(event);
            }
            match self.body.frame().await {
                None => self.ended = true,
                Some(Err(error)) => return self.end(error.to_string()),
                Some(Ok(frame)) => {
                    if let Some(data) = frame.data_ref() {
                        self.pending.extend_from_slice(data);
                    }
                    if self.pending.len() > LINE_MAX {
                        return self.end("an event is too large".to_owned());
                    }
                }
            }
        }
    }

    fn end(&mut self, why: String) -> Option<Result<CellEvent, CellError>> {
        self.ended = true;
        Some(Err(CellError::Unreachable(why)))
    }
}

fn event(line: &[u8]) -> Result<CellEvent, CellError> {
    let mut tree: Value = serde_json::from_slice(line).map_err(|error| CellError::Unreachable(error.to_string()))?;
    let object = tree["object"].take();
    match tree["type"].as_str() {
        Some("ADDED" | "MODIFIED") => Ok(CellEvent::Changed(object)),
        Some("DELETED") => Ok(CellEvent::Deleted(object)),
        Some("BOOKMARK") => {
            Ok(CellEvent::Bookmark(object["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()))
        }
        _ => Err(CellError::Refused {
            code: object["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500),
            reason: object["reason"].as_str().unwrap_or_default().to_owned(),
            message: object["message"].as_str().unwrap_or_default().to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(chunks: &[&'static str]) -> Vec<Result<CellEvent, CellError>> {
        let chunks: Vec<Result<&'static str, std::io::Error>> = chunks.iter().map(|chunk| Ok(*chunk)).collect();
        events(Body::from_stream(stream::iter(chunks))).collect().await
    }

    #[tokio::test]
    async fn events_are_lines_however_they_are_cut() {
        let found = read(&[
            "{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n{\"type\":\"DEL",
            "ETED\",\"object\":{}}\n{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n",
        ])
        .await;
        let found: Vec<CellEvent> = found.into_iter().map(Result::unwrap).collect();
        let expected = [
            CellEvent::Changed(serde_json::json!({ "a": 1 })),
            CellEvent::Deleted(serde_json::json!({})),
            CellEvent::Bookmark("7".to_owned()),
        ];
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn a_watch_that_is_silent_holds_nothing() {
        let event = "{\"type\":\"ADDED\",\"object\":{}}\n";
        let mut lines = Lines { body: Body::from(event.repeat(2)), pending: BytesMut::new(), ended: false };
        assert!(lines.next().await.is_some_and(|event| event.is_ok()));
        assert_eq!(&lines.pending[..], event.as_bytes(), "the second waits");
        assert!(lines.next().await.is_some_and(|event| event.is_ok()));
        assert_eq!(lines.pending.capacity(), 0);
    }

    #[tokio::test]
    async fn an_error_is_the_last_that_is_told() {
        let gone = "{\"type\":\"ERROR\",\"object\":{\"code\":410,\"reason\":\"Expired\",\"message\":\"m\"}}\n";
        let found = read(&[gone, gone]).await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].as_ref().unwrap_err().code(), Some(410));
    }
}
