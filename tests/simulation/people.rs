//! What people do to a hub, each as a request that may come at any time.

use apiserver::client::Client;
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use apiserver::place::{ObjectRef, Workspace};
use apiserver::strategy::Part;
use hanse::apis::definitions::{CELLS, RULES};
use serde_json::{Value, json};

pub(crate) type Resource = (&'static str, &'static str, &'static str);
pub(crate) const NAMESPACES: Resource = ("", "v1", "namespaces");
pub(crate) const CONFIG_MAPS: Resource = ("", "v1", "configmaps");
pub(crate) const DEPLOYMENTS: Resource = ("apps", "v1", "deployments");

const POLICIES: Resource = ("policy.karmada.io", "v1alpha1", "propagationpolicies");
const SCRIPTS: Resource = ("config.karmada.io", "v1alpha1", "resourceinterpretercustomizations");

/// Somebody who may do anything in one workspace. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) client: Client,
    pub(crate) workspace: Workspace,
}

/// A rule that sends what has the label `go: everywhere` to all cells that are not off.
fn everywhere(api_version: &str, kind: &str) -> Value {
    let labels = json!({ "matchLabels": { "go": "everywhere" } });
    let cells = json!({ "labelSelector": { "matchExpressions": [{ "key": "off", "operator": "DoesNotExist" }] } });
    let objects = json!([{ "apiVersion": api_version, "kind": kind, "labelSelector": labels }]);
    json!({ "objects": objects, "cells": cells, "nothingFits": "Withdraw" })
}

impl Person {
    pub(crate) fn at(&self, resource: Resource, namespace: Option<&str>, name: &str) -> ObjectRef {
        self.client.at(resource, &self.workspace, namespace).unwrap().object(name)
    }

    /// Makes something; it may be there already, or be on its way out.
    async fn try_make(&self, resource: Resource, namespace: Option<&str>, tree: Value) {
        let place = self.client.at(resource, &self.workspace, namespace).unwrap();
        let _ = self.client.create(&place, tree).await;
    }

    pub(crate) async fn make(&self, resource: Resource, namespace: Option<&str>, tree: Value) -> Object {
        let place = self.client.at(resource, &self.workspace, namespace).unwrap();
        self.client.create(&place, tree).await.unwrap()
    }

    /// Changes something that may not be there.
    async fn patch(&self, at: &ObjectRef, patch: Value) {
        let _ = self.client.merge(at, Part::Main, &patch).await;
    }

    pub(crate) async fn delete(&self, resource: Resource, namespace: Option<&str>, name: &str) {
        let _ = self.client.delete(&self.at(resource, namespace, name), &DeleteOptions::default()).await;
    }

    pub(crate) async fn list(&self, resource: Resource) -> Vec<Value> {
        let place = self.client.at(resource, &self.workspace, None).unwrap();
        self.client.list(&place).await.unwrap().into_iter().map(Value::from).collect()
    }

    pub(crate) async fn join(&self, cell: &str) {
        let tree = json!({ "metadata": { "name": cell }, "spec": { "workspace": cell } });
        self.try_make(CELLS, None, tree).await;
    }

    /// A cell is wanted by rules from now on, or is not.
    pub(crate) async fn relabel(&self, cell: &str, off: bool) {
        let patch = json!({ "metadata": { "labels": { "off": off.then_some("yes") } } });
        self.patch(&self.at(CELLS, None, cell), patch).await;
    }

    /// What is in a cell is sent away from now on, or is not.
    pub(crate) async fn taint(&self, cell: &str, tainted: bool) {
        let taints = tainted.then(|| json!([{ "key": "down", "effect": "NoExecute" }]));
        self.patch(&self.at(CELLS, None, cell), json!({ "spec": { "taints": taints } })).await;
    }

    /// Rules that send ConfigMaps and Deployments with the label `go: everywhere` to all cells.
    pub(crate) async fn rules_everywhere(&self) {
        for (name, version, kind) in [("all", "v1", "ConfigMap"), ("work", "apps/v1", "Deployment")] {
            let tree = json!({ "metadata": { "name": name }, "spec": everywhere(version, kind) });
            self.try_make(RULES, None, tree).await;
        }
    }

    /// What goes everywhere says this there from now on, besides what it says here.
    pub(crate) async fn add_everywhere(&self, value: Option<&str>) {
        let added = |value: &str| {
            let patch = json!([{ "path": "/data/w", "operator": "add", "value": value }]);
            json!([{ "overriders": { "plaintext": patch } }])
        };
        self.patch(&self.at(RULES, None, "all"), json!({ "spec": { "overrides": value.map(added) } })).await;
    }

    /// A rule that sends ConfigMaps with the label `go: one` to one cell.
    pub(crate) async fn rule_one(&self) {
        let objects =
            json!([{ "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": { "matchLabels": { "go": "one" } } }]);
        let spec = json!({ "objects": objects, "cells": { "pick": 1 } });
        self.make(RULES, None, json!({ "metadata": { "name": "one" }, "spec": spec })).await;
    }

    /// Policies of Karmada that send ConfigMaps with the label `go` to one cell, which they leave when it is tainted or
    /// silent: one of them takes the old copy back before there is a new one, the other after.
    pub(crate) async fn policies_that_move(&self) {
        for (name, purge) in [("directly", "Directly"), ("gracefully", "Gracefully")] {
            let selectors = json!([{ "apiVersion": "v1", "kind": "ConfigMap",
                "labelSelector": { "matchLabels": { "go": name } } }]);
            let placement = json!({
                "clusterAffinity": { "labelSelector": { "matchExpressions": [{ "key": "off", "operator": "DoesNotExist" }] } },
                "spreadConstraints": [{ "spreadByField": "cluster", "minGroups": 1, "maxGroups": 1 }],
            });
            let spec = json!({ "resourceSelectors": selectors, "placement": placement,
                "failover": { "cluster": { "purgeMode": purge } } });
            self.make(POLICIES, Some("n"), json!({ "metadata": { "name": name }, "spec": spec })).await;
        }
    }

    /// For how long the policies let their objects stay in a tainted cell: not at all, so many seconds, or for ever.
    pub(crate) async fn tolerate(&self, seconds: Option<u64>, tolerated: bool) {
        let toleration =
            json!({ "key": "down", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds });
        let tolerations = if tolerated { json!([toleration]) } else { json!(null) };
        for name in ["directly", "gracefully"] {
            let patch = json!({ "spec": { "placement": { "clusterTolerations": tolerations } } });
            self.patch(&self.at(POLICIES, Some("n"), name), patch).await;
        }
    }

    /// ConfigMaps are interpreted by scripts from now on, or no more.
    pub(crate) async fn script(&self, scripted: bool) {
        if !scripted {
            return self.delete(SCRIPTS, None, "maps").await;
        }
        let script = |text: &str| json!({ "luaScript": text });
        let customizations = json!({
            "healthInterpretation": script("function InterpretHealth(observed) return observed.data ~= nil end"),
            "retention": script("function Retain(desired, observed) return desired end"),
        });
        let target = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
        let spec = json!({ "target": target, "customizations": customizations });
        self.try_make(SCRIPTS, None, json!({ "metadata": { "name": "maps" }, "spec": spec })).await;
    }

    /// A ConfigMap in `n` that goes where the rule for this label says.
    pub(crate) async fn send_by(&self, label: &str, name: &str, value: &str) {
        let metadata = json!({ "name": name, "labels": { "go": label } });
        self.try_make(CONFIG_MAPS, Some("n"), json!({ "metadata": metadata, "data": { "v": value } })).await;
    }

    pub(crate) async fn send(&self, name: &str, value: &str) {
        self.send_by("everywhere", name, value).await;
    }

    /// A Deployment in `n` that goes everywhere.
    pub(crate) async fn deploy(&self, name: &str, replicas: u64) {
        let labels = json!({ "app": name });
        let pod =
            json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "a", "image": "a" }] } });
        let spec = json!({ "replicas": replicas, "selector": { "matchLabels": labels }, "template": pod });
        let metadata = json!({ "name": name, "labels": { "go": "everywhere" } });
        self.try_make(DEPLOYMENTS, Some("n"), json!({ "metadata": metadata, "spec": spec })).await;
    }

    pub(crate) async fn scale(&self, name: &str, replicas: u64) {
        let at = self.at(DEPLOYMENTS, Some("n"), name);
        self.patch(&at, json!({ "spec": { "replicas": replicas } })).await;
    }

    pub(crate) async fn change(&self, name: &str, value: &str) {
        self.patch(&self.at(CONFIG_MAPS, Some("n"), name), json!({ "data": { "v": value } })).await;
    }

    /// Sends an object elsewhere: another rule speaks for it.
    pub(crate) async fn redirect(&self, name: &str, label: &str) {
        let patch = json!({ "metadata": { "labels": { "go": label } } });
        self.patch(&self.at(CONFIG_MAPS, Some("n"), name), patch).await;
    }

    /// Deletes an object and does not let it wait for anything.
    pub(crate) async fn force_away(&self, name: &str) {
        self.delete(CONFIG_MAPS, Some("n"), name).await;
        self.patch(&self.at(CONFIG_MAPS, Some("n"), name), json!({ "metadata": { "finalizers": null } })).await;
    }

    /// Takes away one of the records that the server keeps for itself.
    pub(crate) async fn unrecord(&self, resource: Resource, chance: u64) {
        let all = self.list(resource).await;
        if all.is_empty() {
            return;
        }
        let nth = usize::try_from(chance).unwrap_or_default() % all.len();
        let name = all[nth]["metadata"]["name"].as_str().unwrap_or_default();
        self.delete(resource, None, name).await;
    }
}
