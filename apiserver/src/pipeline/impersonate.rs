//! Acting as somebody else, for those who may.

use super::authorize::{asked, deciding};
use crate::api::Api;
use crate::auth::impersonation::{Wanted, become_other};
use crate::auth::{Attributes, MASTERS, User};
use crate::error::ApiError;
use crate::place::Workspace;
use crate::target::Target;
use axum::extract::Request;
use http::header::{HeaderMap, HeaderName};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) async fn impersonate(
    api: &Api,
    user: Arc<User>,
    workspace: &Workspace,
    target: &Target,
    request: &mut Request,
) -> Result<Arc<User>, ApiError> {
    let wanted = Wanted::read(request.headers()).map_err(|nameless| ApiError::bad_request(nameless.to_string()))?;
    let Some(wanted) = wanted else { return Ok(user) };
    let workspace = deciding(api, target, workspace.clone());
    let other = acting(api, &user, &wanted, &workspace, &Attributes::of(target, &asked(request))).await?;
    tracing::debug!(user = user.name, other = other.name, "acts as somebody else");
    forget(request.headers_mut());
    Ok(Arc::new(other))
}

/// Who the user is now. Whoever decides is asked one question after another, and what follows from the answers is found
/// out anew each time.
async fn acting(
    api: &Api,
    user: &User,
    wanted: &Wanted,
    workspace: &Workspace,
    request: &Attributes<'_>,
) -> Result<User, ApiError> {
    let authorizer = api.resources.authorizer();
    let mut known: HashMap<String, bool> = HashMap::new();
    let other = loop {
        let open = Mutex::new(Vec::new());
        let tried = become_other(user, wanted, request, &|about| {
            let Err(refused) = authorizer.check(user, workspace, about) else { return Ok(()) };
            let Some(question) = authorizer.question(user, workspace, about) else { return Err(refused) };
            match known.get(&question.spec.to_string()) {
                Some(true) => return Ok(()),
                Some(false) => {}
                None => open.lock().push(question),
            }
            Err(refused)
        });
        let open = open.into_inner();
        if open.is_empty() || tried.is_ok() {
            break tried?;
        }
        for question in open {
            let allowed = authorizer.answer(&question).await?.is_allowed();
            known.insert(question.spec.to_string(), allowed);
        }
    };
    // The rules of one workspace cannot make anybody somebody in another. Masters are that everywhere.
    let everywhere = user.is_in(MASTERS) && user.within.is_none();
    Ok(User { within: (!everywhere).then(|| workspace.clone()), foreign: user.foreign, ..other })
}

/// Nobody further in should mind that it is not really them.
fn forget(headers: &mut HeaderMap) {
    let named = |name: &HeaderName| name.as_str().starts_with("impersonate-");
    let names: Vec<HeaderName> = headers.keys().filter(|name| named(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}
