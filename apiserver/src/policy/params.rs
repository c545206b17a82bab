//! Objects that a binding hands to the expressions of its policy.

use super::compiled::text;
use super::look::{ParamKind, PolicyLook};
use crate::hooks::Ask;
use crate::object::Object;
use crate::selector::LabelSelector;
use serde_json::Value;

/// `paramRef` of a binding.
#[derive(Debug)]
pub(super) struct ParamRef {
    name: String,
    /// Empty: that of the request.
    namespace: String,
    selector: Option<Result<LabelSelector, String>>,
    denies_if_absent: bool,
}

impl ParamRef {
    pub(super) fn read(tree: &Value) -> Self {
        let selector = tree.get("selector").filter(|selector| !selector.is_null());
        Self {
            name: text(tree, "name").to_owned(),
            namespace: text(tree, "namespace").to_owned(),
            selector: selector.map(|given| LabelSelector::from_object(given).map_err(|error| error.to_string())),
            denies_if_absent: text(tree, "parameterNotFoundAction") == "Deny",
        }
    }
}

/// For each of them the expressions are run once: not at all where none is found, and once without any where none is
/// asked for.
pub(super) fn collect(
    kind: Option<&ParamKind>,
    wanted: Option<&ParamRef>,
    ask: &Ask<'_>,
    look: &dyn PolicyLook,
) -> Result<Vec<Option<Object>>, String> {
    let (Some(kind), Some(wanted)) = (kind, wanted) else { return Ok(vec![None]) };
    let namespaced = look.is_namespaced(kind).ok_or_else(|| unknown(kind))?;
    let namespace = match (namespaced, wanted.namespace.as_str(), ask.namespace()) {
        (true, "", "") => {
            return Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources".to_owned()
            );
        }
        (true, "", own) => Some(own),
        (true, given, _) => Some(given),
        (false, "", _) => None,
        (false, ..) => {
            return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned());
        }
    };
    let found = match (&wanted.selector, wanted.name.as_str()) {
        (None, "") => return Err("one of name or selector must be provided".to_owned()),
        (None, name) => look.param(kind, namespace, name).map(|found| found.into_iter().collect::<Vec<_>>()),
        (Some(selector), "") => look.params(kind, namespace, selector.as_ref().map_err(String::clone)?),
        (Some(_), _) => return Err("paramRef.name and paramRef.selector are mutually exclusive".to_owned()),
    };
    let found = found.map_err(|error| error.message().to_owned())?;
    if found.is_empty() && wanted.denies_if_absent {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
    }
    Ok(found.into_iter().map(Some).collect())
}

pub(super) fn unknown(kind: &ParamKind) -> String {
    format!("failed to find resource referenced by paramKind: '{}'", spelled(&kind.api_version, &kind.kind))
}

/// `apps/v1, Kind=Deployment`; the core group is empty: `/v1, Kind=Pod`.
pub(super) fn spelled(api_version: &str, kind: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}, Kind={kind}")
}
