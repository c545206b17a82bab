//! `hanse install`: what another API server has to be told, so that it passes requests on to this one.

use super::answer;
use crate::config::{SERVICE, SERVICE_NAMESPACE};
use crate::credentials;
use crate::server;
use apiserver::ambient::Ambient;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print the manifests a host kube-apiserver needs to run this server behind it, for `kubectl apply -f -`
    ///
    /// They are a namespace, a service account with its roles, a service, and an APIService for each version of Hanse's API
    /// groups.
    Apiservice(Flags),
}

#[derive(Args, Debug)]
pub(super) struct Flags {
    /// The data directory of the server, whose CA the host will trust; created if missing
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// The namespace on the host
    #[arg(long, default_value = SERVICE_NAMESPACE)]
    namespace: String,
    /// The service on the host; the server's certificate must be for NAME.NAMESPACE.svc (`hanse serve --tls-san`)
    #[arg(long, value_name = "NAME", default_value = SERVICE)]
    service_name: String,
    /// The address of the server if it is not a pod of the host; the host must be able to reach it
    #[arg(long, value_name = "IP:PORT")]
    external_address: Option<SocketAddr>,
    /// The port the server's pods listen on
    #[arg(long, value_name = "PORT", default_value_t = 6443)]
    target_port: u16,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", value_enum, default_value_t = Output::Yaml)]
    output: Output,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Output {
    Yaml,
    Json,
}

pub(super) fn run(command: Command) -> Result<(), Box<dyn Error>> {
    let Command::Apiservice(flags) = command;
    if flags.external_address.is_some_and(|at| at.ip().is_loopback() || at.ip().is_unspecified()) {
        return Err("--external-address must be an address that the host can reach, not a loopback address".into());
    }
    let authority = credentials::authority_of(&flags.data_dir, &Ambient::real())?;
    let all = manifests(&flags, &authority, &server::offered());
    Ok(answer(&match flags.output {
        Output::Yaml => in_yaml(&all)?,
        Output::Json => format!("{}\n", json!({ "apiVersion": "v1", "kind": "List", "items": all })),
    })?)
}

fn in_yaml(all: &[Value]) -> Result<String, Box<dyn Error>> {
    let texts: Vec<String> = all.iter().map(serde_saphyr::to_string).collect::<Result<_, _>>()?;
    Ok(texts.iter().map(|text| format!("---\n{}\n", text.trim_end())).collect())
}

/// Everything, in an order in which it can be made.
fn manifests(flags: &Flags, authority: &str, groups: &[(String, Vec<String>)]) -> Vec<Value> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": flags.namespace } });
    let mut all = vec![namespace];
    all.extend(roles(flags));
    all.push(service(flags));
    all.extend(flags.external_address.map(|at| slice(flags, at)));
    for (group, versions) in groups {
        // The first is preferred, and what comes from elsewhere stands behind what the host has itself.
        for (version, priority) in versions.iter().zip((1..=100_u32).rev()) {
            all.push(api_service(flags, authority, (group, version), priority));
        }
    }
    all
}

fn named(flags: &Flags) -> Value {
    json!({ "name": flags.service_name, "namespace": flags.namespace })
}

fn subject(flags: &Flags) -> Value {
    json!([{ "kind": "ServiceAccount", "name": flags.service_name, "namespace": flags.namespace }])
}

/// Who the server is in the host, and what it may ask there.
fn roles(flags: &Flags) -> Vec<Value> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let api_version = format!("{RBAC}/v1");
    let role = |kind: &str, name: &str| json!({ "apiGroup": RBAC, "kind": kind, "name": name });
    let (delegates, reads) =
        (format!("{}:auth-delegator", flags.service_name), format!("{}:namespaces", flags.service_name));
    let rule = json!({ "apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"] });
    vec![
        json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": named(flags) }),
        json!({ "apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": { "name": delegates },
            "roleRef": role("ClusterRole", "system:auth-delegator"), "subjects": subject(flags) }),
        json!({ "apiVersion": api_version, "kind": "RoleBinding",
            "metadata": { "name": format!("{}:authentication-reader", flags.service_name), "namespace": "kube-system" },
            "roleRef": role("Role", "extension-apiserver-authentication-reader"), "subjects": subject(flags) }),
        json!({ "apiVersion": api_version, "kind": "ClusterRole", "metadata": { "name": reads }, "rules": [rule] }),
        json!({ "apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": { "name": reads },
            "roleRef": role("ClusterRole", &reads), "subjects": subject(flags) }),
    ]
}

fn service(flags: &Flags) -> Value {
    let target = flags.external_address.map_or(flags.target_port, |at| at.port());
    let ports = json!([{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": target }]);
    let mut spec = json!({ "ports": ports });
    if flags.external_address.is_none() {
        spec["selector"] = json!({ "app.kubernetes.io/name": flags.service_name });
    }
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": named(flags), "spec": spec })
}

fn slice(flags: &Flags, at: SocketAddr) -> Value {
    let mut metadata = named(flags);
    metadata["labels"] = json!({ "kubernetes.io/service-name": flags.service_name,
        "endpointslice.kubernetes.io/managed-by": "hanse" });
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata,
        "addressType": if at.is_ipv4() { "IPv4" } else { "IPv6" },
        "ports": [{ "name": "https", "port": at.port(), "protocol": "TCP" }],
        "endpoints": [{ "addresses": [at.ip().to_string()], "conditions": { "ready": true } }],
    })
}

fn api_service(flags: &Flags, authority: &str, (group, version): (&str, &str), priority: u32) -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": { "name": format!("{version}.{group}") },
        "spec": {
            "group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": priority,
            "service": { "name": flags.service_name, "namespace": flags.namespace, "port": 443 },
            "caBundle": STANDARD.encode(authority),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(external_address: Option<&str>) -> Flags {
        Flags {
            data_dir: "nowhere".into(),
            namespace: "ns".to_owned(),
            service_name: "svc".to_owned(),
            external_address: external_address.map(|at| at.parse().unwrap()),
            target_port: 6443,
            output: Output::Yaml,
        }
    }

    #[test]
    fn a_host_is_told_everything_once_and_in_order() {
        let groups = [("g".to_owned(), vec!["v2".to_owned(), "v1".to_owned()])];
        let all = manifests(&flags(Some("192.0.2.7:6443")), "PEM", &groups);
        let kinds: Vec<&str> = all.iter().map(|one| one["kind"].as_str().unwrap()).collect();
        let roles = ["ServiceAccount", "ClusterRoleBinding", "RoleBinding", "ClusterRole", "ClusterRoleBinding"];
        let rest = ["Service", "EndpointSlice", "APIService", "APIService"];
        assert_eq!(kinds, [&["Namespace"][..], &roles, &rest].concat());
        assert_eq!(all[7]["endpoints"][0]["addresses"], json!(["192.0.2.7"]));
        assert_eq!((&all[8]["metadata"]["name"], &all[8]["spec"]["caBundle"]), (&json!("v2.g"), &json!("UEVN")));
        assert!(all[8]["spec"]["versionPriority"].as_u64() > all[9]["spec"]["versionPriority"].as_u64());
        let inside = manifests(&flags(None), "PEM", &groups);
        assert!(!inside.iter().any(|one| one["kind"] == "EndpointSlice"));
        let text = in_yaml(&inside).unwrap();
        assert_eq!(text.matches("---\n").count(), inside.len());
    }

    #[test]
    fn all_of_our_groups_are_offered_and_none_of_kubernetes() {
        let groups: Vec<String> = server::offered().into_iter().map(|(group, _)| group).collect();
        for ours in ["federation.hanse.dev", "policy.karmada.io", "tenancy.kcp.io"] {
            assert!(groups.iter().any(|group| group == ours), "{ours} in {groups:?}");
        }
        assert!(!groups.iter().any(|group| group.is_empty() || group.ends_with(".k8s.io") || group == "apps"));
    }
}
