//! Who asks: whoever the client certificate of the connection says.

use super::refused;
use crate::auth::User;
use crate::error::ApiError;
use crate::target::Target;
use axum::Extension;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;

/// Who is at the other end of a connection, as far as its handshake tells.
#[derive(Clone, Debug, Default)]
pub struct Peer(pub Option<Arc<User>>);

pub(super) async fn authenticate(
    Extension(target): Extension<Target>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let public = matches!(target, Target::Version | Target::Health(..));
    let user = match peer.0 {
        Some(user) => user,
        None if public => Arc::new(User::anonymous()),
        None => return refused(&request, &ApiError::unauthorized()),
    };
    request.extensions_mut().insert(user);
    next.run(request).await
}
