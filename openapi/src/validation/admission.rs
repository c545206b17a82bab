//! Admission policies and their bindings. Their expressions are compiled elsewhere; here they are only missed.

use std::collections::HashSet;

use super::tree::{Errors, Node};
use super::webhook::{conditions, one_of_if_set, rule};
use super::{names, selector};

const ANNOTATIONS_MAX: usize = 20;
const VALUE_EXPRESSION_BYTES_MAX: usize = 5 * 1024;
/// Policies that change objects look at nothing that is deleted.
const CHANGING: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

pub(super) fn validating(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    common(errors, &spec);
    let (validations, annotations) = (spec.at("validations"), spec.at("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        for list in [&validations, &annotations] {
            errors.required(list, "validations or auditAnnotations must contain at least one item");
        }
    }
    validations.items().for_each(|one| validation(errors, &one));
    self::annotations(errors, &annotations, object.at("metadata").at("name").text());
}

pub(super) fn mutating(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    common(errors, &spec);
    changing_only(errors, &spec.at("matchConstraints"));
    let mutations = spec.at("mutations");
    if mutations.is_empty() {
        errors.required(&mutations, "mutations must contain at least one item");
    }
    mutations.items().for_each(|one| mutation(errors, &one));
    let again = spec.at("reinvocationPolicy");
    if again.is_empty() {
        errors.required(&again, "");
    } else {
        one_of_if_set(errors, &again, &["IfNeeded", "Never"]);
    }
}

/// What both sorts of policies say: whether they may fail, with what, about what, and when.
fn common(errors: &mut Errors, spec: &Node) {
    required_one_of(errors, &spec.at("failurePolicy"), &["Fail", "Ignore"]);
    if spec.at("paramKind").exists() {
        param_kind(errors, &spec.at("paramKind"));
    }
    let constraints = spec.at("matchConstraints");
    if !constraints.exists() {
        errors.required(&constraints, "");
    } else {
        resources(errors, &constraints);
        if constraints.at("resourceRules").is_empty() {
            errors.required(&constraints.at("resourceRules"), "");
        }
    }
    conditions(errors, &spec.at("matchConditions"));
    for variable in spec.at("variables").items() {
        let (name, expression) = (variable.at("name"), variable.at("expression"));
        if name.text().trim().is_empty() {
            errors.required(&name, "name is not specified");
        } else if !is_identifier(name.text()) {
            errors.invalid(&name, "must be a valid CEL identifier");
        }
        said(errors, &expression, "expression is not specified");
    }
}

fn required_one_of(errors: &mut Errors, at: &Node, supported: &[&str]) {
    if at.exists() {
        one_of_if_set(errors, at, supported);
    } else {
        errors.required(at, "");
    }
}

fn said(errors: &mut Errors, expression: &Node, why: &str) {
    if expression.text().trim().is_empty() {
        errors.required(expression, why);
    }
}

fn is_identifier(name: &str) -> bool {
    const RESERVED: [&str; 18] = [
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
        "let", "loop", "package", "return", "while",
    ];
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let goes_on = name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    let reserved = RESERVED.contains(&name) || ["namespace", "void", "var"].contains(&name);
    starts && goes_on && !reserved
}

fn param_kind(errors: &mut Errors, kind: &Node) {
    let version = kind.at("apiVersion");
    match *version.text().split('/').collect::<Vec<_>>() {
        [""] => errors.required(&version, ""),
        [alone] => version_label(errors, &version, alone),
        [group, alone] => {
            let wrong = names::dns1123_subdomain(group);
            if !group.is_empty() && !wrong.is_empty() {
                errors.invalid_value(&version, group, wrong.join(","));
            }
            version_label(errors, &version, alone);
        }
        _ => {
            errors.invalid(&version, format!("unexpected GroupVersion string: {}", version.text()));
        }
    }
    let name = kind.at("kind");
    let wrong = names::dns1035_label(&name.text().to_lowercase());
    if name.is_empty() {
        errors.required(&name, "");
    } else if !wrong.is_empty() {
        errors.invalid(&name, format!("may have mixed case, but should otherwise match: {}", wrong.join(",")));
    }
}

fn version_label(errors: &mut Errors, at: &Node, version: &str) {
    let wrong = names::dns1035_label(version);
    if version.is_empty() {
        errors.invalid(at, "version must be specified");
    } else if !wrong.is_empty() {
        errors.invalid_value(at, version, wrong.join(","));
    }
}

fn resources(errors: &mut Errors, constraints: &Node) {
    required_one_of(errors, &constraints.at("matchPolicy"), &["Equivalent", "Exact"]);
    for name in ["namespaceSelector", "objectSelector"] {
        let at = constraints.at(name);
        if at.exists() {
            selector::selector(errors, &at);
        } else {
            errors.required(&at, "");
        }
    }
    for list in ["resourceRules", "excludeResourceRules"] {
        constraints.at(list).items().for_each(|one| named_rule(errors, &one));
    }
}

fn named_rule(errors: &mut Errors, one: &Node) {
    let mut seen = HashSet::new();
    for name in one.at("resourceNames").items() {
        errors.refuse(&name, names::path_segment(name.text()));
        if !seen.insert(name.text()) {
            errors.duplicate(&name, name.text());
        }
    }
    rule(errors, one);
}

fn changing_only(errors: &mut Errors, constraints: &Node) {
    let rules = constraints.at("resourceRules");
    for rule in rules.items() {
        let others = rule.at("operations").texts().into_iter().filter(|operation| !CHANGING.contains(operation));
        others.for_each(|operation| errors.unsupported_value(&rules.at("operations"), operation, &CHANGING));
    }
}

fn validation(errors: &mut Errors, one: &Node) {
    said(errors, &one.at("expression"), "expression is not specified");
    for name in ["messageExpression", "message"] {
        let text = one.at(name);
        if !text.is_empty() && text.text().trim().is_empty() {
            errors.invalid(&text, "must be non-empty if specified");
        } else if name == "message" && text.text().trim().contains('\n') {
            errors.invalid(&text, "must not contain line breaks");
        }
    }
    one_of_if_set(errors, &one.at("reason"), &REASONS);
}

fn annotations(errors: &mut Errors, list: &Node, policy: &str) {
    if list.len() > ANNOTATIONS_MAX {
        errors.invalid(list, format!("must not have more than {ANNOTATIONS_MAX} auditAnnotations"));
    }
    let mut seen = HashSet::new();
    for one in list.items() {
        let (key, value) = (one.at("key"), one.at("valueExpression"));
        if policy.is_empty() {
            errors.invalid(&key, "requires metadata.name be non-empty");
        } else {
            let whole = format!("{policy}/{}", key.text());
            names::qualified_name(&whole).into_iter().for_each(|wrong| errors.invalid_value(&key, &*whole, wrong));
        }
        said(errors, &value, "valueExpression is not specified");
        if value.text().trim().len() > VALUE_EXPRESSION_BYTES_MAX {
            errors.required(&value, &format!("must not exceed {VALUE_EXPRESSION_BYTES_MAX} bytes in length"));
        }
        if !seen.insert(key.text()) {
            errors.duplicate(&key, key.text());
        }
    }
}

fn mutation(errors: &mut Errors, one: &Node) {
    let sort = one.at("patchType");
    let (wanted, other) = match sort.text() {
        "" => return errors.required(&sort, ""),
        "JSONPatch" => ("jsonPatch", "applyConfiguration"),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch"),
        _ => return errors.unsupported(&sort, &["ApplyConfiguration", "JSONPatch"]),
    };
    if one.at(wanted).exists() {
        said(errors, &one.at(wanted).at("expression"), "");
    } else {
        errors.required(&one.at(wanted), &format!("must be specified when patchType is {}", sort.text()));
    }
    if one.at(other).exists() {
        let why = format!("must not be specified when patchType is {}", sort.text());
        errors.invalid_value(&one.at(other), format!("{{{other}}}"), why);
    }
}

pub(super) fn validating_binding(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    binding(errors, &spec);
    let actions = spec.at("validationActions");
    let mut seen = HashSet::new();
    for action in actions.items() {
        one_of_if_set(errors, &action, &["Audit", "Deny", "Warn"]);
        if !seen.insert(action.text()) {
            errors.duplicate(&action, action.text());
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let why = "repeating the same validation failure information in the API response and headers serves no purpose";
        errors.invalid(&actions, format!("must not contain both Deny and Warn ({why})"));
    }
    if seen.is_empty() {
        errors.required(&actions, "");
    }
}

pub(super) fn mutating_binding(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    binding(errors, &object.at("spec"));
    changing_only(errors, &object.at("spec").at("matchResources"));
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
    let (name, selector) = (at.at("name"), at.at("selector"));
    let both = !name.is_empty() && selector.exists();
    let exclusive = |errors: &mut Errors, one: &Node| {
        if both {
            errors.forbidden(one, "name and selector are mutually exclusive");
        }
    };
    if !name.is_empty() {
        errors.refuse(&name, names::path_segment(name.text()));
        exclusive(errors, &name);
    }
    if selector.exists() {
        selector::selector(errors, &selector);
        exclusive(errors, &selector);
    }
    if name.is_empty() && !selector.exists() {
        errors.required(at, "one of name or selector must be specified");
    }
    let missing = at.at("parameterNotFoundAction");
    if missing.is_empty() {
        errors.required(&missing, "");
    } else {
        one_of_if_set(errors, &missing, &["Deny", "Allow"]);
    }
}
