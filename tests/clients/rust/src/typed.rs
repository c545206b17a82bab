//! Typed objects: made, read, replaced, patched, applied, listed in pages, deleted; and refusals as errors.

use crate::stage::{client, config_map, config_maps, delete, make, namespace, value};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Error, ResourceExt};
use serde_json::json;

/// The reason and code of a refusal.
fn refusal<T: std::fmt::Debug>(told: Result<T, Error>) -> (String, u16) {
    match told.expect_err("a refusal") {
        Error::Api(status) => (status.reason, status.code),
        other => panic!("not an answer of the server: {other}"),
    }
}

#[tokio::test]
async fn an_object_lives() {
    let maps = config_maps(&client().await).await;
    let made = make(&maps, "one", &[("a", "1")]).await;
    assert!(made.uid().is_some() && made.resource_version().is_some() && made.creation_timestamp().is_some());
    let again = maps.create(&PostParams::default(), &config_map("one", &[])).await;
    assert_eq!(refusal(again), ("AlreadyExists".to_owned(), 409));

    let mut changed = maps.get("one").await.expect("read");
    changed.data.as_mut().expect("data").insert("a".to_owned(), "2".to_owned());
    let replaced = maps.replace("one", &PostParams::default(), &changed).await.expect("replaced");
    assert_eq!(value(&replaced, "a"), Some("2"));
    let stale = maps.replace("one", &PostParams::default(), &made).await;
    assert_eq!(refusal(stale), ("Conflict".to_owned(), 409));

    let dry = PostParams { dry_run: true, ..PostParams::default() };
    maps.create(&dry, &config_map("two", &[])).await.expect("would be created");
    assert!(maps.get_opt("two").await.expect("asked").is_none());

    let another = Preconditions { uid: Some("another".to_owned()), ..Preconditions::default() };
    let refused = maps.delete("one", &DeleteParams::default().preconditions(another)).await;
    assert_eq!(refusal(refused), ("Conflict".to_owned(), 409));
    let gone = maps.delete("one", &DeleteParams::default()).await.expect("deleted");
    assert!(gone.is_right(), "a status, as nothing holds it");
    assert_eq!(refusal(maps.get("one").await), ("NotFound".to_owned(), 404));
}

#[tokio::test]
async fn four_sorts_of_patches() {
    let maps = config_maps(&client().await).await;
    make(&maps, "one", &[("a", "1"), ("b", "2")]).await;
    let plain = PatchParams::default();
    let merged = maps.patch("one", &plain, &Patch::Merge(json!({ "data": { "a": null } }))).await.expect("merged");
    assert_eq!((value(&merged, "a"), value(&merged, "b")), (None, Some("2")));
    let patch = Patch::Strategic(json!({ "data": { "c": "3" } }));
    assert_eq!(value(&maps.patch("one", &plain, &patch).await.expect("patched"), "c"), Some("3"));

    let wanted =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one" }, "data": { "b": "9" } });
    let polite = PatchParams::apply("rust");
    let refused = maps.patch("one", &polite, &Patch::Apply(&wanted)).await;
    assert_eq!(refusal(refused), ("Conflict".to_owned(), 409));
    let applied = maps.patch("one", &polite.clone().force(), &Patch::Apply(&wanted)).await.expect("by force");
    assert_eq!((value(&applied, "b"), value(&applied, "c")), (Some("9"), Some("3")));
    let owners: Vec<_> = applied.managed_fields().iter().map(|entry| entry.manager.as_deref()).collect();
    assert!(owners.contains(&Some("rust")), "{owners:?}");

    let less = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "one" } });
    let applied = maps.patch("one", &polite, &Patch::Apply(&less)).await.expect("applied");
    assert_eq!(value(&applied, "b"), None, "what its owner no longer wants goes");

    let strict =
        PatchParams { field_validation: Some(kube::api::ValidationDirective::Strict), ..PatchParams::default() };
    let unknown = maps.patch("one", &strict, &Patch::Merge(json!({ "nonsense": 1 }))).await;
    assert!(matches!(refusal(unknown).1, 400 | 422), "it is refused");
}

#[tokio::test]
async fn lists_come_in_pages() {
    let maps = config_maps(&client().await).await;
    for name in ["a", "b", "c", "d", "e"] {
        make(&maps, name, &[]).await;
    }
    let mut names = Vec::new();
    let mut page = ListParams::default().labels("app=clients").limit(2);
    loop {
        let list = maps.list(&page).await.expect("a page");
        names.extend(list.iter().map(ResourceExt::name_any));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    let chosen = maps.list_metadata(&ListParams::default().fields("metadata.name=c")).await.expect("metadata");
    assert_eq!(chosen.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["c"]);
    let all = ListParams::default().labels("app=clients");
    drop(maps.delete_collection(&DeleteParams::default(), &all).await.expect("deleted"));
    assert!(maps.list(&all).await.expect("a list").items.is_empty());
}

#[tokio::test]
async fn parts_of_a_deployment() {
    let client = client().await;
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace(&client).await);
    let wanted = json!({
        "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
            },
        },
    });
    let wanted: Deployment = serde_json::from_value(wanted).expect("a deployment");
    let made = deployments.create(&PostParams::default(), &wanted).await.expect("created");
    assert_eq!(made.spec.replicas, Some(1));

    let more = Patch::Merge(json!({ "spec": { "replicas": 3 } }));
    let scale: Scale = deployments.patch_scale("web", &PatchParams::default(), &more).await.expect("scaled");
    assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(3));
    assert_eq!(deployments.get("web").await.expect("read").metadata.generation, Some(2));

    let seen = Patch::Merge(json!({ "status": { "observedGeneration": 2 }, "spec": { "replicas": 9 } }));
    let told = deployments.patch_status("web", &PatchParams::default(), &seen).await.expect("told");
    assert_eq!(told.status.and_then(|status| status.observed_generation), Some(2));
    assert_eq!(told.spec.replicas, Some(3), "a status does not change what is wanted");
}

#[tokio::test]
async fn a_lease_has_one_holder() {
    let client = client().await;
    let leases: Api<Lease> = Api::namespaced(client.clone(), &namespace(&client).await);
    let held = |holder: &str, at: &str| {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "leader" },
            "spec": { "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": at },
        })
    };
    let first = held("one", "2026-01-02T03:04:05.678901Z");
    let taken = leases.patch("leader", &PatchParams::apply("one"), &Patch::Apply(first)).await.expect("taken");
    let spec = taken.spec.expect("a spec");
    assert_eq!(spec.holder_identity.as_deref(), Some("one"));
    let renewed = serde_json::to_value(spec.renew_time).expect("a time");
    assert_eq!(renewed, json!("2026-01-02T03:04:05.678901Z"), "microseconds are kept");

    let second = held("two", "2026-01-02T03:04:06.000000Z");
    let refused = leases.patch("leader", &PatchParams::apply("two"), &Patch::Apply(second.clone())).await;
    assert_eq!(refusal(refused), ("Conflict".to_owned(), 409));
    let by_force = PatchParams::apply("two").force();
    let stolen = leases.patch("leader", &by_force, &Patch::Apply(second)).await.expect("stolen");
    assert_eq!(stolen.spec.and_then(|spec| spec.holder_identity).as_deref(), Some("two"));
}

#[tokio::test]
async fn refusals_are_told_apart() {
    let client = client().await;
    let maps = config_maps(&client).await;
    let bad = maps.create(&PostParams::default(), &config_map("Not A Name", &[])).await;
    assert_eq!(refusal(bad), ("Invalid".to_owned(), 422));
    let nowhere: Api<ConfigMap> = Api::namespaced(client, "nowhere-at-all");
    let lost = nowhere.create(&PostParams::default(), &config_map("one", &[])).await;
    assert_eq!(refusal(lost), ("NotFound".to_owned(), 404));
    make(&maps, "held", &[]).await;
    let hold = Patch::Merge(json!({ "metadata": { "finalizers": ["example.com/hold"] } }));
    maps.patch("held", &PatchParams::default(), &hold).await.expect("held");
    let going = maps.delete("held", &DeleteParams::default()).await.expect("on its way");
    assert!(going.left().is_some_and(|map| map.metadata.deletion_timestamp.is_some()));
    let release = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    maps.patch("held", &PatchParams::default(), &release).await.expect("released");
    assert!(maps.get_opt("held").await.expect("asked").is_none());
    make(&maps, "held", &[]).await;
    delete(&maps, "held").await;
}
