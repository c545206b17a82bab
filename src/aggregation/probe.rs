//! Asking a backend whether it is there, and what it serves.

use super::Backends;
use apiserver::auth::{MASTERS, User};
use apiserver::backends::{Address, Backend};
use apiserver::place::Workspace;
use apiserver::relay::{Answer, Known, Question};
use futures_util::stream::{FuturesUnordered, StreamExt};
use http::Method;
use serde_json::Value;
use std::time::Duration;

/// Addresses that are tried at a time; one that answers is enough. Kubernetes' own bounds.
const ATTEMPTS: usize = 5;
const WITHIN: Duration = Duration::from_secs(5);

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

impl Backends {
    /// What the backend says of its group version; the error is what is told to people.
    pub(super) async fn check(
        &self,
        workspace: &Workspace,
        backend: &Backend,
        addresses: &[Address],
    ) -> Result<Answer, String> {
        let user =
            User { name: "system:kube-aggregator".to_owned(), groups: vec![MASTERS.to_owned()], ..User::default() };
        let path = backend.root();
        let question =
            Question { method: &Method::GET, path: &path, accept: "application/json", user: &user, within: WITHIN };
        let attempts = addresses.iter().take(ATTEMPTS).map(async |at| {
            let url = format!("https://{}:{}{path}", at.host, at.port);
            match self.relay.ask_at(workspace, backend, at, question).await {
                Ok(answer) if answer.is_success() => Ok(answer),
                Ok(answer) => {
                    Err(format!("failing or missing response from {url}: bad status from {url}: {}", answer.code))
                }
                Err(error) => Err(format!("failing or missing response from {url}: {}", error.message())),
            }
        });
        let mut attempts: FuturesUnordered<_> = attempts.collect();
        let mut last = Err("there is no address".to_owned());
        while let Some(attempt) = attempts.next().await {
            last = attempt;
            if last.is_ok() {
                break;
            }
        }
        last
    }

    /// `list`: what it said of its group version, in case that it knows no other form.
    pub(super) async fn ask_what_is_served(&self, workspace: &Workspace, backend: &Backend, list: &Answer) -> Known {
        let user = User::authenticated("system:aggregator", Vec::new());
        let fetch = async |path: &str, accept: &str| -> Option<Value> {
            let question = Question { method: &Method::GET, path, accept, user: &user, within: WITHIN };
            let answer = self.relay.ask(workspace, backend, question).await.ok()?;
            if answer.is_success() { serde_json::from_slice(&answer.bytes).ok() } else { None }
        };
        let groups = fetch("/apis", AGGREGATED).await;
        let legacy = || Known::legacy(&serde_json::from_slice(&list.bytes).ok()?, backend);
        let aggregated = groups.as_ref().and_then(|groups| Known::aggregated(groups, backend));
        let known = aggregated.or_else(legacy).unwrap_or_default();
        let index = fetch("/openapi/v3", "application/json").await;
        Known { schema_hash: index.and_then(|index| Known::hash_in(&index, backend)), ..known }
    }
}
