//! Webhook configurations and APIServices: whom the server asks. Expressions are not compiled here.

use std::collections::HashSet;

use super::tree::{Errors, Node};
use super::{meta, names, selector};

const CONDITIONS_MAX: usize = 64;
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const URL_FORM: &str = "; desired format: https://host[/path]";
const GROUP_PRIORITY_MAX: i64 = 20000;
const VERSION_PRIORITY_MAX: i64 = 1000;

pub(super) fn configuration(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let mut seen = HashSet::new();
    for hook in object.at("webhooks").items() {
        self::hook(errors, &hook);
        review_versions(errors, &hook.at("admissionReviewVersions"));
        let name = hook.at("name");
        if !name.is_empty() && !seen.insert(name.text()) {
            errors.duplicate(&name, name.text());
        }
    }
}

fn hook(errors: &mut Errors, hook: &Node) {
    qualified(errors, &hook.at("name"));
    for rule in hook.at("rules").items() {
        self::rule(errors, &rule);
    }
    one_of_if_set(errors, &hook.at("failurePolicy"), &["Fail", "Ignore"]);
    one_of_if_set(errors, &hook.at("matchPolicy"), &["Equivalent", "Exact"]);
    let effects = hook.at("sideEffects");
    if effects.exists() {
        one_of_if_set(errors, &effects, &["None", "NoneOnDryRun"]);
    } else {
        errors.required(&effects, "must specify one of None, NoneOnDryRun");
    }
    let timeout = hook.at("timeoutSeconds");
    if timeout.exists() && !(1..=30).contains(&timeout.int()) {
        errors.invalid(&timeout, "the timeout value must be between 1 and 30 seconds");
    }
    selector::selector(errors, &hook.at("namespaceSelector"));
    selector::selector(errors, &hook.at("objectSelector"));
    one_of_if_set(errors, &hook.at("reinvocationPolicy"), &["IfNeeded", "Never"]);
    let client = hook.at("clientConfig");
    match (client.at("url").exists(), client.at("service").exists()) {
        (true, false) => url(errors, &client.at("url")),
        (false, true) => service(errors, &client.at("service")),
        _ => errors.required(&client, "exactly one of url or service is required"),
    }
    conditions(errors, &hook.at("matchConditions"));
}

pub(super) fn one_of_if_set(errors: &mut Errors, at: &Node, supported: &[&str]) {
    if at.exists() && !supported.contains(&at.text()) {
        errors.unsupported(at, supported);
    }
}

/// A domain of at least three parts.
fn qualified(errors: &mut Errors, at: &Node) {
    let wrong = names::dns1123_subdomain(at.text());
    if at.is_empty() {
        errors.required(at, "");
    } else if !wrong.is_empty() {
        errors.invalid(at, wrong.join(","));
    } else if at.text().split('.').count() < 3 {
        errors.invalid(at, "should be a domain with at least three segments separated by dots");
    }
}

fn wildcard_alone(errors: &mut Errors, list: &Node, words: &str) {
    if list.len() > 1 && list.texts().contains(&"*") {
        errors.invalid(list, format!("if '*' is present, must not specify other {words}"));
    }
}

pub(super) fn rule(errors: &mut Errors, rule: &Node) {
    let (operations, groups, versions) = (rule.at("operations"), rule.at("apiGroups"), rule.at("apiVersions"));
    if operations.is_empty() {
        errors.required(&operations, "");
    }
    wildcard_alone(errors, &operations, "operations");
    for operation in operations.items().filter(|operation| !OPERATIONS.contains(&operation.text())) {
        errors.unsupported(&operation, &OPERATIONS);
    }
    for (list, words) in [(&groups, "API groups"), (&versions, "API versions")] {
        if list.is_empty() {
            errors.required(list, "");
        }
        wildcard_alone(errors, list, words);
    }
    for version in versions.items().filter(Node::is_empty) {
        errors.required(&version, "");
    }
    resources(errors, &rule.at("resources"));
    one_of_if_set(errors, &rule.at("scope"), &["*", "Cluster", "Namespaced"]);
}

fn resources(errors: &mut Errors, list: &Node) {
    if list.is_empty() {
        errors.required(list, "");
    }
    let (mut whole, mut everywhere) = (HashSet::new(), HashSet::new());
    let mut plain = false;
    for item in list.items() {
        if item.is_empty() {
            errors.required(&item, "");
            continue;
        }
        let Some((resource, sub)) = item.text().split_once('/') else {
            plain = !item.is("*");
            continue;
        };
        if whole.contains(resource) {
            errors.invalid(&item, format!("if '{resource}/*' is present, must not specify {}", item.text()));
        }
        if everywhere.contains(sub) {
            errors.invalid(&item, format!("if '*/{sub}' is present, must not specify {}", item.text()));
        }
        if sub == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            everywhere.insert(sub);
        }
    }
    let texts = list.texts();
    if texts.len() > 1 && texts.contains(&"*/*") {
        errors.invalid(list, "if '*/*' is present, must not specify other resources");
    }
    if plain && texts.contains(&"*") {
        errors.invalid(list, "if '*' is present, must not specify other resources without subresources");
    }
}

fn review_versions(errors: &mut Errors, list: &Node) {
    if list.is_empty() {
        return errors.required(list, "must specify one of v1, v1beta1");
    }
    let mut seen = HashSet::new();
    for version in list.items() {
        if seen.insert(version.text()) {
            errors.refuse(&version, names::dns1035_label(version.text()));
        } else {
            errors.invalid(&version, "duplicate version");
        }
    }
    if !seen.contains("v1") && !seen.contains("v1beta1") {
        errors.invalid(list, "must include at least one of v1, v1beta1");
    }
}

pub(super) fn url(errors: &mut Errors, at: &Node) {
    let text = at.text();
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (before, query) = before.split_once('?').unwrap_or((before, ""));
    let (scheme, rest) = before.split_once("://").unwrap_or(("", before));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    if scheme != "https" {
        errors.invalid_value(at, scheme, format!("'https' is the only allowed URL scheme{URL_FORM}"));
    }
    if host.is_empty() {
        errors.invalid_value(at, host, format!("host must be specified{URL_FORM}"));
    }
    if let Some(user) = user {
        errors.invalid_value(at, user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        errors.invalid_value(at, fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        errors.invalid_value(at, query, "query parameters are not permitted in the URL");
    }
}

pub(super) fn service(errors: &mut Errors, at: &Node) {
    // Kubernetes takes the one for the other here.
    for (name, shown) in [("namespace", "name"), ("name", "namespace")] {
        if at.at(name).is_empty() {
            errors.required(&at.at(shown), "");
        }
    }
    service_port(errors, &at.at("port"));
    let path = at.at("path");
    match path.text() {
        "" | "/" => return,
        "//" => return errors.invalid(&path, "segment[0] may not be empty"),
        text if !text.starts_with('/') => errors.invalid(&path, "must start with a '/'"),
        _ => {}
    }
    let text = path.text().get(1..).unwrap_or_default();
    for (at, step) in text.strip_suffix('/').unwrap_or(text).split('/').enumerate() {
        if step.is_empty() {
            errors.invalid(&path, format!("segment[{at}] may not be empty"));
            continue;
        }
        for message in names::dns1123_subdomain(step) {
            errors.invalid(&path, format!("segment[{at}]: {message}"));
        }
    }
}

fn service_port(errors: &mut Errors, at: &Node) {
    let wrong = names::port_number(at.int());
    if !wrong.is_empty() {
        errors.invalid_value(at, at.int(), format!("port is not valid: {}", wrong.join(", ")));
    }
}

pub(super) fn conditions(errors: &mut Errors, list: &Node) {
    if list.len() > CONDITIONS_MAX {
        errors.too_many(list, CONDITIONS_MAX);
    }
    let mut seen = HashSet::new();
    for condition in list.items() {
        let (expression, name) = (condition.at("expression"), condition.at("name"));
        if expression.text().trim().is_empty() {
            errors.required(&expression, "");
        }
        if name.is_empty() {
            errors.required(&name, "");
        } else {
            selector::label_name(errors, &name);
            if !seen.insert(name.text()) {
                errors.duplicate(&name, name.text());
            }
        }
    }
}

pub(super) fn api_service(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    let (group, version) = (spec.at("group"), spec.at("version"));
    let name = object.at("metadata").at("name");
    let expected = format!("{}.{}", version.text(), group.text());
    for name in [&object.at("metadata").at("generateName"), &name] {
        if !name.is_empty() && names::path_segment(name.text()).is_empty() && name.text() != expected {
            errors.invalid(name, format!("must be `spec.version+\".\"+spec.group`: {expected:?}"));
        }
    }
    if group.is_empty() && !version.is("v1") {
        errors.required(&group, "only v1 may have an empty group and it better be legacy kube");
    }
    if !group.is_empty() {
        errors.refuse(&group, names::dns1123_subdomain(group.text()));
    }
    errors.refuse(&version, names::dns1035_label(version.text()));
    for (name, max) in [("groupPriorityMinimum", GROUP_PRIORITY_MAX), ("versionPriority", VERSION_PRIORITY_MAX)] {
        let priority = spec.at(name);
        if !(1..=max).contains(&priority.int()) {
            let detail = format!("must be positive and less than {max}");
            errors.invalid_value(&priority, priority.int(), detail);
        }
    }
    let (service, bundle, insecure) = (spec.at("service"), spec.at("caBundle"), spec.at("insecureSkipTLSVerify"));
    if !service.exists() {
        if !bundle.is_empty() {
            let shown = format!("{} bytes", bundle.text().trim_end_matches('=').len() * 3 / 4);
            errors.invalid_value(&bundle, shown, "local APIServices may not have a caBundle");
        }
        if insecure.is_true() {
            errors.invalid(&insecure, "local APIServices may not have insecureSkipTLSVerify");
        }
        return;
    }
    for name in ["namespace", "name"].map(|name| service.at(name)).iter().filter(|name| name.is_empty()) {
        errors.required(name, "");
    }
    service_port(errors, &service.at("port"));
    if insecure.is_true() && !bundle.is_empty() {
        errors.invalid(&insecure, "may not be true if caBundle is present");
    }
}

pub(super) fn api_service_update(errors: &mut Errors, new: &Node, old: &Node) {
    meta::change(errors, &new.at("metadata"), &old.at("metadata"));
}
