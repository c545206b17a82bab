//! The scheduler at work: looks at an object, its rules and the cells, decides by [`plan`], and writes the decision down.
//!
//! What it writes is a `Placement`, named after the UID of the object. An object that is placed is held by a finalizer
//! until no cell has a copy of it; that there is none is believed only if it was known after the decision to withdraw.

mod book;
mod follow;
mod index;
mod record;
mod rules;
mod source;
mod tally;
mod workload;

pub use book::{Bound, Concern, Rulebook};
pub use record::{Manner, evictions_of, manner_of, rules_of, staying_in, targets_of};

use super::evict::{self, Circumstances, Copied};
use super::{Followed, Mode, Seen, Trouble, Workload};
use crate::apis::Kind;
use crate::apis::definitions::{CLEANUP, COPIES, OWNER, PLACEMENTS, PURGE, RESCHEDULE, copy_name};
use crate::apis::interpret::{InterpretError, Interpreter};
use crate::apis::kinds::Health;
use crate::controller::{Action, Controller, Reconciler};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use apiserver::place::{ObjectRef, Workspace};
use apiserver::strategy::Part;
use index::Index;
use parking_lot::Mutex;
use record::{Decided, How};
use serde_json::{Value, json};
use source::Everything;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use storage::{Key, Revision};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Objects that are decided about at once: enough to fill a commit.
const DECIDED_AT_ONCE: usize = 64;

/// How long others are given to learn of what was just written.
const LAG: Duration = Duration::from_millis(5);

/// How late it is noticed at most that it is time for something, should the clock have been set.
const RECHECK_MAX: Duration = Duration::from_secs(30);

/// Starts to place the objects of all workspaces, as `hub`. Ends when `stop` is cancelled.
pub fn start(client: &Client, hub: &str, book: &Arc<dyn Rulebook>, tasks: &TaskTracker, stop: &CancellationToken) {
    let index = Arc::new(Mutex::new(Index::default()));
    let told = Arc::default();
    tasks.spawn(rules::controller(client, book, &index, &told).run(stop.clone()));
    let (book, since, draft) = (book.clone(), Revision::ZERO, None);
    let known = index.clone();
    let source = Everything { client: client.clone(), book: book.clone(), index: known, draft, rules: told, since };
    let scheduler = Scheduler { client: client.clone(), hub: hub.to_owned(), book, index };
    let controller = Controller::new(scheduler).source(source).workers(DECIDED_AT_ONCE);
    tasks.spawn(controller.run(stop.clone()));
}

struct Scheduler {
    client: Client,
    /// Whose mark copies bear.
    hub: String,
    book: Arc<dyn Rulebook>,
    /// Held for one question, and together with no other lock.
    index: Arc<Mutex<Index>>,
}

impl Reconciler for Scheduler {
    type Key = Key;

    fn name(&self) -> &'static str {
        "scheduler"
    }

    async fn reconcile(&self, key: &Key) -> Result<Action, ApiError> {
        if !self.index.lock().complete {
            return Ok(Action::After(LAG));
        }
        let Some(workspace) = keyspace::workspace(key) else { return Ok(Action::Done) };
        // Nothing is there where the resource is no longer served.
        let at = self.client.place_of(key);
        let source = match &at {
            Some(at) => self.client.get(at).await?,
            None => None,
        };
        let uid = source.as_ref().map(Object::uid).unwrap_or_default();
        let placements = self.index.lock().placements_of(key);
        let (mut waits, mut again) = (false, None);
        for former in placements.iter().filter(|former| *former != uid) {
            waits |= self.retire(&workspace, former).await? == Retired::Waiting;
        }
        if let (Some(at), Some(source)) = (&at, &source) {
            match self.place(key, at, source).await? {
                Retired::Waiting => waits = true,
                Retired::Until(later) => again = Some(later.min(RECHECK_MAX)),
                Retired::Done => {}
            }
        }
        Ok(if waits { Action::After(LAG) } else { again.map_or(Action::Done, Action::After) })
    }
}

/// Who refers to an object, by the workspace of the cells they are in; and in what manner they are there.
type Led = (BTreeMap<Workspace, Vec<Followed>>, Option<Manner>);

/// How copies are doing, by the workspace and the name of their cell.
type Copies = BTreeMap<Workspace, BTreeMap<String, Copied>>;

/// Whether an object waits for its copies when it is deleted.
fn is_held(source: &Object) -> bool {
    source.finalizers().any(|name| name == CLEANUP)
}

fn copied(copy: &Object, decision: &Object, interpreter: &Interpreter) -> Copied {
    let decided = copy.pointer(&["status", "decided"]).and_then(Value::as_i64);
    let applied = copy.text(&["status", "applied"]) == "True";
    let named = |key: &str| decision.text(&["spec", "source", key]);
    let kind = Kind::new(named("apiVersion"), named("kind"));
    Copied {
        applied,
        current: decided == Some(decision.generation()),
        health: interpreter.health_of(&kind, Health::named(copy.text(&["status", "health"])), applied),
        since: record::seconds(copy.text(&["status", "healthSince"])),
        status: copy.pointer(&["status", "observed"]).cloned(),
    }
}

/// What an object wants, as far as it could be found out.
#[derive(Debug, Default)]
struct Asked {
    workload: Option<Workload>,
    /// What goes where it goes.
    references: Vec<Value>,
    unclear: Option<Trouble>,
}

/// How far a withdrawal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retired {
    /// Nothing is left to do now; the end of a copy brings it back here.
    Done,
    /// The index has to catch up, or the object was changed while it was looked at.
    Waiting,
    /// Nothing has to be done before then.
    Until(Duration),
}

/// How a write of something that was read before ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changed {
    Done,
    /// Somebody else was faster, or it is gone: it has to be read anew.
    Meanwhile,
}

impl Scheduler {
    async fn place(&self, key: &Key, at: &ObjectRef, source: &Object) -> Result<Retired, ApiError> {
        let tree = Value::from(source.clone());
        let (mut rules, mut led, mut stays) = (Vec::new(), Led::default(), false);
        let place = self.record_of(at.workspace(), source.uid())?;
        let written = self.client.get(&place).await?;
        if !source.is_deleting() && !self.is_copy(source) {
            rules = self.book.rules_for(at.workspace(), &tree, written.as_ref());
            led = self.index.lock().followers.of(key);
            stays = true;
        }
        if rules.is_empty() && led.0.is_empty() {
            let written = written.as_ref();
            let left =
                written.filter(|_| stays).and_then(|record| record::left(record, |at, cell| self.has_cell(at, cell)));
            return match left {
                Some(left) => self.write(&place, written, &left).await,
                None => self.withdraw(at, source).await,
            };
        }
        let interpreter = self.book.interpreter(at.workspace(), &Kind::of(&tree));
        let asked = self.asked(at, &tree, &rules, &interpreter, written.as_ref())?;
        let copies = self.copies((at.workspace(), source.uid()), &rules, &interpreter, written.as_ref()).await?;
        let decided = self.decide(at, &tree, &rules, &asked, &led.0, (written.as_ref(), &copies));
        let somewhere = decided.iter().any(|decided| !decided.outcome.placement.targets.is_empty());
        let names = rules.iter().map(|Bound { home, rule }| (home.clone(), rule.name.clone())).collect();
        let rules: Vec<_> = rules.into_iter().map(|bound| bound.rule).collect();
        let how = How {
            names,
            rules: &rules,
            manner: led.1.filter(|_| rules.is_empty()).map_or_else(|| Manner::of(&rules), Manner::following),
            references: asked.references,
            interpreter: &interpreter,
            evicted: written.as_ref().is_some_and(record::says_evictions),
            rescheduled: written
                .as_ref()
                .and_then(|record| record.annotation(RESCHEDULE))
                .unwrap_or_default()
                .to_owned(),
        };
        let wanted = record::write(record::source(at, source), &decided, &how);
        let holds = (somewhere && !is_held(source)).then_some((at, source));
        if self.settle(&place, written.as_ref(), &wanted, holds).await? == Retired::Waiting {
            return Ok(Retired::Waiting);
        }
        let next = decided.iter().filter_map(|decided| decided.outcome.next).min();
        Ok(next.map_or(Retired::Done, |seconds| Retired::Until(Duration::from_secs(seconds.max(1).unsigned_abs()))))
    }

    /// How copies are doing, by the workspace of their cells, where that matters.
    async fn copies(
        &self,
        (workspace, uid): (&Workspace, &str),
        rules: &[Bound],
        interpreter: &Interpreter,
        written: Option<&Object>,
    ) -> Result<Copies, ApiError> {
        let mut copies = Copies::default();
        let Some(record) = written else { return Ok(copies) };
        let leaves = record.items(&["spec", "evictions"]).next().is_some();
        let matters = |bound: &Bound| {
            let failover = &bound.rule.failover;
            failover.application.is_some() || failover.cell.as_ref().is_some_and(|cell| !cell.carry.is_empty())
        };
        if !leaves && !rules.iter().any(matters) {
            return Ok(copies);
        }
        let cells = record.items(&["spec", "cells"]).chain(record.items(&["spec", "evictions"]));
        for cell in cells {
            let word = |key: &str| cell[key].as_str().unwrap_or_default();
            let name = copy_name(workspace.as_str(), uid, (word("workspace"), word("name")));
            let place = self.client.at(COPIES, workspace, None)?.object(&name);
            let Some(copy) = self.client.get(&place).await? else { continue };
            let of_home = copies.entry(Workspace::new(word("workspace"))).or_default();
            of_home.insert(word("name").to_owned(), copied(&copy, record, interpreter));
        }
        Ok(copies)
    }

    /// What the object wants and needs. Where a script does not say, what was needed before is needed still.
    fn asked(
        &self,
        at: &ObjectRef,
        object: &Value,
        rules: &[Bound],
        interpreter: &Interpreter,
        written: Option<&Object>,
    ) -> Result<Asked, ApiError> {
        let unclear = |error: InterpretError| Trouble::Unclear(error.to_string());
        let mut asked = Asked::default();
        match workload::of(object, interpreter) {
            Ok(workload) => asked.workload = workload,
            Err(error) => asked.unclear = Some(unclear(error)),
        }
        if rules.iter().any(|bound| bound.rule.follow) {
            match interpreter.references(object) {
                Ok(named) => {
                    asked.references = follow::references(at, named, &*self.client.catalog(at.workspace())?);
                }
                Err(error) => {
                    asked.unclear = Some(unclear(error));
                    asked.references =
                        written.into_iter().flat_map(|record| record.items(&["spec", "references"])).cloned().collect();
                }
            }
        }
        Ok(asked)
    }

    /// Whether we put it there. A workspace can be a cell; a copy that were sent on would come back to itself for ever.
    fn is_copy(&self, object: &Object) -> bool {
        let owner = object.labels().and_then(|labels| labels.get(OWNER));
        owner.is_some_and(|owner| owner == self.hub.as_str())
    }

    /// Each workspace that has rules for the object, or for those that refer to it, decides about its own cells.
    fn decide(
        &self,
        at: &ObjectRef,
        object: &Value,
        rules: &[Bound],
        asked: &Asked,
        led: &BTreeMap<Workspace, Vec<Followed>>,
        (written, copies): (Option<&Object>, &Copies),
    ) -> Vec<Decided> {
        let (now, nothing) = (self.client.ambient().now().seconds, BTreeMap::new());
        let released = written.is_some_and(|record| record.annotation(PURGE).is_some());
        let mut homes: BTreeMap<&Workspace, Vec<super::Rule>> = led.keys().map(|home| (home, Vec::new())).collect();
        for Bound { home, rule } in rules {
            homes.entry(home).or_default().push(rule.clone());
        }
        let fresh = written.is_some_and(record::is_to_be_rescheduled);
        let mode = if fresh { Mode::Fresh } else { Mode::Steady };
        let decide = |(home, rules): (&Workspace, Vec<super::Rule>)| {
            let cells = self.index.lock().cells_of(home);
            let before = written.map(|record| record::before(record, home)).unwrap_or_default();
            let seen = Seen {
                object,
                rules: &rules,
                cells: &cells,
                workload: asked.workload.as_ref(),
                before: &before,
                followed: led.get(home).map(Vec::as_slice).unwrap_or_default(),
                brings_definition: follow::definition_of(at).is_some(),
                mode,
                unclear: asked.unclear.as_ref(),
            };
            let copies = copies.get(home).unwrap_or(&nothing);
            let outcome = evict::decide(&seen, &Circumstances { now, copies, released });
            Decided { home: home.clone(), outcome }
        };
        homes.into_iter().map(decide).collect()
    }

    /// Whether there is such a cell, and it is not about to go.
    fn has_cell(&self, home: &Workspace, name: &str) -> bool {
        let cells = self.index.lock().cells_of(home);
        cells.iter().any(|cell| cell.name == name && !cell.leaving)
    }

    fn record_of(&self, workspace: &Workspace, uid: &str) -> Result<ObjectRef, ApiError> {
        Ok(self.client.at(PLACEMENTS, workspace, None)?.object(uid))
    }

    async fn write(&self, place: &ObjectRef, written: Option<&Object>, wanted: &Value) -> Result<Retired, ApiError> {
        match written {
            None => {
                let Ok(record) = Object::try_from(wanted.clone()) else { return Ok(Retired::Done) };
                if self.client.enter(place, record).await?.is_none() {
                    return Ok(Retired::Waiting);
                }
            }
            Some(record) if !record::says(record, wanted) => {
                self.client.unowned().merge(place, Part::Main, wanted).await?;
            }
            Some(_) => {}
        }
        Ok(Retired::Done)
    }

    /// Writes the decision down, and before it that the object waits for its copies when it is deleted.
    async fn settle(
        &self,
        place: &ObjectRef,
        written: Option<&Object>,
        wanted: &Value,
        holds: Option<(&ObjectRef, &Object)>,
    ) -> Result<Retired, ApiError> {
        let Some((at, source)) = holds else { return self.write(place, written, wanted).await };
        let held: Vec<&str> = source.finalizers().chain([CLEANUP]).collect();
        if let (None, true, Ok(record)) =
            (written, self.client.is_plain(at.resource()), Object::try_from(wanted.clone()))
        {
            let mut source = source.clone();
            source.set_finalizers(held.into_iter().map(str::to_owned).collect());
            let entered = self.client.enter_holding(place, record, (at, source)).await?;
            return Ok(entered.map_or(Retired::Waiting, |_| Retired::Done));
        }
        match self.finalizers(at, source, &held).await? {
            Changed::Meanwhile => Ok(Retired::Waiting),
            Changed::Done => self.write(place, written, wanted).await,
        }
    }

    async fn finalizers(&self, at: &ObjectRef, source: &Object, finalizers: &[&str]) -> Result<Changed, ApiError> {
        let metadata = json!({
            "uid": source.uid(), "resourceVersion": source.resource_version(), "finalizers": finalizers,
        });
        // It is one of a set: nobody takes it away by applying others, so its owner need not be kept.
        match self.client.unowned().merge(at, Part::Main, &json!({ "metadata": metadata })).await {
            Ok(_) => Ok(Changed::Done),
            Err(error) if matches!(error.code(), 404 | 409) => Ok(Changed::Meanwhile),
            Err(error) => Err(error),
        }
    }

    /// Nobody wants the object anywhere: takes it back from wherever it is, then lets it go.
    async fn withdraw(&self, at: &ObjectRef, source: &Object) -> Result<Retired, ApiError> {
        let place = self.record_of(at.workspace(), source.uid())?;
        let held = is_held(source);
        let record = self.client.get(&place).await?;
        if !held && record.is_none() {
            return Ok(Retired::Done);
        }
        if let Some(record) = &record
            && !record::is_empty(record)
        {
            self.client.merge(&place, Part::Main, &record::withdrawn(record)).await?;
            return Ok(Retired::Done);
        }
        let since = record.as_ref().unwrap_or(source);
        match self.is_gone(source.uid(), since) {
            Some(true) => {}
            Some(false) => return Ok(Retired::Done),
            None => return Ok(Retired::Waiting),
        }
        if held {
            let left: Vec<&str> = source.finalizers().filter(|name| *name != CLEANUP).collect();
            if self.finalizers(at, source, &left).await? == Changed::Meanwhile {
                return Ok(Retired::Waiting);
            }
        }
        self.forget(&place, record.as_ref()).await
    }

    /// Takes back what was placed of an object that is no more.
    async fn retire(&self, workspace: &Workspace, uid: &str) -> Result<Retired, ApiError> {
        let place = self.record_of(workspace, uid)?;
        let Some(record) = self.client.get(&place).await? else { return Ok(Retired::Done) };
        if !record::is_empty(&record) {
            self.client.merge(&place, Part::Main, &record::withdrawn(&record)).await?;
            return Ok(Retired::Done);
        }
        match self.is_gone(uid, &record) {
            Some(true) => self.forget(&place, Some(&record)).await,
            Some(false) => Ok(Retired::Done),
            None => Ok(Retired::Waiting),
        }
    }

    /// Whether no cell has a copy of it; `None` if that is not known as of the last change of `since`.
    fn is_gone(&self, uid: &str, since: &Object) -> Option<bool> {
        let revision = since.resource_version().parse().map(Revision).unwrap_or_default();
        self.index.lock().is_gone(uid, revision)
    }

    async fn forget(&self, place: &ObjectRef, record: Option<&Object>) -> Result<Retired, ApiError> {
        if record.is_none() {
            return Ok(Retired::Done);
        }
        match self.client.delete(place, &DeleteOptions::default()).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(Retired::Done),
        }
    }
}
