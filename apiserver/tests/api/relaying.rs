//! API servers behind this one: what they are asked, what they are told of whoever asks, and what comes back.

use crate::backend::{Behind, REGISTRATIONS};
use crate::stage::Stage;
use apiserver::auth::User;
use apiserver::pipeline::{ClientAddress, Peer};
use axum::body::Body;
use axum::extract::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const FLUNDERS: &str = "/apis/wardle.example.com/v1/namespaces/n/flunders";
const WARDLE: (&str, &str) = ("wardle.example.com", "v1");

async fn registered(available: bool) -> (Stage, Behind) {
    let (stage, behind) = (Stage::new().await, Behind::start().await);
    behind.register(&stage, WARDLE, available).await;
    (stage, behind)
}

#[tokio::test]
async fn a_backend_is_told_who_asks_and_nothing_that_the_client_made_up() {
    let (stage, _behind) = registered(true).await;
    let request = Stage::request(&format!("GET {FLUNDERS}/a%3Ab?pretty=1"))
        .header("x-remote-user", "root")
        .header("x-remote-group", "system:masters-of-all")
        .header("x-remote-extra-scopes", "all")
        .header("authorization", "Bearer secret")
        .header("x-forwarded-for", "192.0.2.1")
        .header("x-forwarded-uri", "/elsewhere")
        .header("forwarded", "for=192.0.2.1")
        .extension(ClientAddress([10, 0, 0, 9].into()))
        .header("host", "front.example")
        .header("connection", "close, x-private")
        .header("x-private", "1");
    let answer = stage.answer(request.body(Body::empty()).unwrap()).await;
    assert_eq!((answer.header("keep-alive"), answer.header("access-control-allow-origin")), (None, None));
    let audit_id = answer.header("audit-id").unwrap().to_owned();
    let told = answer.expect(200);
    assert_eq!(told["path"], format!("{FLUNDERS}/a%3Ab?pretty=1"));
    let headers = &told["headers"];
    assert_eq!(headers["x-remote-user"], json!(["admin"]));
    assert_eq!(headers["x-remote-group"], json!(["system:masters", "system:authenticated"]));
    assert_eq!(headers["audit-id"], json!([audit_id]));
    assert_eq!(headers["x-forwarded-for"], json!(["10.0.0.9"]));
    assert_eq!(headers["x-forwarded-host"], json!(["front.example"]));
    assert_eq!(headers["x-forwarded-proto"], json!(["https"]));
    let absent = ["authorization", "x-remote-extra-scopes", "x-private", "connection", "x-forwarded-uri", "forwarded"];
    for absent in absent {
        assert_eq!(headers[absent], Value::Null, "{absent}");
    }
    let created = stage.send(&format!("POST {FLUNDERS}"), &json!({ "kind": "Flunder" })).await.expect(200);
    assert_eq!((&created["method"], &created["body"]), (&json!("POST"), &json!("{\"kind\":\"Flunder\"}")));
}

#[tokio::test]
async fn nobody_reaches_a_backend_without_permission() {
    let (stage, behind) = registered(true).await;
    let eve = || Peer::user(User::authenticated("eve", Vec::new()));
    let paths = [FLUNDERS.to_owned(), format!("{FLUNDERS}/x/exec"), "/apis/wardle.example.com/v1".to_owned()];
    for (path, method) in paths.iter().flat_map(|path| ["GET", "POST", "PUT", "DELETE"].map(|method| (path, method))) {
        let request = Request::builder().method(method).uri(path).extension(eve());
        stage.answer(request.body(Body::empty()).unwrap()).await.refused(403);
    }
    assert_eq!(behind.times_asked(), 0);
    let (_, message) = {
        let request = Request::builder().uri(format!("{FLUNDERS}?watch=true")).extension(eve());
        stage.answer(request.body(Body::empty()).unwrap()).await.refused(403)
    };
    let expected = "User \"eve\" cannot watch resource \"flunders\" in API group \"wardle.example.com\"";
    assert!(message.contains(expected), "{message}");
}

#[tokio::test]
async fn a_path_that_can_be_read_in_two_ways_goes_nowhere() {
    let (stage, behind) = registered(true).await;
    for odd in ["a%2Fb", "%2e%2e", "..", "x//y", "a%252Fb"] {
        stage.ask(&format!("GET /apis/wardle.example.com/v1/namespaces/{odd}/flunders")).await.refused(404);
    }
    assert_eq!(behind.times_asked(), 0);
}

#[tokio::test]
async fn a_backend_that_is_gone_or_sends_clients_away_is_an_error_with_a_status() {
    let (stage, behind) = registered(false).await;
    let (reason, message) = stage.ask(&format!("GET {FLUNDERS}")).await.refused(503);
    assert_eq!((&*reason, &*message), ("ServiceUnavailable", "service unavailable"));
    assert_eq!(behind.times_asked(), 0);
    let (stage, _behind) = registered(true).await;
    let (_, message) = stage.ask(&format!("GET {FLUNDERS}/moved")).await.refused(502);
    assert!(message.contains("attempted to redirect"), "{message}");
}

#[tokio::test]
async fn what_is_built_in_cannot_be_taken_away() {
    let (stage, behind) = (Stage::new().await, Behind::start().await);
    behind.register(&stage, ("apps", "v1"), true).await;
    let list = stage.ask("GET /apis/apps/v1/namespaces/n/deployments").await.expect(200);
    assert_eq!(list["kind"], "DeploymentList");
    assert_eq!(behind.times_asked(), 0);
}

#[tokio::test]
async fn a_watch_is_passed_on_event_by_event() {
    let (stage, behind) = registered(true).await;
    let mut body = stage.stream(&format!("GET {FLUNDERS}?watch=true")).await.into_body();
    for event in ["one", "two"] {
        behind.events.send(event).await.unwrap();
        let frame = body.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), event.as_bytes());
    }
}

#[tokio::test]
async fn discovery_tells_of_what_others_serve() {
    let (stage, _behind) = registered(false).await;
    let groups = stage.ask("GET /apis").await.expect(200);
    let found = groups["groups"].as_array().unwrap().iter().find(|group| group["name"] == "wardle.example.com");
    assert_eq!(found.unwrap()["preferredVersion"]["groupVersion"], "wardle.example.com/v1");
    let group = stage.ask("GET /apis/wardle.example.com").await.expect(200);
    assert_eq!((&group["kind"], &group["versions"][0]["version"]), (&json!("APIGroup"), &json!("v1")));
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let all = stage.ask_for("GET /apis", accept).await.expect(200);
    let mut items = all["items"].as_array().unwrap().iter();
    let found = items.find(|group| group["metadata"]["name"] == "wardle.example.com").unwrap();
    assert_eq!(found["versions"][0]["freshness"], "Stale");
}

#[tokio::test]
async fn a_backend_is_found_by_the_slices_of_its_service() {
    let (stage, behind) = (Stage::new().await, Behind::start().await);
    behind.register_with_slice(&stage, WARDLE).await;
    stage.ask(&format!("GET {FLUNDERS}")).await.expect(200);
    let slice = "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices/api-1";
    stage.ask(&format!("DELETE {slice}")).await.expect(200);
    let (_, message) = stage.ask(&format!("GET {FLUNDERS}")).await.refused(503);
    assert_eq!(message, "service unavailable");
}

#[tokio::test]
async fn a_backend_is_shown_the_certificate_of_the_workspace() {
    let (stage, behind) = registered(true).await;
    assert_eq!(stage.ask(&format!("GET {FLUNDERS}")).await.expect(200)["shown"], Value::Null);
    stage.api.relay.present(behind.authority.clone());
    assert_eq!(stage.ask(&format!("GET {FLUNDERS}")).await.expect(200)["shown"], "proxy of home");
}

#[tokio::test]
async fn a_backend_that_cannot_prove_who_it_is_hears_nothing() {
    let (stage, behind) = (Stage::new().await, Behind::start().await);
    behind.register(&stage, WARDLE, true).await;
    let registered = format!("{REGISTRATIONS}/v1.wardle.example.com");
    let patch = async |spec: Value| {
        let patch = json!({ "spec": spec }).to_string();
        stage.send_as(&format!("PATCH {registered}"), "application/merge-patch+json", patch).await.expect(200);
    };
    patch(json!({ "caBundle": null })).await;
    let (_, message) = stage.ask(&format!("GET {FLUNDERS}")).await.refused(503);
    assert!(message.contains("certificate signed by unknown authority"), "{message}");
    assert_eq!(behind.times_asked(), 0);
    patch(json!({ "insecureSkipTLSVerify": true })).await;
    stage.ask(&format!("GET {FLUNDERS}")).await.expect(200);
}

#[tokio::test]
async fn a_request_that_comes_back_goes_no_further() {
    let (stage, behind) = registered(true).await;
    let told = stage.ask(&format!("GET {FLUNDERS}")).await.expect(200);
    let via = told["headers"]["via"][0].as_str().unwrap();
    let request = || Stage::request(&format!("GET {FLUNDERS}")).header("via", "1.1 somebody-else");
    stage.answer(request().body(Body::empty()).unwrap()).await.expect(200);
    let again = request().header("via", format!("1.0 a, {via}")).body(Body::empty()).unwrap();
    let (_, message) = stage.answer(again).await.refused(508);
    assert!(message.contains("came back"), "{message}");
    assert_eq!(behind.times_asked(), 2);
}

#[tokio::test]
async fn a_connection_that_is_upgraded_carries_whatever_both_ends_say() {
    let (stage, _behind) = registered(true).await;
    let mut client = stage.connect();
    let head = format!(
        "POST {FLUNDERS}/x/exec?command=sh HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(client.read_u8().await.unwrap());
    }
    let answer = String::from_utf8(answer).unwrap().to_lowercase();
    assert!(answer.starts_with("http/1.1 101 ") && answer.contains("upgrade: spdy/3.1"), "{answer}");
    for said in [&b"one"[..], &[0, 255, 7]] {
        client.write_all(said).await.unwrap();
        let mut heard = vec![0; said.len()];
        client.read_exact(&mut heard).await.unwrap();
        assert_eq!(heard, said);
    }
    client.shutdown().await.unwrap();
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0, "the end of one side is the end of the other");
}
