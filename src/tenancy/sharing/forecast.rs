//! What somebody is told who only asks what a change of an export would do: which workspaces would follow, which would
//! not and why, and what of that which is stored would not be accepted any more.
//!
//! Nothing is named that is in the workspaces of others: they are counted.

use super::binding::{planned, vault};
use super::bound::{Decision, Offer, Seen, decide};
use super::compatible::tightens;
use super::conversion::{Converted, kept_as, recorded};
use super::judge::Judge;
use super::window::is_to;
use super::words::{BINDINGS, CONVERSIONS, CONVERTED, EXPORTS, NEWEST, SCHEMAS};
use crate::definitions::convert_export;
use crate::tenancy::words::collection;
use apiserver::attend::Attending;
use apiserver::catalog::ResourceDef;
use apiserver::error::ApiError;
use apiserver::object::{Object, Peek};
use apiserver::place::{Collection, Workspace};
use apiserver::strategy::Part;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Bindings that are looked at.
const BINDINGS_MAX: usize = 1_000;
/// Stored objects that are looked at.
const OBJECTS_MAX: usize = 1_000;
/// For how long, in seconds: rules of schemas may take their time.
const SECONDS_MAX: i64 = 2;
/// Reasons that are named.
const REASONS_MAX: usize = 5;

/// What the author of a change should know that was not made.
pub(in crate::tenancy) fn foretell(object: &Object, write: &Attending<'_>) -> Result<Vec<String>, ApiError> {
    let resource = &write.at.resource;
    let is = |kind: (&str, &str, &str)| (&*resource.group, &*resource.plural) == (kind.0, kind.2);
    if write.part != Part::Main {
        return Ok(Vec::new());
    }
    if is(EXPORTS) {
        let Some(old) = write.old else { return Ok(Vec::new()) };
        let newest = |export: &Object| {
            let mut export = export.clone();
            if resource.version != NEWEST {
                convert_export(&mut export, NEWEST);
            }
            export
        };
        return of_export(newest(object), &newest(old), Draft::default(), write);
    }
    let draft = if is(SCHEMAS) && write.old.is_none() {
        Draft { schema: Some(object), conversion: None }
    } else if is(CONVERSIONS) {
        Draft { schema: None, conversion: Some(object) }
    } else {
        return Ok(Vec::new());
    };
    let mut told = Vec::new();
    for export in write.around.all(&collection(write.around, EXPORTS, &write.at.workspace)?)? {
        if let Some(changed) = draft.offered_by(&export) {
            told.extend(of_export(changed, &export, draft, write)?);
        }
    }
    Ok(told)
}

/// What is not stored yet.
#[derive(Clone, Copy, Default)]
struct Draft<'a> {
    schema: Option<&'a Object>,
    conversion: Option<&'a Object>,
}

impl Draft<'_> {
    /// An export as it would be if it offered the draft, where it offers the same kind now.
    fn offered_by(&self, export: &Object) -> Option<Object> {
        let mut changed = export.clone();
        let resources = changed.spec_mut().get_mut("resources")?.as_array_mut()?;
        let of = |resource: &&mut Value| match (self.schema, self.conversion) {
            (Some(schema), _) => {
                resource["group"] == schema.text(&["spec", "group"])
                    && resource["name"] == schema.text(&["spec", "names", "plural"])
            }
            (None, Some(conversion)) => resource["schema"] == conversion.name(),
            (None, None) => false,
        };
        let resource = resources.iter_mut().find(of)?;
        if let Some(schema) = self.schema {
            resource["schema"] = json!(schema.name());
        }
        Some(changed)
    }
}

/// A binding and the workspace that it is in.
struct Bound {
    workspace: Workspace,
    object: Object,
}

fn of_export(export: Object, old: &Object, draft: Draft<'_>, write: &Attending<'_>) -> Result<Vec<String>, ApiError> {
    let schema_of = |export: &Object, kind: &Value| {
        let mut all = export.items(&["spec", "resources"]);
        all.find(|one| one["name"] == kind["name"] && one["group"] == kind["group"]).map(|one| one["schema"].clone())
    };
    let before: Vec<Value> = old.items(&["spec", "resources"]).cloned().collect();
    let is_drafted = |kind: &Value| draft.conversion.is_some_and(|drafted| kind["schema"] == drafted.name());
    let changed = |kind: &&Value| is_drafted(kind) || schema_of(&export, kind).is_some_and(|now| now != kind["schema"]);
    let changed: Vec<Value> = before.iter().filter(changed).cloned().collect();
    let gone: Vec<&Value> = before.iter().filter(|kind| schema_of(&export, kind).is_none()).collect();
    if changed.is_empty() && gone.is_empty() {
        return Ok(Vec::new());
    }
    let (bindings, more) = bindings_to(&export, write)?;
    let mut told = Vec::new();
    for kind in gone {
        let kept = counted(bindings.len() + more, "binding keeps", "bindings keep");
        told.push(format!("{} would not be offered any more: {kept} what was bound", qualified(kind)));
    }
    if changed.is_empty() {
        return Ok(told);
    }
    if bindings.is_empty() {
        told.push(format!("nobody has bound APIExport {:?}", export.name()));
        return Ok(told);
    }
    let mut offer = planned(export, &write.at.workspace, write.around)?;
    draft.join(&mut offer);
    told.extend(foretold(&mut offer, &changed, &bindings, write)?);
    if more > 0 {
        told.push(format!("{more} more bindings were not looked at"));
    }
    Ok(told)
}

impl Draft<'_> {
    fn join(&self, offer: &mut Offer) {
        if let Some(schema) = self.schema {
            for (_, found) in offer.schemas.iter_mut().filter(|(name, _)| name == schema.name()) {
                *found = Some(schema.clone());
            }
        }
        if let Some(conversion) = self.conversion {
            offer.conversions.insert(conversion.name().to_owned(), Converted::by(Some(conversion)));
        }
    }
}

/// The bindings to an export as far as they are looked at, and how many more there are.
fn bindings_to(export: &Object, write: &Attending<'_>) -> Result<(Vec<Bound>, usize), ApiError> {
    let all = collection(write.around, BINDINGS, &Workspace::everywhere())?;
    let (mut found, mut more, home) = (Vec::new(), 0, &write.at.workspace);
    write.around.each(&all, &mut |workspace, bytes| {
        if is_to(Peek::of(bytes), home, export.name()) {
            match Object::parse(bytes) {
                Ok(object) if found.len() < BINDINGS_MAX => found.push(Bound { workspace: workspace.clone(), object }),
                _ => more += 1,
            }
        }
        true
    })?;
    Ok((found, more))
}

fn foretold(
    offer: &mut Offer,
    changed: &[Value],
    bindings: &[Bound],
    write: &Attending<'_>,
) -> Result<Vec<String>, ApiError> {
    let mut stay: BTreeMap<String, usize> = BTreeMap::new();
    let mut moving = HashSet::new();
    for bound in bindings {
        match stays(offer, bound, write)? {
            Some(why) => *stay.entry(why).or_default() += 1,
            None => drop(moving.insert(bound.workspace.clone())),
        }
    }
    let (all, mut told) = (bindings.len(), Vec::new());
    if !moving.is_empty() {
        let names: Vec<&str> = changed.iter().filter_map(|kind| named(offer, kind)).map(Object::name).collect();
        told.push(format!("{} of {} would follow to {}", moving.len(), bindings_word(all), names.join(", ")));
    }
    for (why, count) in &stay {
        told.push(format!(
            "{count} of {} would stay as {}: {why}",
            bindings_word(all),
            if *count == 1 { "it is" } else { "they are" }
        ));
    }
    for kind in changed {
        let Some(schema) = named(offer, kind).cloned() else { continue };
        let taken = offer.taken.values().filter(|taken| is_kind(taken, kind));
        let mut tightened: Vec<String> = taken.flat_map(|taken| tightens(taken, &schema)).collect();
        tightened.sort_unstable();
        tightened.dedup();
        if !tightened.is_empty() {
            told.push(format!("{} would accept less: {}", qualified(kind), tightened.join("; ")));
        }
        if !moving.is_empty() {
            told.extend(stored(&schema, offer, (kind, bindings, &moving), write)?);
        }
    }
    Ok(told)
}

/// Why a binding would not follow its export.
fn stays(offer: &mut Offer, bound: &Bound, write: &Attending<'_>) -> Result<Option<String>, ApiError> {
    let converted = bound.object.annotation(CONVERTED).unwrap_or_default();
    for one in bound.object.items(&["status", "boundResources"]) {
        let uid = one["schema"]["UID"].as_str().unwrap_or_default();
        let named = kept_as(uid, recorded(converted, &bound_as(one)));
        let is_offered = offer.schemas.iter().flat_map(|(_, schema)| schema).any(|schema| schema.uid() == uid);
        if !is_offered
            && !offer.taken.contains_key(uid)
            && let Some(taken) = write.around.object(&vault(write.around, &named)?)?
        {
            offer.taken.insert(uid.to_owned(), taken);
        }
    }
    let (_, added) = write.around.added(&bound.workspace)?;
    let taken_by =
        |group: &str, plural: &str| write.around.resource(group, plural).map(|_| "a built-in kind".to_owned());
    let reference = format!("{}|{}", write.at.workspace, offer.object.name());
    let Decision { status, .. } = decide(&Seen {
        binding: &bound.object,
        reference: &reference,
        export: Some(offer),
        added: &added,
        taken_by: &taken_by,
        now: write.ambient.now(),
    });
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let mut failing = conditions.filter(|found| found["status"] == "False");
    let why = failing.find(|found| ["APIExportValid", "BindingUpToDate"].iter().any(|name| found["type"] == *name));
    Ok(why.map(|why| why["message"].as_str().unwrap_or_default().to_owned()))
}

/// The schema that an export would offer of a kind.
fn named<'a>(offer: &'a Offer, kind: &Value) -> Option<&'a Object> {
    offer.schemas.iter().flat_map(|(_, schema)| schema).find(|schema| is_kind(schema, kind))
}

fn is_kind(schema: &Object, kind: &Value) -> bool {
    kind["group"] == schema.text(&["spec", "group"]) && kind["name"] == schema.text(&["spec", "names", "plural"])
}

/// What of that which is stored would not be accepted by a schema.
fn stored(
    schema: &Object,
    offer: &Offer,
    (kind, bindings, moving): (&Value, &[Bound], &HashSet<Workspace>),
    write: &Attending<'_>,
) -> Result<Vec<String>, ApiError> {
    let identity = offer.object.text(&["status", "identityHash"]);
    let mut resource = None;
    for bound in bindings.iter().filter(|bound| moving.contains(&bound.workspace)) {
        resource = served(&bound.workspace, (kind, identity), write)?;
        if resource.is_some() {
            break;
        }
    }
    let Some(resource) = resource else { return Ok(Vec::new()) };
    let conversion = offer.conversions.get(schema.name()).cloned().unwrap_or_default();
    let judge = Judge::of(schema, &conversion);
    let until = write.ambient.now().seconds + SECONDS_MAX;
    let (mut looked, mut refused, mut cut) = (0, 0, false);
    let (mut reasons, mut places): (BTreeMap<String, usize>, HashSet<Workspace>) = Default::default();
    let all = Collection { resource, workspace: Workspace::everywhere(), namespace: None };
    write.around.each(&all, &mut |workspace, bytes| {
        if !moving.contains(workspace) {
            return true;
        }
        if looked == OBJECTS_MAX || write.ambient.now().seconds > until {
            cut = true;
            return false;
        }
        looked += 1;
        let wrong = Object::parse(bytes).map(|object| judge.wrong(object)).unwrap_or_default();
        if !wrong.is_empty() {
            refused += 1;
            places.insert(workspace.clone());
        }
        for reason in wrong {
            *reasons.entry(reason).or_default() += 1;
        }
        true
    })?;
    let name = qualified(kind);
    let scope = if cut { format!("the first {looked}") } else { format!("{looked}") };
    let objects = if looked == 1 { "stored object" } else { "stored objects" };
    if refused == 0 {
        return Ok(vec![format!(
            "{name}: {scope} {objects} would be accepted as {} now",
            if looked == 1 { "it is" } else { "they are" }
        )]);
    }
    let mut reasons: Vec<(String, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = reasons.len().saturating_sub(REASONS_MAX);
    let mut named: Vec<String> =
        reasons.into_iter().take(REASONS_MAX).map(|(why, count)| format!("{why} ({count})")).collect();
    if more > 0 {
        named.push(format!("and {more} more reasons"));
    }
    let places = counted(places.len(), "workspace", "workspaces");
    let told = format!("{name}: {refused} of {scope} {objects}, in {places}, would not: {}", named.join("; "));
    Ok(vec![told])
}

/// The kind as a workspace has it.
fn served(
    workspace: &Workspace,
    (kind, identity): (&Value, &str),
    write: &Attending<'_>,
) -> Result<Option<Arc<ResourceDef>>, ApiError> {
    let (_, added) = write.around.added(workspace)?;
    let is_it = |resource: &Arc<ResourceDef>| {
        resource.stored.identity.as_deref() == Some(identity)
            && kind["name"] == *resource.plural
            && kind["group"] == *resource.group
    };
    Ok(added.into_iter().map(|added| added.resource).find(is_it))
}

fn qualified(kind: &Value) -> String {
    let word = |field: &str| kind[field].as_str().unwrap_or_default();
    format!("{}.{}", word("name"), word("group"))
}

fn bound_as(bound: &Value) -> String {
    let word = |field: &str| bound[field].as_str().unwrap_or_default();
    format!("{}.{}", word("resource"), word("group"))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn bindings_word(count: usize) -> String {
    counted(count, "binding", "bindings")
}
