//! Where a service is: behind its slices, or wherever it says. There is no network of its own here, so an address is
//! one that can be reached from this server.

use crate::hooks::Service;
use crate::object::Object;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    pub host: String,
    pub port: u16,
}

/// Why a service cannot be reached: a reason in one word and a sentence, both Kubernetes' own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreachable {
    pub reason: &'static str,
    pub message: String,
}

/// All addresses of a service that are ready. `slices` are those that name it.
pub fn addresses(of: &Service, service: Option<&Object>, slices: &[Object]) -> Result<Vec<Address>, Unreachable> {
    let Service { namespace, name, port } = of;
    let unreachable = |reason, message| Err(Unreachable { reason, message });
    let Some(service) = service else {
        return unreachable("ServiceNotFound", format!("service/{name} in {namespace:?} is not present"));
    };
    if service.text(&["spec", "type"]) == "ExternalName" {
        return Ok(vec![Address { host: service.text(&["spec", "externalName"]).to_owned(), port: *port }]);
    }
    let Some(named) = service.items(&["spec", "ports"]).find(|one| one["port"] == *port) else {
        let message = format!("service/{name} in {namespace:?} is not listening on port {port}");
        return unreachable("ServicePortError", message);
    };
    let named = named["name"].as_str().unwrap_or_default();
    if slices.is_empty() {
        let message = format!("cannot find endpointslices for service/{name} in {namespace:?}");
        return unreachable("EndpointsNotFound", message);
    }
    let mut found: Vec<Address> = slices.iter().flat_map(|slice| ready(slice, named)).collect();
    found.sort_unstable();
    found.dedup();
    if found.is_empty() {
        let message =
            format!("endpointslices for service/{name} in {namespace:?} have no addresses with port name {named:?}");
        return unreachable("MissingEndpoints", message);
    }
    Ok(found)
}

/// Nothing said counts as ready.
fn ready(slice: &Object, port_name: &str) -> Vec<Address> {
    let mut ports = slice.items(&["ports"]);
    let named = |port: &&Value| port["name"].as_str().unwrap_or_default() == port_name;
    let port = ports.find(named).and_then(|port| u16::try_from(port["port"].as_u64()?).ok());
    let Some(port) = port else { return Vec::new() };
    let ready = slice.items(&["endpoints"]).filter(|endpoint| endpoint["conditions"]["ready"] != false);
    let hosts = ready.filter_map(|endpoint| endpoint["addresses"].get(0)?.as_str());
    hosts.map(|host| Address { host: host.to_owned(), port }).collect()
}
