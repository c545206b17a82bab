//! Volumes of a pod.

use std::collections::HashSet;

use super::{Pod, env, projected};
use crate::validation::amount;
use crate::validation::names;
use crate::validation::tree::{Errors, Node};
use crate::validation::{claim, storage};

const MODE_MAX: i64 = 0o777;
const EMPTY_DIR_MODE_MAX: i64 = 0o1777;

type Check = fn(&mut Errors, &Node);

/// The kinds of volumes, in the order in which Kubernetes looks for them.
const SOURCES: [(&str, Check); 30] = [
    ("emptyDir", empty_dir),
    ("hostPath", host_path),
    ("gitRepo", git_repo),
    ("gcePersistentDisk", |errors, at| need(errors, at, &["pdName"])),
    ("awsElasticBlockStore", |errors, at| need(errors, at, &["volumeID"])),
    ("secret", |errors, at| keys(errors, at, "secretName")),
    ("nfs", nfs),
    ("iscsi", |errors, at| need(errors, at, &["targetPortal", "iqn"])),
    ("glusterfs", |errors, at| need(errors, at, &["endpoints", "path"])),
    ("flocker", flocker),
    ("persistentVolumeClaim", |errors, at| need(errors, at, &["claimName"])),
    ("rbd", |errors, at| need(errors, at, &["monitors", "image"])),
    ("cinder", |errors, at| need(errors, at, &["volumeID"])),
    ("cephfs", |errors, at| need(errors, at, &["monitors"])),
    ("quobyte", |errors, at| need(errors, at, &["registry", "volume"])),
    ("downwardAPI", downward_api),
    ("fc", |_, _| {}),
    ("flexVolume", |errors, at| need(errors, at, &["driver"])),
    ("configMap", |errors, at| keys(errors, at, "name")),
    ("azureFile", |errors, at| need(errors, at, &["secretName", "shareName"])),
    ("vsphereVolume", |errors, at| need(errors, at, &["volumePath"])),
    ("photonPersistentDisk", |errors, at| need(errors, at, &["pdID"])),
    ("portworxVolume", |errors, at| need(errors, at, &["volumeID"])),
    ("azureDisk", |errors, at| need(errors, at, &["diskName", "diskURI"])),
    ("storageos", |_, _| {}),
    ("projected", projected::projected),
    ("scaleIO", |errors, at| need(errors, at, &["gateway", "system", "volumeName"])),
    ("csi", csi),
    ("ephemeral", ephemeral),
    ("image", image),
];

pub(super) fn volumes<'a>(errors: &mut Errors, pod: &mut Pod<'a>) {
    let mut seen = HashSet::new();
    let own = pod.meta.as_ref().map(|meta| meta.at("name").text()).filter(|name| !name.is_empty());
    let list = pod.spec.at("volumes");
    let created = list.items().filter(|volume| volume.at("ephemeral").exists());
    let created: HashSet<String> =
        own.map_or_else(HashSet::new, |own| created.map(|volume| claim_name(own, &volume)).collect());
    for volume in list.items() {
        let before = errors.len();
        source(errors, &volume, own);
        let name = volume.at("name");
        if name.is_empty() {
            errors.required(&name, "");
        } else {
            errors.refuse(&name, names::dns1123_label(name.text()));
        }
        if seen.contains(name.text()) {
            errors.duplicate(&name, name.text());
        }
        if errors.len() == before {
            seen.insert(name.text());
            pod.volumes.insert(name.text(), volume.clone());
        }
        let claim = volume.at("persistentVolumeClaim").at("claimName");
        if claim.exists() && created.contains(claim.text()) {
            errors.invalid(&claim, "must not reference a PVC that gets created for an ephemeral volume");
        }
    }
}

fn claim_name(pod: &str, volume: &Node) -> String {
    format!("{pod}-{}", volume.at("name").text())
}

fn source(errors: &mut Errors, volume: &Node, pod: Option<&str>) {
    let mut found = false;
    for (name, check) in SOURCES {
        let source = volume.at(name);
        if !source.exists() {
            continue;
        }
        if found {
            errors.forbidden(&source, "may not specify more than 1 volume type");
            continue;
        }
        found = true;
        check(errors, &source);
        if let Some(pod) = pod.filter(|_| name == "ephemeral" && !volume.at("name").is_empty()) {
            let claim = claim_name(pod, volume);
            for message in names::dns1123_subdomain(&claim) {
                errors.invalid(&volume.at("name"), format!("PVC name {claim:?}: {message}"));
            }
        }
    }
    if !found {
        errors.required(volume, "must specify a volume type");
    }
}

fn need(errors: &mut Errors, at: &Node, fields: &[&'static str]) {
    for field in fields.iter().map(|name| at.at(name)).filter(Node::is_empty) {
        errors.required(&field, "");
    }
}

fn empty_dir(errors: &mut Errors, at: &Node) {
    if amount::nanos(at.at("sizeLimit").value()) < 0 {
        errors.forbidden(&at.at("sizeLimit"), "SizeLimit field must be a valid resource quantity");
    }
    if !(0..=EMPTY_DIR_MODE_MAX).contains(&at.at("mode").int()) {
        errors.invalid(&at.at("mode"), "must be a number between 0 and 01777 (octal), both inclusive");
    }
}

fn host_path(errors: &mut Errors, at: &Node) {
    let (path, kind) = (at.at("path"), at.at("type"));
    if path.is_empty() {
        return errors.required(&path, "");
    }
    no_backsteps(errors, &path);
    let kinds = ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    if kind.exists() && !kinds.contains(&kind.text()) {
        errors.unsupported(&kind, &kinds);
    }
}

fn git_repo(errors: &mut Errors, at: &Node) {
    need(errors, at, &["repository"]);
    descending_path(errors, &at.at("directory"));
}

fn nfs(errors: &mut Errors, at: &Node) {
    need(errors, at, &["server", "path"]);
    if !at.at("path").text().starts_with('/') {
        errors.invalid_value(&at.at("path"), at.at("path").text(), "must be an absolute path");
    }
}

fn flocker(errors: &mut Errors, at: &Node) {
    let (name, uuid) = (at.at("datasetName"), at.at("datasetUUID"));
    if name.is_empty() && uuid.is_empty() {
        errors.required(at, "one of datasetName and datasetUUID is required");
    }
    if !name.is_empty() && !uuid.is_empty() {
        errors.invalid_value(at, "resource", "datasetName and datasetUUID can not be specified simultaneously");
    }
    if name.text().contains('/') {
        errors.invalid(&name, "must not contain '/'");
    }
}

/// A Secret or a ConfigMap as a volume.
fn keys(errors: &mut Errors, at: &Node, name: &'static str) {
    need(errors, at, &[name]);
    file_mode(errors, &at.at("defaultMode"));
    user(errors, &at.at("defaultUser"));
    for item in at.at("items").items() {
        key_to_path(errors, &item);
    }
}

pub(super) fn key_to_path(errors: &mut Errors, item: &Node) {
    for name in ["key", "path"].map(|name| item.at(name)).iter().filter(|name| name.is_empty()) {
        errors.required(name, "");
    }
    local_path(errors, &item.at("path"));
    file_mode(errors, &item.at("mode"));
    user(errors, &item.at("user"));
}

pub(super) fn file_mode(errors: &mut Errors, at: &Node) {
    if !(0..=MODE_MAX).contains(&at.int()) {
        errors.invalid(at, "must be a number between 0 and 0777 (octal), both inclusive");
    }
}

pub(super) fn user(errors: &mut Errors, at: &Node) {
    for message in names::identity(at.int()) {
        errors.invalid(at, message);
    }
}

fn downward_api(errors: &mut Errors, at: &Node) {
    file_mode(errors, &at.at("defaultMode"));
    user(errors, &at.at("defaultUser"));
    for file in at.at("items").items() {
        env::downward_file(errors, at, &file);
    }
}

fn csi(errors: &mut Errors, at: &Node) {
    storage::driver_name(errors, &at.at("driver"));
    let secret = at.at("nodePublishSecretRef");
    if secret.exists() {
        let name = secret.at("name");
        if name.is_empty() {
            errors.required(&name, "");
        } else {
            errors.refuse(&name.placed_at(&at.at("name")), names::dns1123_subdomain(name.text()));
        }
    }
}

fn ephemeral(errors: &mut Errors, at: &Node) {
    let template = at.at("volumeClaimTemplate");
    if template.exists() {
        claim::claim_template(errors, &template);
    } else {
        errors.required(&template, "");
    }
}

fn image(errors: &mut Errors, at: &Node) {
    need(errors, at, &["reference"]);
    errors.one_of(&at.at("pullPolicy"), &["Always", "IfNotPresent", "Never"]);
}

pub(in crate::validation) fn no_backsteps(errors: &mut Errors, at: &Node) {
    if has_backsteps(at.text()) {
        errors.invalid(at, "must not contain '..'");
    }
}

pub(super) fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// A path below some directory.
pub(super) fn descending_path(errors: &mut Errors, at: &Node) {
    if at.text().starts_with('/') {
        errors.invalid(at, "must be a relative path");
    }
    no_backsteps(errors, at);
}

/// A path below some directory that Kubernetes does not use for itself.
pub(super) fn local_path(errors: &mut Errors, at: &Node) {
    descending_path(errors, at);
    if at.text().starts_with("..") && !at.text().starts_with("../") {
        errors.invalid(at, "must not start with '..'");
    }
}
