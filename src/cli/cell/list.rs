//! `hanse cell list`.

use super::everywhere::{Everywhere, Found};
use super::hub;
use super::{Error, ServerFlags};
use crate::cli::answer;
use crate::cli::columns::{columns, width, wrapped};
use crate::cli::output::Form;
use clap::Args;
use serde_json::{Value, json};
use std::io;

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    server: ServerFlags,
    /// Only the cells of this workspace, a path such as root:team
    #[arg(long, value_name = "PATH", help_heading = "Server")]
    workspace: Option<String>,
}

pub(super) async fn run(flags: &Flags) -> Result<(), Error> {
    let everywhere = Everywhere::find(&hub::of_server(&flags.server)?).await?;
    let mut cells = everywhere.list(&hub::cells()).await?;
    if let Some(workspace) = &flags.workspace {
        cells.retain(|cell| cell.place.path == *workspace || cell.place.id == *workspace);
    }
    cells.sort_by(|one, other| (&one.place.path, name(one)).cmp(&(&other.place.path, name(other))));
    let copies = everywhere.list(&hub::copies()).await?;
    Ok(answer(&flags.form.write(|| table(&cells, &copies), || report(&cells, &copies)))?)
}

fn name(cell: &Found) -> &str {
    cell.object["metadata"]["name"].as_str().unwrap_or_default()
}

/// Whoever has none wants one.
const NO_CELLS: &str = "no cells; `hanse cell join NAME --cell-kubeconfig FILE` adds one\n";

fn table(cells: &[Found], copies: &[Found]) -> String {
    if cells.is_empty() {
        return NO_CELLS.to_owned();
    }
    let header = ["WORKSPACE", "NAME", "READY", "VERSION", "REGION", "COPIES"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(header).chain(cells.iter().map(|cell| row(cell, copies))).collect();
    let notes: Vec<String> = cells.iter().filter_map(note).collect();
    let table = columns(&rows);
    let notes = wrapped(&notes.join("\n"), width(&io::stdout()));
    if notes.is_empty() { table } else { format!("{table}\n{notes}\n") }
}

/// The same for programs.
fn report(cells: &[Found], copies: &[Found]) -> Value {
    let cell = |found: &Found| {
        let [workspace, name, ready, version, region, _] = row(found, copies);
        let why = if hub::is_ready(&found.object) { String::new() } else { hub::why_not(&found.object) };
        json!({ "workspace": workspace, "name": name, "ready": ready, "version": version, "region": region,
            "copies": hub::number_in(copies, &found.place.id, &name), "why": why })
    };
    json!({ "cells": cells.iter().map(cell).collect::<Vec<Value>>() })
}

/// Why a cell is not ready; below the table, where there is room for it.
fn note(Found { place, object: cell }: &Found) -> Option<String> {
    let name = cell["metadata"]["name"].as_str().unwrap_or_default();
    (!hub::is_ready(cell)).then(|| format!("{name} in {} is not ready: {}", place.path, hub::why_not(cell)))
}

fn row(Found { place, object: cell }: &Found, copies: &[Found]) -> [String; 6] {
    let name = cell["metadata"]["name"].as_str().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ready = hub::condition(cell, "Ready").map_or("Unknown".to_owned(), |ready| word(&ready["status"]));
    let copies = hub::number_in(copies, &place.id, name).to_string();
    let (version, region) = (word(&cell["status"]["kubernetesVersion"]), word(&cell["spec"]["region"]));
    [place.path.clone(), name.to_owned(), ready, version, region, copies]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::cell::everywhere::Place;
    use serde_json::json;

    #[test]
    fn cells_are_shown_with_how_they_are_and_what_is_in_them() {
        let cell = |name: &str, status: &str| {
            let ready = json!([{ "type": "Ready", "status": status, "message": "no answer" }]);
            json!({ "metadata": { "name": name }, "spec": { "region": "eu" },
                    "status": { "kubernetesVersion": "v1", "conditions": ready } })
        };
        let place = |id: &str, path: &str| Place { id: id.to_owned(), path: path.to_owned() };
        let found = |object: Value| Found { place: place("1", "root:a"), object };
        let copy = json!({ "spec": { "cell": { "name": "a", "workspace": "1" } } });
        let other = json!({ "spec": { "cell": { "name": "a", "workspace": "2" } } });
        let copies = [copy, other].map(|object| Found { place: place("3", "root:b"), object });
        let text = table(&[found(cell("a", "True")), found(cell("long-name", "Unknown"))], &copies);
        let expected = "\
WORKSPACE   NAME        READY     VERSION   REGION   COPIES
root:a      a           True      v1        eu       1
root:a      long-name   Unknown   v1        eu       0

long-name in root:a is not ready: no answer
";
        assert_eq!(text, expected);
        assert!(table(&[], &[]).contains("hanse cell join"));
        let report = report(&[found(cell("a", "True")), found(cell("b", "False"))], &copies);
        assert_eq!(
            report["cells"][0],
            json!({ "workspace": "root:a", "name": "a", "ready": "True", "version": "v1", "region": "eu", "copies": 1, "why": "" })
        );
        assert_eq!(report["cells"][1]["why"], "no answer");
    }
}
