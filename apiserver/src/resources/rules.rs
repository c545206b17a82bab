//! The rules of a workspace: made of its roles and bindings when somebody asks, and made anew when one of them changes.

use super::Resources;
use super::derived::{AsOf, Derived};
use crate::allocate::Beside;
use crate::attend::Visit;
use crate::auth::escalation::{self, Escalation, Grant};
use crate::auth::impersonation::Wanted;
use crate::auth::{Authorizer, MASTERS, RoleError, Rulebook, Rules, StoredRole, User};
use crate::catalog::ResourceDef;
use crate::custom::Definition;
use crate::error::ApiError;
use crate::keyspace::{self, Mark};
use crate::object::Object;
use crate::place::{Collection, Workspace};
use crate::target::Target;
use std::borrow::Cow;
use std::sync::Arc;
use storage::{Entry, Snapshot};

/// Rules that are kept: some 50 KB where all that Kubernetes binds is bound, and made within a millisecond.
const RULES_MAX: usize = 1_000;

/// The rules of all workspaces that somebody asked for.
#[derive(Debug)]
pub(super) struct Rulebooks {
    derived: Derived<Rules>,
    /// Of a workspace that has no roles.
    none: Arc<Rules>,
}

impl Default for Rulebooks {
    fn default() -> Self {
        Self { derived: Derived::new(Mark::Rules, RULES_MAX), none: Arc::default() }
    }
}

impl Rulebook for Resources {
    fn rules(&self, workspace: &Workspace) -> Result<Arc<Rules>, ApiError> {
        Ok(self.rules_as_of(workspace)?.made.unwrap_or_else(|| self.given_rules(workspace)))
    }

    fn standing<'a>(&self, user: &'a User, workspace: &Workspace) -> Vec<Cow<'a, User>> {
        self.inner.attendant.standing(user, workspace)
    }

    fn ceiling(&self, user: &User, resource: &ResourceDef) -> Result<Option<(User, Arc<Rules>)>, ApiError> {
        let Some((there, home)) = self.ceiling_of(user, resource)? else { return Ok(None) };
        Ok(Some((there, self.rules(&home)?)))
    }

    fn admits(&self, standing: &[Cow<'_, User>], workspace: &Workspace, rules: &Rules) -> Result<bool, ApiError> {
        let around = self.sight(workspace);
        self.inner.attendant.admits(&Visit { standing, workspace, rules, around: &around })
    }
}

impl Resources {
    /// What whoever shares a resource limits others to.
    fn ceiling_of(&self, user: &User, resource: &ResourceDef) -> Result<Option<(User, Workspace)>, ApiError> {
        match resource.custom().map(|custom| &custom.definition) {
            Some(Definition::Shared(from)) if !user.is_master() => {
                let home = Workspace::new(&from.home);
                self.inner.attendant.ceiling(user, from, &self.sight(&home))
            }
            _ => Ok(None),
        }
    }

    /// Refuses what a workspace does not answer for the time being.
    pub(crate) fn must_answer(&self, workspace: &Workspace, target: &Target) -> Result<(), ApiError> {
        if workspace.is_everywhere() || workspace.is_nowhere() {
            return Ok(());
        }
        self.inner.attendant.answers(workspace, target, &self.sight(workspace))
    }

    /// Who somebody is once they are in a workspace.
    pub fn arrived(&self, user: Arc<User>, workspace: &Workspace) -> Arc<User> {
        self.inner.attendant.arrived(&user, workspace).map_or(user, Arc::new)
    }

    /// Refuses to let somebody be whom nobody may be by the rules of a workspace.
    pub(crate) fn unmask(&self, by: &User, wanted: &Wanted, workspace: &Workspace) -> Result<(), ApiError> {
        match self.inner.attendant.unmasked(by, wanted, workspace) {
            Some(why) => Err(ApiError::forbidden_request("", "", "", &why)),
            None => Ok(()),
        }
    }

    pub fn authorizer(&self) -> Authorizer<'_> {
        Authorizer::new(self, self.inner.elsewhere.as_deref(), self.inner.ambient.now().seconds)
    }

    /// Whether others decide besides the rules of a workspace.
    pub(crate) fn asks_elsewhere(&self) -> bool {
        self.inner.elsewhere.is_some()
    }

    fn rules_as_of(&self, workspace: &Workspace) -> Result<AsOf<Rules>, ApiError> {
        self.inner.rulebooks.derived.get(self, workspace, |snapshot, _| {
            let all = |plural: &str| self.stored_roles(workspace, snapshot, plural);
            let roles = [all("clusterroles")?, all("roles")?].concat();
            let bindings = [all("clusterrolebindings")?, all("rolebindings")?].concat();
            let own = Rules::compile(roles.iter().filter_map(stored), bindings.iter().filter_map(stored));
            Ok(own.above(self.inner.attendant.rules(workspace)))
        })
    }

    /// What holds in a workspace that has no roles of its own.
    fn given_rules(&self, workspace: &Workspace) -> Arc<Rules> {
        self.inner.attendant.rules(workspace).unwrap_or_else(|| self.inner.rulebooks.none.clone())
    }

    fn stored_roles(&self, workspace: &Workspace, snapshot: &Snapshot, plural: &str) -> Result<Vec<Entry>, ApiError> {
        let Some(resource) = self.builtin().stored_as(escalation::GROUP, plural) else { return Ok(Vec::new()) };
        let place = Collection { resource: resource.clone(), workspace: workspace.clone(), namespace: None };
        Ok(snapshot.scan(keyspace::range(&place)?).collect::<Result<_, _>>()?)
    }

    /// Refuses a role or binding that would give what its author does not have. What that was decided by must still be
    /// so when it is written.
    pub(super) fn may_grant(
        &self,
        user: &User,
        at: &Collection,
        name: &str,
        (new, old): (&Object, Option<&Object>),
    ) -> Result<Option<Beside>, ApiError> {
        let resource = &*at.resource;
        if resource.group != escalation::GROUP || user.is_in(MASTERS) {
            return Ok(None);
        }
        let AsOf { marked, made, .. } = self.rules_as_of(&at.workspace)?;
        let rules = made.unwrap_or_else(|| self.given_rules(&at.workspace));
        let grant = Grant { resource: &resource.plural, namespace: at.namespace.as_deref(), name, new, old };
        match escalation::confirm(&rules, user, &grant) {
            Ok(()) => Ok(Some(Beside::Unmoved(Mark::Rules, marked))),
            // Kubernetes speaks of what is written, and names the role.
            Err(Escalation::Role(RoleError::NotFound { name, .. })) => Err(ApiError::not_found(resource, &name)),
            // Kubernetes takes this for its own mistake.
            Err(Escalation::Role(error @ RoleError::Unsupported(_))) => Err(ApiError::bad_request(error.to_string())),
            Err(Escalation::Role(error)) => Err(ApiError::unexplained(error.to_string())),
            Err(refused) => Err(ApiError::forbidden(resource, new.name(), &refused.to_string())),
        }
    }
}

fn stored(entry: &Entry) -> Option<StoredRole<'_>> {
    let parts = keyspace::parse(&entry.key)?;
    Some(StoredRole { namespace: parts.namespace, name: parts.name, value: &entry.version.value })
}
