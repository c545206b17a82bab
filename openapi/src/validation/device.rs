//! Devices: where they are, and which of them are to be left alone. What the single devices of a slice say of themselves
//! is between their driver and whoever allocates them, neither of which is here.

use std::collections::HashSet;

use super::storage::driver_name;
use super::tree::{Errors, Node};
use super::{names, selector};

const POOL_BYTES_MAX: usize = 253;
const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];
const DEVICES_MAX: usize = 128;
const PLACES: &str = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

pub(super) fn slice(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    driver_name(errors, &spec.at("driver"));
    let pool = spec.at("pool");
    pool_name(errors, &pool.at("name"));
    if pool.at("resourceSliceCount").int() <= 0 {
        let count = pool.at("resourceSliceCount");
        errors.invalid_value(&count, count.int(), "must be greater than zero");
    }
    if pool.at("generation").int() < 0 {
        errors.invalid(&pool.at("generation"), "must be greater than or equal to zero");
    }
    if let Some(before) = old.map(|old| old.at("spec")) {
        errors.immutable(&pool.at("name"), &before.at("pool").at("name"));
        errors.immutable(&spec.at("driver"), &before.at("driver"));
        errors.immutable(&spec.at("nodeName"), &before.at("nodeName"));
    }
    place(errors, &spec);
    if spec.at("sharedCounters").exists() && spec.at("devices").exists() {
        errors.invalid_value(&spec, "", "only one of `sharedCounters` or `devices` is allowed");
    }
    devices(errors, &spec.at("devices"));
}

fn place(errors: &mut Errors, spec: &Node) {
    let mut set = Vec::new();
    let node = spec.at("nodeName");
    if node.exists() {
        if node.is_empty() {
            errors.invalid(&node, "must be either unset or set to a non-empty string");
        } else {
            set.push("`nodeName`");
            errors.refuse(&node, names::dns1123_subdomain(node.text()));
        }
    }
    let terms = spec.at("nodeSelector").at("nodeSelectorTerms");
    if spec.at("nodeSelector").exists() {
        set.push("`nodeSelector`");
        if terms.is_empty() {
            errors.required(&terms, "must have at least one node selector term");
        }
        if terms.len() != 1 {
            errors.invalid(&terms, "must have exactly one node selector term");
        }
    }
    for (field, shown) in [("allNodes", "`allNodes`"), ("perDeviceNodeSelection", "`perDeviceNodeSelection`")] {
        if spec.at(field).is_true() {
            set.push(shown);
        } else if spec.at(field).exists() {
            errors.invalid(&spec.at(field), "must be either unset or set to true");
        }
    }
    match *set {
        [] => errors.required(spec, PLACES),
        [_] => {}
        _ => errors.invalid_value(
            spec,
            format!("{{{}}}", set.join(", ")),
            format!("{PLACES}, but multiple fields are set"),
        ),
    }
}

fn devices(errors: &mut Errors, list: &Node) {
    if list.len() > DEVICES_MAX {
        errors.too_many(list, DEVICES_MAX);
    }
    for name in list.items().map(|device| device.at("name")) {
        errors.refuse(&name, names::dns1123_label(name.text()));
    }
    let mut seen = HashSet::new();
    for device in list.items().filter(|device| !seen.insert(device.at("name").text())) {
        errors.duplicate(&device, device.at("name").text());
    }
}

fn pool_name(errors: &mut Errors, at: &Node) {
    if at.is_empty() {
        return errors.required(at, "");
    }
    if at.len() > POOL_BYTES_MAX {
        errors.too_long(at, POOL_BYTES_MAX);
    }
    for part in at.text().split('/') {
        names::dns1123_subdomain(part).into_iter().for_each(|wrong| errors.invalid_value(at, part, wrong));
    }
}

pub(super) fn taint_rule(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    let chosen = spec.at("deviceSelector");
    if chosen.at("driver").exists() {
        driver_name(errors, &chosen.at("driver"));
    }
    if chosen.at("pool").exists() {
        pool_name(errors, &chosen.at("pool"));
    }
    if chosen.at("device").exists() {
        errors.refuse(&chosen.at("device"), names::dns1123_label(chosen.at("device").text()));
    }
    let taint = spec.at("taint");
    selector::label_name(errors, &taint.at("key"));
    errors.refuse(&taint.at("value"), names::label_value(taint.at("value").text()));
    let effect = taint.at("effect");
    if old.is_some_and(|old| old.at("spec").at("taint").at("effect").same(&effect)) {
        return;
    }
    if effect.is_empty() {
        errors.required(&effect, "");
    } else if !EFFECTS.contains(&effect.text()) {
        errors.unsupported(&effect, &EFFECTS);
    }
}
