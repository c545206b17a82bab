//! Owners of a number of replicas, as the small object shows them that holds nothing else.

use super::holdings::{self, EntryError, Holding, Holdings};
use super::set::FieldSet;
use serde_json::Value;

/// Where the number is in the small object.
const REPLICAS: &[&[&str]] = &[&["spec", "replicas"]];

fn owns(holding: &Holding, number: &FieldSet) -> bool {
    !holding.fields.intersection(number).is_empty()
}

/// Gives the small object those owners of its parent who own the number, which the parent has at `place`.
pub fn to_scale(parent: &Value, place: &[&str], scale: &mut Value, api_version: &str) -> Result<(), EntryError> {
    let number = FieldSet::of(&[place]);
    let mut owners = holdings::read(holdings::entries(parent))?;
    owners.retain(|_, holding| owns(holding, &number));
    for holding in owners.values_mut() {
        holding.fields = FieldSet::of(REPLICAS);
        api_version.clone_into(&mut holding.api_version);
    }
    holdings::set(scale, &owners);
    Ok(())
}

/// Gives the parent the owners that the small object has now: who does not own the number there has lost it.
pub fn to_parent(scale: &Value, parent: &mut Value, place: &[&str], api_version: &str) -> Result<(), EntryError> {
    let (here, there) = (FieldSet::of(REPLICAS), FieldSet::of(&[place]));
    let scale_version = scale.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let mut now = holdings::read(holdings::entries(scale))?;
    let mut owners = Holdings::new();
    for (owner, mut holding) in holdings::read(holdings::entries(parent))? {
        if owns(&holding, &there) && now.remove(&owner.at(scale_version)).is_none() {
            holding.fields = holding.fields.difference(&there);
        }
        if !holding.fields.is_empty() {
            owners.insert(owner, holding);
        }
    }
    for (owner, _) in now.into_iter().filter(|(_, holding)| owns(holding, &here)) {
        let holding = Holding { fields: there.clone(), api_version: api_version.to_owned(), time: None };
        owners.insert(owner.at(api_version), holding);
    }
    holdings::set(parent, &owners);
    Ok(())
}
