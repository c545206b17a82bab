//! Whether a change of an object is one of what is asked for, or only of what is told about it.

use apiserver::object::Peek;

/// Parts of the metadata that say something about what is asked for.
const SAID: [&[&str]; 4] = [
    &["metadata", "labels"],
    &["metadata", "annotations"],
    &["metadata", "deletionTimestamp"],
    &["metadata", "finalizers"],
];

/// Whether anything else than the status differs. Objects without a generation differ whenever they are written.
pub fn of_what_is_asked_for(before: Peek<'_>, now: Peek<'_>) -> bool {
    let generation = |object: Peek<'_>| object.raw(&["metadata", "generation"]).map(<[u8]>::to_vec);
    let same = |path: &&[&str]| before.raw(path) == now.raw(path);
    let uid = before.raw(&["metadata", "uid"]) == now.raw(&["metadata", "uid"]);
    match (generation(before), generation(now)) {
        (Some(then), Some(now)) => !uid || then != now || !SAID.iter().all(same),
        _ => true,
    }
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
        check(json!({ "metadata": { "uid": "u" } }), json!({ "metadata": { "uid": "u" } }), true);
    }
}
