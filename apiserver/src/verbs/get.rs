//! `GET` of one object.

use crate::api::Api;
use crate::auth::Authorized;
use crate::call::Call;
use crate::error::ApiError;
use crate::media::Offer;
use crate::options;
use crate::place::ObjectRef;
use crate::render::{self, IncludeObject};
use axum::response::Response;
use http::StatusCode;

pub(super) async fn get(api: &Api, at: &Authorized<ObjectRef>, call: &Call) -> Result<Response, ApiError> {
    let form = call.form_of(at.get().resource(), Offer::OBJECTS)?;
    let include = IncludeObject::parse(&call.query)?;
    let revision = call.query.get("resourceVersion").filter(|text| !text.is_empty()).map(options::revision);
    let bytes = match api.workspaces.stands_for(at.get(), at.user()) {
        Some(other) => other.await?,
        None => call.shown(&at.get().within, api.resources.get(at, revision.transpose()?).await?),
    };
    let now = api.resources.ambient().now();
    let bytes = render::object(at.get().resource(), &bytes, form, include, now)?;
    Ok(call.answer(StatusCode::OK, form.encoding, bytes))
}
