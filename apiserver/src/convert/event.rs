//! Events under their two names: `v1` and `events.k8s.io/v1` call the same fields differently.

use crate::object::Object;
use serde_json::json;

/// What `v1` calls it, what `events.k8s.io/v1` calls it.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(super) fn to_core(object: &mut Object) {
    for (core, events) in NAMES {
        rename(object, events, core);
    }
    object.map_mut().entry("involvedObject").or_insert_with(|| json!({}));
}

pub(super) fn to_events(object: &mut Object) {
    for (core, events) in NAMES {
        rename(object, core, events);
    }
}

fn rename(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = object.map_mut().remove(from) {
        object.map_mut().insert(to.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_survives_the_way_there_and_back() {
        let core: Object = json!({
            "apiVersion": "v1", "kind": "Event", "involvedObject": { "name": "p" }, "message": "m", "count": 3,
            "reportingComponent": "c", "source": { "component": "s" },
        })
        .try_into()
        .unwrap();
        let other = crate::convert::convert(core.clone(), "events.k8s.io/v1");
        assert_eq!(other.get("regarding"), Some(&json!({ "name": "p" })));
        assert_eq!(other.text(&["note"]), "m");
        assert_eq!(crate::convert::convert(other, "v1"), core);
    }
}
