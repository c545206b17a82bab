//! `hanse explain`: why an object is where it is, as a tree.

mod find;
mod hint;
mod tree;

use super::answer;
use super::cell::{Error, HubFlags, hub};
use super::output::Output;
use crate::fleet::api::{CellApi, CellPlace, CellResource};
use clap::Args;
use find::{find, near};
use ratatui::crossterm::terminal;
use serde_json::Value;
use std::io::{self, IsTerminal};
use tree::{report, tree};

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// What is asked about: KIND/NAME, such as deployment/web; the kind as kubectl takes it: deploy, deployments.apps, all
    object: String,
    /// The name, if it is not part of that: deployment web
    name: Option<String>,
    /// The namespace that it is in
    #[arg(long, short, value_name = "NAME", default_value = "default")]
    namespace: String,
    #[arg(long, short, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    hub: HubFlags,
}

/// Why nothing can be explained.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Asking(#[from] Error),
    #[error("{0:?} names no object: KIND/NAME, such as deployment/web")]
    NoObject(String),
    #[error(
        "no kind is called {kind:?} here{}; `kubectl api-resources` shows those that are. One of your own has to be defined \
         in this workspace", near.as_ref().map(|near| format!(", but {near:?} is")).unwrap_or_default()
    )]
    NoKind { kind: String, near: Option<String> },
    #[error(
        "there is no {kind} {name:?} in {place}; `kubectl get {plural}{everywhere}` shows those that there are, and \
         --context or --workspace another workspace"
    )]
    NotThere { kind: String, name: String, plural: String, place: String, everywhere: &'static str },
    #[error(transparent)]
    Answer(#[from] io::Error),
}

pub(super) fn run(flags: &Flags) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let known = runtime.block_on(look(flags))?;
    let columns = terminal_columns();
    let person = || known.iter().map(|known| tree(known, columns)).collect();
    let program = || match known.as_slice() {
        [one] => report(one),
        several => several.iter().map(report).collect(),
    };
    let text = flags.output.form(person, program);
    Ok(answer(&text)?)
}

/// Only somebody who looks at a terminal has a bound.
fn terminal_columns() -> Option<usize> {
    io::stdout().is_terminal().then(|| terminal::size().ok()).flatten().map(|(columns, _)| usize::from(columns))
}

/// Everything that bears on where an object is.
struct Known {
    object: Value,
    /// Null if nothing was decided.
    placement: Value,
    copies: Vec<Value>,
    cells: Vec<Value>,
    /// The rules and policies of the workspace that the object is in.
    rules: Vec<Value>,
}

async fn look(flags: &Flags) -> Result<Vec<Known>, Failure> {
    let hub = hub::connect(&flags.hub)?;
    let unknown = || Failure::NoObject(flags.object.clone());
    let in_two = flags.name.as_deref().map(|name| (flags.object.as_str(), name));
    let named = in_two.or(flags.object.split_once('/')).filter(|(_, name)| !name.is_empty());
    let (kind, name) = named.ok_or_else(unknown)?;
    let served = hub.resources_and_names().await.map_err(Error::Hub)?;
    let meant = find(&served, kind);
    let unheard_of = || Failure::NoKind { kind: kind.to_owned(), near: near(&served, kind).map(str::to_owned) };
    let first = *meant.first().ok_or_else(unheard_of)?;
    let mut known = Vec::new();
    for resource in &meant {
        let namespace = resource.namespaced.then(|| flags.namespace.clone());
        let place = CellPlace { resource: (*resource).clone(), namespace, name: name.to_owned() };
        if let Some(object) = hub.get(&place).await.map_err(Error::Hub)? {
            known.push(surroundings(&*hub, object).await?);
        }
    }
    if known.is_empty() { Err(not_there(flags, first, name, meant.len())) } else { Ok(known) }
}

fn not_there(flags: &Flags, resource: &CellResource, name: &str, kinds: usize) -> Failure {
    let (place, everywhere) = match resource.namespaced {
        true => (format!("namespace {:?}", flags.namespace), " -A"),
        false => ("this workspace".to_owned(), ""),
    };
    let (kind, plural) = match kinds {
        1 => (resource.kind.clone(), resource.plural.clone()),
        _ => ("object".to_owned(), flags.object.split('/').next().unwrap_or_default().to_owned()),
    };
    Failure::NotThere { kind, name: name.to_owned(), plural, place, everywhere }
}

async fn surroundings(hub: &dyn CellApi, object: Value) -> Result<Known, Error> {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let decision = CellPlace { resource: hub::placements(), namespace: None, name: uid.clone() };
    let placement = hub.get(&decision).await.map_err(Error::Hub)?.unwrap_or_default();
    let mut copies = hub.list(&hub::copies(), "").await.map_err(Error::Hub)?.items;
    copies.retain(|copy| copy["spec"]["source"]["uid"] == uid.as_str());
    let cells = hub.list(&hub::cells(), "").await.map_err(Error::Hub)?.items;
    let mut rules = Vec::new();
    for kind in [hub::rules(), hub::policies(), hub::cluster_policies()] {
        let listed = hub.list(&kind, "").await.map_err(Error::Hub)?.items;
        // Items of a list need not say what they are.
        rules.extend(listed.into_iter().map(|rule| with_kind(rule, &kind.kind)));
    }
    Ok(Known { object, placement, copies, cells, rules })
}

fn with_kind(mut object: Value, kind: &str) -> Value {
    object["kind"] = kind.into();
    object
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
