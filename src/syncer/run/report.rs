//! Tells the source of copies how they are doing: one status out of what many cells say, and why it is not everywhere.

use super::later;
use super::recipe::Kept;
use super::records;
use super::said::{self, Said};
use crate::apis::Kind;
use crate::apis::interpret::InterpretError;
use crate::controller::{Action, Controller, Mailbox, Reconciler};
use crate::fleet::{CopyFacts, Ledger};
use crate::scheduler::Terms;
use crate::scheduler::controller::Rulebook;
use crate::syncer::reduce::{CellStatus, Manner, reduce};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::{Object, Peek, timestamp};
use apiserver::place::{ObjectRef, Workspace};
use apiserver::strategy::Part;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use storage::Revision;

/// Sources that are told of at once: enough to fill a commit.
const TOLD_AT_ONCE: usize = 32;

/// The condition of a source that is ours: whether it is where its rules want it.
const PLACED: &str = "Placed";

/// The same: whether scripts make a status of what its cells say.
const INTERPRETED: &str = "Interpreted";

/// The same: whether all that its rules say is acted upon.
const HEEDED: &str = "Heeded";

const EVENTS: (&str, &str, &str) = ("", "v1", "events");

/// The workspace of a source and its UID.
pub(super) type SourceId = (Workspace, String);

pub(super) fn controller(
    client: &Client,
    book: &Arc<dyn Rulebook>,
    ledger: &Arc<Ledger>,
    mailbox: &Arc<Mailbox<SourceId>>,
) -> Controller<Reporter> {
    Controller::new(reporter(client, book, ledger)).mailbox(mailbox).workers(TOLD_AT_ONCE)
}

pub(super) fn reporter(client: &Client, book: &Arc<dyn Rulebook>, ledger: &Arc<Ledger>) -> Reporter {
    let (client, book, ledger) = (client.clone(), book.clone(), ledger.clone());
    Reporter { client, book, ledger, said: Kept::default() }
}

pub(super) struct Reporter {
    client: Client,
    book: Arc<dyn Rulebook>,
    ledger: Arc<Ledger>,
    /// What was told of late.
    said: Kept<Said>,
}

impl Reconciler for Reporter {
    type Key = SourceId;

    fn name(&self) -> &'static str {
        "reports"
    }

    async fn reconcile(&self, (workspace, uid): &SourceId) -> Result<Action, ApiError> {
        // What some cells say is not what they say together.
        if !self.ledger.knows(Revision::ZERO) {
            return Ok(later(&self.ledger).await);
        }
        let place = records::placement_place(&self.client, workspace, uid)?;
        let Some(bytes) = self.client.glance(&place)? else { return Ok(Action::Done) };
        let named: Value = Peek::of(&bytes).value(&["spec", "source"]).unwrap_or_default();
        let Some(at) = records::source_place(&self.client, workspace, &named) else { return Ok(Action::Done) };
        // Most of what there is has no status, and is where it should be.
        let troubles: Vec<Value> = Peek::of(&bytes).value(&["status", "troubles"]).unwrap_or_default();
        if troubles.is_empty() && !at.resource().has_status() {
            return Ok(Action::Done);
        }
        let Ok(placement) = Object::parse(&bytes) else { return Ok(Action::Done) };
        let source = self.client.get(&at).await?.filter(|source| source.uid() == uid);
        let Some(source) = source else { return Ok(Action::Done) };
        self.complain(&at, &source, &placement).await?;
        if at.resource().has_status() {
            self.tell(&at, source, &placement).await?;
        }
        Ok(Action::Done)
    }
}

impl Reporter {
    /// Writes the status that the cells say together, unless it is written already.
    async fn tell(&self, at: &ObjectRef, source: Object, placement: &Object) -> Result<(), ApiError> {
        let cells = self.said(at.workspace(), source.uid(), placement)?;
        let tree = Value::from(source);
        let rules: Vec<_> =
            self.book.rules_for(at.workspace(), &tree, Some(placement)).into_iter().map(|bound| bound.rule).collect();
        let terms = Terms::of(&rules);
        let now = timestamp(self.client.ambient().now());
        let (now, ours) =
            (now.as_str().unwrap_or_default(), BTreeSet::from([PLACED, INTERPRETED, HEEDED].map(str::to_owned)));
        let interpreter = self.book.interpreter(at.workspace(), &Kind::of(&tree));
        let manner = Manner { up: &terms.status_up, ours: &ours, now, interpreter: &interpreter };
        let before = tree.get("status").cloned().unwrap_or_else(|| json!({}));
        let reduced = reduce(&tree, &cells, &manner);
        let wrong = reduced.as_ref().err().map(ToString::to_string);
        let mut status = reduced.unwrap_or_else(|_: InterpretError| before.clone());
        placed(&mut status, placement, now);
        interpreted(&mut status, wrong, now);
        heeded(&mut status, terms.unheeded_in_words(), now);
        if status == before {
            return Ok(());
        }
        let mut told = tree;
        told["status"] = status;
        let Ok(told) = Object::try_from(told) else { return Ok(()) };
        match self.client.update(at, Part::Status, told).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(()),
        }
    }

    fn said(&self, workspace: &Workspace, uid: &str, placement: &Object) -> Result<Vec<Arc<CellStatus>>, ApiError> {
        let (wanted, mut found) = (records::wanted_in(placement), Vec::new());
        for id in self.ledger.of_source(uid).into_iter().filter(|id| id.workspace == *workspace) {
            let facts = self.ledger.facts(&id);
            let Some(CopyFacts { cell, .. }) = facts.filter(|facts| wanted.contains(&facts.cell)) else { continue };
            if let Some(record) = self.client.glance(&records::place(&self.client, &id)?)? {
                found.push((id.name, cell.name, record));
            }
        }
        let before = self.said.get(workspace, uid);
        let said = Arc::new(Said::of(found.into_iter(), before.as_deref(), said::read));
        self.said.keep(workspace, uid, &said, said.weight());
        Ok(said.cells())
    }

    /// An event for each trouble, once.
    async fn complain(&self, at: &ObjectRef, source: &Object, placement: &Object) -> Result<(), ApiError> {
        for trouble in placement.items(&["status", "troubles"]) {
            let namespace = at.namespace().unwrap_or("default");
            let events = self.client.at(EVENTS, at.workspace(), Some(namespace))?;
            let text = format!("{}{}{}", source.uid(), trouble["reason"], trouble["message"]);
            let name = format!("{}.{:016x}", short(source.name()), crate::apis::fnv::hash_64(text.as_bytes()));
            let now = timestamp(self.client.ambient().now());
            let about = json!({
                "apiVersion": source.api_version(), "kind": source.kind(), "namespace": source.namespace(),
                "name": source.name(), "uid": source.uid(),
            });
            let event = json!({
                "metadata": { "name": name, "namespace": namespace }, "involvedObject": about, "type": "Warning",
                "reason": trouble["reason"], "message": trouble["message"], "count": 1,
                "firstTimestamp": now, "lastTimestamp": now,
                "source": { "component": "hanse-scheduler" }, "reportingComponent": "hanse-scheduler",
            });
            match self.client.ensure(&events, event).await {
                // Nothing can be said in a namespace that is going.
                Err(error) if !matches!(error.code(), 403 | 404) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// As much of a name as leaves room for what comes after it.
fn short(name: &str) -> &str {
    name.get(..200).unwrap_or(name).trim_end_matches(['.', '-'])
}

/// Says that the object is not where it should be, or that it is again. Objects that always were say nothing.
fn placed(status: &mut Value, placement: &Object, now: &str) {
    let trouble = placement.items(&["status", "troubles"]).next();
    let trouble = trouble.map(|trouble| (trouble["reason"].clone(), trouble["message"].clone()));
    tell_trouble(status, PLACED, trouble, "it is where its rules want it", now);
}

/// The same of scripts that make its status.
fn interpreted(status: &mut Value, wrong: Option<String>, now: &str) {
    let trouble = wrong.map(|why| (json!("CannotInterpret"), json!(why)));
    tell_trouble(status, INTERPRETED, trouble, "its status is made by the scripts of its kind", now);
}

/// The same of what rules say.
fn heeded(status: &mut Value, unheeded: Option<String>, now: &str) {
    let trouble = unheeded.map(|fields| (json!("NotActedUpon"), json!(fields)));
    tell_trouble(status, HEEDED, trouble, "everything that its rules say is acted upon", now);
}

/// A condition that is there from the first trouble on.
fn tell_trouble(status: &mut Value, kind: &str, trouble: Option<(Value, Value)>, well: &str, now: &str) {
    let mut conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().position(|condition| condition["type"] == kind);
    let (truth, reason, message) = match (trouble, found) {
        (Some((reason, message)), _) => ("False", reason, message),
        (None, Some(_)) => ("True", json!(kind), json!(well)),
        (None, None) => return,
    };
    let before = found.map_or(&Value::Null, |at| &conditions[at]);
    if before["status"] == truth && before["reason"] == reason && before["message"] == message {
        return;
    }
    let since = if before["status"] == truth { before["lastTransitionTime"].clone() } else { json!(now) };
    let condition = json!({
        "type": kind, "status": truth, "reason": reason, "message": message, "lastTransitionTime": since,
    });
    match found {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
    status["conditions"] = Value::Array(conditions);
}
