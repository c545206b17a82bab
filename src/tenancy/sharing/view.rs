//! What an exporter sees of kinds that are not its own: bindings to its export, and what was claimed and accepted.

use super::window::{binding_in, is_to};
use super::words::BINDINGS;
use crate::tenancy::words::branded;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, Peek};
use apiserver::place::Workspace;
use apiserver::selector::LabelSelector;
use apiserver::view::View;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use storage::{Change, Key, KeyRange, Revision, Version};

/// Bindings to an export.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) home: Workspace,
    pub(super) export: String,
}

impl View for Bound {
    fn sees(&self, _: &Key, value: &[u8]) -> bool {
        is_to(Peek::of(value), &self.home, &self.export)
    }

    fn shown(&self, key: &Key, value: &Bytes) -> Bytes {
        branded(key, value)
    }
}

/// Objects that were claimed and accepted.
#[derive(Debug)]
pub(super) struct Claimed {
    client: Client,
    bound: Bound,
    group: String,
    plural: String,
    identity: String,
    onto: Workspace,
    /// What one workspace accepted, and as of which revision: keys come workspace by workspace. Nothing else is locked
    /// while this is held.
    last: Mutex<Option<(Workspace, Revision, Accepted)>>,
}

/// What of a kind is accepted.
#[derive(Clone, Debug)]
enum Accepted {
    Nothing,
    Everything,
    These(Box<LabelSelector>, Value),
}

impl Claimed {
    pub(super) fn new(
        client: Client,
        bound: Bound,
        (group, plural, identity): (&str, &str, &str),
        onto: &Workspace,
    ) -> Self {
        let [group, plural, identity] = [group, plural, identity].map(str::to_owned);
        Self { client, bound, group, plural, identity, onto: onto.clone(), last: Mutex::default() }
    }

    fn accepted(&self, workspace: &Workspace) -> Accepted {
        let now = self.client.revision();
        if let Some((of, at, accepted)) = &*self.last.lock()
            && of == workspace
            && *at == now
        {
            return accepted.clone();
        }
        let accepted = self.read(workspace);
        *self.last.lock() = Some((workspace.clone(), now, accepted.clone()));
        accepted
    }

    fn read(&self, workspace: &Workspace) -> Accepted {
        let Some(binding) = binding_in(&self.client, workspace, &self.bound.home, &self.bound.export) else {
            return Accepted::Nothing;
        };
        let word = |claim: &Value, field: &str| claim.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut claims = binding.items(&["status", "appliedPermissionClaims"]);
        let Some(claim) = claims.find(|claim| {
            word(claim, "group") == self.group
                && word(claim, "resource") == self.plural
                && word(claim, "identityHash") == self.identity
        }) else {
            return Accepted::Nothing;
        };
        selected(claim, self.onto.is_everywhere())
    }
}

/// What a claim is about. Whoever looks at all workspaces lists and watches.
fn selected(claim: &Value, listing: bool) -> Accepted {
    let mut verbs = claim["verbs"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if listing && !verbs.any(|verb| matches!(verb, "*" | "list" | "watch")) {
        return Accepted::Nothing;
    }
    let selector = &claim["selector"];
    if selector["matchAll"] == true {
        return Accepted::Everything;
    }
    let says = |field: &str| selector.get(field).is_some_and(|value| *value != Value::Null);
    match LabelSelector::from_object(selector) {
        // One that cannot be read, or says nothing, selects nothing.
        Ok(labels) if says("matchLabels") || says("matchExpressions") => {
            Accepted::These(Box::new(labels), selector["matchLabels"].clone())
        }
        _ => Accepted::Nothing,
    }
}

impl View for Claimed {
    fn sees(&self, key: &Key, value: &[u8]) -> bool {
        let Some(workspace) = keyspace::workspace(key) else { return false };
        match self.accepted(&workspace) {
            Accepted::Nothing => false,
            Accepted::Everything => true,
            Accepted::These(labels, _) => labels.matches(Peek::of(value).labels().as_ref()),
        }
    }

    fn shown(&self, key: &Key, value: &Bytes) -> Bytes {
        branded(key, value)
    }

    /// Labels that a claim is bound to are put on what is written because of it.
    fn require(&self, object: &mut Object, _: Option<&Object>) -> Result<(), ApiError> {
        let refused = |why: &str| ApiError::forbidden_request(&self.group, &self.plural, object.name(), why);
        let (labels, wanted) = match self.accepted(&self.onto) {
            Accepted::Everything => return Ok(()),
            Accepted::Nothing => return Err(refused("failed to find suitable reason to allow access in APIBinding")),
            Accepted::These(labels, wanted) => (labels, wanted),
        };
        let mut own = object.labels().cloned().unwrap_or_default();
        for (name, value) in wanted.as_object().into_iter().flatten() {
            if own.get(name).is_some_and(|found| found != value) {
                let value = value.as_str().unwrap_or_default();
                return Err(refused(&format!("protected label {name} must have value {value}")));
            }
            own.insert(name.clone(), value.clone());
        }
        if !labels.matches(Some(&own)) {
            return Err(refused("the object is not one that the claim is about"));
        }
        object.set_metadata("labels", own);
        Ok(())
    }

    fn depends_on(&self) -> Option<KeyRange> {
        let place = self.client.at(BINDINGS, &self.onto, None).ok()?;
        keyspace::range(&place).ok()
    }

    fn is_moved_by(&self, change: &Change) -> bool {
        let told = |version: Option<&Version>| {
            let binding = Peek::new(version?);
            let ours = is_to(binding, &self.bound.home, &self.bound.export);
            ours.then(|| binding.raw(&["status", "appliedPermissionClaims"]).map(<[u8]>::to_vec)).flatten()
        };
        told(change.previous.as_ref()) != told(change.current.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_claim_selects_what_it_says_and_nothing_if_it_says_nothing() {
        let check = |claim: Value, listing: bool, expected: &str| {
            let told = match selected(&claim, listing) {
                Accepted::Nothing => "nothing".to_owned(),
                Accepted::Everything => "everything".to_owned(),
                Accepted::These(labels, _) => labels.to_string(),
            };
            assert_eq!(told, expected, "{claim}");
        };
        check(json!({ "verbs": ["*"], "selector": { "matchAll": true } }), true, "everything");
        check(json!({ "verbs": ["get"], "selector": { "matchAll": true } }), true, "nothing");
        check(json!({ "verbs": ["get"], "selector": { "matchAll": true } }), false, "everything");
        check(json!({ "verbs": ["list"], "selector": {} }), true, "nothing");
        check(json!({ "verbs": ["list"], "selector": { "matchLabels": { "a": "b" } } }), true, "a=b");
        check(json!({ "verbs": ["list"], "selector": { "matchExpressions": [{ "key": "a" }] } }), true, "nothing");
    }
}
