//! ResourceQuota and LimitRange.

use std::collections::{BTreeSet, HashSet};

use super::tree::{Errors, Node};
use super::{amount, names, pod};

const COUNTED_PODS: [&str; 1] = ["pods"];
const COMPUTE: [&str; 6] = ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
const OF_CLAIMS: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];
const CONFLICTS: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];
const ONLY_EXISTS: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
    ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
    ResourceQuotaScopeCrossNamespacePodAffinity";

pub(super) fn resource_quota(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    amounts(errors, &spec.at("hard"));
    scopes(errors, &spec);
    selector(errors, &spec);
    if old.is_none() {
        amounts(errors, &object.at("status").at("hard"));
        amounts(errors, &object.at("status").at("used"));
    }
}

fn is_quota(name: &str) -> bool {
    pod::is_standard(name) && name != "storage"
}

fn amounts(errors: &mut Errors, map: &Node) {
    for (name, amount) in map.entries() {
        pod::resource_name(errors, &amount, name);
        if !name.contains('/') && !is_quota(name) {
            errors.invalid_value(&amount, name, "must be a standard resource for quota");
        }
        pod::resource_quantity(errors, &amount, name);
    }
}

fn covers(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => COUNTED_PODS.contains(&resource),
        "VolumeAttributesClass" => OF_CLAIMS.contains(&resource),
        _ if SCOPES.contains(&scope) => COUNTED_PODS.contains(&resource) || COMPUTE.contains(&resource),
        _ => true,
    }
}

/// The scopes that say nothing of some limited resource.
fn not_covering(spec: &Node) -> Vec<&'static str> {
    let hard = spec.at("hard");
    let misses = |scope: &&str| hard.entries().any(|(name, _)| is_quota(name) && !covers(scope, name));
    SCOPES.into_iter().filter(misses).collect()
}

fn scopes(errors: &mut Errors, spec: &Node) {
    let list = spec.at("scopes");
    let not_covering = not_covering(spec);
    for scope in list.texts() {
        if !SCOPES.contains(&scope) {
            errors.invalid(&list, "unsupported scope");
        }
        if not_covering.contains(&scope) {
            errors.invalid(&list, "unsupported scope applied to resource");
        }
    }
    conflicts(errors, &list, &list, &list.texts());
}

fn conflicts(errors: &mut Errors, at: &Node, shown: &Node, scopes: &[&str]) {
    for pair in CONFLICTS {
        if pair.iter().all(|scope| scopes.contains(scope)) {
            errors.invalid_showing(at, shown, "conflicting scopes");
        }
    }
}

fn selector(errors: &mut Errors, spec: &Node) {
    let selector = spec.at("scopeSelector");
    let list = selector.at("matchExpressions");
    let not_covering = not_covering(spec);
    for requirement in list.items() {
        let (scope, operator) = (requirement.at("scopeName").text(), requirement.at("operator").text());
        let values = requirement.at("values").placed_at(&list.at("values"));
        if !SCOPES.contains(&scope) {
            errors.invalid_value(&list.at("scopeName"), scope, "unsupported scope");
        }
        if not_covering.contains(&scope) {
            errors.invalid_showing(&list, &selector, "unsupported scope applied to resource");
        }
        let alone = SCOPES.contains(&scope) && !["PriorityClass", "VolumeAttributesClass"].contains(&scope);
        if alone && operator != "Exists" {
            errors.invalid_value(&list.at("operator"), operator, ONLY_EXISTS);
        }
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                errors.required(&values, detail);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                errors.invalid(&values, detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.invalid_value(&list.at("operator"), operator, "not a valid selector operator"),
        }
    }
    let named: Vec<&str> = list.items().map(|requirement| requirement.at("scopeName").text()).collect();
    conflicts(errors, &list, &spec.at("scopes"), &named);
}

pub(super) fn resource_quota_update(errors: &mut Errors, new: &Node, old: &Node) {
    let (scopes, before) = (new.at("spec").at("scopes"), old.at("spec").at("scopes"));
    let set = |list: &Node| list.texts().into_iter().map(str::to_owned).collect::<HashSet<_>>();
    if set(&scopes) != set(&before) {
        errors.invalid(&scopes, "field is immutable");
    }
}

pub(super) fn resource_quota_status(errors: &mut Errors, new: &Node, _old: &Node) {
    if new.at("metadata").at("resourceVersion").is_empty() {
        errors.required(&Node::nowhere("resourceVersion"), "");
    }
    amounts(errors, &new.at("status").at("hard"));
    amounts(errors, &new.at("status").at("used"));
}

pub(super) fn limit_range(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let mut seen = HashSet::new();
    for limit in object.at("spec").at("limits").items() {
        let kind = limit.at("type");
        let wrong = names::qualified_name(kind.text());
        let standard = ["Pod", "Container", "PersistentVolumeClaim"].contains(&kind.text());
        if wrong.is_empty() && !kind.text().contains('/') && !standard {
            errors.invalid(&kind, "must be a standard limit type or fully qualified");
        }
        errors.refuse(&kind, wrong);
        if !seen.insert(kind.text()) {
            errors.duplicate(&kind, kind.text());
        }
        limit_names(errors, &limit);
        limit_values(errors, &limit);
    }
}

fn limit_names(errors: &mut Errors, limit: &Node) {
    let kind = limit.at("type").text();
    let check = if ["Pod", "Container"].contains(&kind) { pod::container_resource } else { pod::resource_name };
    for name in ["max", "min", "default", "defaultRequest"] {
        let map = limit.at(name);
        if kind == "Pod" && name.starts_with("default") {
            if !map.is_empty() {
                errors.forbidden(&map, "may not be specified when `type` is 'Pod'");
            }
            continue;
        }
        for (resource, amount) in map.entries() {
            check(errors, &amount, resource);
        }
    }
    let bounded = ["min", "max"].iter().any(|name| limit.at(name).at("storage").exists());
    if kind == "PersistentVolumeClaim" && !bounded {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        errors.required(&limit.at("limits"), detail);
    }
    for (resource, amount) in limit.at("maxLimitRequestRatio").entries() {
        check(errors, &amount, resource);
    }
}

fn limit_values(errors: &mut Errors, limit: &Node) {
    let maps = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
    let resources: BTreeSet<&str> =
        maps.iter().flat_map(|name| limit.at(name).entries()).map(|(resource, _)| resource).collect();
    for resource in resources {
        let of_pod = limit.at("type").is("Pod");
        let get = |name| limit.at(name).key(resource);
        let (min, max, ratio) = (get("min"), get("max"), get("maxLimitRequestRatio"));
        let (usual, request) = (get("default"), get("defaultRequest"));
        let rules = [
            (&min, "min", &max, "max", &min),
            (&min, "min", &request, "default request", &request),
            (&request, "default request", &max, "max", &request),
            (&request, "default request", &usual, "default limit", &request),
        ];
        for (less, less_name, more, more_name, at) in rules {
            let hidden = of_pod && [less_name, more_name].iter().any(|name| name.starts_with("default"));
            if !hidden {
                ordered(errors, (less, less_name), (more, more_name), at, at);
            }
        }
        if !of_pod {
            ordered(errors, (&min, "min"), (&usual, "default"), &usual, &min);
            ordered(errors, (&usual, "default"), (&max, "max"), &usual, &max);
        }
        if ratio.exists() && amount::nanos(ratio.value()) < amount::nanos(&1.into()) {
            let text = amount::text(ratio.value());
            errors.invalid_value(&ratio, text.as_str(), format!("ratio {text} is less than 1"));
        }
    }
}

/// The lesser of two amounts is more than the other. `shown` is the one that the error repeats.
fn ordered(errors: &mut Errors, less: (&Node, &str), more: (&Node, &str), at: &Node, shown: &Node) {
    let (small, large) = (less.0, more.0);
    if small.exists() && large.exists() && amount::nanos(small.value()) > amount::nanos(large.value()) {
        let (low, high) = (amount::text(small.value()), amount::text(large.value()));
        let detail = format!("{} value {low} is greater than {} value {high}", less.1, more.1);
        errors.invalid_value(at, amount::text(shown.value()), detail);
    }
}
