//! Who owns what after a write: updates take what they change, applies take what they say and lose what they leave out.

use super::compare::{Comparison, compare, fields};
use super::conflict::Conflict;
use super::holdings::{Holding, Holdings, Owner};
use super::merge::{merge, remove};
use super::schema::Schema;
use super::set::FieldSet;
use super::step::same;
use super::{Kind, Writer};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Whether others are made to give up what they own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    No,
    Yes,
}

/// The comparison of two objects in every version that is asked for.
struct Compared<'a> {
    kind: &'a dyn Kind,
    ignored: &'a FieldSet,
    objects: (&'a Value, &'a Value),
    by_version: BTreeMap<String, Option<Comparison>>,
}

impl Compared<'_> {
    /// `None` for a version that is not served any more.
    fn at(&mut self, version: &str) -> Option<&Comparison> {
        let (old, new) = self.objects;
        let (kind, ignored) = (self.kind, self.ignored);
        if !self.by_version.contains_key(version) {
            self.by_version.insert(version.to_owned(), compared(kind, (old, new), version, ignored));
        }
        self.by_version.get(version)?.as_ref()
    }
}

fn compared(kind: &dyn Kind, (old, new): (&Value, &Value), version: &str, ignored: &FieldSet) -> Option<Comparison> {
    let schema = kind.schema(version)?;
    let (old, new) = (kind.convert(old, version)?, kind.convert(new, version)?);
    Some(compare(&old, &new, schema).outside(ignored))
}

/// Takes from everybody but `writer` what differs between two objects, and tells what that is.
pub(super) fn take(
    by: &Writer<'_>,
    holdings: &mut Holdings,
    objects: (&Value, &Value),
    writer: Option<&Owner>,
    force: Force,
) -> Result<Comparison, Vec<Conflict>> {
    let mut differences = Compared { kind: by.kind, ignored: by.reset, objects, by_version: BTreeMap::new() };
    let mut conflicts = Vec::new();
    let mut left = Holdings::new();
    for (owner, holding) in &*holdings {
        if Some(owner) == writer {
            left.insert(owner.clone(), holding.clone());
            continue;
        }
        let Some(found) = differences.at(&holding.api_version) else { continue };
        let changed = holding.fields.intersection(&found.modified.union(&found.added));
        conflicts.extend(changed.paths().into_iter().map(|path| Conflict { owner: owner.clone(), path }));
        let kept = holding.fields.difference(&changed).difference(&found.removed);
        left.insert(owner.clone(), Holding { fields: kept, ..holding.clone() });
    }
    if force == Force::No && !conflicts.is_empty() {
        return Err(conflicts);
    }
    left.retain(|_, holding| !holding.fields.is_empty());
    *holdings = left;
    differences.at(by.api_version);
    Ok(differences.by_version.remove(by.api_version).flatten().unwrap_or_default())
}

/// Lays what is applied over the object, and takes out what its owner does not say any more.
pub(super) fn apply(
    by: &Writer<'_>,
    schema: Schema<'_>,
    holdings: &mut Holdings,
    (live, config): (&Value, &Value),
    owner: &Owner,
    force: Force,
) -> Result<Value, Vec<Conflict>> {
    let merged = merge(live, config, schema);
    let said = fields(config, schema).outside(by.reset);
    let last = holdings.remove(owner);
    let time = last.as_ref().and_then(|last| last.time);
    holdings.insert(owner.clone(), Holding { fields: said, api_version: by.api_version.to_owned(), time });
    let new = match &last {
        Some(last) if !last.fields.is_empty() => prune(by, merged, holdings, last),
        _ => merged,
    };
    take(by, holdings, (live, &new), Some(owner), force)?;
    if !same(live, &new)
        && let Some(holding) = holdings.get_mut(owner)
    {
        holding.time = Some(by.now);
    }
    Ok(new)
}

/// Takes out what its owner applied the last time and not this time, and nobody else owns.
fn prune(by: &Writer<'_>, merged: Value, holdings: &Holdings, last: &Holding) -> Value {
    let version = &last.api_version;
    let (Some(schema), Some(at_last)) = (by.kind.schema(version), by.kind.convert(&merged, version)) else {
        return merged;
    };
    let named = last.fields.with_declared(Some(schema));
    let pruned = remove(&at_last, &named, schema);
    let pruned = add_back_owned(by.kind, &at_last, pruned, version, holdings);
    let Some(at_last_pruned) = by.kind.convert(&pruned, version) else { return merged };
    let declared = |tree: &Value| fields(tree, schema).with_declared(Some(schema));
    // Only what its owner had can go with it.
    let gone = declared(&at_last).difference(&declared(&at_last_pruned)).intersection(&named);
    let pruned = remove(&at_last, &gone, schema);
    by.kind.convert(&pruned, by.api_version).map_or_else(|| merged.clone(), Cow::into_owned)
}

/// The pruned object with everything that somebody owns, each in the version in which they own it.
fn add_back_owned(kind: &dyn Kind, merged: &Value, pruned: Value, version: &str, holdings: &Holdings) -> Value {
    let mut owned = BTreeMap::<&str, FieldSet>::new();
    for holding in holdings.values() {
        let at = owned.entry(&holding.api_version).or_default();
        *at = at.union(&holding.fields);
    }
    // The version of the pruned object comes first: others may not be convertible to without what it brings back.
    let first = owned.remove_entry(version);
    let mut pruned = pruned;
    for (version, owned) in first.into_iter().chain(owned) {
        let Some(schema) = kind.schema(version) else { continue };
        let (Some(whole), Some(part)) = (kind.convert(merged, version), kind.convert(&pruned, version)) else {
            continue;
        };
        let declared = |set: &FieldSet| set.with_declared(Some(schema));
        let wanted = declared(&fields(&part, schema)).union(&declared(&owned));
        pruned = remove(&whole, &declared(&fields(&whole, schema)).difference(&wanted), schema);
    }
    pruned
}
