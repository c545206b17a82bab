//! What Go prints for values that are zero, and which of them it leaves out.

use serde_json::{Map, Number, Value};

use crate::builtin::{Element, Field, Form, Type};

/// The zero value of a field, as Go prints it where it prints it at all.
pub(crate) fn zero(field: &Field) -> Value {
    match field.form {
        Form::One => zero_element(field.element),
        Form::Pointer | Form::List | Form::Map => Value::Null,
    }
}

/// The zero value of one element: of a field, or of a list or map that says null where an element should be.
pub(crate) fn zero_element(element: Element) -> Value {
    match element {
        Element::String => Value::String(String::new()),
        Element::Bool | Element::SchemaOrBool => Value::Bool(false),
        Element::Int32 | Element::Int64 | Element::Float64 | Element::IntOrString => Value::from(0),
        Element::Quantity => Value::from("0"),
        Element::Struct(id) => {
            let mut map = Map::new();
            complete(id.get(), &mut map);
            Value::Object(map)
        }
        _ => Value::Null,
    }
}

/// Adds the fields that Go prints though nobody set them.
pub(crate) fn complete(ty: &Type, map: &mut Map<String, Value>) {
    for field in ty.always_printed() {
        if !map.contains_key(field.name) {
            map.insert(field.name.to_owned(), zero(field));
        }
    }
}

/// Whether Go leaves this value of the field out of what it prints.
pub(crate) fn is_hidden(field: &Field, value: &Value) -> bool {
    match field.form {
        Form::One if field.omitzero => value.is_null(),
        Form::One => !field.prints_zero() && is_empty(value),
        Form::Pointer => false,
        Form::List | Form::Map => field.omitempty && is_empty(value),
    }
}

/// Whether a value is the zero of its element, or holds nothing.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

/// A float as Go prints it: without a fraction where it has none.
pub(crate) fn number(value: f64) -> Option<Value> {
    let exact = value as i64;
    if exact as f64 == value && exact != i64::MAX && !(exact == 0 && value.is_sign_negative()) {
        return Some(Value::from(exact));
    }
    Number::from_f64(value).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_object_prints_what_go_prints() {
        let deployment = crate::builtin::kind("apps", "v1", "Deployment").unwrap();
        let mut map = serde_json::Map::new();
        complete(deployment, &mut map);
        let expected = serde_json::json!({
            "metadata": {}, "status": {},
            "spec": {"selector": null, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": null}}},
        });
        assert_eq!(serde_json::Value::Object(map), expected);
        assert_eq!(deployment.zero_values, 9);
    }
}
