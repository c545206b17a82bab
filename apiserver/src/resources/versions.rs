//! Objects between the form they are kept in and the one they are seen in: another version, or what a definition has
//! come to ask of them since they were written.

use super::{Found, Resources, parse};
use crate::catalog::ResourceDef;
use crate::convert;
use crate::custom::{Conversion, Custom};
use crate::error::ApiError;
use crate::object::Object;
use bytes::Bytes;
use serde_json::Value;
use storage::{Revision, Version};

/// What is stored is what is seen.
fn is_as_stored(resource: &ResourceDef, modified: Revision) -> bool {
    resource.is_storage_version() && resource.custom().is_none_or(|custom| modified > custom.since)
}

impl Resources {
    /// A stored object as a version of its resource shows it.
    pub(super) async fn shown(&self, resource: &ResourceDef, version: Version) -> Result<Bytes, ApiError> {
        if is_as_stored(resource, version.modified) {
            return Ok(version.value);
        }
        self.reshaped(resource, &version.value).await
    }

    /// The same for what was stored just now.
    pub(super) async fn shown_new(&self, resource: &ResourceDef, bytes: Bytes) -> Result<Bytes, ApiError> {
        if resource.is_storage_version() {
            return Ok(bytes);
        }
        self.reshaped(resource, &bytes).await
    }

    /// The same for many.
    pub(super) async fn shown_all(
        &self,
        resource: &ResourceDef,
        versions: Vec<Version>,
    ) -> Result<Vec<Bytes>, ApiError> {
        let mut shown = Vec::with_capacity(versions.len());
        for version in versions {
            shown.push(self.shown(resource, version).await?);
        }
        Ok(shown)
    }

    async fn reshaped(&self, resource: &ResourceDef, bytes: &Bytes) -> Result<Bytes, ApiError> {
        let object = self.raised(resource, parse(bytes)?).await?;
        Ok(Value::from(object).to_string().into())
    }

    /// A stored object in the version of the request, as its definition asks now.
    async fn raised(&self, resource: &ResourceDef, object: Object) -> Result<Object, ApiError> {
        let Some(custom) = resource.custom() else { return Ok(convert::from_storage(object, resource)) };
        let mut object = self.converted(custom, object, &resource.api_version()).await?;
        object.as_tree(|tree| {
            custom.schema.prune(tree);
            custom.schema.complete(tree);
        });
        Ok(object)
    }

    /// An object that was found, as those see it who change it. Built-in ones are changed in the form they are kept in.
    pub(super) async fn lifted(&self, resource: &ResourceDef, found: Found) -> Result<Found, ApiError> {
        if resource.custom().is_none() || is_as_stored(resource, found.version.modified) {
            return Ok(found);
        }
        Ok(Found { object: self.raised(resource, found.object).await?, version: found.version })
    }

    /// An object in the version that it is kept in.
    pub(super) async fn lowered(&self, resource: &ResourceDef, object: Object) -> Result<Object, ApiError> {
        match resource.custom() {
            Some(custom) if !resource.is_storage_version() => {
                let stored = format!("{}/{}", resource.stored.group, resource.stored.version);
                self.converted(custom, object, &stored).await
            }
            _ => Ok(object),
        }
    }

    pub(super) async fn converted(&self, custom: &Custom, mut object: Object, api_version: &str) -> Result<Object, ApiError> {
        if object.api_version() == api_version {
            return Ok(object);
        }
        match &custom.conversion {
            Conversion::Rename => {
                object.map_mut().insert("apiVersion".to_owned(), api_version.into());
                Ok(object)
            }
            Conversion::Webhook(_) => Err(ApiError::internal("conversion by webhook is not available")),
        }
    }
}

/// The same for those who cannot wait: an object that cannot be shown is shown as it is stored.
pub(super) fn shown_at_once(resource: &ResourceDef, bytes: Bytes, modified: Revision) -> Bytes {
    if is_as_stored(resource, modified) {
        return bytes;
    }
    let Ok(mut object) = parse(&bytes) else { return bytes };
    match resource.custom() {
        None => object = convert::from_storage(object, resource),
        Some(custom) => {
            object.map_mut().insert("apiVersion".to_owned(), resource.api_version().into());
            object.as_tree(|tree| {
                custom.schema.prune(tree);
                custom.schema.complete(tree);
            });
        }
    }
    Value::from(object).to_string().into()
}
