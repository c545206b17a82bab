//! Services: what they keep of what they were given, and what they give up with the type that needed it.
//!
//! Who gives them addresses and ports is `allocate`.

use crate::object::{Object, list};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub(super) fn prepare_create(service: &mut Object) {
    if is_external(service) {
        return;
    }
    let ip = service.text(&["spec", "clusterIP"]).to_owned();
    if !ip.is_empty() && service.items(&["spec", "clusterIPs"]).next().is_none() {
        service.spec_mut().insert("clusterIPs".to_owned(), json!([ip]));
    }
    set_families(service, None);
}

fn is_external(service: &Object) -> bool {
    service.text(&["spec", "type"]) == "ExternalName"
}

fn is_open_on_nodes(service: &Object) -> bool {
    matches!(service.text(&["spec", "type"]), "NodePort" | "LoadBalancer")
}

fn needs_health_check(service: &Object) -> bool {
    service.text(&["spec", "type"]) == "LoadBalancer" && service.text(&["spec", "externalTrafficPolicy"]) == "Local"
}

/// One that nothing is behind but what others put there may have addresses of any family.
fn is_headless_without_selector(service: &Object) -> bool {
    let selector = service.pointer(&["spec", "selector"]).and_then(Value::as_object);
    service.text(&["spec", "clusterIP"]) == "None" && selector.is_none_or(|selector| selector.is_empty())
}

fn set_families(service: &mut Object, old: Option<&Object>) {
    if service.pointer(&["spec", "ipFamilyPolicy"]).is_none() {
        let before = old.map_or("", |old| old.text(&["spec", "ipFamilyPolicy"]));
        let policy = match before {
            "" if is_headless_without_selector(service) => "RequireDualStack",
            "" => "SingleStack",
            before => before,
        };
        service.spec_mut().insert("ipFamilyPolicy".to_owned(), policy.into());
    }
    let single = service.text(&["spec", "ipFamilyPolicy"]) == "SingleStack";
    let mut families: Vec<Value> = service.items(&["spec", "ipFamilies"]).cloned().collect();
    let addresses = service.items(&["spec", "clusterIPs"]).filter_map(Value::as_str).skip(families.len());
    let known = addresses.filter(|address| *address != "None");
    families.extend(known.map(|address| Value::from(if address.contains(':') { "IPv6" } else { "IPv4" })));
    if families.is_empty() {
        families.push("IPv4".into());
    }
    if is_headless_without_selector(service) && !single && families.len() == 1 {
        families.push(if families[0] == "IPv4" { "IPv6" } else { "IPv4" }.into());
    }
    service.spec_mut().insert("ipFamilies".to_owned(), Value::Array(families));
}

pub(super) fn prepare_update(new: &mut Object, old: &Object) {
    keep_given(new, old);
    follow_address(new, old);
    drop_unneeded(new, old);
    if !is_external(new) {
        set_families(new, Some(old));
    }
}

fn is_unsaid(service: &Object, field: &str) -> bool {
    match service.pointer(&["spec", field]) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(value) => *value == 0,
    }
}

fn keep(new: &mut Object, old: &Object, field: &str) {
    if let (true, Some(value)) = (is_unsaid(new, field), old.pointer(&["spec", field])) {
        new.spec_mut().insert(field.to_owned(), value.clone());
    }
}

/// What was given need not be said again.
fn keep_given(new: &mut Object, old: &Object) {
    if !is_external(old) && !is_external(new) {
        let unsaid = is_unsaid(new, "clusterIP");
        keep(new, old, "clusterIP");
        if unsaid || new.pointer(&["spec", "clusterIP"]) == old.pointer(&["spec", "clusterIP"]) {
            keep(new, old, "clusterIPs");
        }
    }
    let asks = |service: &Object| {
        let unasked = service.pointer(&["spec", "allocateLoadBalancerNodePorts"]) == Some(&Value::Bool(false));
        is_open_on_nodes(service) && !(service.text(&["spec", "type"]) == "LoadBalancer" && unasked)
    };
    if asks(old) && asks(new) {
        keep_ports(new, old);
    }
    if needs_health_check(old) && needs_health_check(new) {
        keep(new, old, "healthCheckNodePort");
    }
}

fn number(port: &Value) -> i64 {
    port["nodePort"].as_i64().unwrap_or(0)
}

fn numbers(service: &Object) -> BTreeSet<i64> {
    service.items(&["spec", "ports"]).map(number).filter(|number| *number != 0).collect()
}

/// A port is known by its name, and no two get the same.
fn keep_ports(new: &mut Object, old: &Object) {
    let used: BTreeSet<i64> = numbers(old).intersection(&numbers(new)).copied().collect();
    let before = |name: &Value| old.items(&["spec", "ports"]).filter(|port| port["name"] == *name).last().map(number);
    let Some(Value::Array(ports)) = new.spec_mut().get_mut("ports") else { return };
    for port in ports.iter_mut().filter(|port| number(port) == 0) {
        let given = before(&port["name"]).filter(|number| *number != 0 && !used.contains(number));
        if let (Some(given), Value::Object(fields)) = (given, port) {
            fields.insert("nodePort".to_owned(), given.into());
        }
    }
}

/// A client that knows of one address only means all of them by it.
fn follow_address(new: &mut Object, old: &Object) {
    let same = |field: &str| new.pointer(&["spec", field]) == old.pointer(&["spec", field]);
    if same("clusterIP") || !(same("clusterIPs") || is_unsaid(new, "clusterIPs")) {
        return;
    }
    let ip = new.text(&["spec", "clusterIP"]).to_owned();
    if ip.is_empty() {
        new.spec_mut().remove("clusterIPs");
    } else {
        new.spec_mut().insert("clusterIPs".to_owned(), json!([ip]));
    }
}

/// Whoever changes the type need not clean up after the old one.
fn drop_unneeded(new: &mut Object, old: &Object) {
    let same = |new: &Object, field: &str| new.pointer(&["spec", field]) == old.pointer(&["spec", field]);
    if !is_external(old) && is_external(new) {
        if same(new, "clusterIP") && same(new, "clusterIPs") {
            new.spec_mut().remove("clusterIP");
            new.spec_mut().remove("clusterIPs");
        }
        forget_same(new, old, &["ipFamilies", "ipFamilyPolicy"]);
    }
    if is_open_on_nodes(old) && !is_open_on_nodes(new) && numbers(new).is_subset(&numbers(old)) {
        let ports = list(new.spec_mut(), "ports").iter_mut().filter_map(Value::as_object_mut);
        ports.for_each(|port| drop(port.remove("nodePort")));
    }
    if needs_health_check(old) && !needs_health_check(new) {
        forget_same(new, old, &["healthCheckNodePort"]);
    }
    let balanced = |service: &Object| service.text(&["spec", "type"]) == "LoadBalancer";
    if balanced(old) && !balanced(new) {
        forget_same(new, old, &["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    let outside = |service: &Object| {
        let addressed = service.items(&["spec", "externalIPs"]).next().is_some();
        is_open_on_nodes(service) || service.text(&["spec", "type"]) == "ClusterIP" && addressed
    };
    if outside(old) && !outside(new) {
        forget_same(new, old, &["externalTrafficPolicy"]);
    }
    if is_external(new) {
        forget_same(new, old, &["internalTrafficPolicy"]);
    }
    if !balanced(new) {
        new.map_mut().insert("status".to_owned(), json!({ "loadBalancer": {} }));
        if let Some(conditions) = old.pointer(&["status", "conditions"]) {
            new.map_mut()["status"]["conditions"] = conditions.clone();
        }
    }
}

fn forget_same(new: &mut Object, old: &Object, fields: &[&str]) {
    for field in fields {
        if new.pointer(&["spec", field]) == old.pointer(&["spec", field]) {
            new.spec_mut().remove(*field);
        }
    }
}
