//! What a pod asks for as a whole, completed from what its containers ask for.

use crate::amount::{Amounts, Sums, to_value};
use crate::object::{Object, child};
use serde_json::{Map, Value};

fn can_be_more_than_there_is(name: &str) -> bool {
    matches!(name, "cpu" | "memory")
}

fn is_of_pods(name: &str) -> bool {
    can_be_more_than_there_is(name) || name.starts_with("hugepages-")
}

/// Does nothing for a pod that says nothing as a whole.
pub(super) fn complete(spec: &mut Map<String, Value>) {
    let whole = Value::Object(std::mem::take(spec));
    let (of_requests, of_limits) = (Sums::requests(&whole), Sums::limits(&whole));
    let (mut requests, mut limits) = (of_requests.said(), of_limits.said());
    let silent = requests.is_empty() && limits.is_empty();
    if !silent {
        let (asked, most) = (of_requests.of_containers(), of_limits.of_containers());
        for (name, amount) in most.iter().filter(|(name, _)| name.starts_with("hugepages-")) {
            if !requests.contains_key(name) {
                limits.entry(name.clone()).or_insert(*amount);
            }
        }
        for (name, amount) in asked.into_iter().filter(|(name, _)| can_be_more_than_there_is(name)) {
            requests.entry(name).or_insert(amount);
        }
        for (name, amount) in limits.iter().filter(|(name, _)| is_of_pods(name)) {
            requests.entry(name.clone()).or_insert(*amount);
        }
        limit(&whole, &requests, &mut limits, &most);
    }
    if let Value::Object(whole) = whole {
        *spec = whole;
    }
    if !silent {
        let resources = child(spec, "resources");
        for (field, amounts) in [("requests", requests), ("limits", limits)] {
            if !amounts.is_empty() {
                resources.insert(field.to_owned(), to_value(&amounts));
            }
        }
    }
}

/// Where every container is limited, so is the pod, and not to less than it requests.
fn limit(spec: &Value, requests: &Amounts, limits: &mut Amounts, most: &Amounts) {
    let list = |name: &str| spec.get(name).and_then(Value::as_array).into_iter().flatten();
    let containers = || list("containers").chain(list("initContainers")).chain(list("ephemeralContainers"));
    for (name, request) in requests.iter().filter(|(name, _)| is_of_pods(name)) {
        let limited = containers().all(|container| {
            container.get("resources").and_then(|resources| resources.get("limits")?.get(name)).is_some()
        });
        if let (true, Some(most)) = (limited, most.get(name)) {
            limits.entry(name.clone()).or_insert((*most).max(*request));
        }
    }
}

/// The containers as they were, with the sizes that are wanted; as they are wanted where they are not the same ones.
pub(super) fn sized(new: &Object, old: &Object, list: &str) -> Vec<Value> {
    let wanted: Vec<Value> = new.items(&["spec", list]).cloned().collect();
    let mut kept: Vec<Value> = old.items(&["spec", list]).cloned().collect();
    for (kept, wanted) in kept.iter_mut().zip(&wanted) {
        let Value::Object(fields) = kept else { continue };
        if fields.get("name") != wanted.get("name") {
            return new.items(&["spec", list]).cloned().collect();
        }
        for field in ["resources", "resizePolicy"] {
            match wanted.get(field) {
                Some(value) => fields.insert(field.to_owned(), value.clone()),
                None => fields.remove(field),
            };
        }
    }
    kept
}
