//! Workspaces that are put to rest, and wake again.

use super::PATIENCE;
use super::isolation::House;
use crate::tenancy::projects::suspension;
use crate::tenancy::rest;
use crate::tenancy::words::{ITSELF, LOGICAL_CLUSTERS, SUSPENDED};
use apiserver::auth::User;
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use apiserver::pipeline::Peer;
use apiserver::place::ObjectRef;
use apiserver::strategy::Part;
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const ANNS: &str = "/clusters/root:ann";
const MAPS: &str = "/clusters/root:ann/api/v1/namespaces/default/configmaps";
const CLUSTER: &str = "/clusters/root:ann/apis/core.kcp.io/v1alpha1/logicalclusters/cluster";

impl House {
    fn logical_cluster(&self, path: &str) -> ObjectRef {
        self.client.at(LOGICAL_CLUSTERS, &self.find(path), None).unwrap().object(ITSELF)
    }

    async fn mark(&self, path: &str, inactive: Option<&str>) -> Object {
        let patch = json!({ "metadata": { "annotations": { "core.kcp.io/inactive": inactive } } });
        self.client.merge(&self.logical_cluster(path), Part::Main, &patch).await.unwrap()
    }

    async fn until(&self, at: &ObjectRef, is_so: impl Fn(&Object) -> bool) {
        let mut follow = self.client.follow(at.resource()).unwrap();
        let watch = async {
            while !self.client.get(at).await.unwrap().is_some_and(|found| is_so(&found)) {
                follow.next().await.unwrap();
            }
        };
        assert!(tokio::time::timeout(PATIENCE, watch).await.is_ok(), "{} never became so", at.name);
    }
}

#[tokio::test]
async fn nobody_does_anything_in_an_inactive_workspace_until_it_is_woken() {
    let house = House::new().await;
    let asleep = house.mark("root:ann", Some("true")).await;
    assert_eq!(asleep.text(&["status", "phase"]), "Inactive");
    let id = house.find("root:ann");
    let told = format!("logicalclusters.core.kcp.io \\\"{id}\\\" is forbidden: logical cluster is marked inactive");
    for line in [format!("GET {MAPS}"), format!("GET {ANNS}/apis"), format!("GET {ANNS}/api/v1/namespaces")] {
        for (code, text) in [house.asked("ann", &line, Value::Null).await, house.master(&line, &[]).await] {
            assert!(code == 403 && text.contains(&told), "{line}: {code} {text}");
        }
    }
    // Whoever may not enter it does not learn that it rests.
    let (code, text) = house.asked("bob", &format!("GET {MAPS}"), Value::Null).await;
    assert!(code == 403 && !text.contains("inactive"), "{text}");
    for line in [format!("GET {CLUSTER}"), format!("GET {ANNS}/openapi/v3")] {
        house.is(&house.asked("ann", &line, Value::Null).await, 200);
    }
    let awake = house.mark("root:ann", None).await;
    assert_eq!(awake.text(&["status", "phase"]), "Ready");
    house.is(&house.asked("ann", &format!("GET {MAPS}"), Value::Null).await, 200);
}

#[tokio::test]
async fn only_a_workspace_that_is_ready_is_put_to_rest_and_one_that_is_unavailable_does_not_answer() {
    let house = House::new().await;
    let at = house.logical_cluster("root:ann");
    house.client.merge(&at, Part::Status, &json!({ "status": { "phase": "Unavailable" } })).await.unwrap();
    house.is(&house.asked("ann", &format!("GET {MAPS}"), Value::Null).await, 503);
    house.is(&house.asked("bob", &format!("GET {MAPS}"), Value::Null).await, 403);
    house.is(&house.asked("ann", &format!("GET {CLUSTER}"), Value::Null).await, 200);
    let patch = json!({ "metadata": { "annotations": { "core.kcp.io/inactive": "true" } } });
    let refused = house.client.merge(&at, Part::Main, &patch).await.unwrap_err();
    assert!(refused.message().contains("in phase \"Ready\", but is in phase \"Unavailable\""), "{refused}");
    house.client.merge(&at, Part::Status, &json!({ "status": { "phase": "Ready" } })).await.unwrap();
    house.is(&house.asked("ann", &format!("GET {MAPS}"), Value::Null).await, 200);
}

#[tokio::test]
async fn watches_of_a_workspace_end_when_it_is_put_to_rest() {
    let house = House::new().await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(rest::controller(&house.client, &house.api).run(stop.clone()));
    let peer = Peer::user(User::authenticated("ann", Vec::new()));
    let request = Request::get(format!("{MAPS}?watch=true&resourceVersion=0")).extension(peer);
    let response = house.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200);
    house.mark("root:ann", Some("true")).await;
    let ended = tokio::time::timeout(PATIENCE, response.into_body().collect()).await;
    assert!(ended.is_ok(), "the watch goes on");
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn nothing_is_made_or_changed_in_a_project_that_is_suspended() {
    let house = House::new().await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(suspension::controller(&house.client).run(stop.clone()));
    let group = "resourcemanager.miloapis.com";
    house.put((group, "v1alpha1", "projects"), "root:default", None, json!({ "metadata": { "name": "p" } })).await;
    let ann = json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann" });
    house.bind("root:default:p", "ann", "cluster-admin", ann).await;
    let maps = "/projects/p/control-plane/api/v1/namespaces/default/configmaps";
    let map = |name: &str| json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    house.is(&house.asked("ann", &format!("POST {maps}"), map("before")).await, 201);
    let spec = json!({
        "projectRef": { "name": "p" }, "reason": "Abuse", "reinstateAuthority": "Operator", "requestedBy": "ops",
    });
    let suspensions = (group, "v1alpha1", "projectsuspensions");
    house.put(suspensions, "root:default", None, json!({ "metadata": { "name": "s" }, "spec": spec })).await;
    let project =
        house.client.at((group, "v1alpha1", "projects"), &house.find("root:default"), None).unwrap().object("p");
    let is = |expected: &'static str| {
        move |project: &Object| {
            project.items(&["status", "conditions"]).any(|one| one["type"] == "Suspended" && one["status"] == expected)
        }
    };
    house.until(&project, is("True")).await;
    let itself = house.client.get(&house.logical_cluster("root:default:p")).await.unwrap().unwrap();
    assert_eq!(itself.annotation(SUSPENDED), Some("Abuse"));
    let (code, text) = house.asked("ann", &format!("POST {maps}"), map("during")).await;
    assert!(code == 403 && text.contains("project \\\"p\\\" is suspended (Abuse)"), "{text}");
    assert!(text.contains("\"reason\":\"ProjectSuspended\""), "{text}");
    let patch =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "before" }, "data": { "a": "b" } });
    house.is(&house.asked("ann", &format!("PUT {maps}/before"), patch).await, 403);
    // What there is can be read, and taken away; and she does not lift it herself.
    house.is(&house.asked("ann", &format!("GET {maps}/before"), Value::Null).await, 200);
    house.is(&house.asked("ann", &format!("DELETE {maps}/before"), Value::Null).await, 200);
    let at = house.client.at(suspensions, &house.find("root:default"), None).unwrap().object("s");
    house.client.delete(&at, &DeleteOptions::default()).await.unwrap();
    house.until(&project, is("False")).await;
    house.is(&house.asked("ann", &format!("POST {maps}"), map("after")).await, 201);
    stop.cancel();
    running.await.unwrap();
}
