//! `GET`, `PUT` and `PATCH` of how many there should be.

use crate::api::Api;
use crate::auth::Authorized;
use crate::call::Call;
use crate::error::ApiError;
use crate::media::Offer;
use crate::options::WriteOptions;
use crate::place::ObjectRef;
use crate::render;
use crate::resources::{PatchBody, PatchKind};
use crate::target::Verb;
use axum::response::Response;
use http::StatusCode;

pub(super) async fn scale(
    api: &Api,
    verb: Verb,
    at: &Authorized<ObjectRef>,
    call: &Call,
) -> Result<Response, ApiError> {
    let form = call.form(Offer::PLAIN)?;
    let scale = match verb {
        Verb::Get => api.resources.scale(at).await?,
        Verb::Update => {
            let options = WriteOptions::parse(&call.query, "UpdateOptions", call.user_agent())?;
            let body = call.object()?;
            api.resources.update_scale(at, &body, &options).await?
        }
        _ => {
            let kind = PatchKind::of_content_type(call.content_type())?;
            let options = WriteOptions::parse(&call.query, "PatchOptions", call.user_agent())?;
            let body = PatchBody { kind, bytes: call.body.clone() };
            api.resources.patch_scale(at, &body, &options).await?
        }
    };
    let bytes = render::tree(&scale, form.encoding)?;
    Ok(call.answer(StatusCode::OK, form.encoding, bytes))
}
