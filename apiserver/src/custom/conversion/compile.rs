//! Compiles conversions against the schemas of the versions that they are between, and says what is wrong with them.

use super::path::{Found, Path};
use super::{Between, Conversions, How, Rule};
use crate::custom::rules::{LIBRARIES, RULE_COST, SELF, declare, excess};
use crate::object::Object;
use expression::{CompileError, Declared, Program, Type as Gives};
use openapi::FieldError;
use openapi::structural::{Node, Structural, Type};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What the expressions of one conversion may cost together on one object.
const CONVERSION_COST: u64 = 10 * RULE_COST;

/// What is wrong with conversions of a definition: a list in which each names two versions, and has rules.
pub fn check_conversions(conversions: &Value, definition: &Object) -> Vec<FieldError> {
    let versions: BTreeMap<&str, Structural> = definition
        .items(&["spec", "versions"])
        .filter_map(|version| {
            let schema = version.pointer("/schema/openAPIV3Schema")?;
            Some((version["name"].as_str()?, Structural::read(schema)))
        })
        .collect();
    let all = conversions.as_array().map(Vec::as_slice).unwrap_or_default();
    self::conversions(all, |name| versions.get(name).map(Structural::root)).1
}

/// All of them, and what is wrong with them. What is wrong fails when it is needed.
pub(super) fn conversions<'a>(
    all: &[Value],
    schema: impl Fn(&str) -> Option<&'a Node>,
) -> (Conversions, Vec<FieldError>) {
    let (mut made, mut errors) = (Conversions::default(), Vec::new());
    for (at, conversion) in all.iter().enumerate() {
        let word = |field: &str| conversion.get(field).and_then(Value::as_str).unwrap_or_default();
        let path = format!("spec.conversions[{at}]");
        let (from, to) = (word("from"), word("to"));
        for (field, name) in [("from", from), ("to", to)] {
            if schema(name).is_none() {
                errors.push(FieldError::invalid(format!("{path}.{field}"), name, "the schema has no such version"));
            }
        }
        let (Some(source), Some(target)) = (schema(from), schema(to)) else { continue };
        if from == to {
            errors.push(FieldError::invalid(format!("{path}.to"), to, "must be another version"));
            continue;
        }
        let mut compiler = Compiler { path: &path, source, target, errors: &mut errors, cost: 0 };
        let between = compiler.between(conversion);
        if made.between.insert((from.to_owned(), to.to_owned()), between).is_some() {
            errors.push(FieldError::duplicate(path, format!("{from} to {to}")));
        }
    }
    (made, errors)
}

/// Compiles what is between two versions.
struct Compiler<'a> {
    path: &'a str,
    source: &'a Node,
    target: &'a Node,
    errors: &'a mut Vec<FieldError>,
    cost: u64,
}

impl Compiler<'_> {
    fn between(&mut self, conversion: &Value) -> Between {
        let list = |field: &str| conversion.get(field).and_then(Value::as_array).into_iter().flatten();
        let (mut between, mut taken) = (Between::default(), BTreeSet::new());
        for (at, rule) in list("rules").enumerate() {
            let path = format!("{}.rules[{at}]", self.path);
            let Some(rule) = self.rule(&path, rule) else { continue };
            if !taken.insert(rule.to.to_string()) {
                self.errors.push(FieldError::duplicate(format!("{path}.destination"), rule.to.to_string()));
            }
            between.rules.push(rule);
        }
        for (at, kept) in list("preserve").enumerate() {
            let (field, text) = (format!("{}.preserve[{at}]", self.path), kept.as_str().unwrap_or_default());
            between.kept.extend(self.place(&field, text, self.source).map(|(path, _)| path));
        }
        if self.cost > CONVERSION_COST {
            let why = excess("estimated cost of all transformations", self.cost, CONVERSION_COST);
            self.errors.push(FieldError::forbidden(format!("{}.rules", self.path), why));
        }
        between
    }

    fn rule(&mut self, path: &str, rule: &Value) -> Option<Rule> {
        let word = |field: &str| rule.get(field).and_then(Value::as_str).unwrap_or_default();
        let from = self.place(&format!("{path}.field"), word("field"), self.source);
        let to = self.place(&format!("{path}.destination"), word("destination"), self.target);
        let ((from, source), (to, target)) = (from?, to?);
        let text = word("transformation");
        let (field, how) = if text.trim().is_empty() {
            (format!("{path}.transformation"), plain(source, target).map(|()| How::Same))
        } else {
            (format!("{path}.transformation"), compiled(text, source, target).map(How::By))
        };
        let how = how.unwrap_or_else(|why| {
            self.errors.push(FieldError::invalid(field.clone(), text, &why));
            How::Unknown(why)
        });
        if let How::By(program) = &how {
            let cost = program.estimate().max;
            self.cost = self.cost.saturating_add(cost);
            if cost > RULE_COST {
                self.errors
                    .push(FieldError::forbidden(field, excess("estimated transformation cost", cost, RULE_COST)));
            }
        }
        Some(Rule { from, to, how })
    }

    /// The place that a path leads to in one of the schemas.
    fn place<'n>(&mut self, field: &str, text: &str, root: &'n Node) -> Option<(Path, Found<'n>)> {
        let read = Path::read(text).and_then(|path| {
            if !path.is_content() {
                return Err("what every object has is not converted".to_owned());
            }
            let found = path.find(root)?;
            Ok((path, found))
        });
        read.map_err(|why| self.errors.push(FieldError::invalid(field, text, why))).ok()
    }
}

/// Why a value of one place cannot stand in the other as it is.
fn plain(source: Found<'_>, target: Found<'_>) -> Result<(), String> {
    let (Some(from), Some(to)) = (kind(source), kind(target)) else { return Ok(()) };
    if from == to || (from, to) == (Type::Integer, Type::Number) {
        return Ok(());
    }
    let (from, to) = (from.name(), to.name());
    Err(format!("is required, because the field is of type {from} and the destination of type {to}"))
}

/// The type of what is in a place, if it is one.
fn kind(place: Found<'_>) -> Option<Type> {
    match place {
        Found::Place(node) if !node.is_int_or_string() => node.ty(),
        _ => None,
    }
}

fn compiled(text: &str, source: Found<'_>, target: Found<'_>) -> Result<Box<Program>, String> {
    let own = match source {
        Found::Place(node) => declare(node, false).map(|typed| typed.declared),
        Found::Anything => None,
    };
    let environment = LIBRARIES.clone().variable(SELF, own.unwrap_or_else(Declared::any));
    let program = environment.compile(text, &Gives::Dyn).map_err(|error| match error {
        CompileError::Program(_) => format!("program instantiation failed: {error}"),
        _ => format!("compilation failed: {error}"),
    })?;
    if let Some(wanted) = kind(target)
        && !can_be(program.ty(), wanted)
    {
        return Err(format!("must evaluate to {}, not {}", wanted.name(), program.ty()));
    }
    Ok(Box::new(program))
}

/// Whether what an expression gives can be what a schema asks for, as far as types tell.
fn can_be(ty: &Gives, wanted: Type) -> bool {
    match ty {
        Gives::Dyn | Gives::Null | Gives::Param(_) => true,
        Gives::Optional(inner) => can_be(inner, wanted),
        Gives::Bool => wanted == Type::Boolean,
        Gives::Int | Gives::Uint => matches!(wanted, Type::Integer | Type::Number),
        Gives::Double => wanted == Type::Number,
        Gives::String | Gives::Bytes | Gives::Duration | Gives::Timestamp => wanted == Type::String,
        Gives::List(_) => wanted == Type::Array,
        Gives::Map(_) | Gives::Object(_) => wanted == Type::Object,
        // Quantities and such have a form in documents, and it is a text.
        Gives::Opaque(_) => wanted == Type::String,
        Gives::Type(_) | Gives::Error => false,
    }
}
