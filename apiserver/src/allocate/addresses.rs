//! Addresses inside of the cluster: chosen, asked for by name, or none.

use super::{Givers, invalid};
use crate::ambient::Ambient;
use crate::error::ApiError;
use crate::object::{Object, timestamp};
use openapi::FieldError;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// 10.0.0.0/16, without the first address and the last one.
const BASE: u32 = u32::from_be_bytes([10, 0, 0, 0]);
const RANGE: &str = "10.0.0.0/16";
const SIZE: u32 = 65_536;
/// Below it are addresses for those who ask for one by name; they are chosen only when all others are taken.
const FIRST: u32 = 257;
/// Random choices before all addresses are looked at in turn: enough until the range is nearly full.
const CHOICES: usize = 32;

const ADDRESSES: (&str, &str) = ("networking.k8s.io", "ipaddresses");

/// The addresses that a service holds.
pub(super) fn of(service: &Object) -> BTreeSet<String> {
    if service.text(&["spec", "type"]) == "ExternalName" {
        return BTreeSet::new();
    }
    let given = service.items(&["spec", "clusterIPs"]).filter_map(Value::as_str);
    // What is no address is for validation to refuse.
    given.filter(|text| text.parse::<Ipv4Addr>().is_ok()).map(str::to_owned).collect()
}

pub(super) fn fill_in(service: &mut Object, had: &BTreeSet<String>, givers: &Givers<'_>) -> Result<(), ApiError> {
    if service.text(&["spec", "type"]) == "ExternalName" {
        return Ok(());
    }
    check_families(service)?;
    let asked = service.text(&["spec", "clusterIP"]).to_owned();
    let listed = service.items(&["spec", "clusterIPs"]).next().is_some();
    if asked.is_empty() && listed {
        // Validation says what is wrong with that.
        return Ok(());
    }
    if asked.is_empty() {
        let address = choose(service, givers)?.to_string();
        let spec = service.spec_mut();
        spec.insert("clusterIP".to_owned(), address.as_str().into());
        spec.insert("clusterIPs".to_owned(), json!([address]));
        return Ok(());
    }
    for address in of(service).difference(had) {
        check(service, address, givers)?;
    }
    Ok(())
}

/// There are addresses of one family only.
fn check_families(service: &Object) -> Result<(), ApiError> {
    let headless = service.text(&["spec", "clusterIP"]) == "None";
    if headless && service.pointer(&["spec", "selector"]).and_then(Value::as_object).is_none_or(|s| s.is_empty()) {
        return Ok(());
    }
    if service.text(&["spec", "ipFamilyPolicy"]) == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        return Err(invalid(service, FieldError::invalid("spec.ipFamilyPolicy", "RequireDualStack", detail)));
    }
    let other = service.items(&["spec", "ipFamilies"]).position(|family| family == "IPv6");
    if let Some(at) = other {
        let field = format!("spec.ipFamilies[{at}]");
        return Err(invalid(service, FieldError::invalid(field, "IPv6", "not configured on this cluster")));
    }
    Ok(())
}

fn is_free(address: Ipv4Addr, givers: &Givers<'_>) -> Result<bool, ApiError> {
    Ok(givers.look.one(ADDRESSES, "", &address.to_string())?.is_none())
}

fn choose(service: &Object, givers: &Givers<'_>) -> Result<Ipv4Addr, ApiError> {
    let upper = SIZE - 1 - FIRST;
    let random = || u32::try_from(givers.ambient.below(upper.into())).unwrap_or_default();
    for _ in 0..CHOICES {
        let address = Ipv4Addr::from(BASE + FIRST + random());
        if is_free(address, givers)? {
            return Ok(address);
        }
    }
    for offset in (FIRST..SIZE - 1).chain(1..FIRST) {
        let address = Ipv4Addr::from(BASE + offset);
        if is_free(address, givers)? {
            return Ok(address);
        }
    }
    let name = service.name();
    Err(ApiError::internal(format!("failed to allocate a serviceIP for Service {name:?}: range is full")))
}

fn check(service: &Object, address: &str, givers: &Givers<'_>) -> Result<(), ApiError> {
    let Ok(parsed) = address.parse::<Ipv4Addr>() else { return Ok(()) };
    let inside = u32::from(parsed).checked_sub(BASE).is_some_and(|offset| (1..SIZE - 1).contains(&offset));
    let why = if !inside {
        format!("the provided IP ({address}) is not in the valid range. The range of valid IPs is {RANGE}")
    } else if !is_free(parsed, givers)? {
        "provided IP is already allocated".to_owned()
    } else {
        return Ok(());
    };
    let said = service.pointer(&["spec", "clusterIPs"]).cloned().unwrap_or_default();
    let detail = format!("failed to allocate IP {address}: {why}");
    Err(invalid(service, FieldError::invalid("spec.clusterIPs", said, detail)))
}

/// The object by which an address is taken.
pub(super) fn object(address: &str, service: &Object, ambient: &Ambient) -> Object {
    let labels = json!({
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    });
    let (namespace, name) = (service.namespace(), service.name());
    let mut object = Object::default();
    object.map_mut().insert("apiVersion".to_owned(), "networking.k8s.io/v1".into());
    object.map_mut().insert("kind".to_owned(), "IPAddress".into());
    object.set_metadata("name", address);
    object.set_metadata("uid", ambient.uid());
    object.set_metadata("creationTimestamp", timestamp(ambient.now()));
    object.set_metadata("labels", labels);
    let parent = json!({ "resource": "services", "namespace": namespace, "name": name });
    object.spec_mut().insert("parentRef".to_owned(), parent);
    object
}
