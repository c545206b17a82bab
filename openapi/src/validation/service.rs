//! Service: ports, type, addresses, traffic.

use std::collections::HashSet;

use super::names;
use super::net::{self, PROTOCOLS};
use super::selector;
use super::tree::{Errors, Node};

const AFFINITY_SECONDS_MAX: i64 = 86400;
const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// What stood in a list of the spec before: it may stay as it is.
fn texts<'a>(old: Option<&Node<'a>>, name: &'a str) -> HashSet<&'a str> {
    old.map_or_else(HashSet::new, |old| old.at("spec").at(name).texts().into_iter().collect())
}

fn is_headless(spec: &Node) -> bool {
    spec.at("clusterIPs").texts() == ["None"]
}

pub(super) fn service(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    topology(errors, &object.at("metadata").at("annotations"));
    if spec.at("ports").is_empty() && !is_headless(&spec) && !spec.at("type").is("ExternalName") {
        errors.required(&spec.at("ports"), "");
    }
    of_type(errors, &spec);
    ports(errors, &spec);
    selector::labels(errors, &spec.at("selector"));
    session_affinity(errors, &spec);
    cluster_ips(errors, &spec, old);
    external_ips(errors, &spec.at("externalIPs"), old);
    errors.one_of(&spec.at("type"), &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
    node_ports(errors, &spec);
    repeated_ports(errors, &spec.at("ports"));
    source_ranges(errors, object, old);
    let allocate = spec.at("allocateLoadBalancerNodePorts");
    let balanced = spec.at("type").is("LoadBalancer");
    if allocate.exists() && !balanced {
        errors.forbidden(&allocate, ONLY_LOAD_BALANCER);
    }
    if balanced && !allocate.exists() {
        errors.required(&Node::nowhere("allocateLoadBalancerNodePorts"), "");
    }
    balancer_class(errors, &spec);
    traffic(errors, &spec);
}

fn topology(errors: &mut Errors, annotations: &Node) {
    let hints = annotations.key("service.kubernetes.io/topology-aware-hints");
    let mode = annotations.key("service.kubernetes.io/topology-mode");
    if hints.exists() && mode.exists() && hints.text() != mode.text() {
        let other = "service.kubernetes.io/topology-aware-hints";
        errors.invalid(&mode, format!("must match annotations[{other}] when both are specified"));
    }
}

fn of_type(errors: &mut Errors, spec: &Node) {
    let ips = spec.at("clusterIPs");
    match spec.at("type").text() {
        name @ ("LoadBalancer" | "NodePort") if is_headless(spec) => {
            errors.invalid(&ips.item(0), format!("may not be set to 'None' for {name} services"));
        }
        "ExternalName" => {
            let set = [!ips.is_empty(), !spec.at("ipFamilies").is_empty(), spec.at("ipFamilyPolicy").exists()];
            for (name, set) in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"].into_iter().zip(set) {
                if set {
                    errors.forbidden(&spec.at(name), "may not be set for ExternalName services");
                }
            }
            let external = spec.at("externalName");
            let name = external.text().strip_suffix('.').unwrap_or(external.text());
            if name.is_empty() {
                errors.required(&external, "");
            }
            for message in if name.is_empty() { Vec::new() } else { names::dns1123_subdomain(name) } {
                errors.invalid_value(&external, name, message);
            }
        }
        _ => {}
    }
}

fn ports(errors: &mut Errors, spec: &Node) {
    let ports = spec.at("ports");
    let mut seen = HashSet::new();
    for port in ports.items() {
        let name = port.at("name");
        if name.is_empty() && ports.len() > 1 {
            errors.required(&name, "");
        } else if !name.is_empty() {
            errors.refuse(&name, names::dns1123_label(name.text()));
            if !seen.insert(name.text()) {
                errors.duplicate(&name, name.text());
            }
        }
        net::check_port(errors, &port.at("port"));
        errors.one_of(&port.at("protocol"), &PROTOCOLS);
        net::check_port_or_name(errors, &port.at("targetPort"));
        if port.at("appProtocol").exists() {
            selector::label_name(errors, &port.at("appProtocol"));
        }
    }
}

fn session_affinity(errors: &mut Errors, spec: &Node) {
    let (affinity, config) = (spec.at("sessionAffinity"), spec.at("sessionAffinityConfig"));
    errors.one_of(&affinity, &["ClientIP", "None"]);
    if affinity.is("None") && config.exists() {
        errors.forbidden(&config, "must not be set when session affinity is None");
    }
    if affinity.is("ClientIP") {
        let client = config.at("clientIP");
        let timeout = client.at("timeoutSeconds");
        if let Some(missing) = [&config, &client, &timeout].into_iter().find(|node| !node.exists()) {
            errors.required(missing, "when session affinity type is ClientIP");
        } else if timeout.int() <= 0 || timeout.int() > AFFINITY_SECONDS_MAX {
            errors.invalid(&timeout, format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}"));
        }
    }
}

fn cluster_ips(errors: &mut Errors, spec: &Node, old: Option<&Node>) {
    if spec.at("type").is("ExternalName") {
        return;
    }
    let (ip, ips) = (spec.at("clusterIP"), spec.at("clusterIPs"));
    match (ip.is_empty(), ips.is_empty()) {
        (false, true) => errors.required(&ips, ""),
        (false, false) if ips.item(0).text() != ip.text() => {
            errors.invalid(&ips, "first value must match `clusterIP`");
        }
        (true, false) => errors.invalid(&ips, "must be empty when `clusterIP` is not specified"),
        _ => {}
    }
    families(errors, spec);
    let known = texts(old, "clusterIPs");
    let mut right = true;
    for (at, ip) in ips.items().enumerate() {
        if at == 0 && ip.is("None") {
            if ips.len() > 1 {
                errors.invalid(&ips, "'None' must be the first and only value");
                right = false;
            }
            continue;
        }
        right &= net::check_address(errors, &ip, &known);
    }
    if ips.len() > 2 {
        errors.invalid(&ips, "may only hold up to 2 values");
    }
    if right {
        families_match(errors, spec);
    }
}

fn families(errors: &mut Errors, spec: &Node) {
    let mut seen = HashSet::new();
    for family in spec.at("ipFamilies").items() {
        if !["IPv4", "IPv6"].contains(&family.text()) {
            errors.unsupported(&family, &["IPv4", "IPv6"]);
        }
        if !seen.insert(family.text()) {
            errors.duplicate(&family, family.text());
        }
    }
    let policy = spec.at("ipFamilyPolicy");
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    if policy.exists() && !policies.contains(&policy.text()) {
        errors.unsupported(&policy, &policies);
    }
}

fn families_match(errors: &mut Errors, spec: &Node) {
    let ips = spec.at("clusterIPs");
    let six = ips.texts().into_iter().filter(|ip| net::is_ipv6(ip)).count();
    if ips.len() > 1 && (six == 0 || six == ips.len()) {
        errors.invalid(&ips, "may specify no more than one IP for each IP family");
    }
    if is_headless(spec) {
        return;
    }
    for (at, (ip, family)) in ips.items().zip(spec.at("ipFamilies").items()).enumerate() {
        let six = net::is_ipv6(ip.text());
        if (family.is("IPv4") && six) || (family.is("IPv6") && !six) {
            let detail = format!("expected an {} value as indicated by `ipFamilies[{at}]`", family.text());
            errors.invalid(&ip, detail);
        }
    }
}

fn external_ips(errors: &mut Errors, list: &Node, old: Option<&Node>) {
    let known = texts(old, "externalIPs");
    for ip in list.items() {
        if net::check_address(errors, &ip, &known) {
            net::check_endpoint(errors, &ip);
        }
    }
}

fn node_ports(errors: &mut Errors, spec: &Node) {
    if spec.at("type").is("ClusterIP") {
        for port in spec.at("ports").items().filter(|port| port.at("nodePort").int() != 0) {
            errors.forbidden(&port.at("nodePort"), "may not be used when `type` is 'ClusterIP'");
        }
    }
    let mut seen = HashSet::new();
    for port in spec.at("ports").items().filter(|port| port.at("nodePort").int() != 0) {
        let key = (port.at("protocol").text(), port.at("nodePort").int());
        if !seen.insert(key) {
            errors.duplicate(&port.at("nodePort"), key.1);
        }
    }
}

fn repeated_ports(errors: &mut Errors, ports: &Node) {
    let mut seen = HashSet::new();
    for port in ports.items() {
        let (protocol, number) = (port.at("protocol").text(), port.at("port").int());
        if !seen.insert((protocol, number)) {
            let rest = r#""TargetPort":0,"NodePort":0"#;
            let shown = format!(r#"{{"Name":"","Protocol":{protocol:?},"AppProtocol":null,"Port":{number},{rest}}}"#);
            errors.duplicate_shown(&port, shown);
        }
    }
}

fn source_ranges(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let balanced = object.at("spec").at("type").is("LoadBalancer");
    let ranges = object.at("spec").at("loadBalancerSourceRanges");
    let annotation = object.at("metadata").at("annotations").key(SOURCE_RANGES);
    let named = if ranges.is_empty() { annotation.clone() } else { ranges.called("LoadBalancerSourceRanges") };
    if named.exists() && !balanced {
        errors.forbidden(&named, ONLY_LOAD_BALANCER);
    }
    if !ranges.is_empty() {
        let known = texts(old, "loadBalancerSourceRanges").into_iter().map(str::trim).collect();
        for range in named.items() {
            net::check_range(errors, &range, range.text().trim(), &known);
        }
        return;
    }
    let before = old.map(|old| old.at("metadata").at("annotations").key(SOURCE_RANGES).text());
    let text = annotation.text().trim();
    if !text.is_empty() && before != Some(annotation.text()) {
        for range in text.split(',') {
            net::check_range(errors, &annotation, range.trim(), &HashSet::new());
        }
    }
}

fn balancer_class(errors: &mut Errors, spec: &Node) {
    let class = spec.at("loadBalancerClass");
    if class.exists() && spec.at("type").is("LoadBalancer") {
        selector::label_name(errors, &class);
    } else if class.exists() {
        errors.forbidden(&class, ONLY_LOAD_BALANCER);
    }
}

fn needs_health_check(spec: &Node) -> bool {
    spec.at("type").is("LoadBalancer") && spec.at("externalTrafficPolicy").is("Local")
}

fn traffic(errors: &mut Errors, spec: &Node) {
    let kind = spec.at("type").text();
    let external = spec.at("externalTrafficPolicy");
    let reachable =
        ["LoadBalancer", "NodePort"].contains(&kind) || (kind == "ClusterIP" && !spec.at("externalIPs").is_empty());
    if reachable {
        errors.one_of(&external, &["Cluster", "Local"]);
    } else if !external.is_empty() {
        errors.invalid(&external, "may only be set for externally-accessible services");
    }
    let port = spec.at("healthCheckNodePort");
    match (needs_health_check(spec), port.int() != 0) {
        (false, true) => errors
            .invalid(&port, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"),
        (true, false) => errors.required(&port, ""),
        (true, true) => net::check_port(errors, &port),
        (false, false) => {}
    }
    let internal = spec.at("internalTrafficPolicy");
    if !internal.exists() && ["ClusterIP", "NodePort", "LoadBalancer"].contains(&kind) {
        errors.required(&internal, "");
    }
    if internal.exists() && !["Cluster", "Local"].contains(&internal.text()) {
        errors.unsupported(&internal, &["Cluster", "Local"]);
    }
    let distribution = spec.at("trafficDistribution");
    let distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    if distribution.exists() && !distributions.contains(&distribution.text()) {
        errors.unsupported(&distribution, &distributions);
    }
}

pub(super) fn service_update(errors: &mut Errors, new: &Node, old: &Node) {
    let (new, old) = (new.at("spec"), old.at("spec"));
    if !new.at("type").is("ExternalName") && !old.at("type").is("ExternalName") {
        kept_ips(errors, &new, &old);
        kept_families(errors, &new, &old);
    }
    if new.at("type").is("LoadBalancer") && old.at("type").is("LoadBalancer") {
        let class = new.at("loadBalancerClass");
        if !class.same(&old.at("loadBalancerClass")) {
            errors.invalid(&class, "may not change once set");
        }
    }
    balancer_class(errors, &new);
    let port = new.at("healthCheckNodePort");
    if needs_health_check(&new) && needs_health_check(&old) && port.int() != old.at("healthCheckNodePort").int() {
        errors.forbidden(&port, "field is immutable");
    }
}

fn kept_ips(errors: &mut Errors, new: &Node, old: &Node) {
    if is_headless(new) && is_headless(old) {
        return;
    }
    let (ips, before) = (new.at("clusterIPs"), old.at("clusterIPs"));
    let (texts, known) = (ips.texts(), before.texts());
    let changed = |errors: &mut Errors, at: usize| {
        let item = ips.item(at);
        errors.invalid_showing(&item, &ips, "may not change once set");
    };
    if known.len() == texts.len() {
        for at in (0..known.len()).filter(|at| known[*at] != texts[*at]) {
            changed(errors, at);
        }
        return;
    }
    if texts.is_empty() {
        errors.invalid_showing(&ips.item(0), &ips, "primary clusterIP can not be unset");
    } else if !known.is_empty() && texts[0] != known[0] {
        changed(errors, 0);
    }
    if known.len() > texts.len() && texts.len() == 1 && !new.at("ipFamilyPolicy").is("SingleStack") {
        let detail = "must be set to 'SingleStack' when releasing the secondary clusterIP";
        errors.invalid(&new.at("ipFamilyPolicy"), detail);
    }
}

fn kept_families(errors: &mut Errors, new: &Node, old: &Node) {
    if is_headless(new) || is_headless(old) {
        return;
    }
    let (families, before) = (new.at("ipFamilies"), old.at("ipFamilies"));
    let (texts, known) = (families.texts(), before.texts());
    let first = families.item(0);
    if known.len() == texts.len() {
        for _ in known.iter().zip(&texts).filter(|(before, after)| before != after) {
            errors.invalid_showing(&first, &families, "may not change once set");
        }
        return;
    }
    if known.len() > texts.len() && new.at("clusterIPs").is_empty() {
        errors.invalid_showing(&first, &families, "primary ipFamily can not be unset");
    }
    if !texts.is_empty() && !known.is_empty() && texts[0] != known[0] {
        errors.invalid_showing(&first, &new.at("clusterIPs"), "may not change once set");
    }
    if known.len() > texts.len() && texts.len() == 1 && !new.at("ipFamilyPolicy").is("SingleStack") {
        let detail = "must be set to 'SingleStack' when releasing the secondary ipFamily";
        errors.invalid(&new.at("ipFamilyPolicy"), detail);
    }
}

pub(super) fn service_status(errors: &mut Errors, new: &Node, old: &Node) {
    let ingress = new.at("status").at("loadBalancer").at("ingress");
    if !new.at("spec").at("type").is("LoadBalancer") && !ingress.is_empty() {
        return errors.forbidden(&ingress, "may only be used when `spec.type` is 'LoadBalancer'");
    }
    let before = old.at("status").at("loadBalancer").at("ingress");
    let known = before.items().map(|item| item.at("ip").text()).filter(|ip| !ip.is_empty()).collect();
    for item in ingress.items() {
        let (ip, mode, host) = (item.at("ip"), item.at("ipMode"), item.at("hostname"));
        if !ip.is_empty() {
            net::check_address(errors, &ip, &known);
        }
        match (mode.exists(), ip.is_empty()) {
            (false, false) => errors.required(&mode, "must be specified when `ip` is set"),
            (true, true) => errors.forbidden(&mode, "may not be specified when `ip` is not set"),
            (true, false) if !["Proxy", "VIP"].contains(&mode.text()) => errors.unsupported(&mode, &["Proxy", "VIP"]),
            _ => {}
        }
        if !host.is_empty() {
            errors.refuse(&host, names::dns1123_subdomain(host.text()));
            if net::address(host.text()).is_some() {
                errors.invalid(&host, "must be a DNS name, not an IP address");
            }
        }
    }
}
