//! What a server offers, and objects of kinds that were not compiled in.

use crate::stage::{client, namespace};
use kube::api::{DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{Discovery, Scope, verbs};
use kube::{Api, ResourceExt};
use serde_json::json;

#[tokio::test]
async fn groups_and_kinds_are_found() {
    let client = client().await;
    let one_by_one = Discovery::new(client.clone()).run().await.expect("discovery");
    let at_once = Discovery::new(client.clone()).run_aggregated().await.expect("aggregated discovery");
    let names = |found: &Discovery| {
        let mut names: Vec<String> = found.groups().map(|group| group.name().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&one_by_one), names(&at_once));
    for found in [one_by_one, at_once] {
        let kind = GroupVersionKind::gvk("apps", "v1", "Deployment");
        let (resource, can) = found.resolve_gvk(&kind).expect("deployments");
        assert_eq!((resource.plural.as_str(), &can.scope), ("deployments", &Scope::Namespaced));
        assert!(can.supports_operation(verbs::WATCH));
        let (resource, can) = found.get("").expect("the core").recommended_kind("Node").expect("nodes");
        assert_eq!((resource.plural.as_str(), &can.scope), ("nodes", &Scope::Cluster));
    }
    let version = client.apiserver_version().await.expect("a version");
    assert_eq!(version.major, "1");
}

#[tokio::test]
async fn a_kind_that_is_only_known_by_name() {
    let client = client().await;
    let found = Discovery::new(client.clone()).filter(&["batch"]).run().await.expect("discovery");
    let (resource, _) = found.resolve_gvk(&GroupVersionKind::gvk("batch", "v1", "CronJob")).expect("cron jobs");
    let jobs: Api<DynamicObject> = Api::namespaced_with(client.clone(), &namespace(&client).await, &resource);
    let pod = json!({ "restartPolicy": "Never", "containers": [{ "name": "c", "image": "i" }] });
    let spec = json!({ "schedule": "0 0 * * *", "jobTemplate": { "spec": { "template": { "spec": pod } } } });
    let wanted = DynamicObject::new("nightly", &resource).data(json!({ "spec": spec }));
    let made = jobs.create(&PostParams::default(), &wanted).await.expect("created");
    assert_eq!(made.data["spec"]["concurrencyPolicy"], "Allow");
    assert_eq!(jobs.get("nightly").await.expect("read").name_any(), "nightly");
}
