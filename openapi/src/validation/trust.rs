//! Bundles of certificates that clients trust, and certificates that nodes ask for in the name of their pods. Whether a
//! certificate is a good one is left to whoever trusts it; whether a key is whose it should be, to whoever signs it.

use super::names;
use super::pod::signer_name;
use super::tree::{Errors, Node};

const BUNDLE_BYTES_MAX: usize = 1024 * 1024;
const HIDDEN: &str = "<value omitted>";

pub(super) fn bundle(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    let (signer, bundle) = (spec.at("signerName"), spec.at("trustBundle"));
    named_after(errors, &object.at("metadata").at("name"), signer.text());
    if !signer.is_empty() {
        signer_name(errors, &signer);
    }
    if old.is_some_and(|old| old.at("spec").at("trustBundle").same(&bundle)) {
        return;
    }
    if bundle.len() > BUNDLE_BYTES_MAX {
        return errors.too_long(&bundle, BUNDLE_BYTES_MAX);
    }
    let before = errors.len();
    let mut blocks = 0;
    for line in bundle.text().lines() {
        let Some(sort) = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----")) else { continue };
        if sort != "CERTIFICATE" {
            errors.invalid_value(&bundle, HIDDEN, format!("entry {blocks} has bad block type: {sort}"));
        }
        blocks += 1;
    }
    if blocks == 0 && errors.len() == before {
        errors.invalid_value(&bundle, HIDDEN, "at least one trust anchor must be provided");
    }
}

/// A bundle has the name of its signer before its own.
fn named_after(errors: &mut Errors, name: &Node, signer: &str) {
    let prefix = format!("{}:", signer.replace('/', ":"));
    if signer.is_empty() && name.text().contains(':') {
        errors.invalid(name, "ClusterTrustBundle without signer name must not have \":\" in its name");
    }
    if !signer.is_empty() && !name.text().starts_with(&prefix) {
        errors.invalid(name, format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"));
    }
}

pub(super) fn bundle_update(errors: &mut Errors, new: &Node, old: &Node) {
    errors.immutable(&new.at("spec").at("signerName"), &old.at("spec").at("signerName"));
}

const UID_BYTES_MAX: usize = 128;
const SECS_MIN: i64 = 3600;
const SECS_MAX: i64 = 91 * 24 * 3600;
/// For those who sign in the name of Kubernetes.
const KUBERNETES_SECS_MAX: i64 = 24 * 3600;

pub(super) fn request(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    if old.is_some() {
        return;
    }
    let spec = object.at("spec");
    let signer = spec.at("signerName");
    signer_name(errors, &signer);
    for (name, uid) in [("podName", "podUID"), ("serviceAccountName", "serviceAccountUID"), ("nodeName", "nodeUID")] {
        let (name, uid) = (spec.at(name), spec.at(uid));
        errors.refuse(&name, names::dns1123_subdomain(name.text()));
        if uid.is_empty() {
            errors.invalid_value(&uid, "", "must not be empty");
        }
        if uid.len() > UID_BYTES_MAX {
            errors.too_long(&uid, UID_BYTES_MAX);
        }
    }
    let secs = spec.at("maxExpirationSeconds");
    if !secs.exists() {
        return errors.required(&secs, "must be set");
    }
    let domain = signer.text().split('/').next().unwrap_or_default();
    let own = domain == "kubernetes.io" || domain.ends_with(".kubernetes.io");
    let most = if own { KUBERNETES_SECS_MAX } else { SECS_MAX };
    if !(SECS_MIN..=most).contains(&secs.int()) {
        errors.invalid(&secs, format!("must be in the range [{SECS_MIN}, {most}]"));
    }
    let said = ["stubPKCS10Request", "pkixPublicKey", "proofOfPossession"].map(|field| !spec.at(field).is_empty());
    if !matches!(said, [true, false, false] | [false, true, true]) {
        let why = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
        errors.invalid_silently(&spec, why);
    }
}

pub(super) fn request_update(errors: &mut Errors, new: &Node, old: &Node) {
    errors.immutable(&new.at("spec"), &old.at("spec"));
}
