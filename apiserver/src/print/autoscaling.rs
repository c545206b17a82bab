//! autoscaling: autoscalers, whose two versions tell their metrics differently, and scales.

use serde_json::{Value, json};

use super::column::{AGE, Column, NAME, PLAIN_NAME, integer, text};
use super::look::Look;
use super::subject::Subject;
use super::words::{NONE, UNKNOWN, UNSET, amount, first_few};
use super::{Printer, row};

/// Metrics that are shown; the others are counted.
const METRICS_SHOWN: usize = 2;

/// What an autoscaler of version 1 aims for if it does not say.
const DEFAULT_CPU_UTILIZATION: i64 = 80;

pub(super) const PRINTERS: &[Printer] = &[
    Printer { kind: "HorizontalPodAutoscaler", columns: AUTOSCALER, row: autoscaler },
    Printer {
        kind: "Scale",
        columns: &[
            PLAIN_NAME,
            integer("Desired", "replicas is the desired number of instances for the scaled object."),
            integer("Available", "replicas is the actual number of observed instances of the scaled object."),
            AGE,
        ],
        row: |it| row![it.name(), it.number("spec.replicas"), it.number("status.replicas"), it.age()],
    },
];

const AUTOSCALER: &[Column] = &[
    NAME,
    text("Reference", "scaleTargetRef points to the target resource to scale"),
    text("Targets", "metrics contains the specifications for which to use to calculate the desired replica count"),
    text(
        "MinPods",
        "minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down.",
    ),
    text("MaxPods", "maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up."),
    text("Replicas", "currentReplicas is current number of replicas of pods managed by this autoscaler"),
    AGE,
];

fn autoscaler(it: &Subject<'_>) -> Vec<Value> {
    let target = format!("{}/{}", it.text("spec.scaleTargetRef.kind"), it.text("spec.scaleTargetRef.name"));
    let metrics = if it.version == "v1" {
        let (specs, statuses) = first_version(it);
        metrics(&specs, &statuses)
    } else {
        metrics(it.list("spec.metrics"), it.list("status.currentMetrics"))
    };
    let min = it.at("spec.minReplicas").map_or_else(|| UNSET.to_owned(), Value::to_string);
    row![it.name(), target, metrics, min, it.number("spec.maxReplicas"), it.number("status.currentReplicas"), it.age(),]
}

fn metrics(specs: &[Value], statuses: &[Value]) -> String {
    if specs.is_empty() {
        return NONE.to_owned();
    }
    let nothing = Value::Null;
    let shown = specs.iter().enumerate().map(|(at, spec)| metric(spec, statuses.get(at).unwrap_or(&nothing)));
    first_few(shown, METRICS_SHOWN, ", ")
}

fn metric(spec: &Value, status: &Value) -> String {
    let source = match spec.text("type") {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let nothing = Value::Null;
    let (spec, status) = (spec.at(source).unwrap_or(&nothing), status.at(source));
    let target = spec.at("target").unwrap_or(&nothing);
    let average = target.at("averageValue");
    match source {
        "pods" => format!("{}/{}", current(status, "averageValue"), amount(average)),
        "external" | "object" => match average {
            Some(average) => format!("{}/{} (avg)", current_if_told(status), amount(Some(average))),
            None => format!("{}/{}", current(status, "value"), amount(target.at("value"))),
        },
        _ => match average {
            Some(average) => {
                format!("{}: {}/{}", spec.text("name"), current(status, "averageValue"), amount(Some(average)))
            }
            None => {
                let now = utilization(status.and_then(|status| status.at("current.averageUtilization")), UNKNOWN);
                format!("{}: {now}/{}", spec.text("name"), utilization(target.at("averageUtilization"), "<auto>"))
            }
        },
    }
}

fn current(status: Option<&Value>, value: &str) -> String {
    let Some(status) = status else { return UNKNOWN.to_owned() };
    amount(status.at("current").and_then(|current| current.at(value)))
}

fn current_if_told(status: Option<&Value>) -> String {
    let told = status.and_then(|status| status.at("current.averageValue"));
    told.map_or_else(|| UNKNOWN.to_owned(), |value| amount(Some(value)))
}

fn utilization(percent: Option<&Value>, otherwise: &str) -> String {
    percent.map_or_else(|| otherwise.to_owned(), |percent| format!("{percent}%"))
}

/// The metrics of an autoscaler of version 1, as version 2 tells them: the processor's are in fields of their own, all
/// others in annotations.
fn first_version(autoscaler: &Value) -> (Vec<Value>, Vec<Value>) {
    let cpu = |percent: Option<&Value>, of: &str| {
        percent.map(
            |percent| json!({"type": "Resource", "resource": {"name": "cpu", of: {"averageUtilization": percent}}}),
        )
    };
    let mut specs: Vec<Value> = annotated(autoscaler, "metrics").unwrap_or_default().iter().map(spec_of).collect();
    specs.extend(cpu(autoscaler.at("spec.targetCPUUtilizationPercentage"), "target"));
    if specs.is_empty() {
        specs.extend(cpu(Some(&json!(DEFAULT_CPU_UTILIZATION)), "target"));
    }
    let statuses = match annotated(autoscaler, "current-metrics") {
        Some(statuses) => statuses.iter().map(status_of).collect(),
        None => cpu(autoscaler.at("status.currentCPUUtilizationPercentage"), "current").into_iter().collect(),
    };
    (specs, statuses)
}

fn annotated(autoscaler: &Value, name: &str) -> Option<Vec<Value>> {
    let key = format!("autoscaling.alpha.kubernetes.io/{name}");
    let text = autoscaler.entry("metadata.annotations", &key)?.as_str()?;
    serde_json::from_str(text).ok()
}

const SOURCES: [&str; 5] = ["external", "pods", "object", "resource", "containerResource"];

fn spec_of(first: &Value) -> Value {
    rewritten(first, "target", &["targetValue", "targetAverageValue", "targetAverageUtilization"])
}

fn status_of(first: &Value) -> Value {
    rewritten(first, "current", &["currentValue", "currentAverageValue", "currentAverageUtilization"])
}

/// Version 1 has the numbers beside the metric's name; version 2 has them in one field, without its name before theirs.
fn rewritten(first: &Value, field: &str, numbers: &[&str; 3]) -> Value {
    let mut second = json!({ "type": first.text("type") });
    for source in SOURCES {
        let Some(old) = first.at(source) else { continue };
        let [value, average, utilization] = numbers.map(|number| old.at(number));
        // Metrics of objects have an average under this name.
        let average = average.or(old.at("averageValue"));
        let numbers = json!({ "value": value, "averageValue": average, "averageUtilization": utilization });
        second[source] = json!({ "name": old.text("name"), field: numbers });
    }
    second
}
