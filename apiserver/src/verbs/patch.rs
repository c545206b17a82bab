//! `PATCH` of an object or a part of it.

use super::create::answer;
use crate::api::Api;
use crate::auth::Authorized;
use crate::call::Call;
use crate::error::ApiError;
use crate::media::Offer;
use crate::options::WriteOptions;
use crate::place::ObjectRef;
use crate::resources::{PatchBody, PatchKind};
use crate::strategy::Part;
use axum::response::Response;

pub(super) async fn patch(
    api: &Api,
    at: &Authorized<ObjectRef>,
    subresource: Option<&str>,
    call: &Call,
) -> Result<Response, ApiError> {
    let part = Part::of_subresource(subresource).ok_or_else(ApiError::no_such_path)?;
    let form = call.form_of(at.get().resource(), Offer::OBJECTS)?;
    let kind = PatchKind::of_content_type(call.content_type())?;
    let options =
        WriteOptions::parse_patch(&call.query, kind == PatchKind::Apply, call.user_agent())?.until(call.deadline);
    let options = options.seeing(call.view(at.get().resource()));
    let body = PatchBody { kind, bytes: call.body.clone() };
    let written = api.resources.patch(at, part, &body, &options).await?;
    answer(api, call, &at.get().within, form, &written)
}
