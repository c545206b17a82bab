//! Paths of conversions: `.spec.name.first`, from the root of an object.

use openapi::structural::{Node, Type};
use serde_json::{Map, Value};
use std::fmt;

/// The names of the fields on the way, of which there is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path(Vec<String>);

/// What a schema says of a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found<'a> {
    Place(&'a Node),
    /// Anything may be there.
    Anything,
}

impl fmt::Display for Path {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.join("."))
    }
}

impl Path {
    /// The leading dot need not be there.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let names: Vec<String> = text.strip_prefix('.').unwrap_or(text).split('.').map(str::to_owned).collect();
        let odd = |name: &String| name.is_empty() || name.contains(['[', ']', '*', '\'', '"', '{', '}', ' ']);
        if names.iter().any(odd) {
            return Err("must be names of fields with a dot before each, such as .spec.name.first".to_owned());
        }
        Ok(Self(names))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// What every object has is converted by nobody.
    pub(super) fn is_content(&self) -> bool {
        !["apiVersion", "kind", "metadata"].contains(&&*self.0[0])
    }

    /// Whether one is the other, or inside of it.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(one, other)| one == other)
    }

    pub(super) fn get<'a>(&self, tree: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(tree, |tree, name| tree.get(name)).filter(|found| !found.is_null())
    }

    /// Whatever stands in the way is in the form of another version, and goes.
    pub(super) fn set(&self, tree: &mut Value, value: Value) {
        let mut at = tree;
        for name in &self.0 {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            let Value::Object(fields) = at else { return };
            at = fields.entry(name.clone()).or_insert(Value::Null);
        }
        *at = value;
    }

    pub(super) fn remove(&self, tree: &mut Value) {
        let Some((last, above)) = self.0.split_last() else { return };
        let above = above.iter().try_fold(tree, |tree, name| tree.get_mut(name));
        if let Some(Value::Object(fields)) = above {
            fields.remove(last);
        }
    }

    /// What a schema says of the place, or that it knows of none.
    pub(super) fn find<'a>(&self, root: &'a Node) -> Result<Found<'a>, String> {
        let mut node = root;
        for (depth, name) in self.0.iter().enumerate() {
            let told = || self.0[..=depth].join(".");
            node = match node.entry(name) {
                Some(below) => below,
                None if node.preserves_unknown_fields() || node.additional_properties().is_specified() => {
                    return Ok(Found::Anything);
                }
                None if node.ty() != Some(Type::Object) => {
                    return Err(format!("{} is no object", self.0[..depth].join(".")));
                }
                None => return Err(format!("the schema has no field {}", told())),
            };
        }
        Ok(Found::Place(node))
    }
}
