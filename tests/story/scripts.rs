//! Kinds that only scripts understand, and scripts that never end, beside each other.

use super::stage::{Stage, condition, crd};
use serde_json::{Value, json};

const GROUP: &str = "example.io";
const SETS: (&str, &str, &str) = (GROUP, "v1", "sets");
const CUSTOMIZED: &str = "config.karmada.io/v1alpha1";

/// What objects of the kind mean: `size` is how many there are of it, cells decide whether it is paused, and it is well when
/// all of it is ready.
const REPLICAS: &str = "function GetReplicas(set) return set.spec.size end";
const REVISE: &str = "function ReviseReplica(set, number) set.spec.size = number return set end";
const RETAIN: &str = "function Retain(desired, observed) desired.spec.paused = observed.spec.paused return desired end";
const REFLECT: &str = "function ReflectStatus(set)
    if set.status == nil then return nil end
    return { ready = set.status.ready }
end";
const HEALTH: &str = "function InterpretHealth(set) return set.status ~= nil and set.status.ready == set.spec.size end";
const AGGREGATE: &str = "function AggregateStatus(set, items)
    local ready = 0
    for i = 1, #items do
        if items[i].status ~= nil then ready = ready + items[i].status.ready end
    end
    set.status = { ready = ready }
    return set
end";

fn customization(scripts: &[(&str, &str)]) -> Value {
    let scripts: serde_json::Map<String, Value> =
        scripts.iter().map(|(field, script)| ((*field).to_owned(), json!({ "luaScript": script }))).collect();
    json!({ "apiVersion": CUSTOMIZED, "kind": "ResourceInterpreterCustomization", "metadata": { "name": "sets" },
            "spec": { "target": { "apiVersion": "example.io/v1", "kind": "Set" }, "customizations": scripts } })
}

fn policy() -> Value {
    let weight = |cell: &str, weight: i64| json!({ "targetCluster": { "clusterNames": [cell] }, "weight": weight });
    let scheduling = json!({ "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": { "staticWeightList": [weight("m1", 2), weight("m2", 1)] } });
    let placement = json!({ "clusterAffinity": { "clusterNames": ["m1", "m2"] }, "replicaScheduling": scheduling });
    json!({ "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": { "name": "sets", "namespace": "default" },
            "spec": { "resourceSelectors": [{ "apiVersion": "example.io/v1", "kind": "Set" }], "placement": placement } })
}

fn set(name: &str) -> Value {
    json!({ "apiVersion": "example.io/v1", "kind": "Set", "metadata": { "name": name, "namespace": "default" },
            "spec": { "size": 3, "image": "first" } })
}

/// A workspace of a tenant with cells of its own, the kind, and what its scripts say of it.
async fn tenant(stage: &Stage, name: &str, scripts: &[(&str, &str)]) {
    let hub = format!("root:{name}");
    stage.workspace(name).await;
    stage.apply(&hub, &crd(GROUP, "v1", "Set", "sets")).await;
    for cell in ["m1", "m2"] {
        let at = format!("{name}-{cell}");
        stage.workspace(&at).await;
        stage.apply(&format!("root:{at}"), &crd(GROUP, "v1", "Set", "sets")).await;
        let cell = json!({ "apiVersion": "federation.hanse.dev/v1alpha1", "kind": "Cell", "metadata": { "name": cell },
            "spec": { "workspace": format!("root:{at}") } });
        stage.apply(&hub, &cell).await;
    }
    stage.apply(&hub, &customization(scripts)).await;
    stage.apply(&hub, &policy()).await;
}

async fn found(stage: &Stage, workspace: &str, name: &str) -> Option<Value> {
    stage.get(workspace, SETS.0, SETS.1, SETS.2, Some("default"), name).await
}

/// Waits until an object says this of itself; answers with why.
async fn said(stage: &Stage, workspace: &str, name: &str, kind: &str, status: &str) -> String {
    let told = async |stage: &Stage| {
        let object = found(stage, workspace, name).await?;
        let said = condition(&object, kind).filter(|said| said["status"] == status)?;
        Some(said["message"].as_str().unwrap_or_default().to_owned())
    };
    stage.eventually(&format!("{name} says that {kind} is {status}"), told).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_say_what_objects_mean_from_the_division_to_the_status() {
    let stage = Stage::start().await;
    let scripts = [
        ("replicaResource", REPLICAS),
        ("replicaRevision", REVISE),
        ("retention", RETAIN),
        ("statusReflection", REFLECT),
        ("healthInterpretation", HEALTH),
        ("statusAggregation", AGGREGATE),
    ];
    tenant(&stage, "good", &scripts).await;
    stage.apply("root:good", &set("s")).await;
    for (cell, size) in [("root:good-m1", 2), ("root:good-m2", 1)] {
        let divided = async |stage: &Stage| found(stage, cell, "s").await.filter(|set| set["spec"]["size"] == size);
        stage.eventually("each cell has its share", divided).await;
    }
    // Somebody in the cell decides what is theirs to decide; it stays when the rest changes.
    stage.merge("root:good-m1", SETS, "s", &json!({ "spec": { "paused": true } })).await.unwrap();
    stage.merge("root:good", SETS, "s", &json!({ "spec": { "image": "second" } })).await.unwrap();
    let changed =
        async |stage: &Stage| found(stage, "root:good-m1", "s").await.filter(|set| set["spec"]["image"] == "second");
    let there = stage.eventually("the change is in the cell", changed).await;
    assert_eq!((&there["spec"]["paused"], &there["spec"]["size"]), (&json!(true), &json!(2)));

    for (cell, ready) in [("root:good-m1", 1), ("root:good-m2", 1)] {
        stage.status(cell, SETS, "default", "s", &json!({ "ready": ready, "noise": cell })).await;
    }
    let summed = async |stage: &Stage, ready: i64| {
        let object = found(stage, "root:good", "s").await?;
        (object["status"]["ready"] == ready).then_some(object)
    };
    let object = stage.eventually("two are ready", async |stage: &Stage| summed(stage, 2).await).await;
    assert!(object["status"]["noise"].is_null(), "cells tell what the script lets them");
    let health = async |stage: &Stage| -> Option<Vec<String>> {
        let of = "work.karmada.io";
        let binding = stage.get("root:good", of, "v1alpha2", "resourcebindings", Some("default"), "s-set").await?;
        let told = binding["status"]["aggregatedStatus"].as_array()?;
        Some(told.iter().map(|cell| format!("{} {}", cell["clusterName"], cell["health"]).replace('"', "")).collect())
    };
    let uneven = async |stage: &Stage| health(stage).await.filter(|told| *told == ["m1 Unhealthy", "m2 Healthy"]);
    stage.eventually("one is not well", uneven).await;
    stage.status("root:good-m1", SETS, "default", "s", &json!({ "ready": 2 })).await;
    stage.eventually("all are ready", async |stage: &Stage| summed(stage, 3).await).await;
    let even = async |stage: &Stage| health(stage).await.filter(|told| *told == ["m1 Healthy", "m2 Healthy"]);
    stage.eventually("both are well", even).await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_never_end_are_told_of_and_harm_nobody_else() {
    let stage = Stage::start().await;
    let endless = ("replicaResource", "function GetReplicas(set) while true do end end");
    tenant(&stage, "bad", &[endless]).await;
    let greedy = "function AggregateStatus(set, items)
        local all = {}
        while true do all[#all + 1] = string.rep('x', 1000000) .. #all end
    end";
    tenant(&stage, "greedy", &[("statusAggregation", greedy)]).await;
    tenant(&stage, "good", &[("replicaResource", REPLICAS), ("statusAggregation", AGGREGATE)]).await;
    for number in 0..10 {
        stage.apply("root:bad", &set(&format!("s{number}"))).await;
    }
    stage.apply("root:greedy", &set("s")).await;
    stage.apply("root:good", &set("s")).await;
    for hub in ["good", "greedy"] {
        for cell in ["m1", "m2"] {
            let cell = format!("root:{hub}-{cell}");
            stage.eventually("it is in its cells", async |stage: &Stage| found(stage, &cell, "s").await).await;
            stage.status(&cell, SETS, "default", "s", &json!({ "ready": 1 })).await;
        }
    }
    let summed =
        async |stage: &Stage| found(stage, "root:good", "s").await.filter(|object| object["status"]["ready"] == 2);
    stage.eventually("others are served", summed).await;
    let why = said(&stage, "root:bad", "s7", "Placed", "False").await;
    assert!(why.contains("GetReplicas") && why.contains("ResourceInterpreterCustomization sets"), "{why}");
    let why = said(&stage, "root:greedy", "s", "Interpreted", "False").await;
    // It wants all memory, and on a busy machine its time may be up before it has as much as it may.
    let bounds = ["32 MiB", "out of its bounds", "or a second"];
    assert!(why.contains("AggregateStatus") && bounds.iter().any(|bound| why.contains(bound)), "{why}");
    // A script that ends heals what the other has done.
    stage.apply("root:bad", &customization(&[("replicaResource", REPLICAS)])).await;
    said(&stage, "root:bad", "s7", "Placed", "True").await;
    let divided = async |stage: &Stage| found(stage, "root:bad-m2", "s7").await;
    stage.eventually("it is placed", divided).await;
    stage.apply("root:greedy", &customization(&[("statusAggregation", AGGREGATE)])).await;
    said(&stage, "root:greedy", "s", "Interpreted", "True").await;
    stage.end().await;
}
