//! What clients ask before they ask for anything: discovery, OpenAPI, version, health.

use crate::stage::Stage;
use axum::body::Body;
use serde_json::{Value, json};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

#[tokio::test]
async fn everything_is_discovered_in_two_documents_that_are_not_sent_twice() {
    let stage = Stage::new().await;
    for path in ["/api", "/apis"] {
        let answer = stage.ask_for(&format!("GET {path}"), AGGREGATED).await;
        let content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        assert_eq!(answer.header("content-type"), Some(content_type));
        let tag = answer.header("etag").unwrap().to_owned();
        let list = answer.expect(200);
        assert_eq!(list["kind"], "APIGroupDiscoveryList");
        for resource in list["items"][0]["versions"][0]["resources"].as_array().unwrap() {
            assert!(resource["responseKind"]["kind"].is_string(), "{resource}");
        }
        let request = Stage::request(&format!("GET {path}")).header("accept", AGGREGATED).header("if-none-match", tag);
        let again = stage.answer(request.body(Body::empty()).unwrap()).await;
        assert_eq!((again.code, again.bytes.len()), (304, 0));
    }
}

#[tokio::test]
async fn older_clients_discover_group_by_group() {
    let stage = Stage::new().await;
    let beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    assert_eq!(stage.ask_for("GET /api", beta).await.expect(200)["kind"], "APIVersions");
    let groups = stage.ask("GET /apis").await.expect(200);
    assert_eq!(groups["kind"], "APIGroupList");
    for group in groups["groups"].as_array().unwrap() {
        let name = group["name"].as_str().unwrap();
        let own = stage.ask(&format!("GET /apis/{name}")).await.expect(200);
        assert_eq!(own["preferredVersion"], group["preferredVersion"]);
        for version in group["versions"].as_array().unwrap() {
            let list = stage.ask(&format!("GET /apis/{}", version["groupVersion"].as_str().unwrap())).await.expect(200);
            assert_eq!(list["groupVersion"], version["groupVersion"]);
        }
    }
    stage.ask("GET /apis/unknown.io").await.refused(404);
    let apps = stage.ask("GET /apis/apps/v1").await.expect(200);
    let find = |name: &str| -> Value {
        apps["resources"].as_array().unwrap().iter().find(|found| found["name"] == name).unwrap().clone()
    };
    let scale = find("deployments/scale");
    assert_eq!(
        (&scale["group"], &scale["version"], &scale["kind"]),
        (&json!("autoscaling"), &json!("v1"), &json!("Scale"))
    );
    assert_eq!(find("deployments")["storageVersionHash"], "8aSe+NMegvE=");
}

#[tokio::test]
async fn openapi_documents_are_found_by_their_hash() {
    let stage = Stage::new().await;
    let index = stage.ask("GET /openapi/v3").await.expect(200);
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap().to_owned();
    assert!(url.starts_with("/openapi/v3/apis/apps/v1?hash="));
    let answer = stage.ask(&format!("GET {url}")).await;
    assert!(answer.header("cache-control").unwrap().contains("immutable"));
    let document = answer.expect(200);
    assert!(document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"].is_object());
    let moved = stage.ask("GET /openapi/v3/apis/apps/v1?hash=OLD").await;
    assert_eq!((moved.code, moved.header("location")), (301, Some(&*url)));
    stage.ask("GET /openapi/v3/apis/unknown/v1").await.refused(404);
    let v2 = stage.ask("GET /openapi/v2").await.expect(200);
    assert_eq!(v2["swagger"], "2.0");
    let protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    assert_eq!(stage.ask_for("GET /openapi/v2", protobuf).await.code, 200);
}

#[tokio::test]
async fn probes_are_answered_and_readiness_goes_first() {
    let stage = Stage::new().await;
    for check in ["/livez/ping", "/readyz/storage", "/readyz/shutdown"] {
        assert_eq!(stage.ask(&format!("GET {check}")).await.code, 200, "{check}");
    }
    stage.ask("GET /healthz/nonsense").await.refused(404);
    for probe in ["healthz", "livez", "readyz"] {
        let answer = stage.ask(&format!("GET /{probe}")).await;
        assert_eq!((answer.code, &*answer.bytes), (200, &b"ok"[..]));
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    }
    stage.api.drain();
    let verbose = stage.ask("GET /readyz?verbose").await;
    assert_eq!(verbose.code, 500);
    let text = String::from_utf8(verbose.bytes).unwrap();
    assert!(text.contains("[-]shutdown failed: reason withheld\nreadyz check failed\n"), "{text}");
    assert_eq!(stage.ask("GET /livez").await.code, 200);
    let metrics = String::from_utf8(stage.ask("GET /metrics").await.bytes).unwrap();
    assert!(metrics.contains("apiserver_request_duration_seconds_bucket"), "{metrics}");
}
