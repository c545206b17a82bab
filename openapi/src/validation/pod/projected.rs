//! Projected volumes: several sources in one directory.

use std::collections::HashSet;

use super::env;
use super::volumes::{file_mode, key_to_path, local_path, user};
use crate::validation::names;
use crate::validation::selector;
use crate::validation::tree::{Errors, Node};

const KEY_TYPES: [&str; 6] = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
const TOKEN_SECS_MIN: i64 = 600;
const TOKEN_SECS_MAX: i64 = 1 << 32;
const CERTIFICATE_SECS_MIN: i64 = 3600;
const CERTIFICATE_SECS_MAX: i64 = 91 * 24 * 3600;
/// For signers of Kubernetes' own.
const KUBERNETES_CERTIFICATE_SECS_MAX: i64 = 24 * 3600;
const SUBDOMAIN_BYTES_MAX: usize = 253;
const SIGNER_BYTES_MAX: usize = 253 + 1 + 253 + 63 + 1;

/// The paths of the files in the volume so far.
type Paths<'a> = HashSet<&'a str>;

pub(super) fn projected(errors: &mut Errors, volume: &Node) {
    file_mode(errors, &volume.at("defaultMode"));
    user(errors, &volume.at("defaultUser"));
    let mut paths = Paths::new();
    for source in volume.at("sources").items() {
        let mut kinds = 0;
        for kind in
            ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"]
        {
            let at = source.at(kind);
            if at.exists() {
                kinds += 1;
                self::source(errors, volume, kind, &at, &mut paths);
            }
        }
        if kinds > 1 {
            errors.forbidden(&source, "may not specify more than 1 volume type per source");
        }
    }
}

fn source<'a>(errors: &mut Errors, volume: &Node<'a>, kind: &str, at: &Node<'a>, paths: &mut Paths<'a>) {
    match kind {
        "secret" | "configMap" => keys(errors, volume, at, paths),
        "downwardAPI" => {
            for file in at.at("items").items() {
                env::downward_file(errors, at, &file);
                let path = file.at("path").text();
                if !path.is_empty() {
                    once(errors, volume, path, path, paths);
                }
            }
        }
        "serviceAccountToken" => token(errors, volume, at),
        "clusterTrustBundle" => trust_bundle(errors, volume, at, paths),
        _ => certificate(errors, volume, at, paths),
    }
}

fn once<'a>(errors: &mut Errors, volume: &Node, path: &'a str, shown: &str, paths: &mut Paths<'a>) {
    if !paths.insert(path) {
        errors.invalid_value(volume, shown, "conflicting duplicate paths");
    }
}

fn keys<'a>(errors: &mut Errors, volume: &Node, at: &Node<'a>, paths: &mut Paths<'a>) {
    if at.at("name").is_empty() {
        errors.required(&at.at("name"), "");
    }
    for item in at.at("items").items() {
        key_to_path(errors, &item);
        let path = item.at("path").text();
        if !path.is_empty() {
            once(errors, volume, path, at.at("name").text(), paths);
        }
    }
}

fn token<'a>(errors: &mut Errors, volume: &Node<'a>, at: &Node<'a>) {
    let (seconds, path) = (at.at("expirationSeconds"), at.at("path"));
    if !seconds.exists() {
        errors.required(&seconds, "");
    } else if seconds.int() < TOKEN_SECS_MIN {
        errors.invalid(&seconds, "may not specify a duration less than 10 minutes");
    } else if seconds.int() > TOKEN_SECS_MAX {
        errors.invalid(&seconds, "may not specify a duration larger than 2^32 seconds");
    }
    if path.is_empty() {
        errors.required(&volume.at("path"), "");
    } else {
        local_path(errors, &path.placed_at(&volume.at("path")));
    }
    user(errors, &at.at("user"));
}

fn trust_bundle<'a>(errors: &mut Errors, volume: &Node, at: &Node<'a>, paths: &mut Paths<'a>) {
    let (name, signer, path) = (at.at("name"), at.at("signerName"), at.at("path"));
    match (name.exists(), signer.exists()) {
        (true, true) => errors.invalid(at, "only one of name and signerName may be used"),
        (true, false) => {
            if name.is_empty() {
                errors.required(&name, "must be a valid object name");
            }
            for message in trust_bundle_name(name.text()) {
                errors.invalid(&name, format!("not a valid clustertrustbundlename: {message}"));
            }
            if at.at("labelSelector").exists() {
                errors.invalid(&at.at("labelSelector"), "labelSelector must be unset if name is specified");
            }
        }
        (false, true) => {
            if signer.is_empty() {
                errors.required(&signer, "must be a valid signer name");
            }
            signer_name(errors, &signer);
            selector::selector(errors, &at.at("labelSelector"));
        }
        (false, false) => errors.required(at, "either name or signerName must be specified"),
    }
    if path.is_empty() {
        errors.required(&path, "");
    }
    user(errors, &at.at("user"));
    local_path(errors, &path);
    once(errors, volume, path.text(), path.text(), paths);
}

/// The name says whose trust it is: `<signer's domain>:<signer's name>:<own name>`.
fn trust_bundle_name(name: &str) -> Vec<String> {
    names::dns1123_subdomain(name.rsplit_once(':').map_or(name, |(_, own)| own))
}

fn certificate<'a>(errors: &mut Errors, volume: &Node, at: &Node<'a>, paths: &mut Paths<'a>) {
    let signer = at.at("signerName");
    signer_name(errors, &signer);
    user_annotations(errors, &at.at("userAnnotations"));
    user(errors, &at.at("user"));
    if !KEY_TYPES.contains(&at.at("keyType").text()) {
        errors.unsupported(&at.at("keyType"), &KEY_TYPES);
    }
    let seconds = at.at("maxExpirationSeconds");
    if seconds.exists() {
        let host = signer.text().split('/').next().unwrap_or_default();
        let own = host == "kubernetes.io" || host.ends_with(".kubernetes.io");
        let max = if own { KUBERNETES_CERTIFICATE_SECS_MAX } else { CERTIFICATE_SECS_MAX };
        if seconds.int() < CERTIFICATE_SECS_MIN {
            let detail = format!("if provided, maxExpirationSeconds must be >= {CERTIFICATE_SECS_MIN}");
            errors.invalid(&seconds, detail);
        }
        if seconds.int() > max {
            errors.invalid(&seconds, format!("if provided, maxExpirationSeconds must be <= {max}"));
        }
    }
    let files = ["credentialBundlePath", "keyPath", "certificateChainPath"].map(|name| at.at(name));
    for file in files.iter().filter(|file| !file.is_empty()) {
        local_path(errors, file);
        once(errors, volume, file.text(), file.text(), paths);
    }
    if files.iter().all(Node::is_empty) {
        let detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        errors.required(at, detail);
    }
}

fn user_annotations(errors: &mut Errors, map: &Node) {
    for (key, _) in map.entries() {
        let key = key.to_lowercase();
        let wrong = names::qualified_name(&key);
        for message in &wrong {
            errors.invalid_value(map, key.as_str(), message.as_str());
        }
        if wrong.is_empty() && !key.contains('/') {
            errors.invalid_value(map, key, "must be a domain-prefixed key (such as \"acme.io/foo\")");
        }
    }
}

pub(in crate::validation) fn signer_name(errors: &mut Errors, at: &Node) {
    if at.is_empty() {
        return errors.required(at, "");
    }
    let parts: Vec<&str> = at.text().split('/').collect();
    let [domain, path] = parts[..] else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return errors.invalid(at, detail);
    };
    if domain.len() > SUBDOMAIN_BYTES_MAX {
        errors.too_long(at, SUBDOMAIN_BYTES_MAX);
    }
    first_wrong(errors, at, domain, names::dns1123_label);
    if !domain.contains('.') {
        errors.invalid_value(at, domain, "should be a domain with at least two segments separated by dots");
    }
    first_wrong(errors, at, path, names::dns1123_subdomain);
    if at.len() > SIGNER_BYTES_MAX {
        errors.too_long(at, SIGNER_BYTES_MAX);
    }
}

/// The first part of a dotted text that is wrong, in its own words.
fn first_wrong(errors: &mut Errors, at: &Node, text: &str, rule: fn(&str) -> Vec<String>) {
    if let Some(label) = text.split('.').find(|label| !rule(label).is_empty()) {
        for message in rule(label) {
            errors.invalid_value(at, text, format!("validating label {label:?}: {message}"));
        }
    }
}
