//! Horizontal pod autoscalers.

use serde_json::{Map, Value, json};

use super::rule::Rule;

/// Where an autoscaler of version 1 keeps the metrics that only version 2 has fields for.
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
/// Percent of what is requested: what autoscalers aim at if nobody says otherwise.
const CPU_TARGET: i32 = 80;

pub(super) fn rules() -> Vec<Rule> {
    vec![
        Rule::on("autoscaling.v1", "HorizontalPodAutoscaler")
            .set("spec.minReplicas", 1)
            .lacking("spec.targetCPUUtilizationPercentage", |autoscaler| autoscaler.then(aim_at_cpu)),
        Rule::on("autoscaling.v2", "HorizontalPodAutoscalerSpec")
            .set("minReplicas", 1)
            .set("metrics", cpu_metric())
            .having("behavior", |spec| {
                spec.set("behavior.scaleUp.stabilizationWindowSeconds", 0)
                    .set("behavior.scaleUp.selectPolicy", "Max")
                    .set("behavior.scaleUp.policies", json!([policy("Pods", 4), policy("Percent", 100)]))
                    .set("behavior.scaleDown.selectPolicy", "Max")
                    .set("behavior.scaleDown.policies", json!([policy("Percent", 100)]))
            }),
    ]
}

fn cpu_metric() -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": CPU_TARGET});
    json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}])
}

fn policy(of: &str, value: i32) -> Value {
    json!({"type": of, "value": value, "periodSeconds": 15})
}

fn aim_at_cpu(autoscaler: &mut Map<String, Value>) {
    let annotation = autoscaler.get("metadata").and_then(|metadata| metadata["annotations"][METRICS].as_str());
    let metrics = annotation.and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok());
    if metrics.is_some_and(|metrics| !metrics.is_empty()) {
        return;
    }
    if let Some(Value::Object(spec)) = autoscaler.get_mut("spec") {
        spec.insert("targetCPUUtilizationPercentage".to_owned(), CPU_TARGET.into());
    }
}
