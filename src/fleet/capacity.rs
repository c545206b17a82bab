//! How much room a cell has: what its nodes can give, without what its pods have been given or wait for. Pure.

use crate::apis;
use crate::apis::quantity;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

type Amounts = BTreeMap<String, i64>;

/// `nodeSummary` and `resourceSummary`, as Karmada has them; nothing for a cell without nodes.
pub(super) fn summary(nodes: &[Value], pods: &[Value]) -> Option<Value> {
    if nodes.is_empty() {
        return None;
    }
    let ready: Vec<&Value> = nodes.iter().filter(|node| is_ready(node)).collect();
    let mut allocatable = Amounts::new();
    for node in ready.iter().filter(|node| node["spec"]["unschedulable"] != true) {
        add(&mut allocatable, apis::map(node, &["status", "allocatable"]));
    }
    let (mut allocated, mut allocating) = (Amounts::new(), Amounts::new());
    for pod in pods.iter().filter(|pod| runs(pod)) {
        let bound = apis::text(pod, &["spec", "nodeName"]).is_some_and(|node| !node.is_empty());
        let taken = if bound { &mut allocated } else { &mut allocating };
        for container in apis::list(pod, &["spec", "containers"]) {
            add(taken, apis::map(container, &["resources", "requests"]));
        }
        *taken.entry("pods".to_owned()).or_default() += 1;
    }
    Some(json!({
        "nodeSummary": { "totalNum": nodes.len(), "readyNum": ready.len() },
        "resourceSummary": {
            "allocatable": told(&allocatable), "allocated": told(&allocated), "allocating": told(&allocating),
        },
    }))
}

fn is_ready(node: &Value) -> bool {
    let conditions = apis::list(node, &["status", "conditions"]);
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// What has ended takes nothing.
fn runs(pod: &Value) -> bool {
    !matches!(apis::text(pod, &["status", "phase"]), Some("Succeeded" | "Failed"))
}

fn add(amounts: &mut Amounts, more: Option<&Map<String, Value>>) {
    for (name, amount) in more.into_iter().flatten() {
        let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
        let units = quantity::units(&text, if name == "cpu" { 1000 } else { 1 }).unwrap_or_default();
        let sum = amounts.entry(name.clone()).or_default();
        *sum = sum.saturating_add(units);
    }
}

fn told(amounts: &Amounts) -> Value {
    let amount = |(name, amount): (&String, &i64)| (name.clone(), quantity::told(name, *amount).into());
    Value::Object(amounts.iter().map(amount).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(ready: &str, cordoned: bool) -> Value {
        json!({
            "spec": { "unschedulable": cordoned },
            "status": { "allocatable": { "cpu": "2", "memory": "1Ki", "pods": "10" },
                        "conditions": [{ "type": "Ready", "status": ready }] },
        })
    }

    fn pod(node: &str, phase: &str) -> Value {
        let containers = json!([{ "resources": { "requests": { "cpu": "250m" } } }]);
        json!({ "spec": { "nodeName": node, "containers": containers }, "status": { "phase": phase } })
    }

    #[test]
    fn room_is_what_ready_nodes_give_without_what_pods_take() {
        let nodes = [node("True", false), node("True", true), node("False", false)];
        let pods = [pod("n", "Running"), pod("", "Pending"), pod("n", "Succeeded")];
        let summary = summary(&nodes, &pods).unwrap();
        assert_eq!(summary["nodeSummary"], json!({ "totalNum": 3, "readyNum": 2 }));
        let room = &summary["resourceSummary"];
        assert_eq!(room["allocatable"], json!({ "cpu": "2", "memory": "1Ki", "pods": "10" }));
        assert_eq!(room["allocated"], json!({ "cpu": "250m", "pods": "1" }));
        assert_eq!(room["allocating"], json!({ "cpu": "250m", "pods": "1" }));
        assert_eq!(super::summary(&[], &pods), None);
    }
}
