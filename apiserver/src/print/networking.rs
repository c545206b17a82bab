//! networking.k8s.io: how traffic comes in, and where it may go.

use serde_json::Value;

use super::column::{AGE, NAME, text};
use super::look::Look;
use super::subject::Subject;
use super::words::{NONE, join, load_balancer, qualified, selector, texts};
use super::{Printer, row};

/// Hosts that are named; the other rules are counted.
const HOSTS_SHOWN: usize = 3;

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        kind: "Ingress",
        columns: &[
            NAME,
            text("Class", "The name of the IngressClass resource that should be used for additional configuration"),
            text("Hosts", "Hosts that incoming requests are matched against before the ingress rule"),
            text("Address", "Address is a list containing ingress points for the load-balancer"),
            text("Ports", "Ports of TLS configurations that open"),
            AGE,
        ],
        row: ingress,
    },
    Printer {
        kind: "IngressClass",
        columns: &[
            NAME,
            text("Controller", "Controller that is responsible for handling this class"),
            text("Parameters", "A reference to a resource with additional parameters"),
            AGE,
        ],
        row: ingress_class,
    },
    Printer {
        kind: "NetworkPolicy",
        columns: &[
            NAME,
            text("Pod-Selector", "podSelector selects the pods to which this NetworkPolicy object applies."),
            AGE,
        ],
        row: |it| row![it.name(), selector(it.at("spec.podSelector")), it.age()],
    },
    Printer {
        kind: "ServiceCIDR",
        columns: &[NAME, text("CIDRs", "cidrs defines the IP blocks in CIDR notation"), AGE],
        row: |it| row![it.name(), join(texts(it.list("spec.cidrs")), ","), it.age()],
    },
    Printer {
        kind: "IPAddress",
        columns: &[NAME, text("ParentRef", "parentRef references the resource that an IPAddress is attached to.")],
        row: |it| row![it.name(), it.at("spec.parentRef").map_or_else(|| NONE.to_owned(), parent), it.age()],
    },
];

fn ingress(it: &Subject<'_>) -> Vec<Value> {
    row![
        it.name(),
        it.text_or("spec.ingressClassName", NONE),
        hosts(it.list("spec.rules")),
        load_balancer(it),
        if it.list("spec.tls").is_empty() { "80" } else { "80, 443" },
        it.age(),
    ]
}

/// Rules without a host are not named but counted, once there are more than are named.
fn hosts(rules: &[Value]) -> String {
    let mut shown = Vec::new();
    for rule in rules {
        if shown.len() == HOSTS_SHOWN {
            return format!("{} + {} more...", shown.join(","), rules.len() - HOSTS_SHOWN);
        }
        shown.extend(Some(rule.text("host")).filter(|host| !host.is_empty()));
    }
    if shown.is_empty() { "*".to_owned() } else { shown.join(",") }
}

fn ingress_class(it: &Subject<'_>) -> Vec<Value> {
    let default = it.entry("metadata.annotations", "ingressclass.kubernetes.io/is-default-class");
    let mark = if default.is_some_and(|value| value == "true") { " (default)" } else { "" };
    let parameters = it.at("spec.parameters").map(|parameters| {
        let kind = parameters.text("kind");
        let kind = parameters.maybe_text("apiGroup").map_or_else(|| kind.to_owned(), |group| format!("{kind}.{group}"));
        format!("{kind}/{}", parameters.text("name"))
    });
    row![
        format!("{}{mark}", it.name()),
        it.text("spec.controller"),
        parameters.unwrap_or_else(|| NONE.to_owned()),
        it.age(),
    ]
}

fn parent(parent: &Value) -> String {
    let resource = qualified(parent.text("resource"), parent.text("group")).to_lowercase();
    match (parent.text("namespace"), parent.text("name")) {
        ("", name) => format!("{resource}/{name}"),
        (namespace, name) => format!("{resource}/{namespace}/{name}"),
    }
}
