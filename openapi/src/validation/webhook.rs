//! Webhook configurations and APIServices: whom the server asks. What is wrong with expressions is found elsewhere.

use std::collections::HashSet;

use super::tree::{Errors, Node};
use super::{client, meta, names, selector};

const CONDITIONS_MAX: usize = 64;
/// Names with this end are for what a server reads from files when it starts.
const RESERVED_SUFFIX: &str = ".static.k8s.io";
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];
const HARMLESS: [&str; 2] = ["None", "NoneOnDryRun"];
const EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
pub(super) const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
pub(super) const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];
pub(super) const REINVOCATION_POLICIES: [&str; 2] = ["IfNeeded", "Never"];
const GROUP_PRIORITY_MAX: i64 = 20000;
const VERSION_PRIORITY_MAX: i64 = 1000;

/// What was accepted before stays acceptable.
struct Leniency {
    /// Match conditions that did not change are not looked at.
    conditions: bool,
    effects: &'static [&'static str],
    unknown_reviews: bool,
    repeated_names: bool,
    odd_values: bool,
}

impl Leniency {
    fn towards(object: &Node, old: Option<&Node>) -> Self {
        let before: Vec<Node> = old.map(|old| old.at("webhooks").items().collect()).unwrap_or_default();
        let now: Vec<Node> = object.at("webhooks").items().collect();
        let same = |(now, before): (&Node, &Node)| now.at("matchConditions").same(&before.at("matchConditions"));
        let harmless = |hook: &Node| HARMLESS.contains(&hook.at("sideEffects").text());
        Self {
            conditions: old.is_some() && now.len() == before.len() && now.iter().zip(&before).all(same),
            effects: if before.iter().all(harmless) { &HARMLESS } else { &EFFECTS },
            unknown_reviews: before.iter().any(has_unknown_reviews_only),
            repeated_names: has_repeated_names(&before),
            odd_values: before.iter().any(has_odd_selector),
        }
    }
}

fn has_unknown_reviews_only(hook: &Node) -> bool {
    let versions = hook.at("admissionReviewVersions");
    !versions.is_empty() && !versions.texts().iter().any(|version| REVIEWS.contains(version))
}

fn has_repeated_names(hooks: &[Node]) -> bool {
    let mut seen = HashSet::new();
    !hooks.iter().all(|hook| seen.insert(hook.at("name").text()))
}

fn has_odd_selector(hook: &Node) -> bool {
    ["namespaceSelector", "objectSelector"].iter().any(|name| !selector::is_readable(&hook.at(name)))
}

pub(super) fn configuration(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let lenient = Leniency::towards(object, old);
    let mut seen = HashSet::new();
    for hook in object.at("webhooks").items() {
        self::hook(errors, &hook, &lenient);
        review_versions(errors, &hook.at("admissionReviewVersions"), lenient.unknown_reviews);
        let name = hook.at("name");
        if !name.is_empty() && !seen.insert(name.text()) && !lenient.repeated_names {
            errors.duplicate(&name, name.text());
        }
    }
    unreserved(errors, object, old);
}

/// What is made may not take a name that is kept for files.
pub(super) fn unreserved(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let name = object.at("metadata").at("name");
    if old.is_none() && name.text().ends_with(RESERVED_SUFFIX) {
        let detail = format!(
            "names ending with {RESERVED_SUFFIX:?} are reserved for static manifest-based configurations and cannot be \
             managed via the API"
        );
        errors.invalid(&name, detail);
    }
}

fn hook(errors: &mut Errors, hook: &Node, lenient: &Leniency) {
    qualified(errors, &hook.at("name"));
    for rule in hook.at("rules").items() {
        self::rule(errors, &rule);
    }
    one_of_if_set(errors, &hook.at("failurePolicy"), &FAILURE_POLICIES);
    one_of_if_set(errors, &hook.at("matchPolicy"), &MATCH_POLICIES);
    let effects = hook.at("sideEffects");
    if effects.exists() {
        one_of_if_set(errors, &effects, lenient.effects);
    } else {
        errors.required(&effects, &format!("must specify one of {}", lenient.effects.join(", ")));
    }
    let timeout = hook.at("timeoutSeconds");
    if timeout.exists() && !(1..=30).contains(&timeout.int()) {
        errors.invalid(&timeout, "the timeout value must be between 1 and 30 seconds");
    }
    for selected in [hook.at("namespaceSelector"), hook.at("objectSelector")] {
        if lenient.odd_values {
            selector::selector_of_any_values(errors, &selected);
        } else {
            selector::selector(errors, &selected);
        }
    }
    one_of_if_set(errors, &hook.at("reinvocationPolicy"), &REINVOCATION_POLICIES);
    let client = hook.at("clientConfig");
    match (client.at("url").exists(), client.at("service").exists()) {
        (true, false) => client::url(errors, &client.at("url")),
        (false, true) => client::service(errors, &client.at("service")),
        _ => errors.required(&client, "exactly one of url or service is required"),
    }
    if !lenient.conditions {
        conditions(errors, &hook.at("matchConditions"));
    }
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

fn review_versions(errors: &mut Errors, list: &Node, unknown_allowed: bool) {
    if list.is_empty() {
        return errors.required(list, &format!("must specify one of {}", REVIEWS.join(", ")));
    }
    let mut seen = HashSet::new();
    for version in list.items() {
        if seen.insert(version.text()) {
            errors.refuse(&version, names::dns1035_label(version.text()));
        } else {
            errors.invalid(&version, "duplicate version");
        }
    }
    if !unknown_allowed && !REVIEWS.iter().any(|version| seen.contains(version)) {
        errors.invalid(list, format!("must include at least one of {}", REVIEWS.join(", ")));
    }
}

pub(super) fn conditions(errors: &mut Errors, list: &Node) {
    if list.len() > CONDITIONS_MAX {
        errors.too_many(list, CONDITIONS_MAX);
    }
    let mut seen = HashSet::new();
    for condition in list.items() {
        let (expression, name) = (condition.at("expression"), condition.at("name"));
        errors.expression(&expression, "");
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
    client::service_port(errors, &service.at("port"));
    if insecure.is_true() && !bundle.is_empty() {
        errors.invalid(&insecure, "may not be true if caBundle is present");
    }
}

pub(super) fn api_service_update(errors: &mut Errors, new: &Node, old: &Node) {
    meta::change(errors, &new.at("metadata"), &old.at("metadata"));
}
