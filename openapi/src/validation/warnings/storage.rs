//! Volumes, claims on them, and classes of them.

use super::node;
use super::{Told, fractional};
use crate::validation::tree::Node;

const CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";

/// Sorts of volumes that no node knows any more, with their ends.
const GONE: [(&str, &str); 6] = [
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

pub(super) fn volume(told: &mut Told, volume: &Node<'_>) {
    let annotations = volume.at("metadata").at("annotations");
    let since = [
        (CLASS, "deprecated since v1.8; use \"storageClassName\" attribute instead"),
        (OPTIONS, "deprecated since v1.31; use \"mountOptions\" attribute instead"),
    ];
    for (name, why) in since {
        if annotations.key(name).exists() {
            told.about(&annotations.key(name), why);
        }
    }
    let spec = volume.at("spec");
    let policy = spec.at("persistentVolumeReclaimPolicy");
    if policy.is("Recycle") {
        let instead = "Instead, the recommended approach is to use dynamic provisioning.";
        told.about(&policy, &format!("The Recycle reclaim policy is deprecated. {instead}"));
    }
    let terms = spec.at("nodeAffinity").at("required").at("nodeSelectorTerms");
    terms.items().for_each(|term| node::term(told, &term, node::Values::Ignored));
    for (sort, why) in GONE {
        if spec.at(sort).exists() {
            told.about(&spec.at(shown(sort)), why);
        }
    }
}

/// Kubernetes writes one of them otherwise than the field is called.
pub(super) fn shown(sort: &'static str) -> &'static str {
    if sort == "storageos" { "storageOS" } else { sort }
}

pub(super) fn claim(told: &mut Told, claim: &Node<'_>) {
    let class = claim.at("metadata").at("annotations").key(CLASS);
    if class.exists() {
        told.about(&class, "deprecated since v1.8; use \"storageClassName\" attribute instead");
    }
    claim_spec(told, &claim.at("spec"));
}

pub(super) fn claim_spec(told: &mut Told, spec: &Node<'_>) {
    let resources = spec.at("resources");
    fractional(told, &resources.at("requests").key("storage"));
    fractional(told, &resources.at("limits").key("storage"));
}

pub(super) fn of_kind(told: &mut Told, kind: &str, object: &Node<'_>, old: Option<&Node<'_>>) {
    match kind {
        "StorageClass" => class(told, object),
        "CSIStorageCapacity" => node::selector(told, &object.at("nodeTopology")),
        "CSIDriver" => driver(told, &object.at("spec"), old),
        _ => {}
    }
}

fn class(told: &mut Told, class: &Node<'_>) {
    for topology in class.at("allowedTopologies").items() {
        for expression in topology.at("matchLabelExpressions").items() {
            if let Some(why) = node::deprecated(expression.at("key").text()) {
                told.about(&expression.at("key"), why);
            }
        }
    }
}

fn driver(told: &mut Told, spec: &Node<'_>, old: Option<&Node<'_>>) {
    let requests = spec.at("tokenRequests");
    let changed = old.is_none_or(|old| !old.at("spec").at("tokenRequests").same(&requests));
    if changed && !requests.is_empty() && !spec.at("serviceAccountTokenInSecrets").exists() {
        let advice =
            "if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes";
        told.say(format!("spec.serviceAccountTokenInSecrets is unset; {advice}"));
    }
}
