//! `hanse cell list`.

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
    let hub = hub::connect(&flags.hub)?;
    let cells = hub.list(&hub::cells(), "").await.map_err(Error::Hub)?.items;
    let copies = hub.list(&hub::copies(), "").await.map_err(Error::Hub)?.items;
    Ok(answer(&table(&cells, &copies))?)
}

fn table(cells: &[Value], copies: &[Value]) -> String {
    let header = ["NAME", "READY", "VERSION", "REGION", "COPIES", "WHY"].map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(header).chain(cells.iter().map(|cell| row(cell, copies))).collect();
    columns(&rows)
}

fn row(cell: &Value, copies: &[Value]) -> [String; 6] {
    let name = cell["metadata"]["name"].as_str().unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ready = hub::condition(cell, "Ready").map_or("Unknown".to_owned(), |ready| word(&ready["status"]));
    let why = if hub::is_ready(cell) { String::new() } else { hub::why_not(cell) };
    let copies = hub::number_in(copies, name).to_string();
    [name.to_owned(), ready, word(&cell["status"]["kubernetesVersion"]), word(&cell["spec"]["region"]), copies, why]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells_are_shown_with_how_they_are_and_what_is_in_them() {
        let cell = |name: &str, status: &str| {
            let ready = json!([{ "type": "Ready", "status": status, "message": "no answer" }]);
            json!({ "metadata": { "name": name }, "spec": { "region": "eu" },
                    "status": { "kubernetesVersion": "v1", "conditions": ready } })
        };
        let copies = [json!({ "spec": { "cell": { "name": "a" } } })];
        let text = table(&[cell("a", "True"), cell("long-name", "Unknown")], &copies);
        let expected = "\
NAME        READY     VERSION   REGION   COPIES   WHY
a           True      v1        eu       1
long-name   Unknown   v1        eu       0        no answer
";
        assert_eq!(text, expected);
    }
}
