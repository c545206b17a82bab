//! Whether a hook is to be asked about a request.

use super::conditions::{Evaluate, Subject};
use super::review;
use super::view::{Version, View};
use super::webhook::Webhook;
use super::{Ask, Labels, Operation};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;
use crate::selector::LabelSelector;
use std::sync::Arc;

impl Webhook {
    /// The version of the resource in which the hook wants to be asked; nothing if it does not.
    ///
    /// What goes wrong with a selector matters only to those whose rules mean the request.
    pub(super) fn wants(&self, ask: &Ask<'_>, object: Option<&Object>) -> Result<Option<Version>, ApiError> {
        let namespaces = self.selects_namespace(ask, object);
        if let Ok(false) = namespaces {
            return Ok(None);
        }
        let objects = self.selects_object(ask, object);
        if let Ok(false) = objects {
            return Ok(None);
        }
        let Some(version) = self.meant_version(ask) else { return Ok(None) };
        namespaces.and(objects).map(|_| Some(version))
    }

    /// The requested version if any rule means it; otherwise the first that the earliest rule means.
    fn meant_version(&self, ask: &Ask<'_>) -> Option<Version> {
        if self.rules.iter().any(|rule| rule.matches(ask, ask.resource)) {
            return Some(None);
        }
        if !self.equivalent {
            return None;
        }
        let is_other = |version: &Arc<ResourceDef>| {
            let has_part = ask.subresource.is_empty() || version.subresource(ask.subresource).is_some();
            let name = |of: &ResourceDef| (of.group.clone(), of.version.clone(), of.plural.clone());
            has_part && name(version) != name(ask.resource)
        };
        let others: Vec<_> = ask.versions.of(ask.resource).into_iter().filter(is_other).collect();
        let first = |rule: &super::rules::Rule| others.iter().find(|version| rule.matches(ask, version));
        self.rules.iter().find_map(first).map(|version| Some(version.clone()))
    }

    /// What is in no namespace is never exempt.
    fn selects_namespace(&self, ask: &Ask<'_>, object: Option<&Object>) -> Result<bool, ApiError> {
        let namespace = ask.namespace();
        if namespace.is_empty() && ask.resource.plural != "namespaces" {
            return Ok(true);
        }
        let selector = self.namespaces.as_ref().map_err(|error| ApiError::internal(error.to_string()))?;
        if selector.is_everything() {
            return Ok(true);
        }
        if ask.resource.plural == "namespaces"
            && ask.subresource.is_empty()
            && matches!(ask.operation, Operation::Create | Operation::Update)
        {
            return Ok(selector.matches(object.and_then(Object::labels)));
        }
        let labels: Labels = (ask.namespace_labels)(namespace).map_err(|error| match error.code() {
            404 => error,
            _ => ApiError::internal(error.message()),
        })?;
        Ok(selector.matches(Some(&labels)))
    }

    /// Either the object or what it replaces.
    fn selects_object(&self, ask: &Ask<'_>, object: Option<&Object>) -> Result<bool, ApiError> {
        let selector = self.objects.as_ref().map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(selector.is_everything() || [object, ask.old].into_iter().flatten().any(|one| is_selected(selector, one)))
    }

    /// Whether nothing that the hook said besides keeps it from being asked.
    pub(super) fn conditions_hold(&self, ask: &Ask<'_>, view: &View<'_>) -> Result<bool, ApiError> {
        let Some(conditions) = &self.conditions else { return Ok(true) };
        match evaluated(&**conditions, ask, view) {
            Ok(holds) => Ok(holds),
            Err(_) if self.ignores_failure => Ok(false),
            Err(why) => {
                tracing::warn!(webhook = self.name, why, "match conditions could not be evaluated");
                Err(ApiError::forbidden(ask.resource, ask.name, &why))
            }
        }
    }
}

/// What has no metadata has no labels that could be looked at.
fn is_selected(selector: &LabelSelector, object: &Object) -> bool {
    object.get("metadata").is_some() && selector.matches(object.labels())
}

/// One that does not hold decides, whatever went wrong with others.
fn evaluated(conditions: &dyn Evaluate, ask: &Ask<'_>, view: &View<'_>) -> Result<bool, String> {
    let request = review::without_objects(ask, view);
    let (object, old) = (view.object(), view.old());
    let results = conditions.evaluate(&Subject { request: &request, object, old, ask });
    if results.contains(&Ok(false)) {
        return Ok(false);
    }
    let mut errors: Vec<String> = Vec::new();
    for error in results.into_iter().filter_map(Result::err) {
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    match errors.as_slice() {
        [] => Ok(true),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}
