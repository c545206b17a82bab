//! Who is behind a request: what they show, and who vouches for it.
//!
//! A request may come through a front proxy that says who asks ([`header`]), over a connection whose certificate does, or
//! with a token. A token is looked for in a list ([`file`]), among those of service accounts and of nodes that join
//! ([`bootstrap`]), with issuers outside ([`issuers`]), and last with somebody who is asked ([`webhook`]). Whoever shows
//! nothing is anonymous where that is allowed; whoever shows something that nobody vouches for is refused.

pub mod bootstrap;
pub mod file;
pub mod header;
pub mod host;
pub mod issuers;
mod remembered;
pub mod revoked;
pub mod webhook;

pub use remembered::Remembered;

use crate::auth::User;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use file::TokenFile;
use header::FrontProxy;
use host::Host;
use http::HeaderMap;
use http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use issuers::Issuers;
use parking_lot::RwLock;
use revoked::Revoked;
use std::sync::Arc;
use webhook::TokenWebhook;

/// Longer tokens are nobody's: headers as a whole may not be much longer.
const TOKEN_BYTES_MAX: usize = 16 << 10;

/// Who a token belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bearer {
    pub user: User,
    /// Whom it is meant for. `None`: whoever asks.
    pub audiences: Option<Vec<String>>,
}

/// Where nobody has to say who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Anonymous {
    Nowhere,
    Everywhere,
    /// These paths alone.
    At(Vec<String>),
}

impl Anonymous {
    pub fn is_allowed(&self, path: &str) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Everywhere => true,
            Self::At(paths) => paths.iter().any(|allowed| allowed == path),
        }
    }
}

/// What can be changed while the server runs.
#[derive(Clone, Debug)]
pub struct Trusted {
    pub issuers: Arc<Issuers>,
    pub anonymous: Anonymous,
}

impl Default for Trusted {
    fn default() -> Self {
        Self { issuers: Arc::default(), anonymous: Anonymous::Everywhere }
    }
}

/// Everybody who can vouch for somebody, besides this server itself.
#[derive(Debug, Default)]
pub struct Authentication {
    /// Read at each request, replaced when somebody else says who is believed.
    proxy: RwLock<Option<Arc<FrontProxy>>>,
    pub tokens: TokenFile,
    pub webhook: Option<TokenWebhook>,
    /// The API server that this one stands behind.
    pub host: Option<Host>,
    /// Read at each request, replaced when the configuration changes.
    trusted: RwLock<Trusted>,
    /// The same.
    revoked: RwLock<Arc<Revoked>>,
}

impl Authentication {
    pub fn new(proxy: Option<FrontProxy>, tokens: TokenFile, webhook: Option<TokenWebhook>, trusted: Trusted) -> Self {
        let (proxy, trusted) = (RwLock::new(proxy.map(Arc::new)), RwLock::new(trusted));
        Self { proxy, tokens, webhook, host: None, trusted, revoked: RwLock::default() }
    }

    /// The same behind another API server.
    #[must_use]
    pub fn behind(self, host: Option<Host>) -> Self {
        Self { host, ..self }
    }

    pub fn proxy(&self) -> Option<Arc<FrontProxy>> {
        self.proxy.read().clone()
    }

    /// From now on, these are believed.
    pub fn believe(&self, proxy: Option<FrontProxy>) {
        *self.proxy.write() = proxy.map(Arc::new);
    }

    pub fn trusted(&self) -> Trusted {
        self.trusted.read().clone()
    }

    /// From now on, these are trusted.
    pub fn trust(&self, trusted: Trusted) {
        *self.trusted.write() = trusted;
    }

    /// From now on, these are nobody.
    pub fn revoke(&self, revoked: Revoked) {
        *self.revoked.write() = Arc::new(revoked);
    }

    /// Whether somebody who has shown who they are is not recognised any more.
    pub fn is_revoked(&self, user: &User) -> bool {
        let revoked = self.revoked.read().clone();
        revoked.contains(user)
    }

    /// Who a token belongs to that is none of this server's own.
    pub async fn bearer(&self, token: &str, now: i64) -> Option<Bearer> {
        if let Some(user) = self.tokens.find(token) {
            return Some(Bearer { user: user.clone(), audiences: None });
        }
        if let Some(user) = self.trusted().issuers.user(token, now).await {
            return Some(Bearer { user, audiences: None });
        }
        if let Some(webhook) = &self.webhook
            && let Some(user) = webhook.user(token, now).await
        {
            return Some(Bearer { user, audiences: None });
        }
        let user = self.host.as_ref()?.tokens.as_ref()?.user(token, now).await?;
        Some(Bearer { user: User { foreign: true, ..user }, audiences: None })
    }
}

/// The token that a request carries, if it is one that could be somebody's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    Nothing,
    Token(String),
    /// It is no token of anybody.
    Nonsense,
}

/// `Authorization: Bearer ...`, or for browsers, which cannot set it on a WebSocket, a protocol that is none.
pub fn shown(headers: &HeaderMap) -> Shown {
    const PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";
    let bearer = headers.get(AUTHORIZATION).map(|value| {
        let text = value.to_str().unwrap_or_default().trim();
        let (scheme, token) = text.split_once(' ').unwrap_or((text, ""));
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
    });
    let protocols = || headers.get(SEC_WEBSOCKET_PROTOCOL)?.to_str().ok();
    let hidden = protocols().and_then(|all| all.split(',').find_map(|one| one.trim().strip_prefix(PROTOCOL)));
    let token = match (bearer, hidden) {
        // Other schemes are for somebody else.
        (Some(Some(token)), _) => token,
        (_, Some(hidden)) => match URL_SAFE_NO_PAD.decode(hidden).map(String::from_utf8) {
            Ok(Ok(token)) => token,
            _ => return Shown::Nonsense,
        },
        _ => return Shown::Nothing,
    };
    match token.len() {
        // An empty one is as good as none.
        0 => Shown::Nothing,
        length if length > TOKEN_BYTES_MAX => Shown::Nonsense,
        _ => Shown::Token(token),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn a_token_is_found_where_clients_put_it() {
        let check = |name: &'static str, value: &str, expected: Shown| {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_str(value).unwrap())]);
            assert_eq!(shown(&headers), expected, "{name}: {value}");
        };
        let token = |text: &str| Shown::Token(text.to_owned());
        check("authorization", "Bearer abc", token("abc"));
        check("authorization", "bearer  abc ", token("abc"));
        check("authorization", "Bearer", Shown::Nothing);
        check("authorization", "Basic abc", Shown::Nothing);
        check("authorization", &format!("Bearer {}", "x".repeat(TOKEN_BYTES_MAX + 1)), Shown::Nonsense);
        check("sec-websocket-protocol", "a, base64url.bearer.authorization.k8s.io.YWJj, b", token("abc"));
        check("sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.%%%", Shown::Nonsense);
        check("sec-websocket-protocol", "v1.x", Shown::Nothing);
        assert_eq!(shown(&HeaderMap::new()), Shown::Nothing);
    }

    #[test]
    fn anonymous_is_allowed_as_configured() {
        assert!(Anonymous::Everywhere.is_allowed("/x"));
        assert!(!Anonymous::Nowhere.is_allowed("/healthz"));
        let some = Anonymous::At(vec!["/healthz".to_owned()]);
        assert!(some.is_allowed("/healthz") && !some.is_allowed("/healthz/ping"));
    }
}
