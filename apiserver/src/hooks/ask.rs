//! A write that hooks are asked about.

use super::call::CallWebhook;
use super::{Labels, Versions};
use crate::ambient::Ambient;
use crate::auth::User;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;
use expression::kubernetes::Authorizer;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

impl Operation {
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

pub type Readmit<'a> = dyn Fn(&mut Object) -> Result<(), ApiError> + Sync + 'a;

/// A write that hooks are asked about. Objects are in the version of the request.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    pub resource: &'a ResourceDef,
    /// Empty: the object itself.
    pub subresource: &'a str,
    /// `None` for objects that are in none; namespaces need not say that they are in themselves.
    pub namespace: Option<&'a str>,
    pub name: &'a str,
    pub operation: Operation,
    pub old: Option<&'a Object>,
    /// `CreateOptions` and the like, with their kind. Null: none.
    pub options: &'a Value,
    pub user: &'a User,
    pub dry_run: bool,
    /// When nobody waits for the answer any more.
    pub deadline: Option<Instant>,
    pub ambient: &'a Ambient,
    /// The labels of a namespace, or that it is not found. Asked only if a selector needs them.
    pub namespace_labels: &'a (dyn Fn(&str) -> Result<Labels, ApiError> + Sync),
    pub versions: &'a dyn Versions,
    /// What the built-in plugins do to an object that hooks have changed, before hooks see it again.
    pub readmit: Option<&'a Readmit<'a>>,
    pub caller: &'a dyn CallWebhook,
    /// Who says what a user may do, for the expressions that ask.
    pub answering: &'a (dyn Fn(&User) -> Answering + Sync),
}

/// Who answers for a user.
pub type Answering = Arc<dyn Authorizer>;

impl fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told = f.debug_struct("Ask");
        told.field("resource", &self.resource.qualified()).field("subresource", &self.subresource);
        told.field("name", &self.name).field("operation", &self.operation).finish_non_exhaustive()
    }
}

/// A kind as the API names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

/// Written to decide what is asked: whoever could ask about these could lock everybody out for good.
const CONFIGURING: [&str; 6] = [
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
];

/// Answered and forgotten, and needed to find out whether anybody may do anything.
const REVIEWS: [(&str, &str); 6] = [
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

impl Ask<'_> {
    /// No hook is asked.
    pub(crate) fn is_exempt(&self) -> bool {
        let (group, plural) = (self.resource.group.as_str(), self.resource.plural.as_str());
        let configures = group == "admissionregistration.k8s.io" && CONFIGURING.contains(&&*self.resource.kind);
        configures || REVIEWS.contains(&(group, plural))
    }

    /// No policy is asked. Webhooks can be undone by policies, and are theirs to judge.
    pub(crate) fn is_exempt_from_policies(&self) -> bool {
        self.is_exempt() && !self.resource.kind.ends_with("WebhookConfiguration")
    }

    /// A namespace counts as being in itself.
    pub(crate) fn namespace(&self) -> &str {
        match self.namespace {
            None | Some("") if self.resource.group.is_empty() && self.resource.plural == "namespaces" => self.name,
            other => other.unwrap_or_default(),
        }
    }

    /// The kind that is spoken at this place of a version of the resource.
    pub(crate) fn kind_in(&self, version: &ResourceDef) -> Kind {
        let own = version.subresource(self.subresource).and_then(|part| part.kind.clone());
        let (api_version, kind) = own.unwrap_or_else(|| (version.api_version(), version.kind.clone()));
        Kind { api_version, kind }
    }

    /// How long a hook that may take `limit` has: never longer than somebody waits for it.
    pub(super) fn within(&self, limit: Duration) -> Duration {
        let Some(deadline) = self.deadline else { return limit };
        let late = tokio::time::sleep(limit).deadline().saturating_duration_since(deadline);
        limit.saturating_sub(late)
    }

    /// Nobody waits for the answer any more.
    pub(super) fn check_time(&self) -> Result<(), ApiError> {
        match self.within(Duration::from_nanos(1)).is_zero() {
            true => Err(ApiError::timeout("request did not complete within requested timeout")),
            false => Ok(()),
        }
    }
}
