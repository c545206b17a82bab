//! Who gets in, and what everybody is told who does not.

use crate::stage::Stage;
use apiserver::auth::User;
use apiserver::pipeline::Peer;
use axum::body::Body;
use http::Request;

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
    let request = Stage::request("GET /api/v1/namespaces").header("impersonate-user", "root");
    stage.answer(request.body(Body::empty()).unwrap()).await.refused(403);
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
