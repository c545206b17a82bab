//! One place of a schema: what may stand there. Read access for everybody who follows an object along its schema.

use serde_json::Value;

use super::pattern::Pattern;

/// What a value may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Type {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
        }
    }
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListType {
    Atomic,
    Set,
    Map,
}

/// `x-kubernetes-map-type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapType {
    Atomic,
    Granular,
}

/// What a map may hold besides its properties.
#[derive(Debug, Default)]
pub enum Additional {
    /// Nothing is said.
    #[default]
    Unspecified,
    Any(bool),
    Schema(Box<Node>),
}

impl Additional {
    pub fn is_specified(&self) -> bool {
        !matches!(self, Self::Unspecified)
    }

    pub fn schema(&self) -> Option<&Node> {
        match self {
            Self::Schema(node) => Some(node),
            _ => None,
        }
    }
}

/// One of `x-kubernetes-validations`. Texts that are not given are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub rule: Box<str>,
    pub message: Box<str>,
    pub message_expression: Box<str>,
    /// `FieldValueInvalid`, `FieldValueForbidden`, `FieldValueRequired` or `FieldValueDuplicate`.
    pub reason: Option<Box<str>>,
    pub field_path: Box<str>,
    pub optional_old_self: Option<bool>,
}

/// The largest or smallest number that a value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    pub value: f64,
    /// The edge itself is outside.
    pub exclusive: bool,
}

/// One thing that a value must keep to. Most places say one or none, so they are kept as a list and not as fields.
#[derive(Debug)]
pub(super) enum Bound {
    Format(Box<str>),
    Maximum(Edge),
    Minimum(Edge),
    MultipleOf(f64),
    MaxLength(i64),
    MinLength(i64),
    MaxItems(i64),
    MinItems(i64),
    MaxProperties(i64),
    MinProperties(i64),
    UniqueItems,
    Pattern(Box<Pattern>),
    Enum(Box<[Value]>),
    Required(Box<[Box<str>]>),
    AllOf(Box<[Node]>),
    AnyOf(Box<[Node]>),
    OneOf(Box<[Node]>),
    Not(Box<Node>),
}

/// The value of an absent field.
#[derive(Debug)]
pub(super) struct Preset {
    pub(super) value: Value,
    /// What a copy costs, in bytes.
    pub(super) weight: usize,
}

/// One place of a schema.
#[derive(Debug, Default)]
pub struct Node {
    pub(super) ty: Option<Type>,
    pub(super) nullable: bool,
    pub(super) preserve: bool,
    pub(super) embedded: bool,
    pub(super) int_or_string: bool,
    pub(super) list_type: Option<ListType>,
    pub(super) map_type: Option<MapType>,
    /// Sorted by name.
    pub(super) properties: Box<[(Box<str>, Node)]>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Node>>,
    pub(super) preset: Option<Box<Preset>>,
    pub(super) list_keys: Box<[Box<str>]>,
    pub(super) rules: Box<[Rule]>,
    pub(super) bounds: Box<[Bound]>,
}

/// Finds one kind of bound among those of a place.
macro_rules! bound {
    ($node:expr, $kind:ident) => {
        $node.bounds.iter().find_map(|bound| match bound {
            Bound::$kind(value) => Some(value),
            _ => None,
        })
    };
}

impl Node {
    /// None where any type may stand: below `x-kubernetes-preserve-unknown-fields` or for an int-or-string.
    pub fn ty(&self) -> Option<Type> {
        self.ty
    }

    pub fn is_nullable(&self) -> bool {
        self.nullable
    }

    pub fn preserves_unknown_fields(&self) -> bool {
        self.preserve
    }

    pub fn is_embedded_resource(&self) -> bool {
        self.embedded
    }

    pub fn is_int_or_string(&self) -> bool {
        self.int_or_string
    }

    pub fn list_type(&self) -> Option<ListType> {
        self.list_type
    }

    pub fn list_map_keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.list_keys.iter().map(|key| &**key)
    }

    pub fn map_type(&self) -> Option<MapType> {
        self.map_type
    }

    pub fn property(&self, name: &str) -> Option<&Node> {
        let at = self.properties.binary_search_by(|(other, _)| (**other).cmp(name)).ok()?;
        Some(&self.properties[at].1)
    }

    /// Sorted by name.
    pub fn properties(&self) -> impl ExactSizeIterator<Item = (&str, &Node)> {
        self.properties.iter().map(|(name, node)| (&**name, node))
    }

    pub fn additional_properties(&self) -> &Additional {
        &self.additional
    }

    pub fn items(&self) -> Option<&Node> {
        self.items.as_deref()
    }

    /// The schema of a map's entry: that of its property, or of any other.
    pub fn entry(&self, name: &str) -> Option<&Node> {
        self.property(name).or_else(|| self.additional.schema())
    }

    pub fn default_value(&self) -> Option<&Value> {
        self.preset.as_deref().map(|preset| &preset.value)
    }

    /// The rules of this place alone.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// As written, whether or not it is one that is checked.
    pub fn format(&self) -> Option<&str> {
        bound!(self, Format).map(|format| &**format)
    }

    pub fn maximum(&self) -> Option<Edge> {
        bound!(self, Maximum).copied()
    }

    pub fn minimum(&self) -> Option<Edge> {
        bound!(self, Minimum).copied()
    }

    pub fn multiple_of(&self) -> Option<f64> {
        bound!(self, MultipleOf).copied()
    }

    pub fn max_length(&self) -> Option<i64> {
        bound!(self, MaxLength).copied()
    }

    pub fn min_length(&self) -> Option<i64> {
        bound!(self, MinLength).copied()
    }

    pub fn max_items(&self) -> Option<i64> {
        bound!(self, MaxItems).copied()
    }

    pub fn min_items(&self) -> Option<i64> {
        bound!(self, MinItems).copied()
    }

    pub fn max_properties(&self) -> Option<i64> {
        bound!(self, MaxProperties).copied()
    }

    pub fn min_properties(&self) -> Option<i64> {
        bound!(self, MinProperties).copied()
    }

    pub fn unique_items(&self) -> bool {
        self.bounds.iter().any(|bound| matches!(bound, Bound::UniqueItems))
    }

    /// As written: RE2.
    pub fn pattern(&self) -> Option<&str> {
        bound!(self, Pattern).map(|pattern| pattern.text())
    }

    pub(super) fn matcher(&self) -> Option<&Pattern> {
        bound!(self, Pattern).map(|pattern| &**pattern)
    }

    /// Empty where any value may stand.
    pub fn enum_values(&self) -> &[Value] {
        bound!(self, Enum).map_or(&[], |values| values)
    }

    pub fn required(&self) -> impl ExactSizeIterator<Item = &str> {
        let names: &[Box<str>] = bound!(self, Required).map_or(&[], |names| names);
        names.iter().map(|name| &**name)
    }

    pub fn all_of(&self) -> &[Node] {
        bound!(self, AllOf).map_or(&[], |nodes| nodes)
    }

    pub fn any_of(&self) -> &[Node] {
        bound!(self, AnyOf).map_or(&[], |nodes| nodes)
    }

    pub fn one_of(&self) -> &[Node] {
        bound!(self, OneOf).map_or(&[], |nodes| nodes)
    }

    pub fn not(&self) -> Option<&Node> {
        bound!(self, Not).map(|node| &**node)
    }
}
