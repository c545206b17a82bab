//! The same object in another version of its resource. Two kinds have one: autoscalers, and events.

mod autoscaler;
mod event;

use crate::catalog::ResourceDef;
use crate::object::Object;

/// The object as it is stored.
///
/// Objects of custom resources stay in the version of the request until they are stored: see `resources::versions`.
pub(crate) fn to_storage(object: Object, resource: &ResourceDef) -> Object {
    if resource.custom().is_some() {
        return object;
    }
    let stored = &resource.stored;
    let api_version =
        if stored.group.is_empty() { stored.version.clone() } else { format!("{}/{}", stored.group, stored.version) };
    convert(object, &api_version)
}

/// The object as a version of its resource shows it.
pub(crate) fn from_storage(object: Object, resource: &ResourceDef) -> Object {
    convert(object, &resource.api_version())
}

/// The object in another version; the same object where it is in that version already.
pub(crate) fn convert(mut object: Object, api_version: &str) -> Object {
    if object.api_version() == api_version {
        return object;
    }
    match (object.kind(), api_version) {
        ("HorizontalPodAutoscaler", "autoscaling/v2") => autoscaler::to_v2(&mut object),
        ("HorizontalPodAutoscaler", "autoscaling/v1") => autoscaler::to_v1(&mut object),
        ("Event", "v1") => event::to_core(&mut object),
        ("Event", "events.k8s.io/v1") => event::to_events(&mut object),
        _ => {}
    }
    object.map_mut().insert("apiVersion".to_owned(), api_version.into());
    object
}
