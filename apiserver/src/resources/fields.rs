//! The fields that objects can be selected by.

use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::jsonpath::simple;
use crate::object::Peek;
use crate::selector::FieldSelector;
use std::borrow::Cow;

/// A field that can be selected by, where its value stands, and what an absent one counts as.
type Selectable = (&'static str, &'static [&'static str], &'static str);

const PODS: &[Selectable] = &[
    ("spec.nodeName", &["spec", "nodeName"], ""),
    ("spec.restartPolicy", &["spec", "restartPolicy"], ""),
    ("spec.schedulerName", &["spec", "schedulerName"], ""),
    ("spec.serviceAccountName", &["spec", "serviceAccountName"], ""),
    ("spec.hostNetwork", &["spec", "hostNetwork"], "false"),
    ("status.phase", &["status", "phase"], ""),
    ("status.podIP", &["status", "podIP"], ""),
    ("status.podIPs", &["status", "podIP"], ""),
    ("status.nominatedNodeName", &["status", "nominatedNodeName"], ""),
];

const EVENTS: &[Selectable] = &[
    ("involvedObject.kind", &["involvedObject", "kind"], ""),
    ("involvedObject.namespace", &["involvedObject", "namespace"], ""),
    ("involvedObject.name", &["involvedObject", "name"], ""),
    ("involvedObject.uid", &["involvedObject", "uid"], ""),
    ("involvedObject.apiVersion", &["involvedObject", "apiVersion"], ""),
    ("involvedObject.resourceVersion", &["involvedObject", "resourceVersion"], ""),
    ("involvedObject.fieldPath", &["involvedObject", "fieldPath"], ""),
    ("reason", &["reason"], ""),
    ("reportingComponent", &["reportingComponent"], ""),
    ("source", &["source", "component"], ""),
    ("type", &["type"], ""),
];

/// The same through `events.k8s.io`, where the object is called what it is regarding.
const REGARDING: &[Selectable] = &[
    ("regarding.kind", &["involvedObject", "kind"], ""),
    ("regarding.namespace", &["involvedObject", "namespace"], ""),
    ("regarding.name", &["involvedObject", "name"], ""),
    ("regarding.uid", &["involvedObject", "uid"], ""),
    ("regarding.apiVersion", &["involvedObject", "apiVersion"], ""),
    ("regarding.resourceVersion", &["involvedObject", "resourceVersion"], ""),
    ("regarding.fieldPath", &["involvedObject", "fieldPath"], ""),
    ("reason", &["reason"], ""),
    ("reportingController", &["reportingComponent"], ""),
    ("type", &["type"], ""),
];

fn selectable(resource: &ResourceDef) -> &'static [Selectable] {
    match (&*resource.group, &*resource.plural) {
        ("", "pods") => PODS,
        ("", "events") => EVENTS,
        ("events.k8s.io", "events") => REGARDING,
        ("", "nodes") => &[("spec.unschedulable", &["spec", "unschedulable"], "false")],
        ("", "namespaces") => &[("status.phase", &["status", "phase"], ""), ("name", &["metadata", "name"], "")],
        ("", "secrets") => &[("type", &["type"], "")],
        ("", "services") => &[("spec.clusterIP", &["spec", "clusterIP"], ""), ("spec.type", &["spec", "type"], "")],
        ("", "replicationcontrollers") | ("apps", "replicasets") => {
            &[("status.replicas", &["status", "replicas"], "0")]
        }
        ("batch", "jobs") => &[("status.successful", &["status", "succeeded"], "0")],
        ("certificates.k8s.io", _) => &[("spec.signerName", &["spec", "signerName"], "")],
        ("resource.k8s.io", "resourceslices") => &[
            ("spec.nodeName", &["spec", "nodeName"], ""),
            ("spec.driver", &["spec", "driver"], ""),
            ("spec.pool.name", &["spec", "pool", "name"], ""),
        ],
        ("storage.k8s.io", "csinodes") | ("networking.k8s.io", "ipaddresses") => {
            &[("spec.parentRef.name", &["spec", "parentRef", "name"], "")]
        }
        _ => &[],
    }
}

/// A field that a definition says its objects can be selected by.
fn custom<'a>(resource: &'a ResourceDef, field: &str) -> Option<&'a simple::Selectable> {
    resource.custom()?.schema.selectable.iter().find(|found| found.name() == field)
}

/// Most are found without reading the whole object.
fn custom_value<'a>(field: &simple::Selectable, object: Peek<'a>) -> Cow<'a, str> {
    match field.fields() {
        Some(path) => object.text(&path).unwrap_or_default(),
        None => field.value(&object.value(&[]).unwrap_or_default()).into(),
    }
}

/// Refuses a selector that names a field which cannot be selected by.
pub(super) fn check(resource: &ResourceDef, selector: &FieldSelector) -> Result<(), ApiError> {
    for term in selector.terms() {
        let known = match &*term.field {
            "metadata.name" => true,
            "metadata.namespace" => resource.namespaced,
            field => selectable(resource).iter().any(|(name, ..)| *name == field) || custom(resource, field).is_some(),
        };
        if !known {
            return Err(ApiError::bad_request(refusal(resource, &term.field)));
        }
    }
    Ok(())
}

fn refusal(resource: &ResourceDef, field: &str) -> String {
    match (&*resource.group, &*resource.plural) {
        ("batch", "jobs") => return format!("field label {field:?} not supported for Job"),
        ("resource.k8s.io", "resourceslices") => {
            let (version, kind) = (resource.api_version(), &resource.kind);
            return format!("field label not supported for {version}, Kind={kind}: {field}");
        }
        _ => {}
    }
    if selectable(resource).is_empty() && resource.custom().is_none() {
        let known = if resource.namespaced { "\"metadata.name\", \"metadata.namespace\"" } else { "\"metadata.name\"" };
        format!("{field:?} is not a known field selector: only {known}")
    } else {
        format!("field label not supported: {field}")
    }
}

/// The value of a field that [`check`] has found to be selectable.
pub(super) fn value<'a>(resource: &ResourceDef, object: Peek<'a>, field: &str) -> Option<Cow<'a, str>> {
    match field {
        "metadata.name" => object.text(&["metadata", "name"]),
        "metadata.namespace" => object.text(&["metadata", "namespace"]),
        // Newer reporters name themselves in one place only.
        "source" => {
            let own = object.text(&["source", "component"]).filter(|name| !name.is_empty());
            own.or_else(|| object.text(&["reportingComponent"])).or(Some(Cow::Borrowed("")))
        }
        _ if resource.custom().is_some() => custom(resource, field).map(|field| custom_value(field, object)),
        _ => {
            let (_, path, absent) = selectable(resource).iter().find(|(name, ..)| *name == field)?;
            Some(object.text(path).unwrap_or(Cow::Borrowed(absent)))
        }
    }
}
