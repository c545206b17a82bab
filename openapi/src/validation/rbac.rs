//! Role, ClusterRole and their bindings.

use super::names;
use super::selector;
use super::tree::{Errors, Node};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn role(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    rules(errors, object, true);
}

pub(super) fn cluster_role(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    rules(errors, object, false);
    let aggregation = object.at("aggregationRule");
    let selectors = aggregation.at("clusterRoleSelectors");
    if aggregation.exists() && selectors.is_empty() {
        errors.required(&selectors, "at least one clusterRoleSelector required if aggregationRule is non-nil");
    }
    for selector in selectors.items() {
        selector::selector(errors, &selector);
        if !selector::is_readable(&selector) {
            errors.invalid_value(&selector, serde_json::Value::Null, "invalid label selector.");
        }
    }
}

fn rules(errors: &mut Errors, object: &Node, namespaced: bool) {
    for rule in object.at("rules").items() {
        let (urls, groups, resources) = (rule.at("nonResourceURLs"), rule.at("apiGroups"), rule.at("resources"));
        if !urls.is_empty() {
            if namespaced {
                errors.invalid(&urls, "namespaced rules cannot apply to non-resource URLs");
            }
            if !groups.is_empty() || !resources.is_empty() || !rule.at("resourceNames").is_empty() {
                errors.invalid(&urls, "rules cannot apply to both regular resources and non-resource URLs");
            }
            continue;
        }
        if groups.is_empty() {
            errors.required(&groups, "resource rules must supply at least one api group");
        }
        if resources.is_empty() {
            errors.required(&resources, "resource rules must supply at least one resource");
        }
    }
}

pub(super) fn rules_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    if old.is_some_and(|old| old.at("rules").same(&new.at("rules"))) {
        return;
    }
    for verbs in new.at("rules").items().map(|rule| rule.at("verbs")).filter(Node::is_empty) {
        errors.required(&verbs, "");
    }
}

pub(super) fn role_binding(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    binding(errors, object, &["Role", "ClusterRole"], old);
}

pub(super) fn cluster_role_binding(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    binding(errors, object, &["ClusterRole"], old);
}

fn binding(errors: &mut Errors, object: &Node, kinds: &[&str], old: Option<&Node>) {
    let role = object.at("roleRef");
    if !role.at("apiGroup").is(GROUP) {
        errors.unsupported(&role.at("apiGroup"), &[GROUP]);
    }
    if !kinds.contains(&role.at("kind").text()) {
        errors.unsupported(&role.at("kind"), kinds);
    }
    if role.at("name").is_empty() && old.is_some() {
        errors.required(&role.at("name"), "");
    }
    if !role.at("name").is_empty() {
        errors.refuse(&role.at("name"), names::path_segment(role.at("name").text()));
    }
    for subject in object.at("subjects").items() {
        self::subject(errors, &subject, kinds.contains(&"Role"));
    }
}

fn subject(errors: &mut Errors, subject: &Node, namespaced: bool) {
    let (name, group) = (subject.at("name"), subject.at("apiGroup"));
    match subject.at("kind").text() {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.refuse(&name, names::dns1123_subdomain(name.text()));
            }
            if !group.is_empty() {
                errors.unsupported(&group, &[""]);
            }
            if !namespaced && subject.at("namespace").is_empty() {
                errors.required(&subject.at("namespace"), "");
            }
        }
        "User" | "Group" if !group.is(GROUP) => errors.unsupported(&group, &[GROUP]),
        "User" | "Group" => {}
        _ => errors.unsupported(&subject.at("kind"), &["ServiceAccount", "User", "Group"]),
    }
}

pub(super) fn binding_update(errors: &mut Errors, new: &Node, old: &Node) {
    errors.immutable(&new.at("roleRef"), &old.at("roleRef"));
}

pub(super) fn binding_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    if !old.is_some_and(|old| old.at("subjects").same(&new.at("subjects"))) {
        for name in new.at("subjects").items().map(|subject| subject.at("name")).filter(Node::is_empty) {
            errors.required(&name, "");
        }
    }
    let role = new.at("roleRef");
    if role.at("name").is_empty() && old.is_none() {
        errors.required(&role.at("name"), "");
    }
}
