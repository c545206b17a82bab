//! What kcp calls things that have to do with shared APIs.

pub(super) const SCHEMAS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha1", "apiresourceschemas");
pub(super) const CONVERSIONS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha1", "apiconversions");
pub(super) const EXPORTS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha2", "apiexports");
pub(super) const BINDINGS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha2", "apibindings");
pub(in crate::tenancy) const SLICES: (&str, &str, &str) = ("apis.kcp.io", "v1alpha1", "apiexportendpointslices");
pub(super) const DEFINITIONS: (&str, &str, &str) = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");

/// The lifecycle of default bindings that are made anew when they are gone.
pub(in crate::tenancy) const MAINTAIN: &str = "Maintain";

/// The version in which decisions are made.
pub(super) const NEWEST: &str = "v1alpha2";

/// Where copies of bound schemas are kept. No path leads there.
pub(super) const VAULT: &str = "system:bound-crds";

/// Holds a binding until no object of what it bound is left.
pub(super) const HELD_BY_OBJECTS: &str = "apis.kcp.io/apibinding-finalizer";

/// Where secrets of identities are, unless somebody says otherwise.
pub(super) const SECRETS_IN: &str = "kcp-system";

/// On an export that wants no slice made for it.
pub(super) const NO_SLICE: &str = "apiexports.apis.kcp.io/skip-endpointslice";

/// On a binding: kinds whose schema has been replaced since they were bound.
pub(super) const EVOLVED: &str = "internal.apis.kcp.io/evolved";

/// On a binding: by which rules kinds are converted, `cowboys.wildwest.dev=hash`.
pub(super) const CONVERTED: &str = "internal.apis.kcp.io/conversions";

/// On a copy of a schema: since when nobody has bound it, in seconds.
pub(super) const UNUSED_SINCE: &str = "internal.apis.kcp.io/unused-since";

/// On a binding: what its export offered when it was last looked at.
pub(super) const OFFERED: &str = "internal.apis.kcp.io/offered";
