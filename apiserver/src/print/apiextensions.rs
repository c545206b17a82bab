//! apiextensions.k8s.io: what else is served.

use serde_json::Value;

use super::column::{CREATED_AT, NAME, boolean, text};
use super::look::Look;
use super::subject::Subject;
use super::words::{join, texts};
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[Printer {
    kind: "CustomResourceDefinition",
    columns: &[
        NAME,
        text("Scope", "Cluster/Namespaced"),
        text("Versions", "Served versions"),
        CREATED_AT,
        text("Group", "API group").wide(),
        text("Kind", "CustomResource kind").wide(),
        text("ShortNames", "Short names").wide(),
        boolean("Established", "Established status").wide(),
    ],
    row: definition,
}];

fn definition(it: &Subject<'_>) -> Vec<Value> {
    row![
        it.name(),
        it.text("spec.scope"),
        versions(it),
        it.created(),
        it.text("spec.group"),
        it.text("spec.names.kind"),
        join(texts(it.list("spec.names.shortNames")), ","),
        it.condition("Established").is_some_and(|condition| condition.text("status") == "True"),
    ]
}

/// Those that are served, by name.
fn versions(it: &Subject<'_>) -> String {
    let served = it.list("spec.versions").iter().filter(|version| version.flag("served"));
    let named = |version: &Value| {
        let name = version.text("name");
        if version.flag("storage") { format!("{name}(storage)") } else { name.to_owned() }
    };
    let mut names: Vec<String> = served.map(named).collect();
    names.sort_unstable();
    names.join(",")
}
