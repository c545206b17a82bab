//! Definitions of custom resources: which names they get, and what their status says of it.
//!
//! Kubernetes lets controllers find this out after the definition was written. Here it is part of the write: whoever
//! made a definition can use it.

use crate::object::{Object, child, list, timestamp};
use openapi::scalar::time::Instant;
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// Held until no object of the definition is left.
pub const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
const APPROVED: &str = "api-approved.kubernetes.io";

/// Names that other definitions of the same group have.
#[derive(Clone, Debug, Default)]
pub struct NamesInUse {
    /// Plural, singular and short names.
    pub resources: HashSet<String>,
    /// Kinds, and kinds of lists.
    pub kinds: HashSet<String>,
}

/// Says in the status of a definition which names it has been given, and whether it is served.
pub fn accept(definition: &mut Object, used: &NamesInUse, now: Instant) {
    remember_stored_version(definition);
    if let Some(approval) = approval(definition) {
        set_condition(definition, approval, now);
    }
    let wanted = definition.pointer(&["spec", "names"]).cloned().unwrap_or_else(|| json!({}));
    if definition.pointer(&["status", "acceptedNames"]) == Some(&wanted) {
        return;
    }
    let had = definition.pointer(&["status", "acceptedNames"]).cloned().unwrap_or_else(|| json!({}));
    let (names, conflict) = negotiate(&wanted, &had, used);
    child(definition.map_mut(), "status").insert("acceptedNames".to_owned(), names);
    let (accepted, established) = match conflict {
        None => (
            ("NamesAccepted", true, "NoConflicts", "no conflicts found".to_owned()),
            ("Established", true, "InitialNamesAccepted", "the initial names have been accepted".to_owned()),
        ),
        Some((reason, message)) => (
            ("NamesAccepted", false, reason, message),
            ("Established", false, "NotAccepted", "not all names are accepted".to_owned()),
        ),
    };
    set_condition(definition, accepted, now);
    // What is established stays so: its objects do not go because somebody renames it badly.
    if !is_true(definition, "Established") {
        set_condition(definition, established, now);
    }
}

type Condition = (&'static str, bool, &'static str, String);

/// Kubernetes leaves these out of the names it was given nothing for; one that is asked for anew is asked for.
fn negotiate(wanted: &Value, had: &Value, used: &NamesInUse) -> (Value, Option<(&'static str, String)>) {
    let mut names: Map<String, Value> = had.as_object().cloned().unwrap_or_default();
    let mut conflict = None;
    let mut refuse = |reason: &'static str, taken: &[&str]| {
        let told: Vec<String> = taken.iter().map(|name| format!("{name:?} is already in use")).collect();
        let told = if let [one] = &*told { one.clone() } else { format!("[{}]", told.join(", ")) };
        conflict = Some((reason, told));
    };
    let singles = [
        ("plural", "PluralConflict", &used.resources),
        ("singular", "SingularConflict", &used.resources),
        ("kind", "KindConflict", &used.kinds),
        ("listKind", "ListKindConflict", &used.kinds),
    ];
    for (field, reason, used) in singles {
        let name = wanted.get(field).and_then(Value::as_str).unwrap_or_default();
        let own = had.get(field).and_then(Value::as_str) == Some(name);
        if !own && used.contains(name) {
            refuse(reason, &[name]);
        } else if let Some(value) = wanted.get(field) {
            names.insert(field.to_owned(), value.clone());
        }
    }
    let short = |names: &Value| -> Vec<String> {
        let all = names.get("shortNames").and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (asked, own) = (short(wanted), short(had));
    let taken: Vec<&str> =
        asked.iter().filter(|name| !own.contains(name) && used.resources.contains(*name)).map(String::as_str).collect();
    if taken.is_empty() {
        copy(&mut names, wanted, "shortNames");
    } else {
        refuse("ShortNamesConflict", &taken);
    }
    copy(&mut names, wanted, "categories");
    (Value::Object(names), conflict)
}

/// Takes a field over, absence included.
fn copy(names: &mut Map<String, Value>, from: &Value, field: &str) {
    match from.get(field) {
        Some(value) => names.insert(field.to_owned(), value.clone()),
        None => names.remove(field),
    };
}

/// Objects may be stored in every version that ever was the one to store.
fn remember_stored_version(definition: &mut Object) {
    let mut versions = definition.items(&["spec", "versions"]);
    let stored = versions.find(|version| version["storage"] == true).map(|version| version["name"].clone());
    drop(versions);
    let Some(name) = stored else { return };
    let known = list(child(definition.map_mut(), "status"), "storedVersions");
    if !known.contains(&name) {
        known.push(name);
    }
}

/// Groups of Kubernetes' own community say whether they were approved by it.
fn approval(definition: &Object) -> Option<Condition> {
    let group = definition.text(&["spec", "group"]);
    let protected = ["k8s.io", "kubernetes.io"];
    if !protected.iter().any(|name| group == *name || group.ends_with(&format!(".{name}"))) {
        return None;
    }
    let said = definition.annotation(APPROVED).unwrap_or_default();
    let (approved, reason, message) = if said.is_empty() {
        let message = format!(
            "protected groups must have approval annotation {APPROVED:?}, see https://github.com/kubernetes/enhancements/pull/1111"
        );
        (false, "MissingAnnotation", message)
    } else if said.starts_with("unapproved") {
        (false, "UnapprovedAnnotation", format!("not approved: {said:?}"))
    } else {
        (true, "ApprovedAnnotation", format!("approved in {said}"))
    };
    Some(("KubernetesAPIApprovalPolicyConformant", approved, reason, message))
}

/// What changes in a definition that is to go.
pub(super) fn mark_deleted(definition: &mut Object, now: Instant) {
    let mut finalizers: Vec<String> = definition.finalizers().map(str::to_owned).collect();
    if !finalizers.iter().any(|name| name == CLEANUP) {
        finalizers.push(CLEANUP.to_owned());
        definition.set_finalizers(finalizers);
    }
    let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
    set_condition(definition, ("Terminating", true, "InstanceDeletionPending", message.to_owned()), now);
}

pub fn is_true(definition: &Object, kind: &str) -> bool {
    definition.items(&["status", "conditions"]).any(|found| found["type"] == kind && found["status"] == "True")
}

/// The time of a condition is when it last turned.
fn set_condition(definition: &mut Object, (kind, is, reason, message): Condition, now: Instant) {
    let status = if is { "True" } else { "False" };
    let conditions = list(child(definition.map_mut(), "status"), "conditions");
    let mut new = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": timestamp(now),
    });
    match conditions.iter_mut().find(|condition| condition["type"] == kind) {
        Some(old) => {
            if old["status"] == status {
                new["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = new;
        }
        None => conditions.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant { seconds: 0, nanos: 0 };

    fn definition(names: Value) -> Object {
        let spec = json!({ "group": "g.example.com", "names": names, "versions": [{ "name": "v1", "storage": true }] });
        json!({ "metadata": { "name": "d" }, "spec": spec }).try_into().unwrap()
    }

    fn used(resources: &[&str], kinds: &[&str]) -> NamesInUse {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        NamesInUse { resources: set(resources), kinds: set(kinds) }
    }

    fn check(used: &NamesInUse, reason: &str, message: &str) {
        let names = json!({ "plural": "cats", "singular": "cat", "shortNames": ["c", "k"], "kind": "Cat", "listKind": "CatList" });
        let mut object = definition(names.clone());
        accept(&mut object, used, NOW);
        let condition = object.items(&["status", "conditions"]).find(|found| found["type"] == "NamesAccepted").unwrap();
        assert_eq!((condition["reason"].as_str(), condition["message"].as_str()), (Some(reason), Some(message)));
        let clean = reason == "NoConflicts";
        assert_eq!(is_true(&object, "Established"), clean);
        assert_eq!(object.pointer(&["status", "acceptedNames"]) == Some(&names), clean);
        assert_eq!(object.pointer(&["status", "storedVersions"]), Some(&json!(["v1"])));
    }

    #[test]
    fn names_are_accepted_unless_another_definition_has_them() {
        check(&used(&["dogs"], &["Dog"]), "NoConflicts", "no conflicts found");
        check(&used(&["cat"], &[]), "SingularConflict", "\"cat\" is already in use");
        check(&used(&["c", "k"], &[]), "ShortNamesConflict", "[\"c\" is already in use, \"k\" is already in use]");
        check(&used(&[], &["CatList"]), "ListKindConflict", "\"CatList\" is already in use");
    }

    #[test]
    fn what_is_established_stays_so() {
        let mut object = definition(json!({ "plural": "cats", "kind": "Cat", "listKind": "CatList" }));
        accept(&mut object, &NamesInUse::default(), NOW);
        object.spec_mut().insert("names".to_owned(), json!({ "plural": "cats", "kind": "Dog", "listKind": "CatList" }));
        accept(&mut object, &used(&[], &["Dog"]), NOW);
        assert!(is_true(&object, "Established") && !is_true(&object, "NamesAccepted"));
        assert_eq!(object.text(&["status", "acceptedNames", "kind"]), "Cat");
    }

    #[test]
    fn groups_of_the_community_say_whether_it_approves() {
        let mut object = definition(json!({}));
        object.spec_mut().insert("group".to_owned(), "x.k8s.io".into());
        object.set_annotation(APPROVED, "https://example.com/pull/1");
        accept(&mut object, &NamesInUse::default(), NOW);
        assert!(is_true(&object, "KubernetesAPIApprovalPolicyConformant"));
    }
}
