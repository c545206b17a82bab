//! Who asks: whoever a front proxy, the certificate of the connection or a token says.

use super::behind;
use crate::api::Api;
use crate::auth::User;
use crate::authn::{Shown, shown};
use crate::error::ApiError;
use crate::place::Workspace;
use axum::extract::Request;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use std::sync::Arc;

/// Who is at the other end of a connection, as far as its handshake tells.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// Who the certificate says it is, if an authority of clients signed it.
    pub user: Option<Arc<User>>,
    /// The common name of the certificate, if an authority of front proxies signed it.
    pub proxy: Option<Arc<str>>,
}

impl Peer {
    /// Somebody with a certificate.
    pub fn user(user: User) -> Self {
        Self { user: Some(Arc::new(user)), proxy: None }
    }
}

pub(super) async fn authenticate(
    api: &Api,
    workspace: &Workspace,
    request: &mut Request,
) -> Result<Arc<User>, ApiError> {
    let peer = request.extensions().get::<Peer>().cloned().unwrap_or_default();
    let through = through_proxy(api, &peer, request.headers_mut());
    let user = match through.or(peer.user) {
        Some(user) => user,
        None => {
            let (shown, anonymous) = (shown(request.headers()), api.authentication.trusted().anonymous);
            let may_be_nobody = anonymous.is_allowed(request.uri().path());
            by_token(api, workspace, shown, may_be_nobody).await?
        }
    };
    // At each request, not only when a connection begins: what was shown then may be worth nothing now.
    if api.authentication.is_revoked(&user) {
        return Err(ApiError::unauthorized());
    }
    // Nobody further in has any use for it.
    request.headers_mut().remove(AUTHORIZATION);
    behind::confined(api, user)
}

/// Whom a front proxy speaks for. What it says is taken off; from everybody else it was never said.
fn through_proxy(api: &Api, peer: &Peer, headers: &mut HeaderMap) -> Option<Arc<User>> {
    let proxy = api.authentication.proxy()?;
    let believed = peer.proxy.as_deref().is_some_and(|name| proxy.believes(name));
    let user = if believed { proxy.user(headers) } else { None };
    proxy.strip(headers);
    let foreign = api.authentication.host.is_some();
    user.map(|user| Arc::new(User { foreign, ..user }))
}

async fn by_token(api: &Api, workspace: &Workspace, shown: Shown, may_be_nobody: bool) -> Result<Arc<User>, ApiError> {
    match shown {
        Shown::Token(token) => {
            let bearer = api.bearer(&token, workspace).await.filter(|bearer| api.is_meant(bearer));
            bearer.map(|bearer| Arc::new(bearer.user)).ok_or_else(ApiError::unauthorized)
        }
        Shown::Nothing if may_be_nobody => Ok(Arc::new(User::anonymous())),
        Shown::Nothing | Shown::Nonsense => Err(ApiError::unauthorized()),
    }
}
