//! How many replicas a workload wants, what each of them needs, and the same workload with another number.

use crate::apis;
use crate::apis::Kind;
use crate::apis::quantity;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a workload asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replicas {
    pub number: i64,
    /// What one of them needs: CPU in thousandths, everything else in units, rounded up.
    pub request: BTreeMap<String, i64>,
}

/// `None` for what has no replicas to divide.
pub fn replicas(object: &Value) -> Option<Replicas> {
    let said = |key| apis::number(object, &["spec", key]);
    let number = match Kind::of(object).name() {
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet") => said("replicas").unwrap_or(0),
        ("batch", "Job") => {
            let parallelism = said("parallelism").unwrap_or(0);
            // No more run at once than are left to complete.
            parallelism.min(said("completions").unwrap_or(parallelism))
        }
        ("", "Pod") => 1,
        _ => return None,
    };
    Some(Replicas { number, request: request(super::pod_template(object)?) })
}

/// Sets the number; nothing for kinds that have none.
pub fn revise(object: &mut Value, number: i64) {
    let field = match Kind::of(object).name() {
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet") => "replicas",
        ("batch", "Job") => "parallelism",
        _ => return,
    };
    apis::map_mut(object, &["spec"]).insert(field.to_owned(), number.into());
}

/// What is requested in so many words: names and quantities.
pub fn requested(amounts: &Value) -> BTreeMap<String, i64> {
    listed(amounts, &[])
}

/// The larger of all containers together and each of those that run before them, and what the pod itself costs.
pub fn request(template: &Value) -> BTreeMap<String, i64> {
    let mut all = BTreeMap::new();
    for container in apis::list(template, &["spec", "containers"]) {
        for (name, amount) in amounts(container, &["resources"]) {
            *all.entry(name).or_insert(0) += amount;
        }
    }
    for container in apis::list(template, &["spec", "initContainers"]) {
        for (name, amount) in amounts(container, &["resources"]) {
            let largest = all.entry(name).or_insert(0);
            *largest = (*largest).max(amount);
        }
    }
    for (name, amount) in listed(template, &["spec", "overhead"]) {
        *all.entry(name).or_insert(0) += amount;
    }
    all
}

/// What is only limited is requested as far as it is limited.
fn amounts(container: &Value, at: &[&str]) -> BTreeMap<String, i64> {
    let mut amounts = listed(container, &[at, &["limits"]].concat());
    amounts.extend(listed(container, &[at, &["requests"]].concat()));
    amounts
}

fn listed(object: &Value, at: &[&str]) -> BTreeMap<String, i64> {
    let amounts = apis::map(object, at).into_iter().flatten();
    amounts.filter_map(|(name, amount)| Some((name.clone(), amount_of(name, amount)?))).collect()
}

/// In the units of the scheduler.
fn amount_of(name: &str, amount: &Value) -> Option<i64> {
    let text = match amount {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    quantity::units(&text, if name == "cpu" { 1000 } else { 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(object: Value, number: i64, request: &[(&str, i64)]) {
        let request = request.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect();
        assert_eq!(replicas(&object), Some(Replicas { number, request }));
    }

    #[test]
    fn a_replica_needs_what_its_containers_need_together() {
        let containers = json!([
            {"resources": {"requests": {"cpu": "100m", "memory": "1Ki"}}},
            {"resources": {"limits": {"cpu": 1}, "requests": {"memory": "1k"}}}
        ]);
        let first = json!([{"resources": {"requests": {"memory": "4Ki"}}}]);
        let template = json!({"spec": {"containers": containers, "initContainers": first}});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "spec": {"replicas": 3, "template": template}});
        check(deployment, 3, &[("cpu", 1100), ("memory", 4096)]);
    }

    #[test]
    fn a_job_runs_no_more_at_once_than_it_has_to_complete() {
        let job = |spec: Value| json!({"apiVersion": "batch/v1", "kind": "Job", "spec": spec});
        check(job(json!({"parallelism": 5, "completions": 2, "template": {}})), 2, &[]);
        check(job(json!({"parallelism": 5, "template": {}})), 5, &[]);
    }

    #[test]
    fn what_has_no_replicas_is_not_a_workload() {
        assert_eq!(replicas(&json!({"apiVersion": "v1", "kind": "ConfigMap"})), None);
        assert_eq!(replicas(&json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {"template": {}}})), None);
    }
}
