//! Definitions of custom resources.
//!
//! Kubernetes judges them in an older form, in which what all versions have in common stands beside them: the schema
//! of a definition with one version is `spec.validation.openAPIV3Schema` in its errors. Rules are looked at from
//! outside; whether they compile is not asked here.

mod before;
mod conversion;
mod parts;
mod schema;
mod shape;
mod structure;

use before::Before;
use serde_json::Value;

use super::names;
use super::tree::{Errors, Node};
use crate::builtin::kind_in;
use crate::field::FieldError;
use crate::structural::formats::uri;
use crate::structural::{Structural, validate_presets};

const APPROVAL: &str = "api-approved.kubernetes.io";

/// Why a definition may not be created, or may not become `crd`. Expects it defaulted, with the system's metadata.
pub fn validate(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let Some(ty) = kind_in("apiextensions.k8s.io/v1", "CustomResourceDefinition") else { return Vec::new() };
    match old {
        None => super::create(crd, ty),
        Some(old) => super::update(crd, old, ty),
    }
}

/// A schema of a definition.
#[derive(Debug)]
pub struct Located<'a> {
    /// As errors name it: `spec.validation.openAPIV3Schema` if all versions have the same one.
    pub path: String,
    pub schema: &'a Value,
    /// The version that it is of; the first if all have the same one.
    pub version: &'a str,
}

/// The schemas of a definition: one that all versions have, or one for each that has any.
pub fn schemas<'a>(crd: &'a Value) -> Vec<Located<'a>> {
    let object = Node::root(crd);
    let all = parts::Common::of(&object.at("spec"));
    let versions = object.at("spec").at("versions");
    let found: Vec<_> = match &all.schema {
        Some(schema) => vec![(versions.item(0), schema.clone())],
        None => versions.items().map(|version| (version.clone(), version.at("schema"))).collect(),
    };
    let found = found.into_iter().map(|(version, schema)| (version, schema.at("openAPIV3Schema")));
    let located = |(version, schema): (Node<'a>, Node<'a>)| {
        let (path, schema) = (schema.path(), schema.value());
        Located { path, schema, version: version.at("name").text() }
    };
    found.filter(|(_, schema)| schema.exists()).map(located).collect()
}

/// Whether a schema is structural and its defaults are what it allows: only then are its rules looked at.
pub fn is_sound(schema: &Value) -> bool {
    let sound = || validate_presets(Structural::read(schema).root(), "", true, super::embedded_metadata).is_empty();
    is_structural(schema) && sound()
}

/// Whether a schema is structural, whatever its defaults are.
pub fn is_structural(schema: &Value) -> bool {
    shape::unreadable(schema).is_none() && before::is_structural(schema)
}

pub(super) fn body(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    if old.is_none() {
        name(errors, object);
    }
    parts::spec(errors, &spec, &Before::of(object, old));
    accepted_names(errors, object);
    stored_versions(errors, &object.at("status").at("storedVersions"), &spec.at("versions"));
    approval(errors, object, old);
    let kept = |object: &Node| object.at("spec").at("preserveUnknownFields").is_true();
    if kept(object) && !old.is_some_and(kept) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                      instead";
        errors.invalid_value(&spec.at("preserveUnknownFields"), true, detail);
    }
}

pub(super) fn change(errors: &mut Errors, new: &Node, old: &Node) {
    let (new, before) = (new.at("spec"), old.at("spec"));
    if before::is_established(old) {
        errors.immutable(&new.at("scope"), &before.at("scope"));
        errors.immutable(&new.at("names").at("kind"), &before.at("names").at("kind"));
    }
    errors.immutable(&new.at("group"), &before.at("group"));
    errors.immutable(&new.at("names").at("plural"), &before.at("names").at("plural"));
}

pub(super) fn status(errors: &mut Errors, new: &Node, _old: &Node) {
    accepted_names(errors, new);
}

fn accepted_names(errors: &mut Errors, object: &Node) {
    parts::names(errors, &object.at("status").at("acceptedNames"));
}

fn name(errors: &mut Errors, object: &Node) {
    let (meta, spec) = (object.at("metadata"), object.at("spec"));
    let expected = format!("{}.{}", spec.at("names").at("plural").text(), spec.at("group").text());
    for at in [meta.at("generateName"), meta.at("name")] {
        if !at.is_empty() && at.text() != expected {
            errors.invalid(&at, "must be spec.names.plural+\".\"+spec.group");
        }
    }
}

fn stored_versions(errors: &mut Errors, stored: &Node, versions: &Node) {
    if stored.is_empty() {
        return errors.invalid(stored, "must have at least one stored version");
    }
    let texts = stored.texts();
    for version in versions.items().filter(|version| version.at("storage").is_true()) {
        let name = version.at("name");
        if !texts.contains(&name.text()) {
            errors.invalid(stored, format!("must have the storage version {}", name.text()));
        }
    }
    let served: Vec<&str> = versions.items().map(|version| version.at("name").text()).collect();
    for (at, name) in texts.iter().enumerate().filter(|(_, name)| !served.contains(name)) {
        if texts[at + 1..].contains(name) {
            continue;
        }
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        errors.invalid_value(&stored.item(at), *name, detail);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Approval {
    Approved,
    Bypassed,
    Missing,
    Invalid,
}

fn approval_of(object: &Node) -> Approval {
    let annotation = object.value()["metadata"]["annotations"][APPROVAL].as_str().unwrap_or_default();
    if annotation.is_empty() {
        Approval::Missing
    } else if annotation.starts_with("unapproved") {
        Approval::Bypassed
    } else if uri::parse(annotation).is_some_and(|uri| !uri.scheme.is_empty() && !uri.host.is_empty()) {
        Approval::Approved
    } else {
        Approval::Invalid
    }
}

/// Groups of the Kubernetes community are for those whom it approved.
fn approval(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let group = object.at("spec").at("group").text();
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    let state = approval_of(object);
    if !protected || old.is_some_and(|old| approval_of(old) == state) {
        return;
    }
    let annotations = object.at("metadata").at("annotations");
    let at = annotations.key(APPROVAL);
    let more = "see https://github.com/kubernetes/enhancements/pull/1111";
    let needed = format!("protected groups must have approval annotation \"{APPROVAL}\"");
    match state {
        Approval::Approved | Approval::Bypassed => {}
        Approval::Missing => errors.required(&at, &format!("{needed}, {more}")),
        Approval::Invalid => {
            let detail = format!("{needed} with either a URL or a reason starting with \"unapproved\", {more}");
            errors.invalid(&at, detail);
        }
    }
}
