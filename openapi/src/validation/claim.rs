//! PersistentVolumeClaim, and templates of claims.

use serde_json::Value;

use super::tree::{Errors, Node};
use super::{amount, meta, names, pod, selector};

pub(super) const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
pub(super) const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const IMMUTABLE: &str =
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
const RESIZE_STATES: [&str; 5] = [
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];
/// All other fields of a template's metadata make no sense.
const TEMPLATE_META: [&str; 2] = ["annotations", "labels"];

pub(super) fn claim(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    claim_spec(errors, &object.at("spec"));
}

/// The template of a claim that an ephemeral volume makes.
pub(super) fn claim_template(errors: &mut Errors, template: &Node) {
    let metadata = template.at("metadata");
    meta::annotations(errors, &metadata.at("annotations"));
    selector::labels(errors, &metadata.at("labels"));
    for (name, value) in metadata.entries().filter(|(name, _)| !TEMPLATE_META.contains(name)) {
        errors.forbidden(&value.placed_at(&metadata.at(name)), "cannot be set");
    }
    claim_spec(errors, &template.at("spec"));
}

pub(super) fn claim_spec(errors: &mut Errors, spec: &Node) {
    if spec.at("accessModes").is_empty() {
        errors.required(&spec.at("accessModes"), "at least 1 access mode is required");
    }
    selector::selector(errors, &spec.at("selector"));
    access_modes(errors, &spec.at("accessModes"));
    let requested = spec.at("resources").at("requests").key("storage");
    let storage = requested.placed_at(&spec.at("resources").key("storage"));
    if !storage.exists() {
        errors.required(&storage, "");
    } else if amount::nanos(storage.value()) <= 0 {
        errors.invalid_value(&storage, amount::text(storage.value()), "must be greater than zero");
    } else {
        pod::resource_quantity(errors, &storage, "storage");
    }
    class_name(errors, &spec.at("storageClassName"));
    let mode = spec.at("volumeMode");
    if mode.exists() && !VOLUME_MODES.contains(&mode.text()) {
        errors.unsupported(&mode, &VOLUME_MODES);
    }
    data_sources(errors, spec);
    class_name(errors, &spec.at("volumeAttributesClassName"));
}

pub(super) fn class_name(errors: &mut Errors, at: &Node) {
    if !at.is_empty() {
        errors.refuse(at, names::dns1123_subdomain(at.text()));
    }
}

pub(super) fn access_modes(errors: &mut Errors, modes: &Node) {
    let known = |mode: &str| ACCESS_MODES.contains(&mode);
    for mode in modes.texts().into_iter().filter(|mode| !known(mode)) {
        errors.unsupported_value(modes, mode, &ACCESS_MODES);
    }
    let alone = |mode: &&str| *mode == "ReadWriteOncePod";
    let texts = modes.texts();
    if texts.iter().any(alone) && texts.iter().any(|mode| known(mode) && !alone(mode)) {
        errors.forbidden(modes, "may not use ReadWriteOncePod with other access modes");
    }
}

fn data_sources(errors: &mut Errors, spec: &Node) {
    let (source, reference) = (spec.at("dataSource"), spec.at("dataSourceRef"));
    for at in [&source, &reference].into_iter().filter(|at| at.exists()) {
        for name in ["name", "kind"].map(|name| at.at(name)).iter().filter(|name| name.is_empty()) {
            errors.required(name, "");
        }
        let (group, kind) = (at.at("apiGroup"), at.at("kind"));
        if group.is_empty() && !kind.is("PersistentVolumeClaim") {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            errors.invalid_value(at, kind.text(), detail);
        }
        class_name(errors, &group);
        if !at.at("namespace").is_empty() {
            errors.refuse(&at.at("namespace"), names::dns1123_label(at.at("namespace").text()));
        }
    }
    let detail = if !reference.at("namespace").is_empty() && source.exists() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if source.exists() && reference.exists() && !same_source(&source, &reference) {
        "must match dataSourceRef"
    } else {
        return;
    };
    // Go shows its own path here, whose fields are not public.
    errors.invalid_value(spec, Value::Object(serde_json::Map::new()), detail);
}

fn same_source(source: &Node, reference: &Node) -> bool {
    ["apiGroup", "kind", "name"].iter().all(|name| source.at(name).value() == reference.at(name).value())
}

pub(super) fn claim_update(errors: &mut Errors, new: &Node, old: &Node) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let annotation = new.at("metadata").at("annotations").key(CLASS_ANNOTATION);
    let known = old.at("metadata").at("annotations").key(CLASS_ANNOTATION);
    if annotation.text() != known.text() {
        let place = new.at("metadata").at("annotations").at(CLASS_ANNOTATION);
        errors.invalid_value(&place, annotation.text(), "field is immutable");
    }
    let (now, then) = settled(new, old);
    if now != then {
        errors.forbidden(&spec, IMMUTABLE);
    }
    let size = |spec: &Node| amount::nanos(spec.at("resources").at("requests").at("storage").value());
    let held = amount::nanos(old.at("status").at("capacity").at("storage").value());
    if size(&spec) < size(&before) && size(&spec) <= held {
        let place = spec.at("resources").at("requests").at("storage");
        errors.forbidden(&place, "field can not be less than status.capacity");
    }
    let mode = spec.at("volumeMode");
    errors.immutable(&mode.placed_at(&Node::nowhere("volumeMode")), &before.at("volumeMode"));
    let class = spec.at("volumeAttributesClassName");
    if old.at("status").at("currentVolumeAttributesClassName").exists()
        && class.value() != before.at("volumeAttributesClassName").value()
        && class.is_empty()
    {
        let to = if class.exists() { "empty string" } else { "nil" };
        let detail = "is forbidden when status.currentVolumeAttributesClassName is not nil";
        errors.forbidden(&class, format!("update to {to} {detail}"));
    }
}

/// Both specs, alike in what may change.
fn settled(new: &Node, old: &Node) -> (Value, Value) {
    let (mut now, mut then) = (new.at("spec").value().clone(), old.at("spec").value().clone());
    let copy = |from: &Value, to: &mut Value, name: &str| {
        if let Value::Object(map) = to {
            match from.get(name) {
                Some(value) => map.insert(name.to_owned(), value.clone()),
                None => map.remove(name),
            };
        }
    };
    if old.at("spec").at("volumeName").is_empty() {
        copy(&now, &mut then, "volumeName");
    }
    if !old.at("spec").at("storageClassName").exists() {
        copy(&then, &mut now, "storageClassName");
    }
    if new.at("status").at("phase").is("Bound") {
        copy(&then, &mut now, "volumeAttributesClassName");
        if let (Some(now), Some(then)) = (now.pointer_mut("/resources/requests"), then.pointer("/resources/requests")) {
            copy(then, now, "storage");
        }
    }
    (now, then)
}

pub(super) fn claim_status(errors: &mut Errors, new: &Node, _old: &Node) {
    if new.at("metadata").at("resourceVersion").is_empty() {
        errors.required(&Node::nowhere("resourceVersion"), "");
    }
    if new.at("spec").at("accessModes").is_empty() {
        errors.required(&Node::nowhere("Spec").at("accessModes"), "");
    }
    let status = new.at("status");
    for (_, amount) in status.at("capacity").entries() {
        basic_amount(errors, &amount);
    }
    let resizing = status.at("allocatedResourceStatuses");
    for (name, state) in resizing.entries() {
        resource_key(errors, &resizing, name);
        if !RESIZE_STATES.contains(&state.text()) {
            errors.unsupported_value(&resizing, name, &RESIZE_STATES);
        }
    }
    let allocated = status.at("allocatedResources");
    for (name, amount) in allocated.entries() {
        let before = errors.len();
        resource_key(errors, &allocated, name);
        if errors.len() > before {
            continue;
        }
        basic_amount(errors, &amount);
        if errors.len() == before {
            pod::resource_quantity(errors, &amount, "storage");
        }
    }
}

/// A claim is of storage, and of whatever others have defined.
fn resource_key(errors: &mut Errors, map: &Node, name: &str) {
    let wrong = names::qualified_name(name);
    let native = !name.contains('/') || name.contains("kubernetes.io/");
    if wrong.is_empty() && native && name != "storage" {
        errors.unsupported_value(map, name, &["storage"]);
    }
    for message in wrong {
        errors.invalid_value(map, name, message);
    }
}

pub(super) fn basic_amount(errors: &mut Errors, at: &Node) {
    let whole = amount::whole(at.value());
    if whole < 0 {
        let shown = i64::try_from(whole).unwrap_or(i64::MIN);
        errors.invalid_value(at, shown, "must be a valid resource quantity");
    }
}
