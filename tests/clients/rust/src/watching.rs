//! Watchers and the stores they fill: by lists and watches, and by lists that stream.

use crate::stage::{client, config_map, config_maps, delete, make, next, soon, value};
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{PartialObjectMeta, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, ResourceExt};
use serde_json::json;
use std::pin::Pin;

type Events<K> = Pin<Box<dyn Stream<Item = Result<Event<K>, watcher::Error>> + Send>>;

fn ours() -> watcher::Config {
    watcher::Config::default().labels("app=clients")
}

/// An event in a word and a name.
fn told<K: ResourceExt>(event: Result<Event<K>, watcher::Error>) -> String {
    match event.expect("an event") {
        Event::Init => "init".to_owned(),
        Event::InitApply(object) => format!("there {}", object.name_any()),
        Event::InitDone => "done".to_owned(),
        Event::Apply(object) => format!("applied {}", object.name_any()),
        Event::Delete(object) => format!("deleted {}", object.name_any()),
    }
}

async fn follows(maps: Api<ConfigMap>, config: watcher::Config) {
    make(&maps, "a", &[]).await;
    make(&maps, "b", &[]).await;
    let mut events: Events<ConfigMap> = Box::pin(watch(maps.clone(), config));
    for expected in ["init", "there a", "there b", "done"] {
        assert_eq!(told(next(expected, &mut events).await), expected);
    }
    make(&maps, "c", &[]).await;
    assert_eq!(told(next("c", &mut events).await), "applied c");
    delete(&maps, "a").await;
    assert_eq!(told(next("a", &mut events).await), "deleted a");
    let unlabelled = Patch::Merge(json!({ "metadata": { "labels": null } }));
    maps.patch("b", &PatchParams::default(), &unlabelled).await.expect("patched");
    assert_eq!(told(next("b", &mut events).await), "deleted b", "it is no longer chosen");
}

#[tokio::test]
async fn a_watcher_lists_and_watches() {
    follows(config_maps(&client().await).await, ours().page_size(1)).await;
}

#[tokio::test]
async fn a_watcher_streams_its_list() {
    follows(config_maps(&client().await).await, ours().streaming_lists()).await;
}

#[tokio::test]
async fn metadata_alone_is_watched() {
    let maps = config_maps(&client().await).await;
    let space = make(&maps, "a", &[("k", "v")]).await.namespace().expect("a namespace");
    let metadata: Api<PartialObjectMeta<ConfigMap>> = Api::namespaced(maps.into_client(), &space);
    let mut events: Events<_> = Box::pin(watch(metadata, ours().streaming_lists()));
    for expected in ["init", "there a", "done"] {
        assert_eq!(told(next(expected, &mut events).await), expected);
    }
}

#[tokio::test]
async fn a_reflector_has_what_is_there() {
    let maps = config_maps(&client().await).await;
    let space = make(&maps, "a", &[("k", "1")]).await.namespace().expect("a namespace");
    let (store, writer) = reflector::store();
    let stream = watch(maps.clone(), ours().streaming_lists()).reflect(writer).touched_objects();
    let mut seen: Pin<Box<dyn Stream<Item = Result<ConfigMap, watcher::Error>> + Send>> = Box::pin(stream);
    next("what is there", &mut seen).await.expect("an object");
    let patch = Patch::Merge(json!({ "data": { "k": "2" } }));
    maps.patch("a", &PatchParams::default(), &patch).await.expect("patched");
    let changed = next("a change", &mut seen).await.expect("an object");
    assert_eq!(value(&changed, "k"), Some("2"));
    soon("ready", store.wait_until_ready()).await.expect("the writer is there");
    let kept = store.get(&ObjectRef::new("a").within(&space)).expect("kept");
    assert_eq!(value(&kept, "k"), Some("2"));
    delete(&maps, "a").await;
    next("a deletion", &mut seen).await.expect("an object");
    assert!(store.is_empty());
}

#[tokio::test]
async fn a_watch_goes_on_where_a_list_was_taken() {
    let maps = config_maps(&client().await).await;
    let since = maps.list(&kube::api::ListParams::default()).await.expect("a list").metadata.resource_version;
    make(&maps, "a", &[]).await;
    maps.replace("a", &PostParams::default(), &config_map("a", &[("k", "1")])).await.expect("replaced");
    delete(&maps, "a").await;
    let params = WatchParams::default().labels("app=clients").timeout(20);
    let mut events = maps.watch(&params, &since.expect("a version")).await.expect("a watch").boxed();
    let mut words = Vec::new();
    while words.len() < 3 {
        match soon("an event", events.next()).await.expect("more").expect("an event") {
            WatchEvent::Added(_) => words.push("added"),
            WatchEvent::Modified(_) => words.push("modified"),
            WatchEvent::Deleted(_) => words.push("deleted"),
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => panic!("{status:?}"),
        }
    }
    assert_eq!(words, ["added", "modified", "deleted"]);
}
