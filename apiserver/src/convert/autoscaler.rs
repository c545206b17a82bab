//! Autoscalers: what version 1 cannot say, it carries in annotations.

use crate::object::Object;
use serde_json::{Map, Value, json};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

pub(super) fn to_v2(object: &mut Object) {
    let mut metrics = taken(object, METRICS).and_then(as_list).unwrap_or_default();
    let behavior = taken(object, BEHAVIOR);
    let (current, conditions) = (taken(object, CURRENT), taken(object, CONDITIONS));
    if let Some(spec) = part(object, "spec") {
        if let Some(percent) = spec.remove("targetCPUUtilizationPercentage") {
            metrics.insert(0, cpu("target", &json!({ "type": "Utilization", "averageUtilization": percent })));
        }
        insert(spec, "metrics", (!metrics.is_empty()).then_some(Value::Array(metrics)));
        insert(spec, "behavior", behavior);
    }
    if let Some(status) = part(object, "status") {
        let mut seen = current.and_then(as_list).unwrap_or_default();
        if let Some(percent) = status.remove("currentCPUUtilizationPercentage") {
            seen.insert(0, cpu("current", &json!({ "averageUtilization": percent, "averageValue": "0" })));
        }
        insert(status, "currentMetrics", (!seen.is_empty()).then_some(Value::Array(seen)));
        insert(status, "conditions", conditions);
    }
}

pub(super) fn to_v1(object: &mut Object) {
    let (mut metrics, mut behavior) = (None, None);
    if let Some(spec) = part(object, "spec") {
        let mut all = spec.remove("metrics").and_then(as_list).unwrap_or_default();
        let own = |metric: &Value| percent(metric, "target").is_some();
        if let Some(at) = all.iter().position(own) {
            let percent = percent(&all.remove(at), "target");
            insert(spec, "targetCPUUtilizationPercentage", percent);
        }
        metrics = (!all.is_empty()).then_some(Value::Array(all));
        behavior = spec.remove("behavior");
    }
    let (mut current, mut conditions) = (None, None);
    if let Some(status) = part(object, "status") {
        let mut all = status.remove("currentMetrics").and_then(as_list).unwrap_or_default();
        if let Some(at) = all.iter().position(|metric| percent(metric, "current").is_some()) {
            insert(status, "currentCPUUtilizationPercentage", percent(&all.remove(at), "current"));
        }
        // Unlike version 2, it says so if there is none.
        status.entry("currentReplicas").or_insert_with(|| json!(0));
        current = (!all.is_empty()).then_some(Value::Array(all));
        conditions = status.remove("conditions");
    }
    for (name, value) in [(METRICS, metrics), (BEHAVIOR, behavior), (CURRENT, current), (CONDITIONS, conditions)] {
        if let Some(value) = value {
            annotate(object, name, &value);
        }
    }
}

fn cpu(side: &str, amount: &Value) -> Value {
    json!({ "type": "Resource", "resource": { "name": "cpu", side: amount } })
}

/// The percentage of a metric that version 1 can say by itself.
fn percent(metric: &Value, side: &str) -> Option<Value> {
    if metric.pointer("/resource/name")? != "cpu" {
        return None;
    }
    metric.pointer(&format!("/resource/{side}/averageUtilization")).cloned()
}

fn as_list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(list) => Some(list),
        _ => None,
    }
}

fn part<'a>(object: &'a mut Object, name: &str) -> Option<&'a mut Map<String, Value>> {
    object.map_mut().get_mut(name)?.as_object_mut()
}

fn insert(map: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(name.to_owned(), value);
    }
}

/// Takes out of the annotations what was put there for version 1.
fn taken(object: &mut Object, name: &str) -> Option<Value> {
    let metadata = object.metadata_mut();
    let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
    let value = annotations.remove(name)?;
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    serde_json::from_str(value.as_str()?).ok()
}

fn annotate(object: &mut Object, name: &str, value: &Value) {
    let annotations = object.metadata_mut().entry("annotations").or_insert_with(|| json!({}));
    if let Value::Object(annotations) = annotations {
        annotations.insert(name.to_owned(), value.to_string().into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_version_1_cannot_say_survives_it() {
        let v2: Object = json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "a" },
            "spec": { "maxReplicas": 3, "behavior": { "scaleUp": {} }, "metrics": [
                { "type": "Resource", "resource": { "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 80 } } },
                { "type": "Resource", "resource": { "name": "memory", "target": { "type": "AverageValue", "averageValue": "1Gi" } } },
            ] },
        })
        .try_into()
        .unwrap();
        let v1 = crate::convert::convert(v2.clone(), "autoscaling/v1");
        assert_eq!(v1.pointer(&["spec", "targetCPUUtilizationPercentage"]), Some(&json!(80)));
        assert_eq!(crate::convert::convert(v1, "autoscaling/v2"), v2);
    }
}
