//! internal.apiserver.k8s.io: what versions servers store.

use serde_json::Value;

use super::column::{AGE, NAME, text};
use super::look::Look;
use super::subject::Subject;
use super::words::{UNSET, first_few, or};
use super::{Printer, row};

/// Servers that are named; the others are counted.
const SERVERS_SHOWN: usize = 3;

pub(super) const PRINTERS: &[Printer] = &[Printer {
    kind: "StorageVersion",
    columns: &[
        NAME,
        text("CommonEncodingVersion", "commonEncodingVersion is set to an encoding storage version"),
        text("StorageVersions", "storageVersions lists the reported versions per API server instance."),
        AGE,
    ],
    row: storage_version,
}];

fn storage_version(it: &Subject<'_>) -> Vec<Value> {
    let servers = it.list("status.storageVersions").iter();
    let servers = servers.map(|server| format!("{}={}", server.text("apiServerID"), server.text("encodingVersion")));
    let servers = first_few(servers, SERVERS_SHOWN, ",");
    row![it.name(), it.text_or("status.commonEncodingVersion", UNSET), or(&servers, UNSET), it.age()]
}
