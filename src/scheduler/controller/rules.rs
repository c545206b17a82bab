//! Tells of each rule whether it can be followed, how many objects it speaks for, and how many of them are not placed.

use super::LAG;
use super::book::Rulebook;
use super::index::Index;
use super::tally::{RuleId, Tally};
use crate::apis::definitions::RULES;
use crate::controller::{Action, Controller, Mailbox, Reconciler, changes_of};
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, timestamp};
use apiserver::place::Workspace;
use apiserver::strategy::Part;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Rules that are told of at once.
const TOLD_AT_ONCE: usize = 16;

/// How long numbers are given to settle before they are written: they are for people.
const SETTLE: Duration = Duration::from_millis(200);

pub(super) fn controller(
    client: &Client,
    book: &Arc<dyn Rulebook>,
    index: &Arc<Mutex<Index>>,
    mailbox: &Arc<Mailbox<RuleId>>,
) -> Controller<Rules> {
    let rules = Rules { client: client.clone(), book: book.clone(), index: index.clone() };
    let source = changes_of(client, RULES, rule_of);
    Controller::new(rules).source(source).mailbox(mailbox).workers(TOLD_AT_ONCE)
}

fn rule_of(seen: &Seen) -> Option<RuleId> {
    let parts = keyspace::parse(&seen.key)?;
    Some((Workspace::new(parts.workspace), parts.name.to_owned()))
}

pub(super) struct Rules {
    client: Client,
    book: Arc<dyn Rulebook>,
    index: Arc<Mutex<Index>>,
}

impl Reconciler for Rules {
    type Key = RuleId;

    fn name(&self) -> &'static str {
        "rules"
    }

    async fn reconcile(&self, id: &RuleId) -> Result<Action, ApiError> {
        if !self.index.lock().complete {
            return Ok(Action::After(LAG));
        }
        let place = self.client.at(RULES, &id.0, None)?.object(&id.1);
        let Some(rule) = self.client.get(&place).await?.filter(|rule| !rule.is_deleting()) else {
            return Ok(Action::Done);
        };
        if says(&rule, &self.status(id, &rule)) {
            return Ok(Action::Done);
        }
        tokio::time::sleep(SETTLE).await;
        let status = self.status(id, &rule);
        match self.client.merge(&place, Part::Status, &json!({ "status": status })).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(Action::Done),
        }
    }
}

impl Rules {
    fn status(&self, id: &RuleId, rule: &Object) -> Value {
        let tally = self.index.lock().tallies.of(id);
        let now = timestamp(self.client.ambient().now());
        status(rule, tally, self.book.problem(rule).as_deref(), &now)
    }
}

fn status(rule: &Object, tally: Tally, problem: Option<&str>, now: &Value) -> Value {
    let (truth, reason) = if problem.is_none() { ("True", "Followed") } else { ("False", "CannotBeRead") };
    let before = rule.items(&["status", "conditions"]).find(|condition| condition["type"] == "Ready");
    let since = before.filter(|before| before["status"] == truth).map(|before| before["lastTransitionTime"].clone());
    let generation = rule.pointer(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default();
    let ready = json!({
        "type": "Ready", "status": truth, "reason": reason, "message": problem.unwrap_or_default(),
        "observedGeneration": generation, "lastTransitionTime": since.unwrap_or_else(|| now.clone()),
    });
    json!({ "objects": tally.objects, "unplaced": tally.unplaced, "conditions": [ready] })
}

fn says(rule: &Object, status: &Value) -> bool {
    rule.pointer(&["status"]) == Some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_says_how_many_objects_it_is_for_and_why_it_is_not_followed() {
        let (now, later) = (json!("2026-11-17T00:00:00Z"), json!("2026-11-17T01:00:00Z"));
        let mut rule = json!({ "metadata": { "generation": 3 }, "spec": {} });
        let read = |rule: &Value| Object::try_from(rule.clone()).unwrap();
        let tally = Tally { objects: 2, unplaced: 1 };
        let told = status(&read(&rule), tally, None, &now);
        assert_eq!((&told["objects"], &told["unplaced"]), (&json!(2), &json!(1)));
        assert_eq!(
            (&told["conditions"][0]["status"], &told["conditions"][0]["observedGeneration"]),
            (&json!("True"), &json!(3))
        );
        rule["status"] = told.clone();
        assert!(says(&read(&rule), &status(&read(&rule), tally, None, &later)), "nothing is written twice");
        let told = status(&read(&rule), tally, Some("spec.retain: no path"), &later);
        let condition = &told["conditions"][0];
        assert_eq!((&condition["status"], &condition["message"]), (&json!("False"), &json!("spec.retain: no path")));
        assert_eq!(condition["lastTransitionTime"], later);
    }
}
