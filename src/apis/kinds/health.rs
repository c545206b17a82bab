//! Whether an object in a cell does what it is there for.

use crate::apis;
use crate::apis::Kind;
use serde_json::Value;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Health {
    Healthy,
    Unhealthy,
    /// Nobody knows how to tell.
    #[default]
    Unknown,
}

impl Health {
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "Healthy",
            Self::Unhealthy => "Unhealthy",
            Self::Unknown => "Unknown",
        }
    }

    /// What one of the names says; anything else is unknown.
    pub fn named(name: &str) -> Self {
        [Self::Healthy, Self::Unhealthy].into_iter().find(|health| health.name() == name).unwrap_or_default()
    }
}

/// By its kind and its status.
pub fn health(object: &Value) -> Health {
    let status = |key| apis::number(object, &["status", key]).unwrap_or(0);
    let wanted = apis::number(object, &["spec", "replicas"]);
    let observed = status("observedGeneration") == apis::number(object, &["metadata", "generation"]).unwrap_or(0);
    let phase = apis::text(object, &["status", "phase"]).unwrap_or_default();
    let healthy = match Kind::of(object).name() {
        ("apps", "Deployment" | "StatefulSet") => {
            let updated = wanted.is_none_or(|wanted| status("updatedReplicas") >= wanted);
            observed && updated && status("availableReplicas") >= status("updatedReplicas")
        }
        ("apps", "ReplicaSet") => observed && wanted.is_none_or(|wanted| status("availableReplicas") >= wanted),
        ("apps", "DaemonSet") => {
            let updated = status("updatedNumberScheduled");
            observed && updated >= status("desiredNumberScheduled") && status("numberAvailable") >= updated
        }
        ("", "Service") => apis::text(object, &["spec", "type"]) != Some("LoadBalancer") || has_address(object),
        ("networking.k8s.io", "Ingress") => has_address(object),
        ("", "PersistentVolumeClaim") => phase == "Bound",
        ("", "Pod") => phase == "Succeeded" || (phase == "Running" && condition(object, "Ready") == Some("True")),
        ("policy", "PodDisruptionBudget") => status("currentHealthy") >= status("desiredHealthy"),
        _ => return Health::Unknown,
    };
    if healthy { Health::Healthy } else { Health::Unhealthy }
}

/// Kinds whose objects can be unhealthy. All others are well as soon as they are there.
pub fn is_checked(kind: &Kind) -> bool {
    matches!(
        kind.name(),
        ("apps", "Deployment" | "StatefulSet" | "ReplicaSet" | "DaemonSet")
            | ("", "Service" | "PersistentVolumeClaim" | "Pod")
            | ("networking.k8s.io", "Ingress")
            | ("policy", "PodDisruptionBudget")
    )
}

fn has_address(object: &Value) -> bool {
    let said = |ingress: &Value| {
        ["hostname", "ip"].iter().any(|key| apis::text(ingress, &[key]).is_some_and(|text| !text.is_empty()))
    };
    apis::list(object, &["status", "loadBalancer", "ingress"]).iter().any(said)
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a str> {
    let conditions = apis::list(object, &["status", "conditions"]);
    apis::text(conditions.iter().find(|condition| apis::text(condition, &["type"]) == Some(kind))?, &["status"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(kind: (&str, &str), spec: Value, status: Value, expect: Health) {
        let object = json!({"apiVersion": kind.0, "kind": kind.1, "metadata": {"generation": 2}, "spec": spec, "status": status});
        assert_eq!(health(&object), expect, "{object}");
    }

    #[test]
    fn a_deployment_is_well_when_all_its_replicas_are_of_now_and_available() {
        let check = |status, expect| check(("apps/v1", "Deployment"), json!({"replicas": 2}), status, expect);
        check(json!({"observedGeneration": 2, "updatedReplicas": 2, "availableReplicas": 2}), Health::Healthy);
        check(json!({"observedGeneration": 1, "updatedReplicas": 2, "availableReplicas": 2}), Health::Unhealthy);
        check(json!({"observedGeneration": 2, "updatedReplicas": 1, "availableReplicas": 1}), Health::Unhealthy);
        check(json!({"observedGeneration": 2, "updatedReplicas": 2, "availableReplicas": 1}), Health::Unhealthy);
    }

    #[test]
    fn other_kinds_are_well_by_what_they_are_for() {
        let balanced = json!({"type": "LoadBalancer"});
        check(("v1", "Service"), json!({}), json!({}), Health::Healthy);
        check(("v1", "Service"), balanced.clone(), json!({"loadBalancer": {}}), Health::Unhealthy);
        check(("v1", "Service"), balanced, json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}), Health::Healthy);
        check(("v1", "PersistentVolumeClaim"), json!({}), json!({"phase": "Pending"}), Health::Unhealthy);
        let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        check(("v1", "Pod"), json!({}), ready, Health::Healthy);
        check(("v1", "Pod"), json!({}), json!({"phase": "Running"}), Health::Unhealthy);
        let disrupted = json!({"currentHealthy": 1, "desiredHealthy": 2});
        check(("policy/v1", "PodDisruptionBudget"), json!({}), disrupted, Health::Unhealthy);
        check(("example.com/v1", "Widget"), json!({}), json!({}), Health::Unknown);
    }
}
