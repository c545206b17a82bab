//! The roles and bindings of one workspace, made ready for questions.
//!
//! Bindings are read when the rules are made, roles when somebody who holds them asks for the first time: a workspace
//! costs what its users use. [`Rules::decide`] is pure, and what it decides and every word of it are those of a
//! Kubernetes API server; where that takes whatever comes first, here it is the first by name.

mod index;

use super::attributes::Attributes;
use super::binding::{Binding, HolderName, RoleRef, Source};
use super::rule::Rule;
use super::{MASTERS, User};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::place::Workspace;
use bytes::Bytes;
use index::Index;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A role or binding as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredRole<'a> {
    /// `None` for those that are in none.
    pub namespace: Option<&'a str>,
    pub name: &'a str,
    pub value: &'a Bytes,
}

/// What is decided about a request. Nothing here says no to everybody: whoever is not allowed is not allowed by this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// And why; nothing where the answer is always the same.
    Allow(String),
    /// Nobody said yes, and what may have kept them from it.
    NoOpinion(String),
    /// Somebody said no, and why: nobody else is asked.
    Deny(String),
}

impl Decision {
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow(_))
    }

    pub fn reason(&self) -> &str {
        match self {
            Self::Allow(reason) | Self::NoOpinion(reason) | Self::Deny(reason) => reason,
        }
    }
}

/// Why the rules of a role are not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    #[error("{kind}.rbac.authorization.k8s.io {name:?} not found")]
    NotFound { kind: &'static str, name: String },
    #[error("unsupported role reference kind: {0:?}")]
    Unsupported(String),
    #[error("{kind}.rbac.authorization.k8s.io {name:?} cannot be read")]
    Unreadable { kind: &'static str, name: String },
}

/// Everything that the roles of a workspace permit.
#[derive(Debug, Default)]
pub struct Rules {
    /// What is bound everywhere.
    everywhere: Scope,
    /// What is bound in a namespace.
    namespaces: HashMap<Box<str>, Scope>,
    /// Roles by namespace and name; those that are in none are in the empty one.
    roles: HashMap<Box<str>, HashMap<Box<str>, Bytes>>,
    /// What holds besides, in this workspace and in others: of two roles of one name, the one above counts.
    below: Option<Arc<Rules>>,
}

#[derive(Debug, Default)]
struct Scope {
    /// By name.
    bindings: Vec<Binding>,
    users: HashMap<Box<str>, Holder>,
    groups: HashMap<Box<str>, Holder>,
}

/// Somebody who holds roles in a scope.
#[derive(Debug, Default)]
struct Holder {
    bound: Vec<Bound>,
    /// Made when the holder asks for the first time.
    index: OnceLock<Index>,
}

/// A binding of the scope, and which of its subjects the holder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Bound {
    binding: usize,
    subject: usize,
}

impl Rules {
    /// `roles` and `bindings` of either kind, in the order of their names.
    pub fn compile<'a>(
        roles: impl IntoIterator<Item = StoredRole<'a>>,
        bindings: impl IntoIterator<Item = StoredRole<'a>>,
    ) -> Self {
        let mut rules = Self::default();
        for StoredRole { namespace, name, value } in roles {
            let place = rules.roles.entry(namespace.unwrap_or_default().into()).or_default();
            place.insert(name.into(), value.clone());
        }
        for StoredRole { namespace, name, value } in bindings {
            match Binding::read(namespace, name, value) {
                Ok(binding) => rules.scope_mut(namespace).add(binding),
                // It binds nobody. Stored bytes are our own.
                Err(error) => tracing::error!(%error, name, "a stored binding cannot be read"),
            }
        }
        rules
    }

    /// The same on top of others.
    #[must_use]
    pub fn above(self, below: Option<Arc<Rules>>) -> Self {
        Self { below, ..self }
    }

    fn scope_mut(&mut self, namespace: Option<&str>) -> &mut Scope {
        match namespace {
            None => &mut self.everywhere,
            Some(namespace) => self.namespaces.entry(namespace.into()).or_default(),
        }
    }

    /// What counts in a namespace; the empty one is none.
    fn scopes(&self, namespace: &str) -> impl Iterator<Item = &Scope> {
        let own = if namespace.is_empty() { None } else { self.namespaces.get(namespace) };
        std::iter::once(&self.everywhere).chain(own)
    }

    pub fn decide(&self, user: &User, wanted: &Attributes<'_>) -> Decision {
        if user.is_in(MASTERS) {
            return Decision::Allow(String::new());
        }
        let found = self.scopes(wanted.namespace()).find_map(|scope| {
            let permitting = |holder: &Holder| Some(holder.bound[self.index(scope, holder).first(wanted)?]);
            scope.holders(user).filter_map(permitting).min().map(|bound| scope.source(bound))
        });
        match (found, &self.below) {
            (Some(source), _) => Decision::Allow(format!("RBAC: allowed by {source}")),
            (None, Some(below)) if below.allows(user, wanted) => below.decide(user, wanted),
            (None, _) => Decision::NoOpinion(self.trouble(user, wanted.namespace())),
        }
    }

    /// Whether it is allowed, for those who do not ask why.
    pub fn allows(&self, user: &User, wanted: &Attributes<'_>) -> bool {
        user.is_in(MASTERS)
            || self
                .scopes(wanted.namespace())
                .any(|scope| scope.holders(user).any(|holder| self.index(scope, holder).permits(wanted)))
            || self.below.as_ref().is_some_and(|below| below.allows(user, wanted))
    }

    fn index<'a>(&'a self, scope: &Scope, holder: &'a Holder) -> &'a Index {
        holder.index.get_or_init(|| {
            let mut index = Index::default();
            for (by, bound) in holder.bound.iter().enumerate() {
                let binding = &scope.bindings[bound.binding];
                match self.role(&binding.role, binding.namespace.as_deref()) {
                    Ok(rules) => rules.iter().for_each(|rule| index.add(rule, by)),
                    Err(error) => index.trouble.push(error.to_string()),
                }
            }
            index
        })
    }

    /// What kept rules from being found that might have permitted it.
    fn trouble(&self, user: &User, namespace: &str) -> String {
        let mut found: Vec<&str> = Vec::new();
        for scope in self.scopes(namespace) {
            for trouble in scope.holders(user).flat_map(|holder| &self.index(scope, holder).trouble) {
                if !found.contains(&&**trouble) {
                    found.push(trouble);
                }
            }
        }
        match &*found {
            [] => String::new(),
            // The authorizer says who it is, and then whose rules it went by.
            found => format!("rbac: RBAC: {}", aggregate(found)),
        }
    }

    /// The rules of a role that a binding in `namespace` refers to.
    pub fn role(&self, role: &RoleRef, namespace: Option<&str>) -> Result<Vec<Rule>, RoleError> {
        let (kind, place) = match &*role.kind {
            "Role" => ("role", namespace.unwrap_or_default()),
            "ClusterRole" => ("clusterrole", ""),
            other => return Err(RoleError::Unsupported(other.to_owned())),
        };
        let name = role.name.clone();
        let found = self.roles.get(place).and_then(|roles| roles.get(&*role.name));
        if let (None, Some(below)) = (found, &self.below) {
            return below.role(role, namespace);
        }
        let stored = found.ok_or_else(|| RoleError::NotFound { kind, name: name.clone() })?;
        Rule::read(stored).map_err(|_| RoleError::Unreadable { kind, name })
    }

    /// All rules that a user has in a namespace, and why some of them are missing.
    pub fn held(&self, user: &User, namespace: &str) -> (Vec<Rule>, Vec<String>) {
        let below = self.below.as_ref().map(|below| below.held(user, namespace));
        let (mut rules, mut trouble) = below.unwrap_or_default();
        for scope in self.scopes(namespace) {
            let mut bindings: Vec<usize> =
                scope.holders(user).flat_map(|holder| holder.bound.iter().map(|bound| bound.binding)).collect();
            bindings.sort_unstable();
            bindings.dedup();
            for binding in bindings.into_iter().map(|at| &scope.bindings[at]) {
                match self.role(&binding.role, binding.namespace.as_deref()) {
                    Ok(found) => rules.extend(found),
                    Err(error) => trouble.push(error.to_string()),
                }
            }
        }
        (rules, trouble)
    }
}

impl Scope {
    fn add(&mut self, binding: Binding) {
        let at = self.bindings.len();
        for (subject, of) in binding.subjects.iter().enumerate() {
            let holders = match binding.holder(of) {
                Some(HolderName::User(name)) => self.users.entry(name.into()).or_default(),
                Some(HolderName::Group(name)) => self.groups.entry(name.into()).or_default(),
                None => continue,
            };
            holders.bound.push(Bound { binding: at, subject });
        }
        self.bindings.push(binding);
    }

    /// What a user is here: themselves, and a member of groups.
    fn holders<'a>(&'a self, user: &'a User) -> impl Iterator<Item = &'a Holder> {
        let own = self.users.get(&*user.name);
        own.into_iter().chain(user.groups.iter().filter_map(|group| self.groups.get(&**group)))
    }

    fn source(&self, bound: Bound) -> Source<'_> {
        let binding = &self.bindings[bound.binding];
        Source { binding, subject: &binding.subjects[bound.subject] }
    }
}

/// Several errors as one text.
pub fn aggregate(errors: &[impl AsRef<str>]) -> String {
    let mut told: Vec<&str> = Vec::new();
    for error in errors.iter().map(AsRef::as_ref) {
        if !told.contains(&error) {
            told.push(error);
        }
    }
    if let [one] = &*told { (*one).to_owned() } else { format!("[{}]", told.join(", ")) }
}

/// Where the rules of a workspace are, and whose business it is who comes in.
pub trait Rulebook: Sync {
    fn rules(&self, workspace: &Workspace) -> Result<Arc<Rules>, ApiError>;

    /// As whom somebody counts in a workspace: what any of these may do, they may.
    fn standing<'a>(&self, user: &'a User, workspace: &Workspace) -> Vec<Cow<'a, User>>;

    /// Whether those may enter the workspace at all.
    fn admits(&self, standing: &[Cow<'_, User>], workspace: &Workspace, rules: &Rules) -> Result<bool, ApiError>;

    /// As whom somebody counts in another workspace whose rules limit what may be done with objects of a resource, and
    /// these rules; nothing where none do.
    fn ceiling(&self, _: &User, _: &ResourceDef) -> Result<Option<(User, Arc<Rules>)>, ApiError> {
        Ok(None)
    }
}
