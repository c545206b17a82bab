//! Storage that is in use is not let go: a claim while a pod mounts it, a volume while it is bound, a class of attributes
//! while either names it. Admission puts the finalizer there; here it is taken away when it is no longer needed.

use crate::controller::{Action, Controller, Reconciler, changes_of};
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::{Collection, ObjectRef};
use apiserver::strategy::Part;
use serde_json::{Value, json};
use std::time::Duration;

const PODS: (&str, &str, &str) = ("", "v1", "pods");
const CLAIMS: (&str, &str, &str) = ("", "v1", "persistentvolumeclaims");
const VOLUMES: (&str, &str, &str) = ("", "v1", "persistentvolumes");
const CLASSES: (&str, &str, &str) = ("storage.k8s.io", "v1", "volumeattributesclasses");

/// How soon a thing that is in use is looked at again: few are, and never for long.
const AGAIN: Duration = Duration::from_secs(1);

pub(super) fn controller(client: &Client) -> Controller<Protection> {
    let followed = |resource| {
        let placing = client.clone();
        changes_of(client, resource, move |seen: &Seen| going(seen).then(|| placing.place_of(&seen.key))?.map(Key))
    };
    Controller::new(Protection { client: client.clone() })
        .source(followed(CLAIMS))
        .source(followed(VOLUMES))
        .source(followed(CLASSES))
}

/// Only what is on its way out is worth a look.
fn going(seen: &Seen) -> bool {
    let now = seen.now.as_ref().and_then(|version| Object::parse(&version.value).ok());
    now.is_some_and(|object| object.is_deleting() && object.finalizers().any(|name| PROTECTIONS.contains(&name)))
}

const PROTECTIONS: [&str; 3] =
    ["kubernetes.io/pvc-protection", "kubernetes.io/pv-protection", "kubernetes.io/vac-protection"];

/// One object that is protected. Objects are told apart by where they are.
#[derive(Clone, Debug)]
pub(super) struct Key(ObjectRef);

impl Key {
    fn parts(&self) -> (&str, &str, Option<&str>, &str) {
        (self.0.workspace().as_str(), &self.0.resource().plural, self.0.namespace(), &self.0.name)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for Key {}

impl std::hash::Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

pub(super) struct Protection {
    client: Client,
}

impl Reconciler for Protection {
    type Key = Key;

    fn name(&self) -> &'static str {
        "protection"
    }

    async fn reconcile(&self, Key(at): &Key) -> Result<Action, ApiError> {
        let Some(object) = self.client.get(at).await? else { return Ok(Action::Done) };
        let users = self.users(at).await?;
        match decide(&object, &users) {
            Verdict::Nothing => Ok(Action::Done),
            Verdict::Wait => Ok(Action::After(AGAIN)),
            Verdict::Release(patch) => {
                self.client.merge(at, Part::Main, &patch).await?;
                Ok(Action::Done)
            }
        }
    }
}

impl Protection {
    /// Everything that could be using the object.
    async fn users(&self, at: &ObjectRef) -> Result<Vec<Object>, ApiError> {
        let place = |resource| self.client.at(resource, at.workspace(), at.namespace());
        let places: Vec<Collection> = match &*at.resource().plural {
            "persistentvolumeclaims" => vec![place(PODS)?],
            "volumeattributesclasses" => vec![place(CLAIMS)?, place(VOLUMES)?],
            _ => Vec::new(),
        };
        let mut users = Vec::new();
        for place in places {
            users.extend(self.client.list(&place).await?);
        }
        Ok(users)
    }
}

#[derive(Debug, PartialEq)]
enum Verdict {
    Nothing,
    Wait,
    Release(Value),
}

fn decide(object: &Object, users: &[Object]) -> Verdict {
    let protected = object.finalizers().any(|name| PROTECTIONS.contains(&name));
    if !object.is_deleting() || !protected {
        return Verdict::Nothing;
    }
    let bound = object.kind() == "PersistentVolume" && object.text(&["status", "phase"]) == "Bound";
    if bound || users.iter().any(|user| uses(user, object)) {
        return Verdict::Wait;
    }
    let kept: Vec<&str> = object.finalizers().filter(|name| !PROTECTIONS.contains(name)).collect();
    let metadata = json!({ "finalizers": kept, "uid": object.uid(), "resourceVersion": object.resource_version() });
    Verdict::Release(json!({ "metadata": metadata }))
}

fn uses(user: &Object, object: &Object) -> bool {
    if user.kind() == "Pod" {
        let finished = matches!(user.text(&["status", "phase"]), "Succeeded" | "Failed");
        // A pod that no node runs holds nothing.
        return !finished && !user.text(&["spec", "nodeName"]).is_empty() && mounts(user, object.name());
    }
    let named = [&["spec", "volumeAttributesClassName"], &["status", "currentVolumeAttributesClassName"]];
    named.iter().any(|path| user.text(*path) == object.name())
}

fn mounts(pod: &Object, claim: &str) -> bool {
    let volumes = pod.pointer(&["spec", "volumes"]).and_then(Value::as_array);
    volumes.into_iter().flatten().any(|volume| {
        let direct = volume.pointer("/persistentVolumeClaim/claimName").is_some_and(|name| name == claim);
        let own = volume.get("ephemeral").is_some()
            && volume.get("name").and_then(Value::as_str).is_some_and(|name| claim == format!("{}-{name}", pod.name()));
        direct || own
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(tree: Value) -> Object {
        tree.try_into().unwrap()
    }

    fn claim(deleting: bool) -> Object {
        let at = if deleting { json!("2027-01-15T08:00:00Z") } else { Value::Null };
        object(json!({
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": "c", "uid": "u", "resourceVersion": "7", "deletionTimestamp": at,
                "finalizers": ["other/one", "kubernetes.io/pvc-protection"],
            },
        }))
    }

    fn pod(node: &str, phase: &str, claim: &str) -> Object {
        let volumes = json!([{ "name": "v", "persistentVolumeClaim": { "claimName": claim } }]);
        object(json!({
            "kind": "Pod", "metadata": { "name": "p" }, "spec": { "nodeName": node, "volumes": volumes },
            "status": { "phase": phase },
        }))
    }

    #[test]
    fn a_claim_waits_for_whoever_mounts_it_and_for_nobody_else() {
        assert_eq!(decide(&claim(false), &[]), Verdict::Nothing);
        assert_eq!(decide(&claim(true), &[pod("n", "Running", "c")]), Verdict::Wait);
        let metadata = json!({ "finalizers": ["other/one"], "uid": "u", "resourceVersion": "7" });
        let released = Verdict::Release(json!({ "metadata": metadata }));
        for user in [pod("", "Pending", "c"), pod("n", "Succeeded", "c"), pod("n", "Running", "d")] {
            assert_eq!(decide(&claim(true), &[user]), released);
        }
    }

    #[test]
    fn a_volume_waits_until_it_is_not_bound() {
        let volume = |phase: &str| {
            object(json!({
                "kind": "PersistentVolume", "status": { "phase": phase },
                "metadata": { "name": "v", "deletionTimestamp": "x", "finalizers": ["kubernetes.io/pv-protection"] },
            }))
        };
        assert_eq!(decide(&volume("Bound"), &[]), Verdict::Wait);
        assert!(matches!(decide(&volume("Available"), &[]), Verdict::Release(_)));
    }
}
