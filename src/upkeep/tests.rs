//! The controllers on a server in memory. Tests wait by watching until something is so.

mod signing;

use super::*;
use apiserver::ambient::Ambient;
use apiserver::catalog::Catalog;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::options::{DeleteOptions, Propagation};
use apiserver::place::{ObjectRef, Workspace};
use apiserver::resources::Resources;
use apiserver::strategy::Part;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use storage::{Options, Place, Store};

type Resource = (&'static str, &'static str, &'static str);
const NAMESPACES: Resource = key::NAMESPACES;
const CONFIG_MAPS: Resource = ("", "v1", "configmaps");
const ACCOUNTS: Resource = ("", "v1", "serviceaccounts");
const PODS: Resource = ("", "v1", "pods");
const EVENTS: Resource = ("", "v1", "events");
const NODES: Resource = ("", "v1", "nodes");
const REGISTRATIONS: Resource = ("apiregistration.k8s.io", "v1", "apiservices");
const QUOTAS: Resource = ("", "v1", "resourcequotas");

/// A condition that takes longer will not come true.
const PATIENCE: Duration = Duration::from_secs(30);

struct World {
    client: Client,
    relay: Relay,
    workspace: Workspace,
    clock: Arc<AtomicI64>,
}

impl World {
    /// A server with the namespace `n`, and nobody who keeps it tidy yet.
    async fn untidy() -> Self {
        let store = Store::open(&Place::Memory, Options::default()).unwrap();
        let clock = Arc::new(AtomicI64::new(1_800_000_000));
        let (now, dice) = (clock.clone(), AtomicU64::new(1));
        let ambient = Ambient::new(
            move || Instant { seconds: now.load(Ordering::Relaxed), nanos: 0 },
            move || {
                u128::from(dice.fetch_add(1, Ordering::Relaxed)).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
            },
        );
        let resources = Resources::new(store, Arc::new(Catalog::builtin()), ambient);
        let relay = Relay::new(resources.clone(), CancellationToken::new());
        let client = Client::as_system(resources, "upkeep");
        let world = Self { client, relay, workspace: Workspace::new("w"), clock };
        world.make(NAMESPACES, None, json!({ "metadata": { "name": "n" } })).await;
        world
    }

    async fn tidy() -> (Self, Keeping) {
        let world = Self::untidy().await;
        let keeping = world.keep();
        (world, keeping)
    }

    fn keep(&self) -> Keeping {
        let stop = CancellationToken::new();
        let upkeep = start(&self.client, Some(&self.relay), ("PEM", &[]), Pace::default(), &stop);
        Keeping { upkeep, stop }
    }

    fn in_workspace(&self, id: &str) -> Self {
        let (client, relay, clock) = (self.client.clone(), self.relay.clone(), self.clock.clone());
        Self { client, relay, workspace: Workspace::new(id), clock }
    }

    fn at(&self, resource: Resource, namespace: Option<&str>, name: &str) -> ObjectRef {
        self.client.at(resource, &self.workspace, namespace).unwrap().object(name)
    }

    fn config_map(&self, name: &str) -> ObjectRef {
        self.at(CONFIG_MAPS, Some("n"), name)
    }

    async fn make(&self, resource: Resource, namespace: Option<&str>, tree: Value) -> Object {
        let place = self.client.at(resource, &self.workspace, namespace).unwrap();
        self.client.create(&place, tree).await.unwrap()
    }

    /// A ConfigMap in `n` with these finalizers, owned by these objects.
    async fn owned(&self, name: &str, finalizers: &[&str], owners: &[Value]) -> Object {
        let metadata = json!({ "name": name, "finalizers": finalizers, "ownerReferences": owners });
        self.make(CONFIG_MAPS, Some("n"), json!({ "metadata": metadata })).await
    }

    async fn delete(&self, at: &ObjectRef, propagation: Propagation) {
        let how = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        self.client.delete(at, &how).await.unwrap();
    }

    async fn free(&self, at: &ObjectRef) {
        self.client.merge(at, Part::Main, &json!({ "metadata": { "finalizers": null } })).await.unwrap();
    }

    async fn get(&self, at: &ObjectRef) -> Option<Object> {
        self.client.get(at).await.unwrap()
    }

    async fn until(&self, at: &ObjectRef, is_so: impl Fn(Option<&Object>) -> bool) {
        let mut follow = self.client.follow(at.resource()).unwrap();
        let watch = async {
            while !is_so(self.get(at).await.as_ref()) {
                follow.next().await.unwrap();
            }
        };
        let came_true = tokio::time::timeout(PATIENCE, watch).await;
        assert!(came_true.is_ok(), "{} stays as it is: {:?}", at.name, self.get(at).await);
    }

    async fn until_gone(&self, at: &ObjectRef) {
        self.until(at, |object| object.is_none()).await;
    }
}

struct Keeping {
    upkeep: Upkeep,
    stop: CancellationToken,
}

impl Keeping {
    async fn end(self) {
        self.stop.cancel();
        self.upkeep.stopped().await;
    }
}

fn owner(object: &Object, blocks: bool) -> Value {
    json!({
        "apiVersion": object.api_version(), "kind": object.kind(), "name": object.name(), "uid": object.uid(),
        "blockOwnerDeletion": blocks,
    })
}

fn condition<'a>(namespace: &'a Object, kind: &str) -> Option<&'a Value> {
    let conditions = namespace.pointer(&["status", "conditions"])?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_goes_when_everything_in_it_is_gone_pods_first() {
    let (world, keeping) = World::tidy().await;
    let (namespace, pod, other) =
        (world.at(NAMESPACES, None, "n"), world.at(PODS, Some("n"), "p"), world.config_map("c"));
    let spec = json!({ "containers": [{ "name": "c", "image": "i" }] });
    let metadata = json!({ "name": "p", "finalizers": ["example.com/hold"] });
    world.make(PODS, Some("n"), json!({ "metadata": metadata, "spec": spec })).await;
    world.owned("c", &["example.com/hold"], &[]).await;
    world.owned("d", &[], &[]).await;
    world.client.delete(&namespace, &DeleteOptions::default()).await.unwrap();

    let remaining = |text: &'static str| {
        move |namespace: Option<&Object>| {
            let found = condition(namespace.unwrap(), "NamespaceContentRemaining");
            found.is_some_and(|found| found["message"].as_str().unwrap().ends_with(text))
        }
    };
    world.until(&namespace, remaining(": pods. has 1 resource instances")).await;
    assert!(world.get(&pod).await.unwrap().is_deleting());
    assert!(!world.get(&other).await.unwrap().is_deleting(), "pods go first");

    world.free(&pod).await;
    world.until(&namespace, remaining(": configmaps. has 1 resource instances")).await;
    let told = world.get(&namespace).await.unwrap();
    let waits = condition(&told, "NamespaceFinalizersRemaining").unwrap();
    assert!(waits["message"].as_str().unwrap().ends_with(": example.com/hold in 1 resource instances"));
    assert_eq!(condition(&told, "NamespaceDeletionContentFailure").unwrap()["status"], "False");
    assert_eq!(told.text(&["status", "phase"]), "Terminating");

    world.free(&other).await;
    world.until_gone(&namespace).await;
    for place in [pod, other, world.config_map("d"), world.at(ACCOUNTS, Some("n"), "default")] {
        assert_eq!(world.get(&place).await, None, "{}", place.name);
    }
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_somebody_else_holds_says_that_it_is_empty() {
    let (world, keeping) = World::tidy().await;
    let tree = json!({ "metadata": { "name": "m" }, "spec": { "finalizers": ["example.com/hold"] } });
    world.make(NAMESPACES, None, tree).await;
    let namespace = world.at(NAMESPACES, None, "m");
    world.client.delete(&namespace, &DeleteOptions::default()).await.unwrap();
    world
        .until(&namespace, |found| {
            found.unwrap().pointer(&["spec", "finalizers"]) == Some(&json!(["example.com/hold"]))
        })
        .await;
    let told = world.get(&namespace).await.unwrap();
    assert_eq!(condition(&told, "NamespaceContentRemaining").unwrap()["reason"], "ContentRemoved");
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_stays_while_nobody_knows_what_others_have_in_it() {
    let (world, keeping) = World::tidy().await;
    let spec = json!({
        "group": "wardle.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1,
        "service": { "namespace": "n", "name": "s" },
    });
    let registered = json!({ "metadata": { "name": "v1.wardle.example.com" }, "spec": spec });
    world.make(REGISTRATIONS, None, registered).await;
    let namespace = world.at(NAMESPACES, None, "n");
    world.client.delete(&namespace, &DeleteOptions::default()).await.unwrap();
    let undiscovered = |namespace: &Object| {
        let condition = condition(namespace, "NamespaceDeletionDiscoveryFailure");
        let said = |condition: &Value| condition["message"].as_str().is_some_and(|text| text.contains("wardle"));
        condition.is_some_and(|condition| condition["status"] == "True" && said(condition))
    };
    world.until(&namespace, |found| found.is_some_and(undiscovered)).await;
    let registered = world.at(REGISTRATIONS, None, "v1.wardle.example.com");
    world.client.delete(&registered, &DeleteOptions::default()).await.unwrap();
    world.until_gone(&namespace).await;
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_namespaces_in_several_workspaces_go() {
    let (world, keeping) = World::tidy().await;
    let worlds: Vec<World> = ["v", "w", "x"].iter().map(|id| world.in_workspace(id)).collect();
    for world in &worlds {
        for at in 0..20 {
            let name = format!("many-{at}");
            world.make(NAMESPACES, None, json!({ "metadata": { "name": name } })).await;
            world.make(CONFIG_MAPS, Some(&name), json!({ "metadata": { "name": "c" } })).await;
            let namespace = world.at(NAMESPACES, None, &name);
            world.client.delete(&namespace, &DeleteOptions::default()).await.unwrap();
        }
    }
    for world in &worlds {
        for at in 0..20 {
            world.until_gone(&world.at(NAMESPACES, None, &format!("many-{at}"))).await;
        }
    }
    assert!(world.get(&world.at(NAMESPACES, None, "n")).await.is_some());
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_everybody_expects_in_a_namespace_is_there_and_comes_back() {
    let (world, keeping) = World::tidy().await;
    let (account, trust) = (world.at(ACCOUNTS, Some("n"), "default"), world.config_map("kube-root-ca.crt"));
    let is_right = |found: Option<&Object>| {
        found.is_some_and(|found| {
            found.get("data") == Some(&json!({ "ca.crt": "PEM" }))
                && found
                    .text(&["metadata", "annotations", "kubernetes.io/description"])
                    .starts_with("Contains a CA bundle")
        })
    };
    world.until(&account, |found| found.is_some()).await;
    world.until(&trust, is_right).await;

    let first = world.get(&account).await.unwrap().uid().to_owned();
    world.delete(&account, Propagation::Background).await;
    world.until(&account, |found| found.is_some_and(|found| found.uid() != first)).await;
    let other = json!({ "data": { "ca.crt": "another", "more": "x" } });
    world.client.merge(&trust, Part::Main, &other).await.unwrap();
    world.until(&trust, is_right).await;
    world.delete(&trust, Propagation::Background).await;
    world.until(&trust, is_right).await;
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dependents_go_with_the_last_of_their_owners() {
    let (world, keeping) = World::tidy().await;
    let first = world.owned("first", &[], &[]).await;
    let second = world.owned("second", &[], &[]).await;
    for at in 0..200 {
        world.owned(&format!("d-{at}"), &[], &[owner(&first, false)]).await;
    }
    world.owned("both", &[], &[owner(&first, true), owner(&second, true)]).await;
    let grandchild = world.get(&world.config_map("d-0")).await.unwrap();
    world.owned("grandchild", &[], &[owner(&grandchild, false)]).await;
    world.delete(&world.config_map("first"), Propagation::Background).await;
    for at in 0..200 {
        world.until_gone(&world.config_map(&format!("d-{at}"))).await;
    }
    world.until_gone(&world.config_map("grandchild")).await;
    let both = world.config_map("both");
    world
        .until(&both, |found| {
            found.unwrap().pointer(&["metadata", "ownerReferences"]).unwrap().as_array().unwrap().len() == 1
        })
        .await;
    world.delete(&world.config_map("second"), Propagation::Background).await;
    world.until_gone(&both).await;
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_is_not_there_is_gone_and_one_of_an_unknown_kind_is_left_alone() {
    let world = World::untidy().await;
    let owner =
        |kind: &str, name: &str, uid: &str| json!({ "apiVersion": "v1", "kind": kind, "name": name, "uid": uid });
    let real = world.owned("real", &[], &[]).await;
    world.owned("other-uid", &[], &[owner("ConfigMap", "real", "another")]).await;
    world
        .owned("unknown", &[], &[json!({ "apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "t" })])
        .await;
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "name": "r", "uid": "r" });
    world.owned("not-kept", &[], &[review]).await;
    world.owned("never-was", &[], &[owner("ConfigMap", "never", "was")]).await;
    world.owned("real-owner", &[], &[owner("ConfigMap", "real", real.uid())]).await;
    let metadata = json!({ "name": "node", "ownerReferences": [owner("ConfigMap", "never", "was")] });
    world.make(NODES, None, json!({ "metadata": metadata })).await;
    // A whole start: what was wrong before anybody looked is put right, too.
    let keeping = world.keep();
    for gone in ["other-uid", "never-was"] {
        world.until_gone(&world.config_map(gone)).await;
    }
    keeping.end().await;
    for stays in ["real", "unknown", "not-kept", "real-owner"] {
        assert!(world.get(&world.config_map(stays)).await.is_some(), "{stays}");
    }
    assert!(world.get(&world.at(NODES, None, "node")).await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_waits_for_what_blocks_it_all_the_way_down() {
    let (world, keeping) = World::tidy().await;
    let (top, middle, leaf) = (world.config_map("top"), world.config_map("middle"), world.config_map("leaf"));
    let made = world.owned("top", &[], &[]).await;
    let made = world.owned("middle", &[], &[owner(&made, true)]).await;
    world.owned("leaf", &["example.com/hold"], &[owner(&made, true)]).await;
    world.delete(&top, Propagation::Foreground).await;
    world.until(&leaf, |found| found.unwrap().is_deleting()).await;
    assert!(world.get(&top).await.unwrap().is_deleting());
    assert!(world.get(&middle).await.unwrap().is_deleting());
    world.free(&leaf).await;
    world.until_gone(&top).await;
    assert_eq!((world.get(&middle).await, world.get(&leaf).await), (None, None), "they went before it");
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_does_not_wait_for_those_of_another_workspace() {
    let (world, keeping) = World::tidy().await;
    let other = world.in_workspace("other");
    other.make(NAMESPACES, None, json!({ "metadata": { "name": "n" } })).await;
    let mine = world.owned("mine", &["example.com/hold"], &[]).await;
    let theirs = other.owned("theirs", &["example.com/hold"], &[owner(&mine, true)]).await;
    world.delete(&world.config_map("mine"), Propagation::Foreground).await;
    let held = |found: Option<&Object>| found.unwrap().finalizers().eq(["example.com/hold"]);
    world.until(&world.config_map("mine"), held).await;
    other.until(&other.config_map("theirs"), |found| found.unwrap().is_deleting()).await;
    assert_eq!(theirs.finalizers().next(), Some("example.com/hold"));
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orphans_stay_and_belong_to_nobody() {
    let (world, keeping) = World::tidy().await;
    let parent = world.owned("parent", &[], &[]).await;
    let other = world.owned("other", &[], &[]).await;
    for at in 0..200 {
        world.owned(&format!("d-{at}"), &[], &[owner(&parent, true)]).await;
    }
    world.owned("both", &[], &[owner(&parent, true), owner(&other, false)]).await;
    world.delete(&world.config_map("parent"), Propagation::Orphan).await;
    world.until_gone(&world.config_map("parent")).await;
    keeping.end().await;
    for at in 0..200 {
        let dependent = world.get(&world.config_map(&format!("d-{at}"))).await.unwrap();
        assert_eq!(dependent.pointer(&["metadata", "ownerReferences"]), None);
    }
    let both = world.get(&world.config_map("both")).await.unwrap();
    assert_eq!(both.pointer(&["metadata", "ownerReferences", "0", "uid"]), None);
    let left = both.pointer(&["metadata", "ownerReferences"]).unwrap();
    assert_eq!(left[0]["uid"], other.uid());
    assert_eq!(left.as_array().unwrap().len(), 1);
}

/// Objects in a circle, each owned by the one before and blocking it.
async fn circle(world: &World, names: &[&str]) -> Result<(), ApiError> {
    let mut made = Vec::new();
    for name in names {
        made.push(world.owned(name, &[], &[]).await);
    }
    for (at, name) in names.iter().enumerate() {
        let before = &made[(at + names.len() - 1) % names.len()];
        let patch = json!({ "metadata": { "ownerReferences": [owner(before, true)] } });
        world.client.merge(&world.config_map(name), Part::Main, &patch).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_circle_goes_whole() {
    let (world, keeping) = World::tidy().await;
    circle(&world, &["a", "b"]).await.unwrap();
    circle(&world, &["c", "d", "e"]).await.unwrap();
    circle(&world, &["f", "g", "h"]).await.unwrap();
    circle(&world, &["self"]).await.unwrap();
    for name in ["a", "c", "self"] {
        world.delete(&world.config_map(name), Propagation::Foreground).await;
    }
    // All at once, so that nobody is the first to wait.
    for name in ["f", "g", "h"] {
        let how = DeleteOptions { propagation: Some(Propagation::Foreground), ..DeleteOptions::default() };
        if let Err(error) = world.client.delete(&world.config_map(name), &how).await {
            assert_eq!(error.code(), 404);
        }
    }
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "self"] {
        world.until_gone(&world.config_map(name)).await;
    }
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_events_are_forgotten() {
    let world = World::untidy().await;
    let event = |name: &str| {
        json!({
            "metadata": { "name": name }, "reason": "Tested",
            "involvedObject": { "kind": "ConfigMap", "namespace": "n", "name": "c" },
        })
    };
    for at in 0..600 {
        world.make(EVENTS, Some("n"), event(&format!("old-{at}"))).await;
    }
    world.clock.fetch_add(3600, Ordering::Relaxed);
    world.make(EVENTS, Some("n"), event("new")).await;
    let keeping = world.keep();
    for at in 0..600 {
        world.until_gone(&world.at(EVENTS, Some("n"), &format!("old-{at}"))).await;
    }
    keeping.end().await;
    assert!(world.get(&world.at(EVENTS, Some("n"), "new")).await.is_some());
}

/// How a quota says that so much is used.
fn uses(expect: Value) -> impl Fn(Option<&Object>) -> bool {
    move |quota| quota.is_some_and(|quota| quota.pointer(&["status", "used"]) == Some(&expect))
}

fn pod(name: &str) -> Value {
    let resources = json!({ "requests": { "cpu": "100m" } });
    let container = json!({ "name": "c", "image": "i", "resources": resources });
    json!({ "metadata": { "name": name }, "spec": { "containers": [container] } })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_says_what_is_used_whatever_comes_and_goes() {
    let world = World::untidy().await;
    let (quota, first) = (world.at(QUOTAS, Some("n"), "q"), world.at(PODS, Some("n"), "first"));
    world.make(ACCOUNTS, Some("n"), json!({ "metadata": { "name": "default" } })).await;
    world.make(PODS, Some("n"), pod("first")).await;
    let limits = json!({ "pods": "9", "requests.cpu": "1", "secrets": "5", "count/resourcequotas": "3" });
    world.make(QUOTAS, Some("n"), json!({ "metadata": { "name": "q" }, "spec": { "hard": limits } })).await;
    // What was there before anybody counted is counted, too.
    let keeping = world.keep();
    let used = |pods: &str, cpu: &str| json!({ "pods": pods, "requests.cpu": cpu, "secrets": "0", "count/resourcequotas": "1" });
    world.until(&quota, uses(used("1", "100m"))).await;
    assert_eq!(world.get(&quota).await.unwrap().pointer(&["status", "hard"]), Some(&limits));

    for at in 0..5 {
        world.make(PODS, Some("n"), pod(&format!("p-{at}"))).await;
    }
    world.until(&quota, uses(used("6", "600m"))).await;
    let done = json!({ "status": { "phase": "Succeeded" } });
    world.client.merge(&first, Part::Status, &done).await.unwrap();
    world.until(&quota, uses(used("5", "500m"))).await;
    world.delete(&first, Propagation::Background).await;
    for at in 0..5 {
        world.delete(&world.at(PODS, Some("n"), &format!("p-{at}")), Propagation::Background).await;
    }
    world.until(&quota, uses(used("0", "0"))).await;

    let wrong = json!({ "status": { "hard": { "pods": "1" }, "used": { "pods": "7", "requests.cpu": null } } });
    world.client.merge(&quota, Part::Status, &wrong).await.unwrap();
    world.until(&quota, uses(used("0", "0"))).await;
    let other = json!({ "spec": { "hard": { "requests.cpu": null, "secrets": null, "configmaps": "9" } } });
    world.client.merge(&quota, Part::Main, &other).await.unwrap();
    world.until(&quota, uses(json!({ "pods": "0", "count/resourcequotas": "1", "configmaps": "1" }))).await;
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_can_be_for_a_whole_workspace() {
    const SECRETS: Resource = ("", "v1", "secrets");
    const ROLES: Resource = ("rbac.authorization.k8s.io", "v1", "clusterroles");
    let (world, keeping) = World::tidy().await;
    for name in ["admin", "m"] {
        world.make(NAMESPACES, None, json!({ "metadata": { "name": name } })).await;
    }
    let hard = json!({ "secrets": "3", "count/clusterroles.rbac.authorization.k8s.io": "1" });
    let wide = json!({ "experimental.quota.kcp.io/cluster-scoped": "true" });
    let named = |name: &str| json!({ "metadata": { "name": name } });
    world
        .make(
            QUOTAS,
            Some("admin"),
            json!({ "metadata": { "name": "q", "annotations": wide }, "spec": { "hard": hard } }),
        )
        .await;
    // The same without the annotation is for its own namespace, and so is one with it elsewhere.
    for namespace in ["admin", "m"] {
        let annotations = if namespace == "m" { wide.clone() } else { json!({}) };
        let metadata = json!({ "name": "own", "annotations": annotations });
        world
            .make(QUOTAS, Some(namespace), json!({ "metadata": metadata, "spec": { "hard": { "secrets": "1" } } }))
            .await;
    }
    for namespace in ["n", "m", "admin"] {
        world.make(SECRETS, Some(namespace), named("s")).await;
    }
    world.make(ROLES, None, named("one")).await;
    let used = |secrets: &str, roles: &str| {
        uses(json!({ "secrets": secrets, "count/clusterroles.rbac.authorization.k8s.io": roles }))
    };
    let (quota, own) = (world.at(QUOTAS, Some("admin"), "q"), world.at(QUOTAS, Some("m"), "own"));
    world.until(&quota, used("3", "1")).await;
    world.until(&own, uses(json!({ "secrets": "1" }))).await;
    let refused = async |resource: Resource, namespace: Option<&str>| {
        let place = world.client.at(resource, &world.workspace, namespace).unwrap();
        let error = world.client.create(&place, named("more")).await.unwrap_err();
        assert!(error.code() == 403 && error.message().contains("exceeded quota: q"), "{error}");
    };
    refused(SECRETS, Some("n")).await;
    refused(ROLES, None).await;
    // Other workspaces have nothing to do with it, and what goes makes room.
    let other = world.in_workspace("other");
    other.make(ROLES, None, named("one")).await;
    other.make(ROLES, None, named("two")).await;
    world.delete(&world.at(SECRETS, Some("n"), "s"), Propagation::Background).await;
    world.delete(&world.at(ROLES, None, "one"), Propagation::Background).await;
    world.until(&quota, used("2", "0")).await;
    world.make(ROLES, None, named("two")).await;
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_says_what_seems_wrong_with_it() {
    let (world, keeping) = World::tidy().await;
    let resource = ("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies");
    let rule = json!({
        "operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"],
    });
    let spec = |expression: &str| json!({ "matchConstraints": { "resourceRules": [rule] }, "validations": [{ "expression": expression }] });
    world
        .make(resource, None, json!({ "metadata": { "name": "p" }, "spec": spec("object.spec.replicas > '1'") }))
        .await;
    let policy = world.at(resource, None, "p");
    let warnings = |found: Option<&Object>| {
        let checked = found.unwrap().pointer(&["status", "typeChecking"]).cloned()?;
        Some(checked["expressionWarnings"].as_array().map_or(0, Vec::len))
    };
    world.until(&policy, |found| warnings(found) == Some(1)).await;
    world.client.merge(&policy, Part::Main, &json!({ "spec": spec("object.spec.replicas > 1") })).await.unwrap();
    world.until(&policy, |found| warnings(found) == Some(0)).await;
    let told = world.get(&policy).await.unwrap();
    assert_eq!(told.pointer(&["status", "observedGeneration"]), Some(&json!(told.generation())));
    keeping.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_counts_what_is_in_its_scope_and_in_its_namespace() {
    let (world, keeping) = World::tidy().await;
    let quota = world.at(QUOTAS, Some("n"), "q");
    let spec = json!({ "hard": { "pods": "9" }, "scopes": ["Terminating"] });
    world.make(QUOTAS, Some("n"), json!({ "metadata": { "name": "q" }, "spec": spec })).await;
    world.until(&quota, uses(json!({ "pods": "0" }))).await;
    world.make(NAMESPACES, None, json!({ "metadata": { "name": "m" } })).await;
    for namespace in ["n", "m"] {
        world.until(&world.at(ACCOUNTS, Some(namespace), "default"), |found| found.is_some()).await;
    }
    let mut short = pod("short");
    short["spec"]["activeDeadlineSeconds"] = json!(5);
    world.make(PODS, Some("n"), short.clone()).await;
    world.make(PODS, Some("n"), pod("long")).await;
    world.make(PODS, Some("m"), short).await;
    world.until(&quota, uses(json!({ "pods": "1" }))).await;
    for name in ["long", "short"] {
        world.delete(&world.at(PODS, Some("n"), name), Propagation::Background).await;
    }
    world.until(&quota, uses(json!({ "pods": "0" }))).await;
    keeping.end().await;
}
