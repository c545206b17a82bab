//! What nobody issued, or somebody changed on its way: tokens, certificates, headers and paths that open no door.

use crate::stage::{Answer, Stage};
use apiserver::auth::{Claims, TokenIssuer, User, user_of_certificate};
use apiserver::authn::header::FrontProxy;
use apiserver::pipeline::Peer;
use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::{Value, json};

const PRIVATE: &str = include_str!("key.pem");
const PUBLIC: &str = include_str!("key.pub.pem");
/// What the clock of the stage says.
const NOW: i64 = 1_800_000_000;

async fn ask(stage: &Stage, path: &str, peer: Peer, token: Option<&str>) -> Answer {
    let mut request = Request::builder().uri(path).extension(peer);
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    stage.answer(request.body(Body::empty()).unwrap()).await
}

async fn bearer(stage: &Stage, token: &str) -> Answer {
    ask(stage, "/api/v1/nodes", Peer::default(), Some(token)).await
}

/// A token of an account, which is good.
async fn good(stage: &Stage) -> String {
    let request = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let made = stage.send("POST /api/v1/namespaces/n/serviceaccounts/default/token", &request).await.expect(201);
    made["status"]["token"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_token_that_is_not_what_was_issued_is_nobodys() {
    let stage = Stage::new().await;
    let token = good(&stage).await;
    bearer(&stage, &token).await.refused(403);
    let claims = stage.api.tokens.verify(&token, NOW).unwrap();
    let signed = |claims: Claims| stage.api.tokens.sign(&claims).unwrap();
    bearer(&stage, &signed(claims.clone())).await.refused(403);
    let elsewhere = TokenIssuer::new("https://elsewhere", PRIVATE.as_bytes(), PUBLIC.as_bytes()).unwrap();
    let [head, payload, signature] = <[&str; 3]>::try_from(token.split('.').collect::<Vec<_>>()).unwrap();
    let header = |tree: Value| URL_SAFE_NO_PAD.encode(tree.to_string());
    let said: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap();
    // The key that is published, as if it were a secret that both sides know.
    let shared = EncodingKey::from_secret(PUBLIC.as_bytes());
    for forged in [
        signed(Claims { expires: NOW, ..claims.clone() }),
        signed(Claims { issued: NOW + 1, ..claims.clone() }),
        signed(Claims { audiences: vec!["somebody-else".to_owned()], ..claims.clone() }),
        signed(Claims { audiences: Vec::new(), ..claims.clone() }),
        signed(Claims { uid: "another".to_owned(), ..claims.clone() }),
        signed(Claims { name: "another".to_owned(), ..claims.clone() }),
        signed(Claims { workspace: "other".to_owned(), ..claims.clone() }),
        signed(Claims { workspace: "../home".to_owned(), ..claims.clone() }),
        elsewhere.sign(&claims).unwrap(),
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &said, &shared).unwrap(),
        format!("{}.{payload}.", header(json!({ "alg": "none" }))),
        format!("{}.{payload}.{signature}", header(json!({ "alg": "none", "typ": "JWT" }))),
        format!("{}.{payload}.{signature}", header(json!({ "alg": "ES256", "kid": "another" }))),
        format!("{head}.{payload}."),
        format!("{head}.{payload}"),
        format!("{token}.{signature}"),
        format!("{head}.{}.{signature}", URL_SAFE_NO_PAD.encode("[".repeat(100_000))),
        "a".repeat(1 << 17),
        ".".repeat(1 << 16),
    ] {
        let (_, message) = bearer(&stage, &forged).await.refused(401);
        assert_eq!(message, "Unauthorized");
    }
}

/// How a text or the bytes of something are changed: where, and into what.
#[derive(Clone, Debug)]
enum Change {
    Put(usize, u8),
    Drop(usize),
    Insert(usize, u8),
    Cut(usize),
}

impl Change {
    fn any() -> impl Strategy<Value = Self> {
        let (at, byte) = (any::<usize>(), any::<u8>());
        prop_oneof![
            (at, byte).prop_map(|(at, byte)| Self::Put(at, byte)),
            any::<usize>().prop_map(Self::Drop),
            (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Self::Insert(at, byte)),
            any::<usize>().prop_map(Self::Cut),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        match *self {
            Self::Put(at, byte) => bytes[at % length] = byte,
            Self::Drop(at) => drop(bytes.remove(at % length)),
            Self::Insert(at, byte) => bytes.insert(at % length, byte),
            Self::Cut(at) => bytes.truncate(at % length),
        }
    }
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(Change::any(), 1..4)
}

fn run<S: Strategy>(cases: u32, strategy: &S, check: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
    TestRunner::new(config).run(strategy, check).unwrap();
}

#[test]
fn a_token_that_was_changed_anywhere_is_nobodys() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stage = runtime.block_on(Stage::new());
    let token = runtime.block_on(good(&stage));
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    run(1000, &changes(), |changes| {
        let mut bytes = token.clone().into_bytes();
        changes.iter().for_each(|change| change.apply(&mut bytes));
        let text = |byte: u8| if byte.is_ascii_graphic() { byte } else { letters[usize::from(byte) % letters.len()] };
        let changed = String::from_utf8(bytes.into_iter().map(text).collect()).unwrap();
        prop_assume!(changed != token && !changed.is_empty());
        let answer = runtime.block_on(bearer(&stage, &changed));
        prop_assert_eq!(answer.code, 401, "{}", changed);
        Ok(())
    });
}

fn certificate(name: Option<&str>) -> Vec<u8> {
    let mut params = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    if let Some(name) = name {
        params.distinguished_name.push(DnType::CommonName, name);
    }
    params.distinguished_name.push(DnType::OrganizationName, "dev");
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
}

#[test]
fn a_certificate_that_cannot_be_read_names_nobody() {
    let good = certificate(Some("ada"));
    assert_eq!(user_of_certificate(&good).unwrap().name, "ada");
    for bad in [certificate(None), certificate(Some("")), Vec::new(), b"-----BEGIN CERTIFICATE-----".to_vec()] {
        assert!(user_of_certificate(&bad).is_err());
    }
    // What is inside of lengths that are too large is not believed.
    assert!(user_of_certificate(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0x30]).is_err());
    run(4000, &changes(), |changes| {
        let mut bytes = good.clone();
        changes.iter().for_each(|change| change.apply(&mut bytes));
        if let Ok(user) = user_of_certificate(&bytes) {
            prop_assert!(!user.name.is_empty());
        }
        Ok(())
    });
}

#[test]
fn headers_of_a_proxy_are_read_whatever_they_are() {
    let name = "x-remote-(user|group|uid|extra-[a-z0-9%._-]{0,12})";
    let header = (name, prop::collection::vec(any::<u8>(), 0..40));
    run(2000, &prop::collection::vec(header, 0..6), |said| {
        let mut headers = HeaderMap::new();
        for (name, value) in said {
            let name = HeaderName::try_from(name.as_str());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(&value)) {
                headers.append(name, value);
            }
        }
        let proxy = FrontProxy::default();
        if let Some(user) = proxy.user(&headers) {
            prop_assert!(!user.name.is_empty());
        }
        proxy.strip(&mut headers);
        prop_assert!(headers.is_empty(), "{:?}", headers);
        Ok(())
    });
}

#[tokio::test]
async fn no_way_of_writing_a_path_leads_around_the_rules() {
    let stage = Stage::new().await;
    stage.configmap("found", json!({ "app": "hidden" })).await;
    let eve = || Peer::user(User::authenticated("eve", Vec::new()));
    for path in [
        "/api/v1/namespaces/n/configmaps",
        "/api/v1/../v1/namespaces/n/configmaps",
        "/version/../api/v1/namespaces/n/configmaps",
        "/version/%2e%2e/api/v1/namespaces/n/configmaps",
        "/api%2fv1%2fnamespaces%2fn%2fconfigmaps",
        "/api/v1/namespaces/n%2fconfigmaps",
        "/api/v1/namespaces/n/configmaps/..%2fconfigmaps%2ffound",
        "//api//v1//namespaces//n//configmaps",
        "/healthz//api/v1/namespaces/n/configmaps",
        "/api/v1/namespaces/n/configmaps/found%00",
        "/api/v1/namespaces/n/configmaps/found%20",
        "/api/v1/namespaces/n/configmaps/%ff",
        "/api/v1/namespaces/n/configmaps/found/",
        "/clusters/other/clusters/home/api/v1/namespaces/n/configmaps",
        "/clusters/other/../home/api/v1/namespaces/n/configmaps",
        "/clusters/home/api/v1/namespaces/n/configmaps",
        "/clusters/%68ome/api/v1/namespaces/n/configmaps",
        "/clusters//api/v1/namespaces/n/configmaps",
        "/clusters/",
        "/clusters/*/api/v1/configmaps",
    ] {
        let answer = ask(&stage, path, eve(), None).await;
        let (code, text) = (answer.code, String::from_utf8_lossy(&answer.bytes).into_owned());
        assert!(matches!(code, 400 | 403 | 404), "{path}: {code} {text}");
        assert!(!text.contains("hidden"), "{path}: {text}");
        answer.refused(code);
    }
    let long = format!("/api/v1/namespaces/{}/configmaps", "n".repeat(60_000));
    let answer = ask(&stage, &long, eve(), None).await;
    assert!(matches!(answer.code, 400 | 403 | 404 | 414), "{}", answer.code);
}
