//! Who else is asked about a write: the policies and the webhooks of the workspace.

mod asking;
mod look;
mod services;

use super::derived::Derived;
use super::write::How;
use super::{Resources, parse};
use crate::admission::{self, Attempt};
use crate::auth::User;
use crate::catalog::{Catalog, ResourceDef};
use crate::convert;
use crate::error::ApiError;
use crate::hooks::call::{CallWebhook, HttpCaller};
use crate::hooks::{Again, Answering, Ask, Changed, Hooks, Labels, Later, Operation, Told, Versions};
use crate::keyspace::{self, Mark};
use crate::object::Object;
use crate::place::{Collection, Workspace};
use crate::policy::{MatchConditions, Policies, PolicyKey, PolicyObjects};
use crate::strategy::Part;
use asking::Asking;
use look::Sights;
use services::Services;
use std::sync::Arc;
use storage::Snapshot;

const GROUP: &str = "admissionregistration.k8s.io";

/// Gates that are kept: few workspaces have policies or webhooks, and those are slow to read.
const GATES_MAX: usize = 10_000;

/// What the gates of all workspaces need.
#[derive(Debug)]
pub(super) struct Gates {
    derived: Derived<Gate>,
    caller: HttpCaller,
}

/// Who is asked about the writes of a workspace.
#[derive(Debug)]
struct Gate {
    policies: Policies,
    hooks: Hooks,
}

impl Gate {
    fn is_open(&self) -> bool {
        self.policies.is_empty() && self.hooks.is_empty()
    }

    /// When any of them changed the object, all that want to see it again are asked once more, after the built-in
    /// plugins.
    async fn mutate(&self, ask: &Ask<'_>, sights: &Sights<'_>, object: Object) -> Result<Changed, ApiError> {
        let mut talk = Talk::default();
        let first = self.round(ask, sights, object, &mut talk).await?;
        let Some(mut object) = first.object.clone().filter(|_| first.was_changed) else { return Ok(first) };
        if let Some(readmit) = ask.readmit {
            readmit(&mut object)?;
        }
        let second = self.round(ask, sights, object, &mut talk).await;
        let mut second = second.map_err(|error| error.with_warnings(first.told.warnings.clone()))?;
        second.told.warnings.splice(0..0, first.told.warnings);
        Ok(second)
    }

    /// Policies first, then webhooks.
    async fn round(
        &self,
        ask: &Ask<'_>,
        sights: &Sights<'_>,
        object: Object,
        talk: &mut Talk,
    ) -> Result<Changed, ApiError> {
        let by_policies = self.policies.round(ask, sights, object, &mut talk.policies)?;
        let by_hooks = self.hooks.round(ask, by_policies.object, &mut talk.hooks).await?;
        Ok(Changed { was_changed: by_policies.was_changed || by_hooks.was_changed, ..by_hooks })
    }

    async fn validate(&self, ask: &Ask<'_>, sights: &Sights<'_>, object: Option<&Object>) -> Result<Told, ApiError> {
        let mut told = self.policies.validate(ask, sights, object)?;
        if object.is_none() {
            // Whoever may change objects is asked about their end as well.
            told.warnings.extend(self.hooks.round(ask, None, &mut Again::default()).await?.told.warnings);
        }
        told.warnings.extend(self.hooks.validate(ask, object).await?.warnings);
        Ok(told)
    }
}

/// Who has seen an object, and wants to see it again.
#[derive(Debug, Default)]
struct Talk {
    policies: Again<PolicyKey>,
    hooks: Again,
}

impl Gates {
    pub(super) fn new(caller: HttpCaller) -> Self {
        Self { derived: Derived::new(Mark::Policies, GATES_MAX), caller }
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
            let hooks = (all("mutatingwebhookconfigurations")?, all("validatingwebhookconfigurations")?);
            let mutating = (all("mutatingadmissionpolicies")?, all("mutatingadmissionpolicybindings")?);
            let validating = (all("validatingadmissionpolicies")?, all("validatingadmissionpolicybindings")?);
            let policies = Policies::compile(&PolicyObjects {
                validating: &validating.0,
                validating_bindings: &validating.1,
                mutating: &mutating.0,
                mutating_bindings: &mutating.1,
            });
            Ok(Gate { policies, hooks: Hooks::compile(&hooks.0, &hooks.1, &MatchConditions) })
        })?;
        Ok(made.made.filter(|gate| !gate.is_open()))
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
        let mut object = object;
        for (home, gate) in self.gates_of(question.at)? {
            let changed = self.ask(question, &home, async |ask| {
                let object = convert::from_storage(object, ask.resource);
                gate.mutate(ask, &self.sights(&home), object).await
            });
            let changed = changed.await?;
            question.how.told.add(changed.told.warnings);
            let admitted = changed.object.ok_or_else(|| ApiError::internal("an admitted object is gone"))?;
            object = convert::to_storage(admitted, &question.at.resource);
        }
        Ok(object)
    }

    /// Who is asked about a write: those of the workspace, and those of whoever shares the kind with it.
    fn gates_of(&self, at: &Collection) -> Result<Vec<(Workspace, Arc<Gate>)>, ApiError> {
        let own = self.gate(&at.workspace)?.map(|gate| (at.workspace.clone(), gate));
        let home = at.resource.home().filter(|home| *home != at.workspace.as_str()).map(Workspace::new);
        let theirs = match home {
            Some(home) => self.gate(&home)?.map(|gate| (home, gate)),
            None => None,
        };
        Ok(own.into_iter().chain(theirs).collect())
    }

    /// Whether those agree who may only refuse.
    pub(super) async fn permitted(&self, question: Question<'_>, object: Option<&Object>) -> Result<(), ApiError> {
        for (home, gate) in self.gates_of(question.at)? {
            let told = self.ask(question, &home, async |ask| {
                let object = object.map(|object| convert::from_storage(object.clone(), ask.resource));
                gate.validate(ask, &self.sights(&home), object.as_ref()).await
            });
            question.how.told.add(told.await?.warnings);
        }
        Ok(())
    }

    async fn ask<T>(
        &self,
        question: Question<'_>,
        home: &Workspace,
        answer: impl AsyncFnOnce(&Ask<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let Question { at, part, operation, name, user, how, attempt, .. } = question;
        let catalog = self.catalog(&at.workspace)?;
        let versions = Known { resources: self, workspace: &at.workspace, catalog: &catalog };
        let caller = self.caller(home);
        let old = question.old.map(|old| convert::from_storage(old.clone(), &at.resource));
        let labels = |namespace: &str| self.labels_of(&at.workspace, namespace);
        let readmit = |object: &mut Object| match attempt {
            Some(attempt) => admission::change(object, attempt),
            None => Ok(()),
        };
        let answering = |user: &User| -> Answering {
            let (resources, workspace) = (self.clone(), at.workspace.clone());
            Arc::new(Asking { resources, workspace, user: user.clone() })
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
            deadline: how.told.deadline(),
            ambient: &self.inner.ambient,
            namespace_labels: &labels,
            versions: &versions,
            readmit: Some(&readmit),
            caller: &caller as &dyn CallWebhook,
            answering: &answering,
        };
        answer(&ask).await
    }

    fn sights<'a>(&'a self, workspace: &'a Workspace) -> Sights<'a> {
        Sights { resources: self, workspace }
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
