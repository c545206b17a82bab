//! What the walkers ask of a type: what a value is, what is below it, and whether it is owned as one piece.
//!
//! Built-in kinds answer out of their table. Another source of types needs a variant of [`Schema`] and nothing else.

use super::step::{Item, Step};
use openapi::builtin::{Element, Field, Form, ListKind, Type, Unit};
use serde_json::Value;

/// The type of a value.
#[derive(Clone, Copy, Debug)]
pub enum Schema {
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
    /// Anything, owned as one piece.
    Whole,
    /// Anything; objects are owned field by field, the rest as one piece.
    Deduced,
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
pub(super) enum Shape {
    Scalar(Scalar),
    List(List),
    Map(Fields),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    pub(super) item: Schema,
    pub(super) kind: ListKind,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub(super) is_atomic: bool,
    of: Schema,
}

impl Schema {
    pub fn of_kind(ty: &'static Type) -> Self {
        Self::Struct { ty, unit: unit(ty.is_atomic) }
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
    pub(super) fn shape(self, value: Option<&Value>) -> Shape {
        match (self, value) {
            (Self::Scalar(scalar), _) => Shape::Scalar(scalar),
            (Self::Struct { unit, .. } | Self::Map { unit, .. }, _) => {
                Shape::Map(Fields { is_atomic: unit == Unit::Atomic, of: self })
            }
            (Self::List { item, kind }, _) => Shape::List(List { item: Self::of_element(item), kind }),
            (_, Some(Value::Array(_))) => Shape::List(List { item: Self::Whole, kind: ListKind::Atomic }),
            (_, None | Some(Value::Null | Value::Object(_))) => {
                Shape::Map(Fields { is_atomic: matches!(self, Self::Whole), of: self })
            }
            _ => Shape::Scalar(Scalar::Any),
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
            _ => None,
        }
    }
}

fn unit(is_atomic: bool) -> Unit {
    if is_atomic { Unit::Atomic } else { Unit::Granular }
}

impl Shape {
    pub(super) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Fields {
    /// The type of a field; none where there cannot be such a field.
    pub(super) fn get(&self, name: &str) -> Option<Schema> {
        match self.of {
            Schema::Struct { ty, .. } if ty.fields.is_empty() => Some(Schema::Deduced),
            Schema::Struct { ty, .. } => ty.field(name).map(Schema::of_field),
            Schema::Map { item, .. } => Some(Schema::of_element(item)),
            other => Some(other),
        }
    }

    pub(super) fn declares(&self, name: &str) -> bool {
        matches!(self.of, Schema::Struct { ty, .. } if ty.field(name).is_some())
    }
}

impl List {
    pub(super) fn is_atomic(&self) -> bool {
        self.kind == ListKind::Atomic
    }

    /// What tells an item from the others.
    pub(super) fn step(&self, item: &Value) -> Result<Step, String> {
        match self.kind {
            ListKind::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ListKind::Set => set_step(item),
            ListKind::Map { keys } => self.key_step(&keys.iter().collect::<Vec<_>>(), item),
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
