//! PodDisruptionBudget, PriorityClass, RuntimeClass, Lease and Event.

use serde_json::Value;

use super::tree::{Errors, Node};
use super::{names, pod, selector, status, workload};

const USER_PRIORITY_MAX: i64 = 1_000_000_000;
const EVENT_WORD_BYTES_MAX: usize = 128;
const EVENT_NOTE_BYTES_MAX: usize = 1024;
/// Priority classes of the system, and their values.
const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

pub(super) fn disruption_budget(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    let (min, max, policy) =
        (spec.at("minAvailable"), spec.at("maxUnavailable"), spec.at("unhealthyPodEvictionPolicy"));
    if min.exists() && max.exists() {
        errors.invalid(&spec, "minAvailable and maxUnavailable cannot be both set");
    }
    for at in [min, max] {
        workload::int_or_percent(errors, &at);
        workload::at_most_all(errors, &at);
    }
    selector::selector(errors, &spec.at("selector"));
    if policy.exists() && !["AlwaysAllow", "IfHealthyBudget"].contains(&policy.text()) {
        errors.unsupported(&policy, &["AlwaysAllow", "IfHealthyBudget"]);
    }
}

pub(super) fn disruption_budget_status(errors: &mut Errors, new: &Node, _old: &Node) {
    status::conditions(errors, &new.at("status").at("conditions"));
    for name in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        errors.negative(&new.at("status").at(name));
    }
}

pub(super) fn priority_class(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    if old.is_some() {
        return;
    }
    let (name, value) = (object.at("metadata").at("name"), object.at("value").int());
    if name.text().starts_with("system-") {
        let known = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name.text());
        let problem = match known {
            None => format!("{} is not a known system priority class", name.text()),
            Some((_, expected)) if *expected != value => {
                format!("value of {} PriorityClass must be {expected}", name.text())
            }
            Some(_) if object.at("globalDefault").is_true() => {
                format!("globalDefault of {} PriorityClass must be false", name.text())
            }
            Some(_) => String::new(),
        };
        if !problem.is_empty() {
            let reserved = "priority class names with 'system-' prefix are reserved for system use only. error:";
            errors.forbidden(&name, format!("{reserved} {problem}"));
        }
    } else if value > USER_PRIORITY_MAX {
        let detail = format!("maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}");
        errors.forbidden(&object.at("value"), detail);
    }
    if object.at("preemptionPolicy").exists() {
        errors.one_of(&object.at("preemptionPolicy"), &["PreemptLowerPriority", "Never"]);
    }
}

pub(super) fn priority_class_update(errors: &mut Errors, new: &Node, old: &Node) {
    if new.at("value").int() != old.at("value").int() {
        errors.forbidden(&new.at("value"), "may not be changed in an update.");
    }
    errors.immutable(&new.at("preemptionPolicy"), &old.at("preemptionPolicy"));
}

pub(super) fn runtime_class(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let handler = object.at("handler");
    if old.is_some() && !handler.is_empty() {
        errors.refuse(&handler, names::dns1123_label(handler.text()));
    }
    let fixed = object.at("overhead").at("podFixed");
    if object.at("overhead").exists() {
        pod::overhead(errors, &fixed.placed_at(&object.at("overhead")));
    }
    let scheduling = object.at("scheduling");
    selector::labels(errors, &scheduling.at("nodeSelector"));
    pod::tolerations(errors, &scheduling.at("tolerations"));
    let mut seen = std::collections::HashSet::new();
    for toleration in scheduling.at("tolerations").items() {
        let key = ["key", "operator", "value", "effect"].map(|name| toleration.at(name).text());
        if !seen.insert(key) {
            errors.duplicate(&toleration, toleration.value().clone());
        }
    }
}

pub(super) fn runtime_class_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    let handler = new.at("handler");
    match old {
        Some(old) if old.at("handler").text() != handler.text() => {
            errors.declared_immutable(&handler);
            if handler.is_empty() {
                errors.required(&handler, "");
            }
        }
        Some(_) => {}
        None if handler.is_empty() => errors.required(&handler, ""),
        None => errors.refuse(&handler, names::short_name(handler.text())),
    }
}

pub(super) fn lease(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    let (seconds, transitions) = (spec.at("leaseDurationSeconds"), spec.at("leaseTransitions"));
    if seconds.exists() && seconds.int() <= 0 {
        errors.invalid(&seconds, "must be greater than 0");
    }
    errors.negative(&transitions);
}

/// An event as `v1` has it, and what `events.k8s.io/v1` shares with it under other names.
struct EventNames {
    object: &'static str,
    controller: &'static str,
    note: &'static str,
}

const OLD: EventNames = EventNames { object: "involvedObject", controller: "reportingComponent", note: "message" };
const NEW: EventNames = EventNames { object: "regarding", controller: "reportingController", note: "note" };

pub(super) fn core_event(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    event(errors, object, &OLD);
}

fn event(errors: &mut Errors, object: &Node, names: &EventNames) {
    let involved = object.at(names.object).at("namespace");
    let place = involved.placed_at(&Node::nowhere("involvedObject").at("namespace"));
    let namespace = object.at("metadata").at("namespace").text();
    let timed = object.at("eventTime").exists();
    let outside = if timed { ["default", "kube-system"] } else { ["default", ""] };
    let wrong =
        if involved.is_empty() { !outside.contains(&namespace) } else { !timed && namespace != involved.text() };
    if wrong {
        errors.invalid_value(&place, involved.text(), "does not match event.namespace");
    }
    if timed {
        timed_event(errors, object, names);
    }
}

fn timed_event(errors: &mut Errors, object: &Node, names: &EventNames) {
    let controller = object.at(names.controller);
    if controller.is_empty() {
        errors.required(&controller, "");
    }
    errors.refuse(&controller, names::qualified_name(controller.text()));
    let bounded = [("reportingInstance", true), ("action", true), ("reason", true), (names.note, false)];
    for (name, is_word) in bounded {
        let value = object.at(name);
        let max = if is_word { EVENT_WORD_BYTES_MAX } else { EVENT_NOTE_BYTES_MAX };
        if is_word && value.is_empty() {
            errors.required(&value, "");
        }
        if value.len() > max {
            let place = if is_word { value } else { value.placed_at(&Node::nowhere("message")) };
            errors.invalid_value(&place, "", format!("can have at most {max} characters"));
        }
    }
}

pub(super) fn event_v1(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    event(errors, object, &NEW);
    if old.is_some() {
        return;
    }
    super::meta::create(errors, &object.at("metadata"), true, names::NameRule::Subdomain);
    series(errors, object);
    if !object.at("eventTime").exists() {
        errors.required(&object.at("eventTime"), "");
    }
    let kind = object.at("type").text();
    if !["Normal", "Warning"].contains(&kind) {
        errors.invalid_value(&object.at("type"), "", format!("has invalid value: {kind}"));
    }
    let unset = [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ];
    for (name, shown) in unset {
        let value = object.at(name);
        let empty = matches!(value.value(), Value::Object(map) if map.is_empty());
        if value.exists() && !empty && value.value() != &Value::from(0) {
            errors.invalid_value(&Node::nowhere(shown), "", "needs to be unset");
        }
    }
}

fn series(errors: &mut Errors, object: &Node) {
    let series = object.at("series");
    if series.exists() && series.at("count").int() < 2 {
        errors.invalid_value(&Node::nowhere("series.count"), "", "should be at least 2");
    }
    if series.exists() && !series.at("lastObservedTime").exists() {
        errors.required(&Node::nowhere("series.lastObservedTime"), "");
    }
}

pub(super) fn event_v1_update(errors: &mut Errors, new: &Node, old: &Node) {
    super::meta::update(errors, new, old);
    if !new.at("series").same(&old.at("series")) {
        series(errors, new);
    }
    let fields = [
        ("regarding", "involvedObject"),
        ("reason", "reason"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ];
    for (name, shown) in fields {
        errors.immutable(&new.at(name).placed_at(&Node::nowhere(shown)), &old.at(name));
    }
}
