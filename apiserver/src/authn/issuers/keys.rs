//! The keys of an issuer: found where it says, fetched when a token needs one that is not known.

use crate::hooks::Endpoint;
use crate::hooks::call::HttpCaller;
use jsonwebtoken::jwk::JwkSet;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// Whoever asks for something waits as long.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// How soon an issuer is asked again, in seconds, when a token names a key that it did not have: somebody who makes up
/// tokens should not make us ask all the time.
const ASK_AGAIN: i64 = 10;

#[derive(Debug)]
pub(super) struct Keys {
    issuer: String,
    discovery: String,
    /// PEM.
    authority: Option<String>,
    caller: HttpCaller,
    /// Held while the issuer is asked, so that it is asked once by however many wait.
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    keys: Option<Arc<JwkSet>>,
    asked: Option<i64>,
}

impl Keys {
    pub(super) fn new(issuer: &str, discovery: Option<&str>, authority: Option<String>, caller: HttpCaller) -> Self {
        let at = || format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let discovery = discovery.map_or_else(at, str::to_owned);
        Self { issuer: issuer.to_owned(), discovery, authority, caller, known: Mutex::default() }
    }

    /// The keys, among which there is one with the id if the issuer has it.
    pub(super) async fn with(&self, id: Option<&str>, now: i64) -> Option<Arc<JwkSet>> {
        let mut known = self.known.lock().await;
        let has = |keys: &Arc<JwkSet>| id.is_none_or(|id| keys.find(id).is_some());
        if let Some(keys) = known.keys.as_ref().filter(|keys| has(keys)) {
            return Some(keys.clone());
        }
        if known.asked.is_some_and(|asked| now < asked + ASK_AGAIN) {
            return known.keys.clone();
        }
        known.asked = Some(now);
        match self.fetch().await {
            Ok(keys) => known.keys = Some(Arc::new(keys)),
            Err(why) => tracing::warn!(issuer = self.issuer, why, "the keys of an issuer cannot be had"),
        }
        known.keys.clone()
    }

    async fn fetch(&self) -> Result<JwkSet, String> {
        let found = self.get(&self.discovery).await?;
        if found.get("issuer").and_then(Value::as_str) != Some(&self.issuer) {
            return Err("it calls itself something else".to_owned());
        }
        let at = found.get("jwks_uri").and_then(Value::as_str).ok_or("it does not say where its keys are")?;
        serde_json::from_value(self.get(at).await?).map_err(|error| error.to_string())
    }

    async fn get(&self, url: &str) -> Result<Value, String> {
        use base64::Engine;
        let authority = self.authority.as_ref().map(|pem| base64::engine::general_purpose::STANDARD.encode(pem));
        let at = Endpoint::read(&json!({ "url": url, "caBundle": authority.unwrap_or_default() }))?;
        self.caller.fetch(&at, ANSWER_MAX).await.map_err(|error| error.to_string())
    }
}
