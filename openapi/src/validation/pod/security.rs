//! Security contexts of pods and containers, and what an operating system rules out.

use std::collections::HashSet;

use super::volumes::descending_path;
use super::{Pod, windows};
use crate::validation::names;
use crate::validation::tree::{Errors, Node};

const SYSCTL_BYTES_MAX: usize = 253;
const SYSCTL_FORM: &str = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
const LOCALHOST_BYTES_MAX: usize = 4095;
const NOT_LINUX: &str = "windows options cannot be set for a linux pod";
const NOT_WINDOWS: &str = "cannot be set for a windows pod";
const PROFILES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

fn identity(errors: &mut Errors, at: &Node) {
    for message in names::identity(at.int()) {
        errors.invalid(at, message);
    }
}

pub(super) fn of_pod(errors: &mut Errors, pod: &Pod) {
    let context = pod.spec.at("securityContext");
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        identity(errors, &context.at(name));
    }
    for group in context.at("supplementalGroups").items() {
        identity(errors, &group);
    }
    sysctls(errors, pod, &context.at("sysctls"));
    one_of_if_set(errors, &context.at("fsGroupChangePolicy"), &["Always", "OnRootMismatch"]);
    seccomp(errors, &context.at("seccompProfile"));
    windows::options(errors, &context.at("windowsOptions"));
    app_armor(errors, &context.at("appArmorProfile"));
    one_of_if_set(errors, &context.at("supplementalGroupsPolicy"), &["Merge", "Strict"]);
    one_of_if_set(errors, &context.at("seLinuxChangePolicy"), &["MountOption", "Recursive"]);
}

fn one_of_if_set(errors: &mut Errors, at: &Node, supported: &[&str]) {
    if at.exists() && !supported.contains(&at.text()) {
        errors.unsupported(at, supported);
    }
}

fn sysctls(errors: &mut Errors, pod: &Pod, list: &Node) {
    let mut seen = HashSet::new();
    for name in list.items().map(|sysctl| sysctl.at("name")) {
        if name.is_empty() {
            errors.required(&name, "");
        } else if !is_sysctl(name.text()) {
            let detail = format!("must have at most {SYSCTL_BYTES_MAX} characters and match regex {SYSCTL_FORM}");
            errors.invalid(&name, detail);
        } else if seen.contains(name.text()) {
            errors.duplicate(&name, name.text());
        }
        for (flag, namespace) in [("hostNetwork", Scope::Network), ("hostIPC", Scope::Ipc)] {
            if pod.spec.at(flag).is_true() && scope(name.text()) == Some(namespace) {
                errors.invalid_value(&name, name.text(), format!("may not be specified when '{flag}' is true"));
            }
        }
        seen.insert(name.text());
    }
}

fn is_sysctl(name: &str) -> bool {
    let end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let segment = |part: &str| {
        let bytes = part.as_bytes();
        [bytes.first(), bytes.last()].iter().all(|byte| byte.is_some_and(|byte| end(*byte)))
            && bytes.iter().all(|byte| end(*byte) || b"-_".contains(byte))
    };
    name.len() <= SYSCTL_BYTES_MAX && name.split(['.', '/']).all(segment)
}

/// The namespaces of Linux that a setting can belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Network,
    Ipc,
}

fn scope(sysctl: &str) -> Option<Scope> {
    let name = sysctl.replace('/', ".");
    let ipc =
        name == "kernel.sem" || ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|head| name.starts_with(head));
    if ipc { Some(Scope::Ipc) } else { name.starts_with("net.").then_some(Scope::Network) }
}

fn seccomp(errors: &mut Errors, profile: &Node) {
    if !profile.exists() {
        return;
    }
    let (kind, local) = (profile.at("type"), profile.at("localhostProfile"));
    if kind.is_empty() {
        errors.required(&kind, "type is required when seccompProfile is set");
    } else if !PROFILES.contains(&kind.text()) {
        errors.unsupported(&kind, &PROFILES);
    }
    if !kind.is("Localhost") {
        if local.exists() {
            errors.invalid_showing(&local, profile, "can only be set when seccomp type is Localhost");
        }
    } else if local.exists() {
        descending_path(errors, &local);
    } else {
        errors.required(&local, "must be set when seccomp type is Localhost");
    }
}

fn app_armor(errors: &mut Errors, profile: &Node) {
    let (kind, local) = (profile.at("type"), profile.at("localhostProfile"));
    match kind.text() {
        "Localhost" => {
            if local.text().trim() != local.text() {
                errors.invalid(&local, "must not be padded with whitespace");
            } else if local.is_empty() {
                errors.required(&local, "must be set when AppArmor type is Localhost");
            }
            if local.len() > LOCALHOST_BYTES_MAX {
                errors.too_long(&local, LOCALHOST_BYTES_MAX);
            }
        }
        "RuntimeDefault" | "Unconfined" if local.exists() => {
            errors.invalid(&local, "can only be set when AppArmor type is Localhost");
        }
        "RuntimeDefault" | "Unconfined" => {}
        "" if profile.exists() => errors.required(&kind, "type is required when appArmorProfile is set"),
        "" => {}
        _ => errors.unsupported(&kind, &PROFILES),
    }
}

pub(super) fn of_container(errors: &mut Errors, pod: &Pod, context: &Node) {
    identity(errors, &context.at("runAsUser"));
    identity(errors, &context.at("runAsGroup"));
    let mount = context.at("procMount");
    one_of_if_set(errors, &mount, &["Default", "Unmasked"]);
    if pod.shares_host_users() && mount.is("Unmasked") {
        errors.invalid(&mount, "`hostUsers` must be false to use `Unmasked`");
    }
    seccomp(errors, &context.at("seccompProfile"));
    if context.at("allowPrivilegeEscalation").is_false() {
        if context.at("privileged").is_true() {
            errors.invalid(context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
        }
        for _ in context.at("capabilities").at("add").texts().iter().filter(|added| **added == "CAP_SYS_ADMIN") {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            errors.invalid(context, detail);
        }
    }
    windows::options(errors, &context.at("windowsOptions"));
    app_armor(errors, &context.at("appArmorProfile"));
}

pub(super) fn operating_system(errors: &mut Errors, spec: &Node, os: &Node) {
    let contexts = || {
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        lists.into_iter().flat_map(|list| spec.at(list).items()).map(|container| container.at("securityContext"))
    };
    match os.at("name").text() {
        "" => errors.required(&os.at("name"), ""),
        "linux" => {
            for context in [spec.at("securityContext")].into_iter().chain(contexts()) {
                if context.at("windowsOptions").exists() {
                    errors.forbidden(&context.at("windowsOptions"), NOT_LINUX);
                }
            }
        }
        "windows" => {
            not_on_windows(errors, &spec.at("securityContext"), &OF_POD);
            for (name, refused) in [
                ("hostUsers", spec.at("hostUsers").exists()),
                ("hostPID", spec.at("hostPID").is_true()),
                ("hostIPC", spec.at("hostIPC").is_true()),
                ("shareProcessNamespace", spec.at("shareProcessNamespace").exists()),
            ] {
                if refused {
                    errors.forbidden(&spec.at(name), NOT_WINDOWS);
                }
            }
            for context in contexts() {
                not_on_windows(errors, &context, &OF_CONTAINER);
            }
        }
        other => errors.unsupported_value(os, other, &["linux", "windows"]),
    }
}

const OF_POD: [&str; 11] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];
const OF_CONTAINER: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

fn not_on_windows(errors: &mut Errors, context: &Node, fields: &[&'static str]) {
    for field in fields.iter().map(|name| context.at(name)).filter(Node::exists) {
        errors.forbidden(&field, NOT_WINDOWS);
    }
}
