//! Objects between the form they are kept in and the one they are seen in: another version, or what a definition has
//! come to ask of them since they were written.

use super::{Found, Resources, parse};
use crate::catalog::ResourceDef;
use crate::convert;
use crate::custom::{ANSWER_COST, Conversion, Conversions, Custom, Failure};
use crate::error::ApiError;
use crate::hooks::{Endpoint, conversion};
use crate::object::{Object, Peek};
use crate::place::{Collection, Workspace};
use bytes::Bytes;
use openapi::FieldError;
use serde_json::Value;
use storage::{Revision, Version};

/// What is converted before others get their turn: some milliseconds.
const TURN_COST: u64 = 100_000;

/// What is stored is what is seen.
fn is_as_stored(resource: &ResourceDef, modified: Revision) -> bool {
    resource.is_storage_version() && resource.custom().is_none_or(|custom| modified > custom.since)
}

/// A custom resource was stored when its definition wanted it in another version.
pub(super) fn is_kept_in_another(resource: &ResourceDef, stored: &[u8]) -> bool {
    let said = || Peek::of(stored).text(&["apiVersion"]).unwrap_or_default().into_owned();
    resource.custom().is_some() && said().rsplit('/').next() != Some(&*resource.stored.version)
}

impl Resources {
    /// A stored object as a version of its resource shows it.
    pub(super) async fn shown(&self, at: &Collection, version: Version) -> Result<Bytes, ApiError> {
        if is_as_stored(&at.resource, version.modified) {
            return Ok(version.value);
        }
        self.reshaped(at, &version.value).await
    }

    /// The same for what was stored just now.
    pub(super) async fn shown_new(&self, at: &Collection, bytes: Bytes) -> Result<Bytes, ApiError> {
        if at.resource.is_storage_version() {
            return Ok(bytes);
        }
        self.reshaped(at, &bytes).await
    }

    /// The same for many: whoever knows how to convert them is asked once.
    pub(super) async fn shown_all(&self, at: &Collection, versions: Vec<Version>) -> Result<Vec<Bytes>, ApiError> {
        let resource = &at.resource;
        let (mut shown, mut others, mut places) = (Vec::with_capacity(versions.len()), Vec::new(), Vec::new());
        for version in versions {
            if !is_as_stored(resource, version.modified) {
                others.push(parse(&version.value)?);
                places.push(shown.len());
            }
            shown.push(version.value);
        }
        for (place, object) in places.into_iter().zip(self.raised(at, others).await?) {
            shown[place] = Value::from(object).to_string().into();
        }
        Ok(shown)
    }

    async fn reshaped(&self, at: &Collection, bytes: &Bytes) -> Result<Bytes, ApiError> {
        let object = self.raised_one(at, parse(bytes)?).await?;
        Ok(Value::from(object).to_string().into())
    }

    async fn raised_one(&self, at: &Collection, object: Object) -> Result<Object, ApiError> {
        let raised = self.raised(at, vec![object]).await?.pop();
        raised.ok_or_else(|| ApiError::internal("an object is gone"))
    }

    /// Stored objects in the version of the request, as their definition asks now.
    async fn raised(&self, at: &Collection, objects: Vec<Object>) -> Result<Vec<Object>, ApiError> {
        let resource = &at.resource;
        let Some(custom) = resource.custom() else {
            return Ok(objects.into_iter().map(|object| convert::from_storage(object, resource)).collect());
        };
        let mut objects = objects;
        objects.iter_mut().for_each(|object| complete_as_kept(custom, object));
        let mut objects = self.converted(&at.workspace, resource, objects, &resource.api_version()).await?;
        for object in &mut objects {
            object.as_tree(|tree| drop(custom.schema.prune(tree)));
        }
        Ok(objects)
    }

    /// An object that was found, as those see it who change it. Built-in ones are changed in the form they are kept in.
    pub(super) async fn lifted(&self, at: &Collection, found: Found) -> Result<Found, ApiError> {
        if at.resource.custom().is_none() || is_as_stored(&at.resource, found.version.modified) {
            return Ok(found);
        }
        Ok(Found { object: self.raised_one(at, found.object).await?, version: found.version })
    }

    /// An object in the version that it is kept in.
    pub(super) async fn lowered(&self, at: &Collection, object: Object) -> Result<Object, ApiError> {
        let resource = &at.resource;
        if resource.custom().is_none() || resource.is_storage_version() {
            return Ok(object);
        }
        let stored = format!("{}/{}", resource.stored.group, resource.stored.version);
        let mut object = match rules_of(resource) {
            Some(rules) => {
                let mut object = object;
                let converted = by_rules(rules, &mut object, &stored, &mut { ANSWER_COST });
                // It is what its author wrote that cannot be converted.
                converted.map_err(|failure| refused(resource, &object, &resource.stored.version, failure))?;
                object
            }
            None => {
                let lowered = self.converted(&at.workspace, resource, vec![object], &stored).await?.pop();
                lowered.ok_or_else(|| ApiError::internal("an object is gone"))?
            }
        };
        // What the version it is kept in does not know is not kept: so it can be read as it is stored.
        if let Some(schema) = resource.custom().and_then(|custom| custom.versions.get(&resource.stored.version)) {
            object.as_tree(|tree| {
                schema.prune(tree);
                schema.complete(tree);
            });
        }
        Ok(object)
    }

    /// Objects of a custom resource in another version, in the same order.
    pub(super) async fn converted(
        &self,
        workspace: &Workspace,
        resource: &ResourceDef,
        mut objects: Vec<Object>,
        api_version: &str,
    ) -> Result<Vec<Object>, ApiError> {
        let webhook = match resource.custom().map(|custom| &custom.conversion) {
            Some(Conversion::Webhook(webhook)) => webhook,
            Some(Conversion::Rules(rules)) => return all_by_rules(rules, resource, objects, api_version).await,
            other => {
                objects.iter_mut().for_each(|object| converted_at_once(other, object, api_version));
                return Ok(objects);
            }
        };
        let failed = |why: String| {
            let kind = format!("{}/{}, Kind={}", resource.group, resource.stored.version, resource.kind);
            ApiError::internal(format!("conversion webhook for {kind} failed: {why}"))
        };
        let config = webhook.get("clientConfig").unwrap_or(&Value::Null);
        let endpoint = Endpoint::read(config).map_err(failed)?;
        let versions = webhook.get("conversionReviewVersions").and_then(Value::as_array).into_iter().flatten();
        let versions: Vec<String> = versions.filter_map(Value::as_str).map(str::to_owned).collect();
        let (trees, uid) = (objects.into_iter().map(Value::from).collect(), self.inner.ambient.uid());
        // Whom a definition names is found where it was written.
        let lender = resource.custom().and_then(|custom| custom.definition.lender()).map(Workspace::new);
        let caller = self.caller(lender.as_ref().unwrap_or(workspace));
        let converted = conversion::convert(&caller, &endpoint, &versions, trees, api_version, uid).await;
        let objects = converted.map_err(failed)?.into_iter().map(Object::try_from).collect::<Result<_, _>>();
        objects.map_err(|error| failed(error.to_string()))
    }
}

/// The rules by which objects of a resource are converted, if it has any.
fn rules_of(resource: &ResourceDef) -> Option<&Conversions> {
    match resource.custom().map(|custom| &custom.conversion) {
        Some(Conversion::Rules(rules)) => Some(rules),
        _ => None,
    }
}

fn by_rules(rules: &Conversions, object: &mut Object, api_version: &str, left: &mut u64) -> Result<(), Failure> {
    rules.convert(object, api_version.rsplit('/').next().unwrap_or_default(), left)?;
    object.map_mut().insert("apiVersion".to_owned(), api_version.into());
    Ok(())
}

/// Objects in another version. One that cannot be converted fails whoever asked for it.
async fn all_by_rules(
    rules: &Conversions,
    resource: &ResourceDef,
    mut objects: Vec<Object>,
    api_version: &str,
) -> Result<Vec<Object>, ApiError> {
    let mut left = ANSWER_COST;
    for object in &mut objects {
        let before = left;
        by_rules(rules, object, api_version, &mut left).map_err(|Failure { field, why }| {
            let (kind, name, from) = (resource.kind.as_str(), object.name(), object.api_version());
            ApiError::internal(format!(
                "{kind} {name:?} cannot be converted from {from} to {api_version}: {field}: {why}"
            ))
        })?;
        if before / TURN_COST != left / TURN_COST {
            tokio::task::yield_now().await;
        }
    }
    Ok(objects)
}

/// Refuses an object that could not be read in some version, unless what it takes the place of could not either.
/// Whoever lists objects of many authors depends on none of them.
pub(super) fn check_readable(
    resource: &ResourceDef,
    stored: &Object,
    old: impl FnOnce() -> Option<Object>,
) -> Result<(), ApiError> {
    let Some((version, failure)) = unreadable(resource, stored) else { return Ok(()) };
    if old().is_some_and(|old| unreadable(resource, &old).is_some()) {
        return Ok(());
    }
    Err(refused(resource, stored, &version, failure))
}

/// A version that a stored object cannot be read in, and why.
fn unreadable(resource: &ResourceDef, stored: &Object) -> Option<(String, Failure)> {
    let (rules, custom) = (rules_of(resource)?, resource.custom()?);
    let mut left = ANSWER_COST;
    custom.versions.keys().find_map(|version| {
        let failure = rules.convert(&mut stored.clone(), version, &mut left).err()?;
        Some((version.clone(), failure))
    })
}

fn refused(resource: &ResourceDef, object: &Object, version: &str, Failure { field, why }: Failure) -> ApiError {
    let why = format!("cannot be converted to {}/{version}: {why}", resource.group);
    let errors = [FieldError::forbidden(field, why)];
    ApiError::invalid(&resource.group, &resource.kind, object.name(), &errors)
}

/// Makes a stored object what the version that it is kept in asks for now. Other versions fill in nothing of their own:
/// what is read of an object does not depend on who reads.
fn complete_as_kept(custom: &Custom, object: &mut Object) {
    let version = object.text(&["apiVersion"]).rsplit('/').next().unwrap_or_default();
    let Some(schema) = custom.versions.get(version) else { return };
    let schema = schema.clone();
    object.as_tree(|tree| {
        schema.prune(tree);
        schema.complete(tree);
    });
}

/// The same where nobody has to be asked.
fn converted_at_once(conversion: Option<&Conversion>, object: &mut Object, api_version: &str) {
    if let Some(Conversion::Given(convert)) = conversion
        && object.api_version() != api_version
    {
        convert(object, api_version.rsplit('/').next().unwrap_or_default());
    }
    object.map_mut().insert("apiVersion".to_owned(), api_version.into());
}

/// Somebody else has to be asked before an object can be shown.
pub(super) fn has_to_be_asked_for(resource: &ResourceDef) -> bool {
    resource.custom().is_some_and(|custom| matches!(custom.conversion, Conversion::Webhook(_)))
}

/// The same for those who cannot wait, where nobody has to be asked. What cannot be converted is shown as it is stored.
pub(super) fn shown_at_once(resource: &ResourceDef, bytes: Bytes, modified: Revision) -> Bytes {
    if is_as_stored(resource, modified) {
        return bytes;
    }
    let Ok(mut object) = parse(&bytes) else { return bytes };
    match resource.custom() {
        None => object = convert::from_storage(object, resource),
        Some(custom) => {
            complete_as_kept(custom, &mut object);
            match rules_of(resource) {
                None => converted_at_once(Some(&custom.conversion), &mut object, &resource.api_version()),
                Some(rules) => {
                    if by_rules(rules, &mut object, &resource.api_version(), &mut { ANSWER_COST }).is_err() {
                        return bytes;
                    }
                }
            }
            object.as_tree(|tree| drop(custom.schema.prune(tree)));
        }
    }
    Value::from(object).to_string().into()
}
