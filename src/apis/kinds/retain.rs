//! What a cell decided about an object and keeps when the object comes again.

use crate::apis;
use crate::apis::FieldPath;
use crate::apis::Kind;
use serde_json::Value;
use std::collections::BTreeSet;

/// A deployment with this label keeps the replicas that the cell gave it.
const RETAIN_REPLICAS: &str = "resourcetemplate.karmada.io/retain-replicas";

/// Takes over into `desired` what the cell decided about `actual`: by kind, and `fields` of the rule.
pub fn retain(desired: &mut Value, actual: &Value, fields: &BTreeSet<FieldPath>) {
    match Kind::of(desired).name() {
        ("", "Service") => {
            keep(desired, actual, &["spec.clusterIP", "spec.clusterIPs", "spec.healthCheckNodePort"]);
            keep_node_ports(desired, actual);
        }
        ("", "ServiceAccount") => {
            merge_names(desired, actual, "secrets");
            merge_names(desired, actual, "imagePullSecrets");
        }
        ("", "PersistentVolumeClaim") => keep(desired, actual, &["spec.volumeName"]),
        ("", "PersistentVolume") => keep(desired, actual, &["spec.claimRef"]),
        ("", "Secret") if apis::text(desired, &["type"]) == Some("kubernetes.io/service-account-token") => {
            keep(desired, actual, &["data"]);
        }
        ("", "Pod") => keep(
            desired,
            actual,
            &[
                "spec.nodeName",
                "spec.serviceAccountName",
                "spec.volumes",
                "spec.containers[*].volumeMounts",
                "spec.initContainers[*].volumeMounts",
            ],
        ),
        ("batch", "Job") => keep(desired, actual, &["spec.selector", "spec.template.metadata.labels"]),
        ("apps", "Deployment") if apis::text(desired, &["metadata", "labels", RETAIN_REPLICAS]) == Some("true") => {
            keep(desired, actual, &["spec.replicas"]);
        }
        _ => {}
    }
    for field in fields {
        field.carry(actual, desired);
    }
}

/// What the cell has not decided stays as it is wanted.
fn keep(desired: &mut Value, actual: &Value, fields: &[&str]) {
    for field in fields {
        let Ok(path) = FieldPath::parse(field) else { continue };
        let decided = field.contains("[*]") || path.get(actual).is_some_and(|value| *value != 0);
        if decided {
            path.carry(actual, desired);
        }
    }
}

/// Ports are the same if number and protocol are.
fn keep_node_ports(desired: &mut Value, actual: &Value) {
    let same = |port: &Value| (port.get("port").cloned(), apis::text(port, &["protocol"]).unwrap_or("TCP").to_owned());
    let Some(ports) = desired.pointer_mut("/spec/ports").and_then(Value::as_array_mut) else { return };
    for port in ports.iter_mut().filter(|port| port.get("nodePort").is_none()) {
        let other = apis::list(actual, &["spec", "ports"]).iter().find(|other| same(other) == same(port));
        let Some(node_port) = other.and_then(|other| other.get("nodePort")) else { continue };
        apis::map_mut(port, &[]).insert("nodePort".to_owned(), node_port.clone());
    }
}

/// A cell adds secrets of its own; without them it would make new ones for ever.
fn merge_names(desired: &mut Value, actual: &Value, list: &str) {
    let known: BTreeSet<String> = names(desired, list);
    let added: Vec<Value> = apis::list(actual, &[list])
        .iter()
        .filter(|other| apis::text(other, &["name"]).is_some_and(|name| !known.contains(name)))
        .cloned()
        .collect();
    if added.is_empty() {
        return;
    }
    let all: Vec<Value> = apis::list(desired, &[list]).iter().cloned().chain(added).collect();
    apis::map_mut(desired, &[]).insert(list.to_owned(), all.into());
}

fn names(object: &Value, list: &str) -> BTreeSet<String> {
    apis::list(object, &[list]).iter().filter_map(|one| apis::text(one, &["name"])).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(mut desired: Value, actual: Value, fields: &[&str], expect: Value) {
        let fields = fields.iter().map(|field| FieldPath::parse(field).unwrap()).collect();
        retain(&mut desired, &actual, &fields);
        assert_eq!(desired, expect);
    }

    #[test]
    fn a_service_keeps_its_addresses_and_ports() {
        let service = |spec: Value| json!({"apiVersion": "v1", "kind": "Service", "spec": spec});
        check(
            service(json!({"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53}]})),
            service(json!({"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"], "healthCheckNodePort": 0,
                "ports": [{"port": 53, "protocol": "TCP", "nodePort": 1}, {"port": 53, "protocol": "UDP", "nodePort": 2}]})),
            &[],
            service(json!({"clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"],
                "ports": [{"port": 53, "protocol": "UDP", "nodePort": 2}, {"port": 53, "nodePort": 1}]})),
        );
    }

    #[test]
    fn secrets_that_a_cell_added_to_an_account_stay() {
        let account = |secrets: Value| json!({"apiVersion": "v1", "kind": "ServiceAccount", "secrets": secrets});
        let merged = json!([{"name": "a"}, {"name": "b"}]);
        check(account(json!([{"name": "a"}])), account(json!([{"name": "b"}, {"name": "a"}])), &[], account(merged));
    }

    #[test]
    fn fields_of_the_rule_are_the_cells() {
        let object = |replicas: Option<i64>| match replicas {
            Some(replicas) => json!({"kind": "X", "spec": {"replicas": replicas}}),
            None => json!({"kind": "X", "spec": {}}),
        };
        check(object(Some(3)), object(Some(7)), &["spec.replicas"], object(Some(7)));
        check(object(Some(3)), object(None), &["spec.replicas"], object(None));
        check(object(Some(3)), object(Some(7)), &[], object(Some(3)));
    }

    #[test]
    fn replicas_of_a_deployment_are_the_cells_if_it_says_so() {
        let deployment = |label: &str, replicas: i64| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": replicas},
                "metadata": {"labels": {RETAIN_REPLICAS: label}}})
        };
        check(deployment("true", 1), deployment("true", 5), &[], deployment("true", 5));
        check(deployment("false", 1), deployment("true", 5), &[], deployment("false", 1));
    }
}
