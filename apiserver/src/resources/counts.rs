//! What is used of quotas, counted on from what was known: a write costs what changed since the last one.

use super::parse;
use crate::admission::Tally;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;
use openapi::scalar::time::Instant;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use storage::{Change, Key, KeyRange, ReadError, Revision, Snapshot, Store, Version};

/// Counts that are kept. Others are made when somebody asks.
const KEPT_MAX: usize = 4096;

/// A quota by its uid, and a resource that counts against it.
type Which = (String, String);

#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Nothing else is locked, and nothing is read, while this is held.
    kept: Mutex<HashMap<Which, Arc<Counted>>>,
}

/// The objects of one resource, counted against one quota.
#[derive(Clone, Debug)]
struct Counted {
    at: Revision,
    tally: Tally,
    /// What is on its way out counts until its time is up, and so is counted when somebody asks.
    going: BTreeMap<Key, Object>,
}

/// What is counted, and where.
pub(super) struct Count<'a> {
    pub(super) quota: &'a Object,
    pub(super) resource: &'a ResourceDef,
    /// Of the objects that count.
    pub(super) range: KeyRange,
    pub(super) now: Instant,
}

impl Counts {
    /// What is used at the revision of the snapshot, or at a later one. Whoever writes on condition that the quota is
    /// still the one that was read cannot be misled by a later one: every write that adds to it changes the quota.
    pub(super) fn used(&self, store: &Store, snapshot: &Snapshot, count: &Count<'_>) -> Result<Tally, ApiError> {
        let which = (count.quota.uid().to_owned(), count.resource.qualified());
        let known = self.kept.lock().get(&which).cloned().filter(|known| known.tally.is_of(count.quota));
        let counted = match known {
            Some(known) if known.at >= snapshot.revision() => return Ok(known.at_time(count)),
            Some(known) => known.followed(store, snapshot.revision(), count)?,
            None => None,
        };
        let counted = match counted {
            Some(counted) => counted,
            None => Counted::anew(snapshot, count)?,
        };
        let counted = Arc::new(counted);
        self.keep(which, &counted);
        Ok(counted.at_time(count))
    }

    fn keep(&self, which: Which, counted: &Arc<Counted>) {
        let mut kept = self.kept.lock();
        if kept.len() >= KEPT_MAX && !kept.contains_key(&which) {
            // Any will do: it is counted again when it is asked for.
            if let Some(other) = kept.keys().next().cloned() {
                kept.remove(&other);
            }
        }
        let newer =
            kept.get(&which).is_some_and(|known| known.at > counted.at && known.tally.is_of(counted.tally.quota()));
        if !newer {
            kept.insert(which, counted.clone());
        }
    }
}

impl Counted {
    fn anew(snapshot: &Snapshot, count: &Count<'_>) -> Result<Self, ApiError> {
        let tally = Tally::new(count.quota, std::iter::once(count.resource), count.now);
        let mut counted = Self { at: snapshot.revision(), tally, going: BTreeMap::new() };
        if counted.tally.counts_only(count.resource) {
            counted.tally.add_number(count.resource, snapshot.count(count.range.clone())?);
            return Ok(counted);
        }
        for entry in snapshot.scan(count.range.clone()) {
            let entry = entry?;
            counted.put(count.resource, &entry.key, parse(&entry.version.value)?);
        }
        Ok(counted)
    }

    /// The same at a later revision; nothing if what happened in between is forgotten.
    fn followed(&self, store: &Store, until: Revision, count: &Count<'_>) -> Result<Option<Self>, ApiError> {
        let mut changes = match store.watch(count.range.clone(), self.at) {
            Err(ReadError::Compacted { .. }) => return Ok(None),
            watcher => watcher?,
        };
        let mut counted = self.clone();
        loop {
            match changes.try_next() {
                Ok(Some(change)) if change.revision <= until => counted.change(count.resource, &change)?,
                Ok(_) => break,
                Err(ReadError::Compacted { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        counted.at = until;
        Ok(Some(counted))
    }

    fn change(&mut self, resource: &ResourceDef, change: &Change) -> Result<(), ApiError> {
        // Of those of which only the number counts, nothing else is read.
        let plain = self.tally.counts_only(resource);
        let read = |version: &Version| if plain { Ok(Object::default()) } else { parse(&version.value) };
        if let Some(previous) = &change.previous {
            let previous = read(previous)?;
            if self.going.remove(&change.key).is_none() {
                self.tally.replace(resource, Some(&previous), None);
            }
        }
        if let Some(current) = &change.current {
            self.put(resource, &change.key, read(current)?);
        }
        Ok(())
    }

    fn put(&mut self, resource: &ResourceDef, key: &Key, object: Object) {
        if object.is_deleting() {
            self.going.insert(key.clone(), object);
        } else {
            self.tally.add(resource, &object);
        }
    }

    fn at_time(&self, count: &Count<'_>) -> Tally {
        let mut tally = self.tally.clone().at_time(count.now);
        self.going.values().for_each(|object| tally.add(count.resource, object));
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::sync::LazyLock;
    use storage::{Options, Place, Txn};

    static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);
    const SECONDS: i64 = 1_800_000_000;

    fn quota(hard: Value, scopes: Value) -> Object {
        let metadata = json!({ "name": "q", "namespace": "n", "uid": "u" });
        json!({ "metadata": metadata, "spec": { "hard": hard, "scopes": scopes } }).try_into().unwrap()
    }

    fn pods() -> KeyRange {
        KeyRange::prefix("pods/")
    }

    async fn write(store: &Store, name: usize, pod: Option<&Value>) {
        let key = format!("pods/{name}");
        let txn = match pod {
            Some(pod) => Txn::new().put(key, pod.to_string()),
            None => Txn::new().delete(key),
        };
        store.commit(txn).await.unwrap();
    }

    /// What is used, as the status of the quota would say it.
    fn told(tally: &Tally, quota: &Object) -> Value {
        tally.correct(quota).unwrap().pointer(&["status", "used"]).unwrap().clone()
    }

    fn pod(cpu: u32, phase: &str, going: Option<i64>) -> Value {
        let container = json!({ "name": "c", "resources": { "requests": { "cpu": format!("{cpu}m") } } });
        let mut pod = json!({ "metadata": {}, "spec": { "containers": [container] }, "status": { "phase": phase } });
        if let Some(seconds) = going {
            let when = crate::object::timestamp(Instant { seconds, nanos: 0 });
            pod["metadata"] = json!({ "deletionTimestamp": when, "deletionGracePeriodSeconds": 30 });
        }
        pod
    }

    fn any_pod() -> impl Strategy<Value = Option<Value>> {
        let phase = prop_oneof![Just("Pending"), Just("Running"), Just("Failed")];
        let going = proptest::option::of(SECONDS - 40..SECONDS + 40);
        proptest::option::of((0..2000u32, phase, going).prop_map(|(cpu, phase, going)| pod(cpu, phase, going)))
    }

    /// Some pods change, and some time passes.
    type Step = (Vec<(usize, Option<Value>)>, i64);

    fn any_steps() -> impl Strategy<Value = Vec<Step>> {
        let changes = proptest::collection::vec((0..4usize, any_pod()), 0..4);
        proptest::collection::vec((changes, 0..20i64), 1..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn counting_on_comes_to_the_same_as_counting_again(steps in any_steps(), scoped in any::<bool>(), plain in any::<bool>()) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let store = Store::open(&Place::Memory, Options::default()).unwrap();
            let resource = CATALOG.find("", "v1", "pods").unwrap();
            let hard = if plain { json!({ "count/pods": "9" }) } else { json!({ "pods": "5", "requests.cpu": "1" }) };
            let quota = quota(hard, if scoped { json!(["NotTerminating"]) } else { json!([]) });
            let (counts, mut seconds) = (Counts::default(), SECONDS);
            for (changes, passed) in steps {
                runtime.block_on(async {
                    for (name, pod) in &changes {
                        write(&store, *name, pod.as_ref()).await;
                    }
                });
                seconds += passed;
                let count = Count { quota: &quota, resource, range: pods(), now: Instant { seconds, nanos: 0 } };
                let on = counts.used(&store, &store.recent(), &count).unwrap();
                let again = Counts::default().used(&store, &store.recent(), &count).unwrap();
                prop_assert_eq!(told(&on, &quota), told(&again, &quota));
            }
        }
    }

    #[tokio::test]
    async fn only_what_changed_is_looked_at() {
        let store = Store::open(&Place::Memory, Options::default()).unwrap();
        let (counts, quota) = (Counts::default(), quota(json!({ "pods": "5000", "requests.cpu": "1" }), json!([])));
        let resource = CATALOG.find("", "v1", "pods").unwrap();
        write(&store, 0, Some(&pod(1, "Running", None))).await;
        let count = Count { quota: &quota, resource, range: pods(), now: Instant { seconds: SECONDS, nanos: 0 } };
        counts.used(&store, &store.recent(), &count).unwrap();
        // Something that cannot be read stands behind what is known.
        store.commit(Txn::new().put("pods/odd", "{")).await.unwrap();
        let now = store.recent().revision();
        counts.kept.lock().values_mut().for_each(|kept| *kept = Arc::new(Counted { at: now, ..(**kept).clone() }));
        write(&store, 1, Some(&pod(2, "Running", None))).await;
        let used = counts.used(&store, &store.recent(), &count).unwrap();
        assert_eq!(told(&used, &quota), json!({ "pods": "2", "requests.cpu": "3m" }));
        assert!(Counts::default().used(&store, &store.recent(), &count).is_err(), "counting anew reads everything");
    }

    #[tokio::test]
    async fn what_is_forgotten_is_counted_anew() {
        let store = Store::open(&Place::Memory, Options::default()).unwrap();
        let (counts, quota) = (Counts::default(), quota(json!({ "pods": "5" }), json!([])));
        let resource = CATALOG.find("", "v1", "pods").unwrap();
        let count = Count { quota: &quota, resource, range: pods(), now: Instant { seconds: SECONDS, nanos: 0 } };
        write(&store, 0, Some(&pod(1, "Running", None))).await;
        counts.used(&store, &store.recent(), &count).unwrap();
        write(&store, 1, Some(&pod(1, "Running", None))).await;
        write(&store, 2, Some(&pod(1, "Running", None))).await;
        store.compact(store.recent().revision()).await.unwrap();
        let used = counts.used(&store, &store.recent(), &count).unwrap();
        assert_eq!(told(&used, &quota), json!({ "pods": "3" }));
    }
}
