//! Events are forgotten: they are deleted when nothing was heard of them for an hour.

use crate::controller::{Action, Controller, Reconciler};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Peek;
use apiserver::options::DeleteOptions;
use futures_util::{TryStreamExt, stream};
use openapi::scalar::time::{Instant, Precision};
use std::time::Duration;
use storage::Entry;

/// Events deleted in one go: bounds how many are held in mind.
const BATCH_MAX: usize = 512;

/// Deletions on their way at once: few, there is no hurry.
const DELETIONS_AT_ONCE: usize = 16;

pub(super) fn controller(client: &Client, age: Duration, sweep: Duration) -> Controller<Expiry> {
    Controller::new(Expiry { client: client.clone(), age, sweep }).first([()])
}

pub(super) struct Expiry {
    client: Client,
    age: Duration,
    sweep: Duration,
}

impl Reconciler for Expiry {
    type Key = ();

    fn name(&self) -> &'static str {
        "expiry"
    }

    async fn reconcile(&self, (): &()) -> Result<Action, ApiError> {
        let expired = self.observe().await?;
        let more = expired.len() == BATCH_MAX;
        let deletions = stream::iter(expired.into_iter().map(Ok));
        deletions.try_for_each_concurrent(DELETIONS_AT_ONCE, |event| self.delete(event)).await?;
        Ok(Action::After(if more { Duration::ZERO } else { self.sweep }))
    }
}

impl Expiry {
    /// Old events of all workspaces, as many as are deleted in one go.
    async fn observe(&self) -> Result<Vec<Entry>, ApiError> {
        let events = self.client.builtin().find("", "v1", "events").ok_or_else(ApiError::no_such_path)?;
        let now = self.client.ambient().now();
        let mut expired = Vec::new();
        for entry in self.client.scan_everywhere(events) {
            // There may be very many, and none of it waits for anything.
            tokio::task::coop::consume_budget().await;
            let entry = entry?;
            if is_expired(Peek::new(&entry.version), now, self.age) {
                expired.push(entry);
            }
            if expired.len() == BATCH_MAX {
                break;
            }
        }
        Ok(expired)
    }

    async fn delete(&self, event: Entry) -> Result<(), ApiError> {
        let Some(place) = self.client.place_of(&event.key) else { return Ok(()) };
        // One that was seen again meanwhile stays.
        let resource_version = Some(event.version.modified.to_string());
        match self.client.delete(&place, &DeleteOptions { resource_version, ..DeleteOptions::default() }).await {
            Err(error) if !matches!(error.code(), 404 | 409) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Where an event says when it was last seen. The newest counts.
const TIMES: [&[&str]; 4] =
    [&["lastTimestamp"], &["series", "lastObservedTime"], &["eventTime"], &["metadata", "creationTimestamp"]];

/// An event that does not say when it was stays.
fn is_expired(event: Peek<'_>, now: Instant, age: Duration) -> bool {
    let times = TIMES.iter().filter_map(|path| Instant::parse(&event.text(path)?, Precision::Seconds).ok());
    let last = times.map(|time| time.seconds).max();
    let age = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
    last.is_some_and(|last| last <= now.seconds.saturating_sub(age))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(event: Value, expired: bool) {
        let now = Instant::parse("2026-01-01T12:00:00Z", Precision::Seconds).unwrap();
        let text = event.to_string();
        assert_eq!(is_expired(Peek::of(text.as_bytes()), now, Duration::from_hours(1)), expired, "{event}");
    }

    #[test]
    fn an_event_is_as_old_as_the_last_time_it_was_seen() {
        let made = |when: &str| json!({ "creationTimestamp": when });
        check(json!({ "metadata": made("2026-01-01T11:00:00Z") }), true);
        check(json!({ "metadata": made("2026-01-01T11:00:01Z") }), false);
        let old = made("2025-12-31T00:00:00Z");
        check(json!({ "metadata": old, "lastTimestamp": null, "eventTime": null }), true);
        check(json!({ "metadata": old, "lastTimestamp": "2026-01-01T11:30:00Z" }), false);
        check(json!({ "metadata": old, "eventTime": "2026-01-01T11:30:00.123456Z" }), false);
        check(json!({ "metadata": old, "eventTime": "2026-01-01T10:30:00.123456Z" }), true);
        check(json!({ "metadata": old, "series": { "lastObservedTime": "2026-01-01T11:59:00.000000Z" } }), false);
        check(json!({ "metadata": {} }), false);
        check(json!({ "metadata": made("yesterday") }), false);
    }
}
