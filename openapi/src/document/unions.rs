//! Types of which at most one field is set, as their definitions mark them.

use serde_json::{Map, Value, json};

/// `(model name, discriminator, fields)`.
const UNIONS: [(&str, Option<&str>, &[&str]); 8] = [
    ("io.k8s.api.core.v1.AppArmorProfile", Some("type"), &["localhostProfile"]),
    ("io.k8s.api.core.v1.PodSchedulingGroup", None, &["podGroupName"]),
    ("io.k8s.api.core.v1.SeccompProfile", Some("type"), &["localhostProfile"]),
    ("io.k8s.api.flowcontrol.v1.LimitResponse", Some("type"), &["queuing"]),
    ("io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec", Some("type"), &["exempt", "limited"]),
    ("io.k8s.api.flowcontrol.v1.Subject", Some("kind"), &["group", "serviceAccount", "user"]),
    ("io.k8s.api.scheduling.v1alpha3.WorkloadPodGroupDisruptionMode", None, &["all", "single"]),
    ("io.k8s.api.scheduling.v1alpha3.WorkloadPodGroupSchedulingPolicy", None, &["basic", "gang"]),
];

/// The `x-kubernetes-unions` of a type.
pub(super) fn of(model: &str) -> Option<Value> {
    let (_, discriminator, fields) = UNIONS.iter().find(|(name, ..)| *name == model)?;
    // A field goes by the name that Go has for it.
    let go_name = |field: &str| field[..1].to_uppercase() + &field[1..];
    let fields: Map<String, Value> = fields.iter().map(|field| ((*field).to_owned(), go_name(field).into())).collect();
    let mut union = json!({"fields-to-discriminateBy": fields});
    if let Some(discriminator) = discriminator {
        union["discriminator"] = (*discriminator).into();
    }
    Some(json!([union]))
}
