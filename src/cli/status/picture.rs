//! How a federation is, in numbers: made of what its records say.

use crate::cli::cell::everywhere::workspace_of;
use crate::cli::cell::hub;
use crate::cli::columns::{columns as in_columns, wrapped};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) rows: Vec<Row>,
    /// Objects that a decision was made about, and those of them that are in trouble.
    pub(super) placed: usize,
    pub(super) troubled: usize,
    /// What is not as it should be, and what to look at next.
    notes: Vec<String>,
    /// Other workspaces that notes are about, of which only the id is known.
    pub(super) unnamed: BTreeSet<String>,
}

/// The workspace that the cells are in.
#[derive(Clone, Debug, Default)]
pub(super) struct Home {
    /// Nothing, if it is not known: all that is seen is of this workspace then.
    pub(super) id: String,
    /// What people call other workspaces, by their ids.
    pub(super) paths: BTreeMap<String, String>,
}

impl Home {
    /// Whether a cell that a placement or a copy names is one of this workspace.
    fn has(&self, cell: &Value) -> bool {
        let workspace = cell["workspace"].as_str().unwrap_or_default();
        self.id.is_empty() || workspace.is_empty() || workspace == self.id
    }

    fn is_of(&self, object: &Value) -> bool {
        let workspace = workspace_of(object);
        self.id.is_empty() || workspace.is_empty() || workspace == self.id
    }
}

/// More than fit below a table are counted.
const NOTES_MAX: usize = 8;

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) ready: String,
    pub(super) region: String,
    pub(super) version: String,
    /// Objects that should be there, that are as they should be, and that the cell refused.
    pub(super) desired: usize,
    pub(super) applied: usize,
    pub(super) failed: usize,
    /// Why it is not ready.
    pub(super) why: String,
}

impl Row {
    fn note(&self) -> Option<String> {
        let more = if self.is_uncounted() { "; more may be pending for it" } else { "" };
        (self.ready != "True").then(|| format!("{} is not ready: {}{more}", self.name, self.why))
    }

    /// What is still on its way, there or back.
    pub(super) fn pending(&self) -> usize {
        self.desired.abs_diff(self.applied + self.failed)
    }

    /// What has changed since a cell went away is on its way to it as well, and nobody has counted that.
    fn is_uncounted(&self) -> bool {
        self.ready != "True" && self.desired > 0
    }

    /// The numbers, as people see them.
    pub(super) fn numbers(&self) -> [String; 4] {
        let pending = format!("{}{}", self.pending(), if self.is_uncounted() { "+" } else { "" });
        [self.desired.to_string(), self.applied.to_string(), self.failed.to_string(), pending]
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Picture {
    /// Of what is in these cells, whatever workspace it comes from.
    pub(super) fn of(cells: &[Value], placements: &[Value], copies: &[Value], home: &Home) -> Self {
        let mut rows: BTreeMap<String, Row> = cells.iter().map(row).map(|row| (row.name.clone(), row)).collect();
        let mut picture = Self::default();
        for placement in placements {
            let chosen = placement["spec"]["cells"].as_array().into_iter().flatten();
            let here: Vec<&Value> = chosen.filter(|cell| home.has(cell)).collect();
            let mut rules = placement["spec"]["rules"].as_array().into_iter().flatten();
            if here.is_empty() && !home.is_of(placement) && !rules.any(|rule| rule["workspace"] == home.id.as_str()) {
                continue;
            }
            picture.placed += 1;
            let trouble = &placement["status"]["troubles"][0];
            if trouble.is_object() {
                picture.troubled += 1;
                picture.note(placement, &word(&trouble["message"]), home);
            }
            for cell in here {
                if let Some(row) = rows.get_mut(cell["name"].as_str().unwrap_or_default()) {
                    row.desired += 1;
                }
            }
        }
        for copy in copies.iter().filter(|copy| home.has(&copy["spec"]["cell"])) {
            let Some(row) = rows.get_mut(copy["spec"]["cell"]["name"].as_str().unwrap_or_default()) else { continue };
            // Namespaces go along with what is in them; nobody decided about them.
            row.desired += usize::from(copy["spec"]["object"]["kind"] == "Namespace");
            row.applied += usize::from(copy["status"]["applied"] == "True");
            if copy["status"]["applied"] == "False" {
                row.failed += 1;
                picture.note(copy, &format!("failed in {}", row.name), home);
            }
        }
        picture.notes.splice(0..0, rows.values().filter_map(Row::note));
        if picture.placed == 0 && !rows.is_empty() {
            picture.notes.push(NOTHING_PLACED.to_owned());
        }
        picture.rows = rows.into_values().collect();
        picture
    }

    /// What is wrong with the source of a placement or copy, and how to learn more.
    fn note(&mut self, about: &Value, what: &str, home: &Home) {
        let source = &about["spec"]["source"];
        let (kind, name) = (word(&source["kind"]), word(&source["name"]));
        let mut flags = match word(&source["namespace"]).as_str() {
            "" => String::new(),
            namespace => format!(" -n {namespace}"),
        };
        if !home.is_of(about) {
            let id = workspace_of(about);
            let path = home.paths.get(id).map(String::as_str);
            flags.push_str(&format!(" --workspace {}", path.unwrap_or(id)));
            if path.is_none() {
                self.unnamed.insert(id.to_owned());
            }
        }
        self.notes.push(format!("{kind} {name}: {what}; see: hanse explain {}/{name}{flags}", kind.to_lowercase()));
    }

    /// What is not as it should be: a few lines, however much that is.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut shown: Vec<String> = self.notes.iter().take(NOTES_MAX).cloned().collect();
        if self.notes.len() > NOTES_MAX {
            shown.push(format!("and {} more", self.notes.len() - NOTES_MAX));
        }
        shown
    }

    pub(super) fn headline(&self) -> String {
        let ready = self.rows.iter().filter(|row| row.ready == "True").count();
        let pending: usize = self.rows.iter().map(Row::pending).sum();
        let trouble = if self.troubled == 0 { String::new() } else { format!(" ({} with problems)", self.troubled) };
        let failed = match self.rows.iter().map(|row| row.failed).sum::<usize>() {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let objects = if self.placed == 1 { "object" } else { "objects" };
        let (cells, placed) = (self.rows.len(), self.placed);
        let more = if self.rows.iter().any(Row::is_uncounted) { "+" } else { "" };
        format!("{ready} of {cells} cells ready, {placed} {objects} placed{trouble}{failed}, {pending}{more} pending")
    }

    /// What is said below the table fits on lines of so many columns.
    pub(super) fn table(&self, columns: Option<usize>) -> String {
        if self.rows.is_empty() {
            return format!("{}\n", wrapped(NO_CELLS, columns));
        }
        let header = ["CELL", "READY", "REGION", "DESIRED", "APPLIED", "FAILED", "PENDING"].map(str::to_owned);
        let line = |row: &Row| {
            let [desired, applied, failed, pending] = row.numbers();
            let (name, ready, region) = (row.name.clone(), row.ready.clone(), row.region.clone());
            [name, ready, region, desired, applied, failed, pending]
        };
        let rows: Vec<[String; 7]> = std::iter::once(header).chain(self.rows.iter().map(line)).collect();
        let mut text = format!("{}\n\n{}", self.headline(), in_columns(&rows));
        let notes = self.notes();
        if !notes.is_empty() {
            text = format!("{text}\n{}\n", wrapped(&notes.join("\n"), columns));
        }
        text
    }

    pub(super) fn report(&self) -> Value {
        let cell = |row: &Row| {
            json!({ "name": row.name, "ready": row.ready, "region": row.region, "version": row.version,
                "desired": row.desired, "applied": row.applied, "failed": row.failed, "pending": row.pending(), "why": row.why })
        };
        let cells: Vec<Value> = self.rows.iter().map(cell).collect();
        json!({ "cells": cells, "placed": self.placed, "troubled": self.troubled })
    }
}

/// Whoever looks into a workspace without any may have meant another one.
pub(super) const NO_CELLS: &str = "no cells in this workspace; `hanse cell join NAME --cell-kubeconfig FILE` adds one, \
                                   `hanse cell list` shows the cells of all workspaces";

/// Whoever has cells wants something in them.
const NOTHING_PLACED: &str = "no rule or policy selects anything yet; see: kubectl get federationrules,pp,cpp -A";

fn row(cell: &Value) -> Row {
    Row {
        name: word(&cell["metadata"]["name"]),
        ready: hub::condition(cell, "Ready").map_or("Unknown".to_owned(), |ready| word(&ready["status"])),
        region: word(&cell["spec"]["region"]),
        version: word(&cell["status"]["kubernetesVersion"]),
        why: if hub::is_ready(cell) { String::new() } else { hub::why_not(cell) },
        ..Row::default()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn example() -> Picture {
        let cell = |name: &str, status: &str| {
            let ready = json!([{ "type": "Ready", "status": status, "message": "no answer" }]);
            json!({ "metadata": { "name": name }, "spec": { "region": "eu" }, "status": { "conditions": ready } })
        };
        let copy = |cell: &str, kind: &str, applied: &str| json!({ "spec": { "cell": { "name": cell }, "object": { "kind": kind } }, "status": { "applied": applied } });
        let placement = json!({ "spec": { "cells": [{ "name": "ams" }, { "name": "dfw" }] } });
        let copies = [
            copy("ams", "Namespace", "True"),
            copy("ams", "Deployment", "True"),
            copy("dfw", "Namespace", "True"),
            copy("gone", "Deployment", "True"),
        ];
        Picture::of(&[cell("ams", "True"), cell("dfw", "False")], &[placement], &copies, &Home::default())
    }

    #[test]
    fn what_is_on_its_way_is_the_difference_between_what_should_be_and_what_is() {
        let expected = "\
1 of 2 cells ready, 1 object placed, 1+ pending

CELL   READY   REGION   DESIRED   APPLIED   FAILED   PENDING
ams    True    eu       2         2         0        0
dfw    False   eu       2         1         0        1+

dfw is not ready: no answer; more may be pending for it
";
        assert_eq!(example().table(None), expected);
        assert_eq!(example().report()["cells"][1]["pending"], 1);
    }

    #[test]
    fn what_is_wrong_is_told_with_how_to_learn_more_and_never_fills_the_screen() {
        let source = json!({ "kind": "Job", "name": "j", "namespace": "n" });
        let troubles = json!([{ "reason": "NoCellFits", "message": "none fits" }]);
        let placement = json!({ "spec": { "source": source }, "status": { "troubles": troubles } });
        let cell = json!({ "metadata": { "name": "a" },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        let copy = json!({ "spec": { "cell": { "name": "a" }, "source": source }, "status": { "applied": "False" } });
        let picture =
            Picture::of(std::slice::from_ref(&cell), std::slice::from_ref(&placement), &[copy], &Home::default());
        let next = "see: hanse explain job/j -n n";
        assert_eq!(picture.headline(), "1 of 1 cells ready, 1 object placed (1 with problems), 1 failed, 1 pending");
        assert_eq!(picture.notes(), [format!("Job j: none fits; {next}"), format!("Job j: failed in a; {next}")]);
        let many = Picture::of(&[cell], &vec![placement; 30], &[], &Home::default());
        assert_eq!((many.notes().len(), many.notes()[8].as_str()), (9, "and 22 more"));
    }

    #[test]
    fn what_other_workspaces_have_in_these_cells_counts_and_what_they_have_elsewhere_does_not() {
        let ready = json!([{ "type": "Ready", "status": "True" }]);
        let cell = json!({ "metadata": { "name": "a" }, "status": { "conditions": ready } });
        let at = |workspace: &str| json!({ "annotations": { "kcp.io/cluster": workspace } });
        let source = json!({ "kind": "Job", "name": "j" });
        let placement = |from: &str, to: &str| json!({ "metadata": at(from), "spec": { "source": source, "cells": [{ "name": "a", "workspace": to }] } });
        let copy = |from: &str, to: &str| json!({ "metadata": at(from), "spec": { "source": source, "cell": { "name": "a", "workspace": to } }, "status": { "applied": "False" } });
        let placements = [placement("1", "root"), placement("root", "root"), placement("1", "1")];
        let copies = [copy("1", "root"), copy("root", "root"), copy("1", "1")];
        let mut home = Home { id: "root".to_owned(), paths: BTreeMap::new() };
        let picture = Picture::of(std::slice::from_ref(&cell), &placements, &copies, &home);
        assert_eq!((picture.placed, picture.rows[0].desired, picture.rows[0].failed), (2, 2, 2));
        assert_eq!(picture.unnamed, BTreeSet::from(["1".to_owned()]));
        home.paths.insert("1".to_owned(), "root:x".to_owned());
        let picture = Picture::of(&[cell], &placements, &copies, &home);
        let next = "Job j: failed in a; see: hanse explain job/j";
        assert_eq!(picture.notes(), [format!("{next} --workspace root:x"), next.to_owned()]);
    }

    #[test]
    fn who_has_no_cells_or_no_rule_is_told_what_to_do() {
        assert!(Picture::default().table(None).contains("hanse cell join"));
        let cell =
            json!({ "metadata": { "name": "a" }, "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        assert_eq!(Picture::of(&[cell], &[], &[], &Home::default()).notes(), [NOTHING_PLACED]);
    }
}
