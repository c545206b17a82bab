//! Who owns what in the objects of the catalog.

use super::{Resources, scale};
use crate::catalog::ResourceDef;
use crate::convert;
use crate::custom::Custom;
use crate::managed_fields::{FieldSet, Kind, Schema, Writer};
use crate::object::Object;
use crate::strategy::{self, Part};
use openapi::builtin;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Who made a change.
#[derive(Clone, Copy, Debug)]
pub(super) enum Author<'a> {
    /// Comes to own what is different by it.
    Named(&'a str),
    /// The object names its owners already.
    Settled,
}

/// A kind of the catalog, and somebody who writes an object of it.
pub(super) struct Ownership<'a> {
    kind: &'a str,
    custom: Option<&'a Custom>,
    name: &'a str,
    api_version: String,
    subresource: &'a str,
    reset: FieldSet,
    now: Instant,
}

impl Ownership<'_> {
    pub(super) fn writer(&self) -> Writer<'_> {
        Writer {
            kind: self,
            name: self.name,
            api_version: &self.api_version,
            subresource: self.subresource,
            reset: &self.reset,
            now: self.now,
        }
    }

    /// An object of which nothing is said yet, in the version of the request.
    pub(super) fn nothing(&self) -> Value {
        self.empty(&self.api_version)
    }
}

impl Kind for Ownership<'_> {
    fn schema(&self, api_version: &str) -> Option<Schema<'_>> {
        let Some(custom) = self.custom else { return builtin::kind_in(api_version, self.kind).map(Schema::of_kind) };
        let (group, version) = api_version.split_once('/')?;
        let same_group = self.api_version.split_once('/').is_some_and(|(own, _)| own == group);
        let schema = custom.versions.get(version).filter(|_| same_group)?;
        Some(Schema::of_custom(schema.structural()))
    }

    fn convert<'a>(&self, object: &'a Value, api_version: &str) -> Option<Cow<'a, Value>> {
        if object.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
            return Some(Cow::Borrowed(object));
        }
        self.schema(api_version)?;
        if self.custom.is_some() {
            // Fields are taken to have the same names in all versions, as they have unless a webhook says otherwise.
            let mut object = object.clone();
            object.as_object_mut()?.insert("apiVersion".to_owned(), api_version.into());
            return Some(Cow::Owned(object));
        }
        let object = Object::try_from(object.clone()).ok()?;
        Some(Cow::Owned(convert::convert(object, api_version).into()))
    }

    fn empty(&self, api_version: &str) -> Value {
        let mut empty = json!({ "apiVersion": api_version, "kind": self.kind });
        if let (None, Some(ty)) = (self.custom, builtin::kind_in(api_version, self.kind)) {
            openapi::normalize(&mut empty, ty);
        }
        empty
    }
}

impl Resources {
    /// `name`: of whoever writes.
    pub(super) fn ownership<'a>(&self, resource: &'a ResourceDef, part: Part, name: &'a str) -> Ownership<'a> {
        Ownership {
            kind: &resource.kind,
            custom: resource.custom().map(AsRef::as_ref),
            name,
            api_version: resource.api_version(),
            subresource: part.subresource(),
            reset: strategy::reset_fields(resource, part),
            now: self.inner.ambient.now(),
        }
    }

    /// The same for the small object through which something is scaled.
    pub(super) fn ownership_of_scale<'a>(&self, name: &'a str) -> Ownership<'a> {
        Ownership {
            kind: scale::KIND,
            custom: None,
            name,
            api_version: scale::API_VERSION.to_owned(),
            subresource: "scale",
            reset: FieldSet::of(&[&["status"]]),
            now: self.inner.ambient.now(),
        }
    }

    /// Records in a new object, or a new form of an old one, what its author changed. Both are as they are stored; fields
    /// are named in the version of the request.
    pub(super) fn track(
        &self,
        resource: &ResourceDef,
        part: Part,
        old: Option<&Object>,
        new: &mut Object,
        author: Author<'_>,
    ) {
        let Author::Named(name) = author else { return };
        let ownership = self.ownership(resource, part, name);
        let shown = |object: &Object| Value::from(convert::from_storage(object.clone(), resource));
        let live = old.map_or_else(|| ownership.nothing(), shown);
        if resource.is_storage_version() {
            new.as_tree(|tree| ownership.writer().update(&live, tree));
            return;
        }
        let mut tree = shown(new);
        ownership.writer().update(&live, &mut tree);
        match tree.pointer("/metadata/managedFields") {
            Some(entries) => new.set_metadata("managedFields", entries.clone()),
            None => drop(new.remove_metadata("managedFields")),
        }
    }
}
