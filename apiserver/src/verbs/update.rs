//! `PUT` of an object or a part of it.

use super::create::answer;
use crate::api::Api;
use crate::auth::Authorized;
use crate::call::Call;
use crate::error::ApiError;
use crate::media::Offer;
use crate::options::WriteOptions;
use crate::place::ObjectRef;
use crate::resources::Create;
use crate::strategy::Part;
use axum::response::Response;

pub(super) async fn update(
    api: &Api,
    at: &Authorized<ObjectRef>,
    subresource: Option<&str>,
    call: &Call,
) -> Result<Response, ApiError> {
    let part = Part::of_subresource(subresource).ok_or_else(ApiError::no_such_path)?;
    let form = call.form_of(at.get().resource(), Offer::OBJECTS)?;
    let options = WriteOptions::parse(&call.query, "UpdateOptions", call.user_agent())?.until(call.deadline);
    let options = options.seeing(call.view(at.get().resource()));
    let request = Create { body: call.object()?, options };
    let written = api.resources.update(at, part, &request).await?;
    answer(api, call, &at.get().within, form, &written)
}
