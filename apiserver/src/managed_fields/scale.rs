//! Owners of a number of replicas, as the small object shows them that holds nothing else.

use super::holdings::{self, EntryError, Holding, Holdings};
use super::set::FieldSet;
use serde_json::Value;

/// Where the number is, in the small object as in the one that is scaled.
const REPLICAS: &[&[&str]] = &[&["spec", "replicas"]];

fn replicas() -> FieldSet {
    FieldSet::of(REPLICAS)
}

fn owns_replicas(holding: &Holding) -> bool {
    !holding.fields.intersection(&replicas()).is_empty()
}

/// Gives the small object those owners of its parent who own the number.
pub fn to_scale(parent: &Value, scale: &mut Value, api_version: &str) -> Result<(), EntryError> {
    let mut owners = holdings::read(holdings::entries(parent))?;
    owners.retain(|_, holding| owns_replicas(holding));
    for holding in owners.values_mut() {
        holding.fields = replicas();
        api_version.clone_into(&mut holding.api_version);
    }
    holdings::set(scale, &owners);
    Ok(())
}

/// Gives the parent the owners that the small object has now: who does not own the number there has lost it.
pub fn to_parent(scale: &Value, parent: &mut Value, api_version: &str) -> Result<(), EntryError> {
    let scale_version = scale.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let mut now = holdings::read(holdings::entries(scale))?;
    let mut owners = Holdings::new();
    for (owner, mut holding) in holdings::read(holdings::entries(parent))? {
        if owns_replicas(&holding) && now.remove(&owner.at(scale_version)).is_none() {
            holding.fields = holding.fields.difference(&replicas());
        }
        if !holding.fields.is_empty() {
            owners.insert(owner, holding);
        }
    }
    for (owner, _) in now.into_iter().filter(|(_, holding)| owns_replicas(holding)) {
        let holding = Holding { fields: replicas(), api_version: api_version.to_owned(), time: None };
        owners.insert(owner.at(api_version), holding);
    }
    holdings::set(parent, &owners);
    Ok(())
}
