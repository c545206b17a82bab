//! Who is behind a request: certificates, front proxies, tokens of all sorts, and those who show nothing.

use crate::stage::{Answer, Stage};
use apiserver::auth::User;
use apiserver::authn::file::TokenFile;
use apiserver::authn::header::FrontProxy;
use apiserver::authn::issuers::{AuthenticationConfiguration, Issuers};
use apiserver::authn::{Anonymous, Authentication, Trusted};
use apiserver::hooks::call::{HttpCaller, NoServices};
use apiserver::pipeline::Peer;
use axum::Router;
use axum::body::Body;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::Request;
use jsonwebtoken::jwk::{Jwk, ThumbprintHash};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use parking_lot::Mutex;
use rcgen::KeyPair;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the clock of the stage says.
const NOW: i64 = 1_800_000_000;

async fn who(stage: &Stage, path: &str, headers: &[(&str, &str)], peer: Peer) -> Answer {
    let mut request =
        Request::builder().method("POST").uri(path).extension(peer).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let question = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    stage.answer(request.body(Body::from(question.to_string())).unwrap()).await
}

const SELF: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// Who somebody is told that they are who shows a token. They have to be masters to be told anything.
async fn bearer(stage: &Stage, token: &str) -> Answer {
    who(stage, SELF, &[("authorization", &format!("Bearer {token}"))], Peer::default()).await
}

fn name(answer: Answer) -> String {
    answer.expect(201)["status"]["userInfo"]["username"].as_str().unwrap().to_owned()
}

fn vouching(proxy: Option<FrontProxy>, tokens: &str, trusted: Trusted) -> Authentication {
    Authentication::new(proxy, TokenFile::parse(tokens).unwrap(), None, trusted)
}

#[tokio::test]
async fn a_token_that_is_written_down_names_its_user() {
    let tokens = "secret,ada,1,\"system:masters,dev\"\nother,eve,2\n";
    let stage = Stage::vouched(vouching(None, tokens, Trusted::default())).await;
    assert_eq!(name(bearer(&stage, "secret").await), "ada");
    // Known, and may do nothing.
    let (_, message) = ask(&stage, "/api/v1/nodes", "other").await.refused(403);
    assert!(message.contains("User \"eve\" cannot list"), "{message}");
    bearer(&stage, "wrong").await.refused(401);
    // A certificate is enough: what else is shown does not matter.
    let admin = Peer::user(User::authenticated("admin", vec!["system:masters".to_owned()]));
    assert_eq!(name(who(&stage, SELF, &[("authorization", "Bearer wrong")], admin).await), "admin");
}

async fn ask(stage: &Stage, path: &str, token: &str) -> Answer {
    let request = Request::builder().uri(path).extension(Peer::default());
    stage.answer(request.header("authorization", format!("Bearer {token}")).body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn whoever_shows_nothing_is_anonymous_where_that_is_allowed() {
    let anonymous = |anonymous| vouching(None, "", Trusted { anonymous, ..Trusted::default() });
    let nothing = |stage: Stage, path: &'static str| async move {
        let request = Request::builder().uri(path).extension(Peer::default());
        stage.answer(request.body(Body::empty()).unwrap()).await
    };
    let (_, message) = nothing(Stage::new().await, "/api/v1/nodes").await.refused(403);
    assert!(message.contains("User \"system:anonymous\" cannot list"), "{message}");
    let stage = Stage::vouched(anonymous(Anonymous::Nowhere)).await;
    nothing(stage, "/livez").await.refused(401);
    let stage = Stage::vouched(anonymous(Anonymous::At(vec!["/livez".to_owned()]))).await;
    assert_eq!(nothing(stage, "/livez").await.code, 200);
    let stage = Stage::vouched(anonymous(Anonymous::At(vec!["/livez".to_owned()]))).await;
    nothing(stage, "/version").await.refused(401);
}

#[tokio::test]
async fn only_a_front_proxy_is_believed_about_others() {
    let proxy = FrontProxy { allowed: vec!["front".to_owned()], ..FrontProxy::default() };
    let stage = Stage::vouched(vouching(Some(proxy), "", Trusted::default())).await;
    let said = [("x-remote-user", "ada"), ("x-remote-group", "system:masters")];
    let peer = |name: &str| Peer { user: None, proxy: Some(name.into()) };
    assert_eq!(name(who(&stage, SELF, &said, peer("front")).await), "ada");
    // Not of the authority of proxies; of it, but not one that is believed; and somebody of their own.
    for nobody in [Peer::default(), peer("back")] {
        let (_, message) = who(&stage, SELF, &said, nobody).await.refused(403);
        assert!(message.contains("system:anonymous"), "{message}");
    }
    let eve = Peer::user(User::authenticated("eve", Vec::new()));
    let (_, message) = who(&stage, SELF, &said, eve).await.refused(403);
    assert!(message.contains("User \"eve\""), "{message}");
}

#[tokio::test]
async fn a_service_account_is_recognised_until_it_is_gone() {
    let stage = Stage::new().await;
    let request = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let path = "POST /api/v1/namespaces/n/serviceaccounts/default/token";
    let made = stage.send(path, &request).await.expect(201);
    let token = made["status"]["token"].as_str().unwrap();
    let (_, message) = ask(&stage, "/api/v1/nodes", token).await.refused(403);
    assert!(message.contains("User \"system:serviceaccount:n:default\" cannot list"), "{message}");
    let mut other = request.clone();
    other["spec"]["audiences"] = json!(["somebody-else"]);
    let made = stage.send(path, &other).await.expect(201);
    ask(&stage, "/api/v1/nodes", made["status"]["token"].as_str().unwrap()).await.refused(401);
    stage.ask("DELETE /api/v1/namespaces/n/serviceaccounts/default").await.expect(200);
    ask(&stage, "/api/v1/nodes", token).await.refused(401);
}

#[tokio::test]
async fn a_token_of_somebody_who_joins_is_good_in_its_workspace() {
    let stage = Stage::new().await;
    stage.send("POST /api/v1/namespaces", &json!({ "metadata": { "name": "kube-system" } })).await.expect(201);
    let secret = json!({
        "metadata": { "name": "bootstrap-token-abcdef" }, "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
        },
    });
    stage.send("POST /api/v1/namespaces/kube-system/secrets", &secret).await.expect(201);
    let token = "abcdef.0123456789abcdef";
    let (_, message) = ask(&stage, "/api/v1/nodes", token).await.refused(403);
    assert!(message.contains("User \"system:bootstrap:abcdef\""), "{message}");
    ask(&stage, "/clusters/other/api/v1/nodes", token).await.refused(401);
    ask(&stage, "/api/v1/nodes", "abcdef.0123456789abcdee").await.refused(401);
}

/// An issuer on a port of its own, with a key that it can change.
struct Issuer {
    url: String,
    ca: String,
    key: Arc<Mutex<KeyPair>>,
    asked: Arc<AtomicUsize>,
}

fn signing(key: &KeyPair) -> (EncodingKey, Jwk) {
    let private = EncodingKey::from_ec_der(key.serialized_der());
    let mut public = Jwk::from_encoding_key(&private, Algorithm::ES256).unwrap();
    public.common.key_id = Some(public.thumbprint(ThumbprintHash::SHA256).unwrap());
    (private, public)
}

impl Issuer {
    async fn start() -> Self {
        let (key, asked) = (Arc::new(Mutex::new(KeyPair::generate().unwrap())), Arc::new(AtomicUsize::new(0)));
        let (keys, count) = (key.clone(), asked.clone());
        let address = Arc::new(Mutex::new(String::new()));
        let own = address.clone();
        let discovery = move || {
            let url = own.lock().clone();
            async move { json!({ "issuer": url, "jwks_uri": format!("{url}/keys") }).to_string() }
        };
        let listed = move || {
            count.fetch_add(1, Ordering::Relaxed);
            let text = json!({ "keys": [signing(&keys.lock()).1] }).to_string();
            async move { text }
        };
        let router =
            Router::new().route("/.well-known/openid-configuration", get(discovery)).route("/keys", get(listed));
        let (url, ca) = crate::hooking::https(router).await;
        address.lock().clone_from(&url);
        Self { url, ca, key, asked }
    }

    fn token(&self, claims: &Value) -> String {
        let (private, public) = signing(&self.key.lock());
        let mut all = json!({ "iss": self.url, "aud": "hanse", "exp": NOW + 60, "sub": "ada", "roles": ["dev"] });
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        let header = Header { kid: public.common.key_id, ..Header::new(Algorithm::ES256) };
        jsonwebtoken::encode(&header, &all, &private).unwrap()
    }

    fn trusted(&self) -> Trusted {
        let config = json!({
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
            "jwt": [{
                "issuer": { "url": self.url, "certificateAuthority": self.ca, "audiences": ["hanse"] },
                "claimValidationRules": [{ "expression": "!has(claims.banned)", "message": "banned" }],
                "claimMappings": {
                    "username": { "expression": "'oidc:' + claims.sub" },
                    "groups": { "claim": "roles", "prefix": "oidc:" },
                    "extra": [{ "key": "example.com/tenant", "valueExpression": "claims.?tenant.orValue('')" }],
                },
                "userValidationRules": [{ "expression": "!user.username.endsWith('root')", "message": "no" }],
            }],
        });
        let config = AuthenticationConfiguration::parse(&config.to_string()).unwrap();
        let issuers = Issuers::new(&config, &HttpCaller::new(Arc::new(NoServices), None)).unwrap();
        Trusted { issuers: Arc::new(issuers), ..Trusted::default() }
    }
}

/// What the refusal of a request says of who asked.
async fn named(stage: &Stage, token: &str) -> String {
    let (_, message) = ask(stage, "/api/v1/nodes", token).await.refused(403);
    message
}

#[tokio::test]
async fn a_trusted_issuer_says_who_somebody_is() {
    let issuer = Issuer::start().await;
    let stage = Stage::vouched(vouching(None, "", issuer.trusted())).await;
    let token = issuer.token(&json!({ "tenant": "acme" }));
    assert!(named(&stage, &token).await.contains("User \"oidc:ada\""));
    let review = json!({ "spec": { "token": token } });
    let told = stage.send("POST /apis/authentication.k8s.io/v1/tokenreviews", &review).await.expect(201);
    let user = &told["status"]["user"];
    assert_eq!(user["groups"], json!(["oidc:dev", "system:authenticated"]));
    assert_eq!(user["extra"], json!({ "example.com/tenant": ["acme"] }));
    assert_eq!(issuer.asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn keys_that_an_issuer_changes_are_asked_for_but_not_all_the_time() {
    let issuer = Issuer::start().await;
    let vouching = vouching(None, "", issuer.trusted());
    let old = issuer.token(&json!({ "exp": NOW + 3600 }));
    assert!(vouching.bearer(&old, NOW).await.is_some());
    *issuer.key.lock() = KeyPair::generate().unwrap();
    let new = issuer.token(&json!({ "exp": NOW + 3600 }));
    for _ in 0..3 {
        assert!(vouching.bearer(&new, NOW + 5).await.is_none());
    }
    assert_eq!(issuer.asked.load(Ordering::Relaxed), 1);
    assert!(vouching.bearer(&new, NOW + 11).await.is_some());
    assert!(vouching.bearer(&old, NOW + 12).await.is_none());
    assert_eq!(issuer.asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_token_that_is_not_good_is_nobodys() {
    let issuer = Issuer::start().await;
    let stage = Stage::vouched(vouching(None, "", issuer.trusted())).await;
    assert!(named(&stage, &issuer.token(&json!({ "aud": ["x", "hanse"] }))).await.contains("oidc:ada"));
    for claims in [
        json!({ "exp": NOW }),
        json!({ "exp": "never" }),
        json!({ "nbf": NOW + 3600 }),
        json!({ "aud": "x" }),
        json!({ "aud": [] }),
        json!({ "iss": "https://elsewhere" }),
        json!({ "sub": 7 }),
        json!({ "banned": true }),
        json!({ "sub": "root" }),
        json!({ "roles": { "a": 1 } }),
    ] {
        ask(&stage, "/api/v1/nodes", &issuer.token(&claims)).await.refused(401);
    }
    let good = issuer.token(&json!({}));
    let (rest, signature) = good.rsplit_once('.').unwrap();
    let payload = rest.split_once('.').unwrap().1;
    let unsigned = URL_SAFE_NO_PAD.encode(json!({ "alg": "none", "typ": "JWT" }).to_string());
    let shared = jsonwebtoken::encode(
        &Header::new(Algorithm::HS256),
        &json!({ "iss": issuer.url, "aud": "hanse", "exp": NOW + 60, "sub": "ada" }),
        &EncodingKey::from_secret(STANDARD.encode(issuer.url.as_bytes()).as_bytes()),
    );
    for odd in [
        format!("{unsigned}.{payload}."),
        format!("{unsigned}.{payload}.{signature}"),
        format!("{rest}.{}", &signature[..signature.len() - 4]),
        format!("{rest}."),
        rest.to_owned(),
        shared.unwrap(),
        "a.b.c".to_owned(),
        "..".to_owned(),
        "x".repeat(20_000),
    ] {
        ask(&stage, "/api/v1/nodes", &odd).await.refused(401);
    }
}

#[tokio::test]
async fn another_configuration_counts_from_the_next_request_on() {
    let issuer = Issuer::start().await;
    let stage = Stage::vouched(vouching(None, "", Trusted::default())).await;
    ask(&stage, "/api/v1/nodes", &issuer.token(&json!({}))).await.refused(401);
    stage.api.authentication.trust(issuer.trusted());
    assert!(named(&stage, &issuer.token(&json!({}))).await.contains("oidc:ada"));
}
