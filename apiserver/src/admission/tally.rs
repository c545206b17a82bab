//! What is used of one quota, counted: by admission when something is added, and by whoever keeps quotas right.

use super::quota::is_wide;
use super::usage;
use crate::amount::{Amount, Amounts, add, amounts, to_value};
use crate::catalog::ResourceDef;
use crate::object::{Object, child};
use openapi::scalar::time::Instant;
use serde_json::Value;

/// Counts objects of a namespace against a quota.
#[derive(Clone, Debug)]
pub struct Tally {
    quota: Object,
    /// When pods are looked at: those that should have ended by then use nothing. Always the same, so that an object that
    /// goes takes along what it came with.
    now: Instant,
    /// Of every limit that something can count against.
    used: Amounts,
}

impl Tally {
    /// Nothing is counted yet, of limits that are about any of these resources.
    pub fn new<'a>(quota: &Object, resources: impl Iterator<Item = &'a ResourceDef>, now: Instant) -> Self {
        let limits = amounts(quota.pointer(&["spec", "hard"]));
        let mut used = Amounts::new();
        for resource in resources {
            let counted = limits.keys().filter(|name| is_about(quota, resource, name));
            used.extend(counted.map(|name| (name.clone(), Amount::ZERO)));
        }
        Self { quota: quota.clone(), now, used }
    }

    /// Whether it is still the same quota, as far as counting goes.
    pub fn is_of(&self, quota: &Object) -> bool {
        let is_same = self.quota.uid() == quota.uid() && self.quota.get("spec") == quota.get("spec");
        is_same && is_wide(&self.quota) == is_wide(quota)
    }

    pub fn quota(&self) -> &Object {
        &self.quota
    }

    /// Looks at pods at another time. What was counted stays: it must not have been about pods that are going.
    pub fn at_time(self, now: Instant) -> Self {
        Self { now, ..self }
    }

    pub fn concerns(&self, resource: &ResourceDef) -> bool {
        self.used.keys().any(|name| is_about(&self.quota, resource, name))
    }

    /// Objects of this resource all count the same: how many there are is enough to know.
    pub fn counts_only(&self, resource: &ResourceDef) -> bool {
        let scoped = self.quota.items(&["spec", "scopes"]).next().is_some()
            || self.quota.pointer(&["spec", "scopeSelector"]).is_some();
        let concerned = self.used.keys().filter(|name| is_about(&self.quota, resource, name));
        !scoped && concerned.into_iter().all(|name| usage::is_count(resource, name))
    }

    /// Counts so many objects of a resource without a look at them: see [`Tally::counts_only`].
    pub fn add_number(&mut self, resource: &ResourceDef, number: usize) {
        for (name, sum) in &mut self.used {
            if is_about(&self.quota, resource, name) {
                *sum = sum.plus(Amount::whole(number));
            }
        }
    }

    pub fn add(&mut self, resource: &ResourceDef, object: &Object) {
        let usage = self.usage(resource, object);
        add(&mut self.used, &usage);
    }

    /// Counts an object that changed, was made or is gone, in the place of what it was. Answers whether that matters.
    pub fn replace(&mut self, resource: &ResourceDef, was: Option<&Object>, is: Option<&Object>) -> bool {
        let usage = |object: Option<&Object>| object.map(|object| self.usage(resource, object)).unwrap_or_default();
        let (before, now) = (usage(was), usage(is));
        if before == now {
            return false;
        }
        for (name, amount) in &before {
            self.used.entry(name.clone()).and_modify(|sum| *sum = sum.minus(*amount));
        }
        add(&mut self.used, &now);
        true
    }

    fn usage(&self, resource: &ResourceDef, object: &Object) -> Amounts {
        if !usage::is_in_scope(&self.quota, resource, object) {
            return Amounts::new();
        }
        let mut usage = usage::of(resource, object, self.now);
        usage.retain(|name, _| self.used.contains_key(name));
        usage
    }

    pub(super) fn into_used(self) -> Amounts {
        self.used
    }

    /// The quota with the status that it should have; `None` if it has it. What nothing can count against stays as it
    /// is, and what has no limit any more is gone.
    pub fn correct(&self, quota: &Object) -> Option<Object> {
        let limits = amounts(quota.pointer(&["spec", "hard"]));
        let known = amounts(quota.pointer(&["status", "used"]));
        let mut used: Amounts = known.clone();
        used.extend(self.used.iter().map(|(name, amount)| (name.clone(), *amount)));
        used.retain(|name, _| limits.contains_key(name));
        let told = quota.pointer(&["status", "hard"]).is_some() && quota.pointer(&["status", "used"]).is_some();
        if told && used == known && amounts(quota.pointer(&["status", "hard"])) == limits {
            return None;
        }
        let mut corrected = quota.clone();
        let hard = quota.pointer(&["spec", "hard"]).cloned().unwrap_or_else(|| Value::Object(Default::default()));
        let status = child(corrected.map_mut(), "status");
        status.insert("hard".to_owned(), hard);
        status.insert("used".to_owned(), to_value(&used));
        Some(corrected)
    }
}

/// A limit of this name is about objects of this resource. Events are no burden to anybody.
fn is_about(quota: &Object, resource: &ResourceDef, name: &str) -> bool {
    (resource.namespaced || is_wide(quota)) && resource.plural != "events" && usage::concerns(resource, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use proptest::prelude::*;
    use serde_json::json;
    use std::sync::LazyLock;

    const NOW: Instant = Instant { seconds: 1_800_000_000, nanos: 0 };
    static CATALOG: LazyLock<Catalog> = LazyLock::new(Catalog::builtin);

    fn object(tree: Value) -> Object {
        tree.try_into().unwrap()
    }

    fn tally(quota: &Object) -> Tally {
        Tally::new(quota, CATALOG.stored().map(|resource| &**resource), NOW)
    }

    fn pod(cpu: &str, phase: &str) -> Object {
        let container = json!({ "name": "c", "resources": { "requests": { "cpu": cpu } } });
        object(json!({ "spec": { "containers": [container] }, "status": { "phase": phase } }))
    }

    #[test]
    fn an_object_that_goes_takes_along_what_it_came_with() {
        let pods = CATALOG.find("", "v1", "pods").unwrap();
        let hard = json!({ "pods": "5", "requests.cpu": "1", "count/pods": "9", "strange": "1" });
        let quota = object(json!({ "spec": { "hard": hard } }));
        let mut tally = tally(&quota);
        let used = |tally: &Tally| tally.correct(&quota).unwrap().pointer(&["status", "used"]).unwrap().clone();
        assert!(tally.concerns(pods) && !tally.counts_only(pods));
        tally.add(pods, &pod("300m", "Running"));
        tally.add(pods, &pod("200m", "Pending"));
        tally.add(pods, &pod("100m", "Failed"));
        assert_eq!(used(&tally), json!({ "pods": "2", "requests.cpu": "500m", "count/pods": "3" }));
        assert!(tally.replace(pods, Some(&pod("300m", "Running")), Some(&pod("300m", "Succeeded"))));
        assert!(!tally.replace(pods, Some(&pod("200m", "Pending")), Some(&pod("200m", "Running"))));
        assert!(tally.replace(pods, Some(&pod("100m", "Failed")), None));
        assert_eq!(used(&tally), json!({ "pods": "1", "requests.cpu": "200m", "count/pods": "2" }));
    }

    #[test]
    fn how_many_there_are_is_enough_for_some() {
        let secrets = CATALOG.find("", "v1", "secrets").unwrap();
        let quota = object(json!({ "spec": { "hard": { "secrets": "5", "count/secrets": "5", "pods": "1" } } }));
        let mut counted = tally(&quota);
        assert!(counted.counts_only(secrets));
        counted.add_number(secrets, 3);
        counted.replace(secrets, Some(&object(json!({}))), None);
        let used = json!({ "secrets": "2", "count/secrets": "2", "pods": "0" });
        assert_eq!(counted.correct(&quota).unwrap().pointer(&["status", "used"]), Some(&used));
        let scoped = object(json!({ "spec": { "hard": { "secrets": "5" }, "scopes": ["BestEffort"] } }));
        assert!(!tally(&scoped).counts_only(secrets));
    }

    #[test]
    fn a_status_that_is_right_is_left_alone() {
        let check = |status: Value, expect: Option<Value>| {
            let quota = object(json!({ "spec": { "hard": { "pods": "1000", "strange": "1" } }, "status": status }));
            let found = tally(&quota).correct(&quota).and_then(|quota| quota.get("status").cloned());
            assert_eq!(found, expect, "{status}");
        };
        let hard = json!({ "pods": "1000", "strange": "1" });
        check(json!({}), Some(json!({ "hard": hard, "used": { "pods": "0" } })));
        check(json!({ "hard": { "pods": "1k", "strange": "1" }, "used": { "pods": "0" } }), None);
        check(json!({ "hard": hard, "used": { "pods": "0", "strange": "7" } }), None);
        let right = json!({ "hard": hard, "used": { "pods": "0", "strange": "7" } });
        check(json!({ "hard": hard, "used": { "pods": "2", "strange": "7", "old": "1" } }), Some(right));
        check(
            json!({ "hard": { "pods": "2" }, "used": { "pods": "0" } }),
            Some(json!({ "hard": hard, "used": { "pods": "0" } })),
        );
    }

    fn pods() -> impl Strategy<Value = Option<Object>> {
        let phase = prop_oneof![Just("Pending"), Just("Running"), Just("Failed")];
        let drawn = (0..2000u32, phase, any::<bool>(), proptest::option::of(1_799_999_000..1_800_001_000i64));
        let pod = drawn.prop_map(|(cpu, phase, short, going)| {
            let mut tree = Value::from(pod(&format!("{cpu}m"), phase));
            if short {
                tree["spec"]["activeDeadlineSeconds"] = json!(5);
            }
            if let Some(seconds) = going {
                let when = Instant { seconds, nanos: 0 };
                tree["metadata"] =
                    json!({ "deletionTimestamp": crate::object::timestamp(when), "deletionGracePeriodSeconds": 30 });
            }
            object(tree)
        });
        proptest::option::of(pod)
    }

    proptest! {
        #[test]
        fn counting_on_comes_to_the_same_as_counting_again(
            changes in proptest::collection::vec((0..4usize, pods()), 0..24),
            scoped in any::<bool>(),
        ) {
                let resource = CATALOG.find("", "v1", "pods").unwrap();
            let scopes = if scoped { json!(["NotTerminating"]) } else { json!([]) };
            let hard = json!({ "pods": "5", "requests.cpu": "1", "count/pods": "9" });
            let quota = object(json!({ "spec": { "hard": hard, "scopes": scopes } }));
            let (mut counted_on, mut there) = (tally(&quota), vec![None; 4]);
            for (at, now) in changes {
                counted_on.replace(resource, there[at].as_ref(), now.as_ref());
                there[at] = now;
            }
            let mut counted_again = tally(&quota);
            there.iter().flatten().for_each(|pod| counted_again.add(resource, pod));
            prop_assert_eq!(counted_on.used, counted_again.used);
        }
    }
}
