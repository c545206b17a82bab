//! How objects of one version become those of another.

use std::collections::HashSet;

use super::super::tree::{Errors, Node};
use super::super::{client, names};
use super::before::Before;
use crate::scalar::base64;

pub(super) const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn conversion(errors: &mut Errors, conversion: &Node, before: &Before) {
    if !conversion.exists() {
        return;
    }
    let (strategy, hook) = (conversion.at("strategy"), conversion.at("webhook"));
    errors.one_of(&strategy, &["None", "Webhook"]);
    let client = hook.at("clientConfig").placed_at(&conversion.at("webhookClientConfig"));
    let versions = hook.at("conversionReviewVersions").placed_at(&conversion.at("conversionReviewVersions"));
    if !strategy.is("Webhook") {
        let detail = "should not be set when strategy is not set to Webhook";
        if client.exists() {
            errors.forbidden(&client, detail);
        }
        if !versions.is_empty() {
            errors.forbidden(&versions, detail);
        }
        return;
    }
    self::client(errors, &client, before);
    review_versions(errors, &versions, before);
}

fn client(errors: &mut Errors, client: &Node, before: &Before) {
    if !client.exists() {
        return errors.required(client, "required when strategy is set to Webhook");
    }
    match (client.at("url").exists(), client.at("service").exists()) {
        (true, false) => client::url(errors, &client.at("url")),
        (false, true) => client::service(errors, &client.at("service")),
        _ => errors.required(client, "exactly one of url or service is required"),
    }
    let bundle = client.at("caBundle");
    if !bundle.is_empty() && !before.may_have_odd_bundle && !is_bundle(bundle.text()) {
        errors.invalid(&bundle, "unable to load root certificates: unable to parse bytes as PEM block");
    }
}

/// Whether there is a certificate in it, by the look of it.
pub(super) fn is_bundle(text: &str) -> bool {
    let begin = b"-----BEGIN CERTIFICATE-----";
    base64::decode(text).is_ok_and(|bytes| bytes.windows(begin.len()).any(|window| window == begin))
}

fn review_versions(errors: &mut Errors, versions: &Node, before: &Before) {
    if versions.is_empty() {
        return errors.required(versions, "");
    }
    let mut seen = HashSet::new();
    for version in versions.items() {
        if seen.insert(version.text()) {
            errors.refuse(&version, names::dns1035_label(version.text()));
        } else {
            errors.invalid(&version, "duplicate version");
        }
    }
    if before.understood_reviews && !REVIEW_VERSIONS.iter().any(|version| seen.contains(version)) {
        errors.invalid(versions, "must include at least one of v1, v1beta1");
    }
}
