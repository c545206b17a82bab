//! `CertificateSubjectRestriction`: nobody asks for a certificate by which they would be master of everything.
//!
//! That approving and signing need a permission of their own is decided where permissions are.

use super::Attempt;
use crate::error::ApiError;
use crate::object::Object;
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

fn organizations(pem: &[u8]) -> Option<Vec<String>> {
    let pem = Pem::iter_from_buffer(pem).next()?.ok().filter(|pem| pem.label == "CERTIFICATE REQUEST")?;
    let (_, request) = X509CertificationRequest::from_der(&pem.contents).ok()?;
    let names = request.certification_request_info.subject.iter_organization();
    Some(names.filter_map(|name| name.as_str().ok().map(str::to_owned)).collect())
}
