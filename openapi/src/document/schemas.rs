//! The schemas of a document: of each type that is reached, and of nothing else.

use serde_json::{Map, Value, json};

use super::described::{Kind, Schema};
use super::descriptions::{self, Texts};
use super::operations::META;
use super::unions;
use crate::builtin::{Element, Field, Form, ListKind, Patch, Type, Unit, kind_in, table};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dialect {
    V2,
    V3,
}

impl Dialect {
    pub(super) fn reference(self, name: &str) -> Value {
        let place = match self {
            Dialect::V2 => "#/definitions/",
            Dialect::V3 => "#/components/schemas/",
        };
        object([("$ref", format!("{place}{name}").into())])
    }
}

/// Schemas by name; what one refers to is added with it.
pub(super) struct Schemas<'a> {
    dialect: Dialect,
    /// The group versions of the document. Kinds that belong to every group version are listed with these.
    api_versions: &'a [&'a str],
    done: Map<String, Value>,
    /// Types that were referred to and are still to be written.
    open: Vec<&'static Type>,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(dialect: Dialect, api_versions: &'a [&'a str]) -> Self {
        Schemas { dialect, api_versions, done: Map::new(), open: Vec::new() }
    }

    pub(super) fn finish(self) -> Map<String, Value> {
        self.done
    }

    pub(super) fn add(&mut self, schema: &Schema<'_>) {
        match schema {
            Schema::Type(ty) => self.add_type(ty),
            Schema::Inline { name, value } => self.add_inline(name, value),
        }
    }

    pub(super) fn add_type(&mut self, ty: &'static Type) {
        self.open.push(ty);
        while let Some(ty) = self.open.pop() {
            let name = ty.model_name();
            if !self.has(&name) {
                let schema = self.write(ty, &name);
                self.done.insert(name, schema);
            }
        }
    }

    /// A kind that every group version has, such as `DeleteOptions`.
    pub(super) fn add_shared(&mut self, kind: &str) {
        self.add_named("v1", kind);
    }

    /// A kind of the table, if it is there.
    pub(super) fn add_named(&mut self, api_version: &str, kind: &str) {
        if let Some(ty) = kind_in(api_version, kind) {
            self.add_type(ty);
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.done.contains_key(name)
    }

    pub(super) fn insert(&mut self, name: String, schema: Value) {
        self.done.insert(name, schema);
    }

    pub(super) fn add_patch(&mut self) {
        self.add_special(&format!("{META}.Patch"), json!({"type": "object"}));
    }

    fn add_special(&mut self, name: &str, mut schema: Value) {
        if self.has(name) {
            return;
        }
        if let Some(text) = descriptions::of(name).and_then(|texts| texts.whole.as_deref()) {
            schema["description"] = text.into();
        }
        self.done.insert(name.to_owned(), schema);
    }

    fn write(&mut self, ty: &'static Type, name: &str) -> Value {
        let texts = descriptions::of(name);
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        if let Some(text) = texts.and_then(|texts| texts.whole.as_deref()) {
            schema.insert("description".to_owned(), text.into());
        }
        let properties: Map<String, Value> =
            ty.json_fields().map(|field| (field.name.to_owned(), self.property(field, texts))).collect();
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), properties.into());
        }
        let mut required = Vec::new();
        collect_required(ty, &mut required);
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        if ty.is_atomic {
            schema.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
        }
        let kinds = self.kinds(ty);
        if !kinds.is_empty() {
            schema.insert(
                "x-kubernetes-group-version-kind".to_owned(),
                kinds.into_iter().map(group_version_kind).collect(),
            );
        }
        if let Some(union) = unions::of(name) {
            schema.insert("x-kubernetes-unions".to_owned(), union);
        }
        schema.into()
    }

    /// The kinds that objects of this type may claim to be.
    fn kinds(&self, ty: &'static Type) -> Vec<Kind<'a>> {
        if !ty.is_kind {
            return Vec::new();
        }
        let own = table().kinds().filter(|(at, _, of)| *at != "meta.k8s.io/v1" && std::ptr::eq(*of, ty));
        let mut kinds: Vec<Kind<'a>> = own.map(|(at, kind, _)| Kind::of(at, kind)).collect();
        let here = ["v1"].into_iter().chain(self.api_versions.iter().copied());
        let shared = here.filter(|at| kind_in(at, ty.name).is_some_and(|of| std::ptr::eq(of, ty)));
        kinds.extend(shared.map(|at| Kind::of(at, ty.name)));
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    fn property(&mut self, field: &'static Field, texts: Option<&Texts>) -> Value {
        let mut schema = match field.form {
            Form::One | Form::Pointer => self.element(field),
            Form::List => object([("type", "array".into()), ("items", self.element(field))]),
            Form::Map => object([("type", "object".into()), ("additionalProperties", self.element(field))]),
        };
        let mut more = Map::new();
        if let Some(text) = texts.and_then(|texts| texts.field(field.name)) {
            more.insert("description".to_owned(), text.into());
        }
        if self.dialect == Dialect::V3
            && let Some(default) = field.published_default()
        {
            more.insert("default".to_owned(), default);
        }
        merging(field, &mut more);
        if self.dialect == Dialect::V3 && schema.get("$ref").is_some() && !more.is_empty() {
            // Beside a reference OpenAPI v3 reads nothing else.
            schema = object([("allOf", vec![schema].into())]);
        }
        if let Value::Object(schema) = &mut schema {
            schema.append(&mut more);
        }
        schema
    }

    /// One value of a field.
    fn element(&mut self, field: &'static Field) -> Value {
        let mut schema = match field.element {
            Element::Struct(id) => {
                self.open.push(id.get());
                return self.dialect.reference(&id.get().model_name());
            }
            Element::String => json!({"type": "string"}),
            Element::Bool => json!({"type": "boolean"}),
            Element::Int32 => json!({"type": "integer", "format": "int32"}),
            Element::Int64 => json!({"type": "integer", "format": "int64"}),
            Element::Float64 => json!({"type": "number", "format": "double"}),
            Element::Bytes => json!({"type": "string", "format": "byte"}),
            Element::Strings => json!({"type": "array", "items": {"type": "string"}}),
            Element::Any => json!({}),
            element => return self.special(element),
        };
        let values: Vec<&str> = field.scalar.into_iter().flat_map(|scalar| scalar.values()).collect();
        if !values.is_empty() {
            schema["enum"] = values.into();
        }
        schema
    }

    /// A type that is written in a way of its own.
    fn special(&mut self, element: Element) -> Value {
        const CRD: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";
        let either = |one: &str, other: &str| match self.dialect {
            Dialect::V2 => json!({"type": "string"}),
            Dialect::V3 => json!({"oneOf": [{"type": one}, {"type": other}]}),
        };
        let (name, schema) = match element {
            Element::Time => (format!("{META}.Time"), json!({"type": "string", "format": "date-time"})),
            Element::MicroTime => (format!("{META}.MicroTime"), json!({"type": "string", "format": "date-time"})),
            Element::FieldsV1 => (format!("{META}.FieldsV1"), json!({"type": "object"})),
            Element::Quantity => {
                ("io.k8s.apimachinery.pkg.api.resource.Quantity".to_owned(), either("string", "number"))
            }
            Element::IntOrString => {
                let mut schema = either("integer", "string");
                schema["format"] = "int-or-string".into();
                ("io.k8s.apimachinery.pkg.util.intstr.IntOrString".to_owned(), schema)
            }
            Element::RawExtension => {
                ("io.k8s.apimachinery.pkg.runtime.RawExtension".to_owned(), json!({"type": "object"}))
            }
            Element::SchemaOrArray => (format!("{CRD}.JSONSchemaPropsOrArray"), json!({})),
            Element::SchemaOrBool => (format!("{CRD}.JSONSchemaPropsOrBool"), json!({})),
            Element::SchemaOrStrings => (format!("{CRD}.JSONSchemaPropsOrStringArray"), json!({})),
            _ => (format!("{CRD}.JSON"), json!({})),
        };
        self.add_special(&name, schema);
        self.dialect.reference(&name)
    }
}

fn collect_required(ty: &'static Type, required: &mut Vec<&'static str>) {
    for field in ty.fields {
        match field.element {
            Element::Struct(id) if field.is_inline() => collect_required(id.get(), required),
            _ if field.required => required.push(field.name),
            _ => {}
        }
    }
}

/// How patches and server-side apply treat a field.
fn merging(field: &Field, more: &mut Map<String, Value>) {
    let mut say = |name: &str, value: Value| more.insert(format!("x-kubernetes-{name}"), value);
    match field.list {
        Some(ListKind::Atomic) => drop(say("list-type", "atomic".into())),
        Some(ListKind::Set) => drop(say("list-type", "set".into())),
        Some(ListKind::Map { keys }) => {
            say("list-type", "map".into());
            say("list-map-keys", keys.iter().collect());
        }
        None => {}
    }
    match field.unit {
        Some(Unit::Atomic) => drop(say("map-type", "atomic".into())),
        Some(Unit::Granular) => drop(say("map-type", "granular".into())),
        None => {}
    }
    let Patch { merge, retain_keys, replace, key } = field.patch;
    let strategies = [(merge, "merge"), (retain_keys, "retainKeys"), (replace, "replace")];
    let strategies: Vec<&str> = strategies.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
    if !strategies.is_empty() {
        say("patch-strategy", strategies.join(",").into());
    }
    if let Some(key) = key {
        say("patch-merge-key", key.into());
    }
}

/// An object out of parts, which are moved: `json!` copies whatever is put into it.
pub(super) fn object<const N: usize>(parts: [(&str, Value); N]) -> Value {
    parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
}

pub(super) fn group_version_kind(kind: Kind<'_>) -> Value {
    json!({"group": kind.group, "version": kind.version, "kind": kind.kind})
}
