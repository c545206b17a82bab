//! What is documented: a resource with its names, verbs and schemas. Built-in resources are one source of it.

use serde_json::Value;

use crate::builtin::{self, Resource, Subresource, Type, table};

/// Built-in kinds that a DELETE answers with the deleted object; all others are answered with a `Status`.
const RETURNED_WHEN_DELETED: [&str; 16] = [
    "CSIDriver",
    "CSINode",
    "DeviceClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodTemplate",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceQuota",
    "ResourceSlice",
    "Service",
    "ServiceAccount",
    "StorageClass",
    "VolumeAttachment",
    "VolumeAttributesClass",
];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Kind<'a> {
    /// Empty for the core group.
    pub group: &'a str,
    pub version: &'a str,
    pub kind: &'a str,
}

impl<'a> Kind<'a> {
    pub fn of(api_version: &'a str, kind: &'a str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Kind { group, version, kind }
    }
}

/// What an object looks like.
#[derive(Clone, Copy, Debug)]
pub enum Schema<'a> {
    /// A type of the table.
    Type(&'static Type),
    /// A finished OpenAPI v3 schema, published as `name`. References in it may only name types of the table.
    Inline { name: &'a str, value: &'a Value },
}

impl Schema<'_> {
    /// The name under which the schema is published.
    pub fn name(&self) -> String {
        match self {
            Schema::Type(ty) => ty.model_name(),
            Schema::Inline { name, .. } => (*name).to_owned(),
        }
    }
}

/// A resource of one group version.
#[derive(Clone, Debug)]
pub struct Described<'a> {
    pub kind: Kind<'a>,
    pub plural: &'a str,
    pub namespaced: bool,
    /// As discovery has them.
    pub verbs: Vec<&'a str>,
    pub schema: Schema<'a>,
    /// Strategic merge patches are understood, and protobuf is.
    pub builtin: bool,
    pub returned_when_deleted: bool,
    pub subresources: Vec<Part<'a>>,
}

/// A subresource.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    pub name: &'a str,
    pub kind: Kind<'a>,
    pub verbs: Vec<&'a str>,
    pub exchange: Exchange<'a>,
}

/// What goes to and fro at a subresource.
#[derive(Clone, Copy, Debug)]
pub enum Exchange<'a> {
    Objects(Schema<'a>),
    /// Plain text, told what to show by query parameters.
    Text {
        options: &'static Type,
    },
    /// Whatever the other end speaks; the query parameters say to whom.
    Connection {
        options: &'static Type,
    },
}

/// The built-in resources of a group version, in the order of discovery.
pub(super) fn builtin(api_version: &str) -> Vec<Described<'static>> {
    table()
        .resources
        .iter()
        .filter(|resource| resource.package.api_version == api_version)
        .filter_map(resource)
        .collect()
}

fn resource(resource: &'static Resource) -> Option<Described<'static>> {
    let api_version = resource.package.api_version;
    let schema = Schema::Type(builtin::kind_in(api_version, resource.kind)?);
    let kind = Kind::of(api_version, resource.kind);
    Some(Described {
        kind,
        plural: resource.plural,
        namespaced: resource.namespaced,
        verbs: resource.verbs().collect(),
        schema,
        builtin: true,
        returned_when_deleted: RETURNED_WHEN_DELETED.contains(&resource.kind),
        subresources: resource.subresources.iter().filter_map(|part| subresource(part, kind, schema)).collect(),
    })
}

fn subresource(part: &'static Subresource, parent: Kind<'static>, schema: Schema<'static>) -> Option<Part<'static>> {
    let options = part.kind.filter(|(_, kind)| kind.ends_with("Options"));
    let exchange = match (options, part.kind) {
        (Some((at, kind)), _) => Exchange::Connection { options: builtin::kind_in(at, kind)? },
        (None, Some((at, kind))) => Exchange::Objects(Schema::Type(builtin::kind_in(at, kind)?)),
        (None, None) if part.name == "log" => Exchange::Text { options: builtin::kind_in("v1", "PodLogOptions")? },
        (None, None) => Exchange::Objects(schema),
    };
    let kind = part.kind.map_or(parent, |(at, kind)| Kind::of(at, kind));
    Some(Part { name: part.name, kind, verbs: part.verbs().collect(), exchange })
}
