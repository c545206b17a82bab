//! Something is mounted among workspaces: Ann finds Bob's workspace, as far as she may, below her own.

use super::isolation::House;
use crate::tenancy::mounts;
use apiserver::auth::User;
use apiserver::pipeline::Peer;
use apiserver::strategy::Part;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const DEFINITIONS: (&str, &str, &str) = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");
const WORKSPACES: (&str, &str, &str) = ("tenancy.kcp.io", "v1alpha1", "workspaces");
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn definition() -> Value {
    json!({
        "metadata": { "name": "remotes.example.io" },
        "spec": {
            "group": "example.io", "scope": "Cluster",
            "names": { "plural": "remotes", "singular": "remote", "kind": "Remote", "listKind": "RemoteList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    })
}

impl House {
    /// What the object says that the mount refers to.
    async fn remote(&self, status: Value) {
        let catalog = self.client.catalog(&self.find("root:ann")).unwrap();
        let resource = catalog.of_kind("example.io/v1", "Remote").unwrap().clone();
        let workspace = self.find("root:ann");
        let place = apiserver::place::Collection { resource, workspace, namespace: None };
        self.client.ensure(&place, json!({ "metadata": { "name": "there" } })).await.unwrap();
        self.client.merge(&place.object("there"), Part::Status, &json!({ "status": status })).await.unwrap();
    }

    /// Waits until the workspace says so of its mount.
    async fn until_mounted(&self, phase: &str, reason: Option<&str>) {
        let at = self.client.at(WORKSPACES, &self.find("root:ann"), None).unwrap().object("m");
        let mut follow = self.client.follow(at.resource()).unwrap();
        let watch = async {
            loop {
                let found = self.client.get(&at).await.unwrap().unwrap();
                let condition = found.items(&["status", "conditions"]).next().cloned().unwrap_or_default();
                if found.text(&["status", "phase"]) == phase && condition["reason"].as_str() == reason {
                    return;
                }
                follow.next().await.unwrap();
            }
        };
        let patience = std::time::Duration::from_secs(30);
        assert!(tokio::time::timeout(patience, watch).await.is_ok(), "it never became {phase}");
    }
}

#[tokio::test]
async fn a_mounted_workspace_is_what_its_mount_leads_to_for_whoever_may_be_there() {
    let house = House::new().await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(mounts::controller(&house.client).run(stop.clone()));
    house.put(DEFINITIONS, "root:ann", None, definition()).await;
    let mount = json!({ "ref": { "apiVersion": "example.io/v1", "kind": "Remote", "name": "there" } });
    let made = json!({ "metadata": { "name": "m" }, "spec": { "mount": mount } });
    house.put(WORKSPACES, "root:ann", None, made).await;
    let through = format!("GET /clusters/root:ann:m{MAPS}/known-map");
    let asked = async |who: &str| house.asked(who, &through, Value::Null).await;

    house.until_mounted("Scheduling", Some("MountObjectNotFound")).await;
    house.is(&asked("ann").await, 503);
    // Whoever may not look around beside it is not told that there is anything.
    house.is(&asked("bob").await, 403);
    house.remote(json!({ "phase": "Connecting", "URL": "https://hanse/clusters/root:ann-b" })).await;
    house.until_mounted("Scheduling", Some("MountObjectNotReady")).await;
    house.is(&asked("ann").await, 503);
    house.remote(json!({ "phase": "Ready" })).await;
    house.until_mounted("Ready", None).await;
    // It is Bob's workspace that is meant, and his rules that count.
    house.is(&asked("bob").await, 200);
    house.is(&asked("ann").await, 403);
    house.is(
        &house
            .asked("bob", &format!("POST /clusters/root:ann:m{MAPS}"), json!({ "metadata": { "name": "new" } }))
            .await,
        201,
    );
    house.is(&house.asked("bob", &format!("GET /clusters/root:ann-b{MAPS}/new"), Value::Null).await, 200);

    house.remote(json!({ "phase": "Unknown" })).await;
    house.until_mounted("Unavailable", Some("MountObjectNotReady")).await;
    house.is(&asked("ann").await, 503);
    // Nobody is shown to a server that nobody vouches for, and no way leads round in a circle.
    for (url, code) in
        [("https://elsewhere", 503), ("https://hanse/clusters/root:ann:m", 403), ("https://hanse.evil/x", 503)]
    {
        house.remote(json!({ "phase": "Ready", "URL": url })).await;
        house.until_mounted("Ready", None).await;
        house.is(&asked("ann").await, code);
    }
    let nobody = Peer::user(User::authenticated("eve", Vec::new()));
    house.is(&house.ask(nobody, &through, &[], &Value::Null).await, 403);
    stop.cancel();
    running.await.unwrap();
}
