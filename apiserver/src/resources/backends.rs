//! The API servers behind this one, as the objects of a workspace say: which there are, and where.

use super::derived::Derived;
use super::{Resources, parse};
use crate::backends::{self, Address, Backends, Service, Unreachable};
use crate::error::ApiError;
use crate::keyspace::{self, Mark};
use crate::object::{Object, Peek};
use crate::place::{Collection, Workspace};
use std::sync::Arc;

/// Workspaces whose backends are kept ready: few have any.
const BACKENDS_MAX: usize = 10_000;

/// The label by which a slice names its service.
const OF_SERVICE: &str = "kubernetes.io/service-name";

#[derive(Debug)]
pub(super) struct Registered(Derived<Backends>);

impl Default for Registered {
    fn default() -> Self {
        Self(Derived::new(Mark::Backends, BACKENDS_MAX))
    }
}

impl Resources {
    /// Who else serves something in a workspace; `None` where nobody does.
    pub fn backends(&self, workspace: &Workspace) -> Result<Option<Arc<Backends>>, ApiError> {
        let made = self.inner.registered.0.get(self, workspace, |snapshot, _| {
            let place = self.place(("apiregistration.k8s.io", "v1", "apiservices"), workspace, None)?;
            let all = snapshot.scan(keyspace::range(&place)?).map(|entry| parse(&entry?.version.value));
            let all: Vec<Object> = all.collect::<Result<_, ApiError>>()?;
            let is_builtin = |group: &str, version: &str| self.builtin().version(group, version).is_some();
            Ok(Backends::compile(all.iter(), is_builtin))
        })?;
        Ok(made.made.filter(|backends| !backends.is_empty()))
    }

    /// Where a service of a workspace is reached.
    pub fn addresses(
        &self,
        workspace: &Workspace,
        service: &Service,
    ) -> Result<Result<Vec<Address>, Unreachable>, ApiError> {
        let namespace = Some(service.namespace.as_str());
        let services = self.place(("", "v1", "services"), workspace, namespace)?;
        let found = self.find(&services.object(&service.name))?.map(|found| found.object);
        let slices = self.place(("discovery.k8s.io", "v1", "endpointslices"), workspace, namespace)?;
        let mut of_service = Vec::new();
        for entry in self.inner.store.recent().scan(keyspace::range(&slices)?) {
            let version = entry?.version;
            let labels = Peek::new(&version).labels();
            if labels.is_some_and(|labels| labels.get(OF_SERVICE).is_some_and(|name| *name == service.name.as_str())) {
                of_service.push(parse(&version.value)?);
            }
        }
        Ok(backends::addresses(service, found.as_ref(), &of_service))
    }

    fn place(
        &self,
        (group, version, plural): (&str, &str, &str),
        workspace: &Workspace,
        namespace: Option<&str>,
    ) -> Result<Collection, ApiError> {
        let resource = self.builtin().find(group, version, plural).ok_or_else(ApiError::no_such_path)?.clone();
        Ok(Collection { resource, workspace: workspace.clone(), namespace: namespace.map(str::to_owned) })
    }
}
