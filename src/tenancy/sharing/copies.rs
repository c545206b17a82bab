//! Copies of schemas that are bound go away once nobody binds them any more.
//!
//! One that no binding names is first marked as unused, which is a write like any other; after a while it is taken away,
//! on condition that it is still the one that was marked, if still no binding names it. Whoever binds a schema depends on
//! its copy as they saw it, and takes the mark off if there is one. So of a binding and a removal that meet, one comes too
//! late and looks again: nothing that is bound is ever without its copy.

use super::conversion::{kept_as, recorded};
use super::words::{BINDINGS, CONVERTED, DEFINITIONS, UNUSED_SINCE, VAULT};
use crate::controller::{Action, Controller, Reconciler, changes_of};
use apiserver::allocate::Beside;
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, Peek};
use apiserver::place::{ObjectRef, Workspace};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;
use storage::Version;

/// How long nobody has named a copy that goes. Whoever began to read by it is done by then, and what is bound again
/// within that time is not copied again.
pub const AGE: Duration = Duration::from_mins(5);

/// Bindings that are looked through before others have a turn on the processor.
const LOOKED_AT_ONCE: usize = 256;

/// The condition under which somebody may bind a copy that is there.
pub(super) fn held(at: ObjectRef, copy: &[u8]) -> Result<Beside, ApiError> {
    let seen = Peek::of(copy);
    if since(seen).is_none() {
        let revision = seen.text(&["metadata", "resourceVersion"]).and_then(|text| text.parse().ok());
        return Ok(Beside::Unchanged(Box::new(at), storage::Revision(revision.unwrap_or_default())));
    }
    let mut copy = Object::parse(copy).map_err(|error| ApiError::internal(error.to_string()))?;
    copy.unset_annotation(UNUSED_SINCE);
    Ok(Beside::Replace(Box::new(at), copy))
}

/// The copy that something written beside a binding is about.
pub(super) fn concerned(beside: &Beside) -> Option<&str> {
    let (Beside::Make(at, _) | Beside::Replace(at, _) | Beside::Unchanged(at, _)) = beside else { return None };
    (at.workspace().as_str() == VAULT).then_some(&*at.name)
}

/// Since when a copy is unused, in seconds.
fn since(copy: Peek<'_>) -> Option<i64> {
    copy.text(&["metadata", "annotations", UNUSED_SINCE])?.parse().ok()
}

/// The copies that a binding names.
fn named(binding: &[u8]) -> BTreeSet<String> {
    let binding = Peek::of(binding);
    let converted = binding.text(&["metadata", "annotations", CONVERTED]).unwrap_or_default();
    let bound: Vec<Value> = binding.value(&["status", "boundResources"]).unwrap_or_default();
    let names = bound.iter().filter_map(|bound| {
        let word = |at: &str| bound.pointer(at).and_then(Value::as_str);
        let kind = format!("{}.{}", word("/resource")?, word("/group")?);
        Some(kept_as(word("/schema/UID")?, recorded(&converted, &kind)))
    });
    names.collect()
}

/// Takes copies away that have been unused for `age`.
pub fn controller(client: &Client, age: Duration) -> Controller<Copies> {
    Controller::new(Copies::new(client, age)).source(changes_of(client, BINDINGS, given_up)).first([()])
}

/// Whether a binding names less than it did.
fn given_up(seen: &Seen) -> Option<()> {
    let names = |version: Option<&Version>| version.map(|version| named(&version.value)).unwrap_or_default();
    let before = names(seen.before.as_ref());
    (!before.is_empty() && !before.is_subset(&names(seen.now.as_ref()))).then_some(())
}

#[derive(Debug)]
pub struct Copies {
    client: Client,
    age: Duration,
    /// When all bindings were last looked through, in seconds: that is not done for each of many that go.
    looked: Mutex<Option<i64>>,
}

/// What is to become of a copy.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    IsUnused,
    IsUsedAgain,
    Waits,
    Goes,
}

fn fate(used: bool, unused_since: Option<i64>, now: i64, age: i64) -> Fate {
    match (used, unused_since) {
        (true, None) => Fate::Stays,
        (true, Some(_)) => Fate::IsUsedAgain,
        (false, None) => Fate::IsUnused,
        (false, Some(since)) if now.saturating_sub(since) < age => Fate::Waits,
        (false, Some(_)) => Fate::Goes,
    }
}

impl Reconciler for Copies {
    type Key = ();

    fn name(&self) -> &'static str {
        "copies"
    }

    async fn reconcile(&self, (): &()) -> Result<Action, ApiError> {
        let (now, age) = (self.client.ambient().now().seconds, self.age.as_secs().cast_signed());
        if self.has_looked(now, age) {
            return Ok(Action::After(self.age));
        }
        // What is marked here was marked before bindings are looked at.
        let vault = self.client.at(DEFINITIONS, &Workspace::new(VAULT), None)?;
        let mut copies = Vec::new();
        for entry in self.client.scan(&vault)? {
            let entry = entry?;
            let Some(name) = keyspace::parse(&entry.key).map(|parts| parts.name.to_owned()) else { continue };
            copies.push((name, entry.version.value));
        }
        let unused = self.unused(copies.iter().map(|(name, _)| name.clone()).collect()).await?;
        let mut next = Action::Done;
        for (name, bytes) in copies {
            let at = vault.object(&name);
            match fate(!unused.contains(&name), since(Peek::of(&bytes)), now, age) {
                Fate::Stays => continue,
                Fate::Waits => {}
                Fate::IsUnused => self.mark(&at, &bytes, Some(now)).await?,
                Fate::IsUsedAgain => self.mark(&at, &bytes, None).await?,
                Fate::Goes => {
                    settled(self.client.remove(&at, &parsed(&bytes)?).await)?;
                    continue;
                }
            }
            next = Action::After(self.age);
        }
        Ok(next)
    }
}

impl Copies {
    pub fn new(client: &Client, age: Duration) -> Self {
        Self { client: client.clone(), age, looked: Mutex::default() }
    }

    /// Whether all bindings were looked through not long ago; if not, they will have been.
    fn has_looked(&self, now: i64, age: i64) -> bool {
        let mut looked = self.looked.lock();
        let lately = looked.is_some_and(|last| (0..age).contains(&now.saturating_sub(last)));
        if !lately {
            *looked = Some(now);
        }
        lately
    }

    /// Those of some copies that no binding names.
    async fn unused(&self, mut left: HashSet<String>) -> Result<HashSet<String>, ApiError> {
        let bindings = self.client.at(BINDINGS, &Workspace::everywhere(), None)?;
        for (at, entry) in self.client.scan_everywhere(&bindings.resource).enumerate() {
            if left.is_empty() {
                break;
            }
            for name in named(&entry?.version.value) {
                left.remove(&name);
            }
            if at % LOOKED_AT_ONCE == 0 {
                tokio::task::yield_now().await;
            }
        }
        Ok(left)
    }

    async fn mark(&self, at: &ObjectRef, bytes: &[u8], since: Option<i64>) -> Result<(), ApiError> {
        let mut copy = parsed(bytes)?;
        match since {
            Some(since) => copy.set_annotation(UNUSED_SINCE, &since.to_string()),
            None => copy.unset_annotation(UNUSED_SINCE),
        }
        settled(self.client.overwrite(at, copy).await.map(drop))
    }
}

fn parsed(bytes: &[u8]) -> Result<Object, ApiError> {
    Object::parse(bytes).map_err(|error| ApiError::internal(error.to_string()))
}

/// Whoever was faster has made something else of it, which the next look shows.
fn settled(written: Result<(), ApiError>) -> Result<(), ApiError> {
    match written {
        Err(error) if error.code() != 409 => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_goes_when_it_has_been_unused_for_long() {
        let check = |used, since, expected: Fate| assert_eq!(fate(used, since, 100, 10), expected, "{used} {since:?}");
        check(true, None, Fate::Stays);
        check(true, Some(1), Fate::IsUsedAgain);
        check(false, None, Fate::IsUnused);
        check(false, Some(91), Fate::Waits);
        check(false, Some(90), Fate::Goes);
        // A clock that was set back.
        check(false, Some(200), Fate::Waits);
    }

    #[test]
    fn a_binding_names_copies_with_the_rules_that_convert_them() {
        let bound =
            |plural: &str, uid: &str| format!(r#"{{"group":"g","resource":"{plural}","schema":{{"UID":"{uid}"}}}}"#);
        let annotations = format!(r#"{{"{CONVERTED}":"a.g=hash"}}"#);
        let binding = format!(
            r#"{{"metadata":{{"annotations":{annotations}}},"status":{{"boundResources":[{},{}]}}}}"#,
            bound("a", "one"),
            bound("b", "two")
        );
        assert_eq!(named(binding.as_bytes()).into_iter().collect::<Vec<_>>(), ["one-hash", "two"]);
        assert!(named(b"{}").is_empty());
    }
}
