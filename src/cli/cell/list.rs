//! `hanse cell list`.

use super::everywhere::{Everywhere, Found};
use super::hub;
use super::{Error, HubFlags};
use crate::cli::answer;
use crate::cli::columns::columns;
use clap::Args;
use serde_json::Value;

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    #[command(flatten)]
    hub: HubFlags,
}

pub(super) async fn run(flags: &Flags) -> Result<(), Error> {
    let everywhere = Everywhere::find(&hub::kubeconfig(&flags.hub)?).await?;
    let mut cells = everywhere.list(&hub::cells()).await?;
    if let Some(workspace) = &flags.hub.workspace {
        cells.retain(|cell| cell.place.path == *workspace || cell.place.id == *workspace);
    }
    let copies = everywhere.list(&hub::copies()).await?;
    Ok(answer(&table(&cells, &copies))?)
}

fn table(cells: &[Found], copies: &[Found]) -> String {
    let header = ["WORKSPACE", "NAME", "READY", "VERSION", "REGION", "COPIES"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(header).chain(cells.iter().map(|cell| row(cell, copies))).collect();
    let notes: Vec<String> = cells.iter().filter_map(note).collect();
    let table = columns(&rows);
    if notes.is_empty() { table } else { format!("{table}\n{}\n", notes.join("\n")) }
}

/// Why a cell is not ready; below the table, where there is room for it.
fn note(Found { place, object: cell }: &Found) -> Option<String> {
    let name = cell["metadata"]["name"].as_str().unwrap_or_default();
    (!hub::is_ready(cell)).then(|| format!("{name} of {} is not ready: {}", place.path, hub::why_not(cell)))
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

long-name of root:a is not ready: no answer
";
        assert_eq!(text, expected);
    }
}
