//! Ingress, IngressClass, NetworkPolicy, ServiceCIDR, IPAddress.

use std::collections::HashSet;
use std::net::IpAddr;

use super::net::{self, PROTOCOLS};
use super::tree::{Errors, Node};
use super::{job, names, selector};

const CONTROLLER_BYTES_MAX: usize = 250;
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

pub(super) fn ingress(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    let (rules, backend, class) = (spec.at("rules"), spec.at("defaultBackend"), spec.at("ingressClassName"));
    if rules.is_empty() && !backend.exists() {
        let shown = rules.value().clone();
        errors.invalid_value(&spec, shown, "either `defaultBackend` or `rules` must be specified");
    }
    if backend.exists() {
        self::backend(errors, &backend);
    }
    for rule in rules.items() {
        self::rule(errors, &rule);
    }
    for entry in spec.at("tls").items() {
        for host in entry.at("hosts").items() {
            let wildcard = host.text().contains('*');
            let rule = if wildcard { names::wildcard_subdomain } else { names::dns1123_subdomain };
            errors.refuse(&host, rule(host.text()));
        }
        let secret = entry.at("secretName");
        if !secret.is_empty() {
            errors.refuse(&secret, names::dns1123_subdomain(secret.text()));
        }
    }
    if class.exists() {
        errors.refuse(&class, names::dns1123_subdomain(class.text()));
    }
    let annotation = object.at("metadata").at("annotations").key(CLASS_ANNOTATION);
    if old.is_none() && annotation.exists() && class.exists() && annotation.text() != class.text() {
        let place = Node::nowhere("annotations").at(CLASS_ANNOTATION);
        errors.invalid_value(&place, annotation.text(), "must match `ingressClassName` when both are specified");
    }
}

fn rule(errors: &mut Errors, rule: &Node) {
    let host = rule.at("host");
    if !host.is_empty() {
        if net::address(host.text()).is_some() {
            errors.invalid(&host, "must be a DNS name, not an IP address");
        }
        let wildcard = host.text().contains('*');
        let form = if wildcard { names::wildcard_subdomain } else { names::dns1123_subdomain };
        errors.refuse(&host, form(host.text()));
    }
    let http = rule.at("http");
    if http.exists() && http.at("paths").is_empty() {
        errors.required(&http.at("paths"), "");
    }
    for path in http.at("paths").items() {
        http_path(errors, &path);
    }
}

fn http_path(errors: &mut Errors, at: &Node) {
    let (kind, path) = (at.at("pathType"), at.at("path"));
    if !kind.exists() {
        return errors.required(&kind, "pathType must be specified");
    }
    let absolute = path.text().starts_with('/');
    match kind.text() {
        "Exact" | "Prefix" => {
            if !absolute {
                errors.invalid_value(&path, path.text(), "must be an absolute path");
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"].into_iter().filter(|part| path.text().contains(part)) {
                errors.invalid(&path, format!("must not contain '{part}'"));
            }
            for end in ["/..", "/."].into_iter().filter(|end| path.text().ends_with(end)) {
                errors.invalid(&path, format!("cannot end with '{end}'"));
            }
        }
        "ImplementationSpecific" if !path.is_empty() && !absolute => {
            errors.invalid(&path, "must be an absolute path");
        }
        "ImplementationSpecific" => {}
        _ => errors.unsupported(&kind, &["Exact", "ImplementationSpecific", "Prefix"]),
    }
    backend(errors, &at.at("backend"));
}

fn backend(errors: &mut Errors, at: &Node) {
    let (resource, service) = (at.at("resource"), at.at("service"));
    match (resource.exists(), service.exists()) {
        (true, true) => errors.invalid_value(at, "", "cannot set both resource and service backends"),
        (true, false) => {
            group(errors, &resource.at("apiGroup"));
            for name in ["kind", "name"].map(|name| resource.at(name)) {
                if name.is_empty() {
                    errors.required(&name, "");
                }
                errors.refuse(&name, names::path_segment(name.text()));
            }
        }
        (false, true) => service_backend(errors, at, &service),
        (false, false) => errors.invalid_value(at, "", "resource or service backend is required"),
    }
}

fn group(errors: &mut Errors, at: &Node) {
    if at.exists() {
        errors.refuse(at, names::dns1123_subdomain(at.text()));
    }
}

fn service_backend(errors: &mut Errors, at: &Node, service: &Node) {
    let (name, port) = (service.at("name"), service.at("port"));
    if name.is_empty() {
        errors.required(&name, "");
    } else {
        errors.refuse(&name, names::dns1123_label(name.text()));
    }
    match (!port.at("name").is_empty(), port.at("number").int() != 0) {
        (true, true) => errors.invalid_value(at, "", "cannot set both port name & port number"),
        (true, false) => errors.refuse(&port.at("name"), names::port_name(port.at("name").text())),
        (false, true) => net::check_port(errors, &port.at("number")),
        (false, false) => errors.required(at, "port name or number is required"),
    }
}

pub(super) fn ingress_status(errors: &mut Errors, new: &Node, old: &Node) {
    let before = old.at("status").at("loadBalancer").at("ingress");
    let known: HashSet<&str> = before.items().map(|item| item.at("ip").text()).collect();
    for item in new.at("status").at("loadBalancer").at("ingress").items() {
        let (ip, host) = (item.at("ip"), item.at("hostname"));
        if !ip.is_empty() {
            net::check_address(errors, &ip, &known);
        }
        if !host.is_empty() {
            errors.refuse(&host, names::dns1123_subdomain(host.text()));
            if net::address(host.text()).is_some() {
                errors.invalid(&host, "must be a DNS name, not an IP address");
            }
        }
    }
}

pub(super) fn ingress_class(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let controller = object.at("spec").at("controller");
    if controller.len() > CONTROLLER_BYTES_MAX {
        errors.too_long(&controller, CONTROLLER_BYTES_MAX);
    }
    job::domain_path(errors, &controller);
    let parameters = object.at("spec").at("parameters");
    if !parameters.exists() {
        return;
    }
    group(errors, &parameters.at("apiGroup"));
    for name in ["kind", "name"].map(|name| parameters.at(name)).iter().filter(|name| !name.is_empty()) {
        errors.refuse(name, names::path_segment(name.text()));
    }
    let (scope, namespace) = (parameters.at("scope"), parameters.at("namespace"));
    match scope.text() {
        _ if !scope.exists() => errors.required(&scope, ""),
        "Namespace" if namespace.exists() => errors.refuse(&namespace, names::dns1123_label(namespace.text())),
        "Namespace" => errors.required(&namespace, "`parameters.scope` is set to 'Namespace'"),
        "Cluster" if namespace.exists() => errors.forbidden(&namespace, "`parameters.scope` is set to 'Cluster'"),
        "Cluster" => {}
        _ => errors.unsupported(&scope, &["Cluster", "Namespace"]),
    }
}

pub(super) fn ingress_class_update(errors: &mut Errors, new: &Node, old: &Node) {
    errors.immutable(&new.at("spec").at("controller"), &old.at("spec").at("controller"));
}

pub(super) fn ingress_class_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    let parameters = new.at("spec").at("parameters");
    if !parameters.exists() || old.is_some_and(|old| old.at("spec").at("parameters").same(&parameters)) {
        return;
    }
    for name in ["kind", "name"].map(|name| parameters.at(name)).iter().filter(|name| name.is_empty()) {
        errors.required(name, "");
    }
}

fn peers<'a>(object: &Node<'a>) -> impl Iterator<Item = Node<'a>> + use<'a> {
    let spec = object.at("spec");
    let ingress = spec.at("ingress").items().flat_map(|rule| rule.at("from").items());
    ingress.chain(spec.at("egress").items().flat_map(|rule| rule.at("to").items()))
}

pub(super) fn network_policy(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    selector::selector(errors, &spec.at("podSelector"));
    let blocks = old.into_iter().flat_map(peers).map(|peer| peer.at("ipBlock"));
    let known: HashSet<&str> =
        blocks.flat_map(|block| block.at("except").texts().into_iter().chain([block.at("cidr").text()])).collect();
    for (list, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.at(list).items() {
            for port in rule.at("ports").items() {
                policy_port(errors, &port);
            }
            for peer in rule.at(peers).items() {
                policy_peer(errors, &peer, &known);
            }
        }
    }
    let types = spec.at("policyTypes");
    if types.len() > 2 {
        return errors.invalid(&types, "may not specify more than two policyTypes");
    }
    for kind in types.items().filter(|kind| !["Ingress", "Egress"].contains(&kind.text())) {
        errors.unsupported(&kind, &["Ingress", "Egress"]);
    }
}

fn policy_port(errors: &mut Errors, at: &Node) {
    let (protocol, port, end) = (at.at("protocol"), at.at("port"), at.at("endPort"));
    if protocol.exists() && !PROTOCOLS.contains(&protocol.text()) {
        errors.unsupported(&protocol, &["TCP", "UDP", "SCTP"]);
    }
    if !port.exists() {
        if end.exists() {
            errors.invalid(&end, "may not be specified when `port` is not specified");
        }
    } else if port.value().is_string() {
        if end.exists() {
            errors.invalid(&end, "may not be specified when `port` is non-numeric");
        }
        errors.refuse(&port, names::port_name(port.text()));
    } else {
        net::check_port(errors, &port);
        if end.exists() {
            if end.int() < port.int() {
                errors.invalid(&end, "must be greater than or equal to `port`");
            }
            net::check_port(errors, &end);
        }
    }
}

fn policy_peer(errors: &mut Errors, at: &Node, known: &HashSet<&str>) {
    let (pods, namespaces, block) = (at.at("podSelector"), at.at("namespaceSelector"), at.at("ipBlock"));
    selector::selector(errors, &pods);
    selector::selector(errors, &namespaces);
    if block.exists() {
        ip_block(errors, &block, known);
    }
    let selected = pods.exists() || namespaces.exists();
    if !selected && !block.exists() {
        errors.required(at, "must specify a peer");
    } else if selected && block.exists() {
        errors.forbidden(at, "may not specify both ipBlock and another peer");
    }
}

fn ip_block(errors: &mut Errors, block: &Node, known: &HashSet<&str>) {
    let cidr = block.at("cidr");
    if cidr.is_empty() {
        return;
    }
    net::check_range(errors, &cidr, cidr.text(), known);
    let Some((whole, length)) = net::range(cidr.text()) else { return };
    for except in block.at("except").items() {
        net::check_range(errors, &except, except.text(), known);
        if let Some((part, part_length)) = net::range(except.text())
            && (part_length <= length || !contains(whole, length, part))
        {
            errors.invalid(&except, "must be a strict subset of `cidr`");
        }
    }
}

fn contains(whole: IpAddr, length: u8, part: IpAddr) -> bool {
    let length = u32::from(length);
    match (whole, part) {
        (IpAddr::V4(whole), IpAddr::V4(part)) => {
            (u32::from(whole) ^ u32::from(part)).checked_shr(32 - length).unwrap_or(0) == 0
        }
        (IpAddr::V6(whole), IpAddr::V6(part)) => {
            (u128::from(whole) ^ u128::from(part)).checked_shr(128 - length).unwrap_or(0) == 0
        }
        _ => false,
    }
}

pub(super) fn network_policy_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    if old.is_some_and(|old| old.at("spec").same(&new.at("spec"))) {
        return;
    }
    for block in peers(new).map(|peer| peer.at("ipBlock")).filter(|block| block.exists()) {
        if block.at("cidr").is_empty() {
            errors.required(&block.at("cidr"), "");
        }
    }
}

pub(super) fn service_cidr(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let ranges = object.at("spec").at("cidrs");
    if ranges.is_empty() {
        return errors.required(&ranges, "at least one CIDR required");
    }
    if ranges.len() > 2 {
        return errors.invalid_showing(&ranges, &object.at("spec"), "may only hold up to 2 values");
    }
    for range in ranges.items() {
        errors.refuse(&range, net::range_problems(range.text()));
    }
    let families: Vec<bool> =
        ranges.items().filter_map(|range| net::range(range.text())).map(|(address, _)| address.is_ipv6()).collect();
    if families.len() == 2 && families[0] == families[1] {
        let detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.invalid(&ranges, detail);
    }
}

pub(super) fn service_cidr_update(errors: &mut Errors, new: &Node, old: &Node) {
    let (ranges, before) = (new.at("spec").at("cidrs"), old.at("spec").at("cidrs"));
    let grows = before.len() == 1 && ranges.len() == 2;
    if before.len() != ranges.len() && !grows {
        return errors.invalid(&ranges, "field is immutable");
    }
    for (range, _) in ranges.items().zip(before.texts()).filter(|(range, known)| range.text() != *known) {
        errors.invalid(&range, "field is immutable");
    }
    if grows {
        service_cidr(errors, new, None);
    }
}

pub(super) fn ip_address(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let parent = object.at("spec").at("parentRef");
    if !parent.exists() {
        if old.is_some() {
            errors.required(&parent, "");
        }
        return;
    }
    if !parent.at("group").is_empty() {
        group(errors, &parent.at("group"));
    }
    for (name, needed) in [("resource", true), ("name", true), ("namespace", false)] {
        let value = parent.at(name);
        if value.is_empty() && needed && old.is_some() {
            errors.required(&value, "");
        }
        errors.refuse(&value, names::path_segment(value.text()));
    }
}

pub(super) fn ip_address_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    let parent = new.at("spec").at("parentRef");
    match old {
        Some(old) if !old.at("spec").at("parentRef").same(&parent) => errors.declared_immutable(&parent),
        Some(_) => {}
        None if !parent.exists() => errors.required(&parent, ""),
        None => {
            for name in ["resource", "name"].map(|name| parent.at(name)).iter().filter(|name| name.is_empty()) {
                errors.required(name, "");
            }
        }
    }
}
