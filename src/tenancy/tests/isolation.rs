//! What users of one workspace see of another: nothing. Requests go through the whole pipeline; the other workspace holds
//! bytes that are nowhere else, and every answer is searched for them.

use super::platform::definition;
use crate::bootstrap;
use crate::definitions::{catalog, definitions};
use crate::tenancy::projects::PROJECTS;
use crate::tenancy::words::WORKSPACES;
use crate::tenancy::{Finder, HOME, ROOT, Tenancy, seed};
use apiserver::ambient::Ambient;
use apiserver::api::{Api, FindWorkspace};
use apiserver::auth::{TokenIssuer, User};
use apiserver::authn::file::TokenFile;
use apiserver::authn::header::FrontProxy;
use apiserver::authn::{Authentication, Trusted};
use apiserver::client::Client;
use apiserver::keyspace;
use apiserver::pipeline::{Limits, Peer, Pipeline, pipeline};
use apiserver::place::{Collection, Workspace};
use apiserver::resources::Resources;
use axum::body::Body;
use axum::response::Response;
use futures_util::FutureExt;
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::sync::Arc;
use storage::{Options, Place, Store};
use tower::ServiceExt;

const PRIVATE: &str = include_str!("../../../apiserver/tests/api/key.pem");
const PUBLIC: &str = include_str!("../../../apiserver/tests/api/key.pub.pem");
const RBAC: &str = "rbac.authorization.k8s.io";

/// In the other workspace, and nowhere else.
const CANARY: &str = "c4n4ry";
/// What everybody can guess that it is called: a refusal may repeat what was asked for.
const GUESSED: &str = "known-map";

pub(super) struct House {
    pub(super) router: Pipeline,
    pub(super) api: Api,
    pub(super) client: Client,
    finder: Finder,
}

/// Ann's project, and Bob's.
const PROJECTS_OF: [&str; 2] = ["ann-p", "ann-p-b"];

/// Ann's workspaces and Bob's: one name begins like the other, one is as long as a name can be.
fn anns() -> [String; 2] {
    ["root:ann".to_owned(), format!("root:{}", "x".repeat(63))]
}

fn bobs() -> [String; 2] {
    ["root:ann-b".to_owned(), format!("root:{}y", "x".repeat(62))]
}

impl House {
    pub(super) async fn new() -> Self {
        let counted = Options { share_of: Some(keyspace::owner), ..Options::default() };
        let store = Store::open(&Place::Memory, counted).unwrap();
        let catalog = Arc::new(catalog(definitions()));
        let tenancy = Arc::new(Tenancy::new("https://hanse".to_owned(), bootstrap::rules()));
        let resources = Resources::attended(store, catalog, Ambient::real(), tenancy);
        let client = Client::as_system(resources.clone(), "tenancy");
        seed::seed(&client, "https://hanse").await.unwrap();
        let finder = Finder::new(client.clone());
        let tokens = TokenIssuer::new("https://issuer", PRIVATE.as_bytes(), PUBLIC.as_bytes()).unwrap();
        let authentication =
            Authentication::new(Some(FrontProxy::default()), TokenFile::default(), None, Trusted::default());
        let api = Api::new(resources, Arc::new(finder.clone()), tokens, Arc::new(authentication), None, json!({}));
        let house = Self { router: pipeline(api.clone(), Limits::default()), api, client, finder };
        for path in anns() {
            house.workspace(&path, "ann").await;
        }
        for path in bobs() {
            house.workspace(&path, "bob").await;
            for name in [GUESSED, &format!("{CANARY}-map")] {
                let map = json!({ "metadata": { "name": name, "labels": { "app": CANARY } }, "data": { "k": CANARY } });
                house.put(("", "v1", "configmaps"), &path, Some("default"), map).await;
            }
            let spec = json!({ "additionalWorkspaceLabels": { "tier": CANARY } });
            let kind = json!({ "metadata": { "name": "special" }, "spec": spec });
            house.put(("tenancy.kcp.io", "v1alpha1", "workspacetypes"), &path, None, kind).await;
        }
        house
    }

    /// A project of each, and in Bob's something of a kind that both have from where projects are made.
    async fn projects(&self) {
        let definitions = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        self.put(definitions, HOME, None, definition("widgets", "Widget", "size")).await;
        for (project, owner) in PROJECTS_OF.into_iter().zip(["ann", "bob"]) {
            self.put(PROJECTS, HOME, None, json!({ "metadata": { "name": project } })).await;
            let subject = json!({ "kind": "User", "apiGroup": RBAC, "name": owner });
            self.bind(&format!("{HOME}:{project}"), "owner", "cluster-admin", subject).await;
        }
        let workspace = self.find(&format!("{HOME}:{}", PROJECTS_OF[1]));
        let resource = self.client.catalog(&workspace).unwrap().find("example.com", "v1", "widgets").unwrap().clone();
        let place = Collection { resource, workspace, namespace: Some("default".to_owned()) };
        let spec = json!({ "size": 1, "color": CANARY });
        let widget = json!({ "metadata": { "name": GUESSED, "labels": { "app": CANARY } }, "spec": spec });
        self.client.create(&place, widget).await.unwrap();
    }

    pub(super) fn find(&self, path: &str) -> Workspace {
        self.finder.find(Some(path)).unwrap()
    }

    pub(super) async fn put(&self, resource: (&str, &str, &str), path: &str, namespace: Option<&str>, object: Value) {
        let place = self.client.at(resource, &self.find(path), namespace).unwrap();
        self.client.create(&place, object).await.unwrap();
    }

    async fn workspace(&self, path: &str, owner: &str) {
        let name = path.rsplit(':').next().unwrap();
        let workspaces = self.client.at(WORKSPACES, &Workspace::new(ROOT), None).unwrap();
        self.client.create(&workspaces, json!({ "metadata": { "name": name } })).await.unwrap();
        self.bind(path, "owner", "cluster-admin", json!({ "kind": "User", "apiGroup": RBAC, "name": owner })).await;
    }

    pub(super) async fn bind(&self, path: &str, name: &str, role: &str, subject: Value) {
        let role = json!({ "apiGroup": RBAC, "kind": "ClusterRole", "name": role });
        let binding = json!({ "metadata": { "name": name }, "roleRef": role, "subjects": [subject] });
        self.put((RBAC, "v1", "clusterrolebindings"), path, None, binding).await;
    }

    /// Gives Ann back what she has taken from herself: she may do everything in her workspaces, that too.
    async fn restore(&self) {
        let role = json!({ "apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin" });
        let ann = json!({ "kind": "User", "apiGroup": RBAC, "name": "ann" });
        let binding = json!({ "metadata": { "name": "owner" }, "roleRef": role, "subjects": [ann] });
        for path in anns().into_iter().chain([format!("{HOME}:{}", PROJECTS_OF[0])]) {
            let place = self.client.at((RBAC, "v1", "clusterrolebindings"), &self.find(&path), None).unwrap();
            self.client.ensure(&place, binding.clone()).await.unwrap();
        }
    }

    /// What is answered at once: a watch that says nothing is not waited for.
    pub(super) async fn ask(&self, peer: Peer, line: &str, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
        let (parts, mut body) = self.answer(peer, line, headers, body).await.into_parts();
        let mut bytes = format!("{:?}", parts.headers.get("warning")).into_bytes();
        if parts.headers.contains_key("content-length") {
            bytes.extend(body.collect().await.unwrap().to_bytes());
        } else {
            while let Some(Some(Ok(frame))) = body.frame().now_or_never() {
                bytes.extend(frame.into_data().unwrap_or_default());
            }
        }
        (parts.status.as_u16(), String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What somebody is warned of: `299 - "text"`, without what is around the text.
    pub(super) async fn warned(
        &self,
        peer: Peer,
        line: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> (u16, Vec<String>) {
        let response = self.answer(peer, line, headers, body).await;
        let warnings = response.headers().get_all("warning").iter().map(|warning| {
            let text = warning.to_str().unwrap().strip_prefix("299 - ").unwrap();
            serde_json::from_str(text).unwrap()
        });
        (response.status().as_u16(), warnings.collect())
    }

    async fn answer(&self, peer: Peer, line: &str, headers: &[(&str, &str)], body: &Value) -> Response {
        let (method, uri) = line.split_once(' ').unwrap();
        let mut request = Request::builder().method(method).uri(uri).extension(peer);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let request = request.header("content-type", "application/json").body(body).unwrap();
        self.router.clone().oneshot(request).await.unwrap()
    }

    async fn as_ann(&self, line: &str, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
        self.ask(Peer::user(User::authenticated("ann", Vec::new())), line, headers, body).await
    }
}

#[tokio::test]
async fn a_workspace_that_is_not_there_and_one_that_is_closed_answer_alike() {
    let house = House::new().await;
    for line in ["GET ", "GET /api/v1/pods", "PUT /api/v1/pods", "DELETE /apis/x.example/v1/things/t", "GET /apis"] {
        let (method, rest) = line.split_once(' ').unwrap();
        for headers in [&[][..], &[("impersonate-user", "bob")][..]] {
            let closed = house.as_ann(&format!("{method} /clusters/{}{rest}", bobs()[0]), headers, &Value::Null).await;
            let nowhere = house.as_ann(&format!("{method} /clusters/root:nowhere{rest}"), headers, &Value::Null).await;
            assert_eq!(closed, nowhere, "{line}");
            assert_eq!(closed.0, 403, "{line}");
            assert!(closed.1.contains("workspace access not permitted"), "{}", closed.1);
        }
    }
    let (code, _) =
        house.as_ann("GET /clusters/root:ann/api/v1/namespaces/default/configmaps", &[], &Value::Null).await;
    assert_eq!(code, 200);
}

/// Impersonation crosses workspaces.
#[tokio::test]
async fn ghsa_c7xh_gjv4_4jgv() {
    let house = House::new().await;
    let headers = [("impersonate-user", "root"), ("impersonate-group", "system:masters")];
    for path in ["root:ann", &*bobs()[0], ROOT] {
        let line = format!("GET /clusters/{path}/api/v1/secrets");
        assert_eq!(house.as_ann(&line, &headers, &Value::Null).await.0, 403, "{path}");
    }
    let line = format!("GET /clusters/{}/api/v1/secrets", bobs()[0]);
    assert_eq!(house.as_ann(&line, &[("impersonate-user", "bob")], &Value::Null).await.0, 403);
}

/// Headers that only a front proxy may send are taken from others.
#[tokio::test]
async fn ghsa_c8w2_fgvx_vhv4() {
    let house = House::new().await;
    let warrant = r#"{"user":"admin","groups":["system:masters"]}"#;
    let headers = [
        ("x-remote-group", "system:masters"),
        ("x-remote-user", "bob"),
        ("x-remote-extra-authorization.kcp.io%2fwarrant", warrant),
    ];
    let line = format!("GET /clusters/{}/api/v1/secrets", bobs()[0]);
    assert_eq!(house.as_ann(&line, &headers, &Value::Null).await.0, 403);
    assert_eq!(house.ask(Peer::default(), &line, &headers, &Value::Null).await.0, 403);
}

/// A warrant that somebody gives themselves by impersonation (kcp pull request 4226).
#[tokio::test]
async fn a_warrant_cannot_be_impersonated() {
    let house = House::new().await;
    let warrant = r#"{"user":"bob","groups":["system:masters"]}"#;
    let headers = [("impersonate-user", "ann"), ("impersonate-extra-authorization.kcp.io%2fwarrant", warrant)];
    for path in ["root:ann", &*bobs()[0]] {
        let line = format!("GET /clusters/{path}/api/v1/namespaces");
        assert_eq!(house.as_ann(&line, &headers, &Value::Null).await.0, 403, "{path}");
    }
}

/// Objects made and states changed through virtual workspaces (also GHSA-q6hv-wcjr-wp8h): there is no such way in.
#[tokio::test]
async fn cve_2025_29922() {
    let house = House::new().await;
    let id = house.find(&bobs()[0]);
    for line in [
        format!("POST /services/apiexport/root:ann/x/clusters/{id}/api/v1/namespaces/default/configmaps"),
        format!(
            "PATCH /services/initializingworkspaces/root:x/clusters/{id}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster/status"
        ),
    ] {
        let (code, text) = house.as_ann(&line, &[], &json!({ "metadata": { "name": "x" } })).await;
        assert!(matches!(code, 401 | 403 | 404) && !text.contains(CANARY), "{code} {text}");
    }
}

#[tokio::test]
async fn an_account_of_another_workspace_is_a_foreigner() {
    let house = House::new().await;
    let accounts = "/clusters/root:ann/api/v1/namespaces/default/serviceaccounts";
    house.as_ann(&format!("POST {accounts}"), &[], &json!({ "metadata": { "name": "robot" } })).await;
    let (code, text) = house.as_ann(&format!("POST {accounts}/robot/token"), &[], &json!({ "spec": {} })).await;
    assert_eq!(code, 201, "{text}");
    let start = text.find('{').unwrap();
    let made: Value = serde_json::from_str(&text[start..]).unwrap();
    let bearer = format!("Bearer {}", made["status"]["token"].as_str().unwrap());
    let headers = [("authorization", &*bearer)];
    let bob = &bobs()[0];
    // An account of the same name there is somebody else.
    house.put(("", "v1", "serviceaccounts"), bob, Some("default"), json!({ "metadata": { "name": "robot" } })).await;
    let local = json!({ "kind": "ServiceAccount", "namespace": "default", "name": "robot" });
    house.bind(bob, "local", "cluster-admin", local).await;
    let line = format!("GET /clusters/{bob}/api/v1/namespaces");
    let foreigner = format!("system:kcp:serviceaccount:{}:default:robot", house.find("root:ann"));
    let (code, text) = house.ask(Peer::default(), &line, &headers, &Value::Null).await;
    assert!(code == 403 && text.contains(&foreigner), "{code} {text}");
    house.bind(bob, "foreign", "cluster-admin", json!({ "kind": "User", "apiGroup": RBAC, "name": foreigner })).await;
    assert_eq!(house.ask(Peer::default(), &line, &headers, &Value::Null).await.0, 200);
}

/// A number that follows from the seed and the numbers before.
struct Dice(u64);

impl Dice {
    fn pick<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all[usize::try_from(self.0 >> 33).unwrap() % all.len()]
    }
}

#[tokio::test]
async fn no_byte_of_another_workspace_is_ever_answered() {
    let house = House::new().await;
    house.projects().await;
    // `HANSE_ISOLATION_REQUESTS=100000` for the whole proof.
    let asked = std::env::var("HANSE_ISOLATION_REQUESTS").ok().and_then(|text| text.parse().ok());
    let (count, mut dice, mut codes) = (asked.unwrap_or(3_000), Dice(7), std::collections::BTreeMap::new());
    let (own, others) = (anns(), bobs());
    let ids: Vec<String> = others.iter().map(|path| house.find(path).to_string()).collect();
    let (places, rests, bodies) = (places(&own, &others, &ids), rests(&ids[0]), bodies(&others, &ids));
    let queries = [
        "",
        "?watch=true&resourceVersion=1&timeoutSeconds=1",
        "?limit=1",
        "?labelSelector=app",
        "?limit=500&resourceVersion=0",
        "?fieldSelector=metadata.name%3Dknown-map",
        "?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
        "?sendInitialEvents=true&watch=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
        "?pretty=true",
    ];
    let accepts = [
        "application/json",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
        "application/yaml",
    ];
    let disguises = [
        ("x-nothing", ""),
        ("impersonate-user", "bob"),
        ("impersonate-group", "system:masters"),
        ("x-remote-user", "bob"),
        ("authorization", "Bearer a.b.c"),
    ];
    let methods = ["GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
    for number in 0..count {
        if number % 1000 == 0 {
            house.restore().await;
        }
        let (place, rest) = (dice.pick(&refs(&places)), dice.pick(&refs(&rests)));
        let (method, query) = (dice.pick(&methods), dice.pick(&queries));
        let disguise = disguises[dice.pick(&["0", "0", "0", "1", "2", "3", "4"]).parse::<usize>().unwrap()];
        let line = format!("{method} {place}{rest}{query}");
        if line.parse::<http::Uri>().is_err() && line.split_once(' ').unwrap().1.parse::<http::Uri>().is_err() {
            continue;
        }
        let body = &bodies[dice.pick(&["0", "1", "2", "3", "4", "5"]).parse::<usize>().unwrap()];
        let headers = [("accept", dice.pick(&accepts)), disguise];
        let (code, text) = house.as_ann(&line, &headers, body).await;
        assert!(!text.contains(CANARY), "{line} {headers:?} {body}: {code} {text}");
        assert!(code < 500 || code == 504, "{line} {headers:?} {body}: {code} {text}");
        *codes.entry(code).or_insert(0usize) += 1;
    }
    println!("{codes:?}");
    // Not everything was refused, or nothing would have been tried.
    assert!(codes.get(&200).is_some_and(|found| *found > count / 100), "{codes:?}");
    let (code, text) =
        house.as_ann("GET /projects/ann-p/control-plane/apis/example.com/v1/widgets", &[], &Value::Null).await;
    assert_eq!(code, 200, "{text}");
    let kept = house.client.at(("", "v1", "configmaps"), &house.find(&others[0]), Some("default")).unwrap();
    for name in [GUESSED, &format!("{CANARY}-map")] {
        assert!(house.client.get(&kept.object(name)).await.unwrap().is_some());
    }
}

/// Every way to name a workspace, and some that are none.
fn places(own: &[String], others: &[String], ids: &[String]) -> Vec<String> {
    let mut places: Vec<String> = vec![String::new(), "/clusters/*".to_owned(), "/clusters/root".to_owned()];
    for project in PROJECTS_OF {
        places.push(format!("/projects/{project}/control-plane"));
        places.push(format!("/apis/resourcemanager.miloapis.com/v1alpha1/projects/{project}/control-plane"));
        places.push(format!("/projects/ann-p/control-plane/projects/{project}/control-plane"));
        places.push(format!("/clusters/{HOME}:{project}"));
    }
    for path in own.iter().chain(others).chain(ids) {
        places.push(format!("/clusters/{path}"));
        places.push(format!("/clusters/root:ann/clusters/{path}"));
        places.push(format!("/clusters/root:ann/../{path}"));
        places.push(format!("//clusters//{path}"));
        places.push(format!("/clusters/root%3Aann%2F..%2F{path}"));
        places.push(format!("/clusters/{path}:"));
        places.push(format!("/clusters/root:ann%00{path}"));
        places.push(format!("/services/apiexport/{path}/x/clusters/*"));
    }
    places
}

/// What is asked for there. `id` is the workspace of somebody else.
fn rests(id: &str) -> Vec<String> {
    let rests = [
        "/api/v1/configmaps",
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces",
        "/apis",
        "/api",
        "/metrics",
        "/openapi/v3",
        "/apis/tenancy.kcp.io/v1alpha1/workspacetypes",
        "/apis/core.kcp.io/v1alpha1/logicalclusters",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        "/api/v1/watch/configmaps",
        "/apis/example.com/v1/widgets",
        "/apis/example.com/v1/widgets:default",
        "/apis/example.com/v1/watch/widgets",
        "/apis/example.com/v1/namespaces/default/widgets",
        "/api/v1/namespaces/%2e%2e%2f/configmaps",
        "/apis/tenancy.kcp.io/v1alpha1/workspaces",
        "/api/v1/namespaces/default%2F..%2F..%2F/configmaps",
        "/api/v1/namespaces/\u{fc}/configmaps",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    ];
    let mut rests: Vec<String> = rests.iter().map(|rest| rest.replace('\u{fc}', "%C3%BC")).collect();
    rests.push(format!("/api/v1/namespaces/default/configmaps/{GUESSED}"));
    rests.push(format!("/api/v1/namespaces/default/configmaps/..%2F..%2F{id}%2Fdefault%2F{GUESSED}"));
    rests.push(format!("/api/v1/namespaces/..%2F{id}/configmaps"));
    rests.push(format!("/apis/example.com/v1/namespaces/default/widgets/{GUESSED}"));
    rests
}

fn bodies(others: &[String], ids: &[String]) -> Vec<Value> {
    vec![
        Value::Null,
        json!({ "metadata": { "name": "n" } }),
        json!({ "metadata": { "name": "w" }, "spec": { "type": { "name": "special", "path": others[0] } } }),
        json!({ "metadata": { "name": "v" }, "spec": { "type": { "name": "special", "path": ids[0] } } }),
        json!({ "metadata": { "annotations": { "kcp.io/path": others[0] } } }),
        json!({ "spec": { "namespace": "default" } }),
    ]
}

fn refs(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}
