//! Labels and annotations under `kcp.io` are the server's: nobody else sets or changes them, and whoever leaves them out
//! of an update finds them as they were.

use super::words::{CLUSTER, OWNER, PATH, REQUIRED_GROUPS};
use crate::definitions::CARRIED;
use apiserver::attend::Attending;
use apiserver::custom::KEPT;
use apiserver::error::ApiError;
use apiserver::object::Object;
use serde_json::{Map, Value};

/// Said by the server about every object that has them; what somebody else says about a new one does not count.
const SAID_ANYWAY: [&str; 4] = [CLUSTER, PATH, OWNER, REQUIRED_GROUPS];

/// By which users say what they want.
const THEIRS: [&str; 3] = [
    "experimental.quota.kcp.io/cluster-scoped",
    "apiexports.apis.kcp.io/skip-endpointslice",
    "experimental.tenancy.kcp.io/is-mount",
];

const ADMINISTRATORS: &str = "system:kcp:admin";

pub(super) fn keep(object: &mut Object, write: &Attending<'_>) -> Result<(), ApiError> {
    if write.user.within.is_none() && write.user.is_in(ADMINISTRATORS) {
        return Ok(());
    }
    for (field, word) in [("annotations", "annotation"), ("labels", "label")] {
        let all = |object: &Object| object.pointer(&["metadata", field]).and_then(Value::as_object).cloned();
        let (old, new) = (write.old.and_then(all).unwrap_or_default(), all(object));
        let Some(kept) = kept(&old, new.unwrap_or_default()).map_err(|key| {
            let why = format!("modification of reserved {word}: {key:?}");
            ApiError::forbidden(&write.at.resource, object.name(), &why)
        })?
        else {
            continue;
        };
        object.set_metadata(field, kept);
    }
    Ok(())
}

/// What there should be instead of `new`, if that is something else; or what somebody tried to change.
fn kept(old: &Map<String, Value>, mut new: Map<String, Value>) -> Result<Option<Map<String, Value>>, String> {
    let changed: Vec<String> = new
        .iter()
        .filter(|(key, value)| is_reserved(key) && !key.starts_with(KEPT) && old.get(*key) != Some(value))
        .map(|(key, _)| key.clone())
        .collect();
    let missing: Vec<String> = old.keys().filter(|key| is_reserved(key) && !new.contains_key(*key)).cloned().collect();
    if changed.is_empty() && missing.is_empty() {
        return Ok(None);
    }
    for key in changed {
        if old.contains_key(&key) || !SAID_ANYWAY.contains(&key.as_str()) {
            return Err(key);
        }
        new.remove(&key);
    }
    for key in missing {
        let value = old[&key].clone();
        new.insert(key, value);
    }
    Ok(Some(new))
}

fn is_reserved(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else { return false };
    (domain == "kcp.io" || domain.ends_with(".kcp.io")) && !THEIRS.contains(&key) && !CARRIED.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(old: Value, new: Value, expected: Result<Option<Value>, &str>) {
        let map = |tree: Value| tree.as_object().unwrap().clone();
        let found = kept(&map(old), map(new)).map(|kept| kept.map(Value::Object));
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn what_is_reserved_is_neither_set_nor_changed_nor_lost() {
        let own = "core.kcp.io/max-total-objects";
        check(json!({}), json!({ "a": "b", "example.com/kcp.io": "x", "notkcp.io/a": "x" }), Ok(None));
        check(json!({}), json!({ own: "1" }), Err(own));
        check(json!({ own: "1" }), json!({ own: "2" }), Err(own));
        check(json!({ own: "1" }), json!({ own: "1", "a": "b" }), Ok(None));
        check(json!({ own: "1", "a": "b" }), json!({}), Ok(Some(json!({ own: "1" }))));
        check(json!({}), json!({ "kcp.io/path": "root:victim", "a": "b" }), Ok(Some(json!({ "a": "b" }))));
        check(json!({ "kcp.io/path": "root:a" }), json!({ "kcp.io/path": "root:b" }), Err("kcp.io/path"));
        // What other versions know of an object is its author's, and is not lost by whoever does not know of it.
        let kept = "preserve.conversion.apis.kcp.io/v2";
        check(json!({ kept: "1" }), json!({ kept: "2" }), Ok(None));
        check(json!({ kept: "1" }), json!({}), Ok(Some(json!({ kept: "1" }))));
        check(json!({}), json!({ "experimental.quota.kcp.io/cluster-scoped": "true" }), Ok(None));
    }
}
