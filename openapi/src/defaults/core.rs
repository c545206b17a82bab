//! Everything of the core group but pods.

use serde_json::{Map, Value, json};

use super::rule::Rule;

const NAMESPACE_LABEL: &str = "kubernetes.io/metadata.name";
const AFFINITY_SECONDS: i32 = 3 * 60 * 60;

pub(super) fn rules() -> Vec<Rule> {
    let on = |name| Rule::on("core.v1", name);
    vec![
        service(on("Service")),
        on("EndpointPort").set("protocol", "TCP"),
        on("Secret").set("type", "Opaque"),
        on("Namespace").then(label_with_name).set("status.phase", "Active"),
        on("Node").then(one_pod_range).copy("status.capacity", "status.allocatable"),
        on("PersistentVolume")
            .set("status.phase", "Pending")
            .set("spec.persistentVolumeReclaimPolicy", "Retain")
            .set("spec.volumeMode", "Filesystem"),
        on("PersistentVolumeClaim").set("status.phase", "Pending"),
        on("PersistentVolumeClaimSpec").set("volumeMode", "Filesystem"),
        on("ReplicationController")
            .copy("spec.template.metadata.labels", "spec.selector")
            .copy("spec.template.metadata.labels", "metadata.labels"),
        on("LimitRangeItem").given("type", "Container", |item| {
            item.fill("max", "default").fill("default", "defaultRequest").fill("min", "defaultRequest")
        }),
    ]
}

fn service(rule: Rule) -> Rule {
    rule.set("spec.sessionAffinity", "None")
        .given("spec.sessionAffinity", "None", |service| service.remove("spec.sessionAffinityConfig"))
        .given("spec.sessionAffinity", "ClientIP", |service| {
            service.set("spec.sessionAffinityConfig.clientIP.timeoutSeconds", AFFINITY_SECONDS)
        })
        .set("spec.type", "ClusterIP")
        .each("spec.ports", |port| port.copy("port", "targetPort").set("targetPort", 0))
        .given("spec.type", "ClusterIP", |service| {
            service
                .having("spec.externalIPs", |service| service.set("spec.externalTrafficPolicy", "Cluster"))
                .set("spec.internalTrafficPolicy", "Cluster")
        })
        .given("spec.type", "NodePort", reachable)
        .given("spec.type", "LoadBalancer", |service| {
            reachable(service)
                .set("spec.allocateLoadBalancerNodePorts", true)
                .each("status.loadBalancer.ingress", |point| point.having("ip", |point| point.set("ipMode", "VIP")))
        })
}

fn reachable(service: Rule) -> Rule {
    service.set("spec.externalTrafficPolicy", "Cluster").set("spec.internalTrafficPolicy", "Cluster")
}

fn label_with_name(namespace: &mut Map<String, Value>) {
    let Some(Value::Object(metadata)) = namespace.get_mut("metadata") else { return };
    let Some(name) = metadata.get("name").filter(|name| *name != "").cloned() else { return };
    let labels = metadata.entry("labels").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(labels) = labels {
        labels.insert(NAMESPACE_LABEL.to_owned(), name);
    }
}

/// Of the single range and the list of them the single one is believed.
fn one_pod_range(node: &mut Map<String, Value>) {
    if let Some(Value::Object(spec)) = node.get_mut("spec") {
        agree(spec, "podCIDR", "podCIDRs", None);
    }
}

/// Keeps a field and the list that begins with it the same: where they differ the list is made anew. Items of the list
/// are the value itself, or hold it under a key.
pub(super) fn agree(map: &mut Map<String, Value>, one: &str, all: &str, key: Option<&str>) {
    let plain = |item: &Value| key.map_or(Some(item), |key| item.get(key)).filter(|value| *value != "").cloned();
    let first = map.get(all).and_then(|all| all.get(0)).and_then(plain);
    let said = map.get(one).filter(|value| *value != "").cloned();
    match (said, first) {
        (None, Some(first)) => {
            map.insert(one.to_owned(), first);
        }
        (Some(said), first) if first.as_ref() != Some(&said) => {
            let item = key.map_or(said.clone(), |key| json!({key: said}));
            map.insert(all.to_owned(), Value::Array(vec![item]));
        }
        _ => {}
    }
}
