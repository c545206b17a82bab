//! HorizontalPodAutoscaler.

use super::tree::{Errors, Node};
use super::{amount, names, pod};

const PERIOD_SECS_MAX: i64 = 1800;
const WINDOW_SECS_MAX: i64 = 3600;
const METRICS: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];
const SOURCES: [&str; 5] = ["object", "external", "pods", "resource", "containerResource"];
const POPULATE: &str = "must populate information for the given metric source";
const RAW_OR_UTILIZATION: &str = "must set either a target raw value or a target utilization";

pub(super) fn autoscaler(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    let (min, max, target) = (spec.at("minReplicas"), spec.at("maxReplicas"), spec.at("scaleTargetRef"));
    if min.exists() && max.int() < min.int() {
        errors.invalid_value(&max, max.int(), "must be greater than or equal to `minReplicas`");
    }
    let group = if old.is_some_and(|old| same_target(&old.at("spec").at("scaleTargetRef"), &target)) {
        Group::Any
    } else if target.at("kind").is("ReplicationController") {
        Group::Optional
    } else {
        Group::Needed
    };
    reference(errors, &target, group);
    // The older version's one metric is the first of the newer one's.
    let used = spec.at("targetCPUUtilizationPercentage");
    if used.exists() && used.int() < 1 {
        let target = spec.at("metrics").item(0).at("resource").at("target");
        errors.invalid_value(&target.at("averageUtilization"), used.int(), "must be greater than 0");
    }
    metrics(errors, &spec);
    for rules in ["scaleUp", "scaleDown"].map(|name| spec.at("behavior").at(name)) {
        if rules.exists() {
            scaling_rules(errors, &rules);
        }
    }
}

pub(super) fn autoscaler_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    let changed = |name: &str| old.is_none_or(|old| old.at("spec").at(name).value() != new.at("spec").at(name).value());
    let (min, max) = (new.at("spec").at("minReplicas"), new.at("spec").at("maxReplicas"));
    if changed("minReplicas") {
        errors.negative(&min);
    }
    if changed("maxReplicas") {
        if max.int() == 0 {
            errors.required(&max, "");
        } else {
            errors.at_least(&max, 1);
        }
    }
}

fn same_target(old: &Node, new: &Node) -> bool {
    ["apiVersion", "kind"].iter().all(|name| old.at(name).text() == new.at(name).text())
}

/// Whether a reference must name a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Needed,
    Optional,
    Any,
}

fn reference(errors: &mut Errors, at: &Node, group: Group) {
    for name in ["kind", "name"].map(|name| at.at(name)) {
        if name.is_empty() {
            errors.required(&name, "");
        } else {
            errors.refuse(&name, names::path_segment(name.text()));
        }
    }
    let version = at.at("apiVersion");
    let slashes = version.text().matches('/').count();
    if group == Group::Any {
        return;
    }
    if slashes > 1 {
        let detail = format!("unexpected GroupVersion string: {}", version.text());
        errors.invalid_value(&version, version.text(), detail);
    } else if group == Group::Needed && (slashes == 0 || version.text().starts_with('/')) {
        errors.invalid_value(&version, version.text(), "apiVersion must specify API group");
    }
}

fn metrics(errors: &mut Errors, spec: &Node) {
    let metrics = spec.at("metrics");
    for metric in metrics.items() {
        self::metric(errors, &metric);
    }
    let outside = metrics.items().any(|metric| ["Object", "External"].contains(&metric.at("type").text()));
    if spec.at("minReplicas").exists() && spec.at("minReplicas").int() == 0 && !outside {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(&metrics, detail);
    }
}

fn metric(errors: &mut Errors, at: &Node) {
    let kind = at.at("type");
    if kind.is_empty() {
        errors.required(&kind, "must specify a metric source type");
    }
    if !METRICS.contains(&kind.text()) {
        errors.unsupported(&kind, &METRICS);
    }
    let mut present = SOURCES.map(|name| at.at(name)).into_iter().zip(SOURCES).filter(|(source, _)| source.exists());
    if let Some((source, name)) = present.next() {
        self::source(errors, &source, name);
    }
    let expected = match kind.text() {
        "Object" => "object",
        "Pods" => "pods",
        "Resource" => "resource",
        "External" => "external",
        "ContainerResource" => "containerResource",
        _ => "",
    };
    if !expected.is_empty() && !at.at(expected).exists() {
        errors.required(&at.at(expected), POPULATE);
    } else if expected.is_empty() {
        errors.unsupported(&kind, &METRICS);
    }
    let sources: Vec<&str> = SOURCES.into_iter().filter(|name| at.at(name).exists()).collect();
    if sources.len() > 1 {
        for name in sources.into_iter().filter(|name| *name != expected) {
            errors.forbidden(&at.at(name), "must populate the given metric source only");
        }
    }
}

fn source(errors: &mut Errors, at: &Node, kind: &str) {
    if kind == "object" {
        reference(errors, &at.at("describedObject"), Group::Optional);
    }
    match kind {
        "object" | "external" | "pods" => {
            let name = at.at("metric").at("name");
            if name.is_empty() {
                errors.required(&name, "must specify a metric name");
            } else {
                errors.refuse(&name, names::path_segment(name.text()));
            }
        }
        _ => resource(errors, at, kind),
    }
    let target = at.at("target");
    metric_target(errors, &target);
    let (value, average, used) = (target.at("value"), target.at("averageValue"), target.at("averageUtilization"));
    match kind {
        "object" if !value.exists() && !average.exists() => {
            errors.required(&average, "must set either a target value or averageValue");
        }
        "external" if !value.exists() && !average.exists() => {
            errors.required(&average, "must set either a target value for metric or a per-pod target");
        }
        "external" if value.exists() && average.exists() => {
            errors.forbidden(&value, "may not set both a target value for metric and a per-pod target");
        }
        "pods" if !average.exists() => errors.required(&average, "must specify a positive target averageValue"),
        "resource" | "containerResource" if !used.exists() && !average.exists() => {
            errors.required(&used, RAW_OR_UTILIZATION);
        }
        "resource" | "containerResource" if used.exists() && average.exists() => {
            errors.forbidden(&average, "may not set both a target raw value and a target utilization");
        }
        _ => {}
    }
}

fn resource(errors: &mut Errors, at: &Node, kind: &str) {
    let (name, container) = (at.at("name"), at.at("container"));
    if name.is_empty() {
        errors.required(&name, "must specify a resource name");
    } else if kind == "containerResource" {
        pod::container_resource(errors, &name, name.text());
    }
    if kind == "containerResource" {
        if container.is_empty() {
            errors.required(&container, "must specify a container");
        } else {
            errors.refuse(&container, names::dns1123_label(container.text()));
        }
    }
}

fn metric_target(errors: &mut Errors, at: &Node) {
    let kind = at.at("type");
    if kind.is_empty() {
        errors.required(&kind, "must specify a metric target type");
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind.text()) {
        errors.invalid_value(&kind, kind.text(), "must be either Utilization, Value, or AverageValue");
    }
    for value in ["value", "averageValue"].map(|name| at.at(name)) {
        if value.exists() && amount::nanos(value.value()) <= 0 {
            errors.invalid_value(&value, amount::text(value.value()), "must be positive");
        }
    }
    let used = at.at("averageUtilization");
    if used.exists() && used.int() < 1 {
        errors.invalid(&used, "must be greater than 0");
    }
}

fn scaling_rules(errors: &mut Errors, rules: &Node) {
    let (window, select, policies) =
        (rules.at("stabilizationWindowSeconds"), rules.at("selectPolicy"), rules.at("policies"));
    if window.int() < 0 {
        errors.invalid(&window, "must be greater than or equal to zero");
    }
    if window.int() > WINDOW_SECS_MAX {
        errors.invalid(&window, format!("must be less than or equal to {WINDOW_SECS_MAX}"));
    }
    if select.exists() && !["Disabled", "Max", "Min"].contains(&select.text()) {
        errors.unsupported(&select, &["Disabled", "Max", "Min"]);
    }
    if policies.is_empty() {
        errors.required(&policies, "must specify at least one Policy");
    }
    for policy in policies.items() {
        let (kind, value, period) = (policy.at("type"), policy.at("value"), policy.at("periodSeconds"));
        if !["Percent", "Pods"].contains(&kind.text()) {
            errors.unsupported(&kind, &["Percent", "Pods"]);
        }
        for number in [&value, &period].into_iter().filter(|number| number.int() <= 0) {
            errors.invalid_value(number, number.int(), "must be greater than zero");
        }
        if period.int() > PERIOD_SECS_MAX {
            errors.invalid(&period, format!("must be less than or equal to {PERIOD_SECS_MAX}"));
        }
    }
    let tolerance = rules.at("tolerance");
    if amount::nanos(tolerance.value()) < 0 {
        errors.invalid_value(&tolerance, amount::text(tolerance.value()), "must be greater than or equal to 0");
    }
}

pub(super) fn autoscaler_status(errors: &mut Errors, new: &Node, _old: &Node) {
    let status = new.at("status");
    for condition in status.at("conditions").items() {
        errors.negative(&condition.at("observedGeneration"));
    }
    errors.negative(&status.at("currentReplicas"));
    errors.negative(&status.at("desiredReplicas"));
}
