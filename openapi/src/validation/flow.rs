//! FlowSchema, PriorityLevelConfiguration and CertificateSigningRequest.

use std::collections::HashSet;

use super::tree::{Errors, Node};
use super::{names, pod};
use crate::flows;
use crate::scalar::base64;
use serde_json::Value;

const PRECEDENCE_MAX: i64 = 10000;
const QUEUES_MAX: i64 = 10_000_000;
const VERBS: [&str; 9] = ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
const SUBJECTS: [(&str, &str); 3] = [("serviceAccount", "ServiceAccount"), ("user", "User"), ("group", "Group")];
const CERTIFICATE_SECS_MIN: i64 = 600;
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

pub(super) fn flow_schema(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    let (precedence, method) = (spec.at("matchingPrecedence"), spec.at("distinguisherMethod"));
    let number = precedence.int();
    if number <= 0 {
        errors.invalid_value(&precedence, number, "must be a positive value");
    }
    if number > PRECEDENCE_MAX {
        errors.invalid_value(&precedence, number, format!("must not be greater than {PRECEDENCE_MAX}"));
    }
    if number == 1 && !object.at("metadata").at("name").is("exempt") {
        errors.invalid(&precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
    }
    if method.exists() && !["ByNamespace", "ByUser"].contains(&method.at("type").text()) {
        errors.unsupported_value(&method.at("type"), method.value().clone(), &["ByNamespace", "ByUser"]);
    }
    let level = spec.at("priorityLevelConfiguration").at("name");
    if level.is_empty() {
        errors.required(&level, "must reference a priority level");
    } else {
        errors.refuse(&level, names::dns1123_subdomain(level.text()));
    }
    for rule in spec.at("rules").items() {
        self::rule(errors, &rule);
    }
    fixed(errors, object, flows::schemas());
}

/// What every server needs is as every server has it. The shares of what is exempt are free.
fn fixed(errors: &mut Errors, object: &Node, given: Vec<Value>) {
    let (name, spec) = (object.at("metadata").at("name"), object.at("spec"));
    if !flows::MANDATORY.contains(&name.text()) {
        return;
    }
    let Some(given) = given.into_iter().find(|given| given["metadata"]["name"] == name.text()) else { return };
    let free = given["spec"].get("exempt").is_some();
    let (mut wanted, mut found) = (given["spec"].clone(), spec.value().clone());
    for tree in [&mut wanted, &mut found] {
        if let Some(fields) = tree.as_object_mut().filter(|_| free) {
            fields.remove("exempt");
        }
    }
    if !Node::root(&wanted).same(&Node::root(&found)) {
        let except = if free { " except the 'spec.exempt' field" } else { "" };
        errors.invalid(&spec, format!("spec of '{}'{except} must equal the fixed value", name.text()));
    }
}

fn rule(errors: &mut Errors, rule: &Node) {
    let (subjects, resources, others) = (rule.at("subjects"), rule.at("resourceRules"), rule.at("nonResourceRules"));
    for subject in subjects.items() {
        self::subject(errors, &subject);
    }
    if subjects.is_empty() {
        errors.required(&subjects, "subjects must contain at least one value");
    }
    if resources.is_empty() && others.is_empty() {
        errors.required(rule, "at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    for rule in resources.items() {
        resource_rule(errors, &rule);
    }
    for rule in others.items() {
        verbs(errors, &rule.at("verbs"));
        let urls = rule.at("nonResourceURLs");
        if urls.is_empty() {
            errors.required(&urls, "nonResourceURLs must contain at least one value");
        } else if !wildcard(errors, &urls, "non-resource URLs") {
            urls.items().for_each(|url| path(errors, &url));
        }
    }
}

fn subject(errors: &mut Errors, at: &Node) {
    let kind = at.at("kind");
    let Some((own, _)) = SUBJECTS.iter().find(|(_, known)| kind.is(known)) else {
        return errors.unsupported(&kind, &["Group", "ServiceAccount", "User"]);
    };
    let (value, name) = (at.at(own), at.at(own).at("name"));
    if !value.exists() {
        errors.required(&value, &format!("{own} is required when subject kind is '{}'", kind.text()));
    } else if name.is_empty() {
        errors.required(&name, "");
    } else if *own == "serviceAccount" && !name.is("*") {
        errors.refuse(&name, names::dns1123_subdomain(name.text()));
    }
    if *own == "serviceAccount" && value.exists() {
        let namespace = value.at("namespace");
        if namespace.is_empty() {
            errors.required(&namespace, "must specify namespace for service account");
        } else {
            errors.refuse(&namespace, names::dns1123_label(namespace.text()));
        }
    }
    let order = if *own == "serviceAccount" { ["user", "group", ""] } else { ["serviceAccount", "user", "group"] };
    for (other, known) in order.iter().filter_map(|name| SUBJECTS.iter().find(|(other, _)| other == name)) {
        if other != own && at.at(other).exists() {
            errors.forbidden(&at.at(other), format!("{other} is forbidden when subject kind is not '{known}'"));
        }
    }
}

/// Whether the list says `*`, which it may only say alone.
fn wildcard(errors: &mut Errors, list: &Node, words: &str) -> bool {
    let wild = list.texts().contains(&"*");
    if wild && list.len() > 1 {
        errors.invalid(list, format!("if '*' is present, must not specify other {words}"));
    }
    wild
}

fn verbs(errors: &mut Errors, list: &Node) {
    if list.is_empty() {
        errors.required(list, "verbs must contain at least one value");
    } else if !wildcard(errors, list, "verbs") && !list.texts().iter().all(|verb| VERBS.contains(verb)) {
        errors.unsupported_value(list, list.value().clone(), &VERBS);
    }
}

fn resource_rule(errors: &mut Errors, rule: &Node) {
    verbs(errors, &rule.at("verbs"));
    for (name, one, words) in [("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")] {
        let list = rule.at(name);
        if list.is_empty() {
            errors.required(&list, &format!("resource rules must supply at least one {one}"));
        } else {
            wildcard(errors, &list, words);
        }
    }
    let namespaces = rule.at("namespaces");
    if namespaces.is_empty() && !rule.at("clusterScope").is_true() {
        let detail = "resource rules that are not cluster scoped must supply at least one namespace";
        errors.required(&namespaces, detail);
    } else if !wildcard(errors, &namespaces, "namespaces") {
        for namespace in namespaces.items() {
            for message in names::dns1123_label(namespace.text()) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {message}");
                errors.invalid_value(&namespace, namespace.text(), detail);
            }
        }
    }
}

fn path(errors: &mut Errors, at: &Node) {
    let text = at.text();
    let wildcards = text.matches('*').count();
    let wrong = match text {
        "" => "must not be empty",
        "/" => return,
        _ if !text.starts_with('/') => "must start with slash",
        _ if text.contains(' ') => "must not contain white-space",
        _ if text.contains("//") => "must not contain double slash",
        _ if wildcards > 1 || (wildcards == 1 && !text.ends_with("/*")) => "wildcard can only do suffix matching",
        _ => return,
    };
    errors.invalid_value(at, text, wrong);
}

pub(super) fn priority_level(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    let kind = spec.at("type");
    if object.at("metadata").at("name").is("exempt") != kind.is("Exempt") {
        errors.invalid_value(&kind, kind.text(), "must be 'Exempt' if and only if `name` is 'exempt'");
    }
    match kind.text() {
        "Exempt" => shares(errors, &spec.at("exempt")),
        "Limited" if spec.at("limited").exists() => {
            let limited = spec.at("limited");
            let shared = limited.at("nominalConcurrencyShares");
            if shared.int() < 0 {
                errors.invalid(&shared, "must be a non-negative integer");
            }
            limit_response(errors, &limited.at("limitResponse"));
            lendable(errors, &limited);
            if limited.at("borrowingLimitPercent").int() < 0 {
                let detail = "if specified, must be a non-negative integer";
                errors.invalid(&limited.at("borrowingLimitPercent"), detail);
            }
        }
        "Limited" | "" => {}
        _ => errors.unsupported(&kind, &["Exempt", "Limited"]),
    }
    fixed(errors, object, flows::levels());
}

fn shares(errors: &mut Errors, at: &Node) {
    let shares = at.at("nominalConcurrencyShares");
    if shares.int() < 0 {
        errors.invalid(&shares, "must be a non-negative integer");
    }
    lendable(errors, at);
}

fn lendable(errors: &mut Errors, at: &Node) {
    for message in names::between(at.at("lendablePercent").int(), 0, 100) {
        errors.invalid(&at.at("lendablePercent"), message);
    }
}

fn limit_response(errors: &mut Errors, at: &Node) {
    let (kind, queuing) = (at.at("type"), at.at("queuing"));
    match kind.text() {
        "Queue" if queuing.exists() => self::queuing(errors, &queuing),
        "Queue" | "Reject" | "" => {}
        _ => errors.unsupported(&kind, &["Queue", "Reject"]),
    }
}

fn queuing(errors: &mut Errors, at: &Node) {
    let (length, queues, hand) = (at.at("queueLengthLimit"), at.at("queues"), at.at("handSize"));
    if length.int() <= 0 {
        errors.invalid_value(&length, length.int(), "must be positive");
    }
    if queues.int() <= 0 {
        errors.invalid_value(&queues, queues.int(), "must be positive");
    } else if queues.int() > QUEUES_MAX {
        errors.invalid(&queues, format!("must not be greater than {QUEUES_MAX}"));
    }
    if hand.int() <= 0 {
        errors.invalid_value(&hand, hand.int(), "must be positive");
    } else if hand.int() > queues.int() {
        errors.invalid(&hand, format!("should not be greater than queues ({})", queues.int()));
    }
}

pub(super) fn priority_level_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    let spec = new.at("spec");
    if old.is_some_and(|old| old.at("spec").same(&spec)) {
        return;
    }
    let (kind, limited) = (spec.at("type"), spec.at("limited"));
    member(errors, &spec, "exempt", "Exempt", false);
    member(errors, &spec, "limited", "Limited", true);
    if kind.is_empty() {
        errors.required(&kind, "");
    }
    let response = limited.at("limitResponse");
    if limited.exists() {
        member(errors, &response, "queuing", "Queue", true);
        if response.at("type").is_empty() {
            errors.required(&response.at("type"), "");
        }
    }
}

/// A field that only one type has, and may have to have.
fn member<'a>(errors: &mut Errors, at: &Node<'a>, name: &'a str, kind: &str, needed: bool) {
    let value = at.at(name);
    match (at.at("type").is(kind), value.exists()) {
        (true, false) if needed => errors.required(&value, ""),
        (false, true) => errors.forbidden(&value, ""),
        _ => {}
    }
}

pub(super) fn signing_request(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    let (usages, signer, seconds) = (spec.at("usages"), spec.at("signerName"), spec.at("expirationSeconds"));
    let request = base64::decode(spec.at("request").text()).unwrap_or_default();
    let begin = b"-----BEGIN CERTIFICATE REQUEST-----";
    if !request.windows(begin.len()).any(|part| part == begin) {
        errors.invalid(&spec.at("request"), "PEM block type must be CERTIFICATE REQUEST");
    }
    if usages.is_empty() {
        errors.required(&usages, "");
    }
    for usage in usages.items().filter(|usage| !USAGES.contains(&usage.text())) {
        errors.unsupported(&usage, &USAGES);
    }
    let mut seen = HashSet::new();
    for usage in usages.items().filter(|usage| !seen.insert(usage.text())) {
        errors.duplicate(&usage, usage.text());
    }
    if signer.is(LEGACY_SIGNER) {
        errors.invalid(&signer, "the legacy signerName is not allowed via this API version");
    } else {
        pod::signer_name(errors, &signer);
    }
    if seconds.exists() && seconds.int() < CERTIFICATE_SECS_MIN {
        errors.invalid(&seconds, "may not specify a duration less than 600 seconds (10 minutes)");
    }
}
