//! What policies look up in a workspace.

use super::Resources;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::keyspace;
use crate::object::{Object, Peek};
use crate::place::{Collection, Workspace};
use crate::policy::{ParamKind, PolicyLook};
use crate::resources::parse;
use crate::selector::LabelSelector;
use std::sync::Arc;

pub(super) struct Sights<'a> {
    pub(super) resources: &'a Resources,
    pub(super) workspace: &'a Workspace,
}

impl Sights<'_> {
    fn resource(&self, kind: &ParamKind) -> Option<Arc<ResourceDef>> {
        let catalog = self.resources.catalog(self.workspace).ok()?;
        catalog.of_kind(&kind.api_version, &kind.kind).cloned()
    }

    fn place(&self, kind: &ParamKind, namespace: Option<&str>) -> Option<Collection> {
        let resource = self.resource(kind)?;
        let namespace = namespace.filter(|_| resource.namespaced).map(str::to_owned);
        Some(Collection { resource, workspace: self.workspace.clone(), namespace })
    }
}

impl PolicyLook for Sights<'_> {
    fn namespace(&self, name: &str) -> Result<Object, ApiError> {
        let resource = self.resources.builtin().find("", "v1", "namespaces").ok_or_else(ApiError::no_such_path)?;
        let place = Collection { resource: resource.clone(), workspace: self.workspace.clone(), namespace: None };
        let found = self.resources.find(&place.object(name))?;
        found.map(|found| found.object).ok_or_else(|| ApiError::not_found(resource, name))
    }

    fn is_namespaced(&self, kind: &ParamKind) -> Option<bool> {
        self.resource(kind).map(|resource| resource.namespaced)
    }

    fn param(&self, kind: &ParamKind, namespace: Option<&str>, name: &str) -> Result<Option<Object>, ApiError> {
        let Some(place) = self.place(kind, namespace) else { return Ok(None) };
        Ok(self.resources.find(&place.object(name))?.map(|found| found.object))
    }

    fn params(
        &self,
        kind: &ParamKind,
        namespace: Option<&str>,
        selector: &LabelSelector,
    ) -> Result<Vec<Object>, ApiError> {
        let Some(place) = self.place(kind, namespace) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for entry in self.resources.store().recent().scan(keyspace::range(&place)?) {
            let version = entry?.version;
            if selector.matches(Peek::new(&version).labels().as_ref()) {
                found.push(parse(&version.value)?);
            }
        }
        Ok(found)
    }
}
