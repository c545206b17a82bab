//! Asking those who may change an object, one after another.

use super::again::Again;
use super::consult::{Failure, check_allowed};
use super::syntax;
use super::verdict::{Role, Verdict};
use super::view::View;
use super::webhook::Webhook;
use super::{Ask, Hooks, Told};
use crate::error::ApiError;
use crate::object::Object;
use crate::patch::{self, PatchError};
use serde_json::{Value, json};
use std::borrow::Cow;

/// What hooks made of an object.
#[derive(Clone, Debug)]
pub struct Changed {
    /// In the version of the request. `None` where there was none: an object that is deleted.
    pub object: Option<Object>,
    pub told: Told,
    pub was_changed: bool,
}

impl Hooks {
    /// Lets hooks change the object, for one round: in the second, only those are asked who are due.
    pub async fn round(&self, ask: &Ask<'_>, object: Option<Object>, again: &mut Again) -> Result<Changed, ApiError> {
        if self.mutating.is_empty() || ask.is_exempt() {
            return Ok(Changed { object, told: Told::default(), was_changed: false });
        }
        let view = View::new(ask, object.map(Cow::Owned));
        let mut run = Run { ask, hooks: &self.mutating, view, told: Told::default(), again, was_changed: false };
        match run.all().await {
            Ok(()) => Ok(Changed { object: run.view.into_object(), told: run.told, was_changed: run.was_changed }),
            Err(error) => Err(error.with_warnings(run.told.warnings)),
        }
    }
}

struct Run<'a> {
    ask: &'a Ask<'a>,
    hooks: &'a [Webhook],
    view: View<'a>,
    told: Told,
    again: &'a mut Again,
    was_changed: bool,
}

impl Run<'_> {
    /// A hook that was not asked in the first round is not asked in the second.
    async fn all(&mut self) -> Result<(), ApiError> {
        self.again.begin(self.view.object());
        let round = self.again.round();
        for (index, hook) in self.hooks.iter().enumerate() {
            let Some(version) = hook.wants(self.ask, self.view.object())? else { continue };
            self.view.turn(self.ask, version).await?;
            if !hook.conditions_hold(self.ask, &self.view)? || !self.again.is_due(&index) {
                continue;
            }
            self.one(hook, index, &format!("webhook.admission.k8s.io/round_{round}_index_{index}")).await?;
        }
        self.view.turn(self.ask, None).await?;
        self.again.end(self.view.object());
        Ok(())
    }

    async fn one(&mut self, hook: &Webhook, index: usize, key: &str) -> Result<(), ApiError> {
        let asked = self.change(hook, key).await;
        let mutated = matches!(asked, Ok(true));
        let note = json!({ "configuration": hook.configuration, "webhook": hook.name, "mutated": mutated });
        self.told.annotate(format!("mutation.{key}"), note.to_string());
        if mutated {
            self.again.changed();
            self.was_changed = true;
        }
        if hook.asks_again {
            self.again.attends(index);
        }
        let Err(failure) = asked else { return Ok(()) };
        match hook.judge(failure) {
            Some(error) => Err(error),
            None => {
                self.told.annotate(format!("failed-open.mutation.{key}"), hook.name.clone());
                self.ask.check_time()
            }
        }
    }

    /// Whether the hook changed anything.
    async fn change(&mut self, hook: &Webhook, key: &str) -> Result<bool, Failure> {
        let mut verdict = hook.consult(self.ask, &self.view, Role::Mutating).await?;
        self.told.hear(&hook.name, &mut verdict);
        check_allowed(hook, &mut verdict)?;
        let Some(operations) = operations(&verdict)? else { return Ok(false) };
        let Some(object) = self.view.object() else {
            let name = &hook.name;
            let text = "attempted to modify the object, which is not supported for this operation";
            return Err(internal(format!("admission webhook {name:?} {text}")));
        };
        if verdict.patch_type != "JSONPatch" {
            return Err(Failure::Calling(format!("unsupported patch type {:?}", verdict.patch_type)));
        }
        let patched = patched(object, &verdict.patch).map_err(internal)?;
        let (kind, differs) = (self.view.kind(), patched != *object);
        let settled = self.ask.versions.settle(patched, &kind.api_version, &kind.kind).map_err(internal)?;
        let changed = differs && settled != *object;
        let note = json!({
            "configuration": hook.configuration, "webhook": hook.name, "patch": operations, "patchType": "JSONPatch",
        });
        self.told.annotate(format!("patch.{key}"), note.to_string());
        self.view.put(settled);
        Ok(changed)
    }
}

fn internal(text: impl Into<String>) -> Failure {
    Failure::Refused(ApiError::internal(text))
}

/// The operations of a patch, if there are any.
fn operations(verdict: &Verdict) -> Result<Option<Vec<Value>>, Failure> {
    if verdict.patch.is_empty() {
        return Ok(None);
    }
    let undecodable = |why: String| Failure::Calling(format!("received undecodable patch in webhook response: {why}"));
    let tree = serde_json::from_slice(&verdict.patch);
    match tree.map_err(|error| undecodable(syntax::words(&verdict.patch, &error)))? {
        Value::Array(operations) => match operations.iter().find(|one| !one.is_object() && !one.is_null()) {
            Some(other) => Err(undecodable(syntax::mismatch(other, "value of type jsonpatch.Operation"))),
            None => Ok(Some(operations).filter(|operations| !operations.is_empty())),
        },
        Value::Null => Ok(None),
        other => Err(undecodable(syntax::mismatch(&other, "value of type jsonpatch.Patch"))),
    }
}

fn patched(object: &Object, patch: &[u8]) -> Result<Object, String> {
    let tree = patch::json(&Value::from(object.clone()), patch).map_err(|error| match error {
        // What a client is told of before, is an operation of no known kind here.
        PatchError::Malformed(_) => "Unexpected kind: unknown".to_owned(),
        other => other.to_string(),
    })?;
    Object::try_from(tree).map_err(|error| error.to_string())
}
