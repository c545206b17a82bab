//! Two projects and three cities: what a platform of projects and cells asks of the federation, told from the beginning
//! to the end on a whole server whose cells are workspaces of its own.

mod clusters;
mod hazards;
mod scripts;
mod shared;
mod stage;
mod views;

use serde_json::{Value, json};
use stage::{Stage, condition, crd};

const COMPUTE: &str = "compute.datumapis.com";
const CITY: &str = "topology.datum.net/city-code";

/// What every project knows.
fn kinds() -> Vec<Value> {
    vec![
        crd(COMPUTE, "v1alpha", "Workload", "workloads"),
        crd(COMPUTE, "v1alpha", "WorkloadDeployment", "workloaddeployments"),
        crd(COMPUTE, "v1alpha", "Instance", "instances"),
        crd("networking.datumapis.com", "v1alpha", "Location", "locations"),
    ]
}

/// A rule of the platform, for all projects.
fn rule(name: &str, spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["workspaces"] = json!(["root:alpha", "root:beta"]);
    json!({ "apiVersion": "federation.hanse.dev/v1alpha1", "kind": "FederationRule",
            "metadata": { "name": name }, "spec": spec })
}

fn joined(objects: &Value) -> Value {
    json!({ "objects": objects, "cells": { "joins": [{ "objectLabel": CITY, "cellLabel": CITY }] }, "follow": true })
}

fn cell(name: &str, city: &str) -> Value {
    json!({ "apiVersion": "federation.hanse.dev/v1alpha1", "kind": "Cell",
            "metadata": { "name": name, "labels": { CITY: city } }, "spec": { "workspace": format!("root:{name}") } })
}

fn config_map(city: &str, value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "x", "namespace": "default", "labels": { CITY: city } }, "data": { "v": value } })
}

fn deployment(name: &str, city: &str) -> Value {
    json!({ "apiVersion": format!("{COMPUTE}/v1alpha"), "kind": "WorkloadDeployment",
            "metadata": { "name": name, "namespace": "default", "labels": { CITY: city } },
            "spec": { "cityCode": city, "replicas": 1 } })
}

/// A platform with three cities and two projects.
async fn platform() -> Stage {
    let stage = Stage::start().await;
    for name in ["alpha", "beta", "dfw", "ord", "ams"] {
        stage.workspace(name).await;
    }
    for project in ["alpha", "beta"] {
        for definition in kinds() {
            stage.apply(&format!("root:{project}"), &definition).await;
        }
    }
    for city in ["dfw", "ord", "ams"] {
        // What is born in a cell is of a kind that the cell brings.
        stage.apply(&format!("root:{city}"), &crd(COMPUTE, "v1alpha", "Instance", "instances")).await;
        stage.apply("root", &cell(city, city)).await;
    }
    let compute = |kind: &str| json!({ "apiVersion": format!("{COMPUTE}/v1alpha"), "kind": kind });
    let mut spec = joined(&json!([compute("WorkloadDeployment"), { "apiVersion": "v1", "kind": "ConfigMap" }]));
    spec["upsync"] = json!([compute("Instance")]);
    spec["status"] = json!({ "sum": ["readyReplicas"] });
    stage.apply("root", &rule("by-city", &spec)).await;
    stage
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projects_meet_in_a_cell_side_by_side() {
    let stage = platform().await;
    stage.apply("root:alpha", &config_map("dfw", "of alpha")).await;
    stage.apply("root:beta", &config_map("dfw", "of beta")).await;
    let both = async |stage: &Stage| {
        let mut found = stage.list("root:dfw", "", "v1", "configmaps", "ConfigMap").await;
        found.retain(|map| map["metadata"]["name"] == "x");
        let said = |project: &str| {
            let label = format!("cluster-root_{project}");
            let upstream = "meta.datumapis.com/upstream-cluster-name";
            let map = found.iter().find(|map| map["metadata"]["labels"][upstream] == label.as_str())?;
            Some((map["metadata"]["namespace"].as_str()?.to_owned(), map["data"]["v"].as_str()?.to_owned()))
        };
        Some((said("alpha")?, said("beta")?))
    };
    let (alpha, beta) = stage.eventually("both are in the cell", both).await;
    assert_eq!((alpha.1.as_str(), beta.1.as_str()), ("of alpha", "of beta"));
    for (project, in_cell) in [("root:alpha", &alpha.0), ("root:beta", &beta.0)] {
        let namespace = stage.get(project, "", "v1", "namespaces", None, "default").await.unwrap();
        assert_eq!(*in_cell, format!("ns-{}", namespace["metadata"]["uid"].as_str().unwrap()));
    }
    for other in ["root:ord", "root:ams"] {
        assert!(
            stage
                .list(other, "", "v1", "configmaps", "ConfigMap")
                .await
                .iter()
                .all(|map| map["metadata"]["name"] != "x")
        );
    }
    stage.delete("root:alpha", ("", "v1", "configmaps"), Some("default"), "x").await;
    let gone = async |stage: &Stage| {
        let there = stage.get("root:dfw", "", "v1", "configmaps", Some(&alpha.0), "x").await;
        let namespace = stage.get("root:dfw", "", "v1", "namespaces", None, &alpha.0).await;
        (there.is_none() && namespace.is_none()).then_some(())
    };
    stage.eventually("the copy of one is gone, with its namespace", gone).await;
    let left = stage.get("root:dfw", "", "v1", "configmaps", Some(&beta.0), "x").await.unwrap();
    assert_eq!(left["data"]["v"], "of beta");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statuses_and_what_is_born_in_cells_come_back_to_each_project() {
    let stage = platform().await;
    let wd = (COMPUTE, "v1alpha", "workloaddeployments");
    let instances = (COMPUTE, "v1alpha", "instances");
    for (project, city) in [("root:alpha", "dfw"), ("root:beta", "ord")] {
        stage.apply(project, &deployment("web", city)).await;
        let cell = format!("root:{city}");
        let copy = stage.eventually("it is in its city", async |stage: &Stage| {
            stage.list(&cell, wd.0, wd.1, wd.2, "WorkloadDeployment").await.into_iter().next()
        });
        let copy = copy.await;
        // What a controller of the cell does, which knows nothing of federation.
        let namespace = copy["metadata"]["namespace"].as_str().unwrap();
        stage.status(&cell, wd, namespace, "web", &json!({ "readyReplicas": 1, "city": city })).await;
        let owner = json!({ "apiVersion": copy["apiVersion"], "kind": copy["kind"], "name": "web",
                            "uid": copy["metadata"]["uid"], "controller": true });
        let born = json!({ "apiVersion": copy["apiVersion"], "kind": "Instance", "spec": { "city": city },
            "metadata": { "name": "web-0", "namespace": namespace, "ownerReferences": [owner] } });
        stage.apply(&cell, &born).await;
        stage.status(&cell, instances, namespace, "web-0", &json!({ "ip": "10.0.0.1" })).await;
    }
    for (project, city) in [("root:alpha", "dfw"), ("root:beta", "ord")] {
        let told = async |stage: &Stage| {
            let source = stage.get(project, wd.0, wd.1, wd.2, Some("default"), "web").await?;
            (source["status"]["readyReplicas"] == 1).then_some(source)
        };
        let source = stage.eventually("the status is told in the project", told).await;
        let shown = async |stage: &Stage| {
            let shown = stage.get(project, instances.0, instances.1, instances.2, Some("default"), "web-0").await?;
            (shown["status"]["ip"] == "10.0.0.1").then_some(shown)
        };
        let shown = stage.eventually("what was born is shown in the project", shown).await;
        assert_eq!(shown["spec"]["city"], city);
        assert_eq!(shown["metadata"]["ownerReferences"][0]["uid"], source["metadata"]["uid"]);
        let refused = stage.merge(project, instances, "web-0", &json!({ "spec": { "city": "elsewhere" } })).await;
        assert_eq!(refused.unwrap_err().code(), Some(403), "it is nobody's to change here");
    }
    stage.delete("root:alpha", wd, Some("default"), "web").await;
    let gone = async |stage: &Stage| {
        let shown = stage.list("root:alpha", instances.0, instances.1, instances.2, "Instance").await;
        let there = stage.list("root:dfw", wd.0, wd.1, wd.2, "WorkloadDeployment").await;
        (shown.is_empty() && there.is_empty()).then_some(())
    };
    stage.eventually("with its owner goes what is shown", gone).await;
    assert_eq!(stage.list("root:beta", instances.0, instances.1, instances.2, "Instance").await.len(), 1);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fits_nowhere_says_so_and_heals_when_a_cell_is_relabelled() {
    let stage = platform().await;
    let wd = (COMPUTE, "v1alpha", "workloaddeployments");
    stage.apply("root:alpha", &deployment("lost", "zzz")).await;
    let placed = async |stage: &Stage, status: &str| {
        let source = stage.get("root:alpha", wd.0, wd.1, wd.2, Some("default"), "lost").await?;
        let placed = condition(&source, "Placed")?.clone();
        (placed["status"] == status).then_some(placed)
    };
    let refused = stage.eventually("it says that it fits nowhere", async |stage: &Stage| placed(stage, "False").await);
    assert_eq!(refused.await["reason"], "NoCellFits");
    stage.apply("root", &cell("ams", "zzz")).await;
    stage.eventually("it heals", async |stage: &Stage| placed(stage, "True").await).await;
    let there =
        async |stage: &Stage| stage.list("root:ams", wd.0, wd.1, wd.2, "WorkloadDeployment").await.into_iter().next();
    stage.eventually("it is in the relabelled cell", there).await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cells_see_the_status_of_what_goes_down_to_them() {
    let stage = platform().await;
    let locations = ("networking.datumapis.com", "v1alpha", "locations");
    let mut spec = joined(&json!([{ "apiVersion": "networking.datumapis.com/v1alpha", "kind": "Location" }]));
    spec["status"] = json!({ "down": true });
    stage.apply("root", &rule("locations", &spec)).await;
    let location = json!({ "apiVersion": "networking.datumapis.com/v1alpha", "kind": "Location",
        "metadata": { "name": "here", "namespace": "default", "labels": { CITY: "dfw" } }, "spec": {} });
    stage.apply("root:alpha", &location).await;
    for phase in ["Pending", "Ready"] {
        stage.status("root:alpha", locations, "default", "here", &json!({ "phase": phase })).await;
        let there = async |stage: &Stage| {
            let found = stage.list("root:dfw", locations.0, locations.1, locations.2, "Location").await;
            found.into_iter().find(|found| found["status"]["phase"] == phase)
        };
        stage.eventually("the cell sees the status", there).await;
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_definition_comes_to_say_of_objects_is_true_in_cells() {
    let stage = platform().await;
    let mut definition = crd("example.com", "v1", "Widget", "widgets");
    stage.apply("root:dfw", &definition).await;
    stage.apply("root:alpha", &definition).await;
    let objects = json!([{ "apiVersion": "example.com/v1", "kind": "Widget" }]);
    stage.apply("root", &rule("widgets", &json!({ "objects": objects, "cells": { "names": ["dfw"] } }))).await;
    let widget = json!({ "apiVersion": "example.com/v1", "kind": "Widget", "spec": { "size": 1 },
        "metadata": { "name": "w", "namespace": "default" } });
    stage.apply("root:alpha", &widget).await;
    let there = async |stage: &Stage| stage.list("root:dfw", "example.com", "v1", "widgets", "Widget").await.pop();
    let first = stage.eventually("it is in the cell", there).await;
    assert_eq!(first["spec"], json!({ "size": 1 }));
    // Nobody touches the object itself.
    let properties = json!({ "size": { "type": "integer" }, "colour": { "type": "string", "default": "red" } });
    let spec = json!({ "type": "object", "properties": properties });
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = spec;
    stage.apply("root:alpha", &definition).await;
    let completed = async |stage: &Stage| there(stage).await.filter(|found| found["spec"]["colour"] == "red");
    stage.eventually("the cell has what the definition adds", completed).await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_that_a_cell_comes_to_serve_is_noticed() {
    let stage = platform().await;
    let widgets = ("example.com", "v1", "widgets");
    let definition = crd("example.com", "v1", "Widget", "widgets");
    stage.apply("root:alpha", &definition).await;
    let objects = json!([{ "apiVersion": "example.com/v1", "kind": "Widget" }]);
    stage.apply("root", &rule("widgets", &json!({ "objects": objects, "cells": { "names": ["dfw"] } }))).await;
    let widget = json!({ "apiVersion": "example.com/v1", "kind": "Widget", "spec": {},
        "metadata": { "name": "w", "namespace": "default" } });
    stage.apply("root:alpha", &widget).await;
    let refused = async |stage: &Stage| {
        let placements = stage.list("root:alpha", "federation.hanse.dev", "v1alpha1", "placements", "Placement").await;
        let mut refused = placements.iter().flat_map(|placement| placement["status"]["refused"].as_array()).flatten();
        let unknown = |refused: &Value| {
            refused["cell"] == "dfw" && refused["reason"].as_str().is_some_and(|why| why.contains("does not serve"))
        };
        refused.any(unknown).then_some(())
    };
    stage.eventually("the cell is refused because it does not know the kind", refused).await;
    stage.apply("root:dfw", &definition).await;
    let there = async |stage: &Stage| stage.list("root:dfw", widgets.0, widgets.1, widgets.2, "Widget").await.pop();
    stage.eventually("it gets there once the kind is served", there).await;
    stage.end().await;
}
