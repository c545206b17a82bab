//! Our own rules and cells by data.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::dialects::schema_tests::accepts;
use crate::dialects::schema_tests::refuses;
use crate::dialects::schema_tests::sound;
use crate::scheduler::Before;
use crate::scheduler::Mode;
use crate::scheduler::Seen;
use crate::scheduler::Terms;
use crate::scheduler::plan;
use crate::scheduler::rule::Division;
use crate::scheduler::rule::Namespaces;
use crate::scheduler::rule::StatusUp;
use serde_json::json;

fn rule(spec: Value) -> Value {
    let mut object = json!({"apiVersion": "federation.hanse.dev/v1alpha1", "kind": "FederationRule",
        "metadata": {"name": "workloads"}, "spec": {"objects": [
            {"apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment"}]}});
    object["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    object
}

fn compiled(spec: Value) -> Rule {
    let object = rule(spec);
    accepts(&definitions::definitions(), &object);
    compile(&object).unwrap()
}

fn workload(city: &str, class: &str) -> Value {
    json!({"apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        "metadata": {"namespace": "default", "name": "w", "uid": "u", "labels": {"compute.datumapis.com/runtime-class": class}},
        "spec": {"cityCode": city}})
}

fn pop(name: &str, city: &str, class: &str) -> Cell {
    let object = json!({"apiVersion": "federation.hanse.dev/v1alpha1", "kind": "Cell",
        "metadata": {"name": name, "labels": {"topology.datum.net/city-code": city,
            format!("compute.datumapis.com/runtime-class.{class}"): "true"}},
        "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    accepts(&definitions::definitions(), &object);
    cell(&object)
}

#[track_caller]
fn check(spec: Value, object: &Value, expect: &[&str]) {
    let rules = [compiled(spec)];
    let cells = [pop("dfw-1", "dfw", "sandbox"), pop("dfw-2", "dfw", "vm"), pop("ord-1", "ord", "vm")];
    let before = Before::default();
    let seen = Seen {
        object,
        rules: &rules,
        cells: &cells,
        workload: None,
        before: &before,
        followed: &[],
        brings_definition: false,
        mode: Mode::Steady,
        unclear: None,
    };
    let placement = plan(&seen);
    let found: Vec<&str> = placement.targets.iter().map(|target| target.cell.as_str()).collect();
    assert_eq!(found, expect, "{placement:#?}");
}

#[test]
fn definitions_are_sound() {
    sound(&definitions::definitions());
}

/// What takes Datum a policy for each namespace, city and class.
#[test]
fn one_rule_places_every_workload_in_its_city_by_its_class() {
    let cells = json!({"joins": [
        {"objectField": "spec.cityCode", "cellLabel": "topology.datum.net/city-code"},
        {"objectLabel": "compute.datumapis.com/runtime-class", "cellLabelPrefix": "compute.datumapis.com/runtime-class.", "optional": true}]});
    let spec = json!({"cells": cells});
    check(spec.clone(), &workload("dfw", "vm"), &["dfw-2"]);
    check(spec.clone(), &workload("ord", "vm"), &["ord-1"]);
    check(spec.clone(), &workload("ord", "sandbox"), &[]);
    check(spec, &workload("zzz", "vm"), &[]);
}

#[test]
fn one_of_several_cells_can_be_picked() {
    let city = json!({"objectField": "spec.cityCode", "cellLabel": "topology.datum.net/city-code"});
    check(json!({"cells": {"joins": [city], "pick": 5}}), &workload("dfw", "vm"), &["dfw-1", "dfw-2"]);
    let rules = [compiled(json!({"cells": {"joins": [city], "pick": 1}}))];
    let cells = [pop("dfw-1", "dfw", "vm"), pop("dfw-2", "dfw", "vm")];
    let (object, before) = (workload("dfw", "vm"), Before::default());
    let seen = Seen {
        object: &object,
        rules: &rules,
        cells: &cells,
        workload: None,
        before: &before,
        followed: &[],
        brings_definition: false,
        mode: Mode::Steady,
        unclear: None,
    };
    assert_eq!(plan(&seen).targets.len(), 1);
}

#[test]
fn everything_a_rule_can_say_is_read() {
    let rule = compiled(json!({
        "workspaces": ["root:projects:*"],
        "cells": {"groups": [{"name": "near", "names": ["a"], "overflow": [{"names": ["b"]}]}],
            "tolerations": [{"key": "k", "operator": "Exists"}], "spread": [{"by": "region", "min": 2}, {"label": "rack", "max": 3}]},
        "replicas": {"divide": "Preferred", "preferences": [{"cell": "a", "min": 1, "max": 5, "weight": 2}, {"weight": 1}], "rebalance": true},
        "follow": true, "retain": ["spec.replicas"],
        "overrides": [{"targetCluster": {"clusterNames": ["a"]}, "overriders": {"plaintext": [{"path": "/spec/x", "operator": "add", "value": 1}]}}],
        "status": {"sum": ["used"], "down": true}, "upsync": [{"apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance"}],
        "namespaces": "Same", "strangers": "Adopt", "suspend": {"cells": ["b"]}, "preserveOnDeletion": true, "nothingFits": "Withdraw"}));
    assert_eq!(rule.cells.groups[0].overflow.len(), 1);
    assert_eq!(rule.cells.spread.len(), 2);
    let Some(Division::Preferred(preferences)) = &rule.replicas else { panic!("{:?}", rule.replicas) };
    assert!(preferences.rebalance && preferences.cells["a"].most == Some(5) && preferences.cells["*"].weight == 1);
    let terms = Terms::of(std::slice::from_ref(&rule));
    assert_eq!((terms.retain.len(), terms.overrides.len(), terms.upsync.len()), (1, 1, 1));
    assert!(terms.follow && terms.status_down && terms.preserve_on_deletion && terms.is_suspended_in("b"));
    assert_eq!(terms.namespaces, Namespaces::Same);
    assert_eq!(rule.status.up, StatusUp::Summed(["used".to_owned()].into()));
    assert_eq!(terms.status_up, StatusUp::Off, "what goes down does not come back up");
    let object = workload("dfw", "vm");
    assert!(speaks_for(&rule, &object, "root:projects:a") && !speaks_for(&rule, &object, "root:other"));
}

#[test]
fn what_a_rule_cannot_mean_is_refused() {
    let refused = |spec: Value| compile(&rule(spec)).unwrap_err().to_string();
    let join = refused(json!({"cells": {"joins": [{"cellLabel": "x"}]}}));
    assert_eq!(join, "spec.cells.joins: one of objectLabel, objectAnnotation and objectField is needed");
    let spread = refused(json!({"replicas": {"divide": "Weighted"}, "cells": {"spread": [{"by": "cell"}]}}));
    assert!(spread.starts_with("spec.cells.spread: weights"), "{spread}");
    assert!(refused(json!({"retain": ["a..b"]})).starts_with("spec.retain"));
    refuses(&definitions::definitions(), &rule(json!({"replicas": {"divide": "Somehow"}})));
    refuses(&definitions::definitions(), &rule(json!({"cells": {"pick": 0}})));
}

#[test]
fn a_cell_that_has_not_said_what_it_serves_may_serve_anything() {
    assert_eq!(pop("a", "dfw", "vm").serves, Serves::Everything);
}
