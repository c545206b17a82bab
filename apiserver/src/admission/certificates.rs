//! `CertificateSubjectRestriction`: nobody asks for a certificate by which they would be master of everything.
//! `CertificateApproval` and `CertificateSigning`: who may do that is said for each signer.

use super::Attempt;
use crate::auth::{Attributes, Objects};
use crate::error::ApiError;
use crate::object::Object;
use crate::strategy::Part;
use openapi::scalar::base64;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

const SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const MASTERS: &str = "system:masters";

pub(super) fn check_subject(request: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let asked = attempt.makes("certificates.k8s.io", "certificatesigningrequests");
    if !asked || request.text(&["spec", "signerName"]) != SIGNER {
        return Ok(());
    }
    let encoded = request.text(&["spec", "request"]);
    let organizations = base64::decode(encoded).ok().and_then(|pem| organizations(&pem));
    let Some(organizations) = organizations else {
        return Err(attempt.forbidden(request, "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"));
    };
    if organizations.iter().any(|name| name == MASTERS) {
        let why = format!("use of {SIGNER} signer with {MASTERS} group is not allowed");
        return Err(attempt.forbidden(request, &why));
    }
    Ok(())
}

pub(super) fn check_approval(request: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let Some(old) = before(attempt, Part::Approval) else { return Ok(()) };
    let signer = old.text(&["spec", "signerName"]);
    if may(attempt, "approve", signer)? {
        return Ok(());
    }
    Err(attempt.forbidden(request, &format!("user not permitted to approve requests with signerName {signer:?}")))
}

pub(super) fn check_signing(request: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let Some(old) = before(attempt, Part::Status) else { return Ok(()) };
    let same = |field: &str| request.pointer(&["status", field]) == old.pointer(&["status", field]);
    let signer = old.text(&["spec", "signerName"]);
    if same("certificate") && same("conditions") || may(attempt, "sign", signer)? {
        return Ok(());
    }
    Err(attempt.forbidden(request, &format!("user not permitted to sign requests with signerName {signer:?}")))
}

/// The request as it was, if this is about such a part of one.
fn before<'a>(attempt: &Attempt<'a>, part: Part) -> Option<&'a Object> {
    let about = attempt.is_about("certificates.k8s.io", "certificatesigningrequests") && attempt.part == part;
    attempt.old.filter(|_| about)
}

/// Of the signer, or of all signers of its domain.
fn may(attempt: &Attempt<'_>, verb: &str, signer: &str) -> Result<bool, ApiError> {
    let domain = format!("{}/*", signer.split('/').next().unwrap_or_default());
    for name in [signer, &domain] {
        let wanted = Objects { group: "certificates.k8s.io", resource: "signers", name, ..Objects::default() };
        if attempt.look.decide(attempt.user, &Attributes::objects(verb, wanted))?.is_allowed() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn organizations(pem: &[u8]) -> Option<Vec<String>> {
    let pem = Pem::iter_from_buffer(pem).next()?.ok().filter(|pem| pem.label == "CERTIFICATE REQUEST")?;
    let (_, request) = X509CertificationRequest::from_der(&pem.contents).ok()?;
    let names = request.certification_request_info.subject.iter_organization();
    Some(names.filter_map(|name| name.as_str().ok().map(str::to_owned)).collect())
}
