//! What policies compile to.

use super::*;
use crate::scheduler::Terms;
use crate::scheduler::affinity::Field;
use crate::scheduler::rule::Division;
use crate::scheduler::rule::NothingFits;
use crate::scheduler::rule::Purge;
use crate::scheduler::rule::Spread;
use crate::scheduler::rule::SpreadBy;
use crate::scheduler::rule::Strangers;
use crate::scheduler::rule::Suspension;
use std::collections::BTreeSet;

/// Where `nginx` with its 2 replicas goes, of members 1 to 3.
#[track_caller]
fn check(placement: Value, expect: &str) {
    let rule = policy(&propagation(placement)).rule;
    let placement = placed(&nginx(), &rule, &cells(&["member1", "member2", "member3"]), &Before::default());
    let targets: Vec<String> =
        placement.targets.iter().map(|target| format!("{}={}", target.cell, target.replicas.unwrap())).collect();
    assert_eq!(targets.join(" "), expect);
}

fn divided(more: Value) -> Value {
    let mut placement = json!({"clusterAffinity": {"clusterNames": ["member1", "member2"]}});
    placement["replicaScheduling"] = more;
    placement
}

/// The policy that everybody begins with.
#[test]
fn the_quickstart_puts_one_replica_on_each_of_two_members() {
    let weight = |cluster: &str| json!({"targetCluster": {"clusterNames": [cluster]}, "weight": 1});
    check(
        divided(json!({"replicaDivisionPreference": "Weighted", "replicaSchedulingType": "Divided",
            "weightPreference": {"staticWeightList": [weight("member1"), weight("member2")]}})),
        "member1=1 member2=1",
    );
}

#[test]
fn what_is_left_out_means_what_karmada_means_by_it() {
    check(json!({}), "member1=2 member2=2 member3=2");
    check(json!({"clusterAffinity": {"exclude": ["member2"]}}), "member1=2 member3=2");
    check(divided(json!({"replicaSchedulingType": "Duplicated"})), "member1=2 member2=2");
    check(divided(json!({})), "member1=1 member2=1");
    let spread = json!([{"spreadByField": "cluster", "minGroups": 1}]);
    check(json!({"spreadConstraints": spread}), "member1=2 member2=2 member3=2");
    check(json!({"spreadConstraints": [{"maxGroups": 2, "minGroups": 2}]}), "member1=2 member2=2");
}

#[test]
fn divisions_are_told_apart() {
    let division = |scheduling: Value| policy(&propagation(divided(scheduling))).rule.replicas.unwrap();
    assert_eq!(division(json!({"replicaDivisionPreference": "Aggregated"})), Division::Aggregated);
    let dynamic = json!({"weightPreference": {"dynamicWeight": "AvailableReplicas"}});
    assert_eq!(division(dynamic), Division::Available);
    assert_eq!(division(json!({"replicaDivisionPreference": "Weighted"})), Division::Weighted(Vec::new()));
}

#[test]
fn groups_of_clusters_are_tried_in_order() {
    let placement = json!({"clusterAffinities": [
        {"affinityName": "local", "clusterNames": ["gone"]},
        {"affinityName": "cloud", "clusterNames": ["member3"]}]});
    check(placement, "member3=2");
}

#[test]
fn hazards_are_mended_unless_they_are_asked_for() {
    let spread = json!([{"spreadByField": "cluster"}, {"spreadByField": "zone", "maxGroups": 2, "minGroups": 2}]);
    let object = propagation(json!({"spreadConstraints": spread}));
    let compiled = |compat| compile(&object, Namespaces::Same, compat).unwrap().rule;
    let constraint = |by, least, most| Spread { by, least, most };
    let mended = compiled(Compat::Mended);
    assert_eq!(mended.nothing_fits, NothingFits::Keep);
    assert_eq!(
        mended.cells.spread,
        [constraint(SpreadBy::Cell, 1, None), constraint(SpreadBy::Field(Field::Zone), 2, Some(2)),]
    );
    let faithful = compiled(Compat::Karmada118);
    assert_eq!(faithful.nothing_fits, NothingFits::Withdraw);
    assert_eq!(
        faithful.cells.spread,
        [constraint(SpreadBy::Cell, 1, Some(0)), constraint(SpreadBy::Known(Field::Zone), 2, Some(2)),]
    );
}

#[test]
fn the_other_terms_of_a_policy_are_read() {
    let mut object = propagation(json!({}));
    let spec = json!({"conflictResolution": "Overwrite", "propagateDeps": true, "preserveResourcesOnDeletion": true,
        "suspension": {"dispatchingOnClusters": {"clusterNames": ["member1"]}}, "schedulerName": "mine", "priority": 7,
        "activationPreference": "Lazy", "preemption": "Always", "dependentOverrides": ["o"],
        "failover": {"application": {"purgeMode": "Never"}, "cluster": {"purgeMode": "Directly"}}});
    object["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let policy = policy(&object);
    assert_eq!(policy.rule.name, "default/nginx-propagation");
    assert_eq!(policy.rule.strangers, Some(Strangers::Adopt));
    assert!(policy.rule.follow && policy.rule.preserve_on_deletion && policy.lazy && policy.preempts);
    assert_eq!(policy.rule.suspension, Suspension::In(BTreeSet::from(["member1".to_owned()])));
    assert_eq!((policy.scheduler.as_str(), policy.priority), ("mine", 7));
    assert_eq!(policy.waits_for, ["o"]);
    let application = policy.rule.failover.application.unwrap();
    assert_eq!((application.toleration_seconds, application.purge), (300, Purge::Never));
    assert_eq!(policy.rule.failover.cell.unwrap().purge, Purge::Directly);
}

#[test]
fn what_is_set_and_not_acted_upon_is_named() {
    let affinity = json!({"affinity": {"groupByLabelKey": "app"}});
    let mut object = propagation(json!({"workloadAffinity": affinity}));
    object["spec"]["schedulePriority"] =
        json!({"priorityClassSource": "KubePriorityClass", "priorityClassName": "high"});
    object["spec"]["association"] = json!(true);
    let terms = Terms::of(&[policy(&object).rule]);
    assert_eq!(
        terms.unheeded_in_words().unwrap(),
        "rule default/nginx-propagation sets spec.association, spec.placement.workloadAffinity, spec.schedulePriority, \
         which is not acted upon"
    );
    let mut object = propagation(json!({}));
    object["spec"]["association"] = json!(false);
    assert_eq!(Terms::of(&[policy(&object).rule]).unheeded_in_words(), None);
}

#[test]
fn an_object_can_say_for_itself_that_it_overwrites() {
    let policy = policy(&propagation(json!({})));
    let mut object = nginx();
    assert_eq!(policy.rule_for(&object).strangers, Some(Strangers::Leave));
    object["metadata"]["annotations"] = json!({"work.karmada.io/conflict-resolution": "overwrite"});
    assert_eq!(policy.rule_for(&object).strangers, Some(Strangers::Adopt));
}

#[test]
fn signs_of_silence_are_tolerated_as_karmadas() {
    let tolerations = json!([{"key": "cluster.karmada.io/not-ready", "operator": "Exists"}]);
    let rule = policy(&propagation(json!({"clusterTolerations": tolerations}))).rule;
    let mut members = cells(&["member1"]);
    members[0].ready = false;
    assert_eq!(placed(&nginx(), &rule, &members, &Before::default()).targets.len(), 1);
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let spread = json!({"spreadConstraints": [{"spreadByField": "planet"}]});
    let error = compile(&propagation(spread), Namespaces::Same, Compat::Mended).unwrap_err();
    assert_eq!(error.to_string(), r#"spreadConstraints.spreadByField: "planet" is not known"#);
}
