//! Policies that refuse what they do not want.

use super::Policies;
use super::authority::Authority;
use super::decide::{Decided, INVALID, Note, Validations};
use super::evaluate::Facts;
use super::look::PolicyLook;
use super::params;
use super::read::{Binding, Policy};
use crate::error::ApiError;
use crate::hooks::{Ask, Told, Version, View, without_objects};
use crate::object::Object;
use futures_util::FutureExt;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// More failures are not recorded: fifty take about 10 kB.
const FAILURES_MAX: usize = 50;
/// Longer values are cut.
const ANNOTATION_MAX: usize = 10 * 1024;
const FAILURES: &str = "validation.policy.admission.k8s.io/validation_failure";

impl Policies {
    /// Asks all that mean the request. The first that does not want it is told to its author.
    pub fn validate(&self, ask: &Ask<'_>, look: &dyn PolicyLook, object: Option<&Object>) -> Result<Told, ApiError> {
        if self.validating.is_empty() || ask.is_exempt_from_policies() {
            return Ok(Told::default());
        }
        let mut round = Round::new(ask, look, object);
        for policy in &self.validating {
            round.policy(policy)?;
        }
        round.finish()
    }
}

/// Who denies, and why.
#[derive(Debug)]
struct Denial {
    message: String,
    reason: &'static str,
}

/// How failures that are recorded are written down.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    message: String,
    policy: String,
    binding: String,
    expression_index: usize,
    validation_actions: Vec<String>,
}

struct Round<'a> {
    ask: &'a Ask<'a>,
    look: &'a dyn PolicyLook,
    object: Option<&'a Object>,
    authority: Authority,
    /// Looked up when it is first needed.
    namespace: Option<Option<Value>>,
    views: Vec<(View<'a>, Value)>,
    denial: Option<Denial>,
    failures: Vec<Failure>,
    told: Told,
}

/// A text may be cut, a character may not.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(ANNOTATION_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

impl<'a> Round<'a> {
    fn new(ask: &'a Ask<'a>, look: &'a dyn PolicyLook, object: Option<&'a Object>) -> Self {
        let authority = Authority::new(ask);
        let (views, failures, told) = (Vec::new(), Vec::new(), Told::default());
        Self { ask, look, object, authority, namespace: None, views, denial: None, failures, told }
    }

    fn policy(&mut self, policy: &Policy<Validations>) -> Result<(), ApiError> {
        let meant = match &policy.constraints {
            Ok(constraints) => constraints.meant(self.ask, self.object).map_err(|error| error.message().to_owned()),
            Err(why) => Err(why.clone()),
        };
        let version = match meant {
            Ok(None) => return Ok(()),
            Ok(Some(version)) => version,
            Err(why) => {
                self.misconfigured(policy, None, &why);
                return Ok(());
            }
        };
        if let Some(kind) = policy.param_kind.as_ref().filter(|kind| self.look.is_namespaced(kind).is_none()) {
            self.misconfigured(policy, None, &params::unknown(kind));
            return Ok(());
        }
        let mut notes = BTreeMap::new();
        for binding in &policy.bindings {
            self.binding(policy, binding, &version, &mut notes)?;
        }
        for (key, values) in notes {
            self.told.annotate(format!("{}/{key}", policy.name), values.join(", "));
        }
        Ok(())
    }

    fn binding(
        &mut self,
        policy: &Policy<Validations>,
        binding: &Binding,
        version: &Version,
        notes: &mut BTreeMap<String, Vec<String>>,
    ) -> Result<(), ApiError> {
        let params = match bound(policy, binding, self.ask, self.look, self.object) {
            Ok(params) => params,
            Err(why) => {
                self.misconfigured(policy, Some(binding), &why);
                return Ok(());
            }
        };
        if params.is_empty() {
            return Ok(());
        }
        let place = match self.view(version) {
            Ok(place) => place,
            Err(why) => {
                let why = format!("failed to convert object version: {why}");
                self.misconfigured(policy, Some(binding), &why);
                return Ok(());
            }
        };
        self.find_namespace()?;
        for param in &params {
            let (view, request) = &self.views[place];
            let decided = policy.decide(Facts {
                request,
                object: view.object(),
                old: view.old(),
                namespace: self.namespace.as_ref().and_then(Option::as_ref),
                params: param.as_ref(),
                authority: Some(&self.authority),
            });
            self.take(policy, binding, decided, notes);
        }
        Ok(())
    }

    /// The objects in a version, by their place among those that were asked for.
    fn view(&mut self, version: &Version) -> Result<usize, String> {
        if let Some(place) = self.views.iter().position(|(view, _)| view.is_in(version)) {
            return Ok(place);
        }
        let mut view = View::new(self.ask, self.object.map(Cow::Borrowed));
        turn(&mut view, self.ask, version.clone())?;
        let request = without_objects(self.ask, &view);
        self.views.push((view, request));
        Ok(self.views.len() - 1)
    }

    fn find_namespace(&mut self) -> Result<(), ApiError> {
        if self.namespace.is_none() {
            self.namespace = Some(namespace_of(self.ask, self.look)?);
        }
        Ok(())
    }

    fn take(
        &mut self,
        policy: &Policy<Validations>,
        binding: &Binding,
        decided: Decided,
        notes: &mut BTreeMap<String, Vec<String>>,
    ) {
        for (expression_index, decision) in decided.decisions.into_iter().enumerate().filter(|(_, one)| one.denies) {
            for action in &binding.actions {
                match action.as_str() {
                    "Deny" => self.deny(policy, Some(binding), &decision.message, decision.reason),
                    "Audit" => self.failures.push(Failure {
                        message: decision.message.clone(),
                        policy: binding.policy.clone(),
                        binding: binding.name.clone(),
                        expression_index,
                        validation_actions: binding.actions.clone(),
                    }),
                    "Warn" => self.told.warnings.push(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                        policy.name, binding.name, decision.message
                    )),
                    _ => {}
                }
            }
        }
        for note in decided.notes {
            match note {
                Note::Publish(key, value) => {
                    let (values, value) = (notes.entry(key).or_default(), cut(&value).to_owned());
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                Note::Failed(why) => self.deny(policy, Some(binding), &why, INVALID),
            }
        }
    }

    fn misconfigured(&mut self, policy: &Policy<Validations>, binding: Option<&Binding>, why: &str) {
        if !policy.ignores_failure {
            let of = if binding.is_some() { "binding" } else { "policy" };
            self.deny(policy, binding, &format!("failed to configure {of}: {why}"), INVALID);
        }
    }

    fn deny(&mut self, policy: &Policy<Validations>, binding: Option<&Binding>, why: &str, reason: &'static str) {
        let with = binding.map(|binding| format!(" with binding '{}'", binding.name)).unwrap_or_default();
        let message = format!("ValidatingAdmissionPolicy '{}'{with} denied request: {why}", policy.name);
        self.denial.get_or_insert(Denial { message, reason });
    }

    fn finish(mut self) -> Result<Told, ApiError> {
        if !self.failures.is_empty() {
            self.failures.truncate(FAILURES_MAX);
            let text = serde_json::to_string(&self.failures).unwrap_or_default();
            // As Go writes JSON.
            let text = text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
            self.told.annotate(FAILURES.to_owned(), text);
        }
        let Some(Denial { message, reason }) = self.denial else { return Ok(self.told) };
        let name = name_of(self.ask, self.object);
        let error = ApiError::denied_by_policy(self.ask.resource, name, &message, reason);
        Err(error.with_warnings(self.told.warnings))
    }
}

/// How refusals call an object that may not have a name yet.
pub(super) fn name_of<'a>(ask: &Ask<'a>, object: Option<&'a Object>) -> &'a str {
    let given =
        [ask.name, object.map_or("", Object::name), object.map_or("", |one| one.text(&["metadata", "generateName"]))];
    given.into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown")
}

/// The params with which a binding wants its policy to be asked: none if the request is not meant.
pub(super) fn bound<R>(
    policy: &Policy<R>,
    binding: &Binding,
    ask: &Ask<'_>,
    look: &dyn PolicyLook,
    object: Option<&Object>,
) -> Result<Vec<Option<Object>>, String> {
    let meant = match &binding.resources {
        None => true,
        Some(Ok(resources)) => resources.meant(ask, object).map_err(|error| error.message().to_owned())?.is_some(),
        Some(Err(why)) => return Err(why.clone()),
    };
    if !meant {
        return Ok(Vec::new());
    }
    params::collect(policy.param_kind.as_ref(), binding.param.as_ref(), ask, look)
}

/// Shows the objects in another version. Policies do not wait: who needs somebody else for it is told so.
pub(super) fn turn<'a>(view: &mut View<'a>, ask: &Ask<'a>, version: Version) -> Result<(), String> {
    let turned = view.turn(ask, version).now_or_never();
    let waiting = || Err(ApiError::internal("a webhook would have to convert the object"));
    turned.unwrap_or_else(waiting).map_err(|error| error.message().to_owned())
}

/// The namespace that an object is in; a namespace itself is in none.
pub(super) fn namespace_of(ask: &Ask<'_>, look: &dyn PolicyLook) -> Result<Option<Value>, ApiError> {
    let kind = ask.kind_in(ask.resource);
    let is_namespace = kind.api_version == "v1" && kind.kind == "Namespace";
    match ask.namespace() {
        _ if is_namespace => Ok(None),
        "" => Ok(None),
        name => look.namespace(name).map(|object| Some(Value::from(object))),
    }
}
