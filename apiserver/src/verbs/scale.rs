//! `GET`, `PUT` and `PATCH` of how many there should be.

use crate::api::Api;
use crate::auth::Authorized;
use crate::body::Body;
use crate::call::{Call, warn};
use crate::error::ApiError;
use crate::media::Offer;
use crate::options::WriteOptions;
use crate::place::ObjectRef;
use crate::render;
use crate::resources::{PatchBody, PatchKind, Scaled};
use crate::target::Verb;
use axum::response::Response;
use http::StatusCode;
use serde_json::Value;

pub(super) async fn scale(
    api: &Api,
    verb: Verb,
    at: &Authorized<ObjectRef>,
    call: &Call,
) -> Result<Response, ApiError> {
    let form = call.form(Offer::PLAIN)?;
    let Scaled { scale, warnings } = match verb {
        Verb::Get => Scaled { scale: api.resources.scale(at).await?, warnings: Vec::new() },
        Verb::Update => {
            let options = WriteOptions::parse(&call.query, "UpdateOptions", call.user_agent())?.until(call.deadline);
            let body = call.object()?;
            is_of(at.get(), &body)?;
            api.resources.update_scale(at, &body, &options).await?
        }
        _ => {
            let kind = PatchKind::of_content_type(call.content_type())?;
            let options = WriteOptions::parse_patch(&call.query, kind == PatchKind::Apply, call.user_agent())?
                .until(call.deadline);
            let body = PatchBody { kind, bytes: call.body.clone() };
            api.resources.patch_scale(at, &body, &options).await?
        }
    };
    let bytes = render::tree(&scale, form.encoding)?;
    let mut response = call.answer(StatusCode::OK, form.encoding, bytes);
    warn(&mut response, &warnings);
    Ok(response)
}

/// A body that names another object than the path was meant for that one. What cannot be read is refused later.
fn is_of(at: &ObjectRef, body: &Body) -> Result<(), ApiError> {
    let tree = body.tree().unwrap_or_default();
    let named = tree.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if named.is_empty() || named == at.name {
        return Ok(());
    }
    let why = format!("the name of the object ({named}) does not match the name on the URL ({})", at.name);
    Err(ApiError::bad_request(why))
}
