//! What a pod may ask of Windows.

use super::Pod;
use crate::validation::names;
use crate::validation::tree::{Errors, Node};

const CREDENTIAL_BYTES_MAX: usize = 64 * 1024;
const DOMAIN_BYTES_MAX: usize = 255;
const USER_BYTES_MAX: usize = 104;
const NETBIOS_MAX: usize = 15;

pub(super) fn options(errors: &mut Errors, options: &Node) {
    let (name, spec) = (options.at("gmsaCredentialSpecName"), options.at("gmsaCredentialSpec"));
    if name.exists() {
        errors.refuse(&name, names::dns1123_subdomain(name.text()));
    }
    if spec.exists() && spec.is_empty() {
        errors.invalid(&spec, "gmsaCredentialSpec cannot be an empty string");
    } else if spec.len() > CREDENTIAL_BYTES_MAX {
        errors.invalid(&spec, "gmsaCredentialSpec size must be under 64 KiB");
    }
    if options.at("runAsUserName").exists() {
        user_name(errors, &options.at("runAsUserName"));
    }
}

/// `user`, or `domain\user`.
fn user_name(errors: &mut Errors, at: &Node) {
    let parts: Vec<&str> = at.text().split('\\').collect();
    if at.is_empty() {
        return errors.invalid(at, "runAsUserName cannot be an empty string");
    }
    if at.text().bytes().any(|byte| byte.is_ascii_control()) {
        return errors.invalid(at, "runAsUserName cannot contain control characters");
    }
    let (domain, user) = match parts[..] {
        [user] => (None, user),
        [domain, user] => (Some(domain), user),
        _ => return errors.invalid(at, "runAsUserName cannot contain more than one backslash"),
    };
    if domain.is_some_and(|domain| domain.len() > DOMAIN_BYTES_MAX) {
        errors.invalid(at, "runAsUserName's Domain length must be under 256 characters");
    }
    if domain.is_some_and(|domain| !is_netbios(domain) && !is_domain(domain)) {
        errors.invalid(at, "runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    }
    if user.is_empty() {
        errors.invalid(at, "runAsUserName's User cannot be empty");
    } else if user.len() > USER_BYTES_MAX {
        let detail = format!("runAsUserName's User length must not be longer than {USER_BYTES_MAX} characters");
        errors.invalid(at, detail);
    }
    if !user.is_empty() && user.bytes().all(|byte| b". ".contains(&byte)) {
        errors.invalid(at, "runAsUserName's User cannot contain only periods or spaces");
    }
    if user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']) {
        let detail = r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#;
        errors.invalid(at, detail);
    }
}

fn is_netbios(domain: &str) -> bool {
    let length = domain.chars().count();
    (1..=NETBIOS_MAX).contains(&length)
        && !domain.starts_with('.')
        && !domain.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|'])
}

fn is_domain(domain: &str) -> bool {
    domain.split('.').all(|label| label.len() <= 63 && names::is_label(&label.to_ascii_lowercase()))
}

fn host_process_of<'a>(at: &Node<'a>) -> Node<'a> {
    at.at("securityContext").at("windowsOptions").at("hostProcess")
}

/// Containers that are processes of the host: all of a pod's, or none, and in the host's network.
pub(super) fn host_process(errors: &mut Errors, pod: &Pod) {
    let whole = host_process_of(&pod.spec);
    let (mut containers, mut processes) = (0, 0);
    for container in pod.containers() {
        let own = host_process_of(&container);
        if whole.exists() && own.exists() && whole.value() != own.value() {
            let detail = "pod hostProcess value must be identical if both are specified, was";
            errors.invalid(&own, format!("{detail} {}", whole.is_true()));
        }
        containers += 1;
        processes += u32::from(if own.exists() { own.is_true() } else { whole.is_true() });
    }
    if processes == 0 {
        return;
    }
    if processes != containers {
        let detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.invalid_value(&pod.spec, "", detail);
    }
    let network = pod.spec.at("hostNetwork");
    if !network.is_true() {
        errors.invalid_value(&network, false, "hostNetwork must be true if pod contains any hostProcess containers");
    }
}
