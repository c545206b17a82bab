//! storagemigration.k8s.io: objects on their way to another version.

use serde_json::Value;

use super::column::{PLAIN_NAME, text};
use super::look::Look;
use super::subject::Subject;
use super::words::qualified;
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[Printer {
    kind: "StorageVersionMigration",
    columns: &[PLAIN_NAME, text("Resource", "GroupResource to migrate"), text("Status", "Status of the migration")],
    row: migration,
}];

fn migration(it: &Subject<'_>) -> Vec<Value> {
    let holds = |condition: &&Value| {
        condition.text("status") == "True" && matches!(condition.text("type"), "Running" | "Failed" | "Succeeded")
    };
    let last = it.list("status.conditions").iter().rfind(holds);
    row![
        it.name(),
        qualified(it.text("spec.resource.resource"), it.text("spec.resource.group")),
        last.map_or("Unknown", |condition| condition.text("type")),
    ]
}
