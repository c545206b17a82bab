//! Where a service or an ingress can be reached: in all cells.

use super::CellStatus;
use super::said;
use crate::apis;
use serde_json::Value;

/// Each address once, in order. A service that is not balanced has none.
pub(super) fn reduce(source: &Value, mut status: Value, cells: &[&CellStatus]) -> Value {
    let service = apis::text(source, &["kind"]) == Some("Service");
    if service && apis::text(source, &["spec", "type"]) != Some("LoadBalancer") {
        return status;
    }
    let all = said(cells).flat_map(|(_, status)| apis::list(status, &["loadBalancer", "ingress"]));
    let mut addresses: Vec<Value> = all.cloned().collect();
    let key = |address: &Value| {
        let text = |key| apis::text(address, &[key]).unwrap_or_default().to_owned();
        (text("ip"), text("hostname"))
    };
    addresses.sort_by_key(key);
    addresses.dedup_by_key(|address| key(address));
    let balancer = apis::map_mut(&mut status, &["loadBalancer"]);
    balancer.clear();
    if !addresses.is_empty() {
        balancer.insert("ingress".to_owned(), addresses.into());
    }
    status
}
