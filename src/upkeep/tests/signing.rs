//! Requests for certificates on a server in memory, up to the certificate.

use super::{PATIENCE, Pace, Resource, World, start};
use crate::upkeep::Signing;
use apiserver::auth::user_of_certificate;
use apiserver::object::Object;
use apiserver::place::Workspace;
use apiserver::strategy::Part;
use certs::Authority;
use openapi::scalar::base64;
use rcgen::{CertificateParams, DnType, KeyPair, SanType};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_util::sync::CancellationToken;

const REQUESTS: Resource = ("certificates.k8s.io", "v1", "certificatesigningrequests");

/// A request for a client's certificate that claims to be good in another workspace.
fn request(user: &str, usages: &[&str]) -> Value {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, user);
    params.distinguished_name.push(DnType::OrganizationName, "dev");
    params.subject_alt_names = vec![SanType::URI("urn:hanse:workspace:root".try_into().unwrap())];
    let der = params.serialize_request(&KeyPair::generate().unwrap()).unwrap();
    let body = base64::encode(der.der());
    let pem = format!("-----BEGIN CERTIFICATE REQUEST-----\n{body}\n-----END CERTIFICATE REQUEST-----\n");
    json!({
        "metadata": { "name": user },
        "spec": {
            "signerName": "kubernetes.io/kube-apiserver-client", "usages": usages, "expirationSeconds": 3600,
            "request": base64::encode(pem.as_bytes()),
        },
    })
}

async fn approve(world: &World, name: &str) {
    let approved = json!({ "status": { "conditions": [{ "type": "Approved", "status": "True", "reason": "r" }] } });
    world.client.merge(&world.at(REQUESTS, None, name), Part::Approval, &approved).await.unwrap();
}

async fn settled(world: &World, name: &str) -> Object {
    let at = world.at(REQUESTS, None, name);
    let is_settled = |request: Option<&Object>| {
        let request = request.unwrap();
        let failed = request.items(&["status", "conditions"]).any(|condition| condition["type"] == "Failed");
        failed || !request.text(&["status", "certificate"]).is_empty()
    };
    world.until(&at, is_settled).await;
    world.get(&at).await.unwrap()
}

#[tokio::test]
async fn who_is_approved_gets_a_certificate_that_is_good_in_its_workspace_alone() {
    let world = World::untidy().await;
    let dir = tempfile::tempdir().unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let authority = Arc::new(Authority::open_or_create(dir.path(), now).unwrap());
    let stop = CancellationToken::new();
    let upkeep = start(&world.client, None, ("PEM", &[]), Pace::default(), &stop);
    upkeep.sign(&world.client, Signing { authority, lasts_max: Duration::from_hours(2) }, &stop);
    world.make(REQUESTS, None, request("ada", &["client auth"])).await;
    world.make(REQUESTS, None, request("bob", &["client auth", "server auth"])).await;
    for name in ["ada", "bob"] {
        approve(&world, name).await;
    }
    let pem = base64::decode(settled(&world, "ada").await.text(&["status", "certificate"])).unwrap();
    assert_eq!(certs::expires(&pem), Some(1_800_000_000 + 3600));
    let user = user_of_certificate(&CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
    assert_eq!((&*user.name, &*user.groups[0]), ("ada", "dev"));
    assert_eq!(user.within, Some(Workspace::new("w")), "whatever the request says");
    let refused = settled(&world, "bob").await;
    let conditions: Vec<&Value> = refused.items(&["status", "conditions"]).collect();
    assert_eq!(conditions[1]["reason"], "SignerValidationFailure");
    assert_eq!(conditions[1]["message"], "invalid usage for client certificate: server auth");
    stop.cancel();
    upkeep.stopped().await;
}

#[tokio::test]
async fn requests_that_are_settled_are_forgotten() {
    let world = World::untidy().await;
    world.make(REQUESTS, None, request("ada", &["client auth"])).await;
    let denied = json!({ "status": { "conditions": [{ "type": "Denied", "status": "True", "reason": "r" }] } });
    let at = world.at(REQUESTS, None, "ada");
    world.client.merge(&at, Part::Approval, &denied).await.unwrap();
    world.clock.fetch_add(3601, Ordering::Relaxed);
    let keeping = world.keep();
    assert!(tokio::time::timeout(PATIENCE, world.until_gone(&at)).await.is_ok());
    keeping.end().await;
}
