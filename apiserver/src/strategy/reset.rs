//! The fields that a request never changes, whatever it says: nobody owns them by it.

use super::Part;
use crate::catalog::ResourceDef;
use crate::managed_fields::FieldSet;

/// A status is written without anything else of its object, and everything else without the status.
pub fn reset_fields(resource: &ResourceDef, part: Part) -> FieldSet {
    let requests = resource.plural == "certificatesigningrequests";
    match part {
        Part::Main if requests => FieldSet::of(&[&["spec"], &["status"]]),
        Part::Main if !resource.has_status() => FieldSet::default(),
        Part::Main | Part::Finalizers | Part::EphemeralContainers | Part::Resize => FieldSet::of(&[&["status"]]),
        Part::Approval => FieldSet::of(&[&["spec"], &["status", "certificate"]]),
        Part::Status => FieldSet::of(match (&*resource.group, &*resource.plural) {
            ("", "pods") => &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
            ("apps", "deployments") => &[&["spec"], &["metadata", "labels"]],
            _ if requests => &[&["spec"], &["status", "conditions"]],
            _ if keeps_metadata(resource) => &[&["spec"], &["metadata"]],
            _ => &[&["spec"]],
        }),
    }
}

/// The younger kinds take no metadata along with a status.
fn keeps_metadata(resource: &ResourceDef) -> bool {
    let younger = [
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "lifecycle.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    ];
    resource.custom().is_some()
        || younger.contains(&&*resource.group)
        || matches!(&*resource.plural, "servicecidrs" | "podcertificaterequests")
}
