//! What expressions can know of the types of objects.

use expression::{Declared, Identity};
use openapi::builtin::{Element, Field, Form, Type, kind_in};
use openapi::structural::{self, Node};

/// Objects of a built-in kind. Types are called by the path that leads to them.
pub(super) fn builtin(ty: &'static Type) -> Declared {
    of_type(ty, ty.name, &mut Vec::new())
}

/// A type inside of itself may be anything: there is no end to it.
fn of_type(ty: &'static Type, name: &str, within: &mut Vec<&'static Type>) -> Declared {
    if within.iter().any(|outer| std::ptr::eq(*outer, ty)) {
        return Declared::any();
    }
    within.push(ty);
    let declared = |field: &'static Field| {
        Some((field.name.to_owned(), of_field(field, &format!("{name}.{}", field.name), within)?))
    };
    let fields: Vec<(String, Declared)> = ty.json_fields().filter_map(declared).collect();
    within.pop();
    Declared::object(name, fields)
}

fn of_field(field: &'static Field, name: &str, within: &mut Vec<&'static Type>) -> Option<Declared> {
    Some(match field.form {
        Form::List => Declared::list(of_element(field.element, &format!("{name}.@idx"), within)?, Identity::Order),
        Form::Map => Declared::map(of_element(field.element, &format!("{name}.@elem"), within)?),
        Form::One | Form::Pointer => of_element(field.element, name, within)?,
    })
}

/// Fields of which nothing is said cannot be named.
fn of_element(element: Element, name: &str, within: &mut Vec<&'static Type>) -> Option<Declared> {
    Some(match element {
        Element::String | Element::Quantity => Declared::string(),
        Element::Bool => Declared::bool(),
        Element::Int32 | Element::Int64 => Declared::int(),
        Element::Float64 => Declared::double(),
        Element::Bytes => Declared::bytes(),
        Element::Time | Element::MicroTime => Declared::date_time(),
        Element::IntOrString => Declared::int_or_string(),
        Element::Strings => Declared::list(Declared::string(), Identity::Order),
        Element::Struct(id) => of_type(id.get(), name, within),
        Element::RawExtension | Element::FieldsV1 => Declared::object(name, []),
        Element::Json | Element::SchemaOrArray | Element::SchemaOrBool | Element::SchemaOrStrings | Element::Any => {
            return None;
        }
    })
}

/// Objects of a custom resource.
pub(super) fn custom(root: &Node, kind: &str) -> Declared {
    of_object(root, kind).unwrap_or_else(Declared::any)
}

fn of_node(node: &Node, name: &str) -> Option<Declared> {
    if node.is_int_or_string() {
        return Some(Declared::int_or_string());
    }
    if node.is_embedded_resource() {
        return of_object(node, name);
    }
    Some(match node.ty()? {
        structural::Type::Array => Declared::list(of_node(node.items()?, &format!("{name}.@idx"))?, Identity::Order),
        structural::Type::Object => match node.additional_properties().schema() {
            Some(values) => Declared::map(of_node(values, &format!("{name}.@elem"))?),
            None => return of_fields(node, name, Vec::new()),
        },
        structural::Type::String => match node.format() {
            Some("byte") => Declared::bytes(),
            Some("duration") => Declared::duration(),
            Some("date") => Declared::date(),
            Some("date-time") => Declared::date_time(),
            _ => Declared::string(),
        },
        structural::Type::Boolean => Declared::bool(),
        structural::Type::Number => Declared::double(),
        structural::Type::Integer => Declared::int(),
    })
}

/// What every object has, and what its schema says. Of the metadata what is published is known.
fn of_object(node: &Node, name: &str) -> Option<Declared> {
    let metadata = kind_in("meta.k8s.io/v1", "PartialObjectMetadata").and_then(|envelope| envelope.field("metadata"));
    let metadata = metadata
        .and_then(|field| of_field(field, &format!("{name}.metadata"), &mut Vec::new()))
        .unwrap_or_else(Declared::any);
    let text = |field: &str| (field.to_owned(), Declared::string());
    of_fields(node, name, vec![text("apiVersion"), text("kind"), ("metadata".to_owned(), metadata)])
}

fn of_fields(node: &Node, name: &str, mut fields: Vec<(String, Declared)>) -> Option<Declared> {
    for (field, below) in node.properties() {
        if fields.iter().any(|(known, _)| known == field) {
            continue;
        }
        fields.extend(of_node(below, &format!("{name}.{field}")).map(|declared| (field.to_owned(), declared)));
    }
    Some(Declared::object(name, fields))
}
