//! What is special about a kind when its objects are written: what the server fills in, keeps, and refuses to forget.
//!
//! Pure: an object and its predecessor in, the object as it should be stored out.

mod accounts;
mod certificates;
mod daemons;
pub mod definitions;
mod jobs;
mod leases;
mod namespaces;
mod parts;
pub mod pods;
mod reset;
mod secrets;
mod services;
mod volumes;

pub use certificates::check_request;
pub use parts::{check_change, has_own_rules};

pub use reset::reset_fields;

use crate::ambient::Ambient;
use crate::auth::User;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;
use crate::options::DeleteOptions;
use openapi::scalar::time::Instant;
use serde_json::Value;

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
    match (&*resource.group, &*resource.plural) {
        ("", "secrets") => secrets::merge_string_data(object),
        ("apps", "daemonsets") => daemons::settle(object),
        _ => {}
    }
}

/// Completes a new object, defaults already filled in.
pub fn prepare_create(resource: &ResourceDef, object: &mut Object, around: &Surroundings<'_>, user: &User) {
    if resource.has_status() && !keeps_status(resource) {
        object.map_mut().remove("status");
    }
    let now = around.ambient.now();
    match (&*resource.group, &*resource.plural) {
        ("", "namespaces") => namespaces::prepare_create(object),
        ("", "pods") => pods::prepare_create(object, now),
        ("", "services") => services::prepare_create(object),
        ("", "persistentvolumeclaims") => volumes::prepare_claim(object),
        ("", "persistentvolumes") => volumes::prepare_volume(object, now),
        ("", "serviceaccounts") => accounts::keep_names_of_secrets(object),
        ("", "limitranges") if object.name().is_empty() => object.set_metadata("name", around.ambient.uid()),
        ("apps", "daemonsets") => daemons::prepare_create(object),
        ("batch", "jobs") => jobs::prepare_create(object),
        ("certificates.k8s.io", "certificatesigningrequests") => certificates::prepare_create(object, user),
        ("coordination.k8s.io", "leases") => leases::drop_coordination(object, None),
        _ => {}
    }
}

/// Nodes report their own status when they register.
fn keeps_status(resource: &ResourceDef) -> bool {
    resource.plural == "nodes"
}

/// Metadata that only the server writes.
const KEPT: [&str; 6] =
    ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"];

/// Metadata that its author writes.
const WRITTEN: [&str; 4] = ["labels", "annotations", "finalizers", "ownerReferences"];

/// Takes from the old object whatever a request about `part` may not change, and counts the change.
pub fn prepare_update(resource: &ResourceDef, part: Part, new: &mut Object, old: &Object, around: &Surroundings<'_>) {
    for field in KEPT {
        new.take_metadata_from(old, field);
    }
    new.set_metadata("name", old.name());
    new.take_metadata_from(old, "namespace");
    let now = around.ambient.now();
    match part {
        Part::Main => prepare_main(resource, new, old),
        Part::Status => prepare_status(resource, new, old, now),
        Part::Finalizers => namespaces::keep_all_but_finalizers(new, old),
        Part::Approval => certificates::keep_all_but_approval(new, old, now),
        Part::EphemeralContainers => pods::keep_all_but_ephemeral(new, old),
        Part::Resize => pods::keep_all_but_sizes(new, old),
    }
    if matches!(part, Part::EphemeralContainers | Part::Resize) {
        keep_metadata(new, old, &WRITTEN);
    }
    if part != Part::Status && counts(resource, new, old) {
        new.set_metadata("generation", old.generation() + 1);
    }
}

fn prepare_main(resource: &ResourceDef, new: &mut Object, old: &Object) {
    if resource.has_status() {
        new.take_from(old, "status");
    }
    match (&*resource.group, &*resource.plural) {
        ("", "namespaces") => namespaces::keep_finalizers(new, old),
        ("", "pods") => pods::keep_resources(new, old),
        ("", "services") => services::prepare_update(new, old),
        ("", "serviceaccounts") => accounts::keep_names_of_secrets(new),
        ("", "persistentvolumeclaims") => volumes::set_sources(new, Some(old)),
        ("apps", "daemonsets") => daemons::prepare_update(new, old),
        ("certificates.k8s.io", "certificatesigningrequests") => new.take_from(old, "spec"),
        ("coordination.k8s.io", "leases") => leases::drop_coordination(new, Some(old)),
        _ => {}
    }
}

/// Everything but the status stays; of the metadata, what the kind protects.
fn prepare_status(resource: &ResourceDef, new: &mut Object, old: &Object, now: Instant) {
    let others: Vec<String> = new.map().keys().chain(old.map().keys()).cloned().collect();
    for other in others.iter().filter(|other| *other != "status" && *other != "metadata") {
        new.take_from(old, other);
    }
    keep_metadata(new, old, kept_by_status(resource));
    match (&*resource.group, &*resource.plural) {
        ("", "pods") => pods::prepare_status(new, old),
        ("apps", "daemonsets") => daemons::keep_number(new, old),
        ("", "persistentvolumes") => volumes::prepare_volume_status(new, old, now),
        ("certificates.k8s.io", "certificatesigningrequests") => certificates::keep_approval(new, old, now),
        _ => {}
    }
}

/// Most kinds let a status come with other metadata.
fn kept_by_status(resource: &ResourceDef) -> &'static [&'static str] {
    if resource.custom().is_some() {
        return &WRITTEN;
    }
    match (&*resource.group, &*resource.plural) {
        ("apps", "deployments") => &["labels"],
        ("", "pods") => &["ownerReferences"],
        ("admissionregistration.k8s.io", _) | ("apiregistration.k8s.io", _) | ("storage.k8s.io", _) => &WRITTEN,
        ("flowcontrol.apiserver.k8s.io", _) | ("resource.k8s.io", _) => &WRITTEN,
        ("certificates.k8s.io", "podcertificaterequests") | ("networking.k8s.io", "servicecidrs") => &WRITTEN,
        _ => &[],
    }
}

fn keep_metadata(new: &mut Object, old: &Object, fields: &[&str]) {
    for field in fields {
        new.take_metadata_from(old, field);
    }
}

/// The change is one of what somebody asks for, and the kind counts those.
fn counts(resource: &ResourceDef, new: &Object, old: &Object) -> bool {
    let differs = |field: &str| new.pointer(&["metadata", field]) != old.pointer(&["metadata", field]);
    match (&*resource.group, &*resource.plural) {
        // It starts at 1, and nothing of it that matters can change.
        ("scheduling.k8s.io", "priorityclasses") => false,
        // It starts at nothing.
        ("storage.k8s.io", "csidrivers") => asks_for_something_else(new, old),
        ("apps", "deployments") => differs("annotations") || asks_for_something_else(new, old),
        ("discovery.k8s.io", "endpointslices") => differs("labels") || asks_for_something_else(new, old),
        _ => resource.traits.generation && asks_for_something_else(new, old) || is_custom_change(resource, new, old),
    }
}

/// A custom resource without a separate status has nothing that is not asked for.
fn is_custom_change(resource: &ResourceDef, new: &Object, old: &Object) -> bool {
    resource.custom().is_some() && !resource.has_status() && new.get("status") != old.get("status")
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

/// That an object is to go counts as a change of what is asked of it, but for definitions.
pub fn counts_its_end(resource: &ResourceDef) -> bool {
    resource.group != "apiextensions.k8s.io"
}

/// Going is something that happens to the object, however soon it is gone.
pub fn has_an_end(resource: &ResourceDef) -> bool {
    matches!(
        (&*resource.group, &*resource.plural),
        ("", "namespaces") | ("apiextensions.k8s.io", "customresourcedefinitions")
    )
}

/// What whoever deletes objects should know.
pub fn warnings_of_delete(resource: &ResourceDef, options: &DeleteOptions) -> Vec<String> {
    match (&*resource.group, &*resource.plural) {
        ("batch", "jobs") => jobs::warnings_of_delete(options),
        _ => Vec::new(),
    }
}

/// What else changes in an object when it starts to go.
pub fn mark_deleted(resource: &ResourceDef, object: &mut Object, now: Instant) {
    match (&*resource.group, &*resource.plural) {
        ("", "namespaces") => namespaces::mark_deleted(object),
        ("apiextensions.k8s.io", "customresourcedefinitions") => definitions::mark_deleted(object, now),
        _ => {}
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
