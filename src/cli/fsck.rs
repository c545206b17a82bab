//! `hanse fsck`: compares what is recorded with what is in the cells, and says what is not as it should be.
//!
//! The server works on while it is looked at, so only what is found twice in a row is told.

use super::cell::everywhere::{self, Everywhere};
use super::cell::{Error, ServerFlags, hub};
use super::output::Form;
use super::{answer, progress};
use crate::fleet::api::{CellApi, CellResource};
use crate::fleet::{self, kubeconfig, remote};
use crate::syncer::audit::{Evidence, Finding, Found, audit, cell_name};
use crate::syncer::mark;
use apiserver::object::Object;
use clap::Args;
use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How long after the first look the second is taken: longer than anything takes that is under way.
const SECOND_LOOK: Duration = Duration::from_secs(2);

#[derive(Args, Debug)]
pub(super) struct Flags {
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    server: ServerFlags,
}

/// Why nothing can be said, or what is wrong.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Looking(#[from] Error),
    #[error("{} found", problems(.0))]
    Findings(usize),
    #[error(transparent)]
    Answer(#[from] std::io::Error),
}

fn problems(number: &usize) -> String {
    format!("{number} problem{}", if *number == 1 { "" } else { "s" })
}

pub(super) fn run(flags: &Flags) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(look_twice(flags))?;
    answer(&flags.form.write(|| listed(&findings), || report(&findings)))?;
    if findings.is_empty() { Ok(()) } else { Err(Failure::Findings(findings.len())) }
}

fn listed(findings: &BTreeSet<Finding>) -> String {
    match findings.is_empty() {
        true => "no problems found: the cells hold what is recorded\n".to_owned(),
        false => findings.iter().map(|finding| format!("{finding}\n")).collect(),
    }
}

fn report(findings: &BTreeSet<Finding>) -> Value {
    let one = |finding: &Finding| {
        let told = finding.to_string();
        let (problem, what) = told.split_once(": ").unwrap_or(("", &told));
        json!({ "problem": problem, "what": what })
    };
    json!({ "problems": findings.iter().map(one).collect::<Vec<Value>>() })
}

async fn look_twice(flags: &Flags) -> Result<BTreeSet<Finding>, Error> {
    let shown = progress::spinner("reading the records");
    let found = compare(&flags.server, &shown).await;
    shown.finish_and_clear();
    found
}

async fn compare(flags: &ServerFlags, shown: &ProgressBar) -> Result<BTreeSet<Finding>, Error> {
    let looker = Looker::new(flags).await?;
    let first = audit(&looker.look(shown).await?);
    if first.is_empty() {
        return Ok(first);
    }
    shown.set_message(format!("{} differences; checking them again", first.len()));
    tokio::time::sleep(SECOND_LOOK).await;
    let second = audit(&looker.look(shown).await?);
    Ok(first.intersection(&second).cloned().collect())
}

struct Looker {
    kubeconfig: String,
    /// By whose mark objects in cells are found.
    owner: String,
}

impl Looker {
    async fn new(flags: &ServerFlags) -> Result<Self, Error> {
        let kubeconfig = hub::of_server(flags)?;
        let root = remote(&kubeconfig::in_workspace(&kubeconfig, "root")?).map_err(Error::Hub)?;
        let system = root.get(&hub::namespace("kube-system")).await.map_err(Error::Hub)?.unwrap_or_default();
        let owner = system["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        Ok(Self { kubeconfig, owner })
    }

    async fn look(&self, shown: &ProgressBar) -> Result<Evidence, Error> {
        let everywhere = Everywhere::find(&self.kubeconfig).await?;
        let objects = |found: Vec<everywhere::Found>| found.into_iter().map(|found| found.object).collect();
        let mut evidence = Evidence {
            copies: objects(everywhere.list(&hub::copies()).await?),
            placements: objects(everywhere.list(&hub::placements()).await?),
            ..Evidence::default()
        };
        let cells = everywhere.list(&hub::cells()).await?;
        for (at, cell) in cells.iter().enumerate() {
            let name = cell.object["metadata"]["name"].as_str().unwrap_or_default();
            shown.set_message(format!("checking cell {name}, {} of {}", at + 1, cells.len()));
            let found = match self.connect(&everywhere, cell).await {
                Ok(api) => self.marked(&*api).await.ok(),
                Err(_) => None,
            };
            evidence.cells.insert(cell_name(&cell.place.id, name), found);
        }
        Ok(evidence)
    }

    async fn connect(&self, everywhere: &Everywhere, cell: &everywhere::Found) -> Result<Arc<dyn CellApi>, Error> {
        let spec = &cell.object["spec"];
        if let Some(workspace) = spec["workspace"].as_str() {
            return everywhere.api(workspace);
        }
        let word = |key: &str| spec["secretRef"][key].as_str().unwrap_or_default();
        let home = everywhere.api(&cell.place.id)?;
        let secret = home.get(&hub::secret(word("namespace"), word("name"))).await.map_err(Error::Hub)?;
        let secret = Object::try_from(secret.unwrap_or_default());
        let cell = Object::try_from(cell.object.clone());
        let text = match (&cell, &secret) {
            (Ok(cell), Ok(secret)) => fleet::kubeconfig_of(cell, secret).unwrap_or_default(),
            _ => String::new(),
        };
        remote(&text).map_err(Error::Hub)
    }

    /// Everything in a cell that bears our mark.
    async fn marked(&self, cell: &dyn CellApi) -> Result<Vec<Found>, Error> {
        let selector = format!("{}={}", mark::OWNER, mark::label_value(&self.owner));
        let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
        for resource in cell.resources().await.map_err(Error::Hub)? {
            // One version tells of all.
            if !seen.insert((resource.group.clone(), resource.plural.clone())) {
                continue;
            }
            let listed = cell.list(&resource, &selector).await.map_err(Error::Hub)?;
            all.extend(listed.items.iter().map(|object| found(&resource, object)));
        }
        Ok(all)
    }
}

fn found(resource: &CellResource, object: &Value) -> Found {
    let meta = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    let source = object["metadata"]["annotations"][mark::SOURCE_UID].as_str().unwrap_or_default().to_owned();
    let place = [resource.group.clone(), resource.plural.clone(), meta("namespace"), meta("name")];
    Found { place, uid: meta("uid"), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_told_to_people_and_to_programs() {
        assert!(listed(&BTreeSet::new()).starts_with("no problems found"));
        let findings = BTreeSet::from([Finding::Silent { cell: "a".to_owned() }]);
        assert_eq!(listed(&findings), "silent: cell a does not answer\n");
        let expected = json!({ "problems": [{ "problem": "silent", "what": "cell a does not answer" }] });
        assert_eq!(report(&findings), expected);
        assert_eq!(report(&BTreeSet::new()), json!({ "problems": [] }));
        assert_eq!(Failure::Findings(1).to_string(), "1 problem found");
    }
}
