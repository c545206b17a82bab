//! Services, and the endpoints behind them.

use serde_json::Value;

use crate::print::column::{AGE, NAME, text};
use crate::print::look::Look;
use crate::print::subject::Subject;
use crate::print::words::{NONE, UNKNOWN, and_more, join, labels, load_balancer, or_none, texts};
use crate::print::{Printer, row};

/// Endpoints that are named; the others are counted.
const ENDPOINTS_SHOWN: usize = 3;

pub(super) const SERVICE: Printer = Printer {
    kind: "Service",
    columns: &[
        NAME,
        text("Type", "type determines how the Service is exposed."),
        text("Cluster-IP", "clusterIP is the IP address of the service and is usually assigned randomly."),
        text(
            "External-IP",
            "externalIPs is a list of IP addresses for which nodes in the cluster will also accept traffic",
        ),
        text("Port(s)", "The list of ports that are exposed by this service."),
        AGE,
        text("Selector", "Route service traffic to pods with label keys and values matching this selector.").wide(),
    ],
    row: service,
};

pub(super) const ENDPOINTS: Printer = Printer {
    kind: "Endpoints",
    columns: &[NAME, text("Endpoints", "The set of all endpoints is the union of all subsets."), AGE],
    row: |it| row![it.name(), endpoints(it), it.age()],
};

fn service(it: &Subject<'_>) -> Vec<Value> {
    let cluster_ip = texts(it.list("spec.clusterIPs")).next().unwrap_or(NONE);
    let ports = join(it.list("spec.ports").iter().map(port), ",");
    row![
        it.name(),
        it.text("spec.type"),
        cluster_ip,
        external_ip(it),
        or_none(&ports),
        it.age(),
        labels(it.map("spec.selector")),
    ]
}

fn port(port: &Value) -> String {
    let (number, protocol) = (port.number("port"), port.text("protocol"));
    match port.number("nodePort") {
        node_port if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
        _ => format!("{number}/{protocol}"),
    }
}

fn external_ip(service: &Value) -> String {
    let given = join(texts(service.list("spec.externalIPs")), ",");
    match service.text("spec.type") {
        "ClusterIP" | "NodePort" => or_none(&given).to_owned(),
        "LoadBalancer" => match (load_balancer(service), given) {
            (balanced, given) if balanced.is_empty() && given.is_empty() => "<pending>".to_owned(),
            (balanced, given) => join([balanced, given].iter().filter(|part| !part.is_empty()), ","),
        },
        "ExternalName" => service.text("spec.externalName").to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

/// Every address with every port of its subset, or without one where the subset has none. Only those shown are put
/// together: there may be as many as the ports times the addresses.
fn endpoints(endpoints: &Value) -> String {
    let subsets = endpoints.list("subsets");
    if subsets.is_empty() {
        return NONE.to_owned();
    }
    let (mut shown, mut count) = (Vec::new(), 0);
    for subset in subsets {
        let (ports, addresses) = (subset.list("ports"), subset.list("addresses"));
        let portless = ports.is_empty().then_some(None);
        let ports = portless.into_iter().chain(ports.iter().map(|port| Some(port.number("port"))));
        for port in ports {
            count += addresses.len();
            let room = ENDPOINTS_SHOWN - shown.len();
            shown.extend(addresses.iter().take(room).map(|address| host_port(address.text("ip"), port)));
        }
    }
    and_more(shown.join(","), count - shown.len())
}

fn host_port(host: &str, port: Option<i64>) -> String {
    match port {
        None => host.to_owned(),
        Some(port) if host.contains(':') => format!("[{host}]:{port}"),
        Some(port) => format!("{host}:{port}"),
    }
}
