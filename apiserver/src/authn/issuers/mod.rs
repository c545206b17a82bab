//! Issuers outside of this server whose tokens are trusted: OpenID Connect, several at once.

mod claims;
mod config;
mod keys;

pub use config::AuthenticationConfiguration;

use super::Remembered;
use crate::auth::User;
use crate::hooks::call::HttpCaller;
use claims::Reader;
use config::JwtAuthenticator;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use keys::Keys;
use serde_json::Value;

/// Signatures by keys that only the issuer has. Nothing that anybody could sign, and nothing that is not signed.
const ALGORITHMS: [Algorithm; 8] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
];

/// How long it counts that a token was found to be good, in seconds; never past its own end.
const COUNTS: i64 = 10;

/// How far the clock of an issuer may be ahead of ours, in seconds.
const AHEAD_MAX: i64 = 300;

/// All that are trusted.
#[derive(Debug, Default)]
pub struct Issuers {
    all: Vec<Issuer>,
    remembered: Remembered<User>,
}

#[derive(Debug)]
struct Issuer {
    url: String,
    audiences: Vec<String>,
    keys: Keys,
    reader: Reader,
}

impl Issuers {
    /// The error names the expression that cannot be used.
    pub fn new(config: &AuthenticationConfiguration, caller: &HttpCaller) -> Result<Self, String> {
        let all = config
            .jwt
            .iter()
            .enumerate()
            .map(|(at, jwt)| Issuer::new(jwt, caller).map_err(|why| format!("jwt[{at}]: {why}")));
        Ok(Self { all: all.collect::<Result<_, String>>()?, remembered: Remembered::default() })
    }

    /// Who a token belongs to, if it is of one of them and good.
    pub(super) async fn user(&self, token: &str, now: i64) -> Option<User> {
        if self.all.is_empty() {
            return None;
        }
        if let Some(user) = self.remembered.get(token, now) {
            return Some(user);
        }
        let said = said_issuer(token)?;
        let issuer = self.all.iter().find(|issuer| issuer.url == said)?;
        match issuer.user(token, now).await {
            Ok((user, end)) => {
                self.remembered.keep(token, end.min(now + COUNTS), user.clone(), now);
                Some(user)
            }
            Err(why) => {
                tracing::debug!(issuer = issuer.url, why, "a token is refused");
                None
            }
        }
    }
}

/// Who a token says signed it. Nothing is believed yet.
fn said_issuer(token: &str) -> Option<String> {
    use base64::Engine;
    let payload = token.split('.').nth(1)?;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).ok()?;
    let claims: Value = serde_json::from_slice(&bytes).ok()?;
    Some(claims.get("iss")?.as_str()?.to_owned())
}

impl Issuer {
    fn new(jwt: &JwtAuthenticator, caller: &HttpCaller) -> Result<Self, String> {
        let config::Issuer { url, discovery_url, certificate_authority, audiences, .. } = &jwt.issuer;
        Ok(Self {
            url: url.clone(),
            audiences: audiences.clone(),
            keys: Keys::new(url, discovery_url.as_deref(), certificate_authority.clone(), caller.clone()),
            reader: Reader::compile(jwt)?,
        })
    }

    /// Who the token belongs to, and until when it is good.
    async fn user(&self, token: &str, now: i64) -> Result<(User, i64), String> {
        let header = jsonwebtoken::decode_header(token).map_err(|error| error.to_string())?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(format!("{:?} is no signature", header.alg));
        }
        let keys = self.keys.with(header.kid.as_deref(), now).await.ok_or("no keys are known")?;
        let named = keys.keys.iter().filter(|key| match &header.kid {
            Some(id) => key.common.key_id.as_ref() == Some(id),
            None => true,
        });
        let mut rules = Validation::new(header.alg);
        // The clock is ours, and so are the audiences.
        rules.validate_exp = false;
        rules.validate_nbf = false;
        rules.validate_aud = false;
        rules.set_issuer(&[&self.url]);
        rules.set_required_spec_claims(&["exp", "iss", "aud"]);
        let signed = named.filter_map(|key| DecodingKey::from_jwk(key).ok());
        let claims = signed.into_iter().find_map(|key| jsonwebtoken::decode::<Value>(token, &key, &rules).ok());
        let claims = claims.ok_or("none of its keys has signed it")?.claims;
        let end = self.check(&claims, now)?;
        self.reader.user(&claims).map(|user| (user, end))
    }

    /// Whether claims are for us and for now; until when they are.
    fn check(&self, claims: &Value, now: i64) -> Result<i64, String> {
        let seconds = |name: &str| claims.get(name).and_then(Value::as_f64).map(|seconds| seconds as i64);
        let end = seconds("exp").ok_or("it never ends")?;
        if now >= end {
            return Err("it has ended".to_owned());
        }
        if seconds("nbf").is_some_and(|begin| now + AHEAD_MAX < begin) {
            return Err("it has not begun".to_owned());
        }
        let ours =
            |audience: &Value| audience.as_str().is_some_and(|name| self.audiences.iter().any(|one| one == name));
        match claims.get("aud") {
            Some(Value::Array(all)) if all.iter().any(ours) => Ok(end),
            Some(one) if ours(one) => Ok(end),
            _ => Err("it is meant for others".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_token_is_too_strange_to_ask_who_signed_it(text in "[A-Za-z0-9._=-]{0,80}|\\PC{0,40}") {
            let _ = said_issuer(&text);
            let _ = super::super::bootstrap::BootstrapToken::parse(&text);
        }
    }
}
