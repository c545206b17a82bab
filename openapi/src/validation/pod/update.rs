//! What may change in a pod that exists.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{MIRROR, annotations, placement};
use crate::validation::names;
use crate::validation::net;
use crate::validation::tree::{Errors, Node};

const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const CHANGEABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

pub(in crate::validation) fn pod_update(errors: &mut Errors, new: &Node, old: &Node) {
    kept_annotations(errors, new, old);
    let (spec, before) = (new.at("spec"), old.at("spec"));
    for list in ["containers", "initContainers"] {
        if !kept_containers(errors, &spec.at(list), &before.at(list)) {
            return;
        }
    }
    if !deadline(errors, &spec.at("activeDeadlineSeconds"), &before.at("activeDeadlineSeconds")) {
        return;
    }
    added_tolerations(errors, &spec.at("tolerations"), &before.at("tolerations"));
    deleted_gates(errors, &spec.at("schedulingGates"), &before.at("schedulingGates"));
    if !spec.same(&before) && rest_of(&spec, &before) != *before.value() {
        errors.forbidden(&spec, CHANGEABLE);
    }
}

fn kept_annotations(errors: &mut Errors, new: &Node, old: &Node) {
    let now = new.at("metadata").at("annotations");
    let before = old.at("metadata").at("annotations");
    for (key, value) in before.entries().filter(|(key, value)| now.value().get(key) != Some(value.value())) {
        let place = now.key(key);
        if key.starts_with(APP_ARMOR) {
            errors.forbidden(&value.placed_at(&place), "may not remove or update AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&place, "may not remove or update mirror pod annotation");
        }
    }
    for (key, value) in now.entries().filter(|(key, _)| before.value().get(key).is_none()) {
        if key.starts_with(APP_ARMOR) {
            errors.forbidden(&value, "may not add AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&value, "may not add mirror pod annotation");
        }
    }
    annotations(errors, &now, &new.at("spec"));
}

/// Whether there is sense in going on.
fn kept_containers(errors: &mut Errors, new: &Node, old: &Node) -> bool {
    if new.len() != old.len() {
        errors.forbidden(new, "pod updates may not add or remove containers");
        return false;
    }
    for container in new.items() {
        if container.at("image").is_empty() {
            errors.required(&container.at("image"), "");
        }
        super::container::trimmed_image(errors, &container);
    }
    true
}

/// Whether there is sense in going on.
fn deadline(errors: &mut Errors, new: &Node, old: &Node) -> bool {
    if !new.exists() {
        if old.exists() {
            errors.invalid(new, "must not update from a positive integer to nil value");
        }
        return true;
    }
    let before = errors.len();
    for message in names::between(new.int(), 0, i64::from(i32::MAX)) {
        errors.invalid(new, message);
    }
    if errors.len() == before && old.exists() && old.int() < new.int() {
        errors.invalid(new, "must be less than or equal to previous value");
    }
    errors.len() == before
}

fn added_tolerations(errors: &mut Errors, new: &Node, old: &Node) {
    let lasting = |toleration: Node| {
        let mut value = toleration.value().clone();
        if let Value::Object(map) = &mut value {
            map.remove("tolerationSeconds");
        }
        value.to_string()
    };
    let now: HashSet<String> = new.items().map(lasting).collect();
    if old.items().any(|toleration| !now.contains(&lasting(toleration))) {
        return errors.forbidden(new, "existing toleration can not be modified except its tolerationSeconds");
    }
    placement::tolerations(errors, new);
}

fn deleted_gates(errors: &mut Errors, new: &Node, old: &Node) {
    let known: HashSet<&str> = old.items().map(|gate| gate.at("name").text()).collect();
    let added: HashMap<&str, Node> = new.items().map(|gate| (gate.at("name").text(), gate)).collect();
    let mut added: Vec<_> = added.into_iter().filter(|(name, _)| !known.contains(name)).collect();
    added.sort_by_key(|(name, _)| *name);
    for (name, gate) in added {
        let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
        errors.forbidden(&gate.at("name"), detail);
    }
}

/// The new spec, with what may change as it was.
fn rest_of(new: &Node, old: &Node) -> Value {
    let mut spec = new.value().clone();
    for list in ["containers", "initContainers"] {
        for (at, container) in old.at(list).items().enumerate() {
            if let Some(new) = spec.get_mut(list).and_then(|list| list.get_mut(at)) {
                put(new, "image", container.at("image").value());
            }
        }
    }
    for name in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        put(&mut spec, name, old.at(name).value());
    }
    if old.at("terminationGracePeriodSeconds").int() < 0 && new.at("terminationGracePeriodSeconds").int() == 1 {
        put(&mut spec, "terminationGracePeriodSeconds", old.at("terminationGracePeriodSeconds").value());
    }
    if !old.at("schedulingGates").is_empty() {
        put(&mut spec, "nodeSelector", old.at("nodeSelector").value());
    }
    spec
}

fn put(object: &mut Value, name: &str, value: &Value) {
    if let Value::Object(map) = object {
        match value {
            Value::Null => map.remove(name),
            _ => map.insert(name.to_owned(), value.clone()),
        };
    }
}

pub(in crate::validation) fn pod_status(errors: &mut Errors, new: &Node, old: &Node) {
    kept_annotations(errors, new, old);
    let (status, before) = (new.at("status"), old.at("status"));
    for condition in status.at("conditions").items() {
        not_negative(errors, &condition.at("observedGeneration"));
        let kind = condition.at("type").called("Type");
        if !["PodScheduled", "Ready", "Initialized"].contains(&kind.text()) {
            errors.refuse(&kind, names::qualified_name(kind.text()));
        }
    }
    if new.at("spec").at("nodeName").text() != old.at("spec").at("nodeName").text() {
        errors.forbidden(&status.at("nodeName"), "may not be changed directly");
    }
    let nominated = status.at("nominatedNodeName");
    if nominated.text() != before.at("nominatedNodeName").text() && !nominated.is_empty() {
        errors.refuse(&nominated, names::dns1123_subdomain(nominated.text()));
    }
    not_negative(errors, &status.at("observedGeneration"));
    let class = status.at("qosClass");
    if class.text() != before.at("qosClass").text() {
        errors.invalid_value(&class, class.text(), "field is immutable");
    }
    addresses(errors, &status.at("podIPs"), &status.at("podIP"), &before.at("podIPs"));
}

fn not_negative(errors: &mut Errors, at: &Node) {
    if at.int() < 0 {
        errors.invalid(at, "must be a non-negative integer");
    }
}

fn addresses(errors: &mut Errors, list: &Node, first: &Node, old: &Node) {
    let known: HashSet<&str> = old.items().map(|item| item.at("ip").text()).collect();
    for item in list.items() {
        let ip = item.at("ip").placed_at(&item);
        net::check_address(errors, &ip, &known);
    }
    if first.is_empty() != list.is_empty() {
        errors.invalid(list, "podIP and podIPs must either both be set or both be unset");
    } else if !list.is_empty() && first.text() != list.item(0).at("ip").text() {
        errors.invalid(&list.item(0).at("ip"), "must be equal to `podIP`");
    }
}
