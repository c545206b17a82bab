//! One cell, made to hold what it should: looks at one copy at a time, decides by `step`, and acts.

use super::actual::{self, Actual, Actuals, Known};
use super::later;
use super::namespace;
use super::records;
use super::step::{Recorded, Situation, Step, step};
use super::told::{self, Told};
use super::upsync::Upsyncs;
use super::watches::Watches;
use super::wish::{Problem, STARTING, Wish, Wishes, is_definition};
use crate::apis::interpret::Operation;
use crate::apis::kinds;
use crate::controller::{Action, Reconciler};
use crate::fleet::api::{Applied, CellError, CellPlace, Over};
use crate::fleet::{CellId, CopyId, CopyKind, Ledger, Session};
use crate::syncer::mark::{self, Belongs};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::{Object, timestamp};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use storage::Revision;

/// How soon an object that somebody in the cell holds on to is looked at again without being told of.
const RECHECK: Duration = Duration::from_secs(5);

/// Works on one cell.
pub(super) struct Worker {
    pub(super) client: Client,
    pub(super) session: Arc<Session>,
    pub(super) ledger: Arc<Ledger>,
    pub(super) wishes: Wishes,
    pub(super) hub: Arc<str>,
    pub(super) actuals: Arc<Actuals>,
    pub(super) watches: Watches,
    pub(super) upsyncs: Upsyncs,
}

/// What was read about a copy.
struct Seen {
    wish: Option<Wish>,
    record: Option<Object>,
    recorded: Option<Recorded>,
    known: Known,
    has_namespace: bool,
}

impl Reconciler for Worker {
    type Key = CopyId;

    fn name(&self) -> &'static str {
        "syncer"
    }

    async fn reconcile(&self, id: &CopyId) -> Result<Action, ApiError> {
        if !self.ledger.knows(Revision::ZERO) {
            return Ok(later(&self.ledger).await);
        }
        if self.waits_for_watch(id) {
            return Ok(Action::Done);
        }
        let (stored, wish) = (records::stored(&self.client, id)?, self.wishes.of(id, &self.session).await?);
        if let (Some(stored), Some(wish)) = (&stored, &wish)
            && self.is_well(id, stored, wish)
        {
            return Ok(Action::Done);
        }
        let record = stored.map(|stored| records::parse(&stored)).transpose()?;
        let seen = self.observe(id, record, wish).await?;
        let first = self.step(id, &seen);
        let Some(record) = self.written_down(id, first, &seen).await? else { return self.act(id, first, &seen).await };
        // The decision may have changed before this was written: it is read anew before anything is sent.
        let wish = self.wishes.of(id, &self.session).await?;
        let seen = self.observe(id, Some(record), wish).await?;
        self.act(id, self.step(id, &seen), &seen).await
    }
}

impl Worker {
    fn step(&self, id: &CopyId, seen: &Seen) -> Step {
        step(&Situation {
            source: records::source_of(id),
            wanted: seen.wish.as_ref().map(|wish| wish.made.hash.as_str()),
            status: seen.wish.as_ref().and_then(|wish| Some(wish.made.status.as_ref()?.1.as_str())),
            recorded: seen.recorded.as_ref(),
            known: &seen.known,
            has_namespace: seen.has_namespace,
            suspended: seen.wish.as_ref().is_some_and(|wish| wish.suspended || self.waits(id, wish, seen)),
            possible: seen.wish.as_ref().is_none_or(|wish| wish.problem.is_none()),
        })
    }

    /// The record of what is about to be put into the cell, if this is the time to make one.
    async fn written_down(&self, id: &CopyId, step: Step, seen: &Seen) -> Result<Option<Object>, ApiError> {
        let (Step::Record, Some(wish)) = (step, &seen.wish) else { return Ok(None) };
        let cell = (&self.session.cell, self.session.uid.as_str());
        let record = records::enter(&self.client, id, records::intent(id, cell, &wish.source, &wish.place)).await?;
        // What is sent is talked about before it is told here that there is a record of it.
        if let Some(record) = &record {
            let written = record.resource_version().parse().map(Revision).unwrap_or_default();
            self.ledger.foretell(id, &records::intended(id, cell.0, &wish.place), written);
        }
        Ok(record)
    }

    /// Whether its kind is about to be watched. What there is to do about something that is recorded cannot be known before,
    /// and as soon as the cell has told what it has, the watch brings it back here. What was found there is not watched.
    pub(super) fn waits_for_watch(&self, id: &CopyId) -> bool {
        self.ledger.made_as(id).is_some_and(|kind| self.waits_for_watch_of(&kind))
    }

    pub(super) fn waits_for_watch_of(&self, kind: &CopyKind) -> bool {
        let served = self.session.resources();
        let mut versions = served.of_plural(&kind.group, &kind.resource);
        let same = versions.find(|served| served.version == kind.version);
        same.is_some_and(|served| self.watches.begin(served))
    }

    /// Whether a copy is as it should be and all of that is written down. After a start that is so of nearly all of them: as
    /// much is asked of what is stored as need not be read for it.
    fn is_well(&self, id: &CopyId, stored: &[u8], wish: &Wish) -> bool {
        let is_plain = !wish.suspended
            && wish.problem.is_none()
            && wish.made.status.is_none()
            && wish.first_gone.is_empty()
            && wish.upsync.is_empty()
            && !told::needs_whole(wish);
        let Known::Present(actual) = self.known(&wish.place) else { return false };
        is_plain
            && actual.status.is_none()
            && !actual.deleting
            && actual.source == records::source_of(id)
            && records::says(stored, &wish.place, made(&actual, wish))
            && self.has_namespace(&wish.place)
    }

    fn known(&self, place: &CellPlace) -> Known {
        let name = actual::name(place.namespace.as_deref().unwrap_or_default(), &place.name);
        self.actuals.at(&place.resource, &name)
    }

    async fn observe(&self, id: &CopyId, record: Option<Object>, wish: Option<Wish>) -> Result<Seen, ApiError> {
        let wish = match wish {
            None => self.namespace(id, record.as_ref()).await?,
            wanted => wanted,
        };
        let place = match (&wish, &record) {
            (Some(wish), _) => Some(wish.place.clone()),
            (None, Some(record)) => Some(records::cell_place(record, records::resource(record))),
            (None, None) => None,
        };
        let known = place.as_ref().map_or(Known::Nothing, |place| self.known(place));
        let has_namespace = wish.as_ref().is_none_or(|wish| self.has_namespace(&wish.place));
        let mut recorded = record.as_ref().map(|record| recorded(record, wish.as_ref()));
        if let (Some(recorded), Some(place)) = (&mut recorded, &place) {
            recorded.found &= !self.is_missing(place);
        }
        Ok(Seen { wish, record, recorded, known, has_namespace })
    }

    /// What should be in the cell although nobody placed it.
    async fn namespace(&self, id: &CopyId, record: Option<&Object>) -> Result<Option<Wish>, ApiError> {
        let Some(record) = record.filter(|record| namespace::is_one(record)) else { return Ok(None) };
        self.wishes.namespace(id, record, &self.session, &self.ledger).await
    }

    /// Whether it is a definition of what the cell does not serve: whoever brought it there has taken it away.
    fn is_missing(&self, place: &CellPlace) -> bool {
        let served = self.session.resources();
        is_definition(&place.resource)
            && !served.is_empty()
            && place
                .name
                .split_once('.')
                .is_some_and(|(plural, group)| served.of_plural(group, plural).next().is_none())
    }

    /// Whether a copy that was not made yet waits until there is none elsewhere.
    fn waits(&self, id: &CopyId, wish: &Wish, seen: &Seen) -> bool {
        let is_made = seen.recorded.as_ref().is_some_and(|recorded| !recorded.hash.is_empty());
        let is_there = |cell: &CellId| {
            let other = records::id(&id.workspace, records::source_of(id), cell);
            self.ledger.facts(&other).is_some()
        };
        !is_made && wish.first_gone.iter().any(is_there)
    }

    fn has_namespace(&self, place: &CellPlace) -> bool {
        let Some(namespace) = &place.namespace else { return true };
        self.ledger.namespace(&self.session.cell, namespace).is_some_and(|(_, facts)| facts.applied)
    }

    async fn act(&self, id: &CopyId, step: Step, seen: &Seen) -> Result<Action, ApiError> {
        match (step, &seen.wish, &seen.record) {
            (Step::Nothing, wish, Some(record)) => self.observed(id, record, wish.as_ref(), &seen.known).await,
            // Somebody else has written it down meanwhile.
            (Step::Record, ..) => Ok(Action::After(Duration::ZERO)),
            (Step::Watch, Some(wish), _) => {
                self.watches.ensure(&wish.place.resource);
                Ok(Action::Done)
            }
            (Step::Namespace, Some(wish), _) => {
                self.wishes.ensure_namespace(id, wish, &self.session).await?;
                Ok(Action::Done)
            }
            (Step::Explain, Some(Wish { problem: Some(problem), .. }), Some(record)) => {
                self.explain(id, problem, record).await
            }
            (Step::ApplyStatus, Some(wish), Some(record)) => self.apply_status(id, wish, record).await,
            (Step::Apply, Some(wish), Some(record)) => self.apply(id, wish, record).await,
            (Step::Make, Some(wish), Some(record)) => self.make(id, wish, record).await,
            (Step::LookAndApply, Some(wish), Some(record)) => self.look(id, wish, record).await,
            (Step::AwaitEnd, ..) => Ok(Action::After(RECHECK)),
            (Step::Withdraw, _, Some(record)) => self.withdraw(id, record).await,
            (Step::Forget, ..) => records::forget(&self.client, id).await.map(|()| Action::Done),
            _ => Ok(Action::Done),
        }
    }

    /// Writes down how the copy is doing.
    async fn observed(
        &self,
        id: &CopyId,
        record: &Object,
        wish: Option<&Wish>,
        known: &Known,
    ) -> Result<Action, ApiError> {
        let found = record.text(&["status", "reason"]) == records::FOUND;
        if let Some(wish) = wish {
            self.upsyncs.ensure(&wish.upsync);
        }
        if let (Known::Present(actual), Some(wish)) = (known, wish)
            && !found
            && (!wish.suspended || was_sent(record, actual))
        {
            let told = match self.told(record, wish, actual).await {
                Ok(told) => told,
                Err(error) => return self.failed(id, record, &error).await,
            };
            let Some(told) = told else { return Ok(Action::Done) };
            records::tell(&self.client, record, id, &self.status(record, actual, wish, &told)).await?;
        }
        Ok(Action::Done)
    }

    /// What is told of a copy; `None` if that was told already.
    async fn told(&self, record: &Object, wish: &Wish, actual: &Actual) -> Result<Option<Told>, CellError> {
        if !told::needs_whole(wish) {
            return Ok(Some(told::plainly(actual, wish)));
        }
        if record.text(&["status", "madeOf"]) == told::made_of(actual, wish) {
            return Ok(None);
        }
        let whole = self.session.api.get(&wish.place).await?;
        Ok(whole.map(|whole| told::by_scripts(&whole, wish)))
    }

    /// What is written down of a copy that is there.
    fn status(&self, record: &Object, actual: &Actual, wish: &Wish, told: &Told) -> Value {
        let mut status = made(actual, wish);
        // What was sent last is there still, and not what would be sent now.
        if let Some(fields) = status.as_object_mut().filter(|_| wish.suspended) {
            fields.retain(|key, _| ["uid", "cellGeneration"].contains(&key.as_str()));
        }
        let now = timestamp(self.client.ambient().now());
        told.add_to(&mut status, record.text(&["status", "health"]), &now);
        status
    }

    /// Puts it where nothing should be. If something is, it is looked at: it may be somebody else's, or ours, and the answer
    /// that said so was lost.
    async fn make(&self, id: &CopyId, wish: &Wish, record: &Object) -> Result<Action, ApiError> {
        match self.session.api.apply(&wish.place, &wish.made.object, Over::Nothing).await {
            Err(error) if error.code() == Some(409) => self.look(id, wish, record).await,
            answer => self.applied(id, wish, record, answer).await,
        }
    }

    /// Asks what is there before anything is put in its place.
    async fn look(&self, id: &CopyId, wish: &Wish, record: &Object) -> Result<Action, ApiError> {
        let there = match self.session.api.get(&wish.place).await {
            Ok(there) => there,
            Err(error) => return self.failed(id, record, &error).await,
        };
        let Some(there) = there else { return self.apply(id, wish, record).await };
        // What a predecessor left is on its way out; it is never taken over.
        let predecessor = matches!(mark::belongs(&there, &self.hub), Belongs::Us(_));
        if self.is_ours(&there, id) || (wish.adopts && !predecessor) {
            return self.apply(id, wish, record).await;
        }
        if wish.tolerates_strangers {
            records::tell(&self.client, record, id, &records::not_ours("True", records::FOUND, "")).await?;
            return Ok(Action::Done);
        }
        let (reason, whose) =
            if predecessor { ("Predecessor", "a predecessor") } else { ("Stranger", "somebody else") };
        let message = format!("{} already exists and belongs to {whose}", wish.place);
        records::tell(&self.client, record, id, &records::not_ours("False", reason, &message)).await?;
        Ok(Action::After(RECHECK))
    }

    async fn apply(&self, id: &CopyId, wish: &Wish, record: &Object) -> Result<Action, ApiError> {
        let object = match self.retaining(wish).await {
            Ok(Ok(object)) => object,
            // Whoever changes the script wakes it.
            Ok(Err(problem)) => return self.explain(id, &problem, record).await,
            Err(error) => return self.failed(id, record, &error).await,
        };
        let answer = self.session.api.apply(&wish.place, &object, Over::Anything).await;
        self.applied(id, wish, record, answer).await
    }

    /// Writes down what became of what was sent.
    async fn applied(
        &self,
        id: &CopyId,
        wish: &Wish,
        record: &Object,
        answer: Result<Applied, CellError>,
    ) -> Result<Action, ApiError> {
        match answer {
            Ok(applied) => {
                let actual = Actual::read(&applied.object);
                self.actuals.answered(&wish.place.resource, &applied.object);
                let whole = told::needs_whole(wish);
                let told = if whole { told::by_scripts(&applied.object, wish) } else { told::plainly(&actual, wish) };
                records::tell(&self.client, record, id, &self.status(record, &actual, wish, &told)).await?;
                self.upsyncs.ensure(&wish.upsync);
                Ok(if wish.made.status.is_some() { Action::After(Duration::ZERO) } else { Action::Done })
            }
            Err(error) => {
                self.doubt_namespace(&wish.place, &error).await?;
                self.failed(id, record, &error).await
            }
        }
    }

    /// A namespace that was found in the cell is not watched: that it is gone is learnt by what cannot go into it.
    async fn doubt_namespace(&self, place: &CellPlace, error: &CellError) -> Result<(), ApiError> {
        let Some(name) = place.namespace.as_deref().filter(|name| says_no_namespace(error, name)) else {
            return Ok(());
        };
        let Some((id, facts)) = self.ledger.namespace(&self.session.cell, name) else { return Ok(()) };
        let Some(record) = records::get(&self.client, &id).await?.filter(|_| facts.uid.is_empty()) else {
            return Ok(());
        };
        records::tell(&self.client, &record, &id, &records::not_ours("False", "Gone", &error.to_string())).await?;
        self.watches.wake(id);
        Ok(())
    }

    /// Says why it cannot be made. Whoever changes that wakes it.
    async fn explain(&self, id: &CopyId, problem: &Problem, record: &Object) -> Result<Action, ApiError> {
        let Problem { reason, message } = problem;
        let why = json!({ "applied": "False", "reason": reason, "message": message });
        records::tell(&self.client, record, id, &why).await?;
        Ok(Action::Done)
    }

    /// Lets the cell see the status of the source.
    async fn apply_status(&self, id: &CopyId, wish: &Wish, record: &Object) -> Result<Action, ApiError> {
        let Some((status, hash)) = &wish.made.status else { return Ok(Action::Done) };
        let part = |key: &str| wish.made.object[key].clone();
        let metadata = json!({
            "name": wish.place.name, "namespace": wish.made.object["metadata"]["namespace"],
        });
        let object =
            json!({ "apiVersion": part("apiVersion"), "kind": part("kind"), "metadata": metadata, "status": status });
        let fields = match self.session.api.apply_status(&wish.place, &object).await {
            Ok(object) => {
                self.actuals.answered(&wish.place.resource, &object);
                super::marks::status_fields_of(&object)
            }
            // The kind has no status of its own there: there is nothing to tell.
            Err(error) if error.code() == Some(404) => String::new(),
            Err(error) => return self.failed(id, record, &error).await,
        };
        let told = json!({ "statusHash": hash, "statusFields": fields });
        records::tell(&self.client, record, id, &told).await.map(|()| Action::Done)
    }

    /// What is wanted, with what the cell has decided about.
    async fn retaining(&self, wish: &Wish) -> Result<Result<Value, Problem>, CellError> {
        let scripted = wish.interpreter.scripts(Operation::Retain);
        let looks = scripted || !wish.retain.is_empty();
        let there = if looks { self.session.api.get(&wish.place).await? } else { None };
        let Some(there) = there else { return Ok(Ok(wish.made.object.clone())) };
        let mut object = wish.made.object.clone();
        wish.retain.iter().for_each(|path| path.carry(&there, &mut object));
        if !scripted {
            return Ok(Ok(object));
        }
        Ok(match wish.interpreter.retain(&object, &mark::as_karmada_marks(&there)) {
            Ok(mut retained) => {
                kinds::strip_server(&mut retained);
                mark::restore(&mut retained, &wish.made.object);
                Ok(retained)
            }
            Err(error) => Err(Problem { reason: "CannotInterpret", message: error.to_string() }),
        })
    }

    async fn withdraw(&self, id: &CopyId, record: &Object) -> Result<Action, ApiError> {
        let place = records::cell_place(record, self.session.served(records::resource(record)));
        if self.is_still_needed(&place)? {
            if self.hand_over(id, &place).await? {
                return records::forget(&self.client, id).await.map(|()| Action::Done);
            }
            // The end of the last that needs it, and whoever else comes to need it, brings it back here before that.
            return Ok(Action::After(RECHECK));
        }
        let mut uid = record.text(&["status", "uid"]).to_owned();
        if uid.is_empty() {
            // It may have been sent without anybody having heard the answer.
            match self.session.api.get(&place).await {
                Ok(Some(there)) if self.is_ours(&there, id) => {
                    uid = there["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
                }
                Ok(_) => return records::forget(&self.client, id).await.map(|()| Action::Done),
                Err(error) => return self.failed(id, record, &error).await,
            }
        }
        if record.pointer(&["status", "preserve"]) == Some(&json!(true)) {
            return self.release(id, &place, record).await;
        }
        match self.session.api.delete(&place, &uid).await {
            Ok(Some(there)) if there["metadata"]["uid"] == uid.as_str() => Ok(Action::After(RECHECK)),
            Ok(_) => records::forget(&self.client, id).await.map(|()| Action::Done),
            // It was made anew, and nobody heard of it; or something else has the name. Whose that is, is asked next.
            Err(error) if error.code() == Some(409) => {
                records::tell(&self.client, record, id, &json!({ "uid": null })).await?;
                Ok(Action::After(Duration::ZERO))
            }
            Err(error) => self.failed(id, record, &error).await,
        }
    }

    /// With a definition goes everything of its kind: it waits until nothing of ours is left of that.
    fn is_still_needed(&self, place: &CellPlace) -> Result<bool, ApiError> {
        let (true, Some((plural, group))) = (is_definition(&place.resource), place.name.split_once('.')) else {
            return Ok(false);
        };
        let needed = self.ledger.has_any_of(&self.session.cell, group, plural);
        needed.ok_or_else(|| ApiError::unavailable(STARTING))
    }

    /// Lets somebody else have a definition who found it there and needs it still.
    async fn hand_over(&self, id: &CopyId, place: &CellPlace) -> Result<bool, ApiError> {
        let object = [place.resource.group.as_str(), &place.resource.plural, "", &place.name];
        for other in self.ledger.of_object(&self.session.cell, object).into_iter().filter(|other| other != id) {
            let wish = self.wishes.of(&other, &self.session).await?.filter(|wish| wish.problem.is_none());
            let record = records::get(&self.client, &other).await?.filter(|record| !record.is_deleting());
            if let (Some(wish), Some(record)) = (wish, record) {
                self.apply(&other, &wish, &record).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Leaves it in the cell, as if nobody had ever put it there.
    async fn release(&self, id: &CopyId, place: &CellPlace, record: &Object) -> Result<Action, ApiError> {
        let released = match self.session.api.get(place).await {
            Ok(Some(there)) if self.is_ours(&there, id) => {
                self.session.api.merge(place, &mark::release(&there)).await.map(drop)
            }
            looked => looked.map(drop),
        };
        match released {
            Ok(()) => records::forget(&self.client, id).await.map(|()| Action::Done),
            Err(error) => self.failed(id, record, &error).await,
        }
    }

    fn is_ours(&self, object: &Value, id: &CopyId) -> bool {
        mark::belongs(object, &self.hub) == Belongs::Us(records::source_of(id).to_owned())
    }

    /// Says what went wrong, and that it is tried again.
    async fn failed(&self, id: &CopyId, record: &Object, error: &CellError) -> Result<Action, ApiError> {
        if !error.is_unreachable() {
            let why = json!({ "applied": "False", "reason": error.word(), "message": error.to_string() });
            records::tell(&self.client, record, id, &why).await?;
        }
        Err(ApiError::unavailable(error.to_string()))
    }
}

/// Whether a cell refuses something because it has no such namespace.
fn says_no_namespace(error: &CellError, name: &str) -> bool {
    let said = format!("namespaces \"{name}\" not found");
    matches!(error, CellError::Refused { code: 404, message, .. } if *message == said)
}

/// What is written down of a copy that is there, besides what it says of itself.
fn made(actual: &Actual, wish: &Wish) -> Value {
    // There may be very many of them: what is nothing is not written.
    let number = |number: i64| Some(number).filter(|number| *number != 0);
    json!({
        "hash": wish.made.hash, "fields": actual.fields, "uid": actual.uid, "generation": number(wish.generation),
        "cellGeneration": number(actual.generation), "applied": "True", "reason": null, "message": null,
        "preserve": wish.preserve.then_some(true), "decided": wish.decided,
    })
}

fn recorded(record: &Object, wish: Option<&Wish>) -> Recorded {
    let word = |key: &str| record.text(&["status", key]).to_owned();
    let elsewhere = wish.is_some_and(|wish| !records::is_about(record, &wish.place));
    Recorded {
        hash: word("hash"),
        uid: word("uid"),
        fields: word("fields"),
        status_hash: word("statusHash"),
        status_fields: word("statusFields"),
        found: word("reason") == records::FOUND,
        elsewhere,
        going: record.is_deleting(),
    }
}

/// Whether an object of the cell is the one that was sent there.
fn was_sent(record: &Object, actual: &Actual) -> bool {
    !record.text(&["status", "hash"]).is_empty() && record.text(&["status", "uid"]) == actual.uid
}
