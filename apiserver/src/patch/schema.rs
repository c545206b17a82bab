//! How a strategic merge patch treats the place it has reached.

use openapi::builtin::{Element, Field, Form, Type};

/// What the fields of an object are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Schema {
    Struct(&'static Type),
    /// Nothing is known of the fields: objects merge, lists are replaced. Holds how Go names the kind of value.
    Plain(&'static str),
}

/// How one field merges.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Of the field's value, or of each item of its list.
    pub(super) schema: Schema,
    pub(super) merges_lists: bool,
    pub(super) replaces_objects: bool,
    /// What tells the items of a list from each other; empty for a list of scalars.
    pub(super) merge_key: &'static str,
}

impl Schema {
    pub(super) fn part(self, name: &str) -> Part {
        let known = match self {
            Self::Struct(ty) => ty.field(name),
            Self::Plain(_) => None,
        };
        known.map_or(
            Part { schema: Self::Plain("map"), merges_lists: false, replaces_objects: false, merge_key: "" },
            |field| Part {
                schema: Self::of(field),
                merges_lists: field.patch.merge,
                replaces_objects: field.patch.replace,
                merge_key: field.patch.key.unwrap_or_default(),
            },
        )
    }

    fn of(field: &Field) -> Self {
        match (field.element, field.form) {
            (Element::Struct(id), Form::One | Form::Pointer | Form::List) => Self::Struct(id.get()),
            (_, Form::Map) => Self::Plain("map"),
            (Element::String, _) => Self::Plain("string"),
            (Element::Bool, _) => Self::Plain("bool"),
            (Element::Int32, _) => Self::Plain("int32"),
            (Element::Int64, _) => Self::Plain("int64"),
            (Element::Float64, _) => Self::Plain("float64"),
            _ => Self::Plain("struct"),
        }
    }

    pub(super) fn go_kind(self) -> &'static str {
        match self {
            Self::Struct(_) => "struct",
            Self::Plain(kind) => kind,
        }
    }
}
