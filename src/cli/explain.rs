//! `hanse explain`: why an object is where it is, as a tree.

use super::answer;
use super::cell::{Error, HubFlags, hub};
use super::output::Output;
use crate::fleet::api::{CellApi, CellPlace, CellResource};
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write;

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// What is asked about: KIND/NAME, such as deployment/web; the kind may be a plural or have a group
    object: String,
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
    #[error("no kind is called {0:?} here; `kubectl api-resources` shows those that are")]
    NoKind(String),
    #[error(
        "there is no {kind} {name:?} in namespace {namespace:?}; -n names another one, and the context of the kubeconfig another workspace"
    )]
    NotThere { kind: String, name: String, namespace: String },
    #[error(transparent)]
    Answer(#[from] std::io::Error),
}

pub(super) fn run(flags: &Flags) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let known = runtime.block_on(look(flags))?;
    let text = flags.output.form(|| tree(&known), || report(&known));
    Ok(answer(&text)?)
}

/// Everything that bears on where an object is.
struct Known {
    object: Value,
    /// Null if nothing was decided.
    placement: Value,
    copies: Vec<Value>,
    cells: usize,
}

async fn look(flags: &Flags) -> Result<Known, Failure> {
    let hub = hub::connect(&flags.hub)?;
    let unknown = || Failure::NoObject(flags.object.clone());
    let (kind, name) = flags.object.split_once('/').ok_or_else(unknown)?;
    let served = hub.resources().await.map_err(Error::Hub)?;
    let resource = find(&served, kind).ok_or_else(|| Failure::NoKind(kind.to_owned()))?;
    let namespace = resource.namespaced.then(|| flags.namespace.clone());
    let place = CellPlace { resource: resource.clone(), namespace, name: name.to_owned() };
    let missing =
        || Failure::NotThere { kind: resource.kind.clone(), name: name.to_owned(), namespace: flags.namespace.clone() };
    let object = hub.get(&place).await.map_err(Error::Hub)?.ok_or_else(missing)?;
    Ok(surroundings(&*hub, object).await?)
}

async fn surroundings(hub: &dyn CellApi, object: Value) -> Result<Known, Error> {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let decision = CellPlace { resource: hub::placements(), namespace: None, name: uid.clone() };
    let placement = hub.get(&decision).await.map_err(Error::Hub)?.unwrap_or_default();
    let mut copies = hub.list(&hub::copies(), "").await.map_err(Error::Hub)?.items;
    copies.retain(|copy| copy["spec"]["source"]["uid"] == uid.as_str());
    let cells = hub.list(&hub::cells(), "").await.map_err(Error::Hub)?.items.len();
    Ok(Known { object, placement, copies, cells })
}

/// The resource that a person means: by its kind or plural, with or without a group.
fn find<'a>(served: &'a [CellResource], word: &str) -> Option<&'a CellResource> {
    let (name, group) = word.split_once('.').map_or((word, None), |(name, group)| (name, Some(group)));
    let named = |resource: &&CellResource| {
        let kind = resource.kind.eq_ignore_ascii_case(name) || resource.plural.eq_ignore_ascii_case(name);
        kind && group.is_none_or(|group| resource.group == group)
    };
    served.iter().find(named)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What is said of one cell that was chosen.
struct Chosen<'a> {
    name: &'a str,
    replicas: Option<i64>,
    because: Vec<&'a str>,
    copy: Option<&'a Value>,
}

impl Chosen<'_> {
    /// How far the copy is: one word, and what else there is to say.
    fn state(&self) -> (String, Option<String>) {
        let Some(copy) = self.copy else { return ("not sent yet".to_owned(), None) };
        let status = &copy["status"];
        let told = Some(word(&status["message"])).filter(|message| !message.is_empty()).map(str::to_owned);
        match (word(&status["applied"]), word(&status["reason"])) {
            ("True", _) => ("applied".to_owned(), told),
            ("False", reason) if !reason.is_empty() => (format!("failed: {reason}"), told),
            ("False", _) => ("failed".to_owned(), told),
            _ => ("being sent".to_owned(), told),
        }
    }
}

fn chosen(known: &Known) -> Vec<Chosen<'_>> {
    let cells = items(&known.placement["spec"]["cells"]).iter();
    let copy_in = |name: &Value| known.copies.iter().find(|copy| copy["spec"]["cell"]["name"] == *name);
    cells
        .map(|cell| Chosen {
            name: word(&cell["name"]),
            replicas: cell["replicas"].as_i64(),
            because: items(&cell["because"]).iter().map(word).collect(),
            copy: copy_in(&cell["name"]),
        })
        .collect()
}

/// The same for programs.
fn report(known: &Known) -> Value {
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

fn tree(known: &Known) -> String {
    let meta = &known.object["metadata"];
    let mut text = format!("{} {}", word(&known.object["kind"]), word(&meta["name"]));
    if let Some(namespace) = meta["namespace"].as_str() {
        let _ = write!(text, " in namespace {namespace}");
    }
    if known.placement.is_null() {
        return unplaced(text, known.cells);
    }
    let chosen = chosen(known);
    let _ = writeln!(text, ": in {} of {} cells", chosen.len(), known.cells);
    let mut branches: Vec<(String, Vec<String>)> = chosen.iter().map(branch).collect();
    let status = &known.placement["status"];
    for trouble in items(&status["troubles"]) {
        branches.push((format!("trouble: {}", word(&trouble["reason"])), vec![word(&trouble["message"]).to_owned()]));
    }
    let refused = items(&status["refused"]);
    if !refused.is_empty() {
        let line = |one: &Value| format!("{}: {} ({})", word(&one["cell"]), word(&one["reason"]), word(&one["rule"]));
        let mut leaves: Vec<String> = refused.iter().map(line).collect();
        let all = status["refusals"].as_u64().and_then(|all| usize::try_from(all).ok()).unwrap_or(leaves.len());
        if all > leaves.len() {
            leaves.push(format!("and {} more", all - leaves.len()));
        }
        branches.push(("refused".to_owned(), leaves));
    }
    draw(&mut text, &branches);
    text
}

fn unplaced(mut text: String, cells: usize) -> String {
    text.push_str(": nowhere\n");
    let (why, next) = match cells {
        0 => ("there are no cells", "hanse cell join NAME --cell-kubeconfig FILE"),
        _ => ("no rule speaks of it", "kubectl get federationrules,propagationpolicies -A"),
    };
    draw(&mut text, &[(why.to_owned(), vec![format!("see: {next}")])]);
    text
}

fn branch(chosen: &Chosen<'_>) -> (String, Vec<String>) {
    let replicas = chosen.replicas.map(|number| format!(", replicas {number}")).unwrap_or_default();
    let (state, message) = chosen.state();
    let mut leaves = vec![format!("because of {}", chosen.because.join(", "))];
    leaves.extend(message);
    (format!("{}: {state}{replicas}", chosen.name), leaves)
}

fn draw(text: &mut String, branches: &[(String, Vec<String>)]) {
    for (at, (branch, leaves)) in branches.iter().enumerate() {
        let last = at + 1 == branches.len();
        let _ = writeln!(text, "{} {branch}", if last { "└─" } else { "├─" });
        for (at, leaf) in leaves.iter().enumerate() {
            let (stem, tip) = (if last { "  " } else { "│ " }, if at + 1 == leaves.len() { "└─" } else { "├─" });
            let _ = writeln!(text, "{stem} {tip} {leaf}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(placement: Value, copies: Vec<Value>, cells: usize) -> Known {
        let object = json!({ "kind": "Deployment", "metadata": { "name": "web", "namespace": "shop", "uid": "u" } });
        Known { object, placement, copies, cells }
    }

    fn copy(cell: &str, status: Value) -> Value {
        json!({ "spec": { "cell": { "name": cell } }, "status": status })
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
        let known = known(placement, vec![copy("ams", json!({ "applied": "True" })), copy("dfw", failed)], 6);
        let expected = "\
Deployment web in namespace shop: in 3 of 6 cells
├─ ams: applied, replicas 3
│  └─ because of rule web
├─ dfw: failed: Invalid, replicas 3
│  ├─ because of rule web
│  └─ spec.x: not known
├─ gru: not sent yet
│  └─ because of rule web
└─ refused
   ├─ nrt: it is not ready (web)
   └─ and 2 more
";
        assert_eq!(tree(&known), expected);
        assert_eq!(report(&known)["cells"][1]["state"], "failed: Invalid");
    }

    #[test]
    fn what_is_nowhere_is_told_with_what_to_look_at_next() {
        let nowhere = tree(&known(Value::Null, Vec::new(), 0));
        assert!(nowhere.contains("there are no cells") && nowhere.contains("hanse cell join"), "{nowhere}");
        assert!(tree(&known(Value::Null, Vec::new(), 2)).contains("no rule speaks of it"));
    }

    #[test]
    fn a_kind_is_found_by_any_of_its_names() {
        let served =
            [hub::resource("", "v1", "events", "Event"), hub::resource("apps", "v1", "deployments", "Deployment")];
        for word in ["deployment", "Deployments", "deployment.apps"] {
            assert_eq!(find(&served, word).map(|found| found.plural.as_str()), Some("deployments"), "{word}");
        }
        assert!(find(&served, "event.apps").is_none());
    }
}
