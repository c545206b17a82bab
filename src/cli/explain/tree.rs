//! What is known of an object, as a tree for a person and as a report for a program.

use super::hint::{against, near_misses};
use super::{Known, items, word};
use crate::cli::cell::hub;
use crate::cli::columns::pieces;
use crate::syncer::mark;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What is said of one cell that was chosen.
struct Chosen<'a> {
    name: &'a str,
    replicas: Option<i64>,
    because: Vec<&'a str>,
    copy: Option<&'a Value>,
    /// Of the object.
    generation: i64,
    /// Why the cell is not ready.
    away: Option<String>,
}

impl Chosen<'_> {
    /// How far the copy is: one word, and what else there is to say.
    fn state(&self) -> (String, Option<String>) {
        let Some(copy) = self.copy else { return ("not sent yet".to_owned(), None) };
        let status = &copy["status"];
        let told = Some(word(&status["message"])).filter(|message| !message.is_empty()).map(str::to_owned);
        match (word(&status["applied"]), word(&status["reason"])) {
            ("True", _) => match status["generation"].as_i64() {
                Some(there) if there < self.generation => {
                    let behind =
                        format!("the cell has generation {there}, the object is at generation {}", self.generation);
                    ("behind".to_owned(), Some(behind))
                }
                _ => ("applied".to_owned(), told),
            },
            ("False", reason) if !reason.is_empty() => (format!("failed: {reason}"), told),
            ("False", _) => ("failed".to_owned(), told),
            _ => ("being sent".to_owned(), told),
        }
    }

    fn branch(&self) -> Branch {
        let replicas = match self.replicas {
            None => String::new(),
            Some(1) => ", 1 replica".to_owned(),
            Some(number) => format!(", {number} replicas"),
        };
        let (state, message) = self.state();
        let mut leaves = vec![format!("selected by {}", self.because.join(", "))];
        leaves.extend(message);
        if state.ends_with(": Stranger") {
            leaves.push(ADOPT.to_owned());
        }
        if let Some(why) = &self.away {
            leaves.push(format!("the cell is not ready: {why}"));
            leaves.push("see: hanse cell list".to_owned());
        }
        (format!("{}: {state}{replicas}", self.name), leaves)
    }
}

fn chosen(known: &Known) -> Vec<Chosen<'_>> {
    let cells = items(&known.placement["spec"]["cells"]).iter();
    let copy_in = |name: &Value| known.copies.iter().find(|copy| copy["spec"]["cell"]["name"] == *name);
    let away = |name: &Value| {
        let cell = known.cells.iter().find(|cell| cell["metadata"]["name"] == *name)?;
        (!hub::is_ready(cell)).then(|| hub::why_not(cell))
    };
    cells
        .map(|cell| Chosen {
            name: word(&cell["name"]),
            replicas: cell["replicas"].as_i64(),
            because: items(&cell["because"]).iter().map(word).collect(),
            copy: copy_in(&cell["name"]),
            generation: known.object["metadata"]["generation"].as_i64().unwrap_or_default(),
            away: away(&cell["name"]),
        })
        .collect()
}

/// The same for programs.
pub(super) fn report(known: &Known) -> Value {
    let cell = |chosen: &Chosen<'_>| {
        let (state, message) = chosen.state();
        json!({ "name": chosen.name, "replicas": chosen.replicas, "because": chosen.because, "state": state,
            "message": message, "observed": chosen.copy.map(|copy| &copy["status"]["observed"]) })
    };
    let cells: Vec<Value> = chosen(known).iter().map(cell).collect();
    let status = &known.placement["status"];
    json!({ "object": known.object["metadata"]["name"], "kind": known.object["kind"], "cells": cells,
        "refused": items(&status["refused"]), "troubles": items(&status["troubles"]) })
}

/// A line, and those below it.
type Branch = (String, Vec<String>);

/// What helps where somebody else has put an object of the same name.
const ADOPT: &str = "`strangers: Adopt` in the rule, or `conflictResolution: Overwrite` in a policy, takes it over";

/// Reasons that are told to a person. Programs are told all of them.
const REASONS_MAX: usize = 8;

/// On lines of so many columns, if there is a bound.
pub(super) fn tree(known: &Known, columns: Option<usize>) -> String {
    let meta = &known.object["metadata"];
    let mut text = format!("{} {}", word(&known.object["kind"]), word(&meta["name"]));
    if let Some(namespace) = meta["namespace"].as_str() {
        let _ = write!(text, " in namespace {namespace}");
    }
    let (about, branches) = match known.placement.is_null() {
        false => placed(known),
        true if !meta["annotations"][mark::SOURCE_UID].is_null() => copied(&known.object),
        true => unplaced(known),
    };
    let mut drawing = Drawing { text: String::new(), columns };
    drawing.write(["", ""], &format!("{text}: {about}"));
    drawing.draw(&branches);
    drawing.text
}

fn placed(known: &Known) -> (String, Vec<Branch>) {
    let chosen = chosen(known);
    let mut branches: Vec<Branch> = chosen.iter().map(Chosen::branch).collect();
    let status = &known.placement["status"];
    for trouble in items(&status["troubles"]) {
        branches.push((format!("problem: {}", word(&trouble["reason"])), vec![word(&trouble["message"]).to_owned()]));
    }
    let refused = items(&status["refused"]);
    let hidden = status["refusals"].as_u64().and_then(|all| usize::try_from(all).ok()).unwrap_or_default();
    let hidden = hidden.saturating_sub(refused.len());
    if !refused.is_empty() {
        let mut leaves = refusals(refused, hidden);
        leaves.extend(against(refused).into_iter().map(str::to_owned));
        branches.push(("not selected".to_owned(), leaves));
    }
    let all = match known.cells.len() {
        // Whoever may not see the cells of others sees at least those that were asked about.
        0 => {
            chosen
                .iter()
                .map(|cell| cell.name)
                .chain(refused.iter().map(|one| word(&one["cell"])))
                .collect::<BTreeSet<_>>()
                .len()
                + hidden
        }
        all => all,
    };
    (format!("placed in {} of {all} cells", chosen.len()), branches)
}

/// Why cells were not chosen: those with the same reason on one line, and no more lines than somebody reads.
fn refusals(refused: &[Value], hidden: usize) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for one in refused {
        let reason = format!("{} (rule {})", word(&one["reason"]), word(&one["rule"]));
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, cells)) => cells.push(word(&one["cell"])),
            None => reasons.push((reason, vec![word(&one["cell"])])),
        }
    }
    let shown = reasons.iter().take(REASONS_MAX);
    let mut leaves: Vec<String> = shown.map(|(reason, cells)| format!("{}: {reason}", cells.join(", "))).collect();
    let more: usize = reasons.iter().skip(REASONS_MAX).map(|(_, cells)| cells.len()).sum::<usize>() + hidden;
    if more > 0 {
        leaves.push(format!("and {more} more"));
    }
    leaves
}

/// Somebody asks in a cell.
fn copied(object: &Value) -> (String, Vec<Branch>) {
    let said = |key: &str| word(&object["metadata"]["annotations"][key]);
    let (workspace, source) = (said(mark::SOURCE_WORKSPACE), said(mark::SOURCE_NAME));
    let (namespace, name) = source.split_once('/').unwrap_or(("", source));
    let kind = word(&object["kind"]).to_lowercase();
    let within = if namespace.is_empty() { String::new() } else { format!(" -n {namespace}") };
    let next = format!("see: hanse explain {kind}/{name}{within} --workspace {workspace}");
    (
        "a copy, placed here by the server".to_owned(),
        vec![(format!("its source is in workspace {workspace}"), vec![next])],
    )
}

fn unplaced(known: &Known) -> (String, Vec<Branch>) {
    let (why, mut leaves, next) = match (known.cells.len(), known.rules.len()) {
        (0, 0) => {
            let why = "no rule or policy selects it, and this workspace has no cells";
            (why, Vec::new(), "hanse cell join NAME --cell-kubeconfig FILE")
        }
        _ => (
            "no rule or policy selects it",
            near_misses(&known.object, &known.rules),
            "kubectl get federationrules,pp,cpp -A",
        ),
    };
    leaves.push(format!("see: {next}"));
    ("not placed".to_owned(), vec![(why.to_owned(), leaves)])
}

/// A tree that grows downwards.
struct Drawing {
    text: String,
    columns: Option<usize>,
}

impl Drawing {
    fn draw(&mut self, branches: &[Branch]) {
        for (at, (branch, leaves)) in branches.iter().enumerate() {
            let (tip, stem) = if at + 1 == branches.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.write([tip, stem], branch);
            for (at, leaf) in leaves.iter().enumerate() {
                let (tip, rest) = if at + 1 == leaves.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
                self.write([&format!("{stem}{tip}"), &format!("{stem}{rest}")], leaf);
            }
        }
    }

    /// What does not fit on a line goes on below it, under another beginning, so that the stems of the tree stay whole.
    fn write(&mut self, [first, then]: [&str; 2], words: &str) {
        let mut line = first.to_owned();
        let mut is_begun = false;
        for word in pieces(words) {
            let wide = line.chars().count() + usize::from(is_begun) + word.chars().count();
            if is_begun && self.columns.is_some_and(|columns| wide > columns) {
                let _ = writeln!(self.text, "{}", line.trim_end());
                line = then.to_owned();
                is_begun = false;
            }
            let _ = write!(line, "{}{word}", if is_begun { " " } else { "" });
            is_begun = true;
        }
        let _ = writeln!(self.text, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(placement: Value, copies: Vec<Value>, cells: Vec<Value>) -> Known {
        let object = json!({ "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "web", "namespace": "shop", "uid": "u" } });
        let rule = json!({ "metadata": { "name": "other" },
            "spec": { "objects": [{ "apiVersion": "apps/v1", "kind": "Deployment", "name": "api" }] } });
        Known { object, placement, copies, cells, rules: vec![rule] }
    }

    fn copy(cell: &str, status: Value) -> Value {
        json!({ "spec": { "cell": { "name": cell } }, "status": status })
    }

    fn cell(name: &str, ready: &str) -> Value {
        let ready = json!([{ "type": "Ready", "status": ready, "message": "no answer" }]);
        json!({ "metadata": { "name": name }, "spec": {}, "status": { "conditions": ready } })
    }

    #[test]
    fn every_cell_is_told_with_how_far_it_is_and_every_refusal_with_its_reason() {
        let placement = json!({
            "spec": { "cells": [
                { "name": "ams", "replicas": 3, "because": ["rule web"] },
                { "name": "dfw", "replicas": 3, "because": ["rule web"] },
                { "name": "gru", "because": ["rule web"] },
            ] },
            "status": { "refusals": 3, "troubles": [],
                "refused": [{ "cell": "nrt", "rule": "web", "reason": "it is not ready" }] },
        });
        let failed = json!({ "applied": "False", "reason": "Invalid", "message": "spec.x: not known" });
        let copies = vec![copy("ams", json!({ "applied": "True" })), copy("dfw", failed)];
        let cells = vec![cell("ams", "False"), cell("dfw", "True"), cell("gru", "True"), cell("nrt", "False")];
        let known = known(placement, copies, cells);
        let expected = "\
Deployment web in namespace shop: placed in 3 of 4 cells
├─ ams: applied, 3 replicas
│  ├─ selected by rule web
│  ├─ the cell is not ready: no answer
│  └─ see: hanse cell list
├─ dfw: failed: Invalid, 3 replicas
│  ├─ selected by rule web
│  └─ spec.x: not known
├─ gru: not sent yet
│  └─ selected by rule web
└─ not selected
   ├─ nrt: it is not ready (rule web)
   ├─ and 2 more
   └─ see: hanse cell list
";
        assert_eq!(tree(&known, None), expected);
        assert_eq!(report(&known)["cells"][1]["state"], "failed: Invalid");
    }

    #[test]
    fn what_is_nowhere_is_told_with_what_to_look_at_next() {
        let mut without = known(Value::Null, Vec::new(), Vec::new());
        without.rules.clear();
        let nowhere = tree(&without, None);
        assert!(nowhere.contains("no cells") && nowhere.contains("hanse cell join"), "{nowhere}");
        let expected = "\
Deployment web in namespace shop: not placed
└─ no rule or policy selects it
   ├─ rule other selects Deployments, but only api
   └─ see: kubectl get federationrules,pp,cpp -A
";
        assert_eq!(tree(&known(Value::Null, Vec::new(), vec![cell("ams", "True")]), None), expected);
    }

    #[test]
    fn a_cell_that_has_not_got_the_last_change_is_behind() {
        let placement = json!({ "spec": { "cells": [
            { "name": "ams", "replicas": 4, "because": ["rule web"] }, { "name": "dfw", "replicas": 4, "because": ["rule web"] },
        ] } });
        let copies =
            [("ams", 3), ("dfw", 1)].map(|(at, of)| copy(at, json!({ "applied": "True", "generation": of }))).to_vec();
        let mut known = known(placement, copies, vec![cell("ams", "True"), cell("dfw", "Unknown")]);
        known.object["metadata"]["generation"] = json!(3);
        let expected = "\
Deployment web in namespace shop: placed in 2 of 2 cells
├─ ams: applied, 4 replicas
│  └─ selected by rule web
└─ dfw: behind, 4 replicas
   ├─ selected by rule web
   ├─ the cell has generation 1, the object is at generation 3
   ├─ the cell is not ready: no answer
   └─ see: hanse cell list
";
        assert_eq!(tree(&known, None), expected);
    }

    #[test]
    fn on_a_narrow_terminal_the_tree_stays_a_tree() {
        let placement = json!({
            "spec": { "cells": [{ "name": "ams", "because": ["rule web", "rule everything-of-the-shop"] }] },
            "status": { "refused": [
                { "cell": "dfw", "rule": "web", "reason": "its labels do not match \"city in (ams)\"" },
                { "cell": "nrt", "rule": "web", "reason": "a-word-that-is-wider-than-the-whole-terminal" },
            ] },
        });
        let cells = vec![cell("ams", "True"), cell("dfw", "True"), cell("nrt", "True")];
        let expected = "\
Deployment web in namespace shop:
placed in 1 of 3 cells
├─ ams: not sent yet
│  └─ selected by rule web, rule
│     everything-of-the-shop
└─ not selected
   ├─ dfw: its labels do not match
   │  \"city in (ams)\" (rule web)
   └─ nrt:
      a-word-that-is-wider-than-the-whole-terminal
      (rule web)
";
        assert_eq!(tree(&known(placement, Vec::new(), cells), Some(34)), expected);
    }

    #[test]
    fn an_object_that_is_in_the_way_can_be_adopted() {
        let placement = json!({ "spec": { "cells": [{ "name": "ams", "because": ["rule web"] }] } });
        let copies = vec![copy("ams", json!({ "applied": "False", "reason": "Stranger", "message": "it exists" }))];
        let text = tree(&known(placement, copies, vec![cell("ams", "True")]), None);
        assert!(text.contains("ams: failed: Stranger") && text.contains("strangers: Adopt"), "{text}");
    }

    #[test]
    fn cells_with_the_same_reason_share_a_line_and_cells_of_others_are_counted() {
        let no = |cell: &str, reason: &str| json!({ "cell": cell, "rule": "web", "reason": reason });
        let many = (0..9).map(|nth| no(&format!("c{nth}"), &format!("because {nth}")));
        let refused: Vec<Value> = [no("a", "it is full"), no("b", "it is full")].into_iter().chain(many).collect();
        let placement = json!({ "spec": { "cells": [{ "name": "dfw", "because": ["rule web"] }] },
            "status": { "refused": refused, "refusals": 20 } });
        let text = tree(&known(placement, Vec::new(), Vec::new()), None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Deployment web in namespace shop: placed in 1 of 21 cells");
        assert_eq!((lines[4], lines[12]), ("   ├─ a, b: it is full (rule web)", "   └─ and 11 more"), "{text}");
    }

    #[test]
    fn whoever_asks_in_a_cell_is_told_where_to_ask() {
        let mut known = known(Value::Null, Vec::new(), Vec::new());
        known.object["metadata"]["annotations"] = json!({
            mark::SOURCE_UID: "u", mark::SOURCE_WORKSPACE: "root:default", mark::SOURCE_NAME: "shop/web",
        });
        let expected = "\
Deployment web in namespace shop: a copy, placed here by the server
└─ its source is in workspace root:default
   └─ see: hanse explain deployment/web -n shop --workspace root:default
";
        assert_eq!(tree(&known, None), expected);
    }
}
