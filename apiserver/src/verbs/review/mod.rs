//! `POST` of a question: it is answered and not kept.

mod access;

use crate::api::Api;
use crate::auth::Authorized;
use crate::authn::Bearer;
use crate::body::Decoded;
use crate::call::Call;
use crate::error::ApiError;
use crate::media::Offer;
use crate::object::{Object, timestamp};
use crate::options::WriteOptions;
use crate::place::{Collection, ObjectRef, Workspace};
use crate::render;
use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

pub(super) async fn review(api: &Api, at: &Authorized<Collection>, call: &Call) -> Result<Response, ApiError> {
    let form = call.form(Offer::PLAIN)?;
    let options = WriteOptions::parse(&call.query, "CreateOptions", call.user_agent())?.until(call.deadline);
    let resource = &at.get().resource;
    let Decoded { mut object, .. } = call.object()?.decode(resource, options.validation)?;
    let status = match &*resource.plural {
        "selfsubjectreviews" => {
            let now = timestamp(api.resources.ambient().now());
            object.map_mut().insert("metadata".to_owned(), json!({ "creationTimestamp": now }));
            json!({ "userInfo": at.user().told() })
        }
        "tokenreviews" => token_review(api, &at.get().workspace, &object).await?,
        "selfsubjectrulesreviews" => {
            let status = access::rules(&api.resources, at, &object)?;
            // What was asked is not told again.
            object.map_mut().insert("spec".to_owned(), json!({}));
            status
        }
        "selfsubjectaccessreviews" | "subjectaccessreviews" | "localsubjectaccessreviews" => {
            access::review(&api.resources, at, &mut object).await?
        }
        _ => return Err(ApiError::method_not_supported(resource, "create")),
    };
    object.map_mut().insert("status".to_owned(), status);
    let mut tree = Value::from(object);
    if let Some(ty) = resource.stored_type() {
        openapi::normalize(&mut tree, ty);
    }
    let bytes = render::tree(&tree, form.encoding)?;
    Ok(call.answer(StatusCode::CREATED, form.encoding, bytes))
}

/// `POST` to the `token` of a service account.
pub(super) async fn token(api: &Api, at: &Authorized<ObjectRef>, call: &Call) -> Result<Response, ApiError> {
    let form = call.form(Offer::PLAIN)?;
    let body = call.object()?;
    let answer = api.resources.token(at, &body, &api.tokens).await?;
    let bytes = render::tree(&answer, form.encoding)?;
    Ok(call.answer(StatusCode::CREATED, form.encoding, bytes))
}

async fn token_review(api: &Api, workspace: &Workspace, review: &Object) -> Result<Value, ApiError> {
    let token = review.text(&["spec", "token"]);
    if token.is_empty() {
        return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
    }
    let asked: Vec<String> =
        review.items(&["spec", "audiences"]).filter_map(Value::as_str).map(str::to_owned).collect();
    let wanted = if asked.is_empty() { api.tokens.audiences() } else { &asked };
    let found = api.bearer(token, workspace).await.and_then(|Bearer { user, audiences }| {
        // Who vouches for a token without saying whom it is for does so for this server.
        let meant = audiences.unwrap_or_else(|| api.tokens.audiences().to_vec());
        let shared: Vec<String> = meant.into_iter().filter(|name| wanted.contains(name)).collect();
        (!shared.is_empty()).then_some((user, shared))
    });
    Ok(match found {
        Some((user, audiences)) => {
            json!({ "authenticated": true, "user": user.told(), "audiences": audiences })
        }
        None => json!({ "user": {}, "error": "invalid bearer token" }),
    })
}
