//! What policies look up.

use crate::error::ApiError;
use crate::object::Object;
use crate::selector::LabelSelector;

/// A kind of objects that policies are given as params.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamKind {
    pub api_version: String,
    pub kind: String,
}

/// What policies look up in the workspace of a request.
pub trait PolicyLook {
    /// The object of a namespace, or why there is none.
    fn namespace(&self, name: &str) -> Result<Object, ApiError>;

    /// Whether objects of a kind are in namespaces. `None`: the kind is not served.
    fn is_namespaced(&self, kind: &ParamKind) -> Option<bool>;

    /// An object by its name, in a namespace if its kind is in namespaces.
    fn param(&self, kind: &ParamKind, namespace: Option<&str>, name: &str) -> Result<Option<Object>, ApiError>;

    /// The objects that are selected, by their names.
    fn params(
        &self,
        kind: &ParamKind,
        namespace: Option<&str>,
        selector: &LabelSelector,
    ) -> Result<Vec<Object>, ApiError>;
}
