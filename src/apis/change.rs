//! Whether a change of an object is one of what is asked for, or only of what is told about it.

use apiserver::object::Peek;

/// Parts of the metadata that say something about what is asked for.
const SAID: [&[&str]; 4] = [
    &["metadata", "labels"],
    &["metadata", "annotations"],
    &["metadata", "deletionTimestamp"],
    &["metadata", "finalizers"],
];

/// Parts of an object that change without anybody having asked for anything.
const TOLD: [&[&str]; 3] = [&["status"], &["metadata", "resourceVersion"], &["metadata", "managedFields"]];

/// Whether anything else than the status differs.
pub fn of_what_is_asked_for(before: Peek<'_>, now: Peek<'_>) -> bool {
    let generation = |object: Peek<'_>| object.raw(&["metadata", "generation"]).map(<[u8]>::to_vec);
    let same = |path: &&[&str]| before.raw(path) == now.raw(path);
    let uid = before.raw(&["metadata", "uid"]) == now.raw(&["metadata", "uid"]);
    match (generation(before), generation(now)) {
        (Some(then), Some(now)) => !uid || then != now || !SAID.iter().all(same),
        _ => !before.is_same_but(now, &TOLD),
    }
}

/// Whether all that differs of what is asked for is that the object is held by one more, of this name.
pub fn is_only_held(before: Peek<'_>, now: Peek<'_>, by: &str) -> bool {
    const FINALIZERS: &[&str] = &["metadata", "finalizers"];
    let holders = |object: Peek<'_>| object.value::<Vec<String>>(FINALIZERS).unwrap_or_default();
    let (mut then, since) = (holders(before), holders(now));
    then.push(by.to_owned());
    then == since && before.is_same_but(now, &[TOLD[0], TOLD[1], TOLD[2], FINALIZERS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(before: Value, now: Value, expect: bool) {
        let (before, now) = (before.to_string(), now.to_string());
        assert_eq!(of_what_is_asked_for(Peek::of(before.as_bytes()), Peek::of(now.as_bytes())), expect);
    }

    #[test]
    fn a_status_is_told_and_the_rest_is_asked_for() {
        let object = |generation: i64, label: &str, ready: i64| {
            json!({ "metadata": { "uid": "u", "generation": generation, "labels": { "a": label } },
                    "status": { "ready": ready } })
        };
        check(object(1, "x", 0), object(1, "x", 1), false);
        check(object(1, "x", 0), object(2, "x", 0), true);
        check(object(1, "x", 0), object(1, "y", 0), true);
    }

    #[test]
    fn objects_without_a_generation_are_compared() {
        let object =
            |data: &str, version: &str| json!({ "metadata": { "uid": "u", "resourceVersion": version }, "data": data });
        check(object("x", "1"), object("x", "2"), false);
        check(object("x", "1"), object("y", "2"), true);
    }

    #[test]
    fn an_object_that_is_held_by_one_more_is_otherwise_the_same() {
        let object = |data: &str, holders: &[&str]| {
            let metadata = json!({ "uid": "u", "finalizers": holders });
            let metadata = if holders.is_empty() { json!({ "uid": "u" }) } else { metadata };
            json!({ "metadata": metadata, "data": data }).to_string()
        };
        let held = |before: &str, now: &str| is_only_held(Peek::of(before.as_bytes()), Peek::of(now.as_bytes()), "us");
        assert!(held(&object("x", &[]), &object("x", &["us"])));
        assert!(held(&object("x", &["a"]), &object("x", &["a", "us"])));
        assert!(!held(&object("x", &["a"]), &object("x", &["us"])), "somebody let go");
        assert!(!held(&object("x", &[]), &object("x", &["a"])), "somebody else holds it");
        assert!(!held(&object("x", &[]), &object("y", &["us"])));
        assert!(!held(&object("x", &["us"]), &object("x", &[])));
    }
}
