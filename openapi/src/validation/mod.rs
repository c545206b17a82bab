//! What a built-in object must not say: the rules by which a Kubernetes API server v1.37 refuses objects after
//! defaulting, in its order and with its field paths, reasons and words.
//!
//! [`create`], [`update`] and [`update_status`] judge, [`warnings()`] advises; [`rules`] says which rules hold for a kind;
//! `tree` is the vocabulary in which they are written. A kind without rules of its own is held to those of its metadata.

mod admission;
pub mod amount;
mod autoscaling;
mod claim;
mod client;
mod config;
mod cron;
pub mod definition;
mod device;
mod endpoints;
mod flow;
mod job;
mod meta;
mod migration;
mod net;
mod networking;
mod node;
mod pod;
mod policy;
mod print;
mod quota;
mod rbac;
mod review;
mod rules;
mod selector;
mod service;
mod status;
mod storage;
mod success;
mod tree;
mod trust;
mod warnings;
mod webhook;
mod workload;

use serde_json::Value;

pub use crate::names;
pub use names::{NameRule, name_rule};
use rules::{Metadata, Order, Rules};
use tree::{Errors, Node};
pub use warnings::warnings;

use crate::builtin::{Type, kind_in, table};
use crate::field::FieldError;

/// Why an object of this kind may not be created. Expects it defaulted, named, and with the system's metadata.
pub fn create(object: &Value, ty: &'static Type) -> Vec<FieldError> {
    create_knowing(object, ty, Vec::new())
}

/// The same, told together with what is known of the object's expressions, in the order of its fields.
pub fn create_knowing(object: &Value, ty: &'static Type, known: Vec<FieldError>) -> Vec<FieldError> {
    let rules = rules::of(ty);
    let mut errors = Errors::of(ty).knowing(known);
    let object = Node::root(object);
    whole(&mut errors, &rules, &object, None);
    if errors.is_empty() && rules.metadata != Metadata::Free {
        let rule = if name_rule(ty) == NameRule::Declared { NameRule::Declared } else { NameRule::PathSegment };
        meta::common(&mut errors, &object.at("metadata"), is_namespaced(ty), rule);
    }
    declared(errors, &rules, &object, None)
}

/// Why an object may not become `new`.
pub fn update(new: &Value, old: &Value, ty: &'static Type) -> Vec<FieldError> {
    update_knowing(new, old, ty, Vec::new())
}

/// The same, told together with what is known of the object's expressions, in the order of its fields.
pub fn update_knowing(new: &Value, old: &Value, ty: &'static Type, known: Vec<FieldError>) -> Vec<FieldError> {
    let rules = rules::of(ty);
    let mut errors = Errors::of(ty).knowing(known);
    let (new, old) = (Node::root(new), Node::root(old));
    if rules.metadata != Metadata::Free {
        common_update(&mut errors, &new, &old);
    }
    if matches!(rules.metadata, Metadata::Kubernetes | Metadata::AnyName) {
        meta::update(&mut errors, &new, &old);
    }
    match rules.order {
        Order::ChangeThenWhole => {
            (rules.change)(&mut errors, &new, &old);
            whole(&mut errors, &rules, &new, Some(&old));
        }
        Order::WholeThenChange => {
            whole(&mut errors, &rules, &new, Some(&old));
            (rules.change)(&mut errors, &new, &old);
        }
        Order::ChangeThenBody => {
            (rules.change)(&mut errors, &new, &old);
            (rules.body)(&mut errors, &new, Some(&old));
        }
        Order::BodyThenChange => {
            (rules.body)(&mut errors, &new, Some(&old));
            (rules.change)(&mut errors, &new, &old);
        }
        Order::Change => (rules.change)(&mut errors, &new, &old),
    }
    declared(errors, &rules, &new, Some(&old))
}

/// Why an object's status may not become that of `new`, which otherwise equals `old`.
pub fn update_status(new: &Value, old: &Value, ty: &'static Type) -> Vec<FieldError> {
    let rules = rules::of(ty);
    let mut errors = Errors::of(ty);
    let (new, old) = (Node::root(new), Node::root(old));
    common_update(&mut errors, &new, &old);
    if matches!(rules.metadata, Metadata::Kubernetes | Metadata::AnyName) {
        meta::update(&mut errors, &new, &old);
    }
    (rules.status)(&mut errors, &new, &old);
    declared(errors, &rules, &new, Some(&old))
}

/// Why the metadata of an object of a custom resource is refused; `old` is what it takes the place of.
pub fn metadata(object: &Value, old: Option<&Value>, namespaced: bool) -> Vec<FieldError> {
    let Some(envelope) = crate::builtin::kind_in("meta.k8s.io/v1", "PartialObjectMetadata") else { return Vec::new() };
    let mut errors = Errors::of(envelope);
    let object = Node::root(object);
    match old {
        None => meta::common(&mut errors, &object.at("metadata"), namespaced, NameRule::Subdomain),
        Some(old) => {
            meta::common(&mut errors, &object.at("metadata"), namespaced, NameRule::PathSegment);
            meta::change(&mut errors, &object.at("metadata"), &Node::root(old).at("metadata"));
            errors.dedup();
        }
    }
    errors.into_list()
}

/// Why the finalizers of a Namespace's spec may not become those of `new`.
pub fn finalize_namespace(new: &Value, old: &Value, ty: &'static Type) -> Vec<FieldError> {
    let mut errors = Errors::of(ty);
    let (new, old) = (Node::root(new), Node::root(old));
    common_update(&mut errors, &new, &old);
    config::namespace_finalize(&mut errors, &new, &old);
    errors.dedup();
    errors.into_list()
}

/// What is wrong with the metadata of a resource inside of another, which needs no name.
pub fn embedded_metadata(metadata: &Value) -> Vec<FieldError> {
    let Some(any) = kind_in("v1", "Pod") else { return Vec::new() };
    let mut errors = Errors::of(any);
    let mut object = serde_json::json!({"metadata": metadata});
    if object["metadata"].get("name").is_none_or(|name| name == "" || name.is_null()) && metadata.is_object() {
        object["metadata"]["name"] = "fakename".into();
    }
    let namespaced = metadata.get("namespace").and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    meta::common(&mut errors, &Node::root(&object).at("metadata"), namespaced, NameRule::PathSegment);
    errors.into_list()
}

fn common_update(errors: &mut Errors, new: &Node, old: &Node) {
    let namespaced = is_namespaced(errors.root());
    meta::common(errors, &new.at("metadata"), namespaced, NameRule::PathSegment);
    meta::change(errors, &new.at("metadata"), &old.at("metadata"));
}

fn whole(errors: &mut Errors, rules: &Rules, object: &Node, old: Option<&Node>) {
    let ty = errors.root();
    let (meta, namespaced, rule) = (object.at("metadata"), is_namespaced(ty), name_rule(ty));
    match rules.metadata {
        Metadata::Kubernetes | Metadata::Created => meta::create(errors, &meta, namespaced, rule),
        Metadata::AnyName => meta::create(errors, &meta, namespaced, NameRule::Declared),
        Metadata::Common => meta::common(errors, &meta, namespaced, rule),
        Metadata::None | Metadata::Free => {}
    }
    (rules.body)(errors, object, old);
}

/// Adds what the kind's fields declare of themselves, which is told after everything else, and again if need be.
fn declared(mut errors: Errors, rules: &Rules, new: &Node, old: Option<&Node>) -> Vec<FieldError> {
    errors.dedup();
    (rules.declared)(&mut errors, new, old);
    errors.into_list()
}

fn is_namespaced(ty: &Type) -> bool {
    let same = |package: &crate::builtin::Package| package.api_version == ty.package.api_version;
    let resource = table().resources.iter().find(|resource| resource.kind == ty.name && same(resource.package));
    resource.is_none_or(|resource| resource.namespaced)
}

#[cfg(test)]
mod tests;
