//! Who asks, and whether they may.
//!
//! A request becomes [`Attributes`]; the [`Rules`] of its workspace, made of its roles and bindings, decide about them;
//! only an [`Authorizer`] turns that into an [`Authorized`], without which nothing is read or written. [`escalation`]
//! keeps people from giving what they do not have, [`impersonation`] says who may act as somebody else.

mod attributes;
mod authorize;
mod binding;
mod cover;
mod elsewhere;
pub mod escalation;
pub mod impersonation;
mod published;
mod rule;
mod rules;
mod selectors;
mod tokens;
mod x509;

pub use attributes::{Asked, Attributes, Objects, What};
pub use authorize::{Access, Authorized, Authorizer, CLOSED, refusal};
pub use binding::{Binding, RoleRef, Source, Subject};
pub use cover::missing;
pub use elsewhere::{Elsewhere, Question};
pub use published::PublicKey;
pub use rule::Rule;
pub use rules::{Decision, RoleError, Rulebook, Rules, StoredRole, aggregate};
pub use selectors::{Selector, Selectors, Understood};
pub use tokens::{Audience, Bound, Claims, KeyError, Keys, TokenIssuer};
pub use x509::{CertificateError, uri_of_workspace, user_of_certificate};

use crate::place::Workspace;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    /// What else is known of them.
    pub extra: BTreeMap<String, Vec<String>>,
    /// The only workspace in which they are who they are; everywhere, if there is none. Whoever is somebody because of
    /// the rules of one workspace is nobody in others, whatever their groups are called.
    pub within: Option<Workspace>,
    /// Another API server vouches for them, and decides what they may do.
    pub foreign: bool,
}

/// What the names of parts of the server begin with.
const PARTS: &str = "system:hanse:";

/// The group whose members may do everything.
pub const MASTERS: &str = "system:masters";
pub const ANONYMOUS: &str = "system:anonymous";
pub const AUTHENTICATED: &str = "system:authenticated";
pub const UNAUTHENTICATED: &str = "system:unauthenticated";

impl User {
    /// Somebody who has shown who they are.
    pub fn authenticated(name: &str, mut groups: Vec<String>) -> Self {
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Self { name: name.to_owned(), groups, ..Self::default() }
    }

    pub fn anonymous() -> Self {
        Self { name: ANONYMOUS.to_owned(), groups: vec![UNAUTHENTICATED.to_owned()], ..Self::default() }
    }

    /// What the user of a service account is called.
    pub fn account_name(namespace: &str, name: &str) -> String {
        format!("system:serviceaccount:{namespace}:{name}")
    }

    /// The groups of every service account of a namespace.
    pub fn account_groups(namespace: &str) -> Vec<String> {
        vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
    }

    /// A part of this server, under its own name.
    pub fn system(name: &str) -> Arc<Self> {
        Arc::new(Self::authenticated(&format!("{PARTS}{name}"), vec![MASTERS.to_owned()]))
    }

    /// By its name; nothing is permitted because of it.
    pub fn is_part_of_the_server(&self) -> bool {
        self.name.starts_with(PARTS)
    }

    /// The user as answers and records tell of them.
    pub fn told(&self) -> Value {
        let mut told = json!({ "username": self.name, "groups": self.groups });
        if !self.uid.is_empty() {
            told["uid"] = self.uid.as_str().into();
        }
        if !self.extra.is_empty() {
            told["extra"] = json!(self.extra);
        }
        told
    }

    pub fn is_anonymous(&self) -> bool {
        self.groups.iter().any(|group| group == UNAUTHENTICATED)
    }

    /// What they are called and which groups they are in means something there.
    pub fn is_somebody_in(&self, workspace: &Workspace) -> bool {
        self.within.as_ref().is_none_or(|within| within == workspace)
    }

    /// Somebody who may do everything, and everywhere.
    pub fn is_master(&self) -> bool {
        self.within.is_none() && self.is_in(MASTERS)
    }

    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|member| member == group)
    }
}

#[cfg(test)]
mod tests;
