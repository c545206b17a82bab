//! What a container sees of the pod's volumes.

use std::collections::HashSet;

use super::Pod;
use super::volumes::{descending_path, has_backsteps};
use crate::validation::tree::{Errors, Node};

const BIND_OPTIONS: [&str; 3] = ["nodev", "noexec", "nosuid"];

fn set<'a>(list: &Node<'a>, name: &'a str) -> HashSet<&'a str> {
    list.items().map(|item| item.at(name).text()).collect()
}

pub(super) fn mounts(errors: &mut Errors, pod: &Pod, container: &Node) {
    let (list, devices) = (container.at("volumeMounts"), container.at("volumeDevices"));
    let (device_names, device_paths) = (set(&devices, "name"), set(&devices, "devicePath"));
    let mut seen = HashSet::new();
    for mount in list.items() {
        let (name, path) = (mount.at("name"), mount.at("mountPath"));
        if name.is_empty() {
            errors.required(&name, "");
        }
        if !pod.volumes.contains_key(name.text()) {
            errors.not_found(&name);
        }
        if path.is_empty() {
            errors.required(&path, "");
        }
        if !seen.insert(path.text()) {
            errors.invalid_value(&path, path.text(), "must be unique");
        }
        if device_names.contains(name.text()) {
            errors.invalid_value(&name, name.text(), "must not already exist in volumeDevices");
        }
        if device_paths.contains(path.text()) {
            errors.invalid_value(&path, path.text(), "must not already exist as a path in volumeDevices");
        }
        sub_paths(errors, &list, &mount);
        propagation(errors, &list, &mount, container);
        read_only(errors, &list, &mount);
        bind_options(errors, pod, &mount);
    }
}

fn sub_paths<'a>(errors: &mut Errors, list: &Node<'a>, mount: &Node<'a>) {
    let (path, expression) = (mount.at("subPath"), mount.at("subPathExpr"));
    if !path.is_empty() {
        descending_path(errors, &path.placed_at(&list.at("subPath")));
    }
    if !expression.is_empty() {
        if !path.is_empty() {
            errors.invalid(&expression, "subPathExpr and subPath are mutually exclusive");
        }
        descending_path(errors, &expression.placed_at(&list.at("subPathExpr")));
    }
}

fn propagation<'a>(errors: &mut Errors, list: &Node<'a>, mount: &Node<'a>, container: &Node) {
    let mode = mount.at("mountPropagation").placed_at(&list.at("mountPropagation"));
    let modes = ["Bidirectional", "HostToContainer", "None"];
    if mode.exists() && !modes.contains(&mode.text()) {
        errors.unsupported(&mode, &modes);
    }
    if mode.is("Bidirectional") && !container.at("securityContext").at("privileged").is_true() {
        errors.forbidden(&mode, "Bidirectional mount propagation is available only to privileged containers");
    }
}

fn read_only<'a>(errors: &mut Errors, list: &Node<'a>, mount: &Node<'a>) {
    let mode = mount.at("recursiveReadOnly").placed_at(&list.at("recursiveReadOnly"));
    match mode.text() {
        "Enabled" | "IfPossible" => {
            if !mount.at("readOnly").is_true() {
                errors.forbidden(&mode, "may only be specified when readOnly is true");
            }
            if mount.at("mountPropagation").exists() && !mount.at("mountPropagation").is("None") {
                errors.forbidden(&mode, "may only be specified when mountPropagation is None or not specified");
            }
        }
        "Disabled" => {}
        _ if mode.exists() => errors.unsupported(&mode, &["Disabled", "Enabled", "IfPossible"]),
        _ => {}
    }
}

fn bind_options(errors: &mut Errors, pod: &Pod, mount: &Node) {
    let options = mount.at("bindMountOptions");
    let mut seen = HashSet::new();
    for option in options.items() {
        if !BIND_OPTIONS.contains(&option.text()) {
            errors.unsupported(&option, &BIND_OPTIONS);
        }
        if !seen.insert(option.text()) {
            errors.duplicate(&option, option.text());
        }
    }
    let volume = pod.volumes.get(mount.at("name").text());
    if !options.is_empty() && volume.is_some_and(|volume| volume.at("image").exists()) {
        errors.invalid(&options, "bindMountOptions may not be used with image volumes");
    }
}

pub(super) fn devices(errors: &mut Errors, pod: &Pod, container: &Node) {
    let (list, mounts) = (container.at("volumeDevices"), container.at("volumeMounts"));
    let (mount_names, mount_paths) = (set(&mounts, "name"), set(&mounts, "mountPath"));
    let (mut names, mut paths) = (HashSet::new(), HashSet::new());
    for device in list.items() {
        let (name, path) = (device.at("name"), device.at("devicePath"));
        if name.is_empty() {
            errors.required(&name, "");
        } else if !names.insert(name.text()) {
            errors.invalid(&name, "must be unique");
        }
        match pod.volumes.get(name.text()) {
            None => errors.not_found(&name),
            Some(volume) if volume.at("persistentVolumeClaim").exists() || volume.at("ephemeral").exists() => {}
            Some(_) => {
                let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                errors.invalid_value(&name, name.text(), detail);
            }
        }
        if path.is_empty() {
            errors.required(&path, "");
        }
        if paths.contains(path.text()) {
            errors.invalid_value(&path, path.text(), "must be unique");
        }
        if has_backsteps(path.text()) {
            errors.invalid(&path, "can not contain backsteps ('..')");
        } else {
            paths.insert(path.text());
        }
        if mount_names.contains(name.text()) {
            errors.invalid_value(&name, name.text(), "must not already exist in volumeMounts");
        }
        if mount_paths.contains(path.text()) {
            errors.invalid_value(&path, path.text(), "must not already exist as a path in volumeMounts");
        }
    }
}
