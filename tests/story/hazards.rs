//! Where Karmada does harm, a server does not, unless it is asked to.

use super::stage::Stage;
use serde_json::{Value, json};

const POLICY: &str = "policy.karmada.io/v1alpha1";
const CELLS: (&str, &str, &str) = ("federation.hanse.dev", "v1alpha1", "cells");

fn policy(name: &str, kind: &str, placement: &Value) -> Value {
    json!({ "apiVersion": POLICY, "kind": "PropagationPolicy", "metadata": { "name": name, "namespace": "default" },
            "spec": { "resourceSelectors": [{ "apiVersion": "v1", "kind": kind, "name": name }], "placement": placement } })
}

fn object(name: &str, kind: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name, "namespace": "default" } })
}

/// A hub with a cell that a policy chooses by its label.
async fn hub(hazards: bool) -> Stage {
    let stage = Stage::with_hazards(hazards).await;
    for name in ["hub", "m1"] {
        stage.workspace(name).await;
    }
    let cell = json!({ "apiVersion": "federation.hanse.dev/v1alpha1", "kind": "Cell",
        "metadata": { "name": "m1", "labels": { "tier": "one" } }, "spec": { "workspace": "root:m1" } });
    stage.apply("root:hub", &cell).await;
    stage
}

async fn copy(stage: &Stage, plural: &'static str, name: &str) -> Option<Value> {
    stage.get("root:m1", "", "v1", plural, Some("default"), name).await
}

/// Waits until it is written down why an object of this name is not where its policy wants it.
async fn complaint(stage: &Stage, name: &str) -> Value {
    let looked = async |stage: &Stage| {
        let all = stage.list("root:hub", "federation.hanse.dev", "v1alpha1", "placements", "Placement").await;
        let placement = all.into_iter().find(|placement| placement["spec"]["source"]["name"] == name)?;
        (!placement["status"]["troubles"][0].is_null()).then_some(placement)
    };
    stage.eventually("it is said why it does not fit", looked).await
}

/// Places an object, then lets its only cell be none that its policy chooses.
async fn evacuated(hazards: bool) -> Stage {
    let stage = hub(hazards).await;
    let labels = json!({ "matchLabels": { "tier": "one" } });
    stage
        .apply("root:hub", &policy("x", "ConfigMap", &json!({ "clusterAffinity": { "labelSelector": labels } })))
        .await;
    stage.apply("root:hub", &object("x", "ConfigMap")).await;
    stage.eventually("it is in its cell", async |stage: &Stage| copy(stage, "configmaps", "x").await).await;
    stage.merge_outside("root:hub", CELLS, "m1", &json!({ "metadata": { "labels": { "tier": "none" } } })).await;
    stage
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fits_nowhere_any_more_stays() {
    let stage = evacuated(false).await;
    let placement = complaint(&stage, "x").await;
    assert_eq!(placement["status"]["troubles"][0]["reason"], "NoCellFits");
    assert_eq!(placement["spec"]["cells"][0]["name"], "m1");
    assert!(copy(&stage, "configmaps", "x").await.is_some());
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fits_nowhere_any_more_is_deleted_where_karmadas_hazards_are_asked_for() {
    let stage = evacuated(true).await;
    let gone = async |stage: &Stage| copy(stage, "configmaps", "x").await.is_none().then_some(());
    stage.eventually("it is gone from its cell", gone).await;
    let placement = complaint(&stage, "x").await;
    assert_eq!(
        (&placement["status"]["troubles"][0]["reason"], &placement["spec"]["cells"]),
        (&json!("NoCellFits"), &json!([]))
    );
    stage.end().await;
}

/// A policy that does not say how many clusters there may be at most.
fn unbounded() -> Value {
    let spread = json!([{ "spreadByField": "cluster", "minGroups": 1 }]);
    policy("s", "Secret", &json!({ "clusterAffinity": { "clusterNames": ["m1"] }, "spreadConstraints": spread }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bound_that_was_left_out_is_none() {
    let stage = hub(false).await;
    stage.apply("root:hub", &unbounded()).await;
    stage.apply("root:hub", &object("s", "Secret")).await;
    stage.eventually("it is in its cell", async |stage: &Stage| copy(stage, "secrets", "s").await).await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bound_that_was_left_out_is_zero_where_karmadas_hazards_are_asked_for() {
    let stage = hub(true).await;
    stage.apply("root:hub", &unbounded()).await;
    stage.apply("root:hub", &object("s", "Secret")).await;
    let placement = complaint(&stage, "s").await;
    assert_eq!(placement["spec"]["cells"], json!([]));
    assert!(copy(&stage, "secrets", "s").await.is_none());
    stage.end().await;
}
