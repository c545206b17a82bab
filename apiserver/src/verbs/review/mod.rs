//! `POST` of a question: it is answered and not kept.

mod access;

use crate::api::Api;
use crate::auth::{Authorized, User};
use crate::body::Decoded;
use crate::call::Call;
use crate::error::ApiError;
use crate::media::Offer;
use crate::object::Object;
use crate::options::WriteOptions;
use crate::place::{Collection, ObjectRef};
use crate::render;
use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

pub(super) async fn review(api: &Api, at: &Authorized<Collection>, call: &Call) -> Result<Response, ApiError> {
    let form = call.form(Offer::PLAIN)?;
    let options = WriteOptions::parse(&call.query, "CreateOptions", call.user_agent())?;
    let resource = &at.get().resource;
    let Decoded { mut object, .. } = call.object()?.decode(resource, options.validation)?;
    let status = match &*resource.plural {
        "selfsubjectreviews" => json!({ "userInfo": described(at.user()) }),
        "tokenreviews" => token_review(api, &object)?,
        "selfsubjectrulesreviews" => {
            let status = access::rules(&api.resources, at, &object)?;
            // What was asked is not told again.
            object.map_mut().insert("spec".to_owned(), json!({}));
            status
        }
        "selfsubjectaccessreviews" | "subjectaccessreviews" | "localsubjectaccessreviews" => {
            access::review(&api.resources, at, &mut object)?
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

fn described(user: &User) -> Value {
    let mut told = json!({ "username": user.name, "groups": user.groups });
    if !user.uid.is_empty() {
        told["uid"] = user.uid.as_str().into();
    }
    if !user.extra.is_empty() {
        told["extra"] = json!(user.extra);
    }
    told
}

fn token_review(api: &Api, review: &Object) -> Result<Value, ApiError> {
    let token = review.text(&["spec", "token"]);
    if token.is_empty() {
        return Err(ApiError::bad_request("token is required for TokenReview in authentication"));
    }
    let asked = review.pointer(&["spec", "audiences"]).and_then(Value::as_array);
    let asked: Vec<&str> = asked.into_iter().flatten().filter_map(Value::as_str).collect();
    let found = api.resources.user_of_token(token, &api.tokens).and_then(|(user, audiences)| {
        let own = api.tokens.audiences();
        let meant = |name: &&String| if asked.is_empty() { own.contains(name) } else { asked.contains(&name.as_str()) };
        let shared: Vec<String> = audiences.iter().filter(meant).cloned().collect();
        (!shared.is_empty()).then_some((user, shared))
    });
    Ok(match found {
        Some((user, audiences)) => {
            json!({ "authenticated": true, "user": described(&user), "audiences": audiences })
        }
        None => json!({ "user": {}, "error": "invalid bearer token" }),
    })
}
