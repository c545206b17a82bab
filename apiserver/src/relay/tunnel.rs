//! Connections on which client and backend speak something else than HTTP: carried through as they are.

use super::forward::{refuse_redirect, unreached};
use super::headers::incoming;
use super::lines::Sender;
use crate::error::ApiError;
use axum::body::Body;
use axum::response::Response;
use http::header::{self, HeaderValue};
use http::{Request, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

/// Asks the backend, and if it agrees, joins both ends for as long as neither ends it.
pub(super) async fn open(
    sender: Sender,
    mut request: Request<Body>,
    (client, protocol): (OnUpgrade, HeaderValue),
    room: OwnedSemaphorePermit,
    stopping: &CancellationToken,
) -> Result<Response, ApiError> {
    request.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    request.headers_mut().insert(header::UPGRADE, protocol);
    let mut response = sender.request(request).await.map_err(|error| unreached(&error))?;
    let (status, mut headers) = (response.status(), incoming(response.headers()));
    refuse_redirect(status, response.headers())?;
    if status != StatusCode::SWITCHING_PROTOCOLS {
        let mut passed = response.map(Body::new);
        *passed.headers_mut() = headers;
        return Ok(passed);
    }
    if let Some(protocol) = response.headers().get(header::UPGRADE) {
        headers.insert(header::UPGRADE, protocol.clone());
    }
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    let backend = hyper::upgrade::on(&mut response);
    let stopping = stopping.clone();
    // It ends with either end or with the server, and its permit with it.
    tokio::spawn(async move {
        let joined = async {
            let (client, backend) = (client.await?, backend.await?);
            let _ = copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(backend)).await;
            Ok::<_, hyper::Error>(())
        };
        if let Some(Err(error)) = stopping.run_until_cancelled(joined).await {
            tracing::debug!(%error, "a connection was not handed over");
        }
        drop(room);
    });
    let mut agreed = Response::new(Body::empty());
    *agreed.status_mut() = status;
    *agreed.headers_mut() = headers;
    Ok(agreed)
}
