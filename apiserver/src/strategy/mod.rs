//! What is special about a kind when its objects are written: what the server fills in, keeps, and refuses to forget.
//!
//! Pure: an object and its predecessor in, the object as it should be stored out.

mod certificates;
mod jobs;
mod namespaces;
pub mod pods;
mod reset;
mod secrets;
mod services;

pub use reset::reset_fields;

use crate::ambient::Ambient;
use crate::auth::User;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;
use serde_json::{Value, json};

/// What strategies may look at besides the object.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    pub ambient: &'a Ambient,
}

/// Which part of an object a request is about. The rest stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Main,
    Status,
    /// The finalizers in a namespace's spec.
    Finalizers,
    /// The conditions that approve or deny a certificate.
    Approval,
    EphemeralContainers,
    Resize,
}

impl Part {
    /// The part that a subresource is about; `None` for those that are no part of the object.
    pub fn of_subresource(name: Option<&str>) -> Option<Self> {
        Some(match name {
            None => Self::Main,
            Some("status") => Self::Status,
            Some("finalize") => Self::Finalizers,
            Some("approval") => Self::Approval,
            Some("ephemeralcontainers") => Self::EphemeralContainers,
            Some("resize") => Self::Resize,
            Some(_) => return None,
        })
    }

    /// The subresource that is about this part; empty for the object itself.
    pub fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Finalizers => "finalize",
            Self::Approval => "approval",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
        }
    }
}

/// Brings an object into the form in which it is kept, before anybody is said to own its fields.
pub fn settle(resource: &ResourceDef, object: &mut Object) {
    if (&*resource.group, &*resource.plural) == ("", "secrets") {
        secrets::merge_string_data(object);
    }
}

/// Completes a new object, defaults already filled in.
pub fn prepare_create(resource: &ResourceDef, object: &mut Object, around: &Surroundings<'_>, user: &User) {
    if resource.has_status() && !keeps_status(resource) {
        object.map_mut().remove("status");
    }
    match (&*resource.group, &*resource.plural) {
        ("", "namespaces") => namespaces::prepare_create(object),
        ("", "pods") => pods::prepare_create(object),
        ("", "services") => services::prepare_create(object, around.ambient),
        ("", "persistentvolumeclaims" | "persistentvolumes") => set_status(object, json!({ "phase": "Pending" })),
        ("", "serviceaccounts") => drop(object.map_mut().remove("secrets")),
        ("batch", "jobs") => jobs::prepare_create(object),
        ("certificates.k8s.io", "certificatesigningrequests") => certificates::prepare_create(object, user),
        _ => {}
    }
}

/// Nodes report their own status when they register.
fn keeps_status(resource: &ResourceDef) -> bool {
    resource.plural == "nodes"
}

fn set_status(object: &mut Object, status: Value) {
    object.map_mut().insert("status".to_owned(), status);
}

/// Metadata that only the server writes.
const KEPT: [&str; 6] =
    ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"];

/// Takes from the old object whatever a request about `part` may not change, and counts the change.
pub fn prepare_update(resource: &ResourceDef, part: Part, new: &mut Object, old: &Object, around: &Surroundings<'_>) {
    for field in KEPT {
        new.take_metadata_from(old, field);
    }
    new.set_metadata("name", old.name());
    new.take_metadata_from(old, "namespace");
    match part {
        Part::Main => prepare_main(resource, new, old, around),
        Part::Status => {
            keep_all_but(new, old, "status");
            if resource.plural == "certificatesigningrequests" {
                certificates::keep_approval(new, old);
            }
        }
        Part::Finalizers => namespaces::keep_all_but_finalizers(new, old),
        Part::Approval => certificates::keep_all_but_approval(new, old),
        Part::EphemeralContainers => pods::keep_all_but(new, old, "ephemeralContainers"),
        Part::Resize => pods::keep_all_but(new, old, "containers"),
    }
    if resource.traits.generation && asks_for_something_else(new, old) {
        new.set_metadata("generation", old.generation() + 1);
    }
}

fn prepare_main(resource: &ResourceDef, new: &mut Object, old: &Object, around: &Surroundings<'_>) {
    if resource.has_status() {
        new.take_from(old, "status");
    }
    match (&*resource.group, &*resource.plural) {
        ("", "namespaces") => namespaces::keep_finalizers(new, old),
        ("", "services") => services::prepare_update(new, old, around.ambient),
        ("batch", "jobs") => jobs::prepare_update(new, old),
        ("certificates.k8s.io", "certificatesigningrequests") => new.take_from(old, "spec"),
        _ => {}
    }
}

/// Metadata may come along with a status; labels and everything outside of it may not.
fn keep_all_but(new: &mut Object, old: &Object, field: &str) {
    let others: Vec<String> = new.map().keys().chain(old.map().keys()).cloned().collect();
    for other in others.iter().filter(|other| *other != field && *other != "metadata") {
        new.take_from(old, other);
    }
    new.take_metadata_from(old, "labels");
}

/// Everything but metadata and status is what somebody asks for.
fn asks_for_something_else(new: &Object, old: &Object) -> bool {
    let asked = |object: &Object| {
        let mut map = object.map().clone();
        map.remove("metadata");
        map.remove("status");
        map
    };
    asked(new) != asked(old)
}

/// Nothing holds a deleted object any more.
pub fn is_let_go(object: &Object) -> bool {
    let grace = object.pointer(&["metadata", "deletionGracePeriodSeconds"]).and_then(Value::as_i64);
    let held = object.finalizers().next().is_some() || namespaces::is_held(object);
    object.is_deleting() && !held && grace.unwrap_or(0) == 0
}

/// What else changes in an object when it starts to go.
pub fn mark_deleted(resource: &ResourceDef, object: &mut Object) {
    if (&*resource.group, &*resource.plural) == ("", "namespaces") {
        namespaces::mark_deleted(object);
    }
}

/// Some objects are here to stay.
pub fn may_delete(resource: &ResourceDef, name: &str) -> Result<(), ApiError> {
    let lasting = (&*resource.group, &*resource.plural) == ("", "namespaces")
        && matches!(name, "default" | "kube-system" | "kube-public");
    if lasting {
        return Err(ApiError::forbidden(resource, name, "this namespace may not be deleted"));
    }
    Ok(())
}
