//! Probes and lifecycle hooks of a container.

use super::Pod;
use crate::validation::names;
use crate::validation::net;
use crate::validation::tree::{Errors, Node};

const ONE_HANDLER: &str = "may not specify more than 1 handler type";
const NUMBERS: [&str; 5] =
    ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];

pub(super) fn probes(errors: &mut Errors, pod: &Pod, container: &Node) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = container.at(name);
        if !probe.exists() {
            continue;
        }
        self::probe(errors, pod, &probe);
        let (threshold, grace) = (probe.at("successThreshold"), probe.at("terminationGracePeriodSeconds"));
        if name == "readinessProbe" {
            if grace.exists() {
                errors.invalid(&grace, "must not be set for readinessProbes");
            }
        } else if threshold.int() != 1 {
            errors.invalid_value(&threshold, threshold.int(), "must be 1");
        }
    }
}

fn probe(errors: &mut Errors, pod: &Pod, probe: &Node) {
    handler(errors, pod, probe, &["exec", "httpGet", "tcpSocket", "grpc"]);
    for name in NUMBERS {
        errors.negative(&probe.at(name));
    }
    let grace = probe.at("terminationGracePeriodSeconds");
    if grace.exists() && grace.int() <= 0 {
        errors.invalid(&grace, "must be greater than 0");
    }
}

pub(super) fn lifecycle(errors: &mut Errors, pod: &Pod, lifecycle: &Node) {
    for hook in ["postStart", "preStop"].map(|name| lifecycle.at(name)) {
        if hook.exists() {
            handler(errors, pod, &hook, &["exec", "httpGet", "tcpSocket", "sleep"]);
        }
    }
}

fn handler(errors: &mut Errors, pod: &Pod, at: &Node, kinds: &[&'static str]) {
    let mut found = false;
    for kind in kinds.iter().copied() {
        let action = at.at(kind);
        if !action.exists() {
            continue;
        }
        if found {
            errors.forbidden(&action, ONE_HANDLER);
            continue;
        }
        found = true;
        match kind {
            "exec" if action.at("command").is_empty() => errors.required(&action.at("command"), ""),
            "exec" => {}
            "httpGet" => http(errors, &action),
            "sleep" => sleep(errors, pod, &action),
            _ => {
                net::check_port_or_name(errors, &action.at("port"));
                let mode = action.at("mode");
                if mode.exists() && !["Plaintext", "TLS"].contains(&mode.text()) {
                    errors.unsupported(&mode, &["Plaintext", "TLS"]);
                }
            }
        }
    }
    if !found {
        errors.required(at, "must specify a handler type");
    }
}

fn sleep(errors: &mut Errors, pod: &Pod, action: &Node) {
    let seconds = action.at("seconds").int();
    if let Some(grace) = pod.grace_secs.filter(|grace| seconds < 0 || seconds > *grace) {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.invalid_value(action, seconds, detail);
    }
}

fn http(errors: &mut Errors, action: &Node) {
    let (path, scheme, protocol) = (action.at("path"), action.at("scheme"), action.at("protocol"));
    if path.is_empty() {
        errors.required(&path, "");
    }
    net::check_port_or_name(errors, &action.at("port"));
    if !["HTTP", "HTTPS"].contains(&scheme.text()) {
        errors.unsupported(&scheme, &["HTTP", "HTTPS"]);
    }
    for header in action.at("httpHeaders").items() {
        let name = header.at("name").text();
        for message in names::header_name(name) {
            errors.invalid_value(&action.at("httpHeaders"), name, message);
        }
    }
    if !protocol.exists() {
        return;
    }
    if !["HTTP1", "HTTP2"].contains(&protocol.text()) {
        errors.unsupported(&protocol, &["HTTP1", "HTTP2"]);
    } else if protocol.is("HTTP2") && !scheme.is("HTTP") {
        errors.invalid(&protocol, "is only supported with HTTP (H2C)");
    } else if protocol.is("HTTP2") && !action.at("host").is_empty() {
        errors.invalid(&action.at("host"), "must be empty when `protocol` is \"HTTP2\"");
    }
}
