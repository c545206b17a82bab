//! Admission policies and their bindings. What is wrong with expressions is found elsewhere, and told here in its turn.

use std::collections::HashSet;

use super::tree::{Errors, Node};
use super::webhook::{self, FAILURE_POLICIES, MATCH_POLICIES, REINVOCATION_POLICIES};
use super::{names, selector, status};

const ANNOTATIONS_MAX: usize = 20;
/// Less than a value may have: expressions join texts to longer ones.
const VALUE_EXPRESSION_BYTES_MAX: usize = 5 * 1024;
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
/// What is going cannot be changed.
const CHANGEABLE: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
/// Words that CEL keeps for itself.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

pub(super) fn validating(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    common(errors, &spec, old, &[]);
    let (validations, annotations) = (spec.at("validations"), spec.at("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let detail = "validations or auditAnnotations must contain at least one item";
        errors.required(&validations, detail);
        errors.required(&annotations, detail);
    }
    for validation in validations.items() {
        self::validation(errors, &validation);
    }
    audit_annotations(errors, &annotations, object.at("metadata").at("name").text());
    webhook::unreserved(errors, object, old);
}

pub(super) fn mutating(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    common(errors, &spec, old, &CHANGEABLE);
    let mutations = spec.at("mutations");
    if mutations.is_empty() {
        errors.required(&mutations, "mutations must contain at least one item");
    }
    for mutation in mutations.items() {
        self::mutation(errors, &mutation);
    }
    errors.one_of(&spec.at("reinvocationPolicy"), &REINVOCATION_POLICIES);
    webhook::unreserved(errors, object, old);
}

/// What both sorts of policies say; `operations` are those that they may be about, if not all.
fn common(errors: &mut Errors, spec: &Node, old: Option<&Node>, operations: &[&str]) {
    one_of_what_is_set(errors, &spec.at("failurePolicy"), &FAILURE_POLICIES);
    let (kind, constraints, conditions) =
        (spec.at("paramKind"), spec.at("matchConstraints"), spec.at("matchConditions"));
    if kind.exists() {
        param_kind(errors, &kind);
    }
    if constraints.exists() {
        resources(errors, &constraints);
        if constraints.at("resourceRules").is_empty() {
            errors.required(&constraints.at("resourceRules"), "");
        }
        self::operations(errors, &constraints, operations);
    } else {
        errors.required(&constraints, "");
    }
    // Conditions that hold no matter what else changed are not looked at again.
    let before = old.map(|old| old.at("spec"));
    let same = |before: Node| kind.same(&before.at("paramKind")) && conditions.same(&before.at("matchConditions"));
    if !before.is_some_and(same) {
        webhook::conditions(errors, &conditions);
    }
    for variable in spec.at("variables").items() {
        self::variable(errors, &variable);
    }
}

/// A default is filled in for what is not said: what is empty was.
fn one_of_what_is_set(errors: &mut Errors, at: &Node, supported: &[&str]) {
    if !at.exists() {
        errors.required(at, "");
    } else if !supported.contains(&at.text()) {
        errors.unsupported(at, supported);
    }
}

fn param_kind(errors: &mut Errors, at: &Node) {
    let (version, kind) = (at.at("apiVersion"), at.at("kind"));
    if version.is_empty() {
        errors.required(&version, "");
    } else {
        group_and_version(errors, &version);
    }
    let wrong = names::dns1035_label(&kind.text().to_lowercase());
    if kind.is_empty() {
        errors.required(&kind, "");
    } else if !wrong.is_empty() {
        let detail = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
        errors.invalid(&kind, detail);
    }
}

fn group_and_version(errors: &mut Errors, at: &Node) {
    let (group, version) = match at.text().split('/').collect::<Vec<_>>()[..] {
        [version] => ("", version),
        [group, version] => (group, version),
        _ => return errors.invalid(at, format!("unexpected GroupVersion string: {}", at.text())),
    };
    let wrong = names::dns1123_subdomain(group);
    if !group.is_empty() && !wrong.is_empty() {
        errors.invalid_value(at, group, wrong.join(","));
    }
    let wrong = names::dns1035_label(version);
    if version.is_empty() {
        errors.invalid(at, "version must be specified");
    } else if !wrong.is_empty() {
        errors.invalid_value(at, version, wrong.join(","));
    }
}

fn resources(errors: &mut Errors, at: &Node) {
    one_of_what_is_set(errors, &at.at("matchPolicy"), &MATCH_POLICIES);
    for selected in [at.at("namespaceSelector"), at.at("objectSelector")] {
        if selected.exists() {
            selector::selector(errors, &selected);
        } else {
            errors.required(&selected, "");
        }
    }
    for rule in at.at("resourceRules").items().chain(at.at("excludeResourceRules").items()) {
        let mut seen = HashSet::new();
        for name in rule.at("resourceNames").items() {
            errors.refuse(&name, names::path_segment(name.text()));
            if !seen.insert(name.text()) {
                errors.duplicate(&name, name.text());
            }
        }
        webhook::rule(errors, &rule);
    }
}

fn operations(errors: &mut Errors, at: &Node, supported: &[&str]) {
    if supported.is_empty() {
        return;
    }
    let rules = at.at("resourceRules");
    for operation in rules.items().flat_map(|rule| rule.at("operations").items().collect::<Vec<_>>()) {
        if !supported.contains(&operation.text()) {
            errors.unsupported_value(&rules.at("operations"), operation.text(), supported);
        }
    }
}

fn variable(errors: &mut Errors, at: &Node) {
    let name = at.at("name");
    if name.text().trim().is_empty() {
        errors.required(&name, "name is not specified");
    } else if !is_identifier(name.text()) {
        errors.invalid(&name, "must be a valid CEL identifier");
    }
    errors.expression(&at.at("expression"), "expression is not specified");
}

fn is_identifier(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(known) && !name.starts_with(|first: char| first.is_ascii_digit()) && !RESERVED.contains(&name)
}

fn validation(errors: &mut Errors, at: &Node) {
    errors.expression(&at.at("expression"), "expression is not specified");
    let (expression, message, reason) = (at.at("messageExpression"), at.at("message"), at.at("reason"));
    if !expression.is_empty() && expression.text().trim().is_empty() {
        errors.invalid(&expression, "must be non-empty if specified");
    }
    errors.known_at(&expression);
    if !message.is_empty() && message.text().trim().is_empty() {
        errors.invalid(&message, "must be non-empty if specified");
    } else if message.text().trim().contains(['\n', '\r']) {
        errors.invalid(&message, "must not contain line breaks");
    }
    if reason.exists() && !REASONS.contains(&reason.text()) {
        errors.unsupported(&reason, &REASONS);
    }
}

fn audit_annotations(errors: &mut Errors, list: &Node, policy: &str) {
    if list.len() > ANNOTATIONS_MAX {
        errors.invalid(list, format!("must not have more than {ANNOTATIONS_MAX} auditAnnotations"));
    }
    let mut seen = HashSet::new();
    for annotation in list.items() {
        let (key, value) = (annotation.at("key"), annotation.at("valueExpression"));
        if policy.is_empty() {
            errors.invalid(&key, "requires metadata.name be non-empty");
        } else {
            let name = format!("{policy}/{}", key.text());
            names::qualified_name(&name).into_iter().for_each(|wrong| errors.invalid_value(&key, &*name, wrong));
        }
        if value.text().trim().len() > VALUE_EXPRESSION_BYTES_MAX {
            errors.required(&value, &format!("must not exceed {VALUE_EXPRESSION_BYTES_MAX} bytes in length"));
        } else {
            errors.expression(&value, "valueExpression is not specified");
        }
        if !seen.insert(key.text()) {
            errors.duplicate(&key, key.text());
        }
    }
}

fn mutation(errors: &mut Errors, at: &Node) {
    let (sort, patch, configuration) = (at.at("patchType"), at.at("jsonPatch"), at.at("applyConfiguration"));
    let (own, other, shown) = match sort.text() {
        "JSONPatch" => (patch, configuration, "{applyConfiguration}"),
        "ApplyConfiguration" => (configuration, patch, "{jsonPatch}"),
        _ => return errors.one_of(&sort, &["ApplyConfiguration", "JSONPatch"]),
    };
    if own.exists() {
        errors.expression(&own.at("expression"), "");
    } else {
        errors.required(&own, &format!("must be specified when patchType is {}", sort.text()));
    }
    if other.exists() {
        errors.invalid_value(&other, shown, format!("must not be specified when patchType is {}", sort.text()));
    }
}

pub(super) fn validating_binding(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    binding(errors, &object.at("spec"));
    actions(errors, &object.at("spec").at("validationActions"));
    webhook::unreserved(errors, object, old);
}

pub(super) fn mutating_binding(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    binding(errors, &object.at("spec"));
    operations(errors, &object.at("spec").at("matchResources"), &CHANGEABLE);
    webhook::unreserved(errors, object, old);
}

fn binding(errors: &mut Errors, spec: &Node) {
    let policy = spec.at("policyName");
    if policy.is_empty() {
        errors.required(&policy, "");
    } else {
        errors.refuse(&policy, names::dns1123_subdomain(policy.text()));
    }
    if spec.at("paramRef").exists() {
        param_ref(errors, &spec.at("paramRef"));
    }
    if spec.at("matchResources").exists() {
        resources(errors, &spec.at("matchResources"));
    }
}

fn param_ref(errors: &mut Errors, at: &Node) {
    const EXCLUSIVE: &str = "name and selector are mutually exclusive";
    let (name, selected) = (at.at("name"), at.at("selector"));
    if !name.is_empty() {
        errors.refuse(&name, names::path_segment(name.text()));
    }
    let both = !name.is_empty() && selected.exists();
    if both {
        errors.forbidden(&name, EXCLUSIVE);
    }
    selector::selector(errors, &selected);
    if both {
        errors.forbidden(&selected, EXCLUSIVE);
    }
    if name.is_empty() && !selected.exists() {
        errors.required(at, "one of name or selector must be specified");
    }
    errors.one_of(&at.at("parameterNotFoundAction"), &["Deny", "Allow"]);
}

fn actions(errors: &mut Errors, list: &Node) {
    let mut seen = HashSet::new();
    for action in list.items() {
        if !ACTIONS.contains(&action.text()) {
            errors.unsupported(&action, &ACTIONS);
        }
        if !seen.insert(action.text()) {
            errors.duplicate(&action, action.text());
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let detail = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                      response and headers serves no purpose)";
        errors.invalid(list, detail);
    }
    if seen.is_empty() {
        errors.required(list, "");
    }
}

pub(super) fn status(errors: &mut Errors, new: &Node, _old: &Node) {
    let status = new.at("status");
    for warning in status.at("typeChecking").at("expressionWarnings").items() {
        for text in [warning.at("warning"), warning.at("fieldRef")] {
            if text.text().trim().is_empty() {
                errors.required(&text, "");
            }
        }
    }
    status::conditions(errors, &status.at("conditions"));
}
