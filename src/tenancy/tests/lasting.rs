//! Types that maintain what their workspaces have bound.

use super::World;
use super::sharing::{BINDINGS, EXPORTS, binding, export};
use crate::tenancy::words::{ITSELF, LOGICAL_CLUSTERS, TYPES};
use crate::tenancy::{bindings, lasting};
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use apiserver::place::ObjectRef;
use apiserver::strategy::Part;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A world in which bindings are looked after.
struct Tended {
    world: World,
    running: JoinSet<()>,
    stop: CancellationToken,
}

fn maintaining(exports: &[&str]) -> Value {
    let named: Vec<Value> = exports.iter().map(|export| json!({ "path": "root:wild", "export": export })).collect();
    json!({ "defaultAPIBindings": named, "defaultAPIBindingLifecycle": "Maintain" })
}

fn claim(resource: &str) -> Value {
    json!({ "group": "", "resource": resource, "verbs": ["*"] })
}

/// What a binding has accepted.
fn claimed(binding: &Object) -> Vec<String> {
    let accepted = binding.items(&["spec", "permissionClaims"]).filter(|claim| claim["state"] == "Accepted");
    accepted.map(|claim| claim["resource"].as_str().unwrap().to_owned()).collect()
}

impl Tended {
    /// `root:wild` offers cowboys; nobody has taken them.
    async fn new() -> Self {
        let world = World::new().await;
        world.provider("wild").await;
        let (mut running, stop) = (JoinSet::new(), CancellationToken::new());
        running.spawn(bindings::controller(&world.client).run(stop.clone()));
        running.spawn(lasting::controller(&world.client).run(stop.clone()));
        Self { world, running, stop }
    }

    async fn define(&self, name: &str, spec: Value) -> ObjectRef {
        self.world.put(TYPES, "root", None, json!({ "metadata": { "name": name }, "spec": spec })).await
    }

    async fn make(&self, name: &str, of: &str) {
        self.world.try_make("root", name, json!({ "type": { "name": of } })).await.unwrap();
    }

    async fn change(&self, at: &ObjectRef, spec: Value) {
        self.world.client.merge(at, Part::Main, &json!({ "spec": spec })).await.unwrap();
    }

    async fn delete(&self, at: &ObjectRef) {
        self.world.client.delete(at, &DeleteOptions::default()).await.unwrap();
    }

    fn binding(&self, path: &str, name: &str) -> ObjectRef {
        self.world.at(BINDINGS, path, None, name)
    }

    async fn names(&self, path: &str) -> Vec<String> {
        let place = self.world.client.at(BINDINGS, &self.world.find(path).unwrap(), None).unwrap();
        let all = self.world.client.list(&place).await.unwrap();
        all.iter().map(|binding| binding.name().to_owned()).collect()
    }

    async fn is_bound(&self, at: &ObjectRef) {
        self.world.until(at, |found| found.is_some_and(|found| found.text(&["status", "phase"]) == "Bound")).await;
    }

    async fn end(mut self) {
        self.stop.cancel();
        while self.running.join_next().await.is_some() {}
    }
}

#[tokio::test]
async fn workspaces_get_what_their_type_comes_to_bind() {
    let tended = Tended::new().await;
    let kept = tended.define("kept", json!({ "defaultAPIBindingLifecycle": "Maintain" })).await;
    let born = tended.define("born", json!({})).await;
    for (name, of) in [("a", "kept"), ("b", "kept"), ("c", "born")] {
        tended.make(name, of).await;
    }
    tended.change(&born, json!({ "defaultAPIBindings": [{ "path": "root:wild", "export": "cowboys" }] })).await;
    tended.change(&kept, maintaining(&["cowboys"])).await;
    for path in ["root:a", "root:b"] {
        tended.is_bound(&tended.binding(path, "cowboys")).await;
        assert!(tended.world.cowboys(path).is_some());
    }
    assert!(tended.names("root:c").await.is_empty(), "its type says nothing of those that are there");
    // What a type names no longer stays.
    tended.change(&kept, json!({ "defaultAPIBindings": [] })).await;
    assert_eq!(tended.names("root:a").await, ["cowboys"]);
    tended.end().await;
}

#[tokio::test]
async fn a_maintained_binding_that_is_deleted_is_made_again() {
    let tended = Tended::new().await;
    tended.define("kept", maintaining(&["cowboys"])).await;
    tended.define("born", json!({ "defaultAPIBindings": [{ "path": "root:wild", "export": "cowboys" }] })).await;
    tended.make("a", "kept").await;
    tended.make("b", "born").await;
    let (kept, born) = (tended.binding("root:a", "cowboys"), tended.binding("root:b", "cowboys"));
    let first = tended.world.client.get(&kept).await.unwrap().unwrap().uid().to_owned();
    tended.delete(&born).await;
    tended.world.until(&born, |found| found.is_none()).await;
    tended.delete(&kept).await;
    let again = |found: Option<&Object>| found.is_some_and(|found| found.uid() != first && !found.is_deleting());
    tended.world.until(&kept, again).await;
    tended.is_bound(&kept).await;
    assert!(tended.names("root:b").await.is_empty());
    tended.end().await;
}

#[tokio::test]
async fn what_an_export_comes_to_claim_is_accepted_where_its_binding_is_maintained() {
    let tended = Tended::new().await;
    tended.define("kept", maintaining(&["cowboys"])).await;
    tended.make("a", "kept").await;
    tended.world.make("root", "b").await;
    tended.world.bind("root:b", "cowboys", "root:wild").await;
    let export = tended.world.at(EXPORTS, "root:wild", None, "cowboys");
    let kept = tended.binding("root:a", "cowboys");
    let accepts = |expected: &'static [&'static str]| {
        move |found: Option<&Object>| found.is_some_and(|found| claimed(found) == expected)
    };
    tended.change(&export, json!({ "permissionClaims": [claim("configmaps"), claim("secrets")] })).await;
    tended.world.until(&kept, accepts(&["configmaps", "secrets"])).await;
    // Nor is anything else decided in the workspace for long.
    let rejected = json!([{ "group": "", "resource": "secrets", "verbs": ["*"], "selector": { "matchAll": true },
        "state": "Rejected" }]);
    tended.change(&kept, json!({ "permissionClaims": rejected })).await;
    tended.world.until(&kept, accepts(&["configmaps", "secrets"])).await;
    tended.change(&export, json!({ "permissionClaims": [claim("secrets")] })).await;
    tended.world.until(&kept, accepts(&["secrets"])).await;
    let own = tended.world.client.get(&tended.binding("root:b", "cowboys")).await.unwrap().unwrap();
    assert!(claimed(&own).is_empty(), "nobody decides for a workspace of another type");
    tended.end().await;
}

#[tokio::test]
async fn a_type_maintains_what_those_maintain_that_it_is_made_of_and_nothing_else() {
    let tended = Tended::new().await;
    let base = tended.define("base", json!({ "defaultAPIBindingLifecycle": "Maintain" })).await;
    let plain = tended.define("plain", json!({})).await;
    let with =
        json!({ "extend": { "with": [{ "name": "base", "path": "root" }, { "name": "plain", "path": "root" }] } });
    tended.define("made", with.clone()).await;
    let late = tended.define("late", json!({})).await;
    tended.make("a", "made").await;
    tended.make("b", "late").await;
    for name in ["sheriffs", "bandits"] {
        let mut offered = export(name, "today");
        offered["spec"] = json!({});
        tended.world.put(EXPORTS, "root:wild", None, offered).await;
    }
    tended.change(&plain, json!({ "defaultAPIBindings": [{ "path": "root:wild", "export": "bandits" }] })).await;
    tended.change(&base, maintaining(&["sheriffs"])).await;
    tended.world.until(&tended.binding("root:a", "sheriffs"), |found| found.is_some()).await;
    // A type that comes to be made of others gives its workspaces what those maintain.
    tended.change(&late, with).await;
    tended.world.until(&tended.binding("root:b", "sheriffs"), |found| found.is_some()).await;
    for path in ["root:a", "root:b"] {
        assert_eq!(tended.names(path).await, ["sheriffs"]);
    }
    tended.end().await;
}

#[tokio::test]
async fn a_workspace_says_which_export_it_waits_for_and_takes_it_when_it_is_there() {
    let tended = Tended::new().await;
    let kept = tended.define("kept", maintaining(&["cowboys"])).await;
    tended.make("a", "kept").await;
    tended.change(&kept, maintaining(&["sheriffs", "cowboys"])).await;
    let itself = tended.world.at(LOGICAL_CLUSTERS, "root:a", None, ITSELF);
    let says = |status: &'static str, message: &'static str| {
        move |found: Option<&Object>| {
            found.unwrap().items(&["status", "conditions"]).any(|one| {
                one["type"] == "APIBindingsReconciled"
                    && one["status"] == status
                    && one["message"].as_str().unwrap_or_default().contains(message)
            })
        }
    };
    tended.world.until(&itself, says("False", "root:wild|sheriffs")).await;
    let mut offered = export("sheriffs", "today");
    offered["spec"] = json!({});
    tended.world.put(EXPORTS, "root:wild", None, offered).await;
    tended.is_bound(&tended.binding("root:a", "sheriffs")).await;
    tended.world.until(&itself, says("True", "")).await;
    tended.end().await;
}

#[tokio::test]
async fn a_binding_that_somebody_made_counts_whatever_it_is_called() {
    let tended = Tended::new().await;
    let kept = tended.define("kept", json!({ "defaultAPIBindingLifecycle": "Maintain" })).await;
    for name in ["a", "b"] {
        tended.make(name, "kept").await;
    }
    let wild = tended.world.find("root:wild").unwrap();
    tended.world.put(BINDINGS, "root:a", None, binding("mine", wild.as_str(), "cowboys")).await;
    tended.change(&kept, maintaining(&["cowboys"])).await;
    tended.is_bound(&tended.binding("root:b", "cowboys")).await;
    assert_eq!(tended.names("root:a").await, ["mine"]);
    tended.end().await;
}
