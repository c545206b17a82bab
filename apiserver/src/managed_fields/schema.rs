//! What the walkers ask of a type: what a value is, what is below it, and whether it is owned as one piece.
//!
//! Built-in kinds answer out of their table, custom resources out of their schema.

use super::step::{Item, Step};
use openapi::builtin::{Element, Field, Form, ListKind, Type, Unit, kind_in};
use openapi::structural::{self, ListType, MapType, Node, Structural};
use serde_json::Value;

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub enum Schema<'a> {
    Scalar(Scalar),
    Struct {
        ty: &'static Type,
        unit: Unit,
    },
    Map {
        item: Element,
        unit: Unit,
    },
    List {
        item: Element,
        kind: ListKind,
    },
    /// A place in the schema of a custom resource.
    Custom(Spot<'a>),
    /// The same where whole objects are: kind, version and metadata are those of any object.
    CustomObject(Spot<'a>),
    /// Anything, owned as one piece.
    Whole,
    /// Anything; objects are owned field by field, the rest as one piece.
    Deduced,
}

/// A place in the schema of a custom resource.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    node: &'a Node,
    /// Here or above, fields are kept that nobody specified.
    open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    Text,
    Number,
    Bool,
    Any,
}

/// What a value of some type is, once it is seen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'a> {
    Scalar(Scalar),
    List(List<'a>),
    Map(Fields<'a>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct List<'a> {
    pub(super) item: Schema<'a>,
    kind: Items<'a>,
}

/// How the items of a list are told apart.
#[derive(Clone, Copy, Debug)]
enum Items<'a> {
    Builtin(ListKind),
    Custom(&'a Node),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub(super) is_atomic: bool,
    of: Schema<'a>,
}

impl<'a> Schema<'a> {
    pub fn of_kind(ty: &'static Type) -> Self {
        Self::Struct { ty, unit: unit(ty.is_atomic) }
    }

    pub fn of_custom(schema: &'a Structural) -> Self {
        Self::CustomObject(Spot { node: schema.root(), open: schema.root().preserves_unknown_fields() })
    }

    /// The type of what is below a place.
    fn within(outer: Spot<'a>, node: &'a Node) -> Self {
        let spot = Spot { node, open: outer.open || node.preserves_unknown_fields() };
        if node.is_embedded_resource() { Self::CustomObject(spot) } else { Self::Custom(spot) }
    }

    fn of_field(field: &Field) -> Self {
        match field.form {
            Form::List => Self::List { item: field.element, kind: field.list_kind() },
            Form::Map => Self::Map { item: field.element, unit: field.unit.unwrap_or(Unit::Granular) },
            Form::One | Form::Pointer => match Self::of_element(field.element) {
                Self::Struct { ty, .. } => Self::Struct { ty, unit: unit(field.is_atomic()) },
                other => other,
            },
        }
    }

    fn of_element(element: Element) -> Self {
        match element {
            Element::String | Element::Bytes => Self::Scalar(Scalar::Text),
            Element::Bool => Self::Scalar(Scalar::Bool),
            Element::Int32 | Element::Int64 | Element::Float64 => Self::Scalar(Scalar::Number),
            Element::Time | Element::MicroTime | Element::Quantity | Element::IntOrString => Self::Scalar(Scalar::Any),
            Element::RawExtension => Self::Whole,
            Element::Strings => Self::List { item: Element::String, kind: ListKind::Atomic },
            Element::Struct(id) => Self::of_kind(id.get()),
            Element::FieldsV1
            | Element::Json
            | Element::SchemaOrArray
            | Element::SchemaOrBool
            | Element::SchemaOrStrings
            | Element::Any => Self::Deduced,
        }
    }

    /// Types that take anything go by the value; one that is absent or null counts as an object.
    pub(super) fn shape(self, value: Option<&Value>) -> Shape<'a> {
        match (self, value) {
            (Self::Scalar(scalar), _) => Shape::Scalar(scalar),
            (Self::Struct { unit, .. } | Self::Map { unit, .. }, _) => {
                Shape::Map(Fields { is_atomic: unit == Unit::Atomic, of: self })
            }
            (Self::List { item, kind }, _) => {
                Shape::List(List { item: Self::of_element(item), kind: Items::Builtin(kind) })
            }
            (Self::Custom(spot) | Self::CustomObject(spot), _) => self.custom_shape(spot, value),
            (_, Some(Value::Array(_))) => {
                Shape::List(List { item: Self::Whole, kind: Items::Builtin(ListKind::Atomic) })
            }
            (_, None | Some(Value::Null | Value::Object(_))) => {
                Shape::Map(Fields { is_atomic: matches!(self, Self::Whole), of: self })
            }
            _ => Shape::Scalar(Scalar::Any),
        }
    }

    fn custom_shape(self, spot: Spot<'a>, value: Option<&Value>) -> Shape<'a> {
        let node = spot.node;
        match node.ty() {
            Some(structural::Type::Object) => {
                Shape::Map(Fields { is_atomic: node.map_type() == Some(MapType::Atomic), of: self })
            }
            Some(structural::Type::Array) => {
                let item = node.items().map_or(Self::Deduced, |items| Self::within(spot, items));
                Shape::List(List { item, kind: Items::Custom(node) })
            }
            // What has a format may be written in other ways than as a text, as far as owning it is concerned.
            Some(structural::Type::String) => match node.format() {
                None | Some("" | "byte") => Shape::Scalar(Scalar::Text),
                Some(_) => Shape::Scalar(Scalar::Any),
            },
            Some(structural::Type::Boolean) => Shape::Scalar(Scalar::Bool),
            Some(structural::Type::Integer | structural::Type::Number) => Shape::Scalar(Scalar::Number),
            None => Self::Deduced.shape(value),
        }
    }

    /// The type of what a step leads to.
    pub(super) fn child(self, step: &Step) -> Option<Self> {
        match (self.shape(None), step) {
            (Shape::Map(fields), Step::Field(name)) => fields.get(name),
            (Shape::List(list), Step::Key(_)) => Some(list.item),
            _ => None,
        }
    }

    /// The step leads to a field that the type names, rather than to some key of a map.
    pub(super) fn declares(self, step: &Step) -> bool {
        matches!((self.shape(None), step), (Shape::Map(fields), Step::Field(name)) if fields.declares(name))
    }

    fn default_of(self, field: &str) -> Option<Value> {
        match self {
            Self::Struct { ty, .. } => ty.field(field)?.published_default(),
            Self::Custom(spot) | Self::CustomObject(spot) => spot.node.property(field)?.default_value().cloned(),
            _ => None,
        }
    }
}

fn unit(is_atomic: bool) -> Unit {
    if is_atomic { Unit::Atomic } else { Unit::Granular }
}

/// What every object has, whatever its schema says of it.
fn of_any_object(name: &str) -> Option<Schema<'static>> {
    let envelope = kind_in("meta.k8s.io/v1", "PartialObjectMetadata")?;
    envelope.field(name).map(Schema::of_field)
}

impl Shape<'_> {
    pub(super) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl<'a> Fields<'a> {
    /// The type of a field; none where there cannot be such a field.
    pub(super) fn get(&self, name: &str) -> Option<Schema<'a>> {
        match self.of {
            Schema::Struct { ty, .. } if ty.fields.is_empty() => Some(Schema::Deduced),
            Schema::Struct { ty, .. } => ty.field(name).map(Schema::of_field),
            Schema::Map { item, .. } => Some(Schema::of_element(item)),
            Schema::CustomObject(spot) => of_any_object(name).or_else(|| below(spot, name)),
            Schema::Custom(spot) => below(spot, name),
            other => Some(other),
        }
    }

    pub(super) fn declares(&self, name: &str) -> bool {
        match self.of {
            Schema::Struct { ty, .. } => ty.field(name).is_some(),
            Schema::CustomObject(spot) => of_any_object(name).is_some() || spot.node.property(name).is_some(),
            Schema::Custom(spot) => spot.node.property(name).is_some(),
            _ => false,
        }
    }
}

fn below<'a>(spot: Spot<'a>, name: &str) -> Option<Schema<'a>> {
    let node = spot.node;
    match node.entry(name) {
        Some(node) => Some(Schema::within(spot, node)),
        None if spot.open || node.additional_properties().is_specified() => Some(Schema::Deduced),
        // An object of which nothing is said may hold anything; it was pruned before.
        None if node.properties().len() == 0 => Some(Schema::Deduced),
        None => None,
    }
}

impl List<'_> {
    pub(super) fn is_atomic(&self) -> bool {
        match self.kind {
            Items::Builtin(kind) => kind == ListKind::Atomic,
            Items::Custom(node) => matches!(node.list_type(), None | Some(ListType::Atomic)),
        }
    }

    /// What tells an item from the others.
    pub(super) fn step(&self, item: &Value) -> Result<Step, String> {
        match self.kind {
            Items::Builtin(ListKind::Set) => set_step(item),
            Items::Builtin(ListKind::Map { keys }) => self.key_step(&keys.iter().collect::<Vec<_>>(), item),
            Items::Custom(node) if node.list_type() == Some(ListType::Set) => set_step(item),
            Items::Custom(node) if node.list_type() == Some(ListType::Map) => {
                self.key_step(&node.list_map_keys().collect::<Vec<_>>(), item)
            }
            Items::Builtin(ListKind::Atomic) | Items::Custom(_) => {
                Err("invalid indexing of non-associative list".to_owned())
            }
        }
    }

    fn key_step(&self, keys: &[&str], item: &Value) -> Result<Step, String> {
        let item = match item {
            Value::Object(item) => item,
            Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let mut key: Vec<(String, Item)> = Vec::with_capacity(keys.len());
        for name in keys {
            let value = item.get(*name).map(Item::of);
            let value = value.or_else(|| self.item.default_of(name).as_ref().map(Item::of));
            key.extend(value.map(|value| ((*name).to_owned(), value)));
        }
        if key.is_empty() {
            let names: Vec<String> = keys.iter().map(|name| format!("{name:?}")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
                 values for any key fields)",
                names.join(" ")
            ));
        }
        key.sort();
        Ok(Step::Key(key))
    }
}

fn set_step(item: &Value) -> Result<Step, String> {
    let why = match item {
        Value::Object(_) => "associative list without keys has an element that's a map type",
        Value::Array(_) => "not supported: associative list with lists as elements",
        Value::Null => "associative list without keys has an element that's an explicit null",
        scalar => return Ok(Step::Value(Item::of(scalar))),
    };
    Err(why.to_owned())
}
