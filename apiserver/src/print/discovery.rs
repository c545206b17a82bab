//! discovery.k8s.io: where services are.

use serde_json::Value;

use super::column::{AGE, NAME, text};
use super::look::Look;
use super::subject::Subject;
use super::words::{UNSET, first_few, or, texts};
use super::{Printer, row};

/// Ports and addresses that are named; the others are counted.
const SHOWN: usize = 3;

pub(super) const PRINTERS: &[Printer] = &[Printer {
    kind: "EndpointSlice",
    columns: &[
        NAME,
        text("AddressType", "addressType specifies the type of address carried by this EndpointSlice."),
        text("Ports", "ports specifies the list of network ports exposed by each endpoint in this slice."),
        text("Endpoints", "endpoints is a list of unique endpoints in this slice."),
        AGE,
    ],
    row: slice,
}];

fn slice(it: &Subject<'_>) -> Vec<Value> {
    let ports = first_few(it.list("ports").iter().map(port), SHOWN, ",");
    let addresses = it.list("endpoints").iter().flat_map(|endpoint| texts(endpoint.list("addresses")));
    let addresses = first_few(addresses, SHOWN, ",");
    row![it.name(), it.text("addressType"), or(&ports, UNSET), or(&addresses, UNSET), it.age()]
}

fn port(port: &Value) -> String {
    match port.at("port") {
        Some(number) => number.to_string(),
        None => port.text_or("name", "*").to_owned(),
    }
}
