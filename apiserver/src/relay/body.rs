//! An answer on its way through: piece by piece, as the backend sends it and the client takes it, and not forever.

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Time was over before the answer was.
#[derive(Debug, thiserror::Error)]
#[error("the answer of the backend took too long")]
struct Late;

struct Through {
    body: Incoming,
    late: Option<Pin<Box<Sleep>>>,
    /// Of what goes on for as long as the client likes: the server ends.
    stopped: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

/// `until` of an answer that has an end; others end with the server.
pub(super) fn through(body: Incoming, until: Option<Instant>, stopping: &CancellationToken) -> Body {
    let late = until.map(|until| Box::pin(sleep_until(until)));
    let stopped = until.is_none().then(|| Box::pin(stopping.clone().cancelled_owned()));
    Body::new(Through { body, late, stopped })
}

impl http_body::Body for Through {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(axum::Error::new)));
        }
        if self.late.as_mut().is_some_and(|late| late.as_mut().poll(context).is_ready()) {
            return Poll::Ready(Some(Err(axum::Error::new(Late))));
        }
        if self.stopped.as_mut().is_some_and(|stopped| stopped.as_mut().poll(context).is_ready()) {
            return Poll::Ready(None);
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
