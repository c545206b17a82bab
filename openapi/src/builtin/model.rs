//! The words of the table: packages, types, fields and resources. Every text is a slice of the table itself.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::table;

/// A type of the table, by its place in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TypeId(pub(super) u16);

impl TypeId {
    pub fn get(self) -> &'static Type {
        &table().types[usize::from(self.0)]
    }
}

/// A Go package that defines kinds, or that lends types to one which does.
#[derive(Debug)]
pub struct Package {
    /// `core.v1`
    pub alias: &'static str,
    /// `io.k8s.api.core.v1`; `-` where no type of the package is published.
    pub model: &'static str,
    /// `apps/v1`; `-` for a package that only lends types.
    pub api_version: &'static str,
}

impl Package {
    /// How Go's error texts name the package: `v1`.
    pub(crate) fn go_name(&self) -> &'static str {
        self.alias.rsplit('.').next().unwrap_or(self.alias)
    }
}

/// A struct type: what may stand in a JSON object, and where it travels in a protobuf message.
#[derive(Debug)]
pub struct Type {
    pub name: &'static str,
    pub package: &'static Package,
    /// Objects of this type travel on their own, with `apiVersion` and `kind`.
    pub is_kind: bool,
    /// The type has a protobuf form.
    pub is_message: bool,
    /// Server-side apply owns a value of this type as a whole.
    pub is_atomic: bool,
    /// In the order Go declares and prints them; inlined structs stand here as one field.
    pub fields: &'static [Field],
    pub(super) by_name: Box<[&'static Field]>,
    pub(super) by_number: Box<[Option<&'static Field>]>,
    pub(super) always_printed: Box<[&'static Field]>,
    /// How many values Go prints for an object of this type that nobody filled.
    pub(crate) zero_values: usize,
}

impl Type {
    /// The OpenAPI model name, `io.k8s.api.core.v1.Pod`.
    pub fn model_name(&self) -> String {
        format!("{}.{}", self.package.model, self.name)
    }

    /// The field that a JSON object of this type holds under `name`, inlined ones included.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        let found = self.by_name.binary_search_by(|field| field.name.cmp(name)).ok()?;
        Some(self.by_name[found])
    }

    /// The fields of a JSON object of this type, sorted by name, inlined ones included.
    pub fn json_fields(&self) -> impl Iterator<Item = &'static Field> {
        self.by_name.iter().copied()
    }

    /// The field with this protobuf number. An inlined struct is a message of its own there.
    pub fn numbered(&self, number: u32) -> Option<&'static Field> {
        *self.by_number.get(usize::try_from(number).ok()?)?
    }

    /// The fields of the protobuf message, highest number first.
    pub(crate) fn message_fields_rev(&self) -> impl Iterator<Item = &'static Field> {
        self.by_number.iter().rev().flatten().copied()
    }

    /// The fields that Go prints though they hold their zero value, inlined ones included.
    pub(crate) fn always_printed(&self) -> impl Iterator<Item = &'static Field> {
        self.always_printed.iter().copied()
    }
}

/// What one value is, or each value of a list or a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Element {
    String,
    Bool,
    Int32,
    Int64,
    Float64,
    /// Base64 in JSON.
    Bytes,
    /// RFC 3339 in JSON, to the second.
    Time,
    /// RFC 3339 in JSON, to the microsecond.
    MicroTime,
    Quantity,
    IntOrString,
    /// Any JSON; in protobuf the bytes of that JSON, or of an enveloped object.
    RawExtension,
    FieldsV1,
    /// Any JSON.
    Json,
    SchemaOrArray,
    SchemaOrBool,
    SchemaOrStrings,
    /// A list of strings that protobuf wraps in a message.
    Strings,
    /// Any JSON, never in protobuf.
    Any,
    Struct(TypeId),
}

/// How many values a field holds, and whether Go can tell none from zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    One,
    Pointer,
    List,
    /// Keys are strings.
    Map,
}

/// How server-side apply merges a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListKind {
    Atomic,
    Set,
    Map { keys: Keys },
}

/// How server-side apply owns a map or a struct: as one piece, or field by field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Atomic,
    Granular,
}

/// The fields that together name an item of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keys(pub(super) &'static str);

impl Keys {
    pub fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.split(',')
    }
}

/// How a strategic merge patch treats a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Patch {
    /// Lists are merged (by `key`, or as sets of scalars) rather than replaced.
    pub merge: bool,
    /// The object keeps only the fields that the patch names.
    pub retain_keys: bool,
    /// A struct is replaced as a whole.
    pub replace: bool,
    pub key: Option<&'static str>,
}

/// A named scalar type, such as `RestartPolicy`.
#[derive(Debug)]
pub struct Scalar {
    pub name: &'static str,
    pub package: &'static Package,
    pub element: Element,
    pub(super) values: Option<&'static str>,
}

impl Scalar {
    /// The values of an enumeration, sorted; none for an open type.
    pub fn values(&self) -> impl Iterator<Item = &'static str> {
        self.values.into_iter().flat_map(|all| all.split('|'))
    }
}

#[derive(Debug)]
pub struct Field {
    /// In JSON; `.` for a struct whose fields JSON inlines.
    pub name: &'static str,
    /// In protobuf; 0 for a field that never travels there.
    pub number: u32,
    pub form: Form,
    pub element: Element,
    /// The named type of a scalar element.
    pub scalar: Option<&'static Scalar>,
    pub omitempty: bool,
    pub omitzero: bool,
    pub required: bool,
    /// As marked; `None` merges like `Atomic` and is published without a list type.
    pub list: Option<ListKind>,
    /// How server-side apply owns this map or struct, where its type does not say so already.
    pub unit: Option<Unit>,
    pub patch: Patch,
    /// The marked value of an absent field, as JSON; see [`Field::published_default`].
    pub default: Option<&'static str>,
    pub(super) spelling: Option<&'static str>,
}

impl Field {
    pub fn is_inline(&self) -> bool {
        self.name == "."
    }

    /// How server-side apply merges this list.
    pub fn list_kind(&self) -> ListKind {
        self.list.unwrap_or(ListKind::Atomic)
    }

    /// The default that OpenAPI documents and apply schemas give: the marked one, or the zero value of a field that Go
    /// always prints. Items of a list are told apart by their keys with these filled in.
    pub fn published_default(&self) -> Option<Value> {
        match (self.default, self.form, self.element) {
            (Some(text), ..) => serde_json::from_str(text).ok(),
            (None, Form::One, Element::Struct(_)) => Some(Value::Object(Map::new())),
            (None, Form::One, _) if self.omitempty => None,
            (None, Form::One, Element::String) => Some(Value::from("")),
            (None, Form::One, Element::Bool) => Some(Value::from(false)),
            (None, Form::One, Element::Int32 | Element::Int64 | Element::Float64) => Some(Value::from(0)),
            _ => None,
        }
    }

    /// Go prints the field even when it holds its zero value: `omitempty` leaves out scalars, lists, maps and
    /// pointers, never a struct.
    pub(crate) fn prints_zero(&self) -> bool {
        let scalar = matches!(
            self.element,
            Element::String
                | Element::Bool
                | Element::Int32
                | Element::Int64
                | Element::Float64
                | Element::Bytes
                | Element::Strings
                | Element::Any
        );
        !self.omitzero && (!self.omitempty || (self.form == Form::One && !scalar))
    }

    /// Server-side apply owns this map or struct as one piece.
    pub fn is_atomic(&self) -> bool {
        match (self.unit, self.element, self.form) {
            (Some(unit), ..) => unit == Unit::Atomic,
            (None, Element::Struct(id), Form::One | Form::Pointer) => id.get().is_atomic,
            _ => false,
        }
    }

    /// How Go's error texts name the type of the whole field.
    pub(crate) fn go_type(&self) -> Cow<'static, str> {
        match (self.spelling, self.form) {
            (Some(text), _) => text.into(),
            (None, Form::One | Form::Pointer) => self.go_element(),
            (None, Form::List) => format!("[]{}", self.go_element()).into(),
            (None, Form::Map) => format!("map[string]{}", self.go_element()).into(),
        }
    }

    /// How Go's error texts name the type of one value of the field.
    pub(crate) fn go_element(&self) -> Cow<'static, str> {
        if let Some(scalar) = self.scalar {
            return format!("{}.{}", scalar.package.go_name(), scalar.name).into();
        }
        match self.element {
            Element::Struct(id) => id.get().go_name().into(),
            Element::String => "string".into(),
            Element::Bool => "bool".into(),
            Element::Int32 => "int32".into(),
            Element::Int64 => "int64".into(),
            Element::Float64 => "float64".into(),
            Element::Bytes => "[]uint8".into(),
            Element::Strings => self.spelling.map_or("[]string", |text| text.trim_start_matches("map[string]")).into(),
            Element::Time => "v1.Time".into(),
            Element::MicroTime => "v1.MicroTime".into(),
            Element::Quantity => "resource.Quantity".into(),
            Element::IntOrString => "intstr.IntOrString".into(),
            Element::RawExtension => "runtime.RawExtension".into(),
            Element::FieldsV1 => "v1.FieldsV1".into(),
            Element::Json => "v1.JSON".into(),
            Element::SchemaOrArray => "v1.JSONSchemaPropsOrArray".into(),
            Element::SchemaOrBool => "v1.JSONSchemaPropsOrBool".into(),
            Element::SchemaOrStrings => "v1.JSONSchemaPropsOrStringArray".into(),
            Element::Any => "interface {}".into(),
        }
    }
}

impl Type {
    /// How Go's error texts name the type: `v1.Pod`.
    pub(crate) fn go_name(&self) -> String {
        format!("{}.{}", self.package.go_name(), self.name)
    }
}

/// What discovery says of a resource.
#[derive(Debug)]
pub struct Resource {
    pub package: &'static Package,
    pub plural: &'static str,
    pub kind: &'static str,
    pub namespaced: bool,
    pub(super) verbs: &'static str,
    pub(super) short_names: &'static str,
    pub(super) categories: &'static str,
    pub subresources: Box<[Subresource]>,
}

/// What discovery says of a subresource.
#[derive(Debug)]
pub struct Subresource {
    pub name: &'static str,
    pub(super) verbs: &'static str,
    /// `(apiVersion, kind)` where it is not its parent's.
    pub kind: Option<(&'static str, &'static str)>,
}

fn split(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split(',').filter(|word| !word.is_empty())
}

impl Resource {
    pub fn singular(&self) -> String {
        self.kind.to_lowercase()
    }

    pub fn verbs(&self) -> impl Iterator<Item = &'static str> {
        split(self.verbs)
    }

    pub fn short_names(&self) -> impl Iterator<Item = &'static str> {
        split(self.short_names)
    }

    pub fn categories(&self) -> impl Iterator<Item = &'static str> {
        split(self.categories)
    }
}

impl Subresource {
    pub fn verbs(&self) -> impl Iterator<Item = &'static str> {
        split(self.verbs)
    }
}
