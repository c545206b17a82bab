//! apiregistration.k8s.io: API servers behind this one.

use serde_json::Value;

use super::column::{AGE, NAME, text};
use super::look::Look;
use super::subject::Subject;
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[Printer {
    kind: "APIService",
    columns: &[
        NAME,
        text("Service", "The reference to the service that hosts this API endpoint."),
        text("Available", "Whether this service is available."),
        AGE,
    ],
    row: api_service,
}];

fn api_service(it: &Subject<'_>) -> Vec<Value> {
    let service = it.at("spec.service").map(|at| format!("{}/{}", at.text("namespace"), at.text("name")));
    let available = it.condition("Available").map(|found| match (found.text("status"), found.text("reason")) {
        (status @ "True", _) | (status, "") => status.to_owned(),
        (status, reason) => format!("{status} ({reason})"),
    });
    row![
        it.name(),
        service.unwrap_or_else(|| "Local".to_owned()),
        available.unwrap_or_else(|| "Unknown".to_owned()),
        it.age()
    ]
}
