//! How much of a quota one object uses, and whether a quota is about it.

use super::resize::class_of;
use crate::amount::{Amount, Amounts, add, amounts};
use crate::amount::{Sums, is_of_pods};
use crate::catalog::ResourceDef;
use crate::object::Object;
use crate::selector::LabelSelector;
use crate::strategy::pods::quality_of_service;
use openapi::scalar::time::{Instant, Precision};
use serde_json::{Map, Value, json};

/// What can be counted by a plain name.
const PLAIN: [&str; 4] = ["configmaps", "replicationcontrollers", "resourcequotas", "secrets"];
const OF_CLASS: &str = ".storageclass.storage.k8s.io/";

fn is(resource: &ResourceDef, plural: &str) -> bool {
    resource.group.is_empty() && resource.plural == plural
}

fn counted_as(resource: &ResourceDef) -> String {
    format!("count/{}", resource.qualified())
}

/// A limit of this name is about objects of this resource.
pub(super) fn concerns(resource: &ResourceDef, name: &str) -> bool {
    if name == counted_as(resource) {
        return true;
    }
    let plain = |name: &str| name.strip_prefix("requests.").or(name.strip_prefix("limits.")).unwrap_or(name).to_owned();
    match &*resource.plural {
        _ if !resource.group.is_empty() => false,
        "pods" => {
            let compute = matches!(&*plain(name), "cpu" | "memory" | "ephemeral-storage");
            let huge = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
            compute || name == "pods" || huge || name.strip_prefix("requests.").is_some_and(is_extended)
        }
        "services" => matches!(name, "services" | "services.nodeports" | "services.loadbalancers"),
        "persistentvolumeclaims" => {
            let own = name.split_once(OF_CLASS).map_or(name, |(_, own)| own);
            matches!(own, "persistentvolumeclaims" | "requests.storage")
        }
        plural => PLAIN.contains(&plural) && name == plural,
    }
}

/// A limit on nothing but the number of objects. Pods that have ended are not among the `pods` of a quota.
pub(super) fn is_count(resource: &ResourceDef, name: &str) -> bool {
    name == counted_as(resource) || (name == resource.plural && name != "pods")
}

/// Something that Kubernetes itself knows nothing of.
fn is_extended(name: &str) -> bool {
    let domain = name.split_once('/').map(|(domain, _)| domain);
    domain.is_some_and(|domain| domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io"))
        || name.starts_with("deviceclass.resource.kubernetes.io/")
}

pub(super) fn of(resource: &ResourceDef, object: &Object, now: Instant) -> Amounts {
    let one = Amount::whole(1);
    let mut usage = Amounts::from([(counted_as(resource), one)]);
    if is(resource, "pods") {
        if is_charged(object, now) {
            add(&mut usage, &of_pod(object));
        }
    } else if is(resource, "services") {
        usage.extend(of_service(object));
    } else if is(resource, "persistentvolumeclaims") {
        usage.extend(of_claim(object));
    } else if resource.group.is_empty() && PLAIN.contains(&&*resource.plural) {
        usage.insert(resource.plural.clone(), one);
    }
    usage
}

/// A pod that has ended, or should have by now, uses nothing.
fn is_charged(pod: &Object, now: Instant) -> bool {
    if matches!(pod.text(&["status", "phase"]), "Failed" | "Succeeded") {
        return false;
    }
    let grace = pod.pointer(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64);
    let going = Instant::parse(pod.text(&["metadata", "deletionTimestamp"]), Precision::Seconds).ok();
    match (going, grace) {
        (Some(going), Some(grace)) => now.seconds <= going.seconds.saturating_add(grace),
        _ => true,
    }
}

fn of_pod(pod: &Object) -> Amounts {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let (mut requests, mut limits) = (Sums::requests(spec).of_pod(is_of_pods), Sums::limits(spec).of_pod(is_of_pods));
    let overhead = amounts(spec.get("overhead"));
    add(&mut requests, &overhead);
    let limited = overhead.into_iter().filter(|(name, _)| limits.get(name).is_some_and(|limit| !limit.is_zero()));
    let limited: Amounts = limited.collect();
    add(&mut limits, &limited);
    let mut usage = computed(&requests, &limits);
    usage.insert("pods".to_owned(), Amount::whole(1));
    usage
}

/// Requests and limits by the names that quotas know them by.
fn computed(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut usage = Amounts::new();
    for (name, amount) in requests {
        let plain = matches!(&**name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
        if plain {
            usage.insert(name.clone(), *amount);
        }
        if plain || is_extended(name) {
            usage.insert(format!("requests.{name}"), *amount);
        }
    }
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(amount) = limits.get(name) {
            usage.insert(format!("limits.{name}"), *amount);
        }
    }
    usage
}

fn of_service(service: &Object) -> Amounts {
    let ports = || service.items(&["spec", "ports"]);
    let chosen = ports().filter(|port| port["nodePort"].as_i64().unwrap_or(0) != 0).count();
    let unasked = service.pointer(&["spec", "allocateLoadBalancerNodePorts"]) == Some(&Value::Bool(false));
    let (ports, balancers) = match service.text(&["spec", "type"]) {
        "NodePort" => (ports().count(), 0),
        "LoadBalancer" if unasked => (chosen, 1),
        "LoadBalancer" => (ports().count(), 1),
        _ => (0, 0),
    };
    let counts = [("services", 1), ("services.nodeports", ports), ("services.loadbalancers", balancers)];
    counts.into_iter().map(|(name, number)| (name.to_owned(), Amount::whole(number))).collect()
}

fn of_claim(claim: &Object) -> Amounts {
    let mut usage = Amounts::from([("persistentvolumeclaims".to_owned(), Amount::whole(1))]);
    let size = |part: &str, field: &str, inner: &[&str]| {
        let path: Vec<&str> = [part, field].into_iter().chain(inner.iter().copied()).collect();
        claim.pointer(&path).map(|value| Amount::of(value).rounded_up())
    };
    let asked = size("spec", "resources", &["requests", "storage"]);
    if let Some(asked) = asked {
        let got = size("status", "allocatedResources", &["storage"]).unwrap_or(asked);
        usage.insert("requests.storage".to_owned(), asked.max(got));
    }
    let class = class_of(claim);
    if !class.is_empty() {
        let of_class: Vec<_> =
            usage.iter().map(|(name, amount)| (format!("{class}{OF_CLASS}{name}"), *amount)).collect();
        usage.extend(of_class);
    }
    usage
}

/// All scopes of a quota have to fit.
pub(super) fn is_in_scope(quota: &Object, resource: &ResourceDef, object: &Object) -> bool {
    let plain = quota.items(&["spec", "scopes"]).map(|scope| json!({ "scopeName": scope, "operator": "Exists" }));
    let selected = quota.items(&["spec", "scopeSelector", "matchExpressions"]).cloned();
    plain.chain(selected).all(|scope| fits(&scope, resource, object))
}

fn fits(scope: &Value, resource: &ResourceDef, object: &Object) -> bool {
    let name = scope["scopeName"].as_str().unwrap_or_default();
    if is(resource, "persistentvolumeclaims") && name == "VolumeAttributesClass" {
        let places: [&[&str]; 3] = [
            &["spec", "volumeAttributesClassName"],
            &["status", "currentVolumeAttributesClassName"],
            &["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"],
        ];
        let mut classes: Vec<&str> =
            places.iter().map(|path| object.text(path)).filter(|class| !class.is_empty()).collect();
        if classes.is_empty() {
            classes.push("");
        }
        return classes.iter().any(|class| is_selected(scope, name, class));
    }
    if !is(resource, "pods") {
        return false;
    }
    let terminating =
        object.pointer(&["spec", "activeDeadlineSeconds"]).and_then(Value::as_i64).is_some_and(|s| s >= 0);
    match name {
        "Terminating" => terminating,
        "NotTerminating" => !terminating,
        "BestEffort" => quality_of_service(object) == "BestEffort",
        "NotBestEffort" => quality_of_service(object) != "BestEffort",
        "PriorityClass" => is_selected(scope, name, object.text(&["spec", "priorityClassName"])),
        "CrossNamespacePodAffinity" => looks_across_namespaces(object),
        _ => false,
    }
}

/// A value, empty for none, is one of those that a scope is about.
fn is_selected(scope: &Value, name: &str, value: &str) -> bool {
    let mut labels = Map::new();
    if !value.is_empty() {
        labels.insert(name.to_owned(), value.into());
    }
    let expression = json!({ "key": name, "operator": scope["operator"], "values": scope["values"] });
    let selector = LabelSelector::from_object(&json!({ "matchExpressions": [expression] }));
    selector.is_ok_and(|selector| selector.matches(Some(&labels)))
}

fn looks_across_namespaces(pod: &Object) -> bool {
    ["podAffinity", "podAntiAffinity"].into_iter().any(|kind| {
        let terms = |when: &str| pod.items(&["spec", "affinity", kind, when]).collect::<Vec<_>>();
        let required = terms("requiredDuringSchedulingIgnoredDuringExecution").into_iter();
        let preferred = terms("preferredDuringSchedulingIgnoredDuringExecution").into_iter();
        let preferred = preferred.map(|weighted| &weighted["podAffinityTerm"]);
        required.chain(preferred).any(|term| {
            let namespaces = term.get("namespaces").and_then(Value::as_array);
            namespaces.is_some_and(|names| !names.is_empty()) || term.get("namespaceSelector").is_some()
        })
    })
}

/// Every container has to say how much of what is limited it wants.
pub(super) fn unsaid(pod: &Object, limited: &[&str]) -> Option<String> {
    if pod.pointer(&["spec", "resources"]).is_some_and(|resources| {
        ["requests", "limits"]
            .iter()
            .any(|kind| resources[kind].as_object().is_some_and(|said| said.keys().any(|name| is_of_pods(name))))
    }) {
        return None;
    }
    let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
    for container in pod.items(&["spec", "containers"]).chain(pod.items(&["spec", "initContainers"])) {
        let part = |kind: &str| amounts(container.get("resources").and_then(|resources| resources.get(kind)));
        let said = computed(&part("requests"), &part("limits"));
        let name = container["name"].as_str().unwrap_or_default();
        for limit in limited.iter().filter(|limit| is_enforced(limit) && !said.contains_key(**limit)) {
            match missing.iter_mut().find(|(found, _)| found == limit) {
                Some((_, names)) => names.push(name),
                None => missing.push((*limit, vec![name])),
            }
        }
    }
    missing.sort();
    let texts: Vec<String> = missing
        .into_iter()
        .map(|(limit, mut names)| {
            names.sort_unstable();
            names.dedup();
            format!("{limit} for: {}", names.join(","))
        })
        .collect();
    (!texts.is_empty()).then(|| format!("must specify {}", texts.join("; ")))
}

fn is_enforced(limit: &str) -> bool {
    matches!(limit, "cpu" | "memory" | "requests.cpu" | "requests.memory" | "limits.cpu" | "limits.memory")
}
