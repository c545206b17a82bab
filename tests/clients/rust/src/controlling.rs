//! Controllers: one that reconciles, the finalizer that it cleans up by, and the events it tells of itself with.

use crate::stage::{client, config_maps, delete, make, soon, value};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event as Told;
use kube::api::{ListParams, Patch, PatchParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::events::{Event as News, EventType, Recorder, Reporter};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher;
use kube::{Api, Client, Error, Resource, ResourceExt};
use serde_json::json;
use std::sync::Arc;
use tokio::sync::oneshot;

const FINALIZER: &str = "clients.example.com/double";

/// What a reconciliation needs.
struct Doubling {
    maps: Api<ConfigMap>,
}

/// Keeps `double` at twice what `number` says.
async fn reconcile(map: Arc<ConfigMap>, context: Arc<Doubling>) -> Result<Action, Error> {
    let number: u32 = value(&map, "number").and_then(|text| text.parse().ok()).unwrap_or_default();
    let double = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": map.name_any() },
        "data": { "double": (number * 2).to_string() },
    });
    context.maps.patch(&map.name_any(), &PatchParams::apply("doubling").force(), &Patch::Apply(double)).await?;
    Ok(Action::await_change())
}

/// Waits until the map holds this.
async fn holds(maps: &Api<ConfigMap>, name: &str, key: &'static str, wanted: &'static str) {
    let condition = move |map: Option<&ConfigMap>| map.is_some_and(|map| value(map, key) == Some(wanted));
    soon(wanted, await_condition(maps.clone(), name, condition)).await.expect("a watch");
}

#[tokio::test]
async fn a_controller_reconciles() {
    let maps = config_maps(&client().await).await;
    make(&maps, "a", &[("number", "2")]).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let ours = watcher::Config::default().labels("app=clients").streaming_lists();
    let controller = Controller::new(maps.clone(), ours)
        .graceful_shutdown_on(async move { drop(stopped.await) })
        .run(reconcile, |_, _, _| Action::await_change(), Arc::new(Doubling { maps: maps.clone() }))
        .for_each(|outcome| async move { drop(outcome.expect("reconciled")) });
    let running = tokio::spawn(controller);
    holds(&maps, "a", "double", "4").await;
    make(&maps, "b", &[("number", "5")]).await;
    holds(&maps, "b", "double", "10").await;
    let more = Patch::Merge(json!({ "data": { "number": "7" } }));
    maps.patch("a", &PatchParams::default(), &more).await.expect("patched");
    holds(&maps, "a", "double", "14").await;
    stop.send(()).expect("it runs");
    soon("an end", running).await.expect("it ends by itself");
}

#[tokio::test]
async fn a_finalizer_is_added_and_taken_away() {
    let maps = config_maps(&client().await).await;
    let made = make(&maps, "a", &[]).await;
    let step = async |object: ConfigMap| {
        let mut did = "nothing";
        let told = finalizer(&maps, FINALIZER, Arc::new(object), |event| {
            did = match event {
                Event::Apply(_) => "applied",
                Event::Cleanup(_) => "cleaned up",
            };
            async { Ok::<_, Error>(Action::await_change()) }
        });
        told.await.expect("a step");
        did
    };
    assert_eq!(step(made.clone()).await, "nothing", "it is put there first");
    let held = maps.get("a").await.expect("read");
    assert_eq!(held.finalizers(), [FINALIZER]);
    assert_eq!(step(held).await, "applied");
    delete(&maps, "a").await;
    assert_eq!(step(maps.get("a").await.expect("still there")).await, "cleaned up");
    let uid = made.uid().expect("a uid");
    soon("gone", await_condition(maps.clone(), "a", conditions::is_deleted(&uid))).await.expect("a watch");
}

/// The events about an object, and how often each was told.
async fn told_of(client: &Client, about: &ConfigMap) -> Vec<(String, Option<i32>)> {
    let events: Api<Told> = Api::namespaced(client.clone(), &about.namespace().expect("a namespace"));
    let theirs = ListParams::default().fields(&format!("regarding.name={}", about.name_any()));
    let list = events.list(&theirs).await.expect("events").items;
    list.into_iter().map(|told| (told.reason.unwrap_or_default(), told.series.map(|series| series.count))).collect()
}

#[tokio::test]
async fn a_recorder_tells() {
    let client = client().await;
    let maps = config_maps(&client).await;
    let map = make(&maps, "a", &[]).await;
    let reporter = Reporter { controller: "clients.example.com/doubling".to_owned(), instance: Some("one".to_owned()) };
    let recorder = Recorder::new(client.clone(), reporter);
    let news = News {
        type_: EventType::Normal,
        reason: "Doubled".to_owned(),
        note: Some("twice as much".to_owned()),
        action: "Double".to_owned(),
        secondary: None,
    };
    recorder.publish(&news, &map.object_ref(&())).await.expect("told");
    assert_eq!(told_of(&client, &map).await, [("Doubled".to_owned(), None)]);
    recorder.publish(&news, &map.object_ref(&())).await.expect("told again");
    assert_eq!(told_of(&client, &map).await, [("Doubled".to_owned(), Some(2))]);
}
