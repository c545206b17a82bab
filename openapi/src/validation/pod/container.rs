//! Containers of a pod.

use std::collections::HashSet;

use super::{Pod, env, mounts, probe, resources, security};
use crate::validation::names;
use crate::validation::net::{self, PROTOCOLS};
use crate::validation::tree::{Errors, Node};

const RESTART_RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const RULES_WITHOUT_POLICY: &str = "must specify restartPolicy when restart rules are used";
const NOT_WITHOUT_RESTART: &str = "may not be set for init containers without restartPolicy=Always";
/// What an ephemeral container must not have; not even empty, if Go can tell that from nothing.
const NOT_EPHEMERAL_FIELDS: [(&str, bool); 9] = [
    ("ports", false),
    ("resources", false),
    ("resizePolicy", false),
    ("restartPolicy", true),
    ("restartPolicyRules", false),
    ("livenessProbe", true),
    ("readinessProbe", true),
    ("startupProbe", true),
    ("lifecycle", true),
];
const NOT_EPHEMERAL: &str = "cannot be set for an Ephemeral Container";

pub(super) fn containers(errors: &mut Errors, pod: &Pod) {
    let list = pod.spec.at("containers");
    if list.is_empty() {
        return errors.required(&list, "");
    }
    let mut seen = HashSet::new();
    for container in list.items() {
        common(errors, pod, &container);
        if !seen.insert(container.at("name").text()) {
            errors.duplicate(&container.at("name"), container.at("name").text());
        }
        probe::lifecycle(errors, pod, &container.at("lifecycle"));
        probe::probes(errors, pod, &container);
        restart_policy(errors, &container);
    }
    host_ports(errors, list.items(), &list);
}

pub(super) fn init_containers(errors: &mut Errors, pod: &Pod) {
    let list = pod.spec.at("initContainers");
    let mut seen: HashSet<&str> = pod.spec.at("containers").items().map(|other| other.at("name").text()).collect();
    for container in list.items() {
        common(errors, pod, &container);
        let policy = container.at("restartPolicy");
        if !policy.exists() && !container.at("restartPolicyRules").is_empty() {
            errors.required(&policy, RULES_WITHOUT_POLICY);
        } else {
            restart_policy(errors, &container);
        }
        let name = container.at("name");
        if seen.contains(name.text()) {
            errors.duplicate(&name, name.text());
        } else if !name.is_empty() {
            seen.insert(name.text());
        }
        host_ports(errors, [container.clone()].into_iter(), &list);
        let restarts = container.at("restartPolicy").is("Always");
        if restarts {
            probe::lifecycle(errors, pod, &container.at("lifecycle"));
            probe::probes(errors, pod, &container);
        } else {
            let fields = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];
            for field in fields.map(|name| container.at(name)).iter().filter(|field| field.exists()) {
                errors.forbidden(field, NOT_WITHOUT_RESTART);
            }
        }
        for policy in container.at("resizePolicy").items().map(|policy| policy.at("restartPolicy")) {
            if !restarts && policy.is("RestartContainer") {
                let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                errors.invalid(&policy, detail);
            }
        }
    }
}

pub(super) fn ephemeral_containers(errors: &mut Errors, pod: &Pod) {
    let others = ["containers", "initContainers"].into_iter().flat_map(|list| pod.spec.at(list).items());
    let others: HashSet<&str> = others.map(|other| other.at("name").text()).collect();
    let mut seen = others.clone();
    for container in pod.spec.at("ephemeralContainers").items() {
        common(errors, pod, &container);
        trimmed_image(errors, &container);
        let (name, target) = (container.at("name"), container.at("targetContainerName"));
        if !seen.insert(name.text()) {
            errors.duplicate(&name, name.text());
        }
        if !target.is_empty() && !others.contains(target.text()) {
            errors.not_found(&target);
        }
        for (name, pointer) in NOT_EPHEMERAL_FIELDS {
            let value = container.at(name);
            if value.exists() && (pointer || !value.is_empty()) {
                errors.forbidden(&value, NOT_EPHEMERAL);
            }
        }
        for mount in container.at("volumeMounts").items() {
            for path in ["subPath", "subPathExpr"].map(|name| mount.at(name)).iter().filter(|path| !path.is_empty()) {
                errors.forbidden(path, NOT_EPHEMERAL);
            }
        }
    }
}

pub(super) fn trimmed_image(errors: &mut Errors, container: &Node) {
    let image = container.at("image");
    if image.text().trim() != image.text() {
        errors.invalid(&image, "must not have leading or trailing whitespace");
    }
}

fn common(errors: &mut Errors, pod: &Pod, container: &Node) {
    let name = container.at("name");
    if name.is_empty() {
        errors.required(&name, "");
    } else {
        errors.refuse(&name, names::dns1123_label(name.text()));
    }
    if container.at("image").is_empty() {
        errors.required(&container.at("image"), "");
    }
    errors.one_of(&container.at("terminationMessagePolicy"), &["File", "FallbackToLogsOnError"]);
    ports(errors, &container.at("ports"));
    env::env(errors, &container.at("env"));
    env::env_from(errors, &container.at("envFrom"));
    mounts::mounts(errors, pod, container);
    mounts::devices(errors, pod, container);
    errors.one_of(&container.at("imagePullPolicy"), &["Always", "IfNotPresent", "Never"]);
    resources::of_container(errors, pod, &container.at("resources"));
    resize_policy(errors, pod, &container.at("resizePolicy"));
    security::of_container(errors, pod, &container.at("securityContext"));
}

fn ports(errors: &mut Errors, list: &Node) {
    let mut seen = HashSet::new();
    for port in list.items() {
        let name = port.at("name");
        if !name.is_empty() {
            let wrong = names::port_name(name.text());
            if wrong.is_empty() && !seen.insert(name.text()) {
                errors.duplicate(&name, name.text());
            }
            errors.refuse(&name, wrong);
        }
        let (number, host) = (port.at("containerPort"), port.at("hostPort"));
        if number.int() == 0 {
            errors.required(&number, "");
        } else {
            net::check_port(errors, &number);
        }
        if host.int() != 0 {
            net::check_port(errors, &host);
        }
        errors.one_of(&port.at("protocol"), &PROTOCOLS);
    }
}

/// Two containers cannot have one port of the host. Errors count the containers given, in their list.
fn host_ports<'a>(errors: &mut Errors, containers: impl Iterator<Item = Node<'a>>, list: &Node<'a>) {
    let mut seen = HashSet::new();
    for (at, container) in containers.enumerate() {
        let ports = container.at("ports");
        for (index, port) in ports.items().enumerate().filter(|(_, port)| port.at("hostPort").int() != 0) {
            let (protocol, host) = (port.at("protocol").text(), port.at("hostIP").text());
            let text = format!("{protocol}/{host}/{}", port.at("hostPort").int());
            if seen.contains(&text) {
                let place = list.item(at).at("ports").item(index).at("hostPort");
                errors.duplicate(&place, text.as_str());
            }
            seen.insert(text);
        }
    }
}

pub(super) fn host_network(errors: &mut Errors, pod: &Pod) {
    if !pod.spec.at("hostNetwork").is_true() {
        return;
    }
    for port in pod.spec.at("containers").items().flat_map(|container| container.at("ports").items()) {
        let (host, number) = (port.at("hostPort"), port.at("containerPort").int());
        if (pod.meta.is_some() || host.int() != 0) && host.int() != number {
            errors.invalid_value(&host, host.int(), "must match `containerPort` when `hostNetwork` is true");
        }
    }
}

fn resize_policy(errors: &mut Errors, pod: &Pod, list: &Node) {
    let mut seen = HashSet::new();
    for policy in list.items() {
        let (resource, restart) = (policy.at("resourceName"), policy.at("restartPolicy"));
        if !seen.insert(resource.text()) {
            errors.duplicate(&policy, resource.text());
        }
        errors.one_of(&resource.placed_at(list), &["cpu", "memory"]);
        errors.one_of(&restart.placed_at(list), &["NotRequired", "RestartContainer"]);
        if pod.spec.at("restartPolicy").is("Never") && !restart.is("NotRequired") {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.invalid_value(list, restart.text(), detail);
        }
    }
}

fn restart_policy(errors: &mut Errors, container: &Node) {
    let (policy, rules) = (container.at("restartPolicy"), container.at("restartPolicyRules"));
    if !policy.exists() {
        if rules.is_empty() {
            return;
        }
        errors.required(&policy, RULES_WITHOUT_POLICY);
    } else if !["Always", "Never", "OnFailure"].contains(&policy.text()) {
        errors.unsupported(&policy, &["Always", "Never", "OnFailure"]);
    }
    if rules.len() > RESTART_RULES_MAX {
        errors.too_many(&rules, RESTART_RULES_MAX);
    }
    for rule in rules.items() {
        if !["Restart", "RestartAllContainers"].contains(&rule.at("action").text()) {
            errors.unsupported(&rule.at("action"), &["Restart", "RestartAllContainers"]);
        }
        let codes = rule.at("exitCodes");
        if !codes.exists() {
            errors.required(&codes, "must be specified");
            continue;
        }
        if !["In", "NotIn"].contains(&codes.at("operator").text()) {
            errors.unsupported(&codes.at("operator"), &["In", "NotIn"]);
        }
        if codes.at("values").len() > EXIT_CODES_MAX {
            errors.too_many(&codes.at("values"), EXIT_CODES_MAX);
        }
    }
}
