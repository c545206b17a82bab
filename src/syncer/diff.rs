//! The steps from what a cell holds to what it should hold.
//!
//! Strangers are never touched unless the rule says so. What is withdrawn is what is in the inventory and not desired:
//! nothing else is ever deleted. An object that has not changed, here or there, costs nothing.

use super::mark;
use super::mark::Belongs;
use crate::apis;
use crate::apis::FieldPath;
use crate::apis::Kind;
use crate::apis::fnv;
use crate::apis::kinds;
use crate::scheduler::rule::Strangers;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// An object in a cell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub kind: Kind,
    /// Empty for what has none.
    pub namespace: String,
    pub name: String,
}

impl Key {
    pub fn of(object: &Value) -> Self {
        let meta = |key| apis::text(object, &["metadata", key]).unwrap_or_default().to_owned();
        Self { kind: Kind::of(object), namespace: meta("namespace"), name: meta("name") }
    }

    /// The namespace itself, if this is one.
    fn as_namespace(&self) -> Option<&str> {
        (self.kind.name() == ("", "Namespace")).then_some(self.name.as_str())
    }
}

/// What a cell should hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    pub object: Value,
    pub source_uid: String,
    pub strangers: Strangers,
    pub retain: BTreeSet<FieldPath>,
    /// Nothing is sent, and nothing is taken away.
    pub suspended: bool,
    /// It stays in the cell when it is no longer wanted.
    pub preserve: bool,
}

/// What was put into a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    pub source_uid: String,
    /// Of what was sent.
    pub hash: String,
    /// The object's own UID in the cell, and its resource version when it was last found to be as it should.
    pub uid: String,
    pub version: String,
    /// It stays in the cell when it is no longer wanted.
    pub preserve: bool,
}

pub type Inventory = BTreeMap<Key, Held>;

/// What a cell holds, as far as it concerns us.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Actual {
    pub objects: BTreeMap<Key, Value>,
    /// Namespaces with something in them that nobody here put there.
    pub shared: BTreeSet<String>,
}

/// What to do next, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Make it so; `held` goes into the inventory, with the UID and the version that come back.
    Apply { object: Value, held: Held },
    /// It is as it should be, at this version.
    Note { key: Key, held: Held },
    /// Take it away, if it still is the object with this UID.
    Delete { key: Key, uid: String },
    /// Leave it there and take our marks off.
    Release { key: Key },
    /// It is gone: out of the inventory.
    Forget { key: Key },
    /// Something is in the way that only people can settle.
    Report { key: Key, problem: Problem },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("an object of this name is in the cell already, and was not put there by this federation")]
    Stranger,
    #[error("a predecessor of the same name is still being removed from the cell")]
    Predecessor,
    #[error("two sources ask for the same object in the cell")]
    Twice,
}

/// What is sent to a cell, as one number.
pub fn hash(object: &Value) -> String {
    format!("{:016x}", fnv::hash_64(object.to_string().as_bytes()))
}

/// `owner` is who federates. Steps for one object do not depend on those for another, but for namespaces and
/// definitions: they come before what needs them and go after it.
pub fn diff(desired: &[Desired], inventory: &Inventory, actual: &Actual, owner: &str) -> Vec<Step> {
    let (wanted, mut steps) = undisputed(desired, inventory);
    let mut keys: Vec<&Key> = wanted.keys().collect();
    keys.sort_by_key(|key| (rank(key), *key));
    for key in keys {
        steps.extend(advance(key, wanted[key], inventory.get(key), actual.objects.get(key), owner));
    }
    let mut withdrawn: Vec<&Key> = inventory.keys().filter(|key| !wanted.contains_key(key)).collect();
    withdrawn.sort_by_key(|key| (std::cmp::Reverse(rank(key)), *key));
    steps.extend(withdrawn.into_iter().filter_map(|key| withdraw(key, &inventory[key], actual, owner)));
    steps
}

/// What one source asks for; where several do, whoever has it keeps it, and nobody gets it who has not.
fn undisputed<'a>(desired: &'a [Desired], inventory: &Inventory) -> (BTreeMap<Key, &'a Desired>, Vec<Step>) {
    let mut asked: BTreeMap<Key, Vec<&Desired>> = BTreeMap::new();
    for one in desired {
        asked.entry(Key::of(&one.object)).or_default().push(one);
    }
    let (mut wanted, mut steps) = (BTreeMap::new(), Vec::new());
    for (key, asking) in asked {
        let one = asking.iter().all(|other| other.source_uid == asking[0].source_uid);
        let holds = |other: &&&Desired| inventory.get(&key).is_some_and(|held| held.source_uid == other.source_uid);
        let rightful = if one { asking.last() } else { asking.iter().rfind(holds) };
        if !one {
            steps.push(Step::Report { key: key.clone(), problem: Problem::Twice });
        }
        wanted.extend(rightful.map(|rightful| (key, *rightful)));
    }
    (wanted, steps)
}

/// What others need comes first.
fn rank(key: &Key) -> u8 {
    match key.kind.name() {
        ("", "Namespace") => 0,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => 1,
        ("scheduling.k8s.io" | "storage.k8s.io" | "rbac.authorization.k8s.io", _) => 2,
        ("", "ServiceAccount" | "Secret" | "ConfigMap" | "PersistentVolume" | "PersistentVolumeClaim") => 3,
        ("", "Service") => 4,
        _ => 5,
    }
}

fn advance(key: &Key, wanted: &Desired, held: Option<&Held>, there: Option<&Value>, owner: &str) -> Option<Step> {
    if wanted.suspended {
        return None;
    }
    let Some(there) = there else { return Some(apply(wanted, None)) };
    let report = |problem| Some(Step::Report { key: key.clone(), problem });
    match mark::belongs(there, owner) {
        Belongs::Stranger if wanted.strangers == Strangers::Leave => report(Problem::Stranger),
        Belongs::Stranger => Some(apply(wanted, Some(there))),
        Belongs::Us(uid) if uid != wanted.source_uid => {
            let going = apis::at(there, &["metadata", "deletionTimestamp"]).is_some();
            if going { report(Problem::Predecessor) } else { Some(delete(key, there)) }
        }
        Belongs::Us(_) => update(key, wanted, held, there),
    }
}

fn update(key: &Key, wanted: &Desired, held: Option<&Held>, there: &Value) -> Option<Step> {
    let meta = |key| apis::text(there, &["metadata", key]).unwrap_or_default().to_owned();
    let found = Held { uid: meta("uid"), version: meta("resourceVersion"), ..sent(wanted) };
    if held == Some(&found) {
        return None;
    }
    let mut desired = wanted.object.clone();
    kinds::retain(&mut desired, there, &wanted.retain);
    // Somebody changed it there. What they may change is theirs; only what is ours is put right. And what was never
    // sent may have said more before.
    let sent = held.is_some_and(|held| held.hash == found.hash);
    if sent && contains(there, &desired) {
        return Some(Step::Note { key: key.clone(), held: found });
    }
    Some(apply(wanted, Some(there)))
}

/// What the inventory says before the cell has answered.
fn sent(wanted: &Desired) -> Held {
    let (uid, version) = (String::new(), String::new());
    Held { source_uid: wanted.source_uid.clone(), hash: hash(&wanted.object), uid, version, preserve: wanted.preserve }
}

fn apply(wanted: &Desired, there: Option<&Value>) -> Step {
    let mut object = wanted.object.clone();
    if let Some(there) = there {
        kinds::retain(&mut object, there, &wanted.retain);
    }
    Step::Apply { object, held: sent(wanted) }
}

fn delete(key: &Key, there: &Value) -> Step {
    Step::Delete { key: key.clone(), uid: apis::text(there, &["metadata", "uid"]).unwrap_or_default().to_owned() }
}

fn withdraw(key: &Key, held: &Held, actual: &Actual, owner: &str) -> Option<Step> {
    let Some(there) = actual.objects.get(key) else { return Some(Step::Forget { key: key.clone() }) };
    let ours = mark::belongs(there, owner) == Belongs::Us(held.source_uid.clone());
    let shared = key.as_namespace().is_some_and(|name| actual.shared.contains(name));
    if !ours {
        return Some(Step::Forget { key: key.clone() });
    }
    if held.preserve || shared {
        return Some(Step::Release { key: key.clone() });
    }
    // It is on its way already.
    if apis::at(there, &["metadata", "deletionTimestamp"]).is_some() {
        return None;
    }
    Some(delete(key, there))
}

/// Whether everything `ours` says is said by `theirs` too. Elements of lists stand in the same order.
fn contains(theirs: &Value, ours: &Value) -> bool {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            ours.iter().all(|(key, ours)| theirs.get(key).map_or(is_nothing(ours), |theirs| contains(theirs, ours)))
        }
        (Value::Array(theirs), Value::Array(ours)) => {
            theirs.len() == ours.len() && theirs.iter().zip(ours).all(|(theirs, ours)| contains(theirs, ours))
        }
        _ => theirs == ours,
    }
}

/// Servers leave out what is empty.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(is_nothing),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}
