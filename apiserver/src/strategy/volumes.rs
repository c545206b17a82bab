//! Volumes and claims: since when they are in their phase, and what a claim is filled from, said in two ways.

use crate::object::{Object, child, timestamp};
use openapi::scalar::time::Instant;
use serde_json::{Map, Value, json};

const SINCE: &str = "lastPhaseTransitionTime";

pub(super) fn prepare_volume(volume: &mut Object, now: Instant) {
    volume.map_mut().insert("status".to_owned(), json!({ "phase": "Pending", SINCE: timestamp(now) }));
}

pub(super) fn prepare_volume_status(new: &mut Object, old: &Object, now: Instant) {
    let phase = ["status", "phase"];
    let before = old.pointer(&["status", SINCE]).cloned();
    let since = new.pointer(&["status", SINCE]);
    if new.pointer(&phase) == old.pointer(&phase) {
        if let (None, Some(before)) = (since, before) {
            child(new.map_mut(), "status").insert(SINCE.to_owned(), before);
        }
    } else if since.is_none() || since == before.as_ref() {
        child(new.map_mut(), "status").insert(SINCE.to_owned(), timestamp(now));
    }
}

pub(super) fn prepare_claim(claim: &mut Object) {
    set_sources(claim, None);
    claim.map_mut().insert("status".to_owned(), json!({ "phase": "Pending" }));
}

/// Older clients know `dataSource`, newer ones `dataSourceRef`; whatever can be said by both is.
pub(super) fn set_sources(claim: &mut Object, old: Option<&Object>) {
    let before = |field: &str| old.is_some_and(|old| old.pointer(&["spec", field]).is_some());
    let spec = claim.spec_mut();
    // Sources in other namespaces are not served.
    if is_elsewhere(spec) && !before("dataSourceRef") {
        spec.remove("dataSourceRef");
    }
    if !before("dataSource") && !spec.contains_key("dataSourceRef") && !is_claim_or_snapshot(spec) {
        spec.remove("dataSource");
    }
    match (spec.get("dataSource").cloned(), spec.get("dataSourceRef").cloned()) {
        (Some(source), None) => drop(spec.insert("dataSourceRef".to_owned(), source)),
        (None, Some(source)) if !is_elsewhere(spec) => drop(spec.insert("dataSource".to_owned(), source)),
        _ => {}
    }
}

fn is_elsewhere(spec: &Map<String, Value>) -> bool {
    let namespace = spec.get("dataSourceRef").and_then(|source| source["namespace"].as_str());
    namespace.is_some_and(|namespace| !namespace.is_empty())
}

fn is_claim_or_snapshot(spec: &Map<String, Value>) -> bool {
    let Some(source) = spec.get("dataSource") else { return true };
    let group = source["apiGroup"].as_str().unwrap_or_default();
    let kind = source["kind"].as_str().unwrap_or_default();
    matches!((group, kind), ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot"))
}
