//! Endpoints and EndpointSlice.

use std::collections::HashSet;

use super::names;
use super::net::{self, PROTOCOLS};
use super::selector;
use super::tree::{Errors, Node};

const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20000;
const ENDPOINTS_MAX: usize = 1000;
const HINTS_MAX: usize = 8;
const ADDRESS_TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];

pub(super) fn endpoints(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let subsets = object.at("subsets");
    if old.is_some_and(|old| old.at("subsets").same(&subsets)) {
        return;
    }
    for subset in subsets.items() {
        let (ready, waiting, ports) = (subset.at("addresses"), subset.at("notReadyAddresses"), subset.at("ports"));
        if ready.is_empty() && waiting.is_empty() {
            errors.required(&subset, "must specify `addresses` or `notReadyAddresses`");
        }
        for address in ready.items().chain(waiting.items()) {
            self::address(errors, &address);
        }
        for port in ports.items() {
            self::port(errors, &port, ports.len() > 1);
        }
    }
}

fn address(errors: &mut Errors, address: &Node) {
    let (ip, host, node) = (address.at("ip"), address.at("hostname"), address.at("nodeName"));
    net::check_address(errors, &ip, &HashSet::new());
    if !host.is_empty() {
        errors.refuse(&host, names::dns1123_label(host.text()));
    }
    if node.exists() {
        errors.refuse(&node, names::dns1123_subdomain(node.text()));
    }
    net::check_endpoint(errors, &ip);
}

fn port(errors: &mut Errors, port: &Node, several: bool) {
    let name = port.at("name");
    if several && name.is_empty() {
        errors.required(&name, "");
    } else if !name.is_empty() {
        errors.refuse(&name, names::dns1123_label(name.text()));
    }
    net::check_port(errors, &port.at("port"));
    errors.one_of(&port.at("protocol"), &PROTOCOLS);
    if port.at("appProtocol").exists() {
        selector::label_name(errors, &port.at("appProtocol"));
    }
}

pub(super) fn slice(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    if old.is_some() {
        errors.one_of(&object.at("addressType"), &ADDRESS_TYPES);
    }
    slice_ports(errors, &object.at("ports"));
    let endpoints = object.at("endpoints");
    if old.is_some_and(|old| old.at("endpoints").same(&endpoints)) {
        return;
    }
    if endpoints.len() > ENDPOINTS_MAX {
        return errors.too_many(&endpoints, ENDPOINTS_MAX);
    }
    for endpoint in endpoints.items() {
        slice_endpoint(errors, &endpoint, object.at("addressType").text());
    }
}

fn slice_ports(errors: &mut Errors, ports: &Node) {
    if ports.len() > PORTS_MAX {
        return errors.too_many(ports, PORTS_MAX);
    }
    let mut seen = HashSet::new();
    for port in ports.items() {
        let (name, protocol) = (port.at("name"), port.at("protocol"));
        if !name.is_empty() {
            errors.refuse(&name, names::dns1123_label(name.text()));
        }
        if !seen.insert(name.text()) {
            errors.duplicate(&name, name.text());
        }
        if !protocol.exists() {
            errors.required(&protocol, "");
        } else if !PROTOCOLS.contains(&protocol.text()) {
            errors.unsupported(&protocol, &PROTOCOLS);
        }
        if port.at("appProtocol").exists() {
            selector::label_name(errors, &port.at("appProtocol"));
        }
    }
}

fn slice_endpoint(errors: &mut Errors, endpoint: &Node, address_type: &str) {
    let addresses = endpoint.at("addresses");
    for address in addresses.items() {
        match address_type {
            "IPv4" => slice_address(errors, &addresses, &address, false),
            "IPv6" => slice_address(errors, &addresses, &address, true),
            "FQDN" => domain(errors, &address),
            _ => {}
        }
    }
    let (node, host) = (endpoint.at("nodeName"), endpoint.at("hostname"));
    if node.exists() {
        errors.refuse(&node, names::dns1123_subdomain(node.text()));
    }
    selector::labels(errors, &endpoint.at("deprecatedTopology"));
    if host.exists() {
        errors.refuse(&host, names::dns1123_label(host.text()));
    }
    hints(errors, &endpoint.at("hints"));
}

fn slice_address(errors: &mut Errors, list: &Node, at: &Node, six: bool) {
    let before = errors.len();
    if six {
        errors.refuse(at, net::canonical_address(at.text()));
    } else {
        net::check_address(errors, at, &HashSet::new());
    }
    if errors.len() > before {
        return;
    }
    if net::is_ipv6(at.text()) != six {
        let detail = if six { "must be an IPv6 address" } else { "must be an IPv4 address" };
        errors.invalid_value(list, at.text(), detail);
    }
    net::check_endpoint(errors, at);
}

fn domain(errors: &mut Errors, at: &Node) {
    let name = at.text().strip_suffix('.').unwrap_or(at.text());
    let wrong = names::dns1123_subdomain(name);
    if at.is_empty() {
        errors.required(at, "");
    } else if !wrong.is_empty() {
        errors.invalid_value(at, name, wrong.join(","));
    } else if !name.contains('.') {
        errors.invalid_value(at, name, "should be a domain with at least two segments separated by dots");
    } else if let Some(label) = name.split('.').find(|label| !names::dns1123_label(label).is_empty()) {
        errors.invalid_value(at, label, names::dns1123_label(label).join(","));
    }
}

fn hints(errors: &mut Errors, hints: &Node) {
    for list in ["forZones", "forNodes"] {
        let rule = if list == "forZones" { names::label_value } else { names::dns1123_subdomain };
        let list = hints.at(list);
        if list.len() > HINTS_MAX {
            return errors.too_many(&list, HINTS_MAX);
        }
        let mut seen = HashSet::new();
        for name in list.items().map(|hint| hint.at("name")) {
            if !seen.insert(name.text()) {
                errors.duplicate(&name, name.text());
            }
            errors.refuse(&name, rule(name.text()));
        }
    }
}

pub(super) fn slice_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    let kind = new.at("addressType");
    if old.is_some_and(|old| old.at("addressType").text() != kind.text()) {
        errors.declared_immutable(&kind);
    } else if old.is_none() {
        errors.one_of(&kind, &ADDRESS_TYPES);
    }
    if old.is_some_and(|old| old.at("endpoints").same(&new.at("endpoints"))) {
        return;
    }
    for addresses in new.at("endpoints").items().map(|endpoint| endpoint.at("addresses")) {
        if addresses.is_empty() {
            errors.required(&addresses, "");
        } else if addresses.len() > ADDRESSES_MAX {
            errors.too_many(&addresses, ADDRESSES_MAX);
        }
    }
}
