//! Webhooks in the path of a write, and between the versions of a custom resource, over real connections.

use crate::stage::Stage;
use apiserver::pipeline::Peer;
use apiserver::serve::{Patience, Recognise, serve};
use axum::Router;
use axum::extract::RawQuery;
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_util::sync::CancellationToken;

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";
const CONFIGMAPS: &str = "/api/v1/namespaces/n/configmaps";

/// A server on a port of its own; yields its URL and the certificate to trust it by, in PEM.
pub(crate) async fn https(router: Router) -> (String, String) {
    https_with(router, Patience::default()).await
}

/// The same that waits for clients as long as it is told to.
pub(crate) async fn https_with(router: Router, patience: Patience) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut tls = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let nobody = Arc::new(|_: &[CertificateDer<'static>]| Peer::default());
    let peers: (Recognise, Patience) = (nobody, patience);
    tokio::spawn(serve(listener, Arc::new(tls), peers, router, CancellationToken::new()));
    let pem =
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate.der()));
    (format!("https://localhost:{port}"), pem)
}

/// A hook that answers as `answer` does; yields how it is reached.
async fn hook(answer: fn(&Value) -> Value) -> Value {
    let (told, _) = tokio::sync::mpsc::channel(1);
    hook_hearing(answer, told).await
}

/// The same, that passes on the query that it was asked with.
async fn hook_hearing(answer: fn(&Value) -> Value, told: tokio::sync::mpsc::Sender<String>) -> Value {
    let ask = async move |RawQuery(query): RawQuery, asked: String| {
        // Not everybody listens.
        drop(told.try_send(query.unwrap_or_default()));
        answer(&serde_json::from_str(&asked).unwrap()).to_string()
    };
    let (url, pem) = https(Router::new().route("/", post(ask))).await;
    json!({ "url": format!("{url}/"), "caBundle": STANDARD.encode(pem) })
}

fn review(asked: &Value, mut response: Value) -> Value {
    response["uid"] = asked["request"]["uid"].clone();
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
}

fn labels(asked: &Value) -> Value {
    let patch = json!([{ "op": "add", "path": "/metadata/labels", "value": { "seen": "yes" } }]).to_string();
    review(
        asked,
        json!({
            "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch), "warnings": ["it was labelled"],
        }),
    )
}

/// Only what was labelled may be made, and nothing may go.
fn refuses(asked: &Value) -> Value {
    let request = &asked["request"];
    let labelled = request["object"]["metadata"]["labels"]["seen"] == "yes";
    let allowed = request["operation"] != "DELETE" && labelled;
    review(asked, json!({ "allowed": allowed, "status": { "message": "not this one" } }))
}

async fn configure(stage: &Stage, plural: &str, kind: &str, config: Value, operations: &[&str]) {
    let rule =
        json!({ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": operations });
    let webhook = json!({
        "name": "h.example.com", "clientConfig": config, "rules": [rule], "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    let object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": "h" }, "webhooks": [webhook],
    });
    stage.send(&format!("POST {CONFIGURATIONS}/{plural}"), &object).await.expect(201);
}

#[tokio::test]
async fn a_hook_changes_what_is_written_and_another_refuses_it() {
    let stage = Stage::new().await;
    let validating = ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration");
    configure(&stage, validating.0, validating.1, hook(refuses).await, &["*"]).await;
    let object = json!({ "metadata": { "name": "a" } });
    let (_, message) = stage.send(&format!("POST {CONFIGMAPS}"), &object).await.refused(400);
    assert_eq!(message, "admission webhook \"h.example.com\" denied the request: not this one");
    let mutating = ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration");
    configure(&stage, mutating.0, mutating.1, hook(labels).await, &["CREATE"]).await;
    let made = stage.send(&format!("POST {CONFIGMAPS}"), &object).await;
    assert_eq!(made.header("warning"), Some("299 - \"it was labelled\""));
    assert_eq!(made.expect(201)["metadata"]["labels"], json!({ "seen": "yes" }));
    stage.ask(&format!("DELETE {CONFIGMAPS}/a")).await.refused(400);
    stage.ask(&format!("DELETE {CONFIGURATIONS}/{}/h", validating.0)).await.expect(200);
    stage.ask(&format!("DELETE {CONFIGMAPS}/a")).await.expect(200);
}

/// Labels what has no such label, and tells how often it was asked by the value of another.
fn counts(asked: &Value) -> Value {
    let labels = &asked["request"]["object"]["metadata"]["labels"];
    let asked_before = labels["asked"].as_str().map_or(0, |text| text.parse::<u32>().unwrap());
    let patch = json!([{ "op": "add", "path": "/metadata/labels/asked", "value": (asked_before + 1).to_string() }]);
    let patch = STANDARD.encode(patch.to_string());
    review(asked, json!({ "allowed": true, "patchType": "JSONPatch", "patch": patch }))
}

/// A policy that says in a label whether it saw what the hook did, and reacts to that.
async fn policy(stage: &Stage, again: &str) {
    let expression =
        "Object{metadata: Object.metadata{labels: {'policy': 'asked' in object.metadata.labels ? 'after' : 'before'}}}";
    let rule =
        json!({ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"] });
    let mutation = json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } });
    let spec = json!({
        "matchConstraints": { "resourceRules": [rule] }, "mutations": [mutation], "reinvocationPolicy": again,
    });
    let made = json!({ "metadata": { "name": "p" }, "spec": spec });
    stage.send(&format!("POST {CONFIGURATIONS}/mutatingadmissionpolicies"), &made).await.expect(201);
    let bound = json!({ "metadata": { "name": "p" }, "spec": { "policyName": "p" } });
    stage.send(&format!("POST {CONFIGURATIONS}/mutatingadmissionpolicybindings"), &bound).await.expect(201);
}

#[tokio::test]
async fn a_policy_sees_what_a_hook_changed_and_a_hook_what_the_policy_made_of_it() {
    let check = async |of_policy: &str, of_hook: &str, expect: Value| {
        let stage = Stage::new().await;
        policy(&stage, of_policy).await;
        let mutating = ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration");
        configure(&stage, mutating.0, mutating.1, hook(counts).await, &["CREATE"]).await;
        let patch = json!([{ "op": "add", "path": "/webhooks/0/reinvocationPolicy", "value": of_hook }]).to_string();
        let path = format!("PATCH {CONFIGURATIONS}/{}/h", mutating.0);
        stage.send_as(&path, "application/json-patch+json", patch).await.expect(200);
        let object = json!({ "metadata": { "name": "a", "labels": { "own": "1" } } });
        let made = stage.send(&format!("POST {CONFIGMAPS}"), &object).await.expect(201);
        assert_eq!(made["metadata"]["labels"], expect, "{of_policy} {of_hook}");
    };
    check("Never", "Never", json!({ "own": "1", "asked": "1", "policy": "before" })).await;
    check("IfNeeded", "Never", json!({ "own": "1", "asked": "1", "policy": "after" })).await;
    check("IfNeeded", "IfNeeded", json!({ "own": "1", "asked": "2", "policy": "after" })).await;
    check("Never", "IfNeeded", json!({ "own": "1", "asked": "1", "policy": "before" })).await;
}

#[tokio::test]
async fn a_hook_is_told_how_long_somebody_waits() {
    let stage = Stage::new().await;
    let (told, mut heard) = tokio::sync::mpsc::channel(4);
    let config = hook_hearing(refuses, told).await;
    configure(&stage, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", config, &["CREATE"]).await;
    let object = json!({ "metadata": { "name": "a" } });
    for (asked, expect) in [("", "timeout=10s"), ("?timeout=3s", "timeout=3s"), ("?timeout=30s", "timeout=10s")] {
        stage.send(&format!("POST {CONFIGMAPS}{asked}"), &object).await.refused(400);
        assert_eq!(heard.recv().await.unwrap(), expect);
    }
    stage.configmap("b", json!({ "seen": "yes" })).await;
    stage.ask(&format!("DELETE {CONFIGMAPS}/b?timeout=2s")).await.expect(200);
}

#[tokio::test]
async fn a_hook_of_one_workspace_is_not_asked_in_another() {
    let stage = Stage::new().await;
    configure(&stage, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", hook(refuses).await, &["*"])
        .await;
    stage.send("POST /clusters/other/api/v1/namespaces", &json!({ "metadata": { "name": "n" } })).await.expect(201);
    let object = json!({ "metadata": { "name": "a" } });
    stage.send("POST /clusters/other/api/v1/namespaces/n/configmaps", &object).await.expect(201);
}

#[tokio::test]
async fn a_hook_that_cannot_be_reached_costs_its_own_requests() {
    let stage = Stage::new().await;
    let nowhere = json!({ "url": "https://localhost:1/" });
    configure(&stage, "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", nowhere, &["CREATE"]).await;
    let object = json!({ "metadata": { "name": "a" } });
    let (_, message) = stage.send(&format!("POST {CONFIGMAPS}"), &object).await.refused(500);
    assert!(message.contains("failed calling webhook \"h.example.com\""), "{message}");
    stage.send("POST /api/v1/namespaces", &json!({ "metadata": { "name": "m" } })).await.expect(201);
}

/// `spec.size` of one version is `spec.width` of the other.
fn renames(asked: &Value) -> Value {
    let desired = &asked["request"]["desiredAPIVersion"];
    let converted = asked["request"]["objects"].as_array().unwrap().iter().map(|object| {
        let mut object = object.clone();
        let spec = object["spec"].as_object_mut().unwrap();
        let (from, to) = if desired == "boxes.example.com/v2" { ("size", "width") } else { ("width", "size") };
        if let Some(value) = spec.remove(from) {
            spec.insert(to.to_owned(), value);
        }
        object["apiVersion"] = desired.clone();
        object
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "response": {
            "uid": asked["request"]["uid"], "result": { "status": "Success" },
            "convertedObjects": converted.collect::<Vec<_>>(),
        },
    })
}

#[tokio::test]
async fn a_hook_converts_between_the_versions_of_a_custom_resource() {
    let stage = Stage::new().await;
    let version = |name: &str, stored: bool, field: &str| {
        let spec = json!({ "type": "object", "properties": { field: { "type": "integer" } } });
        let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
        json!({ "name": name, "served": true, "storage": stored, "schema": schema })
    };
    let webhook = json!({ "clientConfig": hook(renames).await, "conversionReviewVersions": ["v1"] });
    let definition = json!({
        "metadata": { "name": "boxes.boxes.example.com" },
        "spec": {
            "group": "boxes.example.com", "scope": "Namespaced", "names": { "plural": "boxes", "kind": "Box" },
            "versions": [version("v1", true, "size"), version("v2", false, "width")],
            "conversion": { "strategy": "Webhook", "webhook": webhook },
        },
    });
    stage.send("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await.expect(201);
    let (one, two) = ("/apis/boxes.example.com/v1/namespaces/n/boxes", "/apis/boxes.example.com/v2/namespaces/n/boxes");
    let object = json!({ "metadata": { "name": "b" }, "spec": { "width": 3 } });
    let made = stage.send(&format!("POST {two}"), &object).await.expect(201);
    assert_eq!((&made["apiVersion"], &made["spec"]), (&json!("boxes.example.com/v2"), &json!({ "width": 3 })));
    let stored = stage.ask(&format!("GET {one}/b")).await.expect(200);
    assert_eq!((&stored["apiVersion"], &stored["spec"]), (&json!("boxes.example.com/v1"), &json!({ "size": 3 })));
    let list = stage.ask(&format!("GET {two}")).await.expect(200);
    assert_eq!(list["items"][0]["spec"], json!({ "width": 3 }));
    let patch = json!({ "spec": { "width": 4 } }).to_string();
    stage.send_as(&format!("PATCH {two}/b"), "application/merge-patch+json", patch).await.expect(200);
    assert_eq!(stage.ask(&format!("GET {one}/b")).await.expect(200)["spec"], json!({ "size": 4 }));
}
