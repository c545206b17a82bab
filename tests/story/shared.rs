//! Places in cells that several claim, and what was there before anybody came.

use super::stage::{Stage, crd};
use super::{COMPUTE, config_map, deployment, platform, rule};
use serde_json::{Value, json};

const CRDS: (&str, &str, &str) = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");
const DEPLOYMENTS: &str = "workloaddeployments";

/// What a project has recorded of a resource that it has sent into cells.
async fn recorded(stage: &Stage, project: &str, resource: &str) -> Option<Value> {
    let copies = stage.list(project, "federation.hanse.dev", "v1alpha1", "copies", "Copy").await;
    copies.into_iter().find(|copy| copy["spec"]["object"]["resource"] == resource)
}

async fn definition(stage: &Stage, cell: &str) -> Option<Value> {
    stage.get(cell, CRDS.0, CRDS.1, CRDS.2, None, &format!("{DEPLOYMENTS}.{COMPUTE}")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_that_two_bring_belongs_to_whom_it_says() {
    let stage = platform().await;
    stage.apply("root:alpha", &deployment("web", "dfw")).await;
    stage.eventually("one has brought it", async |stage: &Stage| definition(stage, "root:dfw").await).await;
    stage.apply("root:beta", &deployment("web", "dfw")).await;
    let is_found = async |stage: &Stage, project: &str| {
        let copy = recorded(stage, project, CRDS.2).await?;
        (copy["status"]["reason"] == "Found" && copy["status"]["uid"].is_null()).then_some(copy)
    };
    let found = async |stage: &Stage| is_found(stage, "root:beta").await;
    let found = stage.eventually("the other has found it there", found).await;
    // As if both had sent it at the same moment, and the other had been the last.
    let theirs = json!({ "metadata": { "annotations": {
        "federation.hanse.dev/source-uid": found["spec"]["source"]["uid"] } } });
    stage.merge_outside("root:dfw", CRDS, &format!("{DEPLOYMENTS}.{COMPUTE}"), &theirs).await;
    let lost = async |stage: &Stage| is_found(stage, "root:alpha").await;
    stage.eventually("the first knows that it is not its own", lost).await;
    let owned = async |stage: &Stage| {
        let (copy, there) = (recorded(stage, "root:beta", CRDS.2).await?, definition(stage, "root:dfw").await?);
        (copy["status"]["uid"] == there["metadata"]["uid"] && copy["status"]["applied"] == "True").then_some(())
    };
    stage.eventually("the other has it", owned).await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_that_was_found_is_brought_when_it_is_taken_away() {
    let stage = platform().await;
    stage.apply("root:dfw", &crd(COMPUTE, "v1alpha", "WorkloadDeployment", DEPLOYMENTS)).await;
    stage.apply("root:alpha", &deployment("web", "dfw")).await;
    let there =
        async |stage: &Stage| stage.list("root:dfw", COMPUTE, "v1alpha", DEPLOYMENTS, "WorkloadDeployment").await.pop();
    stage.eventually("it is in the cell", there).await;
    stage.delete("root:dfw", CRDS, None, &format!("{DEPLOYMENTS}.{COMPUTE}")).await;
    let ours = async |stage: &Stage| {
        let brought = definition(stage, "root:dfw").await?;
        (!brought["metadata"]["annotations"]["federation.hanse.dev/source-uid"].is_null()).then_some(())
    };
    stage.eventually("the definition is brought", ours).await;
    stage.eventually("and what is of it", there).await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_was_found_is_made_when_it_is_taken_away() {
    let stage = platform().await;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } });
    stage.apply("root:dfw", &namespace).await;
    stage.apply("root:alpha", &namespace).await;
    let secrets = json!({ "objects": [{ "apiVersion": "v1", "kind": "Secret", "namespace": "shop" }],
        "cells": { "names": ["dfw"] }, "namespaces": "Same" });
    stage.apply("root", &rule("secrets", &secrets)).await;
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "shop" } });
    stage.apply("root:alpha", &secret).await;
    let uid = async |stage: &Stage| {
        let there = stage.get("root:dfw", "", "v1", "secrets", Some("shop"), "s").await?;
        Some(there["metadata"]["uid"].clone())
    };
    let first = stage.eventually("it is in the cell", uid).await;
    stage.delete("root:dfw", ("", "v1", "namespaces"), None, "shop").await;
    let again = async |stage: &Stage| uid(stage).await.filter(|uid| *uid != first);
    stage.eventually("it is there again, in a namespace that was made for it", again).await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_that_goes_leaves_nothing_in_cells() {
    let stage = platform().await;
    stage.apply("root:alpha", &config_map("dfw", "of alpha")).await;
    stage.apply("root:alpha", &deployment("web", "dfw")).await;
    let namespace = stage.get("root:alpha", "", "v1", "namespaces", None, "default").await.unwrap();
    let in_cell = format!("ns-{}", namespace["metadata"]["uid"].as_str().unwrap());
    let there = async |stage: &Stage| {
        let deployed = stage.list("root:dfw", COMPUTE, "v1alpha", DEPLOYMENTS, "WorkloadDeployment").await;
        stage.get("root:dfw", "", "v1", "configmaps", Some(&in_cell), "x").await.filter(|_| !deployed.is_empty())
    };
    stage.eventually("it is in the cell", there).await;
    stage.delete("root", ("tenancy.kcp.io", "v1alpha1", "workspaces"), None, "alpha").await;
    let gone = async |stage: &Stage| {
        let workspace = stage.get("root", "tenancy.kcp.io", "v1alpha1", "workspaces", None, "alpha").await;
        workspace.is_none().then_some(())
    };
    stage.eventually("the project is gone", gone).await;
    assert_eq!(stage.get("root:dfw", "", "v1", "namespaces", None, &in_cell).await, None);
    assert_eq!(definition(&stage, "root:dfw").await, None);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_somebody_deletes_is_not_forgotten() {
    let stage = platform().await;
    stage.apply("root:alpha", &config_map("dfw", "of alpha")).await;
    let applied = async |stage: &Stage| {
        let copy = recorded(stage, "root:alpha", "configmaps").await?;
        (copy["status"]["applied"] == "True").then_some(copy)
    };
    let first = stage.eventually("it is in the cell", applied).await;
    let name = first["metadata"]["name"].as_str().unwrap();
    stage.delete("root:alpha", ("federation.hanse.dev", "v1alpha1", "copies"), None, name).await;
    let anew =
        async |stage: &Stage| applied(stage).await.filter(|copy| copy["status"]["uid"] != first["status"]["uid"]);
    stage.eventually("it was taken back and made anew", anew).await;
    stage.end().await;
}
