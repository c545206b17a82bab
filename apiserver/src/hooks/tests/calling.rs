//! Hooks over the network: those that answer, and those that lie, hang, babble or are somebody else.

use super::stage::{Caller, answer, by_path, hook, mutated, object, scene};
use super::tls::{Here, Identity, LIMIT, Server, caller, post};
use crate::hooks::call::{CallError, CallWebhook, HttpCaller};
use crate::hooks::{Ask, Endpoint, Hooks, Unevaluated};
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::post as on_post;
use futures_util::StreamExt;
use futures_util::stream;
use http::{HeaderMap, Uri, Version, header};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

const LOCAL: [&str; 2] = ["localhost", "127.0.0.1"];

/// Says what it was sent.
fn echo() -> Router {
    let handler = async |version: Version, uri: Uri, headers: HeaderMap, body: String| {
        let word =
            |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        // HTTP/2 has the host in the URL.
        let host = word(header::HOST).or_else(|| uri.authority().map(ToString::to_string));
        let path = uri.path_and_query().map(ToString::to_string);
        let kinds = [word(header::CONTENT_TYPE), word(header::ACCEPT)];
        json!({ "version": format!("{version:?}"), "path": path, "host": host, "kinds": kinds, "body": body })
            .to_string()
    };
    Router::new().fallback(handler)
}

async fn answering(response: impl Fn() -> Response + Clone + Send + Sync + 'static) -> Server {
    let router = Router::new().route("/hook", on_post(move || std::future::ready(response())));
    Server::http(Identity::signed(&LOCAL), router).await
}

fn response(code: u16, content_type: &str, body: impl Into<Body>) -> Response {
    Response::builder().status(code).header(header::CONTENT_TYPE, content_type).body(body.into()).unwrap()
}

#[track_caller]
fn failed(found: Result<Value, CallError>) -> String {
    match found {
        Err(CallError::Failed(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn whoever_is_told_something_need_not_say_more_than_that_they_heard() {
    let taken = answering(|| response(200, "text/plain", "")).await;
    let tell = async |server: &Server| caller().tell(&server.at("localhost"), "{}".into(), LIMIT).await;
    assert_eq!(tell(&taken).await, Ok(()));
    let refusing = answering(|| response(503, "text/plain", "full")).await;
    assert!(tell(&refusing).await.is_err());
}

#[tokio::test]
async fn a_hook_on_this_machine_is_spoken_to_in_http2() {
    let server = Server::http(Identity::signed(&LOCAL), echo()).await;
    let caller = caller();
    for host in ["localhost", "127.0.0.1", "localhost"] {
        let found = post(&caller, &server.at(host)).await.unwrap();
        let expect = json!({
            "version": "HTTP/2.0", "path": "/hook?timeout=10s", "host": format!("{host}:{}", server.port),
            "kinds": ["application/json", "application/json, */*"], "body": "{\"a\":1}",
        });
        assert_eq!(found, expect);
    }
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_service_is_found_by_whoever_knows_services() {
    let server = Server::http(Identity::signed(&["s.n.svc"]), echo()).await;
    let nowhere = caller();
    let text = "Post \"https://s.n.svc:443/hook?timeout=10s\": service \"n/s\" cannot be reached from here: use \
                clientConfig.url";
    assert_eq!(failed(post(&nowhere, &server.as_service()).await), text);
    let caller = nowhere.resolving(Arc::new(Here(server.port)));
    for _ in 0..3 {
        let found = post(&caller, &server.as_service()).await.unwrap();
        assert_eq!((&found["version"], &found["host"]), (&json!("HTTP/1.1"), &json!("s.n.svc:443")));
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_whole_question_over_the_network() {
    let allow = async |body: String| {
        let review: Value = serde_json::from_str(&body).unwrap();
        answer(&review, json!({ "allowed": true, "warnings": ["w"] })).to_string()
    };
    let server = Server::http(Identity::signed(&LOCAL), Router::new().route("/hook", on_post(allow))).await;
    let mut one = hook("h", json!({}));
    let ca = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &server.ca);
    one["clientConfig"] = json!({ "url": server.at("localhost").to_string(), "caBundle": ca });
    let configuration = object(json!({ "metadata": { "name": "c" }, "webhooks": [one.clone(), one] }));
    let hooks = Hooks::compile(&[], &[configuration], &Unevaluated);
    let (scene, caller) = (scene("CREATE v1/pods n/w"), caller());
    let told = scene.play(&caller, async |ask| hooks.validate(ask, None).await).await.unwrap();
    assert_eq!(told.warnings, ["w", "w"]);
}

#[tokio::test]
async fn a_server_that_vouches_for_itself_is_believed_if_it_is_named() {
    let server = Server::http(Identity::of_its_own(&LOCAL), echo()).await;
    assert!(post(&caller(), &server.at("localhost")).await.is_ok());
    let stranger = Server::http(Identity::of_its_own(&["example.org"]), echo()).await;
    let text = failed(post(&caller(), &stranger.at("localhost")).await);
    assert!(
        text.ends_with("tls: failed to verify certificate: x509: certificate is not valid for localhost"),
        "{text}"
    );
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_not_believed() {
    let (server, other) = (Server::http(Identity::signed(&LOCAL), echo()).await, Identity::signed(&LOCAL));
    let with = |ca: Option<&str>| Endpoint { ca: ca.map(|pem| pem.to_owned().into()), ..server.at("localhost") };
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    let text = failed(post(&caller(), &with(Some(&other.ca))).await);
    assert!(text.ends_with(unknown), "{text}");
    let text = failed(post(&caller(), &with(None)).await);
    assert!(text.contains(unknown) && text.contains("no caBundle"), "{text}");
    let trusting = HttpCaller::new(Arc::new(Here(0)), Some(server.ca.clone().into()));
    assert!(post(&trusting, &with(None)).await.is_ok());
    let text = "unable to load root certificates: unable to parse bytes as PEM block";
    for garbage in ["x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let found = post(&caller(), &with(Some(garbage))).await;
        assert_eq!(found, Err(CallError::Unprepared(text.to_owned())), "{garbage}");
    }
    let named = Server::http(Identity::signed(&["example.org"]), echo()).await;
    let text = failed(post(&caller(), &named.at("localhost")).await);
    assert!(text.ends_with("x509: certificate is not valid for localhost"), "{text}");
}

#[tokio::test]
async fn nobody_at_home() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let to = Endpoint::read(&json!({ "url": format!("https://127.0.0.1:{port}/x") })).unwrap();
    let expect = format!(
        "Post \"https://127.0.0.1:{port}/x?timeout=10s\": dial tcp 127.0.0.1:{port}: connect: connection refused"
    );
    assert_eq!(failed(post(&caller(), &to).await), expect);
    let to = Endpoint::read(&json!({ "url": "https://nobody.invalid/" })).unwrap();
    let text = failed(post(&caller(), &to).await);
    assert!(text.ends_with("dial tcp: lookup nobody.invalid: no such host"), "{text}");
}

/// What an answer comes to.
async fn check(code: u16, content_type: &'static str, body: &'static str, expect: &str) {
    let server = answering(move || response(code, content_type, body)).await;
    assert_eq!(failed(post(&caller(), &server.at("localhost")).await), expect, "{code} {body}");
}

#[tokio::test]
async fn answers_that_are_none_are_explained_as_by_kubernetes() {
    let html = "<html>oops</html>";
    let server_error = "an error on the server (\"oops\") has prevented the request from succeeding";
    check(500, "text/plain", " oops\n", server_error).await;
    let unknown = "an error on the server (\"unknown\") has prevented the request from succeeding";
    check(500, "application/json", "{}", unknown).await;
    check(404, "text/html", html, "the server could not find the requested resource").await;
    check(403, "text/html", html, html).await;
    check(503, "text/html", html, "the server is currently unable to handle the request").await;
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","message":"said so"}"#;
    check(500, "application/json", status, "said so").await;
    let moved = "the server responded with the status code 307 but did not return more information";
    check(307, "text/html", html, moved).await;
    let empty = "0-length response with status code: 200 and content type: text/html";
    check(200, "text/html", "", empty).await;
    for garbage in [html, "[]", "\"x\"", "{\"a\":", "5"] {
        let server = answering(move || response(200, "text/html", garbage)).await;
        let text = failed(post(&caller(), &server.at("localhost")).await);
        assert!(text.starts_with("couldn't get version/kind; json parse error: "), "{garbage}: {text}");
    }
}

#[tokio::test]
async fn nobody_is_sent_elsewhere() {
    let target = Server::http(Identity::signed(&LOCAL), echo()).await;
    let elsewhere = format!("https://localhost:{}/", target.port);
    let server = answering(move || {
        Response::builder().status(308).header(header::LOCATION, &elsewhere).body(Body::empty()).unwrap()
    });
    failed(post(&caller(), &server.await.at("localhost")).await);
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let chunk = bytes::Bytes::from(vec![b' '; 1 << 20]);
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let server = answering(move || {
        let (chunk, count) = (chunk.clone(), count.clone());
        let endless = stream::repeat_with(move || {
            count.fetch_add(chunk.len(), Ordering::Relaxed);
            Ok::<_, Infallible>(chunk.clone())
        });
        response(200, "application/json", Body::from_stream(endless))
    })
    .await;
    let text = failed(post(&caller(), &server.at("localhost")).await);
    assert!(text.ends_with("the answer is larger than 4194304 bytes"), "{text}");
    assert!(sent.load(Ordering::Relaxed) < 32 << 20);
}

/// What a call comes to whose server has come as far as it ever will.
async fn late(server: &Server, stuck: &Notify) -> String {
    let (caller, to) = (caller(), server.at("localhost"));
    let mut call = caller.call(&to, "{}".into(), LIMIT);
    tokio::select! {
        found = &mut call => panic!("{found:?}"),
        () = stuck.notified() => tokio::time::pause(),
    }
    let text = failed(call.await);
    tokio::time::resume();
    text
}

#[tokio::test]
async fn a_hook_that_does_not_answer_is_not_waited_for() {
    let stuck = Arc::new(Notify::new());
    let told = stuck.clone();
    let hang = async move || -> Response {
        told.notify_one();
        std::future::pending().await
    };
    let server = Server::http(Identity::signed(&LOCAL), Router::new().route("/hook", on_post(hang))).await;
    let url = format!("https://localhost:{}/hook?timeout=10s", server.port);
    assert_eq!(late(&server, &stuck).await, format!("Post {url:?}: context deadline exceeded"));
}

#[tokio::test]
async fn a_hook_that_never_finishes_is_not_waited_for() {
    let stuck = Arc::new(Notify::new());
    let told = stuck.clone();
    // More than is sent before the other side has begun to read.
    let blank = bytes::Bytes::from(vec![b' '; 1 << 19]);
    let server = answering(move || {
        let told = told.clone();
        let first = stream::iter(vec![Ok::<_, Infallible>(blank.clone()); 7]);
        let rest = stream::once(async move {
            told.notify_one();
            std::future::pending().await
        });
        response(200, "application/json", Body::from_stream(first.chain(rest)))
    })
    .await;
    let text = "unexpected error when reading response body. Please retry. Original error: context deadline exceeded";
    assert_eq!(late(&server, &stuck).await, text);
}

#[tokio::test]
async fn a_hook_that_breaks_off_has_not_answered() {
    let serve = |bytes: &'static [u8]| {
        Server::raw(Identity::signed(&["s.n.svc"]), move |mut stream| async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(bytes).await;
            let _ = stream.shutdown().await;
        })
    };
    for (bytes, expect) in [
        (&b""[..], "Post \"https://s.n.svc:443/hook?timeout=10s\": EOF"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
            "response body. Please retry. Original error: unexpected EOF",
        ),
        (
            b"SSH-2.0-OpenSSH_9.2p1\r\n\r\n",
            "Post \"https://s.n.svc:443/hook?timeout=10s\": invalid HTTP version parsed",
        ),
    ] {
        let server = serve(bytes).await;
        let caller = caller().resolving(Arc::new(Here(server.port)));
        let text = failed(post(&caller, &server.as_service()).await);
        assert!(text.ends_with(expect), "{text}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_no_hook() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let to = Endpoint::read(&json!({ "url": format!("https://127.0.0.1:{port}/") })).unwrap();
    let text = failed(post(&caller(), &to).await);
    assert!(text.ends_with("tls: first record does not look like a TLS handshake"), "{text}");
}

#[tokio::test]
async fn a_busy_hook_is_asked_again_when_it_said() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let server = answering(move || {
        let nth = count.fetch_add(1, Ordering::Relaxed);
        let code = if nth < 2 { 503 } else { 200 };
        let mut response = response(code, "application/json", "{\"fine\":true}");
        response.headers_mut().insert(header::RETRY_AFTER, "0".parse().unwrap());
        response
    })
    .await;
    assert_eq!(post(&caller(), &server.at("localhost")).await, Ok(json!({ "fine": true })));
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    let always = answering(|| {
        let mut response = response(429, "application/json", "");
        response.headers_mut().insert(header::RETRY_AFTER, "0".parse().unwrap());
        response
    })
    .await;
    let text = "the server has received too many requests and has asked us to try again later";
    assert_eq!(failed(post(&caller(), &always.at("localhost")).await), text);
}

#[tokio::test(start_paused = true)]
async fn a_hook_has_no_more_time_than_its_request() {
    let within = async |deadline: Option<u64>, limit: u64| {
        scene("CREATE v1/pods n/w")
            .play(&caller(), async |ask| {
                let start = tokio::time::Instant::now();
                let deadline = deadline.map(|secs| start + Duration::from_secs(secs));
                Ask { deadline, ..*ask }.within(Duration::from_secs(limit)).as_secs()
            })
            .await
    };
    assert_eq!(within(None, 10).await, 10);
    assert_eq!(within(Some(60), 10).await, 10);
    assert_eq!(within(Some(3), 10).await, 3);
    assert_eq!(within(Some(0), 10).await, 0);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_for_a_request_that_is_over() {
    let lenient = hook("broken", json!({ "failurePolicy": "Ignore" }));
    let configuration = [object(json!({ "metadata": { "name": "c" }, "webhooks": [lenient.clone(), lenient] }))];
    let hooks = Hooks::compile(&configuration, &configuration, &Unevaluated);
    let (scene, caller) = (scene("CREATE v1/pods n/w"), Caller::new(by_path));
    let over = async |ask: &Ask<'_>| {
        let ask = Ask { deadline: Some(tokio::time::Instant::now()), ..*ask };
        (hooks.validate(&ask, None).await.unwrap_err(), mutated(&hooks, &ask, None).await.unwrap_err())
    };
    let (validated, mutated) = scene.play(&caller, over).await;
    assert_eq!(validated.message(), "Timeout: request did not complete within requested timeout");
    assert_eq!((validated.code(), &mutated), (504, &validated));
}
