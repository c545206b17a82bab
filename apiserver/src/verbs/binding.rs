//! `POST` of a binding: a pod gets its node.

use crate::api::Api;
use crate::auth::Authorized;
use crate::call::Call;
use crate::error::ApiError;
use crate::media::Offer;
use crate::object::Object;
use crate::options::WriteOptions;
use crate::place::{Collection, ObjectRef};
use crate::render;
use axum::response::Response;
use http::StatusCode;
use openapi::builtin;
use serde_json::json;

const KIND: &str = "Binding";

fn read(call: &Call, options: &WriteOptions) -> Result<Object, ApiError> {
    let ty = builtin::kind_in("v1", KIND).ok_or_else(|| ApiError::internal("there is no kind Binding"))?;
    Ok(call.object()?.decode_as("v1", KIND, ty, options.validation)?.object)
}

pub(super) async fn bind(api: &Api, at: &Authorized<ObjectRef>, call: &Call) -> Result<Response, ApiError> {
    let options = WriteOptions::parse(&call.query, "CreateOptions", call.user_agent())?;
    let binding = read(call, &options)?;
    if binding.name() != at.get().name {
        return Err(ApiError::bad_request("name in URL does not match name in Binding object"));
    }
    assign(api, at, &binding, &options, call).await
}

/// The old way: the pod has the name of the binding.
pub(super) async fn bind_named(api: &Api, at: &Authorized<Collection>, call: &Call) -> Result<Response, ApiError> {
    let options = WriteOptions::parse(&call.query, "CreateOptions", call.user_agent())?;
    let binding = read(call, &options)?;
    let pods = api.resources.builtin().find("", "v1", "pods").ok_or_else(ApiError::no_such_path)?.clone();
    let pod = at.clone().narrow(|place| Collection { resource: pods, ..place }.object(binding.name()));
    assign(api, &pod, &binding, &options, call).await
}

async fn assign(
    api: &Api,
    pod: &Authorized<ObjectRef>,
    binding: &Object,
    options: &WriteOptions,
    call: &Call,
) -> Result<Response, ApiError> {
    let form = call.form(Offer::PLAIN)?;
    api.resources.bind(pod, binding, options).await?;
    let told = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    Ok(call.answer(StatusCode::CREATED, form.encoding, render::tree(&told, form.encoding)?))
}
