//! Job and CronJob.

use std::collections::HashSet;

use serde_json::Value;

use super::names::{self, NameRule};
use super::tree::{Errors, Node};
use super::{cron, pod, selector, success};

const MANAGED_BY_BYTES_MAX: usize = 63;
const PARALLELISM_MAX: i64 = 100_000;
const FAILED_INDEXES_MAX: i64 = 100_000;
/// Above so many completions, other bounds are lower.
const COMPLETIONS_MANY: i64 = 100_000;
const FAILED_OF_MANY_MAX: i64 = 10_000;
const FAILURE_RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const LABELS: [(&str, bool); 4] = [
    ("controller-uid", true),
    ("job-name", false),
    ("batch.kubernetes.io/controller-uid", true),
    ("batch.kubernetes.io/job-name", false),
];

pub(super) fn job(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    if old.is_none() {
        generated_selector(errors, object);
    }
    let spec = object.at("spec");
    job_spec(errors, &spec);
    let selector = spec.at("selector");
    if selector.exists() {
        selector::selector(errors, &selector);
    } else {
        errors.required(&selector, "");
    }
    let labels = spec.at("template").at("metadata").at("labels");
    if selector::is_readable(&selector) && !(selector.exists() && selector::selects(&selector, &labels)) {
        errors.invalid(&labels, "`selector` does not match template `labels`");
    }
    if old.is_none() {
        indexed_names(errors, object);
    }
}

fn generated_selector(errors: &mut Errors, object: &Node) {
    let (meta, spec) = (object.at("metadata"), object.at("spec"));
    if spec.at("manualSelector").is_true() || !spec.at("selector").exists() {
        return;
    }
    if meta.at("uid").is_empty() {
        errors.required(&meta.at("uid"), "");
    }
    let labels = spec.at("template").at("metadata").at("labels");
    let expected = |of_uid: bool| if of_uid { meta.at("uid").text() } else { meta.at("name").text() };
    for (key, of_uid) in LABELS {
        let label = labels.key(key);
        if !label.exists() {
            errors.required(&label, &format!("must be '{}'", expected(of_uid)));
        } else if label.text() != expected(of_uid) {
            errors.invalid_showing(&label, &labels, format!("must be '{}'", expected(of_uid)));
        }
    }
    let generated: Value =
        LABELS.iter().map(|(key, of_uid)| ((*key).to_owned(), Value::from(expected(*of_uid)))).collect();
    let selector = spec.at("selector");
    if selector::is_readable(&selector) && !selector::selects(&selector, &Node::root(&generated)) {
        errors.invalid(&selector, "`selector` not auto-generated");
    }
}

fn is_indexed(spec: &Node) -> bool {
    spec.at("completionMode").is("Indexed")
}

/// Pods of an indexed job are named after it and their index.
fn indexed_names(errors: &mut Errors, object: &Node) {
    let (name, completions) = (object.at("metadata").at("name"), object.at("spec").at("completions").int());
    if is_indexed(&object.at("spec")) && completions > 0 {
        let host = format!("{}-{}", name.text(), completions - 1);
        if !names::dns1123_label(&host).is_empty() {
            errors.invalid(&name, format!("will not able to create pod with invalid DNS label: {host}"));
        }
    }
}

fn job_spec(errors: &mut Errors, spec: &Node) {
    let numbers = ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"];
    for name in numbers.into_iter().chain(["backoffLimitPerIndex", "maxFailedIndexes"]) {
        errors.negative(&spec.at(name));
    }
    if spec.at("maxFailedIndexes").exists() && !spec.at("backoffLimitPerIndex").exists() {
        errors.required(&spec.at("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    let manager = spec.at("managedBy");
    if manager.exists() {
        domain_path(errors, &manager);
        if manager.len() > MANAGED_BY_BYTES_MAX {
            errors.too_long(&manager, MANAGED_BY_BYTES_MAX);
        }
    }
    completion_mode(errors, spec);
    if spec.at("podFailurePolicy").exists() {
        failure_policy(errors, spec);
    }
    if spec.at("successPolicy").exists() {
        if is_indexed(spec) {
            success::success_policy(errors, spec);
        } else {
            errors.invalid(&spec.at("successPolicy"), "requires indexed completion mode");
        }
    }
    replacement_policy(errors, spec);
    pod::template(errors, &spec.at("template"), &[]);
    restart_policy(errors, spec);
}

/// `acme.io/foo`
pub(super) fn domain_path(errors: &mut Errors, at: &Node) {
    if at.is_empty() {
        return errors.required(at, "");
    }
    let Some((host, path)) = at.text().split_once('/').filter(|(host, path)| !host.is_empty() && !path.is_empty())
    else {
        return errors.invalid(at, "must be a domain-prefixed path (such as \"acme.io/foo\")");
    };
    for message in names::dns1123_subdomain(host) {
        errors.invalid_value(at, host, message);
    }
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(known) {
        let form = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
        errors.invalid_value(at, path, format!("Invalid path (regex used for validation is '{form}')"));
    }
}

fn completion_mode(errors: &mut Errors, spec: &Node) {
    let mode = spec.at("completionMode");
    if mode.exists() && !["NonIndexed", "Indexed"].contains(&mode.text()) {
        errors.unsupported(&mode, &["NonIndexed", "Indexed"]);
    }
    let (completions, parallelism, failed) =
        (spec.at("completions"), spec.at("parallelism"), spec.at("maxFailedIndexes"));
    if !is_indexed(spec) {
        for at in [spec.at("backoffLimitPerIndex"), failed] {
            if at.exists() && (!mode.exists() || mode.is("NonIndexed")) {
                errors.invalid(&at, "requires indexed completion mode");
            }
        }
        return;
    }
    if !completions.exists() {
        errors.required(&completions, "when completion mode is Indexed");
    }
    if parallelism.int() > PARALLELISM_MAX {
        let detail = format!("must be less than or equal to {PARALLELISM_MAX} when completion mode is Indexed");
        errors.invalid(&parallelism, detail);
    }
    if completions.exists() && failed.exists() && failed.int() > completions.int() {
        errors.invalid(&failed, "must be less than or equal to completions");
    }
    if failed.int() > FAILED_INDEXES_MAX {
        errors.invalid(&failed, format!("must be less than or equal to {FAILED_INDEXES_MAX}"));
    }
    if completions.int() > COMPLETIONS_MANY && spec.at("backoffLimitPerIndex").exists() {
        many_completions(errors, &parallelism, &failed);
    }
}

fn many_completions(errors: &mut Errors, parallelism: &Node, failed: &Node) {
    if !failed.exists() {
        let detail = format!("must be specified when completions is above {COMPLETIONS_MANY}");
        errors.required(failed, &detail);
    }
    for at in [parallelism, failed].into_iter().filter(|at| at.int() > FAILED_OF_MANY_MAX) {
        let bound = format!("must be less than or equal to {FAILED_OF_MANY_MAX} when completions are above");
        errors.invalid(at, format!("{bound} {COMPLETIONS_MANY} and used with backoff limit per index"));
    }
}

fn replacement_policy(errors: &mut Errors, spec: &Node) {
    let policy = spec.at("podReplacementPolicy");
    let known: &[&str] =
        if spec.at("podFailurePolicy").exists() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    if policy.exists() && !known.contains(&policy.text()) {
        errors.unsupported(&policy, known);
    }
}

fn restart_policy(errors: &mut Errors, spec: &Node) {
    let policy = spec.at("template").at("spec").at("restartPolicy");
    match policy.text() {
        "Always" | "" => errors.required(&policy, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if spec.at("podFailurePolicy").exists() => {
            errors.invalid(&policy, "only \"Never\" is supported when podFailurePolicy is specified");
        }
        "OnFailure" | "Never" => {}
        _ => errors.unsupported(&policy, &["OnFailure", "Never"]),
    }
}

fn quoted(values: &[&str]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    format!("valid values: [{}]", values.join(" "))
}

fn failure_policy(errors: &mut Errors, spec: &Node) {
    let rules = spec.at("podFailurePolicy").at("rules");
    if rules.len() > FAILURE_RULES_MAX {
        errors.too_many(&rules, FAILURE_RULES_MAX);
    }
    let pod = spec.at("template").at("spec");
    let containers = ["containers", "initContainers"].into_iter().flat_map(|list| pod.at(list).items());
    let containers: HashSet<&str> = containers.map(|container| container.at("name").text()).collect();
    let actions = ["Count", "FailIndex", "FailJob", "Ignore"];
    for rule in rules.items() {
        let (action, codes, conditions) = (rule.at("action"), rule.at("onExitCodes"), rule.at("onPodConditions"));
        if action.is_empty() {
            errors.required(&action, &quoted(&actions));
        } else if action.is("FailIndex") && !spec.at("backoffLimitPerIndex").exists() {
            errors.invalid(&action, "requires the backoffLimitPerIndex to be set");
        } else if !actions.contains(&action.text()) {
            errors.unsupported(&action, &actions);
        }
        if codes.exists() {
            exit_codes(errors, &codes, &containers);
        }
        pod_conditions(errors, &conditions);
        match (codes.exists(), conditions.is_empty()) {
            (true, false) => {
                errors.invalid_silently(&rule, "specifying both OnExitCodes and OnPodConditions is not supported");
            }
            (false, true) => {
                errors.invalid_silently(&rule, "specifying one of OnExitCodes and OnPodConditions is required");
            }
            _ => {}
        }
    }
}

fn pod_conditions(errors: &mut Errors, conditions: &Node) {
    if conditions.len() > FAILURE_RULES_MAX {
        errors.too_many(conditions, FAILURE_RULES_MAX);
    }
    let states = ["False", "True", "Unknown"];
    for pattern in conditions.items() {
        selector::label_name(errors, &pattern.at("type"));
        let status = pattern.at("status");
        if status.is_empty() {
            errors.required(&status, &quoted(&states));
        } else if !states.contains(&status.text()) {
            errors.unsupported(&status, &states);
        }
    }
}

fn exit_codes(errors: &mut Errors, codes: &Node, containers: &HashSet<&str>) {
    let (operator, container, values) = (codes.at("operator"), codes.at("containerName"), codes.at("values"));
    if operator.is_empty() {
        errors.required(&operator, &quoted(&["In", "NotIn"]));
    } else if !["In", "NotIn"].contains(&operator.text()) {
        errors.unsupported(&operator, &["In", "NotIn"]);
    }
    if container.exists() && !containers.contains(container.text()) {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.invalid(&container, detail);
    }
    if values.is_empty() {
        errors.invalid(&values, "at least one value is required");
    } else if values.len() > EXIT_CODES_MAX {
        errors.too_many(&values, EXIT_CODES_MAX);
    }
    let mut seen = HashSet::new();
    let mut numbers = Vec::new();
    for value in values.items() {
        if operator.is("In") && value.int() == 0 {
            errors.invalid(&value, "must not be 0 for the In operator");
        }
        if !seen.insert(value.int()) {
            errors.duplicate(&value, value.int());
        }
        numbers.push(value.int());
    }
    if !numbers.is_sorted() {
        errors.invalid(&values, "must be ordered");
    }
}

pub(super) fn job_update(errors: &mut Errors, new: &Node, old: &Node) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let completions = spec.at("completions");
    if !is_indexed(&spec) {
        errors.immutable(&completions, &before.at("completions"));
    } else if !completions.same(&before.at("completions"))
        && completions.exists()
        && completions.int() != spec.at("parallelism").int()
    {
        errors.invalid(&completions, "can only be modified in tandem with spec.parallelism");
    }
    errors.immutable(&spec.at("selector"), &before.at("selector"));
    kept_template(errors, &spec, &before);
    for name in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        errors.immutable(&spec.at(name), &before.at(name));
    }
    indexed_names(errors, new);
}

/// A suspended job may still be told where to run and with what.
fn kept_template(errors: &mut Errors, spec: &Node, before: &Node) {
    let template = spec.at("template");
    if !before.at("suspend").is_true() {
        return errors.immutable(&template, &before.at("template"));
    }
    let strip = |template: &Node| {
        let mut spec = template.at("spec").value().clone();
        if let Value::Object(map) = &mut spec {
            for name in ["nodeSelector", "tolerations", "schedulingGates", "affinity"] {
                map.remove(name);
            }
        }
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Value::Object(map) = container {
                    map.remove("resources");
                }
            }
        }
        spec
    };
    if strip(&template) != strip(&before.at("template")) {
        let place = template.at("spec").placed_at(&spec.at("template.spec"));
        errors.invalid(&place, "field is immutable");
    }
}

pub(super) fn cron_job(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    let schedule = spec.at("schedule");
    if !schedule.is_empty() {
        let known = old.is_some_and(|old| old.at("spec").at("schedule").text().contains("TZ"));
        self::schedule(errors, &schedule, &spec.at("timeZone"), known);
    }
    errors.negative(&spec.at("startingDeadlineSeconds"));
    if old.is_none_or(|old| !old.at("spec").at("timeZone").same(&spec.at("timeZone"))) {
        time_zone(errors, &spec.at("timeZone"));
    }
    errors.one_of(&spec.at("concurrencyPolicy"), &["Allow", "Forbid", "Replace"]);
    let template = spec.at("jobTemplate").at("spec");
    job_spec(errors, &template);
    if template.at("selector").exists() {
        errors.invalid(&template.at("selector"), "`selector` will be auto-generated");
    }
    if template.at("manualSelector").is_true() {
        errors.unsupported_value(&template.at("manualSelector"), true, &["nil", "false"]);
    }
    errors.negative(&spec.at("successfulJobsHistoryLimit"));
    errors.negative(&spec.at("failedJobsHistoryLimit"));
    let name = object.at("metadata").at("name");
    if let Some(detail) = NameRule::CronJob.excess(name.text()).filter(|_| old.is_none()) {
        errors.invalid(&name, detail);
    }
}

fn schedule(errors: &mut Errors, at: &Node, zone: &Node, zone_known: bool) {
    if let Err(problem) = cron::parse(at.text()) {
        errors.invalid(at, problem);
    }
    if at.text().contains("TZ") {
        if !zone_known {
            errors.invalid(at, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
        } else if zone.exists() {
            errors.invalid(at, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
        }
    }
}

fn time_zone(errors: &mut Errors, at: &Node) {
    if !at.exists() {
        return;
    }
    if at.is_empty() {
        return errors.invalid(at, "timeZone must be nil or non-empty string");
    }
    let part = |part: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
        part != "."
            && part != ".."
            && !part.starts_with('-')
            && (1..=14).contains(&part.len())
            && part.bytes().all(known)
    };
    if !at.text().split('/').all(part) {
        return errors.invalid(at, format!("unknown time zone {}", at.text()));
    }
    if at.text().eq_ignore_ascii_case("local") {
        let detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.invalid(at, detail);
    }
}

pub(super) fn cron_job_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    let schedule = new.at("spec").at("schedule");
    if schedule.is_empty() && old.is_none_or(|old| !old.at("spec").at("schedule").same(&schedule)) {
        errors.required(&schedule, "");
    }
}
