//! Cells as Karmada's Cluster, and Cluster as what the scheduler knows of a cell.

use crate::apis;
use crate::apis::Kind;
use crate::apis::quantity;
use crate::dialects::read;
use crate::scheduler::Cell;
use crate::scheduler::cell::Capacity;
use crate::scheduler::cell::NodeModel;
use crate::scheduler::cell::Serves;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reads a Cluster.
pub fn cell(cluster: &Value) -> Cell {
    let said = |keys: &[&str]| apis::text(cluster, keys).unwrap_or_default().to_owned();
    let mut zones = apis::texts(cluster, &["spec", "zones"]);
    let old = said(&["spec", "zone"]);
    if zones.is_empty() && !old.is_empty() {
        zones.push(old);
    }
    Cell {
        name: said(&["metadata", "name"]),
        labels: apis::map(cluster, &["metadata", "labels"]).cloned().unwrap_or_default(),
        region: said(&["spec", "region"]),
        provider: said(&["spec", "provider"]),
        zones,
        taints: read::taints(apis::list(cluster, &["spec", "taints"])),
        ready: is_ready(cluster),
        silent_since: silent_since(cluster),
        leaving: apis::at(cluster, &["metadata", "deletionTimestamp"]).is_some(),
        serves: serves(apis::list(cluster, &["status", "apiEnablements"])),
        capacity: apis::at(cluster, &["status", "resourceSummary"]).map(|summary| capacity(cluster, summary)),
    }
}

fn is_ready(cluster: &Value) -> bool {
    let conditions = apis::list(cluster, &["status", "conditions"]);
    let ready = conditions.iter().find(|condition| apis::text(condition, &["type"]) == Some("Ready"));
    ready.is_some_and(|condition| apis::text(condition, &["status"]) == Some("True"))
}

fn silent_since(cluster: &Value) -> Option<i64> {
    let conditions = apis::list(cluster, &["status", "conditions"]);
    let ready = conditions.iter().find(|condition| apis::text(condition, &["type"]) == Some("Ready"))?;
    let silent = apis::text(ready, &["status"]) != Some("True");
    apis::text(ready, &["lastTransitionTime"]).filter(|_| silent).and_then(read::seconds)
}

pub(in crate::dialects) fn serves(apis_served: &[Value]) -> Serves {
    let of = |group: &Value| {
        let version = apis::text(group, &["groupVersion"]).unwrap_or_default().to_owned();
        let resources = apis::list(group, &["resources"]).iter();
        resources
            .filter_map(|resource| apis::text(resource, &["kind"]))
            .map(|kind| Kind::new(version.clone(), kind))
            .collect::<Vec<_>>()
    };
    Serves::Listed(Arc::new(apis_served.iter().flat_map(of).collect()))
}

fn capacity(cluster: &Value, summary: &Value) -> Capacity {
    let free = free(summary);
    let pods = free.get("pods").copied().unwrap_or(0);
    Capacity { pods, resources: free, models: models(cluster, summary) }
}

/// What can be given out, without what is given out and what is about to be.
pub(in crate::dialects) fn free(summary: &Value) -> BTreeMap<String, i64> {
    let amounts = |key: &str| -> BTreeMap<String, i64> {
        let all = apis::map(summary, &[key]).into_iter().flatten();
        all.filter_map(|(name, amount)| Some((name.clone(), amount_of(name, amount)?))).collect()
    };
    let mut free = amounts("allocatable");
    for taken in ["allocated", "allocating"] {
        for (name, amount) in amounts(taken) {
            *free.entry(name).or_insert(0) -= amount;
        }
    }
    free
}

fn amount_of(name: &str, amount: &Value) -> Option<i64> {
    let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
    quantity::units(&text, if name == "cpu" { 1000 } else { 1 })
}

/// Every grade of nodes has at least the lower bounds of its ranges.
fn models(cluster: &Value, summary: &Value) -> Vec<NodeModel> {
    let grades = apis::list(cluster, &["spec", "resourceModels"]);
    let model = |counted: &Value| {
        let grade = apis::number(counted, &["grade"])?;
        let described = grades.iter().find(|model| apis::number(model, &["grade"]) == Some(grade))?;
        let range = |range: &Value| {
            let name = apis::text(range, &["name"])?;
            Some((name.to_owned(), amount_of(name, range.get("min")?)?))
        };
        let least = apis::list(described, &["ranges"]).iter().filter_map(range).collect();
        Some(NodeModel { count: apis::number(counted, &["count"])?, least })
    };
    apis::list(summary, &["allocatableModelings"]).iter().filter_map(model).collect()
}

/// What a Cluster has of our Cell, and where: the same words below `spec` and `status`.
const SAME: [(&str, &[&str]); 4] = [
    ("spec", &["provider", "region", "zones", "taints"]),
    ("spec", &["apiEndpoint", "secretRef", "proxyURL", "insecureSkipTLSVerification"]),
    ("status", &["kubernetesVersion", "apiEnablements", "nodeSummary", "resourceSummary"]),
    ("status", &["conditions"]),
];

/// What is said of a Cluster, as it is said of a cell: what a cell has no word for is not kept.
pub(super) fn said_of_cell(mut said: Value) -> Value {
    if let Some(tree) = said.as_object_mut() {
        tree.remove("status");
    }
    let Some(spec) = said.get_mut("spec").and_then(Value::as_object_mut) else { return said };
    let mode = spec.get("syncMode").cloned();
    let zones = spec.get("zone").filter(|zone| zone.is_string()).map(|zone| json!([zone]));
    spec.retain(|key, _| SAME.iter().any(|(part, fields)| *part == "spec" && fields.contains(&key.as_str())));
    spec.extend(mode.filter(|mode| !mode.is_null()).map(|mode| ("mode".to_owned(), mode)));
    if let Some(zones) = zones {
        spec.entry("zones").or_insert(zones);
    }
    said
}

/// Shows one of our cells as a Cluster.
pub fn cluster(cell: &Value) -> Value {
    let mut shown = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": cell.get("metadata").cloned().unwrap_or_else(|| json!({})), "spec": {}, "status": {}});
    for (part, fields) in SAME {
        let of_cell = apis::map(cell, &[part]).cloned().unwrap_or_else(Map::new);
        let same = fields.iter().filter_map(|field| Some(((*field).to_owned(), of_cell.get(*field)?.clone())));
        apis::map_mut(&mut shown, &[part]).extend(same);
    }
    let pulls = apis::text(cell, &["spec", "mode"]) == Some("Pull");
    let mode = if pulls { "Pull" } else { "Push" };
    apis::map_mut(&mut shown, &["spec"]).insert("syncMode".to_owned(), mode.into());
    let id = apis::at(cell, &["metadata", "uid"]).cloned();
    apis::map_mut(&mut shown, &["spec"]).extend(id.map(|id| ("id".to_owned(), id)));
    shown
}
