//! What clients of Karmada see of a server: bindings, works and clusters, of which nothing is stored.

use super::stage::{Stage, resource};
use super::{CITY, config_map};
use futures_util::StreamExt;
use hanse::fleet::api::CellEvent;
use serde_json::{Value, json};

const WORK: &str = "work.karmada.io";

fn member(name: &str) -> Value {
    json!({ "apiVersion": "federation.hanse.dev/v1alpha1", "kind": "Cell", "metadata": { "name": name },
            "spec": { "workspace": format!("root:{name}"), "region": "us" } })
}

fn policy() -> Value {
    let selectors =
        json!([{ "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": { "matchLabels": { CITY: "x" } } }]);
    json!({ "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": { "name": "maps", "namespace": "default" },
            "spec": { "resourceSelectors": selectors, "placement": { "clusterAffinity": { "clusterNames": ["m1"] } } } })
}

fn truth<'a>(object: &'a Value, kind: &str) -> &'a str {
    super::condition(object, kind).and_then(|condition| condition["status"].as_str()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bindings_works_and_clusters_show_what_was_decided_and_what_became_of_it() {
    let stage = Stage::start().await;
    for name in ["hub", "m1", "m2"] {
        stage.workspace(name).await;
    }
    for name in ["m1", "m2"] {
        stage.apply("root:hub", &member(name)).await;
    }
    stage.apply("root:hub", &policy()).await;
    let bindings = resource(WORK, "v1alpha2", "resourcebindings", "ResourceBinding");
    let api = stage.api("root:hub");
    let before = api.list(&bindings, "").await.unwrap();
    assert!(before.items.is_empty());
    let mut events = api.watch(&bindings, "", &before.resource_version).await.unwrap();
    stage.apply("root:hub", &config_map("x", "1")).await;
    let applied = async {
        while let Some(event) = events.next().await {
            if let CellEvent::Changed(binding) = event.unwrap()
                && truth(&binding, "FullyApplied") == "True"
            {
                return binding;
            }
        }
        panic!("the watch ended");
    };
    let patience = std::time::Duration::from_secs(60);
    let binding = tokio::time::timeout(patience, applied).await.expect("a watch tells that it is applied");
    assert_eq!((&binding["metadata"]["name"], truth(&binding, "Scheduled")), (&json!("x-configmap"), "True"));
    assert_eq!(binding["spec"]["clusters"], json!([{ "name": "m1" }]));
    assert_eq!(binding["metadata"]["annotations"]["propagationpolicy.karmada.io/name"], "maps");
    let one = stage.get("root:hub", WORK, "v1alpha2", "resourcebindings", Some("default"), "x-configmap").await;
    assert_eq!(one.unwrap()["metadata"]["uid"], binding["metadata"]["uid"]);

    let works = stage.list("root:hub", WORK, "v1alpha1", "works", "Work").await;
    let work = works.iter().find(|work| work["spec"]["workload"]["manifests"][0]["kind"] == "ConfigMap").unwrap();
    assert_eq!(work["metadata"]["namespace"], "karmada-es-m1");
    assert_eq!((truth(work, "Applied"), &work["spec"]["workload"]["manifests"][0]["data"]["v"]), ("True", &json!("1")));

    let cluster = stage.get("root:hub", "cluster.karmada.io", "v1alpha1", "clusters", None, "m1").await.unwrap();
    assert_eq!((&cluster["spec"]["syncMode"], &cluster["spec"]["region"]), (&json!("Push"), &json!("us")));
    assert_eq!(truth(&cluster, "Ready"), "True");

    let refused = stage.merge("root:hub", (WORK, "v1alpha2", "resourcebindings"), "x-configmap", &json!({})).await;
    assert_eq!(refused.unwrap_err().code(), Some(405), "nobody writes what is computed");
    stage.delete("root:hub", ("", "v1", "configmaps"), Some("default"), "x").await;
    let gone = async |stage: &Stage| {
        let left = stage.list("root:hub", WORK, "v1alpha2", "resourcebindings", "ResourceBinding").await;
        left.is_empty().then_some(())
    };
    stage.eventually("with the object goes its binding", gone).await;
    stage.end().await;
}
