//! What clients of Karmada see of a decision.

use super::*;
use crate::apis::kinds::{self, Health};
use crate::dialects::schema_tests::accepts;
use crate::scheduler::Because;
use crate::scheduler::cell::Effect;
use crate::scheduler::cell::Serves;

const THEN: &str = "2026-11-16T12:00:00Z";

fn report(cell: &str, applied: bool) -> Report {
    let message = if applied { "" } else { "already exists" }.to_owned();
    let status = applied.then(|| json!({"replicas": 1}));
    let (health, since) = (Health::Healthy, THEN.to_owned());
    let (suspended, pending, adopts, preserved) = (false, false, false, false);
    let (cell, generations) = (cell.to_owned(), (3, 2));
    Report { cell, applied, message, status, health, since, suspended, pending, adopts, preserved, generations }
}

/// The binding of `nginx` on members 1 and 2.
fn bound(placement: Value, members: &[&str], reports: &[Report]) -> Value {
    let policy = policy(&propagation(placement));
    let placement = placed(&nginx(), &policy.rule, &cells(members), &Before::default());
    let object = nginx();
    let troubles: Vec<_> =
        placement.troubles.iter().map(|trouble| (trouble.reason().to_owned(), trouble.to_string())).collect();
    let refused: Vec<_> = placement.refused.iter().map(|no| (no.cell.clone(), no.reason.to_string())).collect();
    let replicas = kinds::replicas(&object);
    binding(&Bound {
        object: &object,
        replicas: replicas.as_ref(),
        policy: Some(&policy),
        placement: &placement,
        troubles: &troubles,
        refused: &refused,
        reports,
        evictions: &[],
        decided: THEN,
    })
}

fn condition<'a>(object: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|condition| condition["type"] == kind).unwrap();
    (found["status"].as_str().unwrap(), found["reason"].as_str().unwrap())
}

#[test]
fn a_binding_shows_where_an_object_is_and_how_it_is_there() {
    let shown = bound(json!({}), &["member2", "member1"], &[report("member2", true), report("member1", true)]);
    assert_eq!(shown["metadata"]["name"], "nginx-deployment");
    assert_eq!(shown["metadata"]["annotations"]["propagationpolicy.karmada.io/name"], "nginx-propagation");
    assert_eq!(
        shown["spec"]["clusters"],
        json!([{"name": "member1", "replicas": 2}, {"name": "member2", "replicas": 2}])
    );
    assert_eq!(shown["spec"]["resource"]["uid"], "u-1");
    assert_eq!(condition(&shown, "Scheduled"), ("True", "Success"));
    assert_eq!(condition(&shown, "FullyApplied"), ("True", "FullyAppliedSuccess"));
    assert_eq!(
        shown["status"]["aggregatedStatus"][0],
        json!({"clusterName": "member1", "applied": true, "health": "Healthy",
            "status": {"replicas": 1, "generation": 3, "resourceTemplateGeneration": 2}})
    );
    accepts(&definitions::definitions(), &shown);
}

#[test]
fn what_could_not_be_applied_says_why() {
    let shown = bound(json!({}), &["member1", "member2"], &[report("member1", true), report("member2", false)]);
    assert_eq!(condition(&shown, "FullyApplied"), ("False", "FullyAppliedFailed"));
    assert_eq!(
        shown["status"]["aggregatedStatus"][1],
        json!({"clusterName": "member2", "health": "Unknown", "appliedMessage": "already exists"})
    );
}

#[test]
fn what_fits_nowhere_says_why_cluster_by_cluster() {
    let shown = bound(json!({"clusterAffinity": {"clusterNames": ["member9"]}}), &["member1"], &[]);
    assert_eq!(condition(&shown, "Scheduled"), ("False", "NoClusterFit"));
    let message = shown["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(message.ends_with("(member1: the rule names other cells)"), "{message}");
    let divided = json!({"replicaScheduling": {"replicaDivisionPreference": "Aggregated"}});
    assert_eq!(condition(&bound(divided, &["member1"], &[]), "Scheduled"), ("False", "Unschedulable"));
}

#[test]
fn a_binding_says_what_its_policy_sets_in_vain() {
    let affinity = json!({"antiAffinity": {"groupByLabelKey": "app"}});
    let shown = bound(json!({"workloadAffinity": affinity}), &["member1"], &[]);
    assert_eq!(condition(&shown, "Heeded"), ("False", "NotActedUpon"));
    assert_eq!(condition(&shown, "Scheduled"), ("True", "Success"), "it is placed all the same");
    accepts(&definitions::definitions(), &shown);
}

#[test]
fn what_others_refer_to_is_shown_as_required_by_them() {
    let mut placement = Placement::default();
    let because = [Because::Follows("default/nginx-deployment".to_owned())].into();
    placement.targets.push(crate::scheduler::Target { cell: "member1".to_owned(), replicas: None, because });
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "c", "uid": "u"}});
    let shown = binding(&Bound {
        object: &object,
        replicas: None,
        policy: None,
        placement: &placement,
        troubles: &[],
        refused: &[],
        reports: &[],
        evictions: &[],
        decided: THEN,
    });
    let required = json!([{"namespace": "default", "name": "nginx-deployment", "clusters": [{"name": "member1"}]}]);
    assert_eq!(shown["spec"]["requiredBy"], required);
    assert_eq!(shown["spec"].get("clusters"), None);
}

#[test]
fn a_work_shows_what_a_member_should_hold() {
    let shown = work(&nginx(), &nginx(), "deployments", &report("member1", true));
    assert_eq!(shown["metadata"]["name"], "nginx-687f7fb96f");
    assert_eq!(shown["metadata"]["namespace"], "karmada-es-member1");
    assert_eq!(condition(&shown, "Applied"), ("True", "AppliedSuccessful"));
    assert_eq!(condition(&shown, "Dispatching"), ("True", "Dispatching"));
    assert_eq!(shown["status"]["manifestStatuses"][0]["identifier"]["resource"], "deployments");
    accepts(&definitions::definitions(), &shown);
    assert_eq!(shown["spec"]["suspendDispatching"], false);
    let suspended = Report { suspended: true, adopts: true, preserved: true, ..report("member1", false) };
    let shown = work(&nginx(), &nginx(), "deployments", &suspended);
    assert_eq!(condition(&shown, "Dispatching"), ("False", "SuspendDispatching"));
    assert_eq!(shown["spec"]["preserveResourcesOnDeletion"], true);
    assert_eq!(shown["metadata"]["annotations"]["work.karmada.io/conflict-resolution"], "overwrite");
    let waiting = Report { pending: true, ..suspended.clone() };
    let told = work(&nginx(), &nginx(), "deployments", &waiting)["status"].clone();
    assert_eq!((told["conditions"].as_array().unwrap().len(), told.get("manifestStatuses")), (1, None));
    assert_eq!(condition(&shown, "Applied"), ("False", "AppliedFailed"));
}

#[test]
fn a_copy_is_marked_as_karmada_marks_it() {
    use crate::scheduler::change::Change;
    let marks = marks(&nginx(), "member1");
    let [Change::Labels(labels), Change::Annotations(annotations)] = marks.changes.as_slice() else {
        panic!("{marks:?}")
    };
    assert_eq!(labels.entries["karmada.io/managed"], "true");
    assert_eq!(annotations.entries["work.karmada.io/name"], "nginx-687f7fb96f");
    assert_eq!(annotations.entries["work.karmada.io/namespace"], "karmada-es-member1");
    assert_eq!(annotations.entries["resourcebinding.karmada.io/name"], "nginx-deployment");
    assert!(marks.cells.admits(&cells(&["member1"])[0]) && !marks.cells.admits(&cells(&["member2"])[0]));
}

#[test]
fn a_cluster_is_read_with_all_the_scheduler_needs() {
    let object = json!({"metadata": {"name": "member1", "labels": {"tier": "edge"}},
        "spec": {"syncMode": "Push", "region": "eu", "zone": "a", "provider": "p",
            "taints": [{"key": "k", "effect": "NoSchedule"}],
            "resourceModels": [{"grade": 1, "ranges": [{"name": "cpu", "min": "2", "max": "4"}]}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}],
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}],
            "resourceSummary": {"allocatable": {"cpu": "8", "pods": "20"}, "allocated": {"cpu": "500m", "pods": 3},
                "allocating": {"pods": 1}, "allocatableModelings": [{"grade": 1, "count": 4}]}}});
    let cell = cell(&object);
    assert!(cell.ready && !cell.leaving);
    assert_eq!((cell.region.as_str(), cell.zones.as_slice()), ("eu", ["a".to_owned()].as_slice()));
    assert_eq!(cell.taints[0].effect, Effect::NoSchedule);
    assert!(matches!(&cell.serves, Serves::Listed(kinds) if kinds.len() == 1));
    let capacity = cell.capacity.unwrap();
    assert_eq!((capacity.pods, capacity.resources["cpu"]), (16, 7500));
    assert_eq!((capacity.models[0].count, capacity.models[0].least["cpu"]), (4, 2000));
}

#[test]
fn one_of_our_cells_is_shown_as_a_cluster() {
    let object = json!({"apiVersion": "federation.hanse.dev/v1alpha1", "kind": "Cell",
        "metadata": {"name": "dfw-1", "uid": "c-1", "labels": {"topology.datum.net/city-code": "dfw"}},
        "spec": {"mode": "Pull", "region": "us"}, "status": {"kubernetesVersion": "v1.34.0"}});
    let shown = cluster(&object);
    assert_eq!((&shown["spec"]["syncMode"], &shown["spec"]["region"]), (&json!("Pull"), &json!("us")));
    assert_eq!(shown["status"]["kubernetesVersion"], "v1.34.0");
    accepts(&definitions::definitions(), &shown);
}
