//! In which order the items of a merged list stand.
//!
//! The items that a patch names stand as it names them, the others as they stood; where the two meet, an item that stood
//! before one of the patch still does. With `b a` in the list `x a b y` the result is `x b a y`: `x` stood before `b`, while
//! `y` stood after both.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use super::list::{self, Items, items_of, key_of};
use super::schema::{Part, Schema};
use super::strategic::{PATCH, SET_ORDER, list_named, without_directives, wrong_type};
use super::{PatchError, unprocessable};
use crate::go;

/// Where the items of a list are found: by their merge key, or by themselves.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) items: Items,
    pub(super) merge_key: &'static str,
}

impl Place {
    fn key(self, item: &Value) -> &Value {
        match self.items {
            Items::Objects => item.get(self.merge_key).unwrap_or(&Value::Null),
            Items::Scalars => item,
        }
    }

    pub(super) fn keys(self, items: &[Value]) -> Vec<Value> {
        items.iter().map(|item| self.key(item).clone()).collect()
    }
}

/// Obeys and takes out each `$setElementOrder/f`, together with the change to `f` itself.
pub(super) fn set_element_orders(
    target: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    schema: Schema,
) -> Result<(), PatchError> {
    let directives: Vec<String> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for directive in directives {
        let order = as_list(patch.remove(&directive))?.unwrap_or_default();
        let fault = "invalid patch format of setElementOrder list";
        let Some(name) = list_named(&directive, SET_ORDER, fault)? else { continue };
        let known = as_list(target.get(name).cloned())?;
        let change = as_list(patch.get(name).cloned())?;
        let part = schema.part(name);
        ensure_agreement(change.as_deref().unwrap_or_default(), &order, part.merge_key)?;
        if let Some(ordered) = ordered(known, change, &order, part)? {
            target.insert(name.to_owned(), Value::Array(ordered));
            patch.remove(name);
        }
    }
    Ok(())
}

fn as_list(value: Option<Value>) -> Result<Option<Vec<Value>>, PatchError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(wrong_type("[]interface {}", &other)),
    }
}

/// The items of the patch must stand in it as they stand in the order.
fn ensure_agreement(patch: &[Value], order: &[Value], merge_key: &str) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut standing = Vec::new();
    for item in patch {
        if !merge_key.is_empty() && !item.is_object() {
            return Err(wrong_type("map[string]interface {}", item));
        }
        if merge_key.is_empty() || item.get(PATCH).is_none_or(|directive| directive != "delete") {
            standing.push(item);
        }
    }
    let (mut at, mut in_order) = (0, 0);
    while let (Some(item), Some(place)) = (standing.get(at), order.get(in_order)) {
        if item.get(PATCH).is_some() {
            at += 1;
            continue;
        }
        let equal = match merge_key.is_empty() {
            true => *item == place,
            false => key_of(item, merge_key)? == key_of(place, merge_key)?,
        };
        at += usize::from(equal);
        in_order += 1;
    }
    if at < standing.len() && in_order >= order.len() {
        let shown = |list: &[Value]| go::shown(&Value::from(list));
        let (patch, order) = (shown(patch), shown(order));
        return Err(unprocessable(format!(
            "The order in patch list:\n{patch}\n doesn't match {SET_ORDER} list:\n{order}\n"
        )));
    }
    Ok(())
}

/// The merged list in the order asked for; `None` where there is no list at all.
fn ordered(
    known: Option<Vec<Value>>,
    change: Option<Vec<Value>>,
    order: &[Value],
    part: Part,
) -> Result<Option<Vec<Value>>, PatchError> {
    let (before, changed) = (known.clone().unwrap_or_default(), change.clone().unwrap_or_default());
    let merged = match (known, change) {
        (None, None) => return Ok(None),
        (Some(known), None) => known,
        (None, Some(change)) => change.into_iter().filter_map(without_directives).collect(),
        (Some(known), Some(change)) => list::merge_field(known, change, part, false)?,
    };
    let merge_key = part.merge_key;
    ensure_objects_as_far_as_needed(&merged, order, merge_key)?;
    let asked = if merge_key.is_empty() { Items::Scalars } else { Items::Objects };
    let wanted = Place { items: asked, merge_key }.keys(order);
    let (patched, kept) = partition(merged, &wanted, merge_key)?;
    let place = Place { items: items_of(&before, &changed)?, merge_key };
    if place.items == Items::Objects {
        for item in patched.iter().chain(order).chain(&kept).chain(&before) {
            key_of(item, merge_key)?;
        }
    }
    let known = match place.items {
        Items::Objects if part.merges_lists => remembered(&before, &changed, merge_key),
        _ => place.keys(&before),
    };
    Ok(Some(interleave(place, patched, kept, &wanted, &known)))
}

/// The keys of `before` as Go still finds them after the merge, which it does in the same memory: what is deleted moves the
/// rest forward and leaves the last item standing twice, and what is new is written over that. So a new item counts as one that
/// stood last if another was deleted, and clients see it there.
fn remembered(before: &[Value], changed: &[Value], merge_key: &str) -> Vec<Value> {
    let key = |item: &Value| item.get(merge_key).cloned().unwrap_or_default();
    let (mut left, mut stale) = ((0..before.len()).collect::<BTreeSet<_>>(), Vec::new());
    let mut places: HashMap<Value, Vec<usize>> = HashMap::new();
    for (at, item) in before.iter().enumerate() {
        places.entry(key(item)).or_default().push(at);
    }
    let says = |item: &Value, word: &str| item.get(PATCH).is_some_and(|directive| directive == word);
    for item in changed.iter().filter(|item| says(item, "delete")) {
        for at in places.remove(&key(item)).unwrap_or_default() {
            stale.extend(left.last().map(|last| key(&before[*last])));
            left.remove(&at);
        }
    }
    let mut keys: Vec<Value> = left.iter().map(|at| key(&before[*at])).collect();
    if !changed.iter().any(|item| says(item, "replace")) {
        let mut added = HashSet::new();
        let new = changed.iter().filter(|item| item.get(PATCH).is_none()).map(key);
        keys.extend(new.filter(|key| !places.contains_key(key) && added.insert(key.clone())));
        keys.truncate(before.len());
    }
    let overwritten = keys.len() - left.len();
    stale.reverse();
    keys.extend(stale.into_iter().skip(overwritten));
    keys
}

/// Go looks each item up in the order, and minds what is no object there only when it comes across it.
fn ensure_objects_as_far_as_needed(merged: &[Value], order: &[Value], merge_key: &str) -> Result<(), PatchError> {
    let Some(odd) = order.iter().position(|item| !item.is_object()).filter(|_| !merge_key.is_empty()) else {
        return Ok(());
    };
    let before: HashSet<&Value> = order[..odd].iter().filter_map(|item| item.get(merge_key)).collect();
    for item in merged {
        if !before.contains(key_of(item, merge_key)?) {
            return Err(unprocessable(format!("value for key {odd} is not a map")));
        }
    }
    Ok(())
}

/// The items that are wanted, and the others.
pub(super) fn partition(
    merged: Vec<Value>,
    wanted: &[Value],
    merge_key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let wanted: HashSet<&Value> = wanted.iter().collect();
    let (mut patched, mut kept) = (Vec::new(), Vec::new());
    for item in merged {
        let key = if merge_key.is_empty() { &item } else { key_of(&item, merge_key)? };
        if wanted.contains(key) { patched.push(item) } else { kept.push(item) }
    }
    Ok((patched, kept))
}

/// Brings both parts in order, and then together.
pub(super) fn interleave(
    place: Place,
    patched: Vec<Value>,
    kept: Vec<Value>,
    wanted: &[Value],
    known: &[Value],
) -> Vec<Value> {
    let (wanted, known) = (first_places(wanted), first_places(known));
    let known_at = |item: &Value| known.get(place.key(item)).copied();
    let patched = sorted(patched, |item| wanted.get(place.key(item)).copied());
    let kept = sorted(kept, known_at);
    let mut all = Vec::with_capacity(patched.len() + kept.len());
    let (mut patched, mut kept) = (patched.into_iter().peekable(), kept.into_iter().peekable());
    while let (Some(item), Some(left)) = (patched.peek(), kept.peek()) {
        let stood_before = matches!((known_at(left), known_at(item)), (Some(left), Some(item)) if left < item);
        all.extend(if stood_before { kept.next() } else { patched.next() });
    }
    all.extend(patched);
    all.extend(kept);
    all
}

fn first_places(keys: &[Value]) -> HashMap<&Value, usize> {
    let mut places = HashMap::with_capacity(keys.len());
    for (at, key) in keys.iter().enumerate() {
        places.entry(key).or_insert(at);
    }
    places
}

/// Up to this many items Go sorts by insertion, which is what an item without a place makes visible.
const INSERTED_MAX: usize = 20;

fn sorted(items: Vec<Value>, place: impl Fn(&Value) -> Option<usize>) -> Vec<Value> {
    let mut placed: Vec<(Option<usize>, Value)> = items.into_iter().map(|item| (place(&item), item)).collect();
    if placed.len() <= INSERTED_MAX {
        let before = |a: Option<usize>, b: Option<usize>| a.zip(b).is_none_or(|(a, b)| a < b);
        for end in 1..placed.len() {
            let mut at = end;
            while at > 0 && before(placed[at].0, placed[at - 1].0) {
                placed.swap(at, at - 1);
                at -= 1;
            }
        }
    } else {
        placed.sort_by_key(|(place, _)| *place);
    }
    placed.into_iter().map(|(_, item)| item).collect()
}
