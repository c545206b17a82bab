//! Who else is asked about a write: the webhooks of the workspace.

use super::derived::Derived;
use super::write::How;
use super::{Resources, parse};
use crate::admission::{self, Attempt};
use crate::auth::User;
use crate::catalog::{Catalog, ResourceDef};
use crate::convert;
use crate::error::ApiError;
use crate::hooks::call::{CallWebhook, HttpCaller, Resolve};
use crate::hooks::{Ask, Hooks, Labels, Later, Operation, Service, Unevaluated, Versions};
use crate::keyspace::{self, Mark};
use crate::object::Object;
use crate::place::{Collection, ObjectRef, Workspace};
use crate::strategy::Part;
use serde_json::Value;
use std::sync::Arc;
use storage::Snapshot;

const GROUP: &str = "admissionregistration.k8s.io";

/// What the gates of all workspaces need.
#[derive(Debug)]
pub(super) struct Gates {
    derived: Derived<Gate>,
    caller: HttpCaller,
}

/// Who is asked about the writes of a workspace.
#[derive(Debug)]
struct Gate {
    hooks: Hooks,
}

impl Gates {
    pub(super) fn new(caller: HttpCaller) -> Self {
        Self { derived: Derived::new(Mark::Policies), caller }
    }
}

/// A write that others are asked about.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) at: &'a Collection,
    pub(super) part: Part,
    pub(super) operation: Operation,
    pub(super) name: &'a str,
    pub(super) old: Option<&'a Object>,
    pub(super) user: &'a User,
    pub(super) how: How<'a>,
    /// What built-in plugins think of it; nothing for an object that goes.
    pub(super) attempt: Option<&'a Attempt<'a>>,
}

impl Resources {
    fn gate(&self, workspace: &Workspace) -> Result<Option<Arc<Gate>>, ApiError> {
        let made = self.inner.gates.derived.get(self, workspace, |snapshot, _| {
            let all = |plural: &str| self.configurations(workspace, snapshot, plural);
            let (mutating, validating) =
                (all("mutatingwebhookconfigurations")?, all("validatingwebhookconfigurations")?);
            Ok(Gate { hooks: Hooks::compile(&mutating, &validating, &Unevaluated) })
        })?;
        Ok(made.made.filter(|gate| !gate.hooks.is_empty()))
    }

    fn configurations(
        &self,
        workspace: &Workspace,
        snapshot: &Snapshot,
        plural: &str,
    ) -> Result<Vec<Object>, ApiError> {
        let Some(resource) = self.builtin().stored_as(GROUP, plural) else { return Ok(Vec::new()) };
        let place = Collection { resource: resource.clone(), workspace: workspace.clone(), namespace: None };
        snapshot.scan(keyspace::range(&place)?).map(|entry| parse(&entry?.version.value)).collect()
    }

    /// The object as those want it who may change it.
    pub(super) async fn consulted(&self, question: Question<'_>, object: Object) -> Result<Object, ApiError> {
        let Some(gate) = self.gate(&question.at.workspace)? else { return Ok(object) };
        let changed = self.ask(question, async |ask| {
            let object = convert::from_storage(object, ask.resource);
            gate.hooks.mutate(ask, Some(object)).await
        });
        let changed = changed.await?;
        question.how.told.add(changed.told.warnings);
        let object = changed.object.ok_or_else(|| ApiError::internal("an admitted object is gone"))?;
        Ok(convert::to_storage(object, &question.at.resource))
    }

    /// Whether those agree who may only refuse.
    pub(super) async fn permitted(&self, question: Question<'_>, object: Option<&Object>) -> Result<(), ApiError> {
        let Some(gate) = self.gate(&question.at.workspace)? else { return Ok(()) };
        let told = self.ask(question, async |ask| {
            let object = object.map(|object| convert::from_storage(object.clone(), ask.resource));
            if object.is_none() {
                // Whoever may change objects is asked about their end as well.
                gate.hooks.mutate(ask, None).await?;
            }
            gate.hooks.validate(ask, object.as_ref()).await
        });
        question.how.told.add(told.await?.warnings);
        Ok(())
    }

    async fn ask<T>(
        &self,
        question: Question<'_>,
        answer: impl AsyncFnOnce(&Ask<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let Question { at, part, operation, name, user, how, attempt, .. } = question;
        let catalog = self.catalog(&at.workspace)?;
        let versions = Known { resources: self, workspace: &at.workspace, catalog: &catalog };
        let caller = self.caller(&at.workspace);
        let old = question.old.map(|old| convert::from_storage(old.clone(), &at.resource));
        let labels = |namespace: &str| self.labels_of(&at.workspace, namespace);
        let readmit = |object: &mut Object| match attempt {
            Some(attempt) => admission::change(object, attempt),
            None => Ok(()),
        };
        let ask = Ask {
            resource: &at.resource,
            subresource: part.subresource(),
            namespace: at.namespace.as_deref(),
            name,
            operation,
            old: old.as_ref(),
            options: how.options,
            user,
            dry_run: how.dry_run,
            deadline: None,
            ambient: &self.inner.ambient,
            namespace_labels: &labels,
            versions: &versions,
            readmit: Some(&readmit),
            caller: &caller as &dyn CallWebhook,
        };
        answer(&ask).await
    }

    /// Calls whoever a workspace names.
    pub(super) fn caller(&self, workspace: &Workspace) -> HttpCaller {
        let services = Services { resources: self.clone(), workspace: workspace.clone() };
        self.inner.gates.caller.resolving(Arc::new(services))
    }

    fn labels_of(&self, workspace: &Workspace, namespace: &str) -> Result<Labels, ApiError> {
        let resource = self.builtin().find("", "v1", "namespaces").ok_or_else(ApiError::no_such_path)?.clone();
        let place = Collection { resource, workspace: workspace.clone(), namespace: None }.object(namespace);
        let found = self.find(&place)?.ok_or_else(|| ApiError::not_found(place.resource(), namespace))?;
        Ok(found.object.labels().cloned().unwrap_or_default())
    }
}

/// The versions of the resources of a workspace.
struct Known<'a> {
    resources: &'a Resources,
    workspace: &'a Workspace,
    catalog: &'a Catalog,
}

impl Versions for Known<'_> {
    fn of(&self, resource: &ResourceDef) -> Vec<Arc<ResourceDef>> {
        Versions::of(self.catalog, resource)
    }

    fn convert<'a>(&'a self, object: Object, to: &'a ResourceDef) -> Later<'a, Result<Object, String>> {
        if to.custom().is_none() {
            return Versions::convert(self.catalog, object, to);
        }
        Box::pin(async move {
            let converted = self.resources.converted(self.workspace, to, vec![object], &to.api_version()).await;
            let mut converted = converted.map_err(|error| error.message().to_owned())?;
            converted.pop().ok_or_else(|| "an object is gone".to_owned())
        })
    }

    fn settle(&self, object: Object, api_version: &str, kind: &str) -> Result<Object, String> {
        let custom = self.catalog.of_kind(api_version, kind).and_then(|resource| resource.custom());
        let Some(custom) = custom else { return Versions::settle(self.catalog, object, api_version, kind) };
        let mut object = object;
        object.as_tree(|tree| {
            custom.schema.prune(tree);
            custom.schema.complete(tree);
        });
        Ok(object)
    }
}

/// Where the services of a workspace are: behind their endpoints, or wherever they say.
#[derive(Debug)]
struct Services {
    resources: Resources,
    workspace: Workspace,
}

impl Services {
    fn find(&self, plural: &str, service: &Service) -> Result<Option<Object>, String> {
        let resource = self.resources.builtin().find("", "v1", plural).ok_or("services are not served")?.clone();
        let namespace = Some(service.namespace.clone());
        let place: ObjectRef =
            Collection { resource, workspace: self.workspace.clone(), namespace }.object(&service.name);
        let found = self.resources.find(&place).map_err(|error| error.message().to_owned())?;
        Ok(found.map(|found| found.object))
    }
}

impl Resolve for Services {
    fn resolve(&self, service: &Service) -> Result<(String, u16), String> {
        let Service { name, port, .. } = service;
        let found = self.find("services", service)?.ok_or_else(|| format!("service {name:?} not found"))?;
        if found.text(&["spec", "type"]) == "ExternalName" {
            return Ok((found.text(&["spec", "externalName"]).to_owned(), *port));
        }
        let mut ports = found.items(&["spec", "ports"]);
        let named = ports.find(|one| one["port"] == *port).map(|one| one["name"].as_str().unwrap_or_default());
        let named = named.ok_or_else(|| format!("service port {port} not found for service {name:?}"))?.to_owned();
        let none = || format!("no endpoints available for service {name:?}");
        let endpoints = self.find("endpoints", service)?.ok_or_else(none)?;
        let ready = endpoints.items(&["subsets"]).find_map(|subset| address(subset, &named));
        ready.ok_or_else(none)
    }
}

/// The first address of a subset that has a port of this name.
fn address(subset: &Value, port: &str) -> Option<(String, u16)> {
    let ip = subset["addresses"].get(0)?["ip"].as_str()?;
    let ports = subset["ports"].as_array()?;
    let found = ports.iter().find(|one| one["name"].as_str().unwrap_or_default() == port)?;
    Some((ip.to_owned(), u16::try_from(found["port"].as_u64()?).ok()?))
}
