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
    let permitted = api.resources.authorizer().authorize(user, &workspace, target, asked).await?;
    api.resources.must_answer(&workspace, permitted.get())?;
    Ok(permitted)
}

/// The same for whoever looks through a window: they may if the rules of its home let them, and those agree whose
/// workspace they look into.
pub(super) fn through(
    api: &Api,
    user: &Arc<User>,
    window: &mut Window,
    target: Target,
    asked: &Asked,
) -> Result<Authorized<Target>, ApiError> {
    let wanted = Attributes::of(&target, asked);
    let verb = if matches!(wanted.what, What::Path(_)) { "get".to_owned() } else { wanted.verb.to_owned() };
    let (called, mut narrower) = (window.called.attributes(&verb), None);
    let permitted = api.resources.authorizer().lend(user, (&window.home, &called), target, asked, |target| {
        narrower = window.pane.narrowed(window, user, target);
        narrower.is_some()
    })?;
    if let Some(narrower) = narrower {
        *window = narrower;
    }
    window.pane.admits(permitted.get())?;
    api.resources.must_answer(&window.onto, permitted.get())?;
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
    let (fields, labels) = selectors(request.uri().query().unwrap_or_default());
    Asked { method, path, name: selected(&fields), fields, labels }
}

/// Those of fields and of labels. Whatever other servers might pass over, behind which are more objects than it seems,
/// selects nothing in particular.
fn selectors(query: &str) -> (String, String) {
    if !query.contains("Selector") || !is_read_by_all(query) {
        return (String::new(), String::new());
    }
    let query = Query::parse(query);
    let written = |name: &str| query.get(name).unwrap_or_default().to_owned();
    (written("fieldSelector"), written("labelSelector"))
}

/// Go drops the parameters in which there is a semicolon, or a percent sign that begins no byte.
fn is_read_by_all(query: &str) -> bool {
    let is_byte = |after: &str| after.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    !query.contains(';') && query.split('%').skip(1).all(is_byte)
}

/// The only name that is selected, if it can be one.
fn selected(fields: &str) -> Option<String> {
    if fields.is_empty() {
        return None;
    }
    let fields = FieldSelector::parse(fields).ok()?;
    let name = fields.exact("metadata.name")?;
    names::path_segment(name).is_empty().then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_selected_if_no_other_can_be() {
        let check = |query: &str, expected: Option<&str>| {
            assert_eq!(selected(&selectors(query).0).as_deref(), expected, "{query}")
        };
        check("", None);
        check("watch=1&fieldSelector=metadata.name%3Dweb", Some("web"));
        check("fieldSelector=metadata.name%3Dweb,status.phase%3Dx", Some("web"));
        check("fieldSelector=metadata.name!%3Dweb", None);
        check("fieldSelector=metadata.name%3Da/b", None);
        check("fieldSelector=status.phase%3Dx", None);
        check("fieldSelector=nonsense", None);
    }

    #[test]
    fn the_first_selector_of_each_sort_counts_unless_others_would_not_see_it() {
        let check = |query: &str, fields: &str, labels: &str| {
            assert_eq!(selectors(query), (fields.to_owned(), labels.to_owned()), "{query}");
        };
        check("", "", "");
        check("limit=500&watch=true", "", "");
        check("fieldSelector=metadata.name%3Dx&labelSelector=a%3Db&limit=500", "metadata.name=x", "a=b");
        check("labelSelector=a+in+(b,c)", "", "a in (b,c)");
        check("labelSelector=a&labelSelector=b", "", "a");
        for passed_over in
            ["fieldSelector=a%3Db,c!%3D%zz", "fieldSelector=a%3Db;", "labelSelector=a%3", "labelSelector=a%"]
        {
            check(passed_over, "", "");
        }
    }
}
