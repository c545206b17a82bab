//! Services, endpoints, and what is allowed between them; addresses in forms that not everybody reads.

use std::net::IpAddr;

use super::Told;
use crate::address::{address, is_mapped};
use crate::validation::tree::Node;

const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

pub(super) fn service(told: &mut Told, service: &Node<'_>) {
    let spec = service.at("spec");
    if service.at("metadata").at("annotations").key(HINTS).exists() {
        let mode = "service.kubernetes.io/topology-mode";
        told.say(format!("annotation {HINTS} is deprecated, please use {mode} instead"));
    }
    let headless = spec.at("type").is("ClusterIP") && spec.at("clusterIP").is("None");
    if !headless {
        spec.at("clusterIPs").items().for_each(|ip| written(told, &ip));
    }
    if headless {
        ignored_without_address(told, &spec);
    }
    let external = spec.at("type").is("ExternalName");
    let outside = spec.at("externalIPs");
    outside.items().for_each(|ip| written(told, &ip));
    if !outside.is_empty() && !headless && !external {
        told.say("spec.externalIPs is deprecated and may no longer be implemented in some clusters".to_owned());
    }
    written(told, &spec.at("loadBalancerIP"));
    spec.at("loadBalancerSourceRanges").items().for_each(|source| range(told, &source));
    if external && !outside.is_empty() {
        told.say("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !external && !spec.at("externalName").is_empty() {
        told.say("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec.at("trafficDistribution").is("PreferClose") {
        told.about(&spec.at("trafficDistribution"), "\"PreferClose\" is deprecated; use \"PreferSameZone\"");
    }
}

/// What means nothing for a service without an address of its own.
fn ignored_without_address(told: &mut Told, spec: &Node<'_>) {
    if !spec.at("loadBalancerIP").is_empty() {
        told.say("spec.loadBalancerIP is ignored for headless services".to_owned());
    }
    if !spec.at("externalIPs").is_empty() {
        told.say("spec.externalIPs is ignored for headless services".to_owned());
    }
    if !spec.at("sessionAffinity").is("None") {
        told.say("spec.SessionAffinity is ignored for headless services".to_owned());
    }
}

pub(super) fn ingress(told: &mut Told, ingress: &Node<'_>) {
    let annotated = ingress.at("metadata").at("annotations").key(INGRESS_CLASS).exists();
    if annotated && !ingress.at("spec").at("ingressClassName").exists() {
        told.say(format!("annotation {INGRESS_CLASS:?} is deprecated, please use 'spec.ingressClassName' instead"));
    }
}

pub(super) fn policy(told: &mut Told, policy: &Node<'_>) {
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in policy.at("spec").at(rules).items() {
            for peer in rule.at(peers).items() {
                let block = peer.at("ipBlock");
                range(told, &block.at("cidr"));
                block.at("except").items().for_each(|except| range(told, &except));
            }
        }
    }
}

pub(super) fn endpoints(told: &mut Told, endpoints: &Node<'_>) {
    if is_managed(endpoints, "endpoints.kubernetes.io/managed-by", &["endpoint-controller"]) {
        return;
    }
    for subset in endpoints.at("subsets").items() {
        for list in ["addresses", "notReadyAddresses"] {
            subset.at(list).items().for_each(|address| written(told, &address.at("ip")));
        }
    }
}

pub(super) fn slice(told: &mut Told, slice: &Node<'_>, new: bool) {
    if new && slice.at("addressType").is("FQDN") {
        told.say("spec.addressType: FQDN endpoints are deprecated".to_owned());
    }
    let controllers = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];
    if is_managed(slice, MANAGED_BY, &controllers) {
        return;
    }
    for endpoint in slice.at("endpoints").items() {
        endpoint.at("addresses").items().for_each(|address| written(told, &address));
    }
}

/// Whoever writes them all the time knows how.
fn is_managed(object: &Node<'_>, label: &'static str, controllers: &[&str]) -> bool {
    controllers
        .contains(&object.at("metadata").at("labels").value().get(label).and_then(|by| by.as_str()).unwrap_or(""))
}

/// An address that is read, but should be written otherwise. Nothing is said of what is no address.
pub(super) fn written(told: &mut Told, at: &Node<'_>) {
    let text = at.text();
    let Some(lenient) = address(text) else { return };
    match text.parse::<IpAddr>() {
        Ok(strict) if !is_mapped(strict) => {
            if strict.is_ipv6() && strict.to_string() != text {
                let canonical = strict.to_string();
                told.about(
                    at,
                    &format!("IPv6 address {text:?} should be in RFC 5952 canonical format ({canonical:?})"),
                );
            }
        }
        _ => {
            let instead = lenient.to_canonical().to_string();
            told.about(at, &format!("non-standard IP address {text:?} is invalid: use {instead:?}"));
        }
    }
}

/// The same for a range of addresses.
pub(super) fn range(told: &mut Told, at: &Node<'_>) {
    let text = at.text();
    let Some((ip, network, bits)) = parse(text) else { return };
    let (whole, most) = (format!("{network}/{bits}"), if ip.is_ipv4() { 32 } else { 128 });
    let before = told.0.len();
    if ip != network {
        let one = format!("{ip}/{most}");
        told.about(at, &format!("CIDR value {text:?} is ambiguous in this context (should be {whole:?} or {one:?}?)"));
    }
    let (head, tail) = text.split_once('/').unwrap_or_default();
    let strict = head.parse::<IpAddr>().is_ok_and(|ip| !is_mapped(ip)) && tail == bits_as_written(tail);
    if !strict {
        told.about(at, &format!("non-standard CIDR value {text:?} is invalid: use {whole:?}"));
    }
    if told.0.len() == before && ip.is_ipv6() && whole != text {
        told.about(at, &format!("IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({whole:?})"));
    }
}

fn bits_as_written(bits: &str) -> String {
    bits.parse::<u8>().map_or_else(|_| String::new(), |bits| bits.to_string())
}

/// The address as it stands, the first one of its range, and how many bits those have in common.
fn parse(text: &str) -> Option<(IpAddr, IpAddr, u8)> {
    let (head, tail) = text.split_once('/')?;
    let (ip, bits) = (address(head)?, tail.parse::<u8>().ok()?);
    let network = match ip {
        IpAddr::V4(ip) => IpAddr::V4((ip.to_bits() & mask(u32::MAX.into(), bits, 32)? as u32).into()),
        IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() & mask(u128::MAX, bits, 128)?).into()),
    };
    Some((ip, network, bits))
}

fn mask(ones: u128, bits: u8, most: u8) -> Option<u128> {
    let rest = most.checked_sub(bits)?;
    Some(if u32::from(rest) == u128::BITS { 0 } else { ones >> rest << rest })
}
