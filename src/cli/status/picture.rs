//! How a federation is, in numbers: made of what its records say.

use crate::cli::cell::hub;
use crate::cli::columns::columns;
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Picture {
    pub(super) rows: Vec<Row>,
    /// Objects that a decision was made about, and those of them that are in trouble.
    pub(super) placed: usize,
    pub(super) troubled: usize,
    /// What is not as it should be, and what to look at next.
    notes: Vec<String>,
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
        (self.ready != "True").then(|| format!("{} is not ready: {}", self.name, self.why))
    }

    /// What is still on its way, there or back.
    pub(super) fn lag(&self) -> usize {
        self.desired.abs_diff(self.applied + self.failed)
    }

    /// What has changed since a cell went away is on its way to it as well, and nobody has counted that.
    fn is_uncounted(&self) -> bool {
        self.ready != "True" && self.desired > 0
    }

    /// The numbers, as people see them.
    pub(super) fn numbers(&self) -> [String; 4] {
        let lag = format!("{}{}", self.lag(), if self.is_uncounted() { "+" } else { "" });
        [self.desired.to_string(), self.applied.to_string(), self.failed.to_string(), lag]
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Picture {
    pub(super) fn of(cells: &[Value], placements: &[Value], copies: &[Value]) -> Self {
        let mut rows: BTreeMap<String, Row> = cells.iter().map(row).map(|row| (row.name.clone(), row)).collect();
        let mut notes: Vec<String> = rows.values().filter_map(Row::note).collect();
        let mut troubled = 0;
        for placement in placements {
            let trouble = &placement["status"]["troubles"][0];
            if trouble.is_object() {
                troubled += 1;
                notes.push(note(&placement["spec"]["source"], &word(&trouble["message"])));
            }
            for cell in placement["spec"]["cells"].as_array().into_iter().flatten() {
                if let Some(row) = rows.get_mut(cell["name"].as_str().unwrap_or_default()) {
                    row.desired += 1;
                }
            }
        }
        for copy in copies {
            let Some(row) = rows.get_mut(copy["spec"]["cell"]["name"].as_str().unwrap_or_default()) else { continue };
            // Namespaces go along with what is in them; nobody decided about them.
            row.desired += usize::from(copy["spec"]["object"]["kind"] == "Namespace");
            row.applied += usize::from(copy["status"]["applied"] == "True");
            if copy["status"]["applied"] == "False" {
                row.failed += 1;
                notes.push(note(&copy["spec"]["source"], &format!("{} refuses it", row.name)));
            }
        }
        if placements.is_empty() && !rows.is_empty() {
            notes.push(NOTHING_PLACED.to_owned());
        }
        Self { rows: rows.into_values().collect(), placed: placements.len(), troubled, notes }
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
        let lag: usize = self.rows.iter().map(Row::lag).sum();
        let trouble = if self.troubled == 0 { String::new() } else { format!(", {} in trouble", self.troubled) };
        let objects = if self.placed == 1 { "object" } else { "objects" };
        let (cells, placed) = (self.rows.len(), self.placed);
        let more = if self.rows.iter().any(Row::is_uncounted) { "+" } else { "" };
        format!("{ready} of {cells} cells ready; {placed} {objects} placed{trouble}; {lag}{more} on the way")
    }

    pub(super) fn table(&self) -> String {
        if self.rows.is_empty() {
            return format!("{NO_CELLS}\n");
        }
        let header = ["CELL", "READY", "REGION", "DESIRED", "APPLIED", "FAILED", "LAG"].map(str::to_owned);
        let line = |row: &Row| {
            let [desired, applied, failed, lag] = row.numbers();
            let (name, ready, region) = (row.name.clone(), row.ready.clone(), row.region.clone());
            [name, ready, region, desired, applied, failed, lag]
        };
        let rows: Vec<[String; 7]> = std::iter::once(header).chain(self.rows.iter().map(line)).collect();
        let mut text = format!("{}\n\n{}", self.headline(), columns(&rows));
        let notes = self.notes();
        if !notes.is_empty() {
            text = format!("{text}\n{}\n", notes.join("\n"));
        }
        text
    }

    pub(super) fn report(&self) -> Value {
        let cell = |row: &Row| {
            json!({ "name": row.name, "ready": row.ready, "region": row.region, "version": row.version,
                "desired": row.desired, "applied": row.applied, "failed": row.failed, "lag": row.lag(), "why": row.why })
        };
        let cells: Vec<Value> = self.rows.iter().map(cell).collect();
        json!({ "cells": cells, "placed": self.placed, "troubled": self.troubled })
    }
}

/// Whoever looks into a workspace without any may have meant another one.
pub(super) const NO_CELLS: &str = "no cells in this workspace; `hanse cell join NAME --cell-kubeconfig FILE` makes one, \
                                   `hanse cell list` shows those of all workspaces";

/// Whoever has cells wants something in them.
const NOTHING_PLACED: &str =
    "no rule places anything; see: kubectl get federationrules,propagationpolicies,clusterpropagationpolicies -A";

/// What is wrong with an object, and how to learn more.
fn note(source: &Value, what: &str) -> String {
    let (kind, name) = (word(&source["kind"]), word(&source["name"]));
    let within = match word(&source["namespace"]).as_str() {
        "" => String::new(),
        namespace => format!(" -n {namespace}"),
    };
    format!("{kind} {name}: {what}; see: hanse explain {}/{name}{within}", kind.to_lowercase())
}

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
        Picture::of(&[cell("ams", "True"), cell("dfw", "False")], &[placement], &copies)
    }

    #[test]
    fn what_is_on_its_way_is_the_difference_between_what_should_be_and_what_is() {
        let expected = "\
1 of 2 cells ready; 1 object placed; 1+ on the way

CELL   READY   REGION   DESIRED   APPLIED   FAILED   LAG
ams    True    eu       2         2         0        0
dfw    False   eu       2         1         0        1+

dfw is not ready: no answer
";
        assert_eq!(example().table(), expected);
        assert_eq!(example().report()["cells"][1]["lag"], 1);
    }

    #[test]
    fn what_is_wrong_is_told_with_how_to_learn_more_and_never_fills_the_screen() {
        let source = json!({ "kind": "Job", "name": "j", "namespace": "n" });
        let troubles = json!([{ "reason": "NoCellFits", "message": "none fits" }]);
        let placement = json!({ "spec": { "source": source }, "status": { "troubles": troubles } });
        let cell = json!({ "metadata": { "name": "a" },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        let copy = json!({ "spec": { "cell": { "name": "a" }, "source": source }, "status": { "applied": "False" } });
        let picture = Picture::of(std::slice::from_ref(&cell), std::slice::from_ref(&placement), &[copy]);
        let next = "see: hanse explain job/j -n n";
        assert_eq!(picture.notes(), [format!("Job j: none fits; {next}"), format!("Job j: a refuses it; {next}")]);
        let many = Picture::of(&[cell], &vec![placement; 30], &[]);
        assert_eq!((many.notes().len(), many.notes()[8].as_str()), (9, "and 22 more"));
    }

    #[test]
    fn who_has_no_cells_or_no_rule_is_told_what_to_do() {
        assert!(Picture::default().table().contains("hanse cell join"));
        let cell =
            json!({ "metadata": { "name": "a" }, "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
        assert_eq!(Picture::of(&[cell], &[], &[]).notes(), [NOTHING_PLACED]);
    }
}
