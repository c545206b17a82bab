//! What a policy that mutates makes of an object: an apply configuration laid over it, or a JSON patch.

use super::compiled::{Expression, Named, Wanted, text};
use super::environment::{self, Scope};
use super::evaluate::{Facts, POLICY, Run, Spent};
use crate::body::Body;
use crate::error::ApiError;
use crate::managed_fields::{self, Schema};
use crate::object::Object;
use crate::options::FieldValidation;
use crate::patch::{self, PatchError};
use expression::{Type, Value};
use openapi::builtin;
use serde_json::{Map, Value as Json, json};

/// What a policy that mutates wants, in its order.
#[derive(Debug)]
pub(super) struct Mutations {
    pub(super) list: Vec<Mutation>,
    /// Wants to see the object again when others have changed it.
    pub(super) asks_again: bool,
}

#[derive(Debug)]
pub(super) struct Mutation {
    expression: Expression,
    is_patch: bool,
}

/// Why an object was not changed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The failure policy decides what comes of it.
    Wrong(String),
    Refused(ApiError),
}

fn wrong(text: impl Into<String>) -> Failure {
    Failure::Wrong(text.into())
}

impl Mutations {
    pub(super) fn read(policy: &Object, scope: Scope, named: &Named) -> Self {
        let environment = environment::environment(Scope { patches: true, ..scope }, Some(named.declared()));
        let mutation = |item: &Json| {
            let (part, wanted) = match text(item, "patchType") {
                "JSONPatch" => ("jsonPatch", Wanted::Operations),
                "ApplyConfiguration" => ("applyConfiguration", Wanted::Object),
                _ => return None,
            };
            let expression = Expression::compile(&environment, text(item.get(part)?, "expression"), wanted);
            Some(Mutation { expression, is_patch: wanted == Wanted::Operations })
        };
        Self {
            list: policy.items(&["spec", "mutations"]).filter_map(mutation).collect(),
            asks_again: policy.text(&["spec", "reinvocationPolicy"]) == "IfNeeded",
        }
    }
}

impl Mutation {
    /// The object as this mutation wants it.
    pub(super) fn change(
        &self,
        object: &Object,
        schema: Schema<'_>,
        facts: Facts<'_>,
        named: &Named,
    ) -> Result<Object, Failure> {
        if let Err(fault) = &self.expression.program {
            return Err(wrong(fault.detail.clone()));
        }
        let value = Run::new(facts, named, POLICY).evaluate(&self.expression);
        let value = value.map_err(|Spent| wrong(Spent::TEXT))?.map_err(wrong)?;
        if self.is_patch { patched(object, &value) } else { applied(object, schema, &value) }
    }
}

fn applied(object: &Object, schema: Schema<'_>, value: &Value<'static>) -> Result<Object, Failure> {
    check_names(value)?;
    let mut configuration = value.to_json().map_err(|error| wrong(format!("invalid return type: {error}")))?;
    if let Some(path) = null_in(&configuration) {
        let unfit = "error applying patch: failed to convert patch object to typed object";
        return Err(wrong(format!("{unfit}: {path}: expected a value, got structpb.NullValue")));
    }
    if let Some(map) = configuration.as_object_mut() {
        for field in ["apiVersion", "kind"] {
            map.insert(field.to_owned(), object.get(field).cloned().unwrap_or_default());
        }
    }
    let live = Json::from(object.clone());
    let merged = managed_fields::lay_over(&live, &configuration, schema)
        .map_err(|why| wrong(format!("error applying patch: {why}")))?;
    Object::try_from(merged).map_err(|error| wrong(error.to_string()))
}

/// Where a configuration says null, if anywhere: nothing is taken away by applying.
fn null_in(tree: &Json) -> Option<String> {
    let below = |step: String, value: &Json| null_in(value).map(|path| format!("{step}{path}"));
    match tree {
        Json::Null => Some(String::new()),
        Json::Object(map) => map.iter().find_map(|(name, value)| below(format!(".{name}"), value)),
        Json::Array(items) => items.iter().enumerate().find_map(|(at, value)| below(format!("[{at}]"), value)),
        _ => None,
    }
}

fn patched(object: &Object, value: &Value<'static>) -> Result<Object, Failure> {
    let operations = operations(value)?;
    let tree = Json::from(object.clone());
    let tree = match patch::json(&tree, operations.to_string().as_bytes()) {
        Ok(tree) => tree,
        // A patch whose test fails is not meant for this object.
        Err(PatchError::Unprocessable(why)) if why.ends_with(": test failed") => return Ok(object.clone()),
        Err(PatchError::Malformed(_)) => {
            let kind = unknown_operation(&operations).unwrap_or("unknown");
            return Err(wrong(format!("JSON Patch: Unexpected kind: {kind}")));
        }
        Err(why) => return Err(wrong(format!("JSON Patch: {why}"))),
    };
    strictly(tree, object)
}

fn unknown_operation(operations: &Json) -> Option<&str> {
    let known = ["add", "remove", "replace", "move", "copy", "test"];
    let mut words = operations.as_array()?.iter().map(|operation| text(operation, "op"));
    words.find(|word| !known.contains(word))
}

/// What a built-in kind does not know may not be patched into it.
fn strictly(tree: Json, before: &Object) -> Result<Object, Failure> {
    let (api_version, kind) = (before.api_version(), before.kind());
    let refused = |text: &str| {
        // Who it was meant for is told to clients, and nobody sent this.
        let why = text.split_once(&format!(" cannot be handled as a {kind}: ")).map_or(text, |(_, why)| why);
        Failure::Refused(ApiError::internal(why))
    };
    let Some(ty) = builtin::kind_in(api_version, kind) else {
        return Object::try_from(tree).map_err(|error| refused(&error.to_string()));
    };
    let decoded = Body::Tree(tree).decode_as(api_version, kind, ty, FieldValidation::Strict);
    decoded.map(|decoded| decoded.object).map_err(|error| refused(error.message()))
}

/// The operations of a JSON patch, as clients would write them.
fn operations(value: &Value<'static>) -> Result<Json, Failure> {
    let mismatch = || wrong("type mismatch: JSONPatchType.expression should evaluate to array");
    let list = value.as_list().ok_or_else(mismatch)?;
    let mut operations = Vec::with_capacity(list.len());
    for operation in list.iter() {
        let operation = operation.map_err(|error| wrong(error.to_string()))?;
        let fields = operation.as_map().ok_or_else(mismatch)?;
        let word = |name: &str| match fields.field(name) {
            Some(Ok(Value::String(text))) => (*text).to_owned(),
            _ => String::new(),
        };
        let mut written = Map::new();
        written.insert("op".to_owned(), json!(word("op")));
        written.insert("path".to_owned(), json!(word("path")));
        let from = word("from");
        if !from.is_empty() {
            written.insert("from".to_owned(), json!(from));
        }
        if let Some(Ok(value)) = fields.field("value") {
            check_names(&value)?;
            let unfit = "JSONPath valueExpression evaluated to a type that could not marshal to JSON";
            let value = value.to_json().map_err(|error| wrong(format!("{unfit}: {error}")))?;
            written.insert("value".to_owned(), value);
        }
        operations.push(Json::Object(written));
    }
    Ok(Json::Array(operations))
}

/// Whether objects are called by the fields that they stand in: in `Object.spec{template: …}` an
/// `Object.spec.template`.
fn check_names(value: &Value<'_>) -> Result<(), Failure> {
    let Some(name) = written_name(value) else { return Ok(()) };
    let mut mismatches = Vec::new();
    look_at_names(value, &name, &mut mismatches);
    if mismatches.is_empty() { Ok(()) } else { Err(wrong(format!("type mismatch: {}", mismatches.join("\n")))) }
}

fn written_name(value: &Value<'_>) -> Option<String> {
    match value.ty() {
        Type::Object(object) => Some(object.name.to_string()),
        _ => None,
    }
}

fn look_at_names(value: &Value<'_>, expected: &str, mismatches: &mut Vec<String>) {
    match value {
        Value::Map(map) => {
            let name = written_name(value);
            if let Some(name) = name.as_deref().filter(|name| *name != expected) {
                mismatches.push(format!(
                    "unexpected type name {name:?}, expected {expected:?}, which matches field name path from root \
                     Object type"
                ));
            }
            for (key, value) in map.entries().unwrap_or_default() {
                match (name.is_some(), key.as_str()) {
                    (true, Some(field)) => look_at_names(&value, &format!("{expected}.{field}"), mismatches),
                    _ => look_at_names(&value, expected, mismatches),
                }
            }
        }
        Value::List(list) => {
            for item in list.iter().filter_map(Result::ok) {
                look_at_names(&item, expected, mismatches);
            }
        }
        _ => {}
    }
}
