//! PersistentVolume, StorageClass, VolumeAttachment, VolumeAttributesClass and what CSI adds.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::claim::{self, VOLUME_MODES};
use super::pod::{self, Values};
use super::tree::{Errors, Node};
use super::{amount, names, selector};

const DRIVER_BYTES_MAX: usize = 63;
const PARAMETERS_MAX: usize = 512;
const PARAMETERS_BYTES_MAX: usize = 256 * 1024;
const NODE_ID_BYTES_MAX: usize = 256;
const TOKEN_SECS_MIN: i64 = 600;
const TOKEN_SECS_MAX: i64 = 1 << 32;
const UPDATE_SECS_MIN: i64 = 10;
/// The kinds of volumes that a PersistentVolume can be, in the order in which Kubernetes looks for them.
const VOLUMES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

pub(super) fn driver_name(errors: &mut Errors, at: &Node) {
    if at.is_empty() {
        return errors.required(at, "");
    }
    if at.len() > DRIVER_BYTES_MAX {
        errors.too_long(at, DRIVER_BYTES_MAX);
    }
    errors.refuse(at, names::dns1123_subdomain(&at.text().to_lowercase()));
}

pub(super) fn volume(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    let (modes, capacity) = (spec.at("accessModes"), spec.at("capacity"));
    if modes.is_empty() {
        errors.required(&modes, "");
    }
    claim::access_modes(errors, &modes);
    if capacity.is_empty() {
        errors.required(&capacity, "");
    }
    if !capacity.at("storage").exists() || capacity.len() > 1 {
        errors.unsupported_value(&capacity, capacity.value().clone(), &["storage"]);
    }
    for (_, size) in capacity.entries() {
        claim::basic_amount(errors, &size);
        if amount::nanos(size.value()) <= 0 {
            errors.invalid_value(&size, amount::text(size.value()), "must be greater than zero");
        }
    }
    let policy = spec.at("persistentVolumeReclaimPolicy");
    if !policy.is_empty() && !["Delete", "Recycle", "Retain"].contains(&policy.text()) {
        errors.unsupported(&policy, &["Delete", "Recycle", "Retain"]);
    }
    let affinity = spec.at("nodeAffinity");
    if affinity.exists() && affinity.at("required").exists() {
        pod::node_selector(errors, &affinity.at("required"), Values::Checked);
    } else if affinity.exists() {
        errors.required(&affinity.at("required"), "must specify required node constraints");
    }
    volume_source(errors, &spec);
    claim::class_name(errors, &spec.at("storageClassName"));
    let mode = spec.at("volumeMode");
    if mode.exists() && !VOLUME_MODES.contains(&mode.text()) {
        errors.unsupported(&mode, &VOLUME_MODES);
    }
    let class = spec.at("volumeAttributesClassName");
    if class.exists() {
        if class.is_empty() {
            errors.required(&class, "an empty string is disallowed");
        }
        claim::class_name(errors, &class);
        if !spec.at("csi").exists() {
            errors.required(&spec.at("csi"), "has to be specified when using volumeAttributesClassName");
        }
    }
}

fn volume_source(errors: &mut Errors, spec: &Node) {
    let mut sources = VOLUMES.iter().map(|name| (*name, spec.at(name))).filter(|(_, source)| source.exists());
    let Some((name, source)) = sources.next() else {
        return errors.required(spec, "must specify a volume type");
    };
    let path = source.at("path");
    match name {
        "hostPath" | "local" if path.is_empty() => errors.required(&path, ""),
        "hostPath" | "local" => pod::no_backsteps(errors, &path),
        "nfs" => {
            for missing in ["server", "path"].map(|name| source.at(name)).iter().filter(|name| name.is_empty()) {
                errors.required(missing, "");
            }
            if !path.text().starts_with('/') {
                errors.invalid_value(&path, path.text(), "must be an absolute path");
            }
        }
        "csi" => csi(errors, &source),
        _ => {}
    }
    if name == "local" && !spec.at("nodeAffinity").exists() {
        errors.required(&spec.at("nodeAffinity"), "Local volume requires node affinity");
    }
    for (_, other) in sources {
        errors.forbidden(&other, "may not specify more than 1 volume type");
    }
    if name == "hostPath" && path.is("/") && spec.at("persistentVolumeReclaimPolicy").is("Recycle") {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        errors.forbidden(&spec.at("persistentVolumeReclaimPolicy"), detail);
    }
}

fn csi(errors: &mut Errors, source: &Node) {
    driver_name(errors, &source.at("driver"));
    if source.at("volumeHandle").is_empty() {
        errors.required(&source.at("volumeHandle"), "");
    }
    let secrets =
        ["controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef"];
    for secret in secrets.map(|name| source.at(name)).iter().filter(|secret| secret.exists()) {
        let (name, namespace) = (secret.at("name"), secret.at("namespace"));
        if name.is_empty() {
            errors.required(&name, "");
        } else {
            errors.refuse(&name, names::dns1123_subdomain(name.text()));
        }
        if namespace.is_empty() {
            errors.required(&namespace, "");
        } else {
            errors.refuse(&namespace, names::dns1123_label(namespace.text()));
        }
    }
}

pub(super) fn volume_update(errors: &mut Errors, new: &Node, old: &Node) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let strip = |name: &str, source: &Node, known: &Node| {
        let mut value = source.value().clone();
        let settable = name == "csi" && known.exists() && !known.at("controllerExpandSecretRef").exists();
        if let Value::Object(map) = &mut value
            && settable
        {
            map.remove("controllerExpandSecretRef");
        }
        value
    };
    if VOLUMES.iter().any(|name| strip(name, &spec.at(name), &before.at(name)) != *before.at(name).value()) {
        let place = spec.at("persistentvolumesource");
        errors.forbidden(&place, "spec.persistentvolumesource is immutable after creation");
    }
    let mode = spec.at("volumeMode");
    errors.immutable(&mode.placed_at(&Node::nowhere("volumeMode")), &before.at("volumeMode"));
    let affinity = spec.at("nodeAffinity");
    if before.at("nodeAffinity").exists() && !affinity.same(&before.at("nodeAffinity")) {
        let place = affinity.placed_at(&Node::nowhere("nodeAffinity"));
        errors.invalid(&place, "field is immutable, except for updating from beta label to GA");
    }
    let class = spec.at("volumeAttributesClassName");
    if before.at("volumeAttributesClassName").exists() && !class.exists() {
        errors.forbidden(&class, "update from non-nil value to nil is forbidden");
    }
}

pub(super) fn volume_status(errors: &mut Errors, new: &Node, _old: &Node) {
    if new.at("metadata").at("resourceVersion").is_empty() {
        errors.required(&Node::nowhere("resourceVersion"), "");
    }
}

pub(super) fn storage_class(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    if old.is_some() && object.at("provisioner").is_empty() {
        errors.required(&object.at("provisioner"), "");
    }
    provisioner(errors, &object.at("provisioner"));
    parameters(errors, &object.at("parameters"));
    let (policy, mode) = (object.at("reclaimPolicy"), object.at("volumeBindingMode"));
    if !policy.is_empty() && !["Delete", "Retain"].contains(&policy.text()) {
        errors.unsupported(&policy, &["Delete", "Retain"]);
    }
    if !mode.exists() {
        errors.required(&mode, "");
    } else if !["Immediate", "WaitForFirstConsumer"].contains(&mode.text()) {
        errors.unsupported(&mode, &["Immediate", "WaitForFirstConsumer"]);
    }
    for term in object.at("allowedTopologies").items() {
        topology(errors, &term.at("matchLabelExpressions"));
    }
}

fn topology(errors: &mut Errors, list: &Node) {
    let mut keys = HashSet::new();
    for requirement in list.items() {
        let (values, key) = (requirement.at("values"), requirement.at("key"));
        if values.is_empty() {
            errors.required(&values, "");
        }
        let mut seen = HashSet::new();
        for value in values.items().filter(|value| !seen.insert(value.text())) {
            errors.duplicate(&value, value.text());
        }
        selector::label_name(errors, &key);
        if !keys.insert(key.text()) {
            errors.duplicate(&key, key.text());
        }
    }
}

fn provisioner(errors: &mut Errors, at: &Node) {
    let name = at.text().to_lowercase();
    if !at.is_empty() {
        for message in names::qualified_name(&name) {
            errors.invalid_value(at, name.as_str(), message);
        }
    }
}

fn parameters(errors: &mut Errors, map: &Node) {
    if map.len() > PARAMETERS_MAX {
        return errors.too_long(map, PARAMETERS_MAX);
    }
    let mut bytes = 0;
    for (key, value) in map.entries() {
        bytes += key.len() + value.len();
        if key.is_empty() {
            errors.invalid_value(map, key, "field can not be empty.");
        }
    }
    if bytes > PARAMETERS_BYTES_MAX {
        errors.too_long(map, PARAMETERS_BYTES_MAX);
    }
}

pub(super) fn storage_class_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    let fields = ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"];
    for name in fields.into_iter().filter(|name| old.is_some_and(|old| !old.at(name).same(&new.at(name)))) {
        errors.declared_immutable(&new.at(name));
    }
    if old.is_none() && new.at("provisioner").is_empty() {
        errors.required(&new.at("provisioner"), "");
    }
}

pub(super) fn attributes_class(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let driver = object.at("driverName");
    if driver.is_empty() {
        errors.required(&driver, "");
    }
    provisioner(errors, &driver);
    parameters(errors, &object.at("parameters"));
    if object.at("parameters").is_empty() {
        errors.required(&object.at("parameters"), "must contain at least one key/value pair");
    }
}

pub(super) fn attributes_class_update(errors: &mut Errors, new: &Node, old: &Node) {
    for name in ["driverName", "parameters"] {
        if !new.at(name).same(&old.at(name)) {
            errors.forbidden(&new.at(name), format!("updates to {name} are forbidden."));
        }
    }
}

pub(super) fn attachment(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    if old.is_some() {
        driver_name(errors, &object.at("spec").at("attacher"));
    }
    let source = object.at("spec").at("source");
    let (inline, volume) = (source.at("inlineVolumeSpec"), source.at("persistentVolumeName"));
    let one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (inline.exists(), volume.exists()) {
        (false, false) => errors.required(&source, one),
        (true, true) => errors.forbidden(&source, one),
        (false, true) if volume.is_empty() => {
            errors.required(&volume, "must specify non empty persistentVolumeName");
        }
        _ => {}
    }
    let node = object.at("spec").at("nodeName");
    errors.refuse(&node, names::dns1123_subdomain(node.text()));
    if volume.exists() {
        let place = volume.placed_at(&Node::nowhere("spec.source.persistentVolumeName"));
        errors.refuse(&place, names::dns1123_subdomain(volume.text()));
    }
}

pub(super) fn attachment_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    let attacher = new.at("spec").at("attacher");
    match old {
        Some(old) if !old.at("spec").same(&new.at("spec")) => errors.declared_immutable(&new.at("spec")),
        Some(_) => {}
        None if attacher.is_empty() => errors.required(&attacher, ""),
        None => {
            errors.refuse(&attacher, names::long_name_caseless(attacher.text()));
            if attacher.text().chars().count() > DRIVER_BYTES_MAX {
                errors.too_many_characters(&attacher, DRIVER_BYTES_MAX);
            }
        }
    }
}

pub(super) fn csi_driver(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    for (name, shown) in [
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ] {
        if !spec.at(name).exists() {
            errors.required(&spec.at(shown), "");
        }
    }
    let policy = spec.at("fsGroupPolicy");
    let policies = ["File", "None", "ReadWriteOnceWithFSType"];
    if policy.exists() && !policies.contains(&policy.text()) {
        errors.unsupported(&policy, &policies);
    }
    token_requests(errors, &spec.at("tokenRequests"));
    let modes = spec.at("volumeLifecycleModes");
    for mode in modes.texts().into_iter().filter(|mode| !["Persistent", "Ephemeral"].contains(mode)) {
        errors.unsupported_value(&modes, mode, &["Persistent", "Ephemeral"]);
    }
    if !spec.at("seLinuxMount").exists() {
        errors.required(&spec.at("seLinuxMount"), "");
    }
    let period = spec.at("nodeAllocatableUpdatePeriodSeconds");
    if period.exists() && period.int() < UPDATE_SECS_MIN {
        errors.invalid(&period, "must be greater than or equal to 10 seconds");
    }
    let secrets = spec.at("serviceAccountTokenInSecrets");
    if secrets.exists() && spec.at("tokenRequests").is_empty() {
        errors.invalid(&secrets, "serviceAccountTokenInSecrets is set but no tokenRequests are specified");
    }
}

fn token_requests(errors: &mut Errors, list: &Node) {
    let mut audiences = HashSet::new();
    for request in list.items() {
        let (audience, seconds) = (request.at("audience"), request.at("expirationSeconds"));
        if !audiences.insert(audience.text()) {
            errors.duplicate(&audience, audience.text());
        } else if seconds.exists() && seconds.int() < TOKEN_SECS_MIN {
            errors.invalid(&seconds, "may not specify a duration less than 10 minutes");
        } else if seconds.int() > TOKEN_SECS_MAX {
            errors.invalid(&seconds, "may not specify a duration larger than 2^32 seconds");
        }
    }
}

pub(super) fn csi_driver_update(errors: &mut Errors, new: &Node, old: &Node) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let attach = spec.at("attachRequired").called("attachedRequired");
    errors.immutable(&attach, &before.at("attachRequired"));
    errors.immutable(&spec.at("volumeLifecycleModes"), &before.at("volumeLifecycleModes"));
}

pub(super) fn csi_node(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let mut seen = HashSet::new();
    for driver in object.at("spec").at("drivers").items() {
        let (name, id) = (driver.at("name"), driver.at("nodeID"));
        driver_name(errors, &name);
        if id.is_empty() {
            errors.required(&id, "");
        }
        if id.len() > NODE_ID_BYTES_MAX {
            errors.invalid(&id, format!("must be {NODE_ID_BYTES_MAX} characters or less"));
        }
        errors.negative(&driver.at("allocatable").at("count"));
        if !seen.insert(name.text()) {
            errors.duplicate(&name, name.text());
        }
        let mut keys = HashSet::new();
        for key in driver.at("topologyKeys").texts() {
            if key.is_empty() {
                errors.required(&driver, "");
            }
            if !keys.insert(key) {
                errors.duplicate(&driver, key);
            }
            for message in names::qualified_name(key) {
                errors.invalid_value(&driver, key, message);
            }
        }
    }
}

/// A driver keeps what it says of a node, but for how many volumes it can take.
pub(super) fn csi_node_update(errors: &mut Errors, new: &Node, old: &Node) {
    let drivers = new.at("spec").at("drivers");
    let kept = |driver: &Node| ["nodeID", "topologyKeys"].map(|name| driver.at(name).value().clone());
    let before = old.at("spec").at("drivers");
    let known: HashMap<&str, Node> = before.items().map(|driver| (driver.at("name").text(), driver)).collect();
    for driver in drivers.items() {
        if known.get(driver.at("name").text()).is_some_and(|known| kept(known) != kept(&driver)) {
            errors.invalid_value(&drivers, driver.value().clone(), "field is immutable");
        }
    }
}

pub(super) fn storage_capacity(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    selector::selector(errors, &object.at("nodeTopology"));
    let class = object.at("storageClassName");
    errors.refuse(&class, names::dns1123_subdomain(class.text()));
    let capacity = object.at("capacity");
    if amount::nanos(capacity.value()) < 0 {
        errors.invalid_value(&capacity, amount::text(capacity.value()), "must be greater than or equal to 0");
    }
}

pub(super) fn storage_capacity_update(errors: &mut Errors, new: &Node, old: &Node) {
    errors.immutable(&new.at("nodeTopology"), &old.at("nodeTopology"));
    errors.immutable(&new.at("storageClassName"), &old.at("storageClassName"));
}
