//! Policies that change objects, one after another.

use super::Policies;
use super::authority::Authority;
use super::change::{Failure, Mutations};
use super::conditions::{self, as_requested};
use super::decide::INVALID;
use super::evaluate::Facts;
use super::look::PolicyLook;
use super::params::{self, spelled};
use super::read::{Binding, Policy};
use super::validate::{bound, name_of, namespace_of, turn};
use crate::error::ApiError;
use crate::hooks::{Again, Ask, Changed, Kind, Operation, Told, Version, View, agreed, without_objects};
use crate::managed_fields::Schema;
use crate::object::Object;
use openapi::builtin;
use serde_json::Value;
use std::borrow::Cow;

impl Policies {
    /// Lets policies change the object, for one round: in the second, only those are asked who are due.
    pub fn round(
        &self,
        ask: &Ask<'_>,
        look: &dyn PolicyLook,
        object: Object,
        again: &mut Again<PolicyKey>,
    ) -> Result<Changed, ApiError> {
        // There is nothing to change in what is deleted.
        let is_idle = self.mutating.is_empty() || ask.operation == Operation::Delete;
        if is_idle || ask.is_exempt_from_policies() {
            return Ok(Changed { object: Some(object), told: Told::default(), was_changed: false });
        }
        let mut run = Run {
            ask,
            look,
            authority: Authority::new(ask),
            view: View::new(ask, Some(Cow::Owned(object))),
            again,
            was_changed: false,
            errors: Vec::new(),
        };
        run.all(&self.mutating)?;
        Ok(Changed { object: run.view.into_object(), told: Told::default(), was_changed: run.was_changed })
    }
}

/// A policy that is to be asked: by which of its bindings, and with which param.
struct Invocation<'p> {
    policy: &'p Policy<Mutations>,
    binding: &'p Binding,
    version: Version,
    param: Option<Object>,
}

/// Policy, binding, and namespace and name of the param.
pub type PolicyKey = (String, String, Option<(String, String)>);

impl Invocation<'_> {
    fn key(&self) -> PolicyKey {
        let param = self.param.as_ref().map(|param| (param.namespace().to_owned(), param.name().to_owned()));
        (self.policy.name.clone(), self.binding.name.clone(), param)
    }
}

struct Run<'a> {
    ask: &'a Ask<'a>,
    look: &'a dyn PolicyLook,
    authority: Authority,
    view: View<'a>,
    again: &'a mut Again<PolicyKey>,
    was_changed: bool,
    /// What went wrong, and the reason that is told of it, where it may not be ignored.
    errors: Vec<(String, &'static str)>,
}

impl Run<'_> {
    fn all(&mut self, policies: &[Policy<Mutations>]) -> Result<(), ApiError> {
        self.again.begin(self.view.object());
        self.policies(policies)?;
        if self.was_changed {
            // Even the last one to change it is asked again.
            self.again.changed();
        }
        self.again.end(self.view.object());
        Ok(())
    }

    fn policies(&mut self, policies: &[Policy<Mutations>]) -> Result<(), ApiError> {
        let invocations: Vec<_> = policies.iter().flat_map(|policy| self.invocations(policy)).collect();
        if !invocations.is_empty() {
            let namespace = namespace_of(self.ask, self.look)?;
            for invocation in &invocations {
                self.invoke(invocation, namespace.as_ref())?;
            }
        }
        self.show(None).map_err(ApiError::internal)?;
        let Some((_, reason)) = self.errors.first() else { return Ok(()) };
        let texts: Vec<String> = self.errors.iter().map(|(text, _)| text.clone()).collect();
        let name = name_of(self.ask, self.view.object());
        Err(ApiError::unchanged_by_policies(self.ask.resource, name, reason, &texts))
    }

    fn invocations<'p>(&mut self, policy: &'p Policy<Mutations>) -> Vec<Invocation<'p>> {
        let meant = match &policy.constraints {
            Ok(constraints) => {
                constraints.meant(self.ask, self.view.object()).map_err(|error| error.message().to_owned())
            }
            Err(why) => Err(why.clone()),
        };
        let unknown = policy.param_kind.as_ref().filter(|kind| self.look.is_namespaced(kind).is_none());
        let version = match (meant, unknown) {
            (Ok(None), _) => return Vec::new(),
            (Ok(Some(version)), None) => version,
            (Ok(Some(_)), Some(kind)) => {
                self.misconfigured(policy, None, &params::unknown(kind));
                return Vec::new();
            }
            (Err(why), _) => {
                self.misconfigured(policy, None, &why);
                return Vec::new();
            }
        };
        let mut invocations = Vec::new();
        for binding in &policy.bindings {
            match bound(policy, binding, self.ask, self.look, self.view.object()) {
                Ok(params) => invocations.extend(params.into_iter().map(|param| Invocation {
                    policy,
                    binding,
                    version: version.clone(),
                    param,
                })),
                Err(why) => self.misconfigured(policy, Some(binding), &why),
            }
        }
        invocations
    }

    fn misconfigured(&mut self, policy: &Policy<Mutations>, binding: Option<&Binding>, why: &str) {
        let of = if binding.is_some() { "binding" } else { "policy" };
        self.wrong(policy, binding, &format!("failed to configure {of}: {why}"), "Forbidden");
    }

    fn wrong(&mut self, policy: &Policy<Mutations>, binding: Option<&Binding>, why: &str, reason: &'static str) {
        if policy.ignores_failure {
            return;
        }
        let who = match binding {
            Some(binding) => format!("policy '{}' with binding '{}'", policy.name, binding.name),
            None => format!("policy {:?}", policy.name),
        };
        self.errors.push((format!("{who} denied request: {why}"), reason));
    }

    /// Shows the objects in another version. What cannot be shown so stays as it is.
    fn show(&mut self, version: Version) -> Result<(), String> {
        if self.view.is_in(&version) {
            return Ok(());
        }
        let mut view = self.view.clone();
        turn(&mut view, self.ask, version)?;
        self.view = view;
        Ok(())
    }

    fn invoke(&mut self, of: &Invocation<'_>, namespace: Option<&Value>) -> Result<(), ApiError> {
        if let Err(why) = self.show(of.version.clone()) {
            self.misconfigured(of.policy, None, &why);
            return Ok(());
        }
        match self.conditions_hold(of) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(why) => {
                self.wrong(of.policy, Some(of.binding), &why, INVALID);
                return Ok(());
            }
        }
        let key = of.key();
        if !self.again.is_due(&key) {
            return Ok(());
        }
        if self.mutations(of, namespace)? {
            self.again.changed();
            self.was_changed = true;
        }
        if of.policy.rules.asks_again {
            self.again.attends(key);
        }
        Ok(())
    }

    fn conditions_hold(&self, of: &Invocation<'_>) -> Result<bool, String> {
        if of.policy.conditions.is_empty() {
            return Ok(true);
        }
        let request = without_objects(self.ask, &self.view);
        let facts = self.facts(of, &request, None);
        let request = as_requested(&request);
        let facts = Facts { request: &request, ..facts };
        agreed(conditions::evaluate(&of.policy.conditions, facts, &of.policy.named))
    }

    fn facts<'f>(&'f self, of: &'f Invocation<'_>, request: &'f Value, namespace: Option<&'f Value>) -> Facts<'f> {
        Facts {
            request,
            object: self.view.object(),
            old: self.view.old(),
            namespace,
            params: of.param.as_ref(),
            authority: Some(&self.authority),
        }
    }

    /// Whether anything was changed. One that goes wrong does not keep the next from being tried.
    fn mutations(&mut self, of: &Invocation<'_>, namespace: Option<&Value>) -> Result<bool, ApiError> {
        let mut was_changed = false;
        for mutation in &of.policy.rules.list {
            let Some(object) = self.view.object() else { continue };
            let kind = self.view.kind().clone();
            let request = without_objects(self.ask, &self.view);
            let facts = self.facts(of, &request, namespace);
            let changed = self.schema(&kind).and_then(|schema| {
                let changed = mutation.change(object, schema, facts, &of.policy.named)?;
                if changed == *object {
                    return Ok(None);
                }
                let settled = self.ask.versions.settle(changed, &kind.api_version, &kind.kind);
                settled.map(|settled| Some(settled).filter(|settled| settled != object)).map_err(Failure::Wrong)
            });
            match changed {
                Ok(Some(changed)) => {
                    self.view.put(changed);
                    was_changed = true;
                }
                Ok(None) => {}
                Err(Failure::Refused(error)) => return Err(error),
                Err(Failure::Wrong(why)) => self.wrong(of.policy, Some(of.binding), &why, INVALID),
            }
        }
        Ok(was_changed)
    }

    /// The type of the objects that are shown.
    fn schema(&self, kind: &Kind) -> Result<Schema<'_>, Failure> {
        let resource = self.view.resource(self.ask);
        let custom = resource.custom().filter(|_| kind.kind == resource.kind);
        let custom = custom.map(|custom| Schema::of_custom(custom.schema.structural()));
        let builtin = || builtin::kind_in(&kind.api_version, &kind.kind).map(Schema::of_kind);
        custom.or_else(builtin).ok_or_else(|| {
            Failure::Refused(ApiError::unavailable(format!(
                "Resource kind {} not found. There can be a delay between when CustomResourceDefinitions are created and \
                 when they are available.",
                spelled(&kind.api_version, &kind.kind)
            )))
        })
    }
}
