//! certificates.k8s.io: requests for certificates, and bundles to trust.

use serde_json::Value;

use super::age::human_duration;
use super::column::{AGE, Column, NAME, text};
use super::look::Look;
use super::subject::Subject;
use super::words::{NONE, labels, or_none};
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[
    Printer { kind: "CertificateSigningRequest", columns: SIGNING_REQUEST, row: signing_request },
    Printer {
        kind: "ClusterTrustBundle",
        columns: &[NAME, text("SignerName", "signerName indicates the associated signer, if any.")],
        row: |it| row![it.name(), or_none(it.text("spec.signerName"))],
    },
    Printer { kind: "PodCertificateRequest", columns: POD_REQUEST, row: pod_request },
];

const SIGNING_REQUEST: &[Column] = &[
    NAME,
    AGE,
    text("SignerName", "Requested signer for the request."),
    text("Requestor", "Base64-encoded PKCS#10 CSR data"),
    text("RequestedDuration", "expirationSeconds is the requested duration of validity of the issued certificate."),
    text("Condition", "Conditions applied to the request, such as approval or denial."),
];

const POD_REQUEST: &[Column] = &[
    NAME,
    text("PodName", "podName is the name of the pod into which the certificate will be mounted."),
    text("ServiceAccountName", "serviceAccountName is the name of the service account the pod is running as."),
    text("NodeName", "nodeName is the name of the node the pod is assigned to."),
    text("SignerName", "signerName indicates the requested signer."),
    text("State", "Is the request Pending, Issued, Denied, or Failed?"),
    text("UnverifiedUserAnnotations", "unverifiedUserAnnotations allow pod authors to pass additional information"),
];

fn signing_request(it: &Subject<'_>) -> Vec<Value> {
    let duration = match it.at("spec.expirationSeconds").and_then(Value::as_i64) {
        Some(seconds) => human_duration(seconds.saturating_mul(1_000_000_000)),
        None => NONE.to_owned(),
    };
    row![
        it.name(),
        it.age(),
        or_none(it.text("spec.signerName")),
        it.text("spec.username"),
        duration,
        signing_status(it),
    ]
}

fn signing_status(request: &Value) -> String {
    let has = |kind| request.condition(kind).is_some();
    let decision = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = if request.text("status.certificate").is_empty() { "" } else { ",Issued" };
    format!("{decision}{failed}{issued}")
}

fn pod_request(it: &Subject<'_>) -> Vec<Value> {
    let mut kinds = it.list("status.conditions").iter().map(|condition| condition.text("type"));
    let state = kinds.rfind(|kind| matches!(*kind, "Issued" | "Denied" | "Failed")).unwrap_or("Pending");
    row![
        it.name(),
        it.text("spec.podName"),
        it.text("spec.serviceAccountName"),
        it.text("spec.nodeName"),
        it.text("spec.signerName"),
        state,
        labels(it.map("spec.unverifiedUserAnnotations")),
    ]
}
