//! What many cells say, as one status.

use super::*;
use crate::apis::interpret::Interpreter;
use crate::scheduler::rule::StatusUp;
use crate::syncer::reduce::CellStatus;
use crate::syncer::reduce::Manner;
use crate::syncer::reduce::reduce;

const NOW: &str = "2026-11-16T12:00:00Z";

fn source(api_version: &str, kind: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"generation": 2}, "spec": spec, "status": status})
}

/// Cells `m1`, `m2`, ... that have all got what the source says now.
fn cells(statuses: &[Value]) -> Vec<CellStatus> {
    let cell = |(at, status): (usize, &Value)| CellStatus {
        cell: format!("m{}", at + 1),
        status: Some(status.clone()).filter(|status| !status.is_null()),
        generation: 1,
        source_generation: 2,
        applied: true,
        ..CellStatus::default()
    };
    statuses.iter().enumerate().map(cell).collect()
}

fn reduced(source: &Value, cells: &[CellStatus], up: &StatusUp) -> Value {
    let ours = BTreeSet::from(["Placed".to_owned()]);
    let interpreter = &Interpreter::default();
    reduce(source, cells, &Manner { up, ours: &ours, now: NOW, interpreter }).unwrap()
}

#[track_caller]
fn check(source: Value, statuses: &[Value], expect: Value) {
    assert_eq!(reduced(&source, &cells(statuses), &StatusUp::Known), expect);
}

#[test]
fn replicas_of_a_deployment_are_added_up_and_its_conditions_stay() {
    let before = json!({"observedGeneration": 1, "replicas": 9, "conditions": [{"type": "Mine"}]});
    let deployment = source("apps/v1", "Deployment", json!({}), before);
    let statuses = [
        json!({"observedGeneration": 1, "replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "unavailableReplicas": 1}),
        json!({"observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "updatedReplicas": 3, "availableReplicas": 3}),
    ];
    check(
        deployment,
        &statuses,
        json!({"observedGeneration": 2, "replicas": 5, "readyReplicas": 4, "updatedReplicas": 5,
        "availableReplicas": 3, "unavailableReplicas": 1, "conditions": [{"type": "Mine"}]}),
    );
}

#[test]
fn a_generation_is_observed_when_every_cell_has_observed_it() {
    let deployment = source("apps/v1", "Deployment", json!({}), json!({"observedGeneration": 1}));
    let observed = |cells: &[CellStatus]| reduced(&deployment, cells, &StatusUp::Known)["observedGeneration"].clone();
    let said = json!({"observedGeneration": 1});
    let mut both = cells(&[said.clone(), said]);
    assert_eq!(observed(&both), 2);
    both[0].generation = 2;
    assert_eq!(observed(&both), 1);
    both[0].generation = 1;
    both[1].source_generation = 1;
    assert_eq!(observed(&both), 1);
    both[1] = CellStatus { cell: "m2".to_owned(), ..CellStatus::default() };
    assert_eq!(observed(&both), 1);
}

#[test]
fn nothing_said_changes_nothing() {
    let deployment = source("apps/v1", "Deployment", json!({}), json!({"replicas": 3}));
    check(deployment.clone(), &[], json!({"replicas": 3}));
    check(deployment.clone(), &[Value::Null], json!({"replicas": 3}));
    let off = reduced(&deployment, &cells(&[json!({"replicas": 1})]), &StatusUp::Off);
    assert_eq!(off, json!({"replicas": 3}));
}

#[test]
fn zeros_are_news() {
    let set = source("apps/v1", "ReplicaSet", json!({}), json!({"replicas": 3}));
    let zero = json!({"observedGeneration": 1});
    check(set, &[zero], json!({"observedGeneration": 2, "replicas": 0, "readyReplicas": 0, "availableReplicas": 0}));
}

#[test]
fn addresses_of_all_cells_are_shown_once() {
    let ingress = |addresses: Value| json!({"loadBalancer": {"ingress": addresses}});
    let statuses = [
        ingress(json!([{"ip": "2.2.2.2"}, {"ip": "1.1.1.1"}])),
        ingress(json!([{"ip": "1.1.1.1"}, {"hostname": "h"}])),
    ];
    let all = ingress(json!([{"hostname": "h"}, {"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}]));
    check(source("networking.k8s.io/v1", "Ingress", json!({}), json!({})), &statuses, all.clone());
    check(source("v1", "Service", json!({"type": "LoadBalancer"}), json!({})), &statuses, all);
    check(source("v1", "Service", json!({"type": "ClusterIP"}), json!({})), &statuses, json!({}));
}

#[test]
fn the_phase_furthest_from_what_is_wanted_is_shown() {
    let phase = |phase: &str| json!({"phase": phase});
    let pod = || source("v1", "Pod", json!({}), json!({}));
    let shown = |phase: &str| json!({"phase": phase, "containerStatuses": []});
    check(pod(), &[phase("Running"), phase("Failed")], shown("Failed"));
    check(pod(), &[phase("Running"), Value::Null], shown("Pending"));
    check(pod(), &[phase("Succeeded"), phase("Running")], shown("Running"));
    let claim = || source("v1", "PersistentVolumeClaim", json!({}), json!({}));
    check(claim(), &[phase("Bound"), phase("Pending")], phase("Pending"));
    check(claim(), &[phase("Lost"), phase("Pending")], phase("Lost"));
    check(claim(), &[phase("Bound"), Value::Null], phase("Bound"));
    check(
        source("v1", "PersistentVolume", json!({}), json!({})),
        &[phase("Bound"), phase("Available")],
        phase("Available"),
    );
}

#[test]
fn a_job_is_done_when_it_is_done_everywhere() {
    let job = |status| source("batch/v1", "Job", json!({}), status);
    let done = |start: &str, end: &str| {
        json!({"succeeded": 2, "startTime": start, "completionTime": end,
        "conditions": [{"type": "Complete", "status": "True"}]})
    };
    let running = json!({"active": 1, "startTime": "2026-01-01T00:00:02Z"});
    check(
        job(json!({})),
        &[done("2026-01-01T00:00:01Z", "2026-01-01T00:01:00Z"), running],
        json!({"active": 1, "succeeded": 2, "failed": 0, "startTime": "2026-01-01T00:00:01Z"}),
    );
    let both =
        [done("2026-01-01T00:00:01Z", "2026-01-01T00:01:00Z"), done("2026-01-01T00:00:03Z", "2026-01-01T00:02:00Z")];
    let complete = json!([{"type": "Complete", "status": "True", "reason": "Completed", "message": "Job completed",
        "lastProbeTime": NOW, "lastTransitionTime": NOW}]);
    let status = json!({"active": 0, "succeeded": 4, "failed": 0, "conditions": complete,
        "startTime": "2026-01-01T00:00:01Z", "completionTime": "2026-01-01T00:02:00Z"});
    check(job(json!({})), &both, status.clone());
    check(job(status.clone()), &[json!({"failed": 9})], status);
}

#[test]
fn a_job_that_failed_somewhere_says_where() {
    let failed = json!({"failed": 1, "conditions": [{"type": "Failed", "status": "True"}]});
    let status =
        reduced(&source("batch/v1", "Job", json!({}), json!({})), &cells(&[json!({}), failed]), &StatusUp::Known);
    assert_eq!(status["conditions"][0]["message"], "Job executed failed in member clusters m2");
}

#[test]
fn budgets_and_schedules_are_joined() {
    let budget = |pod: &str| json!({"currentHealthy": 1, "desiredHealthy": 2, "disruptedPods": {pod: "t"}});
    check(
        source("policy/v1", "PodDisruptionBudget", json!({}), json!({})),
        &[budget("a"), budget("a")],
        json!({"currentHealthy": 2, "desiredHealthy": 4, "expectedPods": 0, "disruptionsAllowed": 0,
            "disruptedPods": {"m1/a": "t", "m2/a": "t"}}),
    );
    let cron = |time: &str| json!({"active": [{"name": time}], "lastScheduleTime": time});
    check(
        source("batch/v1", "CronJob", json!({}), json!({})),
        &[cron("2026-01-02T00:00:00Z"), cron("2026-01-01T00:00:00Z")],
        json!({"active": [{"name": "2026-01-02T00:00:00Z"}, {"name": "2026-01-01T00:00:00Z"}], "lastScheduleTime": "2026-01-02T00:00:00Z"}),
    );
    check(
        source("autoscaling/v2", "HorizontalPodAutoscaler", json!({}), json!({})),
        &[json!({"currentReplicas": 1, "desiredReplicas": 2}), json!({"currentReplicas": 3})],
        json!({"currentReplicas": 4, "desiredReplicas": 2}),
    );
}

#[test]
fn of_an_unknown_kind_the_worst_condition_is_shown_and_ours_are_kept() {
    let ready =
        |status: &str, message: &str| json!({"type": "Ready", "status": status, "message": message, "reason": "R"});
    let ours = json!({"type": "Placed", "status": "True"});
    let other = json!({"type": "Checked", "status": "True"});
    let widget = source("example.com/v1", "Widget", json!({}), json!({"conditions": [ours, other], "hub": "x"}));
    let statuses = [
        json!({"conditions": [ready("True", "fine")], "replicas": 2, "port": 80}),
        json!({"conditions": [ready("False", "broken"), {"type": "Placed", "status": "False"}], "replicas": 0, "port": 81}),
        json!({"conditions": [ready("False", "slow")], "replicas": 1, "port": 82}),
    ];
    check(
        widget,
        &statuses,
        json!({"hub": "x", "port": 81, "replicas": 3, "conditions": [
        ours, other, {"type": "Ready", "status": "False", "message": "m2: broken; m3: slow", "reason": "R"}]}),
    );
}

#[test]
fn of_one_cell_the_status_is_carried_as_it_is() {
    let status = json!({"conditions": [{"type": "Ready", "status": "True", "message": "ok"}], "currentReplicas": 0, "deep": {"a": [1]}});
    check(source("example.com/v1", "Widget", json!({}), json!({})), std::slice::from_ref(&status), status.clone());
}

#[test]
fn numbers_that_the_rule_names_are_added_up() {
    let widget = source("example.com/v1", "Widget", json!({}), json!({}));
    let up = StatusUp::Summed(BTreeSet::from(["usage.bytes".to_owned()]));
    let statuses = cells(&[json!({"usage": {"bytes": 1, "peak": 7}}), json!({"usage": {"bytes": 2}})]);
    assert_eq!(reduced(&widget, &statuses, &up)["usage"], json!({"bytes": 3, "peak": 7}));
}

#[test]
fn bad_conditions_are_worst_when_true() {
    let degraded = |status: &str| json!({"conditions": [{"type": "Degraded", "status": status}]});
    let widget = source("example.com/v1", "Widget", json!({}), json!({}));
    let status = reduced(&widget, &cells(&[degraded("False"), degraded("True")]), &StatusUp::Known);
    assert_eq!(status["conditions"][0]["status"], "True");
}
