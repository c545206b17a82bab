//! Two schemas of one kind, side by side: what those who keep to the one would find changed in the other.

use super::node::{Additional, Edge, Node, Rule, Type};
use std::fmt;

/// Something that objects of the one schema cannot count on in the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The field is not known any more, and is taken out of objects.
    Gone {
        field: String,
    },
    Type {
        field: String,
        from: &'static str,
        to: &'static str,
    },
    /// Objects have to have the field.
    Required {
        field: String,
    },
    /// Some values are not accepted any more.
    Tightened {
        field: String,
        how: String,
    },
}

impl Change {
    /// Objects that were accepted lose something or cannot be changed any more. Values that are not accepted any more stay
    /// readable, and are refused only when they are changed.
    pub fn breaks(&self) -> bool {
        !matches!(self, Self::Tightened { .. })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone { field } => write!(out, "{field} is gone"),
            Self::Type { field, from, to } => write!(out, "{field} is of type {from} and would be of type {to}"),
            Self::Required { field } => write!(out, "{field} would be required"),
            Self::Tightened { field, how } => write!(out, "{field}: {how}"),
        }
    }
}

impl Node {
    /// What changes for objects of this schema when another takes its place, in the order of the fields.
    pub fn changes_to(&self, new: &Node) -> Vec<Change> {
        let mut changes = Vec::new();
        compare(self, new, "", &mut changes);
        changes
    }
}

fn compare(old: &Node, new: &Node, path: &str, changes: &mut Vec<Change>) {
    let (from, to) = (type_of(old), type_of(new));
    let widened = to == ANYTHING || (from, to) == (Type::Integer.name(), Type::Number.name());
    let widened = widened || (to == INT_OR_STRING && [Type::Integer.name(), Type::String.name()].contains(&from));
    if from != to && !widened {
        changes.push(Change::Type { field: named(path), from, to });
        return;
    }
    let mut tighten = |how: Vec<String>| {
        changes.extend(how.into_iter().map(|how| Change::Tightened { field: named(path), how }));
    };
    if old.is_nullable() && !new.is_nullable() {
        tighten(vec!["null would not be accepted".to_owned()]);
    }
    tighten(limits(old, new));
    tighten(choices(old, new));
    fields(old, new, path, changes);
    if let (Some(old), Some(new)) = (old.items(), new.items()) {
        compare(old, new, &format!("{path}[]"), changes);
    }
}

const ANYTHING: &str = "anything";
const INT_OR_STRING: &str = "integer or string";

fn type_of(node: &Node) -> &'static str {
    if node.is_int_or_string() { INT_OR_STRING } else { node.ty().map_or(ANYTHING, Type::name) }
}

fn named(path: &str) -> String {
    if path.is_empty() { "the object".to_owned() } else { path.to_owned() }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn fields(old: &Node, new: &Node, path: &str, changes: &mut Vec<Change>) {
    let keeps_all = new.preserves_unknown_fields() || matches!(new.additional_properties(), Additional::Any(true));
    for (name, property) in old.properties() {
        match new.entry(name) {
            Some(now) => compare(property, now, &below(path, name), changes),
            None if keeps_all || new.ty().is_none() => {}
            None => changes.push(Change::Gone { field: below(path, name) }),
        }
    }
    let keys = below(path, "*");
    match (old.additional_properties().schema(), new.additional_properties().schema()) {
        (Some(old), Some(new)) => compare(old, new, &keys, changes),
        (Some(_), None) if !keeps_all && new.ty().is_some() => changes.push(Change::Gone { field: keys }),
        _ if old.preserves_unknown_fields() && !keeps_all && new.ty() == Some(Type::Object) => {
            changes.push(Change::Gone { field: format!("what is not described in {}", named(path)) });
        }
        _ => {}
    }
    for name in new.required().filter(|name| !old.required().any(|before| before == *name)) {
        if new.property(name).is_none_or(|property| property.default_value().is_none()) {
            changes.push(Change::Required { field: below(path, name) });
        }
    }
}

/// Limits that are narrower than they were.
fn limits(old: &Node, new: &Node) -> Vec<String> {
    let mut told = Vec::new();
    let mut most = |name: &str, old: Option<i64>, new: Option<i64>| {
        if let Some(now) = new.filter(|now| old.is_none_or(|before| *now < before)) {
            told.push(became(name, old, now));
        }
    };
    most("maxLength", old.max_length(), new.max_length());
    most("maxItems", old.max_items(), new.max_items());
    most("maxProperties", old.max_properties(), new.max_properties());
    let mut least = |name: &str, old: Option<i64>, new: Option<i64>| {
        if let Some(now) = new.filter(|now| *now > old.unwrap_or(0)) {
            told.push(became(name, old, now));
        }
    };
    least("minLength", old.min_length(), new.min_length());
    least("minItems", old.min_items(), new.min_items());
    least("minProperties", old.min_properties(), new.min_properties());
    let inside = |old: Option<Edge>, new: Option<Edge>, sign: f64| {
        let new = new?;
        let narrower = |old: Edge| {
            let (was, is) = (old.value * sign, new.value * sign);
            is < was || (is <= was && new.exclusive && !old.exclusive)
        };
        old.is_none_or(narrower).then(|| (old.map(|old| old.value), new.value))
    };
    if let Some((was, now)) = inside(old.maximum(), new.maximum(), 1.0) {
        told.push(became("maximum", was, now));
    }
    if let Some((was, now)) = inside(old.minimum(), new.minimum(), -1.0) {
        told.push(became("minimum", was, now));
    }
    told
}

fn became(name: &str, was: Option<impl fmt::Display>, now: impl fmt::Display) -> String {
    match was {
        Some(was) => format!("{name} is {was} and would be {now}"),
        None => format!("{name} would be {now}"),
    }
}

/// Values that are ruled out, and were not.
fn choices(old: &Node, new: &Node) -> Vec<String> {
    let mut told = Vec::new();
    let gone: Vec<String> =
        old.enum_values().iter().filter(|value| !new.enum_values().contains(value)).map(ToString::to_string).collect();
    if old.enum_values().is_empty() && !new.enum_values().is_empty() {
        told.push("only some values would be accepted".to_owned());
    } else if !new.enum_values().is_empty() && !gone.is_empty() {
        told.push(format!("{} would not be accepted", gone.join(", ")));
    }
    for (name, was, now) in [("pattern", old.pattern(), new.pattern()), ("format", old.format(), new.format())] {
        if let Some(now) = now.filter(|now| was != Some(now)) {
            told.push(became(name, was, now));
        }
    }
    if new.unique_items() && !old.unique_items() {
        told.push("uniqueItems would be true".to_owned());
    }
    if new.list_type().is_some() && old.list_type() != new.list_type() {
        told.push("x-kubernetes-list-type would be another".to_owned());
    }
    if new.multiple_of().is_some() && new.multiple_of() != old.multiple_of() {
        told.push("multipleOf would be another".to_owned());
    }
    let is_new = |rule: &&Rule| !old.rules().iter().any(|before| before.rule == rule.rule);
    told.extend(new.rules().iter().filter(is_new).map(|rule| format!("there would be a rule: {}", rule.rule)));
    for (name, was, now) in [
        ("allOf", old.all_of(), new.all_of()),
        ("anyOf", old.any_of(), new.any_of()),
        ("oneOf", old.one_of(), new.one_of()),
    ] {
        // What follows from these, nobody can tell in general.
        if !now.is_empty() && format!("{was:?}") != format!("{now:?}") {
            told.push(format!("{name} would be another"));
        }
    }
    if new.not().is_some() && format!("{:?}", old.not()) != format!("{:?}", new.not()) {
        told.push("not would be another".to_owned());
    }
    told
}

#[cfg(test)]
mod tests {
    use super::super::Structural;
    use serde_json::{Value, json};

    #[track_caller]
    fn check(old: Value, new: Value, expected: &[&str]) {
        let of = |field: Value| json!({ "type": "object", "properties": { "f": field } });
        let (old, new) = (Structural::read(&of(old)), Structural::read(&of(new)));
        let told: Vec<String> = old.root().changes_to(new.root()).iter().map(ToString::to_string).collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn what_takes_more_changes_nothing() {
        check(json!({ "type": "integer" }), json!({ "type": "number" }), &[]);
        check(json!({ "type": "string" }), json!({ "x-kubernetes-int-or-string": true }), &[]);
        check(json!({ "type": "string", "maxLength": 3 }), json!({ "type": "string", "maxLength": 4 }), &[]);
        check(json!({ "type": "string", "enum": ["a"] }), json!({ "type": "string", "enum": ["a", "b"] }), &[]);
        let object = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        check(object.clone(), json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }), &[]);
        check(object.clone(), json!({ "type": "object", "additionalProperties": { "type": "string" } }), &[]);
        let defaulted = json!({ "type": "object", "required": ["b"],
            "properties": { "a": { "type": "string" }, "b": { "type": "string", "default": "x" } } });
        check(object, defaulted, &[]);
    }

    #[test]
    fn fields_that_go_or_become_others_break_something() {
        check(
            json!({ "type": "string" }),
            json!({ "type": "integer" }),
            &["f is of type string and would be of type integer"],
        );
        check(
            json!({ "type": "number" }),
            json!({ "type": "integer" }),
            &["f is of type number and would be of type integer"],
        );
        let list = |items: Value| json!({ "type": "array", "items": items });
        check(
            list(json!({ "type": "string" })),
            list(json!({ "type": "boolean" })),
            &["f[] is of type string and would be of type boolean"],
        );
        let object = |fields: Value| json!({ "type": "object", "properties": fields });
        let one = json!({ "type": "string" });
        check(object(json!({ "a": one, "b": one })), object(json!({ "a": one })), &["f.b is gone"]);
        let map = json!({ "type": "object", "additionalProperties": one });
        check(map.clone(), object(json!({})), &["f.* is gone"]);
        check(
            map.clone(),
            json!({ "type": "object", "additionalProperties": { "type": "integer" } }),
            &["f.* is of type string and would be of type integer"],
        );
        let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        check(open, object(json!({})), &["what is not described in f is gone"]);
        let required = json!({ "type": "object", "properties": { "a": one }, "required": ["a"] });
        check(object(json!({ "a": one })), required, &["f.a would be required"]);
    }

    #[test]
    fn what_takes_less_is_told_apart_from_that() {
        let text = |more: Value| {
            let mut text = json!({ "type": "string" });
            text.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            text
        };
        check(
            text(json!({ "maxLength": 20 })),
            text(json!({ "maxLength": 10 })),
            &["f: maxLength is 20 and would be 10"],
        );
        check(text(json!({})), text(json!({ "pattern": "^a$" })), &["f: pattern would be ^a$"]);
        check(text(json!({ "enum": ["a", "b"] })), text(json!({ "enum": ["b"] })), &["f: \"a\" would not be accepted"]);
        check(text(json!({ "nullable": true })), text(json!({})), &["f: null would not be accepted"]);
        check(text(json!({})), text(json!({ "minLength": 0 })), &[]);
        let number = |more: Value| {
            let mut number = json!({ "type": "integer" });
            number.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            number
        };
        check(number(json!({ "minimum": 1 })), number(json!({ "minimum": 2 })), &["f: minimum is 1 and would be 2"]);
        check(
            number(json!({ "minimum": 2 })),
            number(json!({ "minimum": 1, "maximum": 9 })),
            &["f: maximum would be 9"],
        );
        let rule = json!({ "x-kubernetes-validations": [{ "rule": "self != ''" }] });
        check(text(json!({})), text(rule.clone()), &["f: there would be a rule: self != ''"]);
        check(text(rule), text(json!({})), &[]);
        let (old, new) = (
            Structural::read(&json!({ "type": "object", "maxProperties": 2 })),
            json!({ "type": "object", "maxProperties": 1 }),
        );
        let changes = old.root().changes_to(Structural::read(&new).root());
        assert!(!changes.is_empty() && changes.iter().all(|change| !change.breaks()));
    }
}
