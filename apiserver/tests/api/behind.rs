//! Behind another API server: who comes through it, what it is offered, and who decides.

use crate::stage::{Answer, Stage};
use apiserver::auth::{Decision, Elsewhere, Question, User};
use apiserver::authn::Authentication;
use apiserver::authn::file::TokenFile;
use apiserver::authn::header::FrontProxy;
use apiserver::authn::host::{Host, Namespaces, Presence};
use apiserver::hooks::Later;
use apiserver::pipeline::Peer;
use axum::body::Body;
use http::Request;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;

/// Permits what `ada` wants, and whatever `carol` wants from the rest of the world; notes what it was asked.
#[derive(Debug, Default)]
struct Oracle(Mutex<Vec<Question>>);

impl Elsewhere for Oracle {
    fn decide<'a>(&'a self, question: &'a Question, _: i64) -> Later<'a, Result<Decision, String>> {
        self.0.lock().push(question.clone());
        let decision = match (question.spec["user"].as_str(), question.foreign) {
            (Some("ada"), true) | (Some("carol"), false) => Ok(Decision::Allow("theirs".to_owned())),
            (Some("nobody-knows"), _) => Err("connection refused".to_owned()),
            _ => Ok(Decision::NoOpinion("not theirs".to_owned())),
        };
        Box::pin(async move { decision })
    }
}

#[derive(Debug)]
struct Known;

impl Namespaces for Known {
    fn find<'a>(&'a self, name: &'a str) -> Later<'a, Result<Presence, String>> {
        let presence = match name {
            "shop" => Presence::There,
            "closing" => Presence::Terminating,
            _ => Presence::Missing,
        };
        Box::pin(async move { Ok(presence) })
    }
}

fn definition() -> Value {
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": { "type": "object" } } } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.ours.example" },
        "spec": {
            "group": "ours.example", "scope": "Namespaced",
            "names": { "plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    })
}

async fn stage() -> (Stage, Arc<Oracle>) {
    let proxy = FrontProxy { allowed: vec!["front".to_owned()], ..FrontProxy::default() };
    let host =
        Host { workspace: None, groups: vec!["ours.example".to_owned()], tokens: None, namespaces: Arc::new(Known) };
    let authentication = Authentication::new(Some(proxy), TokenFile::default(), None, Default::default());
    let oracle = Arc::new(Oracle::default());
    let stage = Stage::consulting(&[definition()], authentication.behind(Some(host)), oracle.clone()).await;
    (stage, oracle)
}

fn front(name: &str) -> Peer {
    Peer { user: None, proxy: Some(name.into()) }
}

/// What somebody is answered who comes through a proxy.
async fn through(stage: &Stage, peer: Peer, user: &str, line: &str, body: Option<Value>) -> Answer {
    let (method, uri) = line.split_once(' ').unwrap();
    let request = Request::builder().method(method).uri(uri).extension(peer).header("x-remote-user", user);
    let request = request.header("x-remote-group", "dev").header("content-type", "application/json");
    stage.answer(request.body(body.map_or_else(Body::empty, |tree| tree.to_string().into())).unwrap()).await
}

const THINGS: &str = "/apis/ours.example/v1/namespaces/shop/things";

fn thing() -> Option<Value> {
    Some(json!({ "apiVersion": "ours.example/v1", "kind": "Thing", "metadata": { "name": "t" } }))
}

#[tokio::test]
async fn the_host_decides_and_its_namespaces_are_ours() {
    let (stage, oracle) = stage().await;
    through(&stage, front("front"), "ada", &format!("POST {THINGS}"), thing()).await.expect(201);
    let asked = oracle.0.lock()[0].clone();
    assert!(asked.foreign);
    assert_eq!(asked.spec["groups"], json!(["dev", "system:authenticated"]));
    assert_eq!(asked.spec["resourceAttributes"]["resource"], "things");
    assert_eq!(asked.spec["resourceAttributes"]["version"], "v1");
    assert_eq!(asked.spec.get("extra"), None);
    stage.ask("GET /api/v1/namespaces/shop").await.expect(200);
    let (_, message) = through(&stage, front("front"), "eve", &format!("GET {THINGS}"), None).await.refused(403);
    assert!(message.ends_with("not theirs"), "{message}");
    let applied = format!("PUT {THINGS}/t");
    through(&stage, front("front"), "eve", &applied, thing()).await.refused(403);
    for (namespace, code) in [("closing", 403), ("nowhere", 404)] {
        let line = format!("POST {}", THINGS.replace("shop", namespace));
        through(&stage, front("front"), "ada", &line, thing()).await.refused(code);
    }
    through(&stage, front("front"), "nobody-knows", &format!("GET {THINGS}"), None).await.refused(500);
}

#[tokio::test]
async fn only_what_is_offered_is_there_and_in_one_workspace() {
    let (stage, _) = stage().await;
    let ask = |line: &'static str| through(&stage, front("front"), "ada", line, None);
    let groups = ask("GET /apis").await.expect(200);
    assert_eq!(groups["groups"].as_array().unwrap().len(), 1, "{groups}");
    let index = ask("GET /openapi/v3").await.expect(200);
    assert_eq!(index["paths"].as_object().unwrap().keys().collect::<Vec<_>>(), ["apis/ours.example/v1"]);
    let whole = ask("GET /openapi/v2").await.expect(200);
    let paths: Vec<&String> = whole["paths"].as_object().unwrap().keys().collect();
    assert!(paths.iter().all(|path| path.starts_with("/apis/ours.example/")), "{paths:?}");
    let meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    assert!(whole["definitions"].get(meta).is_some(), "{}", whole["definitions"]);
    ask("GET /api/v1/namespaces").await.refused(404);
    ask("GET /apis/apps/v1/deployments").await.refused(404);
    ask("GET /clusters/other/apis/ours.example/v1/things").await.refused(404);
    ask("GET /apis/ours.example/v1/things").await.expect(200);
}

#[tokio::test]
async fn headers_of_others_are_no_names_and_masters_of_the_host_are_so_in_one_workspace() {
    let (stage, oracle) = stage().await;
    for peer in [Peer::default(), front("back")] {
        let (_, message) = through(&stage, peer, "ada", &format!("GET {THINGS}"), None).await.refused(403);
        assert!(message.contains("system:anonymous"), "{message}");
    }
    assert!(oracle.0.lock().iter().all(|question| !question.foreign));
    // Whoever shows a certificate of the host is its own, too.
    let master = User { foreign: true, ..User::authenticated("root", vec!["system:masters".to_owned()]) };
    let ask = async |path: &str| {
        let request = Request::builder().uri(path).extension(Peer::user(master.clone()));
        stage.answer(request.body(Body::empty()).unwrap()).await
    };
    ask("/api/v1/namespaces").await.expect(200);
    ask("/clusters/other/api/v1/namespaces").await.refused(403);
}

#[tokio::test]
async fn a_webhook_decides_after_the_roles_about_everything_that_a_request_needs() {
    let (stage, oracle) = stage().await;
    let carol = || Peer::user(User::authenticated("carol", Vec::new()));
    let send = async |line: &str, headers: &[(&str, &str)]| {
        let (method, uri) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(uri).extension(carol());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c" } });
        stage.answer(request.header("content-type", "application/json").body(body.to_string().into()).unwrap()).await
    };
    let apply = "PATCH /api/v1/namespaces/n/configmaps/c?fieldManager=m";
    send(apply, &[("content-type", "application/apply-patch+yaml")]).await;
    send("PUT /api/v1/namespaces/n/services/s", &[]).await;
    let verbs: Vec<Value> =
        oracle.0.lock().iter().map(|asked| asked.spec["resourceAttributes"]["verb"].clone()).collect();
    assert!(verbs.contains(&json!("patch")) && verbs.contains(&json!("update")), "{verbs:?}");
    let asked = oracle.0.lock()[0].clone();
    assert_eq!(asked.spec["extra"], json!({ "authorization.kubernetes.io/cluster-name": ["home"] }));
    // Acting as somebody else is asked about like anything else; then it is about them.
    let (_, message) = send("GET /api/v1/nodes", &[("impersonate-user", "bob")]).await.refused(403);
    assert!(message.contains("User \"bob\" cannot list"), "{message}");
}

#[tokio::test]
async fn whoever_decides_is_told_which_objects_are_selected() {
    let (stage, oracle) = stage().await;
    let ask = async |line: &str, body: Value| {
        let (method, uri) = line.split_once(' ').unwrap();
        let carol = Peer::user(User::authenticated("carol", Vec::new()));
        let request = Request::builder().method(method).uri(uri).extension(carol);
        let request = request.header("content-type", "application/json");
        stage.answer(request.body(body.to_string().into()).unwrap()).await
    };
    let told = |at: usize| {
        let about = oracle.0.lock()[at].spec["resourceAttributes"].clone();
        json!([about["verb"], about["name"], about["fieldSelector"], about["labelSelector"]])
    };
    let one = |key: &str, operator: &str, value: &str| json!({ "key": key, "operator": operator, "values": [value] });
    let named = json!({ "requirements": [one("metadata.name", "In", "x")] });
    let labelled = json!({ "requirements": [one("a", "In", "b")] });
    // As `kubectl get pods -l a=b --field-selector metadata.name=x` asks for it.
    let pods = "/api/v1/namespaces/n/pods";
    let query = "fieldSelector=metadata.name%3Dx&labelSelector=a%3Db";
    ask(&format!("GET {pods}?{query}&limit=500"), Value::Null).await.expect(200);
    assert_eq!(told(0), json!(["list", "x", named, labelled]));
    ask(&format!("DELETE {pods}?{query}"), json!({})).await.expect(200);
    assert_eq!(told(1), json!(["deletecollection", null, named, labelled]));
    ask(&format!("GET {pods}/x?{query}"), Value::Null).await.refused(404);
    assert_eq!(told(2), json!(["get", "x", null, null]));
    ask(&format!("GET {pods}?fieldSelector=nonsense"), Value::Null).await.refused(400);
    assert_eq!(told(3), json!(["list", null, null, null]), "what cannot be read is asked for as a whole");
    // Whoever asks about others is answered by the same people, with the same words.
    let selectors = [
        json!({ "rawSelector": "a=b" }),
        json!({ "requirements": [one("a", "In", "b"), { "key": "c", "operator": "Odd" }] }),
    ];
    for (at, selector) in selectors.into_iter().enumerate() {
        let about = json!({ "verb": "list", "version": "v1", "resource": "pods", "labelSelector": selector });
        let review = json!({ "spec": { "resourceAttributes": about } });
        let line = "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let status = ask(line, review).await.expect(201)["status"].clone();
        assert_eq!((&status["allowed"], &status["reason"]), (&json!(true), &json!("theirs")));
        let partly = "spec.resourceAttributes.labelSelector partially ignored due to parse error";
        assert_eq!(status.get("evaluationError"), (at == 1).then(|| json!(partly)).as_ref());
        let last = oracle.0.lock().len() - 1;
        assert_eq!(told(last), json!(["list", null, null, labelled]));
        assert_eq!(oracle.0.lock()[last].spec["resourceAttributes"]["version"], "v1");
    }
}
