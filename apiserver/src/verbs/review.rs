//! `POST` of a question: it is answered and not kept.

use crate::api::Api;
use crate::auth::{Authorized, MASTERS, User};
use crate::authn::Bearer;
use crate::body::Decoded;
use crate::call::Call;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::media::Offer;
use crate::object::Object;
use crate::options::WriteOptions;
use crate::place::{Collection, ObjectRef, Workspace};
use crate::render;
use axum::response::Response;
use http::StatusCode;
use openapi::FieldError;
use serde_json::{Value, json};

pub(super) async fn review(api: &Api, at: &Authorized<Collection>, call: &Call) -> Result<Response, ApiError> {
    let form = call.form(Offer::PLAIN)?;
    let options = WriteOptions::parse(&call.query, "CreateOptions", call.user_agent())?;
    let resource = &at.get().resource;
    let Decoded { mut object, .. } = call.object()?.decode(resource, options.validation)?;
    let status = match &*resource.plural {
        "selfsubjectreviews" => {
            let now = crate::object::timestamp(api.resources.ambient().now());
            object.map_mut().insert("metadata".to_owned(), json!({ "creationTimestamp": now }));
            json!({ "userInfo": described(at.user()) })
        }
        "tokenreviews" => token_review(api, &at.get().workspace, &object).await?,
        "selfsubjectrulesreviews" => {
            if object.text(&["spec", "namespace"]).is_empty() {
                return Err(ApiError::bad_request("no namespace on request"));
            }
            rules(at.user())
        }
        "selfsubjectaccessreviews" => {
            refuse(resource, [attribute_errors(&object), metadata_errors(&object, &[])].concat())?;
            access(at.user())
        }
        "subjectaccessreviews" => {
            let errors = [attribute_errors(&object), subject_errors(&object), metadata_errors(&object, &[])];
            refuse(resource, errors.concat())?;
            access(&subject(&object))
        }
        "localsubjectaccessreviews" => {
            if let (None, Some(namespace)) = (object.pointer(&["metadata", "namespace"]), &at.get().namespace) {
                object.set_metadata("namespace", namespace.as_str());
            }
            let metadata = metadata_errors(&object, &["namespace"]);
            let errors = [attribute_errors(&object), subject_errors(&object), metadata, place_errors(&object)];
            refuse(resource, errors.concat())?;
            if object.text(&["metadata", "namespace"]) != at.get().namespace.as_deref().unwrap_or_default() {
                let why = "spec.resourceAttributes.namespace must match namespace: ";
                let place = at.get().namespace.as_deref().unwrap_or_default();
                return Err(ApiError::bad_request(format!("{why}{place}")));
            }
            access(&subject(&object))
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
            json!({ "authenticated": true, "user": described(&user), "audiences": audiences })
        }
        None => json!({ "user": {}, "error": "invalid bearer token" }),
    })
}

fn access(user: &User) -> Value {
    if user.is_in(MASTERS) { json!({ "allowed": true }) } else { json!({ "allowed": false }) }
}

fn rules(user: &User) -> Value {
    let (mut resources, mut others) = (json!([]), json!([]));
    if user.is_in(MASTERS) {
        resources = json!([{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }]);
        others = json!([{ "verbs": ["*"], "nonResourceURLs": ["*"] }]);
    }
    json!({ "resourceRules": resources, "nonResourceRules": others, "incomplete": false })
}

fn subject(review: &Object) -> User {
    let groups = review.pointer(&["spec", "groups"]).and_then(Value::as_array);
    let groups = groups.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    User { name: review.text(&["spec", "user"]).to_owned(), groups, ..User::default() }
}

fn attribute_errors(review: &Object) -> Vec<FieldError> {
    let given = |field: &str| review.pointer(&["spec", field]).is_some_and(Value::is_object);
    if given("resourceAttributes") != given("nonResourceAttributes") {
        return Vec::new();
    }
    let path = review.pointer(&["spec", "nonResourceAttributes"]).cloned().unwrap_or_default();
    let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    vec![FieldError::invalid("spec", path, why)]
}

fn subject_errors(review: &Object) -> Vec<FieldError> {
    let subject = subject(review);
    if !subject.name.is_empty() || !subject.groups.is_empty() {
        return Vec::new();
    }
    vec![FieldError::invalid("spec.user", "", "at least one of user or group must be specified")]
}

/// A question that is not kept has nothing to be called or found by, but for the place where it is asked.
fn metadata_errors(review: &Object, but_for: &[&str]) -> Vec<FieldError> {
    let Some(metadata) = review.get("metadata").and_then(Value::as_object) else { return Vec::new() };
    let said = |field: &&String| !but_for.contains(&field.as_str()) && *field != "creationTimestamp";
    if !metadata.keys().any(|field| said(&field)) {
        return Vec::new();
    }
    let mut shown = metadata.clone();
    shown.retain(|_, value| !value.is_null());
    let why = if but_for.is_empty() { "must be empty" } else { "must be empty except for namespace" };
    vec![FieldError::invalid("metadata", shown, why)]
}

/// What is asked in a namespace is about that namespace.
fn place_errors(review: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let asked = review.text(&["spec", "resourceAttributes", "namespace"]);
    let about_objects = review.pointer(&["spec", "resourceAttributes"]).is_some_and(Value::is_object);
    if about_objects && asked != review.text(&["metadata", "namespace"]) {
        let why = "must match metadata.namespace";
        errors.push(FieldError::invalid("spec.resourceAttributes.namespace", asked, why));
    }
    if let Some(path) = review.pointer(&["spec", "nonResourceAttributes"]).filter(|path| path.is_object()) {
        let why = "disallowed on this kind of request";
        errors.push(FieldError::invalid("spec.nonResourceAttributes", path.clone(), why));
    }
    errors
}

fn refuse(resource: &ResourceDef, errors: Vec<FieldError>) -> Result<(), ApiError> {
    if errors.is_empty() { Ok(()) } else { Err(ApiError::invalid(&resource.group, &resource.kind, "", &errors)) }
}
