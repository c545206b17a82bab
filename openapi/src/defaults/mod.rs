//! What a built-in object holds where its author said nothing.
//!
//! One file for each API group says it, in the words of [`rule`]; [`plan`] leads through an object to every place where
//! a rule applies. Feature gates stand as Kubernetes 1.37 sets them. Not here: what a server decides when it creates an
//! object (addresses, ports, generated selectors), and `stringData` of a `Secret`, which is a way of writing `data`.

mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apps;
mod authentication;
mod autoscaling;
mod batch;
mod core;
mod discovery;
mod flowcontrol;
mod image;
mod networking;
mod plan;
mod pods;
mod rbac;
mod resource;
mod rule;
mod scheduling;
mod storage;

use std::sync::LazyLock;

use serde_json::Value;

use crate::builtin::Type;
use plan::Plans;
use rule::Rule;

static PLANS: LazyLock<Plans> = LazyLock::new(|| Plans::new(rules()));

/// Brings an object to what an API server holds after decoding it: every default is in its place.
///
/// Expects an object that [`normalize`](crate::normalize) has brought into form, and leaves it in form. Applying the
/// defaults again changes nothing. An empty list or map is as good as none, which Go tells apart in two places: the
/// `allocatable` of a `Node` and the `policies` of an autoscaler.
pub fn apply(object: &mut Value, ty: &'static Type) {
    if let Value::Object(map) = object {
        PLANS.apply(map, ty);
    }
}

fn rules() -> Vec<Rule> {
    [
        admissionregistration::rules(),
        apiextensions::rules(),
        apiregistration::rules(),
        apps::rules(),
        authentication::rules(),
        autoscaling::rules(),
        batch::rules(),
        core::rules(),
        discovery::rules(),
        flowcontrol::rules(),
        networking::rules(),
        pods::rules(),
        rbac::rules(),
        resource::rules(),
        scheduling::rules(),
        storage::rules(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_speaks_of_types_and_fields_that_exist() {
        let unknown: Vec<String> = rules().into_iter().flat_map(Rule::unknown).collect();
        assert_eq!(unknown, Vec::<String>::new());
    }

    fn check(written: &str, held: &str) {
        check_kind(("", "v1", "Pod"), written, held);
    }

    fn check_kind((group, version, kind): (&str, &str, &str), written: &str, held: &str) {
        let mut object: Value = serde_json::from_str(written).unwrap();
        apply(&mut object, crate::builtin::kind(group, version, kind).unwrap());
        assert_eq!(object, serde_json::from_str::<Value>(held).unwrap(), "{written}");
    }

    #[test]
    fn a_claim_is_for_one_device() {
        let claim = |request: &str| format!(r#"{{"spec": {{"devices": {{"requests": [{request}]}}}}}}"#);
        let check = |written: &str, held: &str| {
            check_kind(("resource.k8s.io", "v1", "ResourceClaim"), &claim(written), &claim(held));
        };
        check(r#"{"exactly": {}}"#, r#"{"exactly": {"allocationMode": "ExactCount", "count": 1}}"#);
        check(r#"{"exactly": {"allocationMode": "All"}}"#, r#"{"exactly": {"allocationMode": "All"}}"#);
        let first = r#"{"firstAvailable": [{"allocationMode": "ExactCount", "count": 1}]}"#;
        check(r#"{"firstAvailable": [{"count": 1}]}"#, first);
    }

    #[test]
    fn what_is_of_the_wrong_type_stays() {
        for text in ["null", "[]", "7", r#"{"spec": 7}"#, r#"{"spec": [{}], "status": {"podIPs": [7]}}"#] {
            check(text, text);
        }
        let held = r#"{
            "containers": {"a": 1}, "volumes": [1, null],
            "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "restartPolicy": "Always",
            "schedulerName": "default-scheduler", "securityContext": {}, "terminationGracePeriodSeconds": 30
        }"#;
        check(r#"{"spec": {"containers": {"a": 1}, "volumes": [1, null]}}"#, &format!(r#"{{"spec": {held}}}"#));
    }
}
