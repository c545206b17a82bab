//! `DELETE` of an object, or of all that match.

use crate::api::Api;
use crate::auth::Authorized;
use crate::call::{Call, warn};
use crate::error::ApiError;
use crate::media::{Encoding, Form, Offer};
use crate::options::DeleteOptions;
use crate::place::{Collection, ObjectRef};
use crate::render::{self, IncludeObject};
use crate::resources::{Deleted, Deletion, Page};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

pub(super) async fn delete(api: &Api, at: &Authorized<ObjectRef>, call: &Call) -> Result<Response, ApiError> {
    let form = call.form_of(at.get().resource(), Offer::OBJECTS)?;
    let options = options(call)?;
    let Deletion { left: deleted, warnings } = api.resources.delete(at, &options).await?;
    // The old way to ask for background deletion is told when it only began.
    let begun = matches!(deleted, Deleted::Going { .. }) && options.orphan_dependents == Some(false);
    let code = if begun { StatusCode::ACCEPTED } else { StatusCode::OK };
    let bytes = shown(api, at.get(), &deleted, form)?;
    let mut response = call.answer(code, form.encoding, bytes);
    warn(&mut response, &warnings);
    Ok(response)
}

fn shown(api: &Api, at: &ObjectRef, deleted: &Deleted, form: Form) -> Result<Bytes, ApiError> {
    let resource = at.resource();
    let object = match deleted {
        Deleted::Going { now } => now,
        Deleted::Gone { last, .. } if resource.traits.returns_deleted => last,
        Deleted::Gone { uid, .. } => {
            let details = json!({ "name": at.name, "group": resource.group, "kind": resource.plural, "uid": uid });
            return render::tree(&success(details), form.encoding);
        }
    };
    render::object(resource, object, form, IncludeObject::Metadata, api.resources.ambient().now())
}

fn success(mut details: Value) -> Value {
    if let Value::Object(map) = &mut details {
        map.retain(|_, value| value != "");
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

fn options(call: &Call) -> Result<DeleteOptions, ApiError> {
    let bytes = call.body.clone();
    if bytes.is_empty() {
        return Ok(DeleteOptions::read(&call.query, None)?.until(call.deadline));
    }
    let encoding = Encoding::of_body(call.content_type())?;
    let tree = crate::body::Body::Encoded { bytes, encoding }.tree()?;
    Ok(DeleteOptions::read(&call.query, Some(&tree))?.until(call.deadline))
}

pub(super) async fn delete_collection(
    api: &Api,
    at: &Authorized<Collection>,
    call: &Call,
) -> Result<Response, ApiError> {
    let form = call.form_of(&at.get().resource, Offer::OBJECTS)?;
    let list = call.list_options(&at.get().resource, false)?;
    let options = options(call)?;
    let deleted = api.resources.delete_collection(at, list, &options).await?;
    let page = Page { revision: deleted.revision, items: deleted.items, next: None, remaining: None };
    let now = api.resources.ambient().now();
    let chunks = render::list(&at.get().resource, &page, form, IncludeObject::Metadata, now)?;
    let mut response = call.send(StatusCode::OK, form.encoding.media_type(), chunks);
    warn(&mut response, &deleted.warnings);
    Ok(response)
}

/// An eviction is a deletion that others may object to; nothing that runs here does.
pub(super) async fn evict(api: &Api, at: &Authorized<ObjectRef>, call: &Call) -> Result<Response, ApiError> {
    let form = call.form(Offer::PLAIN)?;
    let tree = call.object()?.tree()?;
    if tree.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default() != at.get().name {
        return Err(ApiError::bad_request("name in URL does not match name in Eviction object"));
    }
    let options = DeleteOptions::read(&call.query, tree.get("deleteOptions"))?;
    api.resources.delete(at, &options).await?;
    let told = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
    let bytes = render::tree(&told, form.encoding)?;
    Ok(call.answer(StatusCode::CREATED, form.encoding, bytes))
}
