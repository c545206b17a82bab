//! `GET` of a collection.

use crate::api::Api;
use crate::auth::Authorized;
use crate::call::Call;
use crate::error::ApiError;
use crate::fairness::Listed;
use crate::media::Offer;
use crate::place::Collection;
use crate::render::{self, IncludeObject};
use axum::response::Response;
use http::StatusCode;

pub(super) async fn list(api: &Api, at: &Authorized<Collection>, call: &Call) -> Result<Response, ApiError> {
    let form = call.form_of(&at.get().resource, Offer::OBJECTS)?;
    let include = IncludeObject::parse(&call.query)?;
    let page = api.resources.list(at, call.list_options(&at.get().resource, false)?).await?;
    let chunks = render::list(&at.get().resource, &page, form, include, api.resources.ambient().now())?;
    let mut response = call.send(StatusCode::OK, form.encoding.media_type(), chunks);
    response.extensions_mut().insert(Listed { sent: page.items.len(), more: page.next.is_some() });
    Ok(response)
}
