//! What everybody expects in a namespace: an account for what runs in it, and what to trust this server by.

use super::key::{NAMESPACES, NamespaceKey};
use crate::controller::{Action, Controller, Reconciler, changes_of};
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::Object;
use apiserver::strategy::Part;
use serde_json::{Value, json};

const ACCOUNTS: (&str, &str, &str) = ("", "v1", "serviceaccounts");
const CONFIG_MAPS: (&str, &str, &str) = ("", "v1", "configmaps");
const ACCOUNT: &str = "default";
const TRUST: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
const DESCRIBED: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
                         endpoints such as the internal service IP or kubernetes.default.svc. No other usage is \
                         guaranteed across distributions of Kubernetes clusters.";

pub(super) fn controller(client: &Client, ca_pem: &str) -> Controller<Defaults> {
    Controller::new(Defaults { client: client.clone(), ca_pem: ca_pem.to_owned() })
        .source(changes_of(client, NAMESPACES, NamespaceKey::of_namespace))
        .source(changes_of(client, ACCOUNTS, |seen| named(seen, ACCOUNT)))
        .source(changes_of(client, CONFIG_MAPS, |seen| named(seen, TRUST)))
}

/// The namespace of an object of this name.
fn named(seen: &Seen, name: &str) -> Option<NamespaceKey> {
    if keyspace::parse(&seen.key)?.name == name { NamespaceKey::containing(seen) } else { None }
}

pub(super) struct Defaults {
    client: Client,
    ca_pem: String,
}

/// What is missing in a namespace.
#[derive(Debug, PartialEq)]
enum Missing {
    Account,
    Trust,
    /// It is there, and should be changed like this.
    Repair(Value),
}

impl Reconciler for Defaults {
    type Key = NamespaceKey;

    fn name(&self) -> &'static str {
        "defaults"
    }

    async fn reconcile(&self, key: &NamespaceKey) -> Result<Action, ApiError> {
        let namespace = self.client.get(&key.place(&self.client)?).await?;
        if namespace.is_none_or(|namespace| namespace.is_deleting()) {
            return Ok(Action::Done);
        }
        let place = |resource| self.client.at(resource, &key.workspace, Some(&key.name));
        let account = self.client.get(&place(ACCOUNTS)?.object(ACCOUNT)).await?;
        let trust = self.client.get(&place(CONFIG_MAPS)?.object(TRUST)).await?;
        for missing in decide(account.as_ref(), trust.as_ref(), &self.ca_pem) {
            self.provide(key, missing).await?;
        }
        Ok(Action::Done)
    }
}

fn decide(account: Option<&Object>, trust: Option<&Object>, ca_pem: &str) -> Vec<Missing> {
    let mut missing = Vec::new();
    if account.is_none() {
        missing.push(Missing::Account);
    }
    match trust {
        None => missing.push(Missing::Trust),
        Some(trust) => missing.extend(repair(trust, ca_pem).map(Missing::Repair)),
    }
    missing
}

/// How to bring back what should be there; whatever else is in the data does not belong.
fn repair(trust: &Object, ca_pem: &str) -> Option<Value> {
    let data = trust.get("data").and_then(Value::as_object);
    let mut change = serde_json::Map::new();
    for key in data.into_iter().flat_map(|data| data.keys()).filter(|key| *key != "ca.crt") {
        change.insert(key.clone(), Value::Null);
    }
    let right = trust.text(&["data", "ca.crt"]) == ca_pem && change.is_empty();
    if right && !trust.text(&["metadata", "annotations", DESCRIPTION]).is_empty() {
        return None;
    }
    change.insert("ca.crt".to_owned(), ca_pem.into());
    let metadata = json!({
        "annotations": { DESCRIPTION: DESCRIBED }, "uid": trust.uid(), "resourceVersion": trust.resource_version(),
    });
    Some(json!({ "metadata": metadata, "data": change }))
}

impl Defaults {
    async fn provide(&self, key: &NamespaceKey, missing: Missing) -> Result<(), ApiError> {
        let place = |resource| self.client.at(resource, &key.workspace, Some(&key.name));
        match missing {
            Missing::Account => self.client.ensure(&place(ACCOUNTS)?, json!({ "metadata": { "name": ACCOUNT } })).await,
            Missing::Trust => {
                let metadata = json!({ "name": TRUST, "annotations": { DESCRIPTION: DESCRIBED } });
                let trust = json!({ "metadata": metadata, "data": { "ca.crt": self.ca_pem } });
                self.client.ensure(&place(CONFIG_MAPS)?, trust).await
            }
            Missing::Repair(patch) => {
                let trust = place(CONFIG_MAPS)?.object(TRUST);
                self.client.merge(&trust, Part::Main, &patch).await.map(drop)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(account: bool, trust: Option<Value>, expect: &[Missing]) {
        let account = account.then(|| json!({}).try_into().unwrap());
        let trust = trust.map(|tree| tree.try_into().unwrap());
        assert_eq!(decide(account.as_ref(), trust.as_ref(), "PEM"), expect);
    }

    fn trust(data: Value, annotations: Value) -> Option<Value> {
        Some(json!({ "metadata": { "uid": "u", "resourceVersion": "7", "annotations": annotations }, "data": data }))
    }

    fn repaired(data: Value) -> Missing {
        let metadata = json!({ "annotations": { DESCRIPTION: DESCRIBED }, "uid": "u", "resourceVersion": "7" });
        Missing::Repair(json!({ "metadata": metadata, "data": data }))
    }

    #[test]
    fn what_is_missing_is_made_and_what_was_changed_is_changed_back() {
        check(false, None, &[Missing::Account, Missing::Trust]);
        let described = || json!({ DESCRIPTION: "in other words" });
        check(true, trust(json!({ "ca.crt": "PEM" }), described()), &[]);
        check(false, trust(json!({ "ca.crt": "PEM" }), described()), &[Missing::Account]);
        check(true, trust(json!({ "ca.crt": "PEM" }), json!({})), &[repaired(json!({ "ca.crt": "PEM" }))]);
        check(true, trust(json!({ "ca.crt": "no" }), described()), &[repaired(json!({ "ca.crt": "PEM" }))]);
        let more = json!({ "ca.crt": "PEM", "more": "x" });
        check(true, trust(more, described()), &[repaired(json!({ "ca.crt": "PEM", "more": null }))]);
    }
}
