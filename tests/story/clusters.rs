//! Cells by their other name: Karmada's clusters, which can be written and lead to what is behind them.

use super::stage::Stage;
use super::{CITY, platform};
use serde_json::json;

const CLUSTERS: (&str, &str, &str) = ("cluster.karmada.io", "v1alpha1", "clusters");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_leads_to_its_cell_as_whoever_asks() {
    let stage = platform().await;
    let through = stage.through("root", "/apis/cluster.karmada.io/v1alpha1/clusters/dfw/proxy");
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "v": "1" },
        "metadata": { "name": "by-proxy", "namespace": "default" } });
    // A cell that has just joined is not dealt with yet, and says so.
    let reached = async |_: &Stage| match through.version().await {
        Err(error) if error.code() == Some(503) => None,
        answer => Some(answer.unwrap()),
    };
    stage.eventually("the cell is dealt with", reached).await;
    Stage::apply_to(&*through, &map).await;
    let there = stage.get("root:dfw", "", "v1", "configmaps", Some("default"), "by-proxy").await.unwrap();
    assert_eq!(there["data"]["v"], "1");
    assert_eq!(stage.get("root:ord", "", "v1", "configmaps", Some("default"), "by-proxy").await, None);
    let nobody = stage.through("root", "/apis/cluster.karmada.io/v1alpha1/clusters/nowhere/proxy");
    assert_eq!(nobody.version().await.unwrap_err().code(), Some(404));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_written_as_its_cell() {
    let stage = platform().await;
    let taint = json!({ "key": "k", "value": "v", "effect": "NoSchedule" });
    let patch =
        json!({ "metadata": { "labels": { "tier": "edge" } }, "spec": { "taints": [taint], "syncMode": "Push" } });
    stage.merge_outside("root", CLUSTERS, "dfw", &patch).await;
    let cell = stage.get("root", "federation.hanse.dev", "v1alpha1", "cells", None, "dfw").await.unwrap();
    assert_eq!(cell["metadata"]["labels"], json!({ CITY: "dfw", "tier": "edge" }));
    assert_eq!((&cell["spec"]["taints"][0]["key"], &cell["spec"]["workspace"]), (&json!("k"), &json!("root:dfw")));
    let shown = stage.get("root", CLUSTERS.0, CLUSTERS.1, CLUSTERS.2, None, "dfw").await.unwrap();
    assert_eq!(shown["spec"]["taints"][0]["effect"], "NoSchedule");
    let joined = json!({ "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": { "name": "m9" },
        "spec": { "syncMode": "Push", "apiEndpoint": "https://127.0.0.1:1", "id": "x",
                  "secretRef": { "namespace": "default", "name": "m9" } } });
    let made = stage.apply("root", &joined).await;
    assert_eq!((&made["kind"], &made["spec"]["syncMode"]), (&json!("Cluster"), &json!("Push")));
    let cell = stage.get("root", "federation.hanse.dev", "v1alpha1", "cells", None, "m9").await.unwrap();
    assert_eq!(cell["spec"]["secretRef"]["name"], "m9");
    stage.delete("root", CLUSTERS, None, "m9").await;
    let gone = async |stage: &Stage| {
        let cell = stage.get("root", "federation.hanse.dev", "v1alpha1", "cells", None, "m9").await;
        cell.is_none().then_some(())
    };
    stage.eventually("with the cluster goes the cell", gone).await;
    stage.end().await;
}
