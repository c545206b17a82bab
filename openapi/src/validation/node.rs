//! Node.

use std::collections::HashSet;

use super::names;
use super::net;
use super::pod;
use super::selector;
use super::tree::{Errors, Node};

const KEPT_RANGES: &str = "node updates may not change podCIDR except from \"\" to valid";

pub(super) fn node(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    taints(errors, object);
    resources(errors, object);
    let ranges = object.at("spec").at("podCIDRs");
    for range in ranges.items() {
        net::check_range(errors, &range, range.text(), &HashSet::new());
    }
    let families: HashSet<bool> =
        ranges.items().filter_map(|range| net::range(range.text())).map(|(address, _)| address.is_ipv6()).collect();
    if ranges.len() > 1 && (families.len() < 2 || ranges.len() > 2) {
        errors.invalid(&ranges, "may specify no more than one CIDR for each IP family");
    }
}

/// Errors place the taints of the spec in the metadata.
fn taints(errors: &mut Errors, object: &Node) {
    let list = object.at("spec").at("taints").placed_at(&object.at("metadata").at("taints"));
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let mut seen = HashSet::new();
    for taint in list.items() {
        let (key, value, effect) = (taint.at("key"), taint.at("value"), taint.at("effect"));
        selector::label_name(errors, &key);
        let wrong = names::label_value(value.text());
        if !wrong.is_empty() {
            errors.invalid_value(&value, value.text(), wrong.join(";"));
        }
        errors.one_of(&effect, &effects);
        if !seen.insert((key.text(), effect.text())) {
            let detail = "taints must be unique by key and effect pair";
            errors.duplicate_because(&taint, taint.value().clone(), detail);
        }
    }
}

fn resources(errors: &mut Errors, object: &Node) {
    for map in ["capacity", "allocatable"].map(|name| object.at("status").at(name)) {
        for (name, amount) in map.entries() {
            pod::resource_quantity(errors, &amount.placed_at(&map.at(name)), name);
        }
    }
}

pub(super) fn node_update(errors: &mut Errors, new: &Node, old: &Node) {
    resources(errors, new);
    let mut seen = HashSet::new();
    for address in new.at("status").at("addresses").items() {
        if !seen.insert((address.at("type").text(), address.at("address").text())) {
            errors.duplicate(&address, address.value().clone());
        }
    }
    let (ranges, before) = (new.at("spec").at("podCIDRs"), old.at("spec").at("podCIDRs"));
    if !before.is_empty() && !ranges.same(&before) {
        errors.forbidden(&ranges, KEPT_RANGES);
    }
    let (provider, known) = (new.at("spec").at("providerID"), old.at("spec").at("providerID"));
    if !known.is_empty() && provider.text() != known.text() {
        let how = if provider.is_empty() { "cleared" } else { "modified" };
        let detail = format!("field cannot be {how} once set");
        errors.invalid_value(&provider, serde_json::Value::Null, detail);
    }
    taints(errors, new);
    if new.at("spec").at("externalID").text() != old.at("spec").at("externalID").text() {
        errors.forbidden(&new.at("spec").at("externalID"), "may not be updated");
    }
}
