//! The OpenAPI documents of the kinds that are served: version 3, one a group version, and version 2, all in one.
//!
//! A resource goes in as a [`Described`] and comes out as paths (`operations`) and schemas (`schemas`); [`v3`] and
//! [`v2`] do this for the built-in resources, and whoever serves other resources describes them and uses
//! [`v3_of`] and [`v2_of`]. What comes out depends on nothing but what goes in, and is the same bytes each time.

mod described;
mod descriptions;
mod gnostic;
mod inline;
mod operations;
mod parameters;
mod publish;
mod render;
mod schemas;
mod unions;
mod whole;

use serde_json::Value;

pub use described::{Described, Exchange, Kind, Part, Schema};
pub use gnostic::encode as v2_protobuf;
pub use publish::{Version, published};
pub use whole::Whole;

use crate::builtin::table;

/// The group versions that have a document of version 3, as `apiVersion`s.
pub fn v3_paths() -> Vec<&'static str> {
    let mut found: Vec<&str> = Vec::new();
    for resource in &table().resources {
        if !found.contains(&resource.package.api_version) {
            found.push(resource.package.api_version);
        }
    }
    found
}

/// The document of a group version of built-in kinds, in JSON; `None` where it has none.
pub fn v3(api_version: &str) -> Option<Vec<u8>> {
    let described = described::builtin(api_version);
    (!described.is_empty()).then(|| text(&v3_of(api_version, &described)))
}

/// The document of all built-in kinds, in JSON.
pub fn v2() -> Vec<u8> {
    text(&v2_tree())
}

/// The document of all built-in kinds, as [`v2_protobuf`] takes it.
pub fn v2_tree() -> Value {
    let described: Vec<_> = v3_paths().into_iter().flat_map(described::builtin).collect();
    v2_of(&described)
}

/// The document of one group version, `apps/v1` say.
pub fn v3_of(api_version: &str, described: &[Described<'_>]) -> Value {
    render::v3(api_version, described)
}

/// The document of resources of any group versions.
pub fn v2_of(described: &[Described<'_>]) -> Value {
    render::v2(described)
}

fn text(document: &Value) -> Vec<u8> {
    // Trees of JSON have a text, always.
    serde_json::to_vec(document).unwrap_or_default()
}

#[cfg(test)]
mod tests;
