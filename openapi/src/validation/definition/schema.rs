//! The schema of a version: what of OpenAPI may be said at all, lists and maps, and rules seen from outside.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::embedded_metadata;
use super::super::tree::{Errors, Node};
use super::before::Before;
use super::shape::{self, TYPES, is, text};
use super::structure;
use crate::structural::{Pattern, STEPS_MAX, Structural, validate_presets};

const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Fields that the root may have where the status is a subresource, as Go declares and names them.
const ROOT_FIELDS: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// How the versions are served that have a schema.
pub(super) struct Versioned<'a> {
    pub(super) has_status: bool,
    pub(super) structural: bool,
    pub(super) before: &'a Before<'a>,
}

pub(super) fn validation(errors: &mut Errors, at: &Node, versioned: &Versioned) {
    let root = at.at("openAPIV3Schema");
    let Value::Object(schema) = root.value() else { return };
    let before = errors.len();
    if versioned.has_status {
        root_fields(errors, at, &root, schema);
    }
    if is(schema, "nullable") {
        errors.forbidden(&at.at("openAPIV3Schema.nullable"), "nullable cannot be true at the root");
    }
    let unreadable = shape::unreadable(root.value());
    if versioned.structural && unreadable.is_none() {
        let sound = errors.len();
        structure::structure(errors, &root);
        if errors.len() == sound {
            let structural = Structural::read(root.value());
            let pruned = versioned.before.pruned_defaults;
            errors.extend(validate_presets(structural.root(), &root.path(), pruned, embedded_metadata));
        }
    }
    let mut checker = Checker { errors, before: versioned.before };
    checker.schema(&root, &Context { defaults: Ok(()), inside_meta: false }, true);
    // Everything else that cannot be read is told above.
    if errors.len() == before && versioned.structural && unreadable == Some("$schema") {
        errors.invalid_value(&root, "", "OpenAPIV3Schema 'schema' is not supported");
    }
    if errors.len() == before {
        all_patterns(errors, &root);
    }
}

/// Patterns are compiled and kept: together they must not become too large.
fn all_patterns(errors: &mut Errors, root: &Node) {
    let mut steps = 0_usize;
    shape::any(root.value(), &mut |schema| {
        let pattern = text(schema, "pattern");
        steps = steps.saturating_add(Pattern::steps(pattern).unwrap_or(0));
        steps > STEPS_MAX
    });
    if steps > STEPS_MAX {
        errors.forbidden(root, "patterns are too large to be compiled");
    }
}

fn root_fields(errors: &mut Errors, at: &Node, root: &Node, schema: &Map<String, Value>) {
    let first = ["id", "$schema", "$ref"].iter().any(|name| schema.contains_key(*name));
    let ty = text(schema, "type");
    if !first && !ty.is_empty() && ty != "object" {
        let detail =
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return errors.invalid_value(&at.at("openAPIV3Schema.type"), ty, detail);
    }
    let odd = |(name, value): (&String, &Value)| {
        let nothing = match value {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty(),
            _ => false,
        };
        !nothing && !ROOT_FIELDS.iter().any(|(known, _)| known == name)
    };
    if schema.iter().any(odd) {
        let names: Vec<&str> = ROOT_FIELDS.iter().map(|(_, name)| *name).collect();
        let detail = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            names.join(" ")
        );
        errors.invalid(root, detail);
    }
}

#[derive(Clone, Copy)]
struct Context {
    /// Why there may be no default here.
    defaults: Result<(), Refusal>,
    inside_meta: bool,
}

#[derive(Clone, Copy)]
enum Refusal {
    Additional,
    TopLevel(&'static str),
}

struct Checker<'e, 'b> {
    errors: &'e mut Errors,
    before: &'b Before<'b>,
}

impl Checker<'_, '_> {
    fn schema(&mut self, at: &Node, context: &Context, is_root: bool) {
        let Value::Object(schema) = at.value() else { return };
        self.keywords(at, schema, context);
        self.additional(at, context);
        self.properties(at, schema, context, is_root);
        self.schema(&at.at("not"), context, false);
        for name in ["allOf", "oneOf", "anyOf"] {
            at.at(name).items().for_each(|inner| self.schema(&inner, context, false));
        }
        for (name, _) in at.at("definitions").entries() {
            self.schema(&at.at("definitions").key(name), context, false);
        }
        let items = at.at("items");
        self.schema(&items, context, false);
        items.items().for_each(|inner| self.schema(&inner, context, false));
        for (name, _) in at.at("dependencies").entries() {
            self.schema(&at.at("dependencies").key(name), context, false);
        }
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let place = at.at("x-kubernetes-preserve-unknown-fields");
            self.errors.invalid_value(&place, false, "must be true or undefined");
        }
        self.topology(at, schema);
        self.list_map(at, schema);
        if self.before.proper_keys {
            self.keys(at, schema);
        }
        self.rules(at);
    }

    fn keywords(&mut self, at: &Node, schema: &Map<String, Value>, context: &Context) {
        let ty = text(schema, "type");
        if self.before.valid_types && shape::has_odd_type(schema) {
            self.errors.unsupported(&at.at("type"), &TYPES);
        }
        if at.at("default").exists()
            && let Err(refusal) = context.defaults
        {
            let detail = match refusal {
                Refusal::Additional => {
                    "must not be set inside additionalProperties applying to object metadata".to_owned()
                }
                Refusal::TopLevel(name) => format!("must not be set in top-level {name}"),
            };
            self.errors.forbidden(&at.at("default"), detail);
        }
        let unsupported =
            ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"].into_iter();
        for name in unsupported.filter(|name| schema.get(*name).is_some_and(|value| !value.is_null() && value != "")) {
            let empty = at.at(name).value().as_object().is_some_and(Map::is_empty);
            if !empty || name == "additionalItems" {
                self.errors.forbidden(&at.at(name), format!("{name} is not supported"));
            }
        }
        if ty == "null" {
            self.errors.forbidden(&at.at("type"), "type cannot be set to null, use nullable as an alternative");
        }
        if at.at("items").value().is_array() {
            self.errors.forbidden(&at.at("items"), "items must be a schema object and not an array");
        }
        if context.inside_meta && is(schema, "x-kubernetes-embedded-resource") {
            self.errors.forbidden(&at.at("x-kubernetes-embedded-resource"), "must not be used inside of resource meta");
        }
        if is(schema, "uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.errors.forbidden(&at.at("uniqueItems"), detail);
        }
    }

    fn additional(&mut self, at: &Node, context: &Context) {
        let additional = at.at("additionalProperties");
        if !additional.exists() {
            return;
        }
        if !at.at("properties").is_empty() && !additional.is_true() {
            self.errors.forbidden(&additional, "additionalProperties and properties are mutual exclusive");
        }
        let defaults = if context.inside_meta { Err(Refusal::Additional) } else { context.defaults };
        self.schema(&additional, &Context { defaults, ..*context }, false);
    }

    fn properties(&mut self, at: &Node, schema: &Map<String, Value>, context: &Context, is_root: bool) {
        let properties = at.at("properties");
        let resource = is_root || is(schema, "x-kubernetes-embedded-resource");
        for (name, _) in properties.entries() {
            let mut inner = *context;
            let meta = ["metadata", "kind", "apiVersion"].into_iter().find(|meta| resource && *meta == name);
            if let Some(name) = meta {
                inner.inside_meta = true;
                if is_root {
                    inner.defaults = Err(Refusal::TopLevel(name));
                }
            }
            self.schema(&properties.key(name), &inner, false);
        }
    }

    fn must_be(&mut self, at: &Node, ty: &str, extension: &'static str) -> bool {
        let place = at.at("type");
        if !at.at(extension).exists() || place.is(ty) {
            return true;
        }
        let detail = format!("must be {ty} if {extension} is specified");
        if place.is_empty() {
            self.errors.required(&place, &detail);
        } else {
            self.errors.invalid(&place, detail);
        }
        false
    }

    fn topology(&mut self, at: &Node, schema: &Map<String, Value>) {
        let (map, list) = (at.at("x-kubernetes-map-type"), at.at("x-kubernetes-list-type"));
        self.must_be(at, "object", "x-kubernetes-map-type");
        if map.exists() && !["atomic", "granular"].contains(&map.text()) {
            self.errors.unsupported(&map, &["atomic", "granular"]);
        }
        let proper = self.must_be(at, "array", "x-kubernetes-list-type");
        if proper && self.before.atomic_sets && shape::has_granular_set(schema) {
            let items = at.at("items");
            let (name, shown) = match items.at("type").text() {
                "array" => ("x-kubernetes-list-type", items.at("x-kubernetes-list-type")),
                _ => ("x-kubernetes-map-type", items.at("x-kubernetes-list-type")),
            };
            let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
            self.errors.invalid_value(&items.at(name), shown.value().clone(), detail);
        }
        if list.exists() && !["atomic", "set", "map"].contains(&list.text()) {
            self.errors.unsupported(&list, &["atomic", "set", "map"]);
        }
        if !at.at("x-kubernetes-list-map-keys").is_empty() && !list.is("map") {
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            if list.exists() {
                self.errors.invalid(&list, detail);
            } else {
                self.errors.required(&list, detail);
            }
        }
    }

    fn list_map(&mut self, at: &Node, schema: &Map<String, Value>) {
        if text(schema, "x-kubernetes-list-type") != "map" {
            return;
        }
        let (keys, items) = (at.at("x-kubernetes-list-map-keys"), at.at("items"));
        if keys.is_empty() {
            self.errors.required(&keys, "must not be empty if x-kubernetes-list-type is map");
        }
        if !items.exists() {
            return self.errors.required(&items, "must have a schema if x-kubernetes-list-type is map");
        }
        if !items.value().is_object() {
            return self.errors.invalid(&items, "must only have a single schema if x-kubernetes-list-type is map");
        }
        if !items.at("type").is("object") {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            return self.errors.invalid_value(&items.at("type"), items.at("type").text(), detail);
        }
        let mut seen = HashSet::new();
        for key in keys.texts() {
            let property = items.at("properties").key(key);
            if !property.exists() {
                self.errors.invalid(&keys, "entries must all be names of item properties");
            } else if matches!(property.at("type").text(), "array" | "object") {
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                self.errors.invalid_value(&property.at("type"), "object", detail);
            }
            if !seen.insert(key) {
                self.errors.invalid(&keys, "must not contain duplicate entries");
            }
        }
    }

    /// Items of sets and maps must be there, and be told apart.
    fn keys(&mut self, at: &Node, schema: &Map<String, Value>) {
        let items = at.at("items");
        let list = text(schema, "x-kubernetes-list-type");
        if !items.value().is_object() || !matches!(list, "set" | "map") {
            return;
        }
        if items.at("nullable").is_true() {
            let detail = format!("cannot be nullable when x-kubernetes-list-type is {list}");
            self.errors.forbidden(&items.at("nullable"), detail);
        }
        let required: HashSet<&str> = items.at("required").texts().into_iter().collect();
        for key in at.at("x-kubernetes-list-map-keys").texts().into_iter().filter(|_| list == "map") {
            let property = items.at("properties").key(key);
            if !property.exists() {
                continue;
            }
            let known = "this property is in x-kubernetes-list-map-keys, so it";
            if !required.contains(key) && !property.at("default").exists() {
                let detail = format!("{known} must have a default or be a required property");
                self.errors.required(&property.at("default"), &detail);
            }
            if property.at("nullable").is_true() {
                self.errors.forbidden(&property.at("nullable"), format!("{known} cannot be nullable"));
            }
        }
    }

    fn rules(&mut self, at: &Node) {
        let rules = at.at("x-kubernetes-validations");
        let mut structural = None;
        for rule in rules.items() {
            self.rule(&rule);
            let path = rule.at("fieldPath");
            if path.is_empty() {
                continue;
            }
            if path.text().trim().is_empty() {
                self.errors.invalid(&path, "must be non-empty if specified");
            }
            if has_newline(path.text()) {
                self.errors.invalid(&path, "must not contain line breaks");
            }
            let read = || shape::unreadable(at.value()).is_none().then(|| Structural::read(at.value()));
            let schema = structural.get_or_insert_with(read);
            if schema.as_ref().is_some_and(|schema| schema.root().find(path.text(), true).is_err()) {
                self.errors.invalid(&path, "must be a valid path");
            }
        }
    }

    fn rule(&mut self, rule: &Node) {
        let (text, message, expression) = (rule.at("rule"), rule.at("message"), rule.at("messageExpression"));
        let (trimmed, told) = (text.text().trim(), message.text().trim());
        if trimmed.is_empty() {
            self.errors.required(&text, "rule is not specified");
        } else if !message.is_empty() && told.is_empty() {
            self.errors.invalid(&message, "must be non-empty if specified");
        } else if has_newline(told) {
            self.errors.invalid(&message, "must not contain line breaks");
        } else if has_newline(trimmed) && told.is_empty() {
            self.errors.required(&message, "message must be specified if rule contains line breaks");
        }
        if !expression.is_empty() && expression.text().trim().is_empty() {
            self.errors.required(&expression, "messageExpression must be non-empty if specified");
        }
        let reason = rule.at("reason");
        if reason.exists() && !REASONS.contains(&reason.text()) {
            self.errors.unsupported(&reason, &REASONS);
        }
    }
}

fn has_newline(text: &str) -> bool {
    text.contains(['\n', '\r'])
}
