//! Everything of a workspace as it is kept, for those who take it elsewhere. Masters only: nothing that is written here
//! is held to any rule.

use crate::api::Api;
use crate::auth::Authorized;
use crate::call::Call;
use crate::error::ApiError;
use crate::media::Encoding;
use crate::place::Workspace;
use crate::resources::ContentPage;
use axum::response::Response;
use http::{Method, StatusCode};
use serde_json::json;

pub(super) async fn answer(api: &Api, at: &Authorized<Workspace>, call: &Call) -> Result<Response, ApiError> {
    if !at.user().is_master() {
        return Err(ApiError::forbidden_path(call.uri.path(), "only masters take workspaces elsewhere;"));
    }
    let text = if call.method == Method::POST {
        let page: ContentPage = serde_json::from_slice(&call.body)
            .map_err(|error| ApiError::bad_request(format!("the page cannot be read: {error}")))?;
        json!({ "kept": api.resources.plant(at.get(), &page).await? }).to_string()
    } else {
        let revision = call.query.get("revision").map(crate::options::revision).transpose()?;
        let page = api.resources.content(at.get(), revision, call.query.get("continue")).await?;
        serde_json::to_string(&page).map_err(|error| ApiError::internal(error.to_string()))?
    };
    Ok(call.answer(StatusCode::OK, Encoding::Json, text.into()))
}
