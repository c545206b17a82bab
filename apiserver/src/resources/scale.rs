//! How many of something there are, and should be: one small object instead of the whole.

use super::mutate::{Change, Next};
use super::write::{How, Told};
use super::{PatchBody, PatchKind, Resources, apply};
use crate::auth::Authorized;
use crate::body::Body;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::jsonpath::simple::ScalePaths;
use crate::managed_fields;
use crate::object::Object;
use crate::options::WriteOptions;
use crate::place::ObjectRef;
use crate::selector::LabelSelector;
use crate::strategy::Part;
use openapi::FieldError;
use openapi::builtin::{self, Type};
use serde_json::{Value, json};

pub(super) const API_VERSION: &str = "autoscaling/v1";
pub(super) const KIND: &str = "Scale";

/// How many there are now, and what whoever asked for it should be told.
#[derive(Clone, Debug)]
pub struct Scaled {
    pub scale: Value,
    pub warnings: Vec<String>,
}

/// The object should count what `wanted` says, given what it counts now.
struct Rescaled<'a, W> {
    resources: &'a Resources,
    at: &'a Authorized<ObjectRef>,
    wanted: W,
    how: How<'a>,
}

impl<W: Fn(&Value) -> Result<Object, ApiError> + Sync> Change for Rescaled<'_, W> {
    async fn next(&self, old: &Object) -> Result<Next, ApiError> {
        let new = self.rescaled(old)?;
        self.how.told.restart(&[]);
        self.resources.replaced(self.at, Part::Main, old, new, self.how).await
    }
}

impl<W: Fn(&Value) -> Result<Object, ApiError> + Sync> Rescaled<'_, W> {
    fn rescaled(&self, old: &Object) -> Result<Object, ApiError> {
        let resource = self.at.get().resource();
        let (mut now, place) = (scale_of(resource, old), place_of_count(resource));
        let unreadable = |error: managed_fields::EntryError| ApiError::internal(error.to_string());
        managed_fields::to_scale(&old.clone().into(), &place, &mut now, API_VERSION).map_err(unreadable)?;
        let wanted = (self.wanted)(&now)?;
        check(self.at.get(), old, &wanted)?;
        let mut new = old.clone();
        let count = wanted.pointer(&["spec", "replicas"]).and_then(Value::as_i64).unwrap_or(0);
        set_count(resource, &mut new, count)?;
        let (scale, version) = (Value::from(wanted), resource.api_version());
        let owned = new.as_tree(|tree| managed_fields::to_parent(&scale, tree, &place, &version));
        owned.map_err(unreadable)?;
        Ok(new)
    }
}

impl Resources {
    pub async fn scale(&self, at: &Authorized<ObjectRef>) -> Result<Value, ApiError> {
        let (bytes, resource) = (self.get(at, None).await?, at.get().resource());
        let object = super::parse(&bytes)?;
        if let Some(paths) = custom(resource)
            && !matches!(paths.desired(&object.clone().into()), Ok(Some(_)))
        {
            let missing = format!("the spec replicas field {:?} does not exist", paths.desired_path());
            return Err(ApiError::internal(missing));
        }
        Ok(scale_of(resource, &object))
    }

    pub async fn update_scale(
        &self,
        at: &Authorized<ObjectRef>,
        body: &Body,
        options: &WriteOptions,
    ) -> Result<Scaled, ApiError> {
        let wanted = read(body, options)?;
        self.rescale(at, options, |now| Ok(self.scale_updated(now, wanted.clone(), options))).await
    }

    pub async fn patch_scale(
        &self,
        at: &Authorized<ObjectRef>,
        patch: &PatchBody,
        options: &WriteOptions,
    ) -> Result<Scaled, ApiError> {
        if patch.kind == PatchKind::Apply {
            return self.apply_scale(at, patch, options).await;
        }
        let ty = scale_type()?;
        self.rescale(at, options, |now| {
            let patched = super::patch::apply_to_tree(at.get(), patch, now.clone(), ty)?;
            Ok(self.scale_updated(now, read(&patched, options)?, options))
        })
        .await
    }

    async fn apply_scale(
        &self,
        at: &Authorized<ObjectRef>,
        patch: &PatchBody,
        options: &WriteOptions,
    ) -> Result<Scaled, ApiError> {
        let (config, _) = apply::read(patch)?;
        apply::check_kind(API_VERSION, KIND, &config)?;
        self.rescale(at, options, |now| {
            let ownership = self.ownership_of_scale(&options.field_manager);
            let applied = ownership.writer().apply(now, &config, apply::force(options));
            read(&Body::Tree(applied.map_err(|error| apply::refusal(&error))?), options)
        })
        .await
    }

    fn scale_updated(&self, now: &Value, mut wanted: Object, options: &WriteOptions) -> Object {
        let ownership = self.ownership_of_scale(&options.field_manager);
        wanted.as_tree(|tree| ownership.writer().update(now, tree));
        wanted
    }

    /// `wanted` tells what the small object should become, its owners included.
    async fn rescale(
        &self,
        at: &Authorized<ObjectRef>,
        options: &WriteOptions,
        wanted: impl Fn(&Value) -> Result<Object, ApiError> + Sync,
    ) -> Result<Scaled, ApiError> {
        let (target, resource) = (at.get(), at.get().resource());
        let told = Told::about("UpdateOptions", options);
        let change = Rescaled { resources: self, at, wanted, how: How::of(options, &told).settled() };
        let outcome = told.along(self.mutate(target, options.dry_run, &change).await)?;
        let written = self.written(&target.within, outcome, told).await?;
        Ok(Scaled { scale: scale_of(resource, &super::parse(&written.bytes)?), warnings: written.warnings })
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

/// Where and how a custom resource counts.
fn custom(resource: &ResourceDef) -> Option<&ScalePaths> {
    resource.custom()?.schema.scale.as_ref()
}

/// Where an object says how many there should be.
fn place_of_count(resource: &ResourceDef) -> Vec<&str> {
    match custom(resource) {
        Some(paths) => paths.desired_fields().iter().map(String::as_str).collect(),
        None => vec!["spec", "replicas"],
    }
}

fn set_count(resource: &ResourceDef, object: &mut Object, count: i64) -> Result<(), ApiError> {
    if let Some(paths) = custom(resource) {
        return object.as_tree(|tree| paths.set_desired(tree, count)).map_err(ApiError::internal);
    }
    if let Some(Value::Object(spec)) = object.map_mut().get_mut("spec") {
        spec.insert("replicas".to_owned(), count.into());
    }
    Ok(())
}

/// How many there should be, how many there are, and how they are found.
fn counted(resource: &ResourceDef, object: &Object) -> (i64, i64, String) {
    if let Some(paths) = custom(resource) {
        let tree = Value::from(object.clone());
        let desired = paths.desired(&tree).ok().flatten().unwrap_or(0);
        return (desired, paths.actual(&tree).unwrap_or(0), paths.selector(&tree).unwrap_or_default());
    }
    let count = |part: &str| object.pointer(&[part, "replicas"]).and_then(Value::as_i64).unwrap_or(0);
    (count("spec"), count("status"), selector(object))
}

fn scale_of(resource: &ResourceDef, object: &Object) -> Value {
    let metadata = |field: &str| object.pointer(&["metadata", field]).cloned().unwrap_or(Value::Null);
    let (wanted, there, selector) = counted(resource, object);
    let mut spec = json!({ "replicas": wanted });
    let mut status = json!({ "replicas": there, "selector": selector });
    // Zero, and no selector, is what is left out.
    if spec["replicas"] == 0 {
        spec = json!({});
    }
    if status["selector"] == "" {
        status = json!({ "replicas": there });
    }
    json!({
        "kind": KIND, "apiVersion": API_VERSION,
        "metadata": {
            "name": metadata("name"), "namespace": metadata("namespace"), "uid": metadata("uid"),
            "resourceVersion": metadata("resourceVersion"), "creationTimestamp": metadata("creationTimestamp"),
        },
        "spec": spec,
        "status": status,
    })
}

/// The selector as text. Replication controllers have theirs without a `matchLabels` around it.
fn selector(object: &Object) -> String {
    let Some(selector) = object.pointer(&["spec", "selector"]) else { return String::new() };
    let structured = selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    let selector = if structured { selector.clone() } else { json!({ "matchLabels": selector }) };
    LabelSelector::from_object(&selector).map(|selector| selector.to_string()).unwrap_or_default()
}
