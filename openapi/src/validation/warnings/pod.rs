//! Pods, and templates of pods.

use std::collections::HashSet;

use super::node;
use super::{Told, fractional, network, paths, ports, storage};
use crate::validation::tree::Node;

/// Where a pod stands: pods of templates are only made later, and by others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Alone,
    Template,
}

const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

const ANNOTATIONS: [(&str, &str); 3] = [
    ("scheduler.alpha.kubernetes.io/critical-pod", "v1.16+; use the \"priorityClassName\" field instead"),
    ("security.alpha.kubernetes.io/sysctls", "v1.11+; use the \"sysctls\" field instead"),
    ("security.alpha.kubernetes.io/unsafe-sysctls", "v1.11+; use the \"sysctls\" field instead"),
];

/// Sorts of volumes before and after ephemeral ones, with their ends.
const VOLUMES_BEFORE: [(&str, &str); 7] = [
    ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
];
const VOLUMES_AFTER: [(&str, &str); 2] = [
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// A pod, or the template of one: both have metadata and a spec.
pub(super) fn pod(told: &mut Told, pod: &Node<'_>, place: Place) {
    let (spec, annotations) = (pod.at("spec"), pod.at("metadata").at("annotations"));
    nodes(told, &spec);
    spread(told, &spec);
    for (name, why) in ANNOTATIONS {
        if annotations.key(name).exists() {
            told.about(&annotations.key(name), &format!("non-functional in {why}"));
        }
    }
    volumes(told, &spec);
    once(told, &spec.at("hostAliases"), "ip");
    once(told, &spec.at("imagePullSecrets"), "name");
    for secret in spec.at("imagePullSecrets").items().filter(|secret| secret.at("name").is_empty()) {
        told.about(&secret.at("name"), "invalid empty name \"\"");
    }
    for resource in ["memory", "ephemeral-storage"] {
        fractional(told, &spec.at("overhead").key(resource));
    }
    let sealed = spec.at("securityContext").at("seccompProfile").exists();
    if !sealed && annotations.key(SECCOMP).exists() {
        told.about(&annotations.key(SECCOMP), UNSEALED);
    }
    let containers = containers(&spec);
    for one in &containers {
        container(told, one, &spec, &annotations, place);
    }
    ports::overlapping(told, &containers);
    ports::named_twice(told, &containers);
    if spec.at("terminationGracePeriodSeconds").int() < 0 {
        let why = "must be >= 0; negative values are invalid and will be treated as 1";
        told.about(&spec.at("terminationGracePeriodSeconds"), why);
    }
    affinity(told, &spec);
    spec.at("dnsConfig").at("nameservers").items().for_each(|server| network::written(told, &server));
    spec.at("hostAliases").items().for_each(|alias| network::written(told, &alias.at("ip")));
}

const UNSEALED: &str = "non-functional in v1.27+; use the \"seccompProfile\" field instead";
const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";

fn containers<'a>(spec: &Node<'a>) -> Vec<Node<'a>> {
    ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(|list| spec.at(list).items()).collect()
}

fn nodes(told: &mut Told, spec: &Node<'_>) {
    for (label, at) in spec.at("nodeSelector").entries() {
        if let Some(why) = node::deprecated(label) {
            told.about(&at, why);
        }
    }
    let affinity = spec.at("affinity").at("nodeAffinity");
    let required = affinity.at("requiredDuringSchedulingIgnoredDuringExecution").at("nodeSelectorTerms");
    required.items().for_each(|term| node::term(told, &term, node::Values::Ignored));
    for preferred in affinity.at("preferredDuringSchedulingIgnoredDuringExecution").items() {
        node::term(told, &preferred.at("preference"), node::Values::Looked);
    }
}

fn spread(told: &mut Told, spec: &Node<'_>) {
    for constraint in spec.at("topologySpreadConstraints").items() {
        let key = constraint.at("topologyKey");
        if let Some(why) = node::deprecated(key.text()) {
            told.about(&key, &format!("{} is {why}", key.text()));
        }
        if !constraint.at("labelSelector").exists() {
            told.about(&constraint.at("labelSelector"), NO_SELECTOR);
        }
    }
}

fn volumes(told: &mut Told, spec: &Node<'_>) {
    let volumes = spec.at("volumes");
    for volume in volumes.items() {
        gone(told, &volume, &VOLUMES_BEFORE);
        storage::claim_spec(told, &volume.at("ephemeral").at("volumeClaimTemplate").at("spec"));
        gone(told, &volume, &VOLUMES_AFTER);
    }
    volumes.items().for_each(|volume| paths::volume(told, &volume));
}

fn gone(told: &mut Told, volume: &Node<'_>, sorts: &[(&'static str, &str)]) {
    for (sort, why) in sorts {
        if volume.at(sort).exists() {
            told.about(&volume.at(storage::shown(sort)), why);
        }
    }
}

/// What names an item of a list should name one only.
fn once(told: &mut Told, list: &Node<'_>, field: &'static str) {
    let mut seen = HashSet::new();
    for item in list.items() {
        let name = item.at(field);
        if !seen.insert(name.text()) {
            told.about(&name, &format!("duplicate {field} {:?}", name.text()));
        }
    }
}

fn container(told: &mut Told, container: &Node<'_>, spec: &Node<'_>, annotations: &Node<'_>, place: Place) {
    let (name, security) = (container.at("name").text(), container.at("securityContext"));
    let annotated = |prefix: &str| {
        let key = format!("{prefix}{name}");
        let value = annotations.value().get(&key)?.as_str()?.to_owned();
        Some((format!("{}[{key}]", annotations.path()), value))
    };
    if let (false, Some((at, _))) = (security.at("seccompProfile").exists(), annotated(SECCOMP_CONTAINER)) {
        told.say(format!("{at}: {UNSEALED}"));
    }
    if let (Place::Template, false, Some((at, profile))) =
        (place, security.at("appArmorProfile").exists(), annotated(APP_ARMOR))
        && !is_profile(&spec.at("securityContext").at("appArmorProfile"), &profile)
    {
        told.say(format!("{at}: deprecated since v1.30; use the \"appArmorProfile\" field instead"));
    }
    let resources = container.at("resources");
    for (resource, list) in [("memory", "limits"), ("memory", "requests")] {
        fractional(told, &resources.at(list).key(resource));
    }
    for list in ["limits", "requests"] {
        fractional(told, &resources.at(list).key("ephemeral-storage"));
    }
    hidden(told, &container.at("env"));
}

/// The field says what the annotation says.
fn is_profile(field: &Node<'_>, annotation: &str) -> bool {
    match annotation {
        "unconfined" => field.at("type").is("Unconfined"),
        "runtime/default" => field.at("type").is("RuntimeDefault"),
        other => other.strip_prefix("localhost/").is_some_and(|profile| {
            field.at("type").is("Localhost") && !profile.is_empty() && field.at("localhostProfile").is(profile)
        }),
    }
}

/// A variable that is set again without what it was set to before.
fn hidden(told: &mut Told, variables: &Node<'_>) {
    let mut seen = HashSet::new();
    for variable in variables.items() {
        let name = variable.at("name").text();
        if seen.insert(name) {
            continue;
        }
        let (value, reference) = (variable.at("value").text(), format!("$({name})"));
        if variable.at("valueFrom").exists() || value == reference || !value.contains(&reference) {
            let why = "which may be dropped when using apply";
            told.about(&variable, &format!("hides previous definition of {name:?}, {why}"));
        }
    }
}

fn affinity(told: &mut Told, spec: &Node<'_>) {
    for sort in ["podAffinity", "podAntiAffinity"] {
        let affinity = spec.at("affinity").at(sort);
        for term in affinity.at("requiredDuringSchedulingIgnoredDuringExecution").items() {
            if !term.at("labelSelector").exists() {
                told.about(&term.at("labelSelector"), NO_SELECTOR);
            }
        }
        for weighted in affinity.at("preferredDuringSchedulingIgnoredDuringExecution").items() {
            let selector = weighted.at("podAffinityTerm").at("labelSelector");
            if !selector.exists() {
                told.about(&selector, NO_SELECTOR);
            }
        }
    }
}
