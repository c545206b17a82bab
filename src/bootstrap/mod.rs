//! What every workspace has from the start: the namespaces and roles that clients count on, and the way back to this
//! server.

mod policy;

pub use policy::rules;

use crate::credentials::SERVICE_ADDRESS;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::timestamp;
use apiserver::place::Workspace;
use apiserver::strategy::Part;
use serde_json::json;
use std::net::SocketAddr;

/// All addresses that services can have.
const SERVICE_RANGE: &str = "10.0.0.0/16";

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Makes what is missing, and leaves alone what is there.
pub async fn bootstrap(client: &Client, workspace: &Workspace, server: SocketAddr) -> Result<(), ApiError> {
    let namespaces = client.at(("", "v1", "namespaces"), workspace, None)?;
    for name in NAMESPACES {
        client.ensure(&namespaces, json!({ "metadata": { "name": name } })).await?;
    }
    let classes = client.at(("scheduling.k8s.io", "v1", "priorityclasses"), workspace, None)?;
    for (name, value) in [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)] {
        let class = json!({
            "metadata": { "name": name }, "value": value,
            "description": "Used for what must run for everything else to run.",
        });
        client.ensure(&classes, class).await?;
    }
    policy::policy(client, workspace).await?;
    addresses(client, workspace).await?;
    service(client, workspace, server).await
}

/// Where the addresses of services come from.
async fn addresses(client: &Client, workspace: &Workspace) -> Result<(), ApiError> {
    let ranges = client.at(("networking.k8s.io", "v1", "servicecidrs"), workspace, None)?;
    let range = json!({ "metadata": { "name": "kubernetes" }, "spec": { "cidrs": [SERVICE_RANGE] } });
    if client.get(&ranges.object("kubernetes")).await?.is_none() {
        client.ensure(&ranges, range).await?;
        let ready = json!({ "status": { "conditions": [{
            "type": "Ready", "status": "True", "reason": "", "message": "Kubernetes default Service CIDR is ready",
            "lastTransitionTime": timestamp(client.ambient().now()),
        }] } });
        client.merge(&ranges.object("kubernetes"), Part::Status, &ready).await?;
    }
    Ok(())
}

/// The service `kubernetes`, by which whatever runs inside finds the API.
async fn service(client: &Client, workspace: &Workspace, server: SocketAddr) -> Result<(), ApiError> {
    let labels = json!({ "component": "apiserver", "provider": "kubernetes" });
    let services = client.at(("", "v1", "services"), workspace, Some("default"))?;
    let ports = json!([{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": server.port() }]);
    let spec = json!({
        "type": "ClusterIP", "clusterIP": SERVICE_ADDRESS.to_string(), "ports": ports, "sessionAffinity": "None",
    });
    client.ensure(&services, json!({ "metadata": { "name": "kubernetes", "labels": labels }, "spec": spec })).await?;
    endpoints(client, workspace, server).await
}

async fn endpoints(client: &Client, workspace: &Workspace, server: SocketAddr) -> Result<(), ApiError> {
    let (ip, port) = (server.ip().to_string(), server.port());
    let ports = json!([{ "name": "https", "port": port, "protocol": "TCP" }]);
    let endpoints = client.at(("", "v1", "endpoints"), workspace, Some("default"))?;
    let mirrored = json!({ "endpointslice.kubernetes.io/skip-mirror": "true" });
    let subsets = json!([{ "addresses": [{ "ip": ip }], "ports": ports }]);
    let metadata = json!({ "name": "kubernetes", "labels": mirrored });
    client.ensure(&endpoints, json!({ "metadata": metadata, "subsets": subsets })).await?;
    // The server may listen elsewhere than the last time.
    client.merge(&endpoints.object("kubernetes"), Part::Main, &json!({ "subsets": subsets })).await?;
    let slices = client.at(("discovery.k8s.io", "v1", "endpointslices"), workspace, Some("default"))?;
    let behind = json!([{ "addresses": [ip], "conditions": { "ready": true } }]);
    let slice = json!({
        "metadata": { "name": "kubernetes", "labels": { "kubernetes.io/service-name": "kubernetes" } },
        "addressType": if server.is_ipv6() { "IPv6" } else { "IPv4" }, "ports": ports, "endpoints": behind,
    });
    client.ensure(&slices, slice).await?;
    let moved = json!({ "ports": ports, "endpoints": behind });
    client.merge(&slices.object("kubernetes"), Part::Main, &moved).await.map(drop)
}
