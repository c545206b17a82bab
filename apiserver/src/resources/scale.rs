//! How many of something there are, and should be: one small object instead of the whole.

use super::owners::Author;
use super::{PatchBody, Resources};
use crate::auth::Authorized;
use crate::body::Body;
use crate::error::ApiError;
use crate::object::Object;
use crate::options::WriteOptions;
use crate::place::ObjectRef;
use crate::selector::LabelSelector;
use crate::strategy::Part;
use openapi::FieldError;
use openapi::builtin::{self, Type};
use serde_json::{Value, json};

const API_VERSION: &str = "autoscaling/v1";
const KIND: &str = "Scale";

impl Resources {
    pub async fn scale(&self, at: &Authorized<ObjectRef>) -> Result<Value, ApiError> {
        let bytes = self.get(at, None).await?;
        Ok(scale_of(&super::parse(&bytes)?))
    }

    pub async fn update_scale(
        &self,
        at: &Authorized<ObjectRef>,
        body: &Body,
        options: &WriteOptions,
    ) -> Result<Value, ApiError> {
        let wanted = read(body, options)?;
        self.rescale(at, options, |_| Ok(wanted.clone())).await
    }

    pub async fn patch_scale(
        &self,
        at: &Authorized<ObjectRef>,
        patch: &PatchBody,
        options: &WriteOptions,
    ) -> Result<Value, ApiError> {
        let ty = scale_type()?;
        self.rescale(at, options, |now| {
            let patched = super::patch::apply_to_tree(at.get(), patch, now, ty)?;
            read(&Body::Tree(patched), options)
        })
        .await
    }

    async fn rescale(
        &self,
        at: &Authorized<ObjectRef>,
        options: &WriteOptions,
        wanted: impl Fn(Value) -> Result<Object, ApiError>,
    ) -> Result<Value, ApiError> {
        let target = at.get();
        let change = |old: &Object| {
            let wanted = wanted(scale_of(old))?;
            check(target, old, &wanted)?;
            let replicas = wanted.pointer(&["spec", "replicas"]).cloned().unwrap_or_else(|| json!(0));
            let mut new = old.clone();
            if let Some(Value::Object(spec)) = new.map_mut().get_mut("spec") {
                spec.insert("replicas".to_owned(), replicas);
            }
            let ownership = self.ownership(target.resource(), Part::Main, "scale", &options.field_manager);
            let live = Value::from(old.clone());
            new.as_tree(|tree| ownership.writer().scale(&live, tree));
            self.replaced(target, Part::Main, old, new, Author::Settled)
        };
        let outcome = self.mutate(target, options.dry_run, change).await?;
        Ok(scale_of(&super::parse(&outcome.into_bytes())?))
    }
}

fn scale_type() -> Result<&'static Type, ApiError> {
    builtin::kind_in(API_VERSION, KIND).ok_or_else(|| ApiError::internal("there is no kind Scale"))
}

fn read(body: &Body, options: &WriteOptions) -> Result<Object, ApiError> {
    Ok(body.decode_as(API_VERSION, KIND, scale_type()?, options.validation)?.object)
}

fn check(at: &ObjectRef, old: &Object, wanted: &Object) -> Result<(), ApiError> {
    let seen = wanted.resource_version();
    if !seen.is_empty() && seen != old.resource_version() {
        return Err(ApiError::modified(at));
    }
    let replicas = wanted.pointer(&["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(0);
    if replicas < 0 {
        let error = FieldError::invalid("spec.replicas", replicas, "must be greater than or equal to 0");
        return Err(ApiError::invalid("autoscaling", KIND, &at.name, &[error]));
    }
    Ok(())
}

fn scale_of(object: &Object) -> Value {
    let metadata = |field: &str| object.pointer(&["metadata", field]).cloned().unwrap_or(Value::Null);
    let count = |part: &str| object.pointer(&[part, "replicas"]).cloned().unwrap_or_else(|| json!(0));
    let mut spec = json!({ "replicas": count("spec") });
    // Zero is what is left out.
    if spec["replicas"] == 0 {
        spec = json!({});
    }
    json!({
        "kind": KIND, "apiVersion": API_VERSION,
        "metadata": {
            "name": metadata("name"), "namespace": metadata("namespace"), "uid": metadata("uid"),
            "resourceVersion": metadata("resourceVersion"), "creationTimestamp": metadata("creationTimestamp"),
        },
        "spec": spec,
        "status": { "replicas": count("status"), "selector": selector(object) },
    })
}

/// The selector as text. Replication controllers have theirs without a `matchLabels` around it.
fn selector(object: &Object) -> String {
    let Some(selector) = object.pointer(&["spec", "selector"]) else { return String::new() };
    let structured = selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    let selector = if structured { selector.clone() } else { json!({ "matchLabels": selector }) };
    LabelSelector::from_object(&selector).map(|selector| selector.to_string()).unwrap_or_default()
}
