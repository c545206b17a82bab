//! What differs between two objects of one type, and what there is in one of them.

use super::schema::{Fields, List, Schema, Shape};
use super::set::{FieldSet, Node};
use super::step::{Step, same};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The fields in which the second of two objects differs from the first. No field is in more than one of the sets.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    pub(super) fn outside(self, ignored: &FieldSet) -> Self {
        if ignored.is_empty() {
            return self;
        }
        Self {
            removed: self.removed.outside(ignored),
            modified: self.modified.outside(ignored),
            added: self.added.outside(ignored),
        }
    }
}

/// Every leaf of the tree, and every item of a list or key of a map.
pub(super) fn fields(tree: &Value, schema: Schema<'_>) -> FieldSet {
    present(tree, schema).below
}

fn present(value: &Value, schema: Schema<'_>) -> Node {
    let mut node = Node::default();
    match (schema.shape(Some(value)), value) {
        (Shape::Scalar(_), _) => node.here = true,
        (Shape::List(list), _) if list.is_atomic() => node.here = true,
        (Shape::List(list), Value::Array(items)) => present_items(&mut node.below, &list, items),
        (Shape::Map(fields), _) if fields.is_atomic => node.here = true,
        (Shape::Map(fields), Value::Object(map)) => present_fields(&mut node.below, &fields, map),
        _ => {}
    }
    node
}

fn present_items(set: &mut FieldSet, list: &List<'_>, items: &[Value]) {
    for (step, same_key) in &by_step(list, Some(items)).0 {
        // Items that share a key are owned together, as one piece.
        let mut node = if let [item] = &**same_key { present(item, list.item) } else { Node::default() };
        node.here = true;
        set.add(step, node);
    }
}

fn present_fields(set: &mut FieldSet, fields: &Fields<'_>, map: &Map<String, Value>) {
    for (name, value) in map {
        let mut node = fields.get(name).map_or_else(Node::here, |schema| present(value, schema));
        node.here |= is_nothing(value) || !fields.declares(name);
        set.add(&Step::field(name), node);
    }
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// The items of a list by what tells them apart, and the order in which those first come up.
pub(super) fn by_step<'a>(list: &List<'_>, items: Option<&'a [Value]>) -> (BTreeMap<Step, Vec<&'a Value>>, Vec<Step>) {
    let (mut found, mut order) = (BTreeMap::<Step, Vec<&Value>>::new(), Vec::new());
    for item in items.unwrap_or_default() {
        let Ok(step) = list.step(item) else { continue };
        order.push(step.clone());
        found.entry(step).or_default().push(item);
    }
    (found, order)
}

pub(super) fn compare(left: &Value, right: &Value, schema: Schema<'_>) -> Comparison {
    let found = value(Some(left), Some(right), schema);
    Comparison { removed: found.removed.below, modified: found.modified.below, added: found.added.below }
}

#[derive(Default)]
struct Difference {
    removed: Node,
    modified: Node,
    added: Node,
    /// Compared as one piece.
    is_leaf: bool,
}

impl Difference {
    fn put(&mut self, step: &Step, found: Difference) {
        self.removed.below.add(step, found.removed);
        self.modified.below.add(step, found.modified);
        self.added.below.add(step, found.added);
    }

    fn absorb(&mut self, other: Difference) {
        for (mine, theirs) in
            [(&mut self.removed, other.removed), (&mut self.modified, other.modified), (&mut self.added, other.added)]
        {
            mine.here |= theirs.here;
            mine.below = mine.below.union(&theirs.below);
        }
        self.is_leaf = other.is_leaf;
    }
}

/// At least one of the two is there.
fn value(left: Option<&Value>, right: Option<&Value>, schema: Schema<'_>) -> Difference {
    let (old, new) = (schema.shape(left), schema.shape(right));
    let mut found = match (left, right) {
        (Some(_), None) => shaped(&old, left, right),
        (Some(_), Some(_)) if !old.is_like(&new) => {
            let mut found = shaped(&old, left, right);
            found.absorb(shaped(&new, left, right));
            found
        }
        _ => shaped(&new, left, right),
    };
    if !found.is_leaf {
        found.added.here |= left.is_none();
        found.removed.here |= right.is_none();
    }
    found
}

fn shaped(shape: &Shape, left: Option<&Value>, right: Option<&Value>) -> Difference {
    match shape {
        Shape::List(list) if !list.is_atomic() => {
            let (old, new) = (items_of(left), items_of(right));
            if old.is_none() && new.is_none() { leaf(left, right) } else { items(list, old, new) }
        }
        Shape::Map(fields) if !fields.is_atomic => {
            let (old, new) = (map_of(left), map_of(right));
            if old.is_none() && new.is_none() { leaf(left, right) } else { members(fields, old, new) }
        }
        _ => leaf(left, right),
    }
}

/// The items of a list that has any.
pub(super) fn items_of(value: Option<&Value>) -> Option<&[Value]> {
    value?.as_array().map(Vec::as_slice).filter(|items| !items.is_empty())
}

/// The fields of an object that has any.
pub(super) fn map_of(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value?.as_object().filter(|map| !map.is_empty())
}

fn leaf(left: Option<&Value>, right: Option<&Value>) -> Difference {
    let mut found = Difference { is_leaf: true, ..Difference::default() };
    match (left, right) {
        (None, _) => found.added.here = true,
        (_, None) => found.removed.here = true,
        (Some(left), Some(right)) => found.modified.here = !same(left, right),
    }
    found
}

fn members(fields: &Fields<'_>, left: Option<&Map<String, Value>>, right: Option<&Map<String, Value>>) -> Difference {
    let mut found = Difference::default();
    let names: BTreeSet<&String> = left.into_iter().chain(right).flat_map(Map::keys).collect();
    for name in names {
        let (old, new) = (left.and_then(|map| map.get(name)), right.and_then(|map| map.get(name)));
        let schema = fields.get(name).unwrap_or(Schema::Whole);
        found.put(&Step::field(name), value(old, new, schema));
    }
    found
}

fn items(list: &List<'_>, left: Option<&[Value]>, right: Option<&[Value]>) -> Difference {
    let mut found = Difference::default();
    let ((old, _), (new, _)) = (by_step(list, left), by_step(list, right));
    let steps: BTreeSet<&Step> = old.keys().chain(new.keys()).collect();
    for step in steps {
        let (old, new) = (old.get(step).map(Vec::as_slice), new.get(step).map(Vec::as_slice));
        found.put(step, same_key(list, old.unwrap_or_default(), new.unwrap_or_default()));
    }
    found
}

/// Compares the items that have one key; it is their own fault if they are many, and they are then one piece.
fn same_key(list: &List<'_>, old: &[&Value], new: &[&Value]) -> Difference {
    let mut found = Difference::default();
    match (old, new) {
        ([] | [_], [] | [_]) => return value(old.first().copied(), new.first().copied(), list.item),
        ([_, _, ..], [_, _, ..]) => {
            let equal = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new));
            found.modified.here = !equal;
        }
        ([_, _, ..], _) => {
            if let Some(new) = new.first() {
                found = value(None, Some(new), list.item);
            }
            found.removed.here = true;
        }
        (_, _) => {
            if let Some(old) = old.first() {
                found = value(Some(old), None, list.item);
            }
            found.added.here = true;
        }
    }
    found
}
