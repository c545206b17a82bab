//! Workspaces that may hold only so many objects, or more than others.

use super::isolation::House;
use crate::tenancy::words::{ITSELF, LOGICAL_CLUSTERS, MAX_TOTAL_OBJECTS};
use apiserver::auth::{MASTERS, User};
use apiserver::pipeline::Peer;
use apiserver::resources::Room;
use apiserver::strategy::Part;
use serde_json::{Value, json};

const ANNS: &str = "/clusters/root:ann";
const MAPS: &str = "/clusters/root:ann/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })
}

fn event(api_version: &str, name: &str) -> Value {
    let about = json!({ "kind": "ConfigMap", "name": "a", "namespace": "default" });
    let metadata = json!({ "name": name, "namespace": "default" });
    let mut event = json!({ "apiVersion": api_version, "kind": "Event", "metadata": metadata, "reason": "Full" });
    if api_version == "v1" {
        event["involvedObject"] = about;
    } else {
        event["regarding"] = about;
        event["eventTime"] = json!("2026-01-01T00:00:00.000000Z");
        event["action"] = json!("Create");
        event["type"] = json!("Warning");
        event["reportingController"] = json!("example.com/tests");
        event["reportingInstance"] = json!("one");
    }
    event
}

impl House {
    async fn allow(&self, path: &str, max: Option<&str>) {
        let at = self.client.at(LOGICAL_CLUSTERS, &self.find(path), None).unwrap().object(ITSELF);
        let patch = json!({ "metadata": { "annotations": { MAX_TOTAL_OBJECTS: max } } });
        self.client.merge(&at, Part::Main, &patch).await.unwrap();
    }

    async fn make_map(&self, name: &str) -> (u16, String) {
        self.asked("ann", &format!("POST {MAPS}"), map(name)).await
    }

    /// What Ann's workspace holds, as it says when it may hold no more.
    async fn held(&self) -> u64 {
        self.allow("root:ann", Some("1")).await;
        let (code, text) = self.make_map("never").await;
        assert_eq!(code, 403, "{text}");
        let (_, rest) = text.split_once("the workspace holds ").unwrap();
        rest.split_once(' ').unwrap().0.parse().unwrap()
    }
}

#[tokio::test]
async fn a_workspace_holds_no_more_objects_than_it_may_until_another_goes() {
    let house = House::new().await;
    let max = house.held().await + 2;
    house.allow("root:ann", Some(&max.to_string())).await;
    for name in ["a", "b"] {
        house.is(&house.make_map(name).await, 201);
    }
    let (code, text) = house.make_map("c").await;
    let why =
        format!("the workspace holds {max} objects, and may hold {max}: it has reached its total object count limit");
    assert!(code == 403 && text.contains(&why) && text.contains("\"reason\":\"Forbidden\""), "{text}");
    let master = Peer::user(User::authenticated("root", vec![MASTERS.to_owned()]));
    house.is(&house.ask(master, &format!("POST {MAPS}"), &[], &map("c")).await, 403);
    // What is there can change, and go; and no other workspace notices.
    let changed = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": "v" } });
    house.is(&house.asked("ann", &format!("PUT {MAPS}/a"), changed).await, 200);
    house.is(&house.asked("bob", &format!("POST {}", MAPS.replace("root:ann", "root:ann-b")), map("c")).await, 201);
    house.put(("", "v1", "configmaps"), "root:ann", Some("default"), map("of-the-server")).await;
    for name in ["a", "of-the-server"] {
        house.is(&house.asked("ann", &format!("DELETE {MAPS}/{name}"), Value::Null).await, 200);
    }
    house.is(&house.make_map("c").await, 201);
    house.is(&house.make_map("d").await, 403);
}

#[tokio::test]
async fn events_find_room_in_a_full_workspace_and_take_none() {
    let house = House::new().await;
    let max = house.held().await + 1;
    house.allow("root:ann", Some(&max.to_string())).await;
    let old = format!("POST {ANNS}/api/v1/namespaces/default/events");
    let new = format!("POST {ANNS}/apis/events.k8s.io/v1/namespaces/default/events");
    for name in ["a", "b"] {
        house.is(&house.asked("ann", &old, event("v1", name)).await, 201);
    }
    house.is(&house.make_map("a").await, 201);
    house.is(&house.make_map("b").await, 403);
    house.is(&house.asked("ann", &old, event("v1", "c")).await, 201);
    house.is(&house.asked("ann", &new, event("events.k8s.io/v1", "d")).await, 201);
}

#[tokio::test]
async fn what_a_workspace_may_hold_goes_before_what_all_may() {
    let house = House::new().await;
    let held = house.held().await;
    house.api.resources.limit_workspaces(Room { objects_max: Some(held), bytes_max: None });
    house.allow("root:ann", Some(&(held + 1).to_string())).await;
    house.is(&house.make_map("more-than-others").await, 201);
    house.is(&house.make_map("too-many").await, 403);
    for any in ["0", "-1"] {
        house.allow("root:ann", Some(any)).await;
        house.is(&house.make_map(&format!("any{any}")).await, 201);
    }
    for nothing_said in [None, Some("many")] {
        house.allow("root:ann", nothing_said).await;
        let (code, text) = house.make_map("as-others").await;
        assert!(code == 403 && !text.contains("total object count limit"), "{text}");
    }
}

#[tokio::test]
async fn the_first_workspaces_can_be_limited_too() {
    let house = House::new().await;
    house.allow("root:default", Some("1")).await;
    let master = || Peer::user(User::authenticated("root", vec![MASTERS.to_owned()]));
    let maps = "POST /api/v1/namespaces/default/configmaps";
    house.is(&house.ask(master(), maps, &[], &map("a")).await, 403);
    house.allow("root:default", None).await;
    house.is(&house.ask(master(), maps, &[], &map("a")).await, 201);
}

#[tokio::test]
async fn nobody_raises_the_limit_of_their_own_workspace() {
    let house = House::new().await;
    house.allow("root:ann", Some("1")).await;
    let line = format!("PATCH {ANNS}/apis/core.kcp.io/v1alpha1/logicalclusters/{ITSELF}");
    let patch = json!({ "metadata": { "annotations": { MAX_TOTAL_OBJECTS: "1000" } } });
    let headers = [("content-type", "application/merge-patch+json")];
    let ann = Peer::user(User::authenticated("ann", Vec::new()));
    let (code, text) = house.ask(ann, &line, &headers, &patch).await;
    assert!(code == 403 && text.contains("core.kcp.io/max-total-objects"), "{code} {text}");
    house.is(&house.make_map("a").await, 403);
}

#[tokio::test]
async fn a_workspace_that_is_not_ready_is_not_held_to_its_limit() {
    let house = House::new().await;
    house.allow("root:ann", Some("1")).await;
    let at = house.client.at(LOGICAL_CLUSTERS, &house.find("root:ann"), None).unwrap().object(ITSELF);
    house.client.merge(&at, Part::Status, &json!({ "status": { "phase": "Initializing" } })).await.unwrap();
    house.is(&house.make_map("a").await, 201);
    house.client.merge(&at, Part::Status, &json!({ "status": { "phase": "Ready" } })).await.unwrap();
    house.is(&house.make_map("b").await, 403);
}
