//! What API servers behind this one have in a namespace that is to go: they are asked to delete it, too.

use super::conditions::Facts;
use super::{NamespaceKey, Namespaces};
use apiserver::auth::User;
use apiserver::backends::Backend;
use apiserver::error::ApiError;
use apiserver::relay::{Question, Relay, Served};
use http::Method;
use serde_json::Value;
use std::time::Duration;

const WITHIN: Duration = Duration::from_secs(30);

/// Enough to know that something is left.
const COUNTED_MAX: usize = 500;

impl Namespaces {
    /// Deletes what others have in the namespace, and says what is left of it.
    pub(super) async fn empty_elsewhere(&self, key: &NamespaceKey) -> Result<Facts, ApiError> {
        let mut facts = Facts::default();
        let Some(relay) = &self.relay else { return Ok(facts) };
        for backend in self.client.backends(&key.workspace)?.iter().flat_map(|all| all.iter()) {
            let known = relay.known(&key.workspace, &backend.group, &backend.version);
            let Some(known) = known.filter(|_| backend.available) else {
                let both = format!("{}/{}", backend.group, backend.version);
                facts.undiscovered.push(format!("{both}: stale GroupVersion discovery: {both}"));
                continue;
            };
            for resource in known.served().filter(can_be_emptied) {
                match empty(relay, key, backend, &resource).await {
                    Ok(0) => {}
                    Ok(left) => drop(facts.remaining.insert(format!("{}.{}", resource.plural, backend.group), left)),
                    Err(error) => facts.failures.push(error.to_string()),
                }
            }
        }
        Ok(facts)
    }
}

fn can_be_emptied(resource: &Served) -> bool {
    let has = |verb: &str| resource.verbs.iter().any(|known| known == verb);
    resource.namespaced && has("list") && has("deletecollection")
}

/// How many objects are left.
async fn empty(relay: &Relay, key: &NamespaceKey, backend: &Backend, of: &Served) -> Result<usize, ApiError> {
    let path = format!("{}/namespaces/{}/{}", backend.root(), key.name, of.plural);
    let user = User::system("upkeep");
    let ask = async |method: Method, path: &str| {
        let accept = "application/json";
        let question = Question { method: &method, path, accept, user: &user, within: WITHIN };
        let answer = relay.ask(&key.workspace, backend, question).await?;
        if answer.is_success() || answer.code == 404 {
            return Ok(answer);
        }
        let said: Value = serde_json::from_slice(&answer.bytes).unwrap_or_default();
        let why = said["message"].as_str().map_or_else(|| answer.code.to_string(), str::to_owned);
        Err(ApiError::unavailable(format!("{method} {path}: {why}")))
    };
    let listed = format!("{path}?limit={COUNTED_MAX}");
    let count = async || -> Result<usize, ApiError> {
        let list: Value = serde_json::from_slice(&ask(Method::GET, &listed).await?.bytes).unwrap_or_default();
        Ok(list["items"].as_array().map_or(0, Vec::len))
    };
    if count().await? == 0 {
        return Ok(0);
    }
    ask(Method::DELETE, &path).await?;
    count().await
}
