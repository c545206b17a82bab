//! What hooks have to know of kinds: in which versions a resource is served, and what its objects look like in them.

use super::Later;
use crate::body::Body;
use crate::catalog::{Catalog, ResourceDef};
use crate::convert;
use crate::object::Object;
use crate::options::FieldValidation;
use openapi::builtin;
use serde_json::Value;
use std::sync::Arc;

pub trait Versions: Send + Sync {
    /// The resource in all versions that show the same objects, those of other groups included.
    fn of(&self, resource: &ResourceDef) -> Vec<Arc<ResourceDef>>;

    /// The object in another version; the error is told to the client.
    fn convert<'a>(&'a self, object: Object, to: &'a ResourceDef) -> Later<'a, Result<Object, String>>;

    /// An object that a hook has changed, as an object of its kind: without what the kind does not know, with defaults.
    fn settle(&self, object: Object, api_version: &str, kind: &str) -> Result<Object, String>;
}

impl Versions for Catalog {
    fn of(&self, resource: &ResourceDef) -> Vec<Arc<ResourceDef>> {
        let all = self.groups().iter().flat_map(|group| &group.versions).flat_map(|version| &version.resources);
        let same = |other: &&Arc<ResourceDef>| {
            other.stored.group == resource.stored.group && other.stored.plural == resource.stored.plural
        };
        all.filter(same).cloned().collect()
    }

    fn convert<'a>(&'a self, object: Object, to: &'a ResourceDef) -> Later<'a, Result<Object, String>> {
        Box::pin(async { Ok(convert::convert(object, &to.api_version())) })
    }

    fn settle(&self, object: Object, api_version: &str, kind: &str) -> Result<Object, String> {
        let Some(ty) = builtin::kind_in(api_version, kind) else { return Ok(object) };
        let body = Body::Tree(Value::from(object));
        let decoded = body.decode_as(api_version, kind, ty, FieldValidation::Ignore);
        let mut object = decoded.map_err(|error| error.to_string())?.object;
        object.as_tree(|tree| {
            openapi::defaults::apply(tree, ty);
            openapi::normalize(tree, ty);
        });
        Ok(object)
    }
}
