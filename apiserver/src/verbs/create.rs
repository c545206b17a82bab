//! `POST` to a collection.

use crate::api::Api;
use crate::auth::Authorized;
use crate::call::{Call, warn};
use crate::error::ApiError;
use crate::media::Form;
use crate::media::Offer;
use crate::options::WriteOptions;
use crate::place::Collection;
use crate::render::{self, IncludeObject};
use crate::resources::{Create, Written};
use axum::response::Response;
use http::StatusCode;

pub(super) async fn create(api: &Api, at: &Authorized<Collection>, call: &Call) -> Result<Response, ApiError> {
    let form = call.form_of(&at.get().resource, Offer::OBJECTS)?;
    let options = WriteOptions::parse(&call.query, "CreateOptions", call.user_agent())?.until(call.deadline);
    let options = options.seeing(call.view(&at.get().resource));
    let request = Create { body: call.object()?, options };
    let written = api.resources.create(at, &request).await?;
    answer(api, call, at.get(), form, &written)
}

/// What a write answers with: the object as it is now, and what its author should know.
pub(super) fn answer(
    api: &Api,
    call: &Call,
    at: &Collection,
    form: Form,
    written: &Written,
) -> Result<Response, ApiError> {
    let code = if written.created { StatusCode::CREATED } else { StatusCode::OK };
    let include = IncludeObject::parse(&call.query)?;
    let bytes = render::object(
        &at.resource,
        &call.shown(at, written.bytes.clone()),
        form,
        include,
        api.resources.ambient().now(),
    )?;
    let mut response = call.answer(code, form.encoding, bytes);
    warn(&mut response, &written.warnings);
    Ok(response)
}
