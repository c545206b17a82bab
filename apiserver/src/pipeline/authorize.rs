//! Whether the user may do it.

use crate::api::Api;
use crate::auth::{Asked, Attributes, Authorized, User, What};
use crate::error::ApiError;
use crate::options::Query;
use crate::place::Workspace;
use crate::selector::FieldSelector;
use crate::target::Target;
use crate::window::Window;
use axum::extract::Request;
use openapi::names;
use std::sync::Arc;

pub(super) async fn authorize(
    api: &Api,
    user: &Arc<User>,
    workspace: Workspace,
    target: Target,
    asked: &Asked,
) -> Result<Authorized<Target>, ApiError> {
    let workspace = deciding(api, &target, workspace);
    api.resources.authorizer().authorize(user, &workspace, target, asked).await
}

/// The same for whoever looks through a window: they may if the rules of its home let them, and those agree whose
/// workspace they look into.
pub(super) fn through(
    api: &Api,
    user: &Arc<User>,
    window: &Window,
    target: Target,
    asked: &Asked,
) -> Result<Authorized<Target>, ApiError> {
    let wanted = Attributes::of(&target, asked);
    let verb = if matches!(wanted.what, What::Path(_)) { "get".to_owned() } else { wanted.verb.to_owned() };
    let called = window.called.attributes(&verb);
    let permitted = api.resources.authorizer().lend(user, (&window.home, &called), target, asked)?;
    window.pane.admits(permitted.get())?;
    // Whoever shares a kind is not limited by itself; others are, when they see what was taken of it.
    let home = permitted.get().resource().and_then(|resource| resource.home());
    if home.is_some_and(|home| home != window.home.as_str()) {
        api.resources.authorizer().limit(user, permitted.get(), asked)?;
    }
    Ok(permitted)
}

/// The workspace whose rules count. What is about the whole server is not for those to decide who rule one workspace
/// of many.
pub(super) fn deciding(api: &Api, target: &Target, workspace: Workspace) -> Workspace {
    if target.is_server_wide() { api.workspaces.find(None).unwrap_or(workspace) } else { workspace }
}

/// What of a request rules may speak of, besides its target.
pub(super) fn asked(request: &Request) -> Asked {
    let (method, path) = (request.method().as_str().to_ascii_lowercase(), request.uri().path().to_owned());
    Asked { method, path, name: selected(request.uri().query().unwrap_or_default()) }
}

/// The only name that is selected, if it can be one.
fn selected(query: &str) -> Option<String> {
    if !query.contains("fieldSelector") {
        return None;
    }
    let fields = FieldSelector::parse(Query::parse(query).get("fieldSelector")?).ok()?;
    let name = fields.exact("metadata.name")?;
    names::path_segment(name).is_empty().then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_selected_if_no_other_can_be() {
        let check = |query: &str, expected: Option<&str>| assert_eq!(selected(query).as_deref(), expected, "{query}");
        check("", None);
        check("watch=1&fieldSelector=metadata.name%3Dweb", Some("web"));
        check("fieldSelector=metadata.name%3Dweb,status.phase%3Dx", Some("web"));
        check("fieldSelector=metadata.name!%3Dweb", None);
        check("fieldSelector=metadata.name%3Da/b", None);
        check("fieldSelector=status.phase%3Dx", None);
        check("fieldSelector=nonsense", None);
    }
}
