//! What is summed up while everything is told anew, which is told here by hand.

use super::dispatch::Dispatch;
use super::*;
use crate::apis::Kind;
use crate::apis::definitions::{self, PLACEMENTS};
use crate::apis::interpret::Interpreter;
use crate::controller::{Reconciler, Source};
use crate::fleet::CellId;
use crate::fleet::api::{CellPlace, CellResource};
use crate::scheduler::Cell;
use crate::scheduler::controller::{Bound, Concern};
use apiserver::ambient::Ambient;
use apiserver::catalog::Catalog;
use apiserver::client::Follow;
use apiserver::object::Object;
use apiserver::place::{ObjectRef, Workspace};
use apiserver::resources::Resources;
use serde_json::{Value, json};
use storage::{Options, Place, Store};
use tokio::sync::watch;

/// There are no rules.
struct Empty;

impl Rulebook for Empty {
    fn forget(&self) {}
    fn caught_up(&self) {}
    fn whole(&self) -> watch::Receiver<bool> {
        watch::Sender::new(true).subscribe()
    }
    fn edition(&self) -> u64 {
        0
    }
    fn reads(&self, _: &str, _: &str) -> bool {
        false
    }
    fn learn(&self, _: &Workspace, _: Option<&Object>, _: Option<&Object>) -> Concern {
        Concern::default()
    }
    fn selects(&self, _: &str, _: &str) -> bool {
        false
    }
    fn concerns_of(&self, _: &Workspace) -> Concern {
        Concern::default()
    }
    fn rules_for(&self, _: &Workspace, _: &Value, _: Option<&Object>) -> Vec<Bound> {
        Vec::new()
    }
    fn interpreter(&self, _: &Workspace, _: &Kind) -> Interpreter {
        Interpreter::default()
    }
    fn path_of(&self, workspace: &Workspace) -> String {
        workspace.as_str().to_owned()
    }
    fn problem(&self, _: &Object) -> Option<String> {
        None
    }
    fn cell(&self, _: &Object) -> Cell {
        Cell::default()
    }
}

/// A Deployment that is placed in cells.
struct Placed {
    client: Client,
    workspace: Workspace,
    at: ObjectRef,
    named: Value,
    uid: String,
}

impl Placed {
    async fn new(cells: &[&str]) -> Self {
        let store = Store::open(&Place::Memory, Options::default()).unwrap();
        let given = definitions::all().into_iter().map(|definition| Object::try_from(definition).unwrap());
        let catalog = Catalog::given(&Arc::new(Catalog::builtin()), given);
        let client = Client::as_system(Resources::new(store, Arc::new(catalog), Ambient::real()), "test");
        let workspace = Workspace::new("w");
        let namespaces = client.at(("", "v1", "namespaces"), &workspace, None).unwrap();
        client.create(&namespaces, json!({ "metadata": { "name": "n" } })).await.unwrap();
        let labels = json!({ "app": "web" });
        let pod =
            json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "a", "image": "a" }] } });
        let spec = json!({ "selector": { "matchLabels": labels }, "template": pod });
        let deployments = client.at(("apps", "v1", "deployments"), &workspace, Some("n")).unwrap();
        let made = client.create(&deployments, json!({ "metadata": { "name": "web" }, "spec": spec })).await.unwrap();
        let uid = made.uid().to_owned();
        let named = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "resource": "deployments",
            "namespace": "n", "name": "web", "uid": uid });
        let cells: Vec<Value> = cells.iter().map(|name| json!({ "workspace": "w", "name": name })).collect();
        let placement =
            json!({ "metadata": { "name": uid }, "spec": { "source": named, "cells": cells, "evictions": [] } });
        client.create(&client.at(PLACEMENTS, &workspace, None).unwrap(), placement).await.unwrap();
        Self { at: deployments.object("web"), client, workspace, named, uid }
    }

    /// The copy in a cell is there, and says how many are ready.
    async fn says(&self, cell: &str, ready: u64) {
        let cell = CellId::new("w", cell);
        let id = records::id(&self.workspace, &self.uid, &cell);
        let own = |text: &str| text.to_owned();
        let (group, version, plural, kind) = (own("apps"), own("v1"), own("deployments"), own("Deployment"));
        let resource = CellResource { group, version, plural, kind, namespaced: true };
        let place = CellPlace { resource, namespace: Some(own("n")), name: own("web") };
        let intent = records::intent(&id, (&cell, "u"), &self.named, &place);
        self.client.ensure(&records::place(&self.client, &id).unwrap().within, intent).await.unwrap();
        let record = records::get(&self.client, &id).await.unwrap().unwrap();
        let said = json!({ "applied": "True", "uid": "v", "observed": { "replicas": ready, "readyReplicas": ready } });
        records::tell(&self.client, &record, &id, &said).await.unwrap();
    }

    /// How many are ready in all cells together, as it is told.
    async fn ready(&self) -> Option<i64> {
        let source = self.client.get(&self.at).await.unwrap().unwrap();
        source.pointer(&["status", "readyReplicas"]).and_then(Value::as_i64)
    }
}

/// Tells what there is, or so many of it; whether that is all.
async fn told(dispatch: &mut Dispatch, follow: &mut Follow, most: usize) -> bool {
    for _ in 0..most {
        if follow.is_caught_up() {
            dispatch.caught_up();
            return true;
        }
        let seen = follow.next().await.unwrap();
        dispatch.keys(&seen);
    }
    false
}

#[tokio::test(start_paused = true)]
async fn what_some_cells_say_is_not_told_while_everything_is_told_anew() {
    let placed = Placed::new(&["a", "b", "c"]).await;
    let (ledger, post) = (Arc::new(Ledger::default()), Post::default());
    let book: Arc<dyn Rulebook> = Arc::new(Empty);
    let (client, since) = (placed.client.clone(), Revision::ZERO);
    let mut dispatch = Dispatch { client: client.clone(), ledger: ledger.clone(), post, since, complete: false };
    let reporter = report::reporter(&client, &book, &ledger);
    let key = (placed.workspace.clone(), placed.uid.clone());
    for cell in ["a", "b"] {
        placed.says(cell, 1).await;
    }
    let mut follow = dispatch.follow().unwrap();
    assert!(told(&mut dispatch, &mut follow, usize::MAX).await);
    assert_eq!(reporter.reconcile(&key).await.unwrap(), Action::Done);
    assert_eq!(placed.ready().await, Some(2));

    // Everything is told anew, and what has come meanwhile is not known yet.
    placed.says("c", 1).await;
    placed.says("a", 5).await;
    let mut follow = dispatch.follow().unwrap();
    assert!(!told(&mut dispatch, &mut follow, 2).await);
    let again = Action::After(Duration::ZERO);
    assert_eq!(reporter.reconcile(&key).await.unwrap(), again, "whoever ends does not wait for ever");
    assert_eq!(placed.ready().await, Some(2), "as it was, and not what some of the cells say");
    let (looked, _) = tokio::join!(reporter.reconcile(&key), told(&mut dispatch, &mut follow, usize::MAX));
    assert_eq!(looked.unwrap(), again, "as soon as all is known");
    assert_eq!(reporter.reconcile(&key).await.unwrap(), Action::Done);
    assert_eq!(placed.ready().await, Some(7));
}
