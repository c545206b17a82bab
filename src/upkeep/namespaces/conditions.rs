//! What a namespace that is to go says about it, in Kubernetes' words.

use apiserver::object::Object;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How a deletion is doing.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Group versions of which nobody knows what they have.
    pub(super) undiscovered: Vec<String>,
    /// Why something could not be deleted.
    pub(super) failures: Vec<String>,
    /// How many of each resource are left.
    pub(super) remaining: BTreeMap<String, usize>,
    /// How many wait for each finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
}

/// A condition: its type; reason and message while all is well; reason and message when it is not.
struct Condition {
    kind: &'static str,
    well: (&'static str, &'static str),
    trouble: Option<(&'static str, String)>,
}

/// The conditions of a namespace, if they are other than they were. Those of others stay.
pub(super) fn updated(namespace: &Object, facts: &Facts, now: &Value) -> Option<Vec<Value>> {
    let was = namespace.pointer(&["status", "conditions"]).and_then(Value::as_array);
    let was = was.cloned().unwrap_or_default();
    let mut conditions = was.clone();
    for condition in all(facts) {
        condition.put(&mut conditions, now);
    }
    (conditions != was).then_some(conditions)
}

fn all(facts: &Facts) -> [Condition; 5] {
    [
        Condition {
            kind: "NamespaceDeletionDiscoveryFailure",
            well: ("ResourcesDiscovered", "All resources successfully discovered"),
            trouble: undiscovered(&facts.undiscovered),
        },
        Condition {
            kind: "NamespaceDeletionGroupVersionParsingFailure",
            well: ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
            trouble: None,
        },
        Condition {
            kind: "NamespaceDeletionContentFailure",
            well: ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
            trouble: failed(&facts.failures),
        },
        Condition {
            kind: "NamespaceContentRemaining",
            well: ("ContentRemoved", "All content successfully removed"),
            trouble: counted(&facts.remaining, |resource, count| format!("{resource} has {count} resource instances"))
                .map(|list| ("SomeResourcesRemain", format!("Some resources are remaining: {list}"))),
        },
        Condition {
            kind: "NamespaceFinalizersRemaining",
            well: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
            trouble: counted(&facts.finalizers, |name, count| format!("{name} in {count} resource instances")).map(
                |list| {
                    let text = format!("Some content in the namespace has finalizers remaining: {list}");
                    ("SomeFinalizersRemain", text)
                },
            ),
        },
    ]
}

impl Facts {
    /// Nothing is left, as far as anybody knows.
    pub(super) fn is_clear(&self) -> bool {
        let Self { undiscovered, failures, remaining, finalizers } = self;
        undiscovered.is_empty() && failures.is_empty() && remaining.is_empty() && finalizers.is_empty()
    }
}

fn undiscovered(stale: &[String]) -> Option<(&'static str, String)> {
    if stale.is_empty() {
        return None;
    }
    let why = format!("unable to retrieve the complete list of server APIs: {}", stale.join(", "));
    Some(("DiscoveryFailed", format!("Discovery failed for some groups, {} failing: {why}", stale.len())))
}

fn failed(failures: &[String]) -> Option<(&'static str, String)> {
    if failures.is_empty() {
        return None;
    }
    let mut sorted = failures.to_vec();
    sorted.sort_unstable();
    let (count, list) = (failures.len(), sorted.join(", "));
    Some(("ContentDeletionFailed", format!("Failed to delete all resource types, {count} remaining: {list}")))
}

fn counted(counts: &BTreeMap<String, usize>, say: impl Fn(&str, usize) -> String) -> Option<String> {
    let mut said: Vec<String> = counts.iter().map(|(what, count)| say(what, *count)).collect();
    said.sort_unstable();
    (!said.is_empty()).then(|| said.join(", "))
}

impl Condition {
    /// Takes the place of what was said before, and keeps since when it holds.
    fn put(self, conditions: &mut Vec<Value>, now: &Value) {
        let (status, reason, message) = match self.trouble {
            None => ("False", self.well.0, self.well.1.to_owned()),
            Some((reason, message)) => ("True", reason, message),
        };
        let mut new = json!({
            "type": self.kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now,
        });
        match conditions.iter_mut().find(|condition| condition["type"] == self.kind) {
            None => conditions.push(new),
            Some(old) => {
                if old["status"] == status {
                    new["lastTransitionTime"] = old["lastTransitionTime"].take();
                }
                *old = new;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[(&str, usize)]) -> BTreeMap<String, usize> {
        counts.iter().map(|(what, count)| ((*what).to_owned(), *count)).collect()
    }

    fn namespace(conditions: &[Value]) -> Object {
        json!({ "status": { "conditions": conditions } }).try_into().unwrap()
    }

    /// Of each condition its status and message; the long run of what is well is left out.
    fn check(facts: &Facts, expect: &[(&str, &str)]) {
        let conditions = updated(&namespace(&[]), facts, &json!("now")).unwrap();
        assert_eq!(conditions.len(), 5);
        let trouble = conditions.iter().filter(|condition| condition["status"] == "True");
        let trouble: Vec<_> =
            trouble.map(|found| (found["reason"].as_str().unwrap(), found["message"].as_str().unwrap())).collect();
        assert_eq!(trouble, expect);
    }

    #[test]
    fn trouble_is_told_in_the_words_of_kubernetes() {
        check(&Facts::default(), &[]);
        let facts = Facts {
            remaining: counts(&[("pods.", 1), ("deployments.apps", 2)]),
            finalizers: counts(&[("b.example/x", 1), ("a.example/x", 2)]),
            ..Facts::default()
        };
        let remain =
            "Some resources are remaining: deployments.apps has 2 resource instances, pods. has 1 resource instances";
        let wait = "Some content in the namespace has finalizers remaining: a.example/x in 2 resource instances, b.example/x in 1 resource instances";
        check(&facts, &[("SomeResourcesRemain", remain), ("SomeFinalizersRemain", wait)]);
        let facts = Facts { failures: vec!["two".to_owned(), "one".to_owned()], ..Facts::default() };
        let failed = "Failed to delete all resource types, 2 remaining: one, two";
        check(&facts, &[("ContentDeletionFailed", failed)]);
    }

    #[test]
    fn what_did_not_change_is_not_written_and_what_is_true_keeps_its_time() {
        let others = json!({ "type": "Theirs", "status": "True" });
        let facts = Facts { remaining: counts(&[("pods.", 2)]), ..Facts::default() };
        let first = updated(&namespace(std::slice::from_ref(&others)), &facts, &json!("then")).unwrap();
        assert_eq!(first[0], others);
        assert_eq!(updated(&namespace(&first), &facts, &json!("now")), None);
        let fewer = Facts { remaining: counts(&[("pods.", 1)]), ..Facts::default() };
        let second = updated(&namespace(&first), &fewer, &json!("now")).unwrap();
        assert_eq!(second[4]["lastTransitionTime"], "then");
        let third = updated(&namespace(&second), &Facts::default(), &json!("now")).unwrap();
        assert_eq!((&third[4]["status"], &third[4]["lastTransitionTime"]), (&json!("False"), &json!("now")));
    }
}
