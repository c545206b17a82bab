//! Our own dialect: `FederationRule`, which says all a [`Rule`] can, and `Cell`.
//!
//! ```yaml
//! apiVersion: federation.hanse.dev/v1alpha1
//! kind: FederationRule
//! metadata: {name: workloads}
//! spec:
//!   objects: [{apiVersion: compute.datumapis.com/v1alpha, kind: WorkloadDeployment}]
//!   cells:
//!     joins: [{objectField: spec.cityCode, cellLabel: topology.datum.net/city-code}]
//!   retain: [spec.replicas]
//!   follow: true
//! ```

pub mod definitions;
mod rule;

pub use rule::compile;

use crate::apis;
use crate::apis::Kind;
use crate::dialects::karmada;
use crate::scheduler::Cell;
use crate::scheduler::cell::Serves;
use crate::scheduler::rule::Rule;
use serde_json::Value;

/// Reads a Cell. One that has not said yet what it serves may serve anything: what it cannot hold, it refuses, and that
/// is seen on the object.
pub fn cell(object: &Value) -> Cell {
    let mut cell = karmada::cell(&karmada::cluster(object));
    if apis::at(object, &["status", "apiEnablements"]).is_none() {
        cell.serves = Serves::Everything;
    }
    cell
}

/// Whether a rule of this workspace speaks for an object of it.
pub fn speaks_for(rule: &Rule, object: &Value, workspace: &str) -> bool {
    rule.strength(object, workspace).is_some() && Kind::of(object).group() != definitions::GROUP
}

#[cfg(test)]
mod tests;
