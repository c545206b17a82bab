//! `hanse explain`: why an object is where it is, as a tree.

mod find;
mod hint;
mod tree;

use super::answer;
use super::cell::{Error, HubFlags, hub};
use super::columns::width;
use super::output::Form;
use crate::fleet::api::{CellApi, CellPlace, CellResource};
use clap::Args;
use find::{find, near};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io;
use tree::{report, tree};

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// The object as KIND/NAME, such as deployment/web; the kind can be anything kubectl accepts: deploy, deployments.apps, all
    #[arg(value_name = "KIND/NAME")]
    object: String,
    /// The name, if it is given separately: deployment web
    name: Option<String>,
    /// The namespace of the object [default: the one of the context, or default]
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    hub: HubFlags,
}

/// Why nothing can be explained.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Asking(#[from] Error),
    #[error("{0:?} is not an object; expected KIND/NAME, such as deployment/web")]
    NoObject(String),
    #[error("unknown kind {kind:?}. {}`kubectl api-resources` lists the kinds of this workspace", meant(.near))]
    NoKind { kind: String, near: Option<String> },
    #[error(
        "no {kind} {name:?} in {place}; `kubectl get {plural}{everywhere}` lists what there is. Use -n for another \
         namespace, --context or --workspace for another workspace"
    )]
    NotThere { kind: String, name: String, plural: String, place: String, everywhere: &'static str },
    #[error(transparent)]
    Answer(#[from] io::Error),
}

/// What somebody may have meant; a kind that is like none may have been defined elsewhere.
fn meant(near: &Option<String>) -> String {
    match near {
        Some(near) => format!("Did you mean {near:?}? "),
        None => "Is it defined in this workspace? ".to_owned(),
    }
}

pub(super) fn run(flags: &Flags) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let known = runtime.block_on(look(flags))?;
    let columns = width(&io::stdout());
    let person = || known.iter().map(|known| tree(known, columns)).collect();
    let program = || match known.as_slice() {
        [one] => report(one),
        several => several.iter().map(report).collect(),
    };
    Ok(answer(&flags.form.write(person, program))?)
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
    let namespace = match &flags.namespace {
        Some(namespace) => namespace.clone(),
        None => hub::namespace_of_context(&flags.hub.server)?,
    };
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
        let within = resource.namespaced.then(|| namespace.clone());
        let place = CellPlace { resource: (*resource).clone(), namespace: within, name: name.to_owned() };
        if let Some(object) = hub.get(&place).await.map_err(Error::Hub)? {
            known.push(surroundings(&*hub, &flags.hub, object).await?);
        }
    }
    if known.is_empty() { Err(not_there([kind, name, &namespace], first, meant.len())) } else { Ok(known) }
}

fn not_there([word, name, namespace]: [&str; 3], resource: &CellResource, kinds: usize) -> Failure {
    let (place, everywhere) = match resource.namespaced {
        true => (format!("namespace {namespace:?}"), " -A"),
        false => ("this workspace".to_owned(), ""),
    };
    let (kind, plural) = match kinds {
        1 => (resource.kind.clone(), resource.plural.clone()),
        _ => ("object".to_owned(), word.to_owned()),
    };
    Failure::NotThere { kind, name: name.to_owned(), plural, place, everywhere }
}

async fn surroundings(hub: &dyn CellApi, flags: &HubFlags, object: Value) -> Result<Known, Error> {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let decision = CellPlace { resource: hub::placements(), namespace: None, name: uid.clone() };
    let placement = hub.get(&decision).await.map_err(Error::Hub)?.unwrap_or_default();
    let mut copies = hub.list(&hub::copies(), "").await.map_err(Error::Hub)?.items;
    copies.retain(|copy| copy["spec"]["source"]["uid"] == uid.as_str());
    let mut rules = Vec::new();
    for kind in [hub::rules(), hub::policies(), hub::cluster_policies()] {
        let listed = hub.list(&kind, "").await.map_err(Error::Hub)?.items;
        // Items of a list need not say what they are.
        rules.extend(listed.into_iter().map(|rule| with_kind(rule, &kind.kind)));
    }
    rules.extend(of_platform(flags).await);
    let (deciding, mut cells) = (deciding(&placement), Vec::new());
    if deciding.is_empty() {
        cells = hub.list(&hub::cells(), "").await.map_err(Error::Hub)?.items;
    }
    for workspace in deciding {
        cells.extend(listed_in(flags, workspace, &hub::cells()).await);
    }
    Ok(Known { object, placement, copies, cells, rules })
}

/// The workspaces whose rules decided, and whose cells were chosen from.
fn deciding(placement: &Value) -> BTreeSet<&str> {
    items(&placement["spec"]["rules"]).iter().map(|rule| word(&rule["workspace"])).filter(|id| !id.is_empty()).collect()
}

/// Rules in the root that are for other workspaces.
async fn of_platform(flags: &HubFlags) -> Vec<Value> {
    let rules = listed_in(flags, "root", &hub::rules()).await.into_iter();
    let for_others = rules.filter(|rule| !items(&rule["spec"]["workspaces"]).is_empty());
    for_others.map(|rule| with_kind(rule, "FederationRule")).collect()
}

/// What another workspace has of a resource; nothing, for those who may not see it.
async fn listed_in(flags: &HubFlags, workspace: &str, of: &CellResource) -> Vec<Value> {
    let there = HubFlags { workspace: Some(workspace.to_owned()), ..flags.clone() };
    let Ok(there) = hub::connect(&there) else { return Vec::new() };
    there.list(of, "").await.map(|listed| listed.items).unwrap_or_default()
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
