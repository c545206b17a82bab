//! Laying one object over another, and taking fields out of one.

use super::compare::{by_step, items_of, map_of};
use super::schema::{Fields, List, Schema, Shape};
use super::set::FieldSet;
use super::step::Step;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The first object with everything that the second says. Nothing is taken away; items of lists stand in the order of the
/// second, and those that only the first has keep their place as well as they can.
pub(super) fn merge(under: &Value, over: &Value, schema: Schema<'_>) -> Value {
    value(Some(under), Some(over), schema).unwrap_or(Value::Null)
}

fn value(under: Option<&Value>, over: Option<&Value>, schema: Schema<'_>) -> Option<Value> {
    let whole = || over.or(under).cloned();
    match schema.shape(over.or(under)) {
        Shape::List(list) if !list.is_atomic() => match (items_of(under), items_of(over)) {
            (None, None) => whole(),
            (under, over) => Some(items(&list, under, over)).filter(|items| !items.is_empty()).map(Value::Array),
        },
        Shape::Map(fields) if !fields.is_atomic => match (map_of(under), map_of(over)) {
            (None, None) => whole(),
            (under, over) => Some(members(&fields, under, over)).filter(|map| !map.is_empty()).map(Value::Object),
        },
        _ => whole(),
    }
}

fn members(
    fields: &Fields<'_>,
    under: Option<&Map<String, Value>>,
    over: Option<&Map<String, Value>>,
) -> Map<String, Value> {
    let names: BTreeSet<&String> = under.into_iter().chain(over).flat_map(Map::keys).collect();
    let merged = |name: &String| {
        let (under, over) = (under.and_then(|map| map.get(name)), over.and_then(|map| map.get(name)));
        Some((name.clone(), value(under, over, fields.get(name).unwrap_or(Schema::Whole))?))
    };
    names.into_iter().filter_map(merged).collect()
}

/// A list being merged: each side's items in their order, and how far it was read.
struct Merge<'a> {
    list: &'a List<'a>,
    under: BTreeMap<Step, Vec<&'a Value>>,
    over: BTreeMap<Step, Vec<&'a Value>>,
    merged: BTreeSet<Step>,
    out: Vec<Value>,
}

const NULL: Value = Value::Null;

impl Merge<'_> {
    /// Puts the item that both sides may have. Several items of one key below are replaced, not merged.
    fn put_over(&mut self, step: &Step) {
        let under = match self.under.get(step).map(Vec::as_slice) {
            None | Some([]) => None,
            Some([one]) => Some(*one),
            Some(_) => Some(&NULL),
        };
        let over = self.over.get(step).and_then(|items| items.first()).copied();
        self.out.extend(value(under, over, self.list.item));
        self.merged.insert(step.clone());
    }

    fn put_under(&mut self, item: &Value) {
        self.out.extend(value(Some(item), None, self.list.item));
    }
}

fn items(list: &List<'_>, under_items: Option<&[Value]>, over_items: Option<&[Value]>) -> Vec<Value> {
    let ((under, below), (over, above)) = (by_step(list, under_items), by_step(list, over_items));
    let placed: Vec<&Value> = under_items.unwrap_or_default().iter().filter(|item| list.step(item).is_ok()).collect();
    let mut shared = above.iter().filter(|step| under.contains_key(step)).cloned().collect::<Vec<_>>().into_iter();
    let mut next = shared.next();
    let mut merge = Merge { list, under, over, merged: BTreeSet::new(), out: Vec::new() };
    let (mut low, mut high) = (0, 0);
    while low < below.len() || high < above.len() {
        if let (Some(left), Some(right)) = (below.get(low), above.get(high)) {
            if left == right {
                merge.put_over(left);
                (low, high) = (low + 1, high + 1);
                next = shared.next();
                continue;
            }
            if merge.over.contains_key(left) && next.as_ref().is_some_and(|next| next != left) {
                // Both have it, and its turn is another.
                low += 1;
                continue;
            }
        }
        if let Some(left) = below.get(low) {
            if !merge.over.contains_key(left) {
                merge.put_under(placed[low]);
                low += 1;
                continue;
            } else if merge.merged.contains(left) {
                low += 1;
            }
        }
        if let Some(right) = above.get(high) {
            merge.put_over(right);
            high += 1;
            if next.as_ref() == Some(right) {
                next = shared.next();
            }
        }
    }
    merge.out
}

/// The tree without the fields of a set. What is emptied by it is null.
pub(super) fn remove(tree: &Value, taken: &FieldSet, schema: Schema<'_>) -> Value {
    match (schema.shape(Some(tree)), tree) {
        (Shape::Scalar(_), _) => tree.clone(),
        (Shape::List(list), Value::Array(items)) if !list.is_atomic() => {
            let left: Vec<Value> = items.iter().filter_map(|item| item_left(&list, item, taken)).collect();
            if left.is_empty() { Value::Null } else { Value::Array(left) }
        }
        (Shape::Map(fields), Value::Object(map)) if !fields.is_atomic => {
            let left: Map<String, Value> = map
                .iter()
                .filter_map(|(name, value)| {
                    let schema = fields.get(name).unwrap_or(Schema::Whole);
                    Some((name.clone(), left(&Step::field(name), value, taken, schema)?))
                })
                .collect();
            if left.is_empty() { Value::Null } else { Value::Object(left) }
        }
        _ => Value::Null,
    }
}

fn item_left(list: &List<'_>, item: &Value, taken: &FieldSet) -> Option<Value> {
    match list.step(item) {
        Ok(step) => left(&step, item, taken, list.item),
        Err(_) => Some(item.clone()),
    }
}

fn left(step: &Step, value: &Value, taken: &FieldSet, schema: Schema<'_>) -> Option<Value> {
    if taken.is_member(step) {
        return None;
    }
    Some(taken.below(step).map_or_else(|| value.clone(), |below| remove(value, below, schema)))
}
