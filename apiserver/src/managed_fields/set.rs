//! Sets of fields, and their form in `fieldsV1`.
//!
//! A set is a tree. Each node says which of the fields right below it are members, and which have members further down; a
//! field may be both: `{"f:labels": {".": {}, "f:app": {}}}` holds `labels` itself and `labels.app`.

use super::schema::Schema;
use super::step::{Step, StepError};
use serde_json::{Map, Value};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    members: BTreeSet<Step>,
    /// None of them is empty.
    children: BTreeMap<Step, FieldSet>,
}

/// What a set says of one field: whether it is a member, and what is below it.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) here: bool,
    pub(super) below: FieldSet,
}

impl Node {
    pub(super) fn here() -> Self {
        Self { here: true, ..Self::default() }
    }
}

/// `fieldsV1` that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    #[error(transparent)]
    Step(#[from] StepError),
    #[error("a set of fields has to be a JSON object")]
    NotAnObject,
}

impl FieldSet {
    /// The set of fields with these names on their way: `of(&[&["metadata", "labels"], &["status"]])`.
    pub fn of(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path.iter().map(|name| Step::field(name)).collect::<Vec<_>>());
        }
        set
    }

    /// Adds a field, not those it is part of. Nobody owns the whole object: an empty path adds nothing.
    pub fn insert(&mut self, path: &[Step]) {
        match path {
            [] => {}
            [last] => drop(self.members.insert(last.clone())),
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    pub fn has(&self, path: &[Step]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|child| child.has(rest)),
        }
    }

    pub(super) fn add(&mut self, step: &Step, node: Node) {
        if node.here {
            self.members.insert(step.clone());
        }
        if node.below.is_empty() {
            return;
        }
        match self.children.entry(step.clone()) {
            Entry::Vacant(place) => drop(place.insert(node.below)),
            Entry::Occupied(mut child) => child.get_mut().absorb(node.below),
        }
    }

    pub(super) fn is_member(&self, step: &Step) -> bool {
        self.members.contains(step)
    }

    pub(super) fn below(&self, step: &Step) -> Option<&FieldSet> {
        self.children.get(step)
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.absorb(other.clone());
        union
    }

    /// Takes in all fields of another set. Costs what the other one has, however large this one is.
    pub fn absorb(&mut self, other: Self) {
        self.members.extend(other.members);
        for (step, child) in other.children {
            match self.children.entry(step) {
                Entry::Vacant(place) => drop(place.insert(child)),
                Entry::Occupied(mut mine) => mine.get_mut().absorb(child),
            }
        }
    }

    pub fn intersection(&self, other: &Self) -> Self {
        let shared = |(step, child): (&Step, &FieldSet)| {
            let both = child.intersection(other.children.get(step)?);
            (!both.is_empty()).then(|| (step.clone(), both))
        };
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(shared).collect(),
        }
    }

    /// The fields of this set that are no members of the other; what is below such a member stays.
    pub fn difference(&self, other: &Self) -> Self {
        let left = |(step, child): (&Step, &FieldSet)| {
            let rest = other.children.get(step).map_or_else(|| child.clone(), |taken| child.difference(taken));
            (!rest.is_empty()).then(|| (step.clone(), rest))
        };
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(left).collect(),
        }
    }

    /// The fields of this set that are neither members of the other, nor below one.
    pub fn outside(&self, other: &Self) -> Self {
        let left = |(step, child): (&Step, &FieldSet)| {
            if other.members.contains(step) {
                return None;
            }
            let rest = other.children.get(step).map_or_else(|| child.clone(), |taken| child.outside(taken));
            (!rest.is_empty()).then(|| (step.clone(), rest))
        };
        Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(left).collect(),
        }
    }

    /// The set, with every declared field on the way to a member. Keys of maps and items of lists come in only by
    /// themselves.
    pub(super) fn with_declared(&self, schema: Option<Schema<'_>>) -> Self {
        let mut members = self.members.clone();
        let mut children = BTreeMap::new();
        for (step, child) in &self.children {
            if schema.is_some_and(|schema| schema.declares(step)) {
                members.insert(step.clone());
            }
            children.insert(step.clone(), child.with_declared(schema.and_then(|schema| schema.child(step))));
        }
        Self { members, children }
    }

    /// Every member, those closer to the root first.
    pub fn paths(&self) -> Vec<Vec<Step>> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, prefix: &mut Vec<Step>, paths: &mut Vec<Vec<Step>>) {
        for member in &self.members {
            paths.push([&**prefix, std::slice::from_ref(member)].concat());
        }
        for (step, child) in &self.children {
            prefix.push(step.clone());
            child.collect(prefix, paths);
            prefix.pop();
        }
    }

    pub fn parse(fields: &Value) -> Result<Self, SetError> {
        Ok(Node::parse(fields)?.below)
    }

    /// As `fieldsV1`.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        for member in self.members.iter().filter(|member| !self.children.contains_key(member)) {
            map.insert(member.text(), Value::Object(Map::new()));
        }
        for (step, child) in &self.children {
            let mut below = child.to_value();
            if let (Value::Object(below), true) = (&mut below, self.members.contains(step)) {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            map.insert(step.text(), below);
        }
        Value::Object(map)
    }
}

impl Node {
    /// As deep as JSON is read.
    fn parse(fields: &Value) -> Result<Self, SetError> {
        let mut node = Self::default();
        let map = match fields {
            Value::Object(map) => map,
            Value::Null => return Ok(Self::here()),
            _ => return Err(SetError::NotAnObject),
        };
        for (key, below) in map {
            if key == "." {
                node.here = true;
            } else if let Some(step) = Step::parse(key)? {
                node.below.add(&step, Self::parse(below)?);
            }
        }
        node.here |= node.below.is_empty();
        Ok(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_field_may_be_a_member_and_have_members_below() {
        let fields = json!({"f:labels": {".": {}, "f:app": {}}, "f:spec": {"k:{\"name\":\"a\"}": {}}, "z:later": {}});
        let set = FieldSet::parse(&fields).unwrap();
        let paths: Vec<String> = set.paths().iter().map(|path| path.iter().map(Step::to_string).collect()).collect();
        assert_eq!(paths, [".labels", ".labels.app", ".spec[name=\"a\"]"]);
        let mut known = fields.clone();
        known.as_object_mut().unwrap().remove("z:later");
        assert_eq!(set.to_value(), known);
        assert!(FieldSet::parse(&json!({"f:a": 1})).is_err());
        assert!(FieldSet::parse(&json!({"f:a": null})).unwrap().has(&[Step::field("a")]));
    }

    #[test]
    fn what_is_below_a_member_is_outside_only_if_asked_for() {
        let (set, taken) = (FieldSet::of(&[&["a"], &["a", "b"], &["c"]]), FieldSet::of(&[&["a"]]));
        assert_eq!(set.difference(&taken), FieldSet::of(&[&["a", "b"], &["c"]]));
        assert_eq!(set.outside(&taken), FieldSet::of(&[&["c"]]));
    }

    fn sets() -> impl Strategy<Value = FieldSet> {
        let path = proptest::collection::vec("[abc]", 1..4);
        proptest::collection::vec(path, 0..12).prop_map(|paths| {
            let mut set = FieldSet::default();
            for path in paths {
                set.insert(&path.iter().map(|name| Step::field(name)).collect::<Vec<_>>());
            }
            set
        })
    }

    proptest! {
        #[test]
        fn sets_survive_being_written(set in sets()) {
            prop_assert_eq!(FieldSet::parse(&set.to_value()), Ok(set));
        }

        #[test]
        fn what_is_shared_and_what_is_not_make_the_whole(a in sets(), b in sets()) {
            let (shared, mine) = (a.intersection(&b), a.difference(&b));
            prop_assert!(shared.intersection(&mine).is_empty());
            prop_assert_eq!(shared.union(&mine), a.clone());
            prop_assert_eq!(a.union(&b), b.union(&a));
            prop_assert!(a.outside(&b).difference(&mine).is_empty());
        }
    }
}
