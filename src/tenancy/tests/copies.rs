//! What is kept of schemas for those who have bound them, and no longer than that.

use super::World;
use super::sharing::{export, schema};
use crate::controller::Reconciler;
use crate::tenancy::copies::Copies;
use crate::tenancy::{bindings, copies};
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use apiserver::place::{ObjectRef, Workspace};
use apiserver::strategy::Part;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const SCHEMAS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha1", "apiresourceschemas");
const EXPORTS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha2", "apiexports");
const BINDINGS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha2", "apibindings");
const DEFINITIONS: (&str, &str, &str) = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");

impl World {
    /// The copy of the schema that a binding is bound to.
    fn copy_for(&self, binding: &Object) -> ObjectRef {
        let bound = binding.items(&["status", "boundResources"]).next().unwrap();
        let vault = self.client.at(DEFINITIONS, &Workspace::new("system:bound-crds"), None).unwrap();
        vault.object(bound["schema"]["UID"].as_str().unwrap())
    }

    async fn unbind(&self, path: &str) {
        let at = self.at(BINDINGS, path, None, "cowboys");
        self.client.delete(&at, &DeleteOptions::default()).await.unwrap();
        self.until(&at, |found| found.is_none()).await;
    }

    /// A workspace that offers cowboys, and some to take them.
    async fn consumers(&self, names: &[&str]) {
        self.provider("wild").await;
        for name in names {
            self.make("root", name).await;
        }
    }
}

fn is_marked(copy: Option<&Object>) -> bool {
    copy.unwrap().annotation("internal.apis.kcp.io/unused-since").is_some()
}

#[tokio::test]
async fn a_copy_goes_with_the_last_who_had_bound_it_and_comes_back_with_the_next() {
    let world = World::new().await;
    world.consumers(&["a", "b"]).await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(bindings::controller(&world.client).run(stop.clone()));
    let sweep = Copies::new(&world.client, Duration::ZERO);
    let copy = world.copy_for(&world.bind("root:a", "cowboys", "root:wild").await);
    world.bind("root:b", "cowboys", "root:wild").await;
    world.unbind("root:a").await;
    sweep.reconcile(&()).await.unwrap();
    assert!(!is_marked(world.client.get(&copy).await.unwrap().as_ref()), "somebody still has it bound");
    world.cowboy("root:b", "john").await.unwrap();
    world.unbind("root:b").await;
    sweep.reconcile(&()).await.unwrap();
    assert!(is_marked(world.client.get(&copy).await.unwrap().as_ref()));
    // A server that begins anew goes on with what the last one left.
    let swept = tokio::spawn(copies::controller(&world.client, Duration::ZERO).run(stop.clone()));
    world.until(&copy, |found| found.is_none()).await;
    world.bind("root:a", "cowboys", "root:wild").await;
    assert!(world.client.get(&copy).await.unwrap().is_some());
    world.cowboy("root:a", "jane").await.unwrap();
    stop.cancel();
    running.await.unwrap();
    swept.await.unwrap();
}

#[tokio::test]
async fn a_copy_that_another_took_the_place_of_goes() {
    let world = World::new().await;
    world.consumers(&["a"]).await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(bindings::controller(&world.client).run(stop.clone()));
    let swept = tokio::spawn(copies::controller(&world.client, Duration::ZERO).run(stop.clone()));
    let copy = world.copy_for(&world.bind("root:a", "cowboys", "root:wild").await);
    world.cowboy("root:a", "john").await.unwrap();
    world.put(SCHEMAS, "root:wild", None, schema("next", &["v1beta1", "v1alpha1"])).await;
    let moved = json!({ "spec": export("cowboys", "next")["spec"] });
    world.client.merge(&world.at(EXPORTS, "root:wild", None, "cowboys"), Part::Main, &moved).await.unwrap();
    world.until(&copy, |found| found.is_none()).await;
    let now = world.client.get(&world.at(BINDINGS, "root:a", None, "cowboys")).await.unwrap().unwrap();
    assert!(world.client.get(&world.copy_for(&now)).await.unwrap().is_some());
    let john = world.client.get(&world.cowboys("root:a").unwrap().object("john")).await.unwrap().unwrap();
    assert_eq!(john.text(&["spec", "intent"]), "ride");
    stop.cancel();
    running.await.unwrap();
    swept.await.unwrap();
}

#[tokio::test]
async fn of_a_binding_and_a_removal_that_meet_one_comes_too_late() {
    let world = World::new().await;
    world.consumers(&["a"]).await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(bindings::controller(&world.client).run(stop.clone()));
    let (sweep, patient) =
        (Copies::new(&world.client, Duration::ZERO), Copies::new(&world.client, Duration::from_hours(1)));
    let copy = world.copy_for(&world.bind("root:a", "cowboys", "root:wild").await);
    world.unbind("root:a").await;
    sweep.reconcile(&()).await.unwrap();
    let marked = world.client.get(&copy).await.unwrap().unwrap();
    patient.reconcile(&()).await.unwrap();
    assert_eq!(world.client.get(&copy).await.unwrap().unwrap().resource_version(), marked.resource_version());
    // Whoever would take it away now has seen that nobody has it bound; but somebody binds it first.
    world.bind("root:a", "cowboys", "root:wild").await;
    assert_eq!(world.client.remove(&copy, &marked).await.unwrap_err().code(), 409);
    let held = world.client.get(&copy).await.unwrap().unwrap();
    assert!(!is_marked(Some(&held)));
    // Somebody who saw it unused before it was bound marks it: that is taken back.
    let mut late = held.clone();
    late.set_annotation("internal.apis.kcp.io/unused-since", "1");
    world.client.overwrite(&copy, late).await.unwrap();
    sweep.reconcile(&()).await.unwrap();
    assert!(!is_marked(world.client.get(&copy).await.unwrap().as_ref()));
    world.cowboy("root:a", "john").await.unwrap();
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_is_bound_is_ever_without_its_copy() {
    const NAMES: [&str; 3] = ["a", "b", "c"];
    const ROUNDS: usize = 20;
    let world = Arc::new(World::new().await);
    world.consumers(&NAMES).await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(bindings::controller(&world.client).run(stop.clone()));
    let sweep = Copies::new(&world.client, Duration::ZERO);
    let ended = stop.clone();
    let swept = tokio::spawn(async move {
        while !ended.is_cancelled() {
            sweep.reconcile(&()).await.unwrap();
            tokio::task::yield_now().await;
        }
    });
    let mut consumers = JoinSet::new();
    for name in NAMES {
        let world = world.clone();
        consumers.spawn(async move {
            let path = format!("root:{name}");
            for _ in 0..ROUNDS {
                let bound = world.bind(&path, "cowboys", "root:wild").await;
                world.cowboy(&path, "john").await.unwrap();
                assert!(world.client.get(&world.copy_for(&bound)).await.unwrap().is_some());
                world.unbind(&path).await;
            }
        });
    }
    while let Some(ended) = consumers.join_next().await {
        ended.unwrap();
    }
    stop.cancel();
    running.await.unwrap();
    swept.await.unwrap();
}
