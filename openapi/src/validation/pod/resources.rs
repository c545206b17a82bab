//! What containers and pods ask for and may use at most.

use std::collections::HashSet;

use super::Pod;
use crate::validation::amount;
use crate::validation::names;
use crate::validation::tree::{Errors, Node};

const HUGE: &str = "hugepages-";
const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Things that are counted.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
/// Things that are measured.
const MEASURED: [&str; 11] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "requests.storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

fn is_huge(name: &str) -> bool {
    name.starts_with(HUGE)
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.") && names::qualified_name(&format!("requests.{name}")).is_empty()
}

pub(in crate::validation) fn is_standard(name: &str) -> bool {
    COUNTED.contains(&name) || MEASURED.contains(&name) || is_huge(name) || name.starts_with("requests.hugepages-")
}

/// The name of any resource.
pub(in crate::validation) fn resource_name(errors: &mut Errors, at: &Node, name: &str) {
    let wrong = names::qualified_name(name);
    if wrong.is_empty() && !name.contains('/') && !is_standard(name) {
        errors.invalid_value(at, name, "must be a standard resource type or fully qualified");
    }
    for message in wrong {
        errors.invalid_value(at, name, message);
    }
}

pub(in crate::validation) fn container_resource(errors: &mut Errors, at: &Node, name: &str) {
    resource_name(errors, at, name);
    if !name.contains('/') {
        if !OF_CONTAINERS.contains(&name) && !is_huge(name) {
            errors.invalid_value(at, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid_value(at, name, "doesn't follow extended resource name standard");
    }
}

fn of_pods(errors: &mut Errors, at: &Node, name: &str) {
    let before = errors.len();
    resource_name(errors, at, name);
    if errors.len() == before && !["cpu", "memory"].contains(&name) && !is_huge(name) {
        errors.unsupported_value(at, name, &["cpu", "hugepages-", "memory"]);
    }
}

/// An amount of a resource: not negative, and whole if it is counted.
pub(in crate::validation) fn resource_quantity(errors: &mut Errors, at: &Node, name: &str) {
    if amount::nanos(at.value()) < 0 {
        errors.invalid_value(at, amount::text(at.value()), "must be greater than or equal to 0");
    }
    if (COUNTED.contains(&name) || is_extended(name)) && !amount::is_whole(at.value()) {
        errors.invalid_value(at, amount::text(at.value()), "must be an integer");
    }
}

pub(super) fn of_container(errors: &mut Errors, pod: &Pod, resources: &Node) {
    requirements(errors, resources, container_resource);
    claims(errors, pod, &resources.at("claims"));
}

pub(in crate::validation) fn overhead(errors: &mut Errors, overhead: &Node) {
    let limits = overhead.at("limits");
    for (name, _) in overhead.entries() {
        let amount = overhead.key(name).placed_at(&limits.key(name));
        container_resource(errors, &amount, name);
        resource_quantity(errors, &amount, name);
    }
}

pub(super) fn of_pod(errors: &mut Errors, pod: &Pod) {
    let resources = pod.spec.at("resources");
    if !resources.exists() {
        return;
    }
    if pod.spec.at("os").at("name").is("windows") {
        return errors.forbidden(&resources, "may not be set for a windows pod");
    }
    if resources.at("claims").exists() {
        errors.forbidden(&resources.at("claims"), "claims may not be set for Resources at pod-level");
    }
    requirements(errors, &resources, of_pods);
    claims(errors, pod, &resources.at("claims"));
    within_the_pod(errors, pod, &resources);
}

fn within_the_pod(errors: &mut Errors, pod: &Pod, resources: &Node) {
    for (at, container) in pod.spec.at("containers").items().enumerate() {
        for (name, limit) in container.at("resources").at("limits").entries() {
            let whole = resources.at("limits").key(name);
            if whole.exists() && amount::nanos(limit.value()) > amount::nanos(whole.value()) {
                let place = resources.at("containers").item(at).key(name).at("limits");
                let detail = format!("must be less than or equal to pod limits of {}", amount::text(whole.value()));
                errors.invalid_value(&place, amount::text(limit.value()), detail);
            }
        }
    }
}

type NameCheck = fn(&mut Errors, &Node, &str);

fn requirements(errors: &mut Errors, resources: &Node, check: NameCheck) {
    let (limits, requests) = (resources.at("limits"), resources.at("requests"));
    for (name, limit) in limits.entries() {
        check(errors, &limit, name);
        resource_quantity(errors, &limit, name);
        huge_pages(errors, &limit, name);
    }
    for (name, request) in requests.entries() {
        check(errors, &request, name);
        resource_quantity(errors, &request, name);
        request_fits(errors, resources, name, &request);
        huge_pages(errors, &request, name);
    }
    let named = |test: fn(&str) -> bool| {
        limits.entries().map(|(name, _)| name).chain(requests.entries().map(|(name, _)| name)).any(test)
    };
    if named(is_huge) && !named(|name| ["cpu", "memory"].contains(&name)) {
        errors.forbidden(resources, "HugePages require cpu or memory");
    }
}

fn request_fits(errors: &mut Errors, resources: &Node, name: &str, request: &Node) {
    let (limits, requests) = (resources.at("limits"), resources.at("requests"));
    let shared = is_native(name) && !is_huge(name);
    let Some(limit) = limits.value().get(name) else {
        if !shared {
            errors.required(&limits, "Limit must be set for non overcommitable resources");
        }
        return;
    };
    let (asked, most) = (amount::nanos(request.value()), amount::nanos(limit));
    let bound = if asked != most && !shared {
        "equal to"
    } else if asked > most {
        "less than or equal to"
    } else {
        return;
    };
    let detail = format!("must be {bound} {name} limit of {}", amount::text(limit));
    errors.invalid_value(&requests, amount::text(request.value()), detail);
}

fn huge_pages(errors: &mut Errors, at: &Node, name: &str) {
    let Some(size) = name.strip_prefix(HUGE) else { return };
    let size = amount::nanos(&size.into());
    if size <= 0 || amount::nanos(at.value()) % size != 0 {
        let text = amount::text(at.value());
        let detail = format!("{text} is not positive integer multiple of {name}");
        errors.invalid_value(at, text, detail);
    }
}

fn claims(errors: &mut Errors, pod: &Pod, claims: &Node) {
    let mut seen: HashSet<String> = HashSet::new();
    for claim in claims.items() {
        let (name, request) = (claim.at("name").text(), claim.at("request"));
        if name.is_empty() {
            errors.required(&claim, "");
            continue;
        }
        if seen.contains(name) {
            errors.duplicate(&claim, name);
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                errors.refuse(&request, names::dns1123_label(request.text()));
                key = format!("{name}/{}", request.text());
            }
            if seen.contains(&key) {
                errors.duplicate(&claim, key.as_str());
            }
            seen.insert(key);
        }
        if !pod.claims.contains(name) && !errors.is_full() {
            let mut known: Vec<&str> = pod.claims.iter().copied().collect();
            known.sort_unstable();
            let known = if known.is_empty() { " which is empty".to_owned() } else { format!(": {}", known.join(", ")) };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{known}");
            errors.not_found_because(&claim, name, detail);
        }
    }
}
