//! Writing what is computed: the write goes to the object that it is made of, and the answer says what becomes of it.
//!
//! Both have the same name, and who may write the one may write the other by it: they are two faces of one thing.

use super::{create, delete, patch};
use crate::api::Api;
use crate::auth::Authorized;
use crate::call::Call;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::place::{Collection, ObjectRef};
use crate::target::Verb;
use axum::response::Response;
use bytes::Bytes;
use http::header::{self, HeaderValue};
use http_body_util::{BodyExt, Limited};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// JSON that is longer is nothing that was written just now.
const ANSWER_BYTES_MAX: usize = 16 << 20;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// What of the metadata is its author's.
const OF_THE_AUTHOR: [&str; 6] = ["name", "labels", "annotations", "finalizers", "ownerReferences", "resourceVersion"];

pub(super) fn is_kept_elsewhere(resource: &ResourceDef) -> bool {
    resource.written_as().is_some()
}

pub(super) async fn create(api: &Api, at: &Authorized<Collection>, call: &Call) -> Result<Response, ApiError> {
    let shown = at.get().resource.clone();
    let kept = kept(api, at.get())?;
    let body = call.object()?.tree()?;
    let call = call_about(call, JSON, said(api, &shown, &kept, body).to_string().into());
    let at = at.clone().narrow(|_| kept);
    shown_as(api, &shown, &call, create::create(api, &at, &call).await?).await
}

pub(super) async fn write(
    api: &Api,
    verb: Verb,
    at: &Authorized<ObjectRef>,
    call: &Call,
) -> Result<Response, ApiError> {
    let shown = at.get().resource().clone();
    let kept = kept(api, &at.get().within)?;
    let about = match verb {
        Verb::Update => {
            let now: Value = serde_json::from_slice(&api.resources.get(at, None).await?).unwrap_or_default();
            let wanted = call.object()?.tree()?;
            let mut change = difference(&now, &wanted);
            if let Some(seen) = wanted.pointer("/metadata/resourceVersion") {
                change["metadata"]["resourceVersion"] = seen.clone();
            }
            call_about(call, MERGE, said(api, &shown, &kept, change).to_string().into())
        }
        Verb::Patch => match serde_json::from_slice::<Value>(&call.body) {
            Ok(tree) if tree.is_object() => {
                let content_type = call.content_type().unwrap_or(MERGE);
                call_about(call, content_type, said(api, &shown, &kept, tree).to_string().into())
            }
            _ => call_about(call, call.content_type().unwrap_or(MERGE), call.body.clone()),
        },
        _ => call_about(call, JSON, call.body.clone()),
    };
    let at = at.clone().narrow(|object| kept.object(&object.name));
    let answer = match verb {
        Verb::Update | Verb::Patch => patch::patch(api, &at, None, &about).await?,
        Verb::Delete => delete::delete(api, &at, &about).await?,
        other => return Err(ApiError::method_not_supported(&shown, other.word())),
    };
    shown_as(api, &shown, &about, answer).await
}

/// Where the objects are that a collection is made of.
fn kept(api: &Api, at: &Collection) -> Result<Collection, ApiError> {
    let (plural, group) = at.resource.written_as().and_then(|name| name.split_once('.')).unwrap_or_default();
    let resource = api.resources.stored_as(&at.workspace, (group, plural)).ok_or_else(ApiError::no_such_path)?;
    Ok(Collection { resource, ..at.clone() })
}

/// What an author says, as it is said of what is kept.
fn said(api: &Api, shown: &ResourceDef, kept: &Collection, mut body: Value) -> Value {
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| OF_THE_AUTHOR.contains(&key.as_str()));
    }
    if body.get("kind").is_some() {
        body["apiVersion"] = json!(kept.resource.api_version());
        body["kind"] = json!(kept.resource.kind);
    }
    api.resources.kept_as(shown, body)
}

/// The same request with another body.
fn call_about(call: &Call, content_type: &str, body: Bytes) -> Call {
    let mut headers = call.headers.clone();
    headers.insert(header::ACCEPT, HeaderValue::from_static(JSON));
    headers.remove(header::ACCEPT_ENCODING);
    if let Ok(content_type) = HeaderValue::from_str(content_type) {
        headers.insert(header::CONTENT_TYPE, content_type);
    }
    Call {
        authority: call.authority.clone(),
        method: call.method.clone(),
        uri: call.uri.clone(),
        query: call.query.clone(),
        headers,
        body,
        deadline: call.deadline,
        passed_on: call.passed_on,
        window: call.window.clone(),
        context: call.context,
    }
}

/// The answer about what is kept, as one about what is shown.
async fn shown_as(api: &Api, shown: &Arc<ResourceDef>, call: &Call, answer: Response) -> Result<Response, ApiError> {
    let (parts, body) = answer.into_parts();
    let read = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
    let bytes = read.map_err(|error| ApiError::internal(error.to_string()))?.to_bytes();
    let tree: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let made = api.resources.shown_as(shown, &tree);
    let bytes = made.map_or(bytes, |made| Bytes::from(made.to_string()));
    let mut response = call.send(parts.status, JSON, bytes.into());
    for warning in parts.headers.get_all(header::WARNING) {
        response.headers_mut().append(header::WARNING, warning.clone());
    }
    Ok(response)
}

/// The merge patch that makes `wanted` of `now`.
fn difference(now: &Value, wanted: &Value) -> Value {
    let (Some(before), Some(after)) = (now.as_object(), wanted.as_object()) else { return wanted.clone() };
    let mut change = Map::new();
    for (key, value) in after {
        match before.get(key) {
            Some(same) if same == value => {}
            Some(other) => drop(change.insert(key.clone(), difference(other, value))),
            None => drop(change.insert(key.clone(), value.clone())),
        }
    }
    for key in before.keys().filter(|key| !after.contains_key(*key)) {
        change.insert(key.clone(), Value::Null);
    }
    Value::Object(change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_replaced_is_what_differs() {
        let now = json!({ "a": { "b": 1, "c": [1] }, "d": 2 });
        assert_eq!(difference(&now, &now), json!({}));
        assert_eq!(difference(&now, &json!({ "a": { "b": 2 } })), json!({ "a": { "b": 2, "c": null }, "d": null }));
        assert_eq!(
            difference(&now, &json!({ "a": { "b": 1, "c": [] }, "d": 2, "e": {} })),
            json!({ "a": { "c": [] }, "e": {} })
        );
    }
}
