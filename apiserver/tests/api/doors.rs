//! Who gets in, and what everybody is told who does not.

use crate::stage::Stage;
use apiserver::auth::User;
use apiserver::catalog::Catalog;
use apiserver::pipeline::Peer;
use apiserver::place::Workspace;
use axum::body::Body;
use http::Request;
use serde_json::json;

async fn ask_as(stage: &Stage, path: &str, user: Option<User>) -> crate::stage::Answer {
    let request = Request::builder().uri(path).extension(user.map(Peer::user).unwrap_or_default());
    stage.answer(request.body(Body::empty()).unwrap()).await
}

/// One path of every kind of target.
const PATHS: [&str; 9] = [
    "/api/v1/namespaces",
    "/api/v1/namespaces/n",
    "/api/v1/namespaces/n/pods?watch=true",
    "/apis/apps/v1/namespaces/n/deployments/d/scale",
    "/api",
    "/apis",
    "/openapi/v2",
    "/openapi/v3",
    "/metrics",
];

#[tokio::test]
async fn nobody_gets_in_without_a_name_and_nobody_without_permission() {
    let stage = Stage::new().await;
    for path in PATHS {
        assert_eq!(ask_as(&stage, path, None).await.refused(403).0, "Forbidden", "{path}");
        let somebody = User::authenticated("eve", vec!["people".to_owned()]);
        assert_eq!(ask_as(&stage, path, Some(somebody)).await.refused(403).0, "Forbidden", "{path}");
    }
    for path in ["/version", "/healthz", "/livez", "/readyz"] {
        assert_eq!(ask_as(&stage, path, None).await.code, 200, "{path}");
    }
}

#[tokio::test]
async fn a_refusal_says_who_may_not_do_what_where() {
    let stage = Stage::new().await;
    let eve = || Some(User::authenticated("eve", Vec::new()));
    let (_, message) = ask_as(&stage, "/apis/apps/v1/namespaces/n/deployments/d", eve()).await.refused(403);
    let expected = "deployments.apps \"d\" is forbidden: User \"eve\" cannot get resource \"deployments\" in API group \"apps\" in the namespace \"n\"";
    assert_eq!(message, expected);
    let (_, message) = ask_as(&stage, "/api/v1/nodes", eve()).await.refused(403);
    assert!(message.ends_with("cannot list resource \"nodes\" in API group \"\" at the cluster scope"), "{message}");
}

#[tokio::test]
async fn pretending_to_be_somebody_else_is_refused() {
    let stage = Stage::new().await;
    let eve = Peer::user(User::authenticated("eve", Vec::new()));
    let request = Request::builder().uri("/api/v1/namespaces").header("impersonate-user", "root").extension(eve);
    stage.answer(request.body(Body::empty()).unwrap()).await.refused(403);
    // Masters may, and are then no more than whom they act as.
    let request = Stage::request("GET /api/v1/namespaces").header("impersonate-user", "root");
    let (_, message) = stage.answer(request.body(Body::empty()).unwrap()).await.refused(403);
    assert!(message.contains("User \"root\" cannot list resource \"namespaces\""), "{message}");
}

/// What a door is opened with; any other method is refused at all doors.
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

/// Load balancers and clients look at these before they have shown who they are.
const PUBLIC: [&str; 4] = ["/version", "/healthz", "/livez", "/readyz"];

/// Every path that is served: all resources of a workspace, their objects and subresources, in every form of address,
/// and all that are about no resource.
fn every_path(catalog: &Catalog) -> Vec<String> {
    let mut paths: Vec<String> = [
        "/api",
        "/apis",
        "/openapi/v2",
        "/openapi/v3",
        "/metrics",
        "/debug/api_priority_and_fairness/dump_requests",
        "/livez/ping",
        "/readyz/store",
        "/healthz/ping",
        "/",
    ]
    .map(str::to_owned)
    .into();
    paths.extend(PUBLIC.map(str::to_owned));
    for group in catalog.groups() {
        paths.push(format!("/apis/{}", group.name));
        for version in &group.versions {
            let root = match &*group.name {
                "" => format!("/api/{}", version.name),
                name => format!("/apis/{name}/{}", version.name),
            };
            paths.extend([format!("/openapi/v3{root}"), root.clone()]);
            for resource in &version.resources {
                let plural = &resource.plural;
                let places = [format!("{root}/{plural}"), format!("{root}/namespaces/n/{plural}")];
                for place in places {
                    paths.push(place.clone());
                    paths.push(format!("{place}/x"));
                    paths.push(place.replacen(&root, &format!("{root}/watch"), 1));
                    paths.extend(resource.subresources.iter().map(|sub| format!("{place}/x/{}", sub.name)));
                }
            }
        }
    }
    paths
}

#[tokio::test]
async fn no_door_opens_to_somebody_without_rights() {
    let stage = Stage::new().await;
    let definition = json!({
        "metadata": { "name": "boxes.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "boxes", "kind": "Box" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object" } },
            }],
        },
    });
    let definitions = "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    stage.send(definitions, &definition).await.expect(201);
    let service = json!({ "namespace": "n", "name": "s" });
    let spec = json!({
        "group": "elsewhere.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1, "service": service,
    });
    let registered = json!({ "metadata": { "name": "v1.elsewhere.example.com" }, "spec": spec });
    stage.send("POST /apis/apiregistration.k8s.io/v1/apiservices", &registered).await.expect(201);
    let catalog = stage.api.resources.catalog(&Workspace::new("home")).unwrap();
    let mut paths = every_path(&catalog);
    let elsewhere = ["", "/things", "/things/x", "/namespaces/n/things/x/exec", "/watch/things", "/a%2Fb"];
    paths.extend(elsewhere.map(|rest| format!("/apis/elsewhere.example.com/v1{rest}")));
    paths.push("/openapi/v3/apis/elsewhere.example.com/v1".to_owned());
    assert!(paths.iter().any(|path| path.contains("example.com")));
    let (eve, mut open, mut tried) = (User::authenticated("eve", Vec::new()), Vec::new(), 0);
    for (path, method) in paths.iter().flat_map(|path| METHODS.map(|method| (path, method))) {
        for peer in [Some(eve.clone()), None] {
            let expected: &[u16] = if peer.is_some() { &[403] } else { &[401, 403] };
            let request =
                Request::builder().method(method).uri(path).extension(peer.map(Peer::user).unwrap_or_default());
            let code = stage.answer(request.body(Body::empty()).unwrap()).await.code;
            let public = PUBLIC.contains(&path.as_str()) && matches!(method, "GET" | "HEAD");
            if !(expected.contains(&code) || public && code == 200) {
                open.push(format!("{code} {method} {path}"));
            }
            tried += 1;
        }
    }
    assert!(tried > 5000, "{tried}");
    assert!(open.is_empty(), "{}:\n{}", open.len(), open.join("\n"));
}

#[tokio::test]
async fn what_cannot_be_answered_is_refused_with_a_status() {
    let stage = Stage::new().await;
    stage.ask("GET /nowhere").await.refused(404);
    stage.ask("POST /version").await.refused(405);
    let (reason, message) = stage.ask("DELETE /api/v1/namespaces").await.refused(405);
    assert_eq!(reason, "MethodNotAllowed");
    assert_eq!(message, "the server does not allow this method on the requested resource");
    stage.ask_for("GET /api/v1/namespaces", "application/cbor").await.refused(406);
    stage.ask("GET /api/v1/namespaces?timeout=odd").await.refused(400);
    let answer = stage.ask("GET /api/v1/namespaces/x").await;
    assert!(answer.header("audit-id").is_some());
    assert_eq!(answer.header("cache-control"), Some("no-cache, private"));
}
