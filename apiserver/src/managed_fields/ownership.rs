//! Who owns what after a write: updates take what they change, applies take what they say and lose what they leave out.

use super::check::{Duplicates, check};
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

/// Why a write does not go through.
#[derive(Debug)]
pub(super) enum Trouble {
    Conflicts(Vec<Conflict>),
    /// An object is not of its type in a version in which somebody owns fields of it.
    Unconvertible(String),
}

impl Trouble {
    fn unconvertible(doing: &str) -> impl Fn(String) -> Self + '_ {
        move |why| Self::Unconvertible(format!("{doing}: {why}"))
    }
}

/// The object in another version; nothing if that is not served any more. What does not belong there is an error.
fn typed<'a>(
    kind: &'a dyn Kind,
    object: &'a Value,
    version: &str,
) -> Result<Option<(Cow<'a, Value>, Schema<'a>)>, String> {
    let Some(schema) = kind.schema(version) else { return Ok(None) };
    let Some(converted) = kind.convert(object, version) else { return Ok(None) };
    if let Cow::Owned(converted) = &converted {
        check(converted, schema, Duplicates::Refused)?;
    }
    Ok(Some((converted, schema)))
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
    fn at(&mut self, version: &str) -> Result<Option<&Comparison>, Trouble> {
        if !self.by_version.contains_key(version) {
            let found = self.compared(version)?;
            self.by_version.insert(version.to_owned(), found);
        }
        Ok(self.by_version.get(version).and_then(Option::as_ref))
    }

    fn compared(&self, version: &str) -> Result<Option<Comparison>, Trouble> {
        let (old, new) = self.objects;
        let old = typed(self.kind, old, version).map_err(Trouble::unconvertible("failed to convert old object"))?;
        let new = typed(self.kind, new, version).map_err(Trouble::unconvertible("failed to convert new object"))?;
        let both = old.zip(new);
        Ok(both.map(|((old, schema), (new, _))| compare(&old, &new, schema).outside(self.ignored)))
    }
}

/// Takes from everybody but `writer` what differs between two objects, and tells what that is.
pub(super) fn take(
    by: &Writer<'_>,
    holdings: &mut Holdings,
    objects: (&Value, &Value),
    writer: Option<&Owner>,
    force: Force,
) -> Result<Comparison, Trouble> {
    let mut differences = Compared { kind: by.kind, ignored: by.reset, objects, by_version: BTreeMap::new() };
    let mut conflicts = Vec::new();
    let mut left = Holdings::new();
    for (owner, holding) in &*holdings {
        if Some(owner) == writer {
            left.insert(owner.clone(), holding.clone());
            continue;
        }
        let Some(found) = differences.at(&holding.api_version)? else { continue };
        let changed = holding.fields.intersection(&found.modified.union(&found.added));
        conflicts.extend(changed.paths().into_iter().map(|path| Conflict { owner: owner.clone(), path }));
        let kept = holding.fields.difference(&changed).difference(&found.removed);
        left.insert(owner.clone(), Holding { fields: kept, ..holding.clone() });
    }
    if force == Force::No && !conflicts.is_empty() {
        return Err(Trouble::Conflicts(conflicts));
    }
    left.retain(|_, holding| !holding.fields.is_empty());
    *holdings = left;
    differences.at(by.api_version)?;
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
) -> Result<Value, Trouble> {
    let merged = merge(live, config, schema);
    let said = fields(config, schema).outside(by.reset);
    let last = holdings.remove(owner);
    let time = last.as_ref().and_then(|last| last.time);
    holdings.insert(owner.clone(), Holding { fields: said, api_version: by.api_version.to_owned(), time });
    let new = match &last {
        Some(last) if !last.fields.is_empty() => {
            prune(by, merged, holdings, last).map_err(Trouble::unconvertible("failed to prune fields"))?
        }
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
fn prune(by: &Writer<'_>, merged: Value, holdings: &Holdings, last: &Holding) -> Result<Value, String> {
    let version = &last.api_version;
    let failed = |what: &'static str| {
        move |why: String| format!("failed to convert {what} object to last applied version: {why}")
    };
    let Some((at_last, schema)) = typed(by.kind, &merged, version).map_err(failed("merged"))? else {
        return Ok(merged);
    };
    let named = last.fields.with_declared(Some(schema));
    let pruned = remove(&at_last, &named, schema);
    let pruned = add_back_owned(by.kind, &at_last, pruned, version, holdings)
        .map_err(|why| format!("failed add back owned items: {why}"))?;
    let at_last_pruned = typed(by.kind, &pruned, version)
        .map_err(|why| format!("failed add back dangling items: {}", failed("pruned")(why)))?;
    let Some((at_last_pruned, _)) = at_last_pruned else { return Ok(merged) };
    let declared = |tree: &Value| fields(tree, schema).with_declared(Some(schema));
    // Only what its owner had can go with it.
    let gone = declared(&at_last).difference(&declared(&at_last_pruned)).intersection(&named);
    let pruned = remove(&at_last, &gone, schema);
    Ok(typed(by.kind, &pruned, by.api_version)?.map_or(merged.clone(), |(pruned, _)| pruned.into_owned()))
}

/// The pruned object with everything that somebody owns, each in the version in which they own it.
fn add_back_owned(
    kind: &dyn Kind,
    merged: &Value,
    pruned: Value,
    version: &str,
    holdings: &Holdings,
) -> Result<Value, String> {
    let mut owned = BTreeMap::<&str, FieldSet>::new();
    for holding in holdings.values() {
        owned.entry(&holding.api_version).or_default().absorb(holding.fields.clone());
    }
    // The version of the pruned object comes first: others may not be convertible to without what it brings back.
    let first = owned.remove_entry(version);
    let mut pruned = pruned;
    for (version, owned) in first.into_iter().chain(owned) {
        let failed = |what: &'static str| {
            move |why: String| format!("failed to convert {what} object at version {version}: {why}")
        };
        let whole = typed(kind, merged, version).map_err(failed("merged"))?;
        let part = typed(kind, &pruned, version).map_err(failed("pruned"))?;
        let (Some((whole, schema)), Some((part, _))) = (whole, part) else { continue };
        let declared = |set: &FieldSet| set.with_declared(Some(schema));
        let wanted = declared(&fields(&part, schema)).union(&declared(&owned));
        pruned = remove(&whole, &declared(&fields(&whole, schema)).difference(&wanted), schema);
    }
    Ok(pruned)
}
