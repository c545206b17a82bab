//! Objects that are answered and not kept: reviews, token requests, bindings, scales.

use super::names;
use super::selector;
use super::tree::{Errors, Node};

const TOKEN_SECS_MIN: i64 = 600;
const TOKEN_SECS_MAX: i64 = 1 << 32;

pub(super) fn access_review(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    one_question(errors, &object.at("spec"));
    has_subject(errors, &object.at("spec"));
    selectors(errors, &object.at("spec"));
    empty_metadata(errors, object, "");
}

pub(super) fn self_access_review(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    one_question(errors, &object.at("spec"));
    selectors(errors, &object.at("spec"));
    empty_metadata(errors, object, "");
}

pub(super) fn local_access_review(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    one_question(errors, &spec);
    has_subject(errors, &spec);
    selectors(errors, &spec);
    empty_metadata(errors, object, "namespace");
    let (resource, other) = (spec.at("resourceAttributes"), spec.at("nonResourceAttributes"));
    let namespace = resource.at("namespace");
    if resource.exists() && namespace.text() != object.at("metadata").at("namespace").text() {
        let place = Node::nowhere("spec.resourceAttributes.namespace");
        errors.invalid_value(&place, namespace.text(), "must match metadata.namespace");
    }
    if other.exists() {
        let place = Node::nowhere("spec.nonResourceAttributes");
        errors.invalid_value(&place, other.value().clone(), "disallowed on this kind of request");
    }
}

/// A review asks either for a resource or for a path.
fn one_question(errors: &mut Errors, spec: &Node) {
    let (resource, other) = (spec.at("resourceAttributes"), spec.at("nonResourceAttributes"));
    if resource.exists() == other.exists() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.invalid_value(spec, other.value().clone(), detail);
    }
}

/// Which objects are asked for: by a text, or by requirements.
fn selectors(errors: &mut Errors, spec: &Node) {
    for name in ["fieldSelector", "labelSelector"] {
        let selector = spec.at("resourceAttributes").at(name);
        let (raw, requirements) = (selector.at("rawSelector"), selector.at("requirements"));
        if !raw.is_empty() && !requirements.is_empty() {
            errors.invalid(&raw, "may not specified at the same time as requirements");
        }
        if selector.exists() && raw.is_empty() && requirements.is_empty() {
            let detail =
                format!("when spec.resourceAttributes.{name} is specified, requirements or rawSelector is required");
            errors.required(&requirements, &detail);
        }
        for requirement in requirements.items() {
            if name == "labelSelector" {
                selector::lenient_requirement(errors, &requirement);
            } else {
                if requirement.at("key").is_empty() {
                    errors.required(&requirement.at("key"), "must be specified");
                }
                selector::known_operator(errors, &requirement);
            }
        }
    }
}

fn has_subject(errors: &mut Errors, spec: &Node) {
    if spec.at("user").is_empty() && spec.at("groups").is_empty() {
        errors.invalid_value(&spec.at("user"), "", "at least one of user or group must be specified");
    }
}

fn empty_metadata(errors: &mut Errors, object: &Node, except: &str) {
    let metadata = object.at("metadata");
    let filled = |(name, value): (&str, Node)| {
        ![except, "managedFields"].contains(&name) && (!value.is_empty() || value.value().is_number())
    };
    if metadata.entries().any(filled) {
        let words = if except.is_empty() { String::new() } else { format!(" except for {except}") };
        errors.invalid(&metadata, format!("must be empty{words}"));
    }
}

pub(super) fn token_request(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let seconds = object.at("spec").at("expirationSeconds");
    if seconds.int() < TOKEN_SECS_MIN {
        errors.invalid_value(&seconds, seconds.int(), "may not specify a duration less than 10 minutes");
    }
    if seconds.int() > TOKEN_SECS_MAX {
        errors.invalid(&seconds, "may not specify a duration larger than 2^32 seconds");
    }
}

pub(super) fn binding(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let (kind, name) = (object.at("target").at("kind"), object.at("target").at("name"));
    let of_node = kind.is_empty() || kind.is("Node");
    if !of_node {
        errors.unsupported(&kind, &["Node", "<empty>"]);
    }
    if name.is_empty() {
        errors.required(&name, "");
    } else if of_node {
        errors.refuse(&name, names::dns1123_subdomain(name.text()));
    }
}

pub(super) fn scale(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    errors.negative(&object.at("spec").at("replicas"));
}
