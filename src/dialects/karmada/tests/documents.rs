//! Documents as they are written, held to the definitions.

use super::*;
use crate::dialects::schema_tests::accepts;
use crate::dialects::schema_tests::refuses;
use crate::dialects::schema_tests::sound;

#[test]
fn definitions_are_sound() {
    sound(&definitions::definitions());
}

#[test]
fn every_field_of_a_policy_is_known() {
    let everything = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "p", "namespace": "default"}, "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "c",
                "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}}],
            "association": false, "propagateDeps": true, "priority": 1, "preemption": "Always",
            "dependentOverrides": ["o"], "schedulerName": "default", "activationPreference": "Lazy",
            "conflictResolution": "Overwrite", "preserveResourcesOnDeletion": true,
            "schedulePriority": {"priorityClassSource": "KubePriorityClass", "priorityClassName": "high"},
            "suspension": {"dispatching": true},
            "failover": {"application": {"decisionConditions": {"tolerationSeconds": 10}, "purgeMode": "Gracefully",
                "gracePeriodSeconds": 5, "statePreservation": {"rules": [{"aliasLabelName": "l", "jsonPath": "{.x}"}]}}},
            "placement": {
                "clusterAffinities": [{"affinityName": "a", "clusterNames": ["m1"], "exclude": ["m2"],
                    "fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]},
                    "overflowAffinities": [{"affinityName": "b"}]}],
                "clusterTolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
                "spreadConstraints": [{"spreadByField": "region", "maxGroups": 2, "minGroups": 1}],
                "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"staticWeightList": [{"targetCluster": {"clusterNames": ["m1"]}, "weight": 2}]}}}}});
    accepts(&definitions::definitions(), &everything);
    policy(&everything);
}

#[test]
fn what_karmada_refuses_is_refused() {
    let definitions = definitions::definitions();
    let with = |field: &str, value: Value| {
        let mut object = propagation(json!({}));
        object["spec"][field] = value;
        object
    };
    refuses(&definitions, &with("resourceSelectors", json!([])));
    refuses(&definitions, &with("conflictResolution", json!("Merge")));
    refuses(&definitions, &with("placement", json!({"spreadConstraints": [{"spreadByField": "planet"}]})));
    let zero =
        json!({"replicaScheduling": {"weightPreference": {"staticWeightList": [{"targetCluster": {}, "weight": 0}]}}});
    refuses(&definitions, &with("placement", zero));
}
