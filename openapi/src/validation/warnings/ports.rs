//! Ports of the containers of one pod that get in each other's way.

use std::collections::HashMap;

use super::Told;
use crate::validation::tree::Node;

/// A port, and the how manieth of all it is.
struct Port<'a> {
    at: usize,
    node: Node<'a>,
    host_ip: &'a str,
    host_port: i64,
}

/// Ports of one number and protocol. A port that is not bound to one of the host gets in the way of all others; one that
/// is, only in that of those that are bound to the same or to none. So no two are compared about which nothing is said.
#[derive(Default)]
struct Same<'a> {
    all: Vec<Port<'a>>,
    by_host: HashMap<i64, Vec<usize>>,
}

impl<'a> Same<'a> {
    fn others(&self, host_port: i64) -> Vec<&Port<'a>> {
        if host_port == 0 {
            return self.all.iter().collect();
        }
        let bound = |port: i64| self.by_host.get(&port).into_iter().flatten();
        let mut places: Vec<usize> = bound(0).chain(bound(host_port)).copied().collect();
        places.sort_unstable();
        places.into_iter().map(|place| &self.all[place]).collect()
    }

    fn add(&mut self, port: Port<'a>) {
        self.by_host.entry(port.host_port).or_default().push(self.all.len());
        self.all.push(port);
    }
}

pub(super) fn overlapping(told: &mut Told, containers: &[Node<'_>]) {
    let mut seen: HashMap<(i64, &str), Same<'_>> = HashMap::new();
    let all = containers.iter().flat_map(|container| container.at("ports").items());
    for (at, node) in all.enumerate() {
        let (host_ip, host_port) = (node.at("hostIP").text(), node.at("hostPort").int());
        if !host_ip.is_empty() && host_port == 0 {
            told.about(&node, &format!("hostIP set without hostPort: {}", as_go_prints(&node)));
        }
        let same = seen.entry((node.at("containerPort").int(), node.at("protocol").text())).or_default();
        let port = Port { at, node, host_ip, host_port };
        for other in same.others(host_port) {
            if let Some(how) = trouble(&port, other) {
                told.about(&port.node, &format!("{how} port definition with {}", other.node.path()));
            }
            if told.is_full() {
                return;
            }
        }
        same.add(port);
    }
}

fn trouble(port: &Port<'_>, other: &Port<'_>) -> Option<&'static str> {
    debug_assert!(other.at < port.at);
    if port.host_ip == other.host_ip && port.host_port == other.host_port {
        Some("duplicate")
    } else if port.host_port == 0 || other.host_port == 0 {
        Some("overlapping")
    } else if port.host_ip.is_empty() != other.host_ip.is_empty() && port.host_port == other.host_port {
        Some("dangerously ambiguous")
    } else {
        None
    }
}

fn as_go_prints(port: &Node<'_>) -> String {
    let (name, host, own) = (port.at("name").text(), port.at("hostPort").int(), port.at("containerPort").int());
    let (protocol, ip) = (port.at("protocol").text(), port.at("hostIP").text());
    format!("{{Name:{name} HostPort:{host} ContainerPort:{own} Protocol:{protocol} HostIP:{ip}}}")
}

pub(super) fn named_twice(told: &mut Told, containers: &[Node<'_>]) {
    let mut seen: HashMap<&str, String> = HashMap::new();
    for port in containers.iter().flat_map(|container| container.at("ports").items()) {
        let name = port.at("name").text();
        if name.is_empty() {
            continue;
        }
        if let Some(other) = seen.get(name) {
            let which = "services and probes that select ports by name will use";
            told.about(&port, &format!("duplicate port name {name:?} with {other}, {which} {other}"));
        } else {
            seen.insert(name, port.path());
        }
    }
}
