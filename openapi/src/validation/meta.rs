//! What every object says of itself: `metadata`.

use std::collections::HashSet;

use super::names::{self, NameRule};
use super::selector;
use super::tree::{Errors, Node};

const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;
const FIELD_MANAGER_BYTES_MAX: usize = 128;
const SUBRESOURCE_BYTES_MAX: usize = 256;
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// The rules of the kinds of Kubernetes itself: those of [`common`], and finalizers of known or qualified names.
pub(super) fn create(errors: &mut Errors, meta: &Node, namespaced: bool, rule: NameRule) {
    common(errors, meta, namespaced, rule);
    finalizer_names(errors, meta);
}

pub(super) fn update(errors: &mut Errors, new: &Node, old: &Node) {
    let (new, old) = (new.at("metadata"), old.at("metadata"));
    change(errors, &new, &old);
    finalizer_names(errors, &new);
}

fn finalizer_names(errors: &mut Errors, meta: &Node) {
    for finalizer in meta.at("finalizers").items() {
        finalizer_name(errors, &finalizer, finalizer.text());
    }
}

pub(super) fn finalizer_name(errors: &mut Errors, at: &Node, name: &str) {
    if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
        errors.invalid_value(at, name, "name is neither a standard finalizer name nor is it fully qualified");
    }
}

/// What holds for the metadata of any object.
pub(super) fn common(errors: &mut Errors, meta: &Node, namespaced: bool, rule: NameRule) {
    let (name, generated) = (meta.at("name"), meta.at("generateName"));
    if !generated.is_empty() {
        errors.refuse(&generated, rule.check(generated.text(), true));
    }
    if name.is_empty() {
        errors.required(&name, "name or generateName is required");
    } else {
        errors.refuse(&name, rule.check(name.text(), false));
    }
    namespace(errors, &meta.at("namespace"), namespaced);
    errors.negative(&meta.at("generation"));
    described(errors, meta);
    finalizers(errors, &meta.at("finalizers"));
    managed_fields(errors, &meta.at("managedFields"));
}

fn namespace(errors: &mut Errors, at: &Node, namespaced: bool) {
    match (namespaced, at.is_empty()) {
        (true, true) => errors.required(at, ""),
        (true, false) => errors.refuse(at, names::dns1123_label(at.text())),
        (false, true) => {}
        (false, false) => errors.forbidden(at, "not allowed on this type"),
    }
}

fn described(errors: &mut Errors, meta: &Node) {
    selector::labels(errors, &meta.at("labels"));
    annotations(errors, &meta.at("annotations"));
    owners(errors, &meta.at("ownerReferences"));
}

pub(super) fn annotations(errors: &mut Errors, map: &Node) {
    let mut bytes = 0;
    for (key, value) in map.entries() {
        bytes += key.len() + value.len();
        for message in names::qualified_name(&key.to_lowercase()) {
            errors.invalid_value(map, key, message);
        }
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        errors.too_long(map, ANNOTATIONS_BYTES_MAX);
    }
}

fn owners(errors: &mut Errors, list: &Node) {
    let mut controller: Option<String> = None;
    for owner in list.items() {
        self::owner(errors, &owner);
        if owner.at("controller").is_true() {
            let named = format!("{}/{}", owner.at("kind").text(), owner.at("name").text());
            match &controller {
                None => controller = Some(named),
                Some(first) => errors.invalid(
                    list,
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} \
                         and {named}"
                    ),
                ),
            }
        }
    }
}

fn owner(errors: &mut Errors, owner: &Node) {
    let version = owner.at("apiVersion");
    let parts: Vec<&str> = version.text().split('/').collect();
    if version.is_empty() {
        errors.required(&version, "must not be empty");
    } else if parts.len() > 2 || parts.last().is_some_and(|version| version.is_empty()) {
        errors.invalid(&version, "must be <group>/<version> or <version>");
    }
    for name in ["kind", "name", "uid"] {
        if owner.at(name).is_empty() {
            errors.required(&owner.at(name), "must not be empty");
        }
    }
    if version.is("v1") && owner.at("kind").is("Event") {
        errors.invalid(owner, "/v1, Kind=Event is disallowed from being an owner");
    }
}

fn finalizers(errors: &mut Errors, list: &Node) {
    for finalizer in list.items() {
        for message in names::qualified_name(finalizer.text()) {
            errors.invalid_value(list, finalizer.text(), message);
        }
    }
    let texts = list.texts();
    if texts.contains(&"orphan") && texts.contains(&"foregroundDeletion") {
        errors.invalid(list, "finalizer orphan and foregroundDeletion cannot be both set");
    }
}

fn managed_fields(errors: &mut Errors, list: &Node) {
    for entry in list.items() {
        match entry.at("operation").text() {
            "" => errors.required(&entry.at("operation"), "must not be empty"),
            "Apply" | "Update" => {}
            _ => errors.unsupported(&entry.at("operation"), &["Apply", "Update"]),
        }
        let fields = entry.at("fieldsType");
        if !fields.is_empty() && !fields.is("FieldsV1") {
            errors.invalid(&fields, "must be `FieldsV1`");
        }
        field_manager(errors, &entry.at("manager"));
        if entry.at("subresource").len() > SUBRESOURCE_BYTES_MAX {
            errors.too_long(&entry.at("subresource"), SUBRESOURCE_BYTES_MAX);
        }
    }
}

fn field_manager(errors: &mut Errors, at: &Node) {
    if at.len() > FIELD_MANAGER_BYTES_MAX {
        errors.too_long(at, FIELD_MANAGER_BYTES_MAX);
    }
    for (position, c) in at.text().char_indices().filter(|(_, c)| c.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {position})", u32::from(c));
        errors.invalid_value(at, at.text(), detail);
    }
}

/// What may not change in the metadata of any object.
pub(super) fn change(errors: &mut Errors, new: &Node, old: &Node) {
    if old.at("deletionTimestamp").exists() {
        no_new_finalizers(errors, &new.at("finalizers"), &old.at("finalizers"));
    }
    let version = new.at("resourceVersion");
    if version.is_empty() {
        errors.invalid_value(&version, "", "must be specified for an update");
    }
    let generation = new.at("generation");
    errors.negative(&generation);
    if generation.int() < old.at("generation").int() {
        errors.invalid_value(&generation, generation.int(), "must not be decremented");
    }
    for name in ["name", "namespace", "uid"] {
        if !new.at(name).same(&old.at(name)) {
            errors.invalid_value(&new.at(name), new.at(name).text(), "field is immutable");
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        errors.immutable(&new.at(name), &old.at(name));
    }
    described(errors, new);
    managed_fields(errors, &new.at("managedFields"));
}

fn no_new_finalizers(errors: &mut Errors, new: &Node, old: &Node) {
    let known: HashSet<&str> = old.texts().into_iter().collect();
    let mut added: Vec<&str> = new.texts().into_iter().filter(|name| !known.contains(name)).collect();
    added.sort_unstable();
    added.dedup();
    if !added.is_empty() {
        let added: Vec<String> = added.iter().map(|name| format!("{name:?}")).collect();
        let detail = "no new finalizers can be added if the object is being deleted, found new finalizers";
        errors.forbidden(new, format!("{detail} []string{{{}}}", added.join(", ")));
    }
}
