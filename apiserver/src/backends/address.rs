//! Where a service is: behind its slices, or wherever it says. There is no network of its own here, so an address is
//! one that can be reached from this server.

use super::Service;
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(tree: Value) -> Object {
        tree.try_into().unwrap()
    }

    fn slice(port: Value, endpoints: Value) -> Object {
        of(json!({ "metadata": { "name": "s" }, "ports": [{ "name": "x", "port": 9 }, port], "endpoints": endpoints }))
    }

    /// `10.0.0.1:1 10.0.0.2:1`, or the reason why there is none.
    #[track_caller]
    fn check(service: Option<Value>, slices: &[Object], expected: &str) {
        let named = Service { namespace: "n".to_owned(), name: "api".to_owned(), port: 443 };
        let service = service.map(|spec| of(json!({ "metadata": { "name": "api" }, "spec": spec })));
        let told = match addresses(&named, service.as_ref(), slices) {
            Ok(all) => all.iter().map(|at| format!("{}:{}", at.host, at.port)).collect::<Vec<_>>().join(" "),
            Err(why) => format!("{}: {}", why.reason, why.message),
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn a_service_is_at_the_ready_addresses_of_its_slices() {
        let spec = || Some(json!({ "ports": [{ "port": 80 }, { "name": "https", "port": 443 }] }));
        let https = |port: u16| json!({ "name": "https", "port": port });
        let ready = json!([
            { "addresses": ["10.0.0.2"] },
            { "addresses": ["10.0.0.1", "10.9.9.9"], "conditions": { "ready": true } },
            { "addresses": ["10.0.0.3"], "conditions": { "ready": false } },
        ]);
        let all = [slice(https(1), ready.clone()), slice(https(2), ready.clone()), slice(https(1), ready)];
        check(spec(), &all, "10.0.0.1:1 10.0.0.1:2 10.0.0.2:1 10.0.0.2:2");
        let unnamed = slice(json!({ "port": 7 }), json!([{ "addresses": ["::1"] }]));
        check(Some(json!({ "ports": [{ "port": 443 }] })), &[unnamed], "::1:7");
        check(Some(json!({ "type": "ExternalName", "externalName": "api.example" })), &[], "api.example:443");
    }

    #[test]
    fn why_it_is_nowhere_is_said_in_kubernetes_words() {
        let spec = || Some(json!({ "ports": [{ "name": "https", "port": 443 }] }));
        check(None, &[], "ServiceNotFound: service/api in \"n\" is not present");
        let other = Some(json!({ "ports": [{ "port": 80 }] }));
        check(other, &[], "ServicePortError: service/api in \"n\" is not listening on port 443");
        check(spec(), &[], "EndpointsNotFound: cannot find endpointslices for service/api in \"n\"");
        let missing =
            "MissingEndpoints: endpointslices for service/api in \"n\" have no addresses with port name \"https\"";
        let gone = json!([{ "addresses": ["10.0.0.1"], "conditions": { "ready": false } }]);
        check(spec(), &[slice(json!({ "name": "https", "port": 1 }), gone)], missing);
        check(spec(), &[slice(json!({ "name": "y", "port": 1 }), json!([{ "addresses": ["10.0.0.1"] }]))], missing);
    }
}
