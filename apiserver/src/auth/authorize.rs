//! Permission as a type: nobody but the authorizer can make an `Authorized`.

use super::attributes::{Asked, Attributes, Objects, What};
use super::elsewhere::{Elsewhere, Question};
use super::rules::{Decision, Rulebook};
use super::{MASTERS, User};
use crate::error::ApiError;
use crate::place::{Collection, ObjectRef, Workspace};
use crate::target::{Target, Verb};
use std::sync::Arc;

/// Something that its user may do.
#[derive(Clone, Debug)]
pub struct Authorized<T> {
    what: T,
    user: Arc<User>,
}

impl<T> Authorized<T> {
    pub fn get(&self) -> &T {
        &self.what
    }

    pub fn user(&self) -> &Arc<User> {
        &self.user
    }

    /// Looks closer at what was permitted. `narrow` must not lead outside of it.
    pub(crate) fn narrow<U>(self, narrow: impl FnOnce(T) -> U) -> Authorized<U> {
        Authorized { what: narrow(self.what), user: self.user }
    }
}

/// What somebody wants to do: a verb, and where.
#[derive(Clone, Debug)]
pub enum Access {
    Objects { verb: Verb, at: Collection },
    Object { verb: Verb, at: ObjectRef, subresource: Option<String> },
}

impl Access {
    fn place(&self) -> (&Workspace, Target) {
        match self {
            Self::Objects { verb, at } => (&at.workspace, Target::Objects { verb: *verb, at: at.clone() }),
            Self::Object { verb, at, subresource } => {
                let subresource = subresource.clone();
                (at.workspace(), Target::Object { verb: *verb, at: at.clone(), subresource })
            }
        }
    }
}

/// Decides who may do what: by the rules of the workspace in which they want to do it, and after them by those who are
/// asked besides. Whoever comes from elsewhere is decided about there alone.
#[derive(Clone, Copy)]
pub struct Authorizer<'a> {
    rules: &'a dyn Rulebook,
    elsewhere: Option<&'a dyn Elsewhere>,
    /// In seconds.
    now: i64,
}

impl<'a> Authorizer<'a> {
    pub(crate) fn new(rules: &'a dyn Rulebook, elsewhere: Option<&'a dyn Elsewhere>, now: i64) -> Self {
        Self { rules, elsewhere, now }
    }

    /// `workspace`: whose rules count. A target that has a workspace is in this one.
    pub async fn authorize(
        self,
        user: &Arc<User>,
        workspace: &Workspace,
        target: Target,
        asked: &Asked,
    ) -> Result<Authorized<Target>, ApiError> {
        if !target.is_public() {
            self.insist(user, workspace, &Attributes::of(&target, asked)).await?;
        }
        Ok(Authorized { what: target, user: user.clone() })
    }

    /// The same question, asked from inside by those whom the rules alone decide about: parts of the server.
    pub fn permit(self, user: &Arc<User>, access: Access) -> Result<Authorized<Access>, ApiError> {
        let (workspace, target) = access.place();
        self.check(user, workspace, &Attributes::of(&target, &Asked::default()))?;
        Ok(Authorized { what: access, user: user.clone() })
    }

    /// The same, asked from inside about somebody from outside.
    pub async fn permit_now(self, user: &Arc<User>, access: Access) -> Result<Authorized<Access>, ApiError> {
        let (workspace, target) = access.place();
        self.insist(user, workspace, &Attributes::of(&target, &Asked::default())).await?;
        Ok(Authorized { what: access, user: user.clone() })
    }

    /// Refuses what the user may not do, whoever has to be asked about it.
    async fn insist(self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Result<(), ApiError> {
        if self.allows(user, workspace, wanted)? {
            return Ok(());
        }
        match self.settle(user, workspace, wanted).await? {
            Decision::Allow(_) => Ok(()),
            refused => Err(refusal(user, wanted, refused.reason())),
        }
    }

    /// Whether the user may do it, and why, whoever has to be asked about it.
    pub async fn settle(
        self,
        user: &User,
        workspace: &Workspace,
        wanted: &Attributes<'_>,
    ) -> Result<Decision, ApiError> {
        let own = self.decide(user, workspace, wanted)?;
        match self.question(user, workspace, wanted) {
            Some(question) if !own.is_allowed() => match self.answer(&question).await? {
                Decision::NoOpinion(reason) if reason.is_empty() => Ok(own),
                decided => Ok(decided),
            },
            _ => Ok(own),
        }
    }

    /// What others would have to be asked, if there are any.
    pub fn question(self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Option<Question> {
        self.elsewhere?;
        user.is_somebody_in(workspace).then(|| Question::new(user, workspace, wanted))
    }

    /// What others say.
    pub async fn answer(self, question: &Question) -> Result<Decision, ApiError> {
        let Some(elsewhere) = self.elsewhere else { return Ok(Decision::NoOpinion(String::new())) };
        elsewhere.decide(question, self.now).await.map_err(ApiError::internal)
    }

    /// Refuses what the user may not do.
    pub fn check(self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Result<(), ApiError> {
        if self.allows(user, workspace, wanted)? {
            return Ok(());
        }
        Err(refusal(user, wanted, self.decide(user, workspace, wanted)?.reason()))
    }

    /// Whether the user may do it, and why.
    pub fn decide(self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Result<Decision, ApiError> {
        if !user.is_somebody_in(workspace) {
            return Ok(Decision::NoOpinion(String::new()));
        }
        if user.is_in(MASTERS) {
            return Ok(Decision::Allow(String::new()));
        }
        if user.foreign {
            return Ok(Decision::NoOpinion(String::new()));
        }
        Ok(self.rules.rules(workspace)?.decide(user, wanted))
    }

    /// Whether the user may do it.
    pub fn allows(self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Result<bool, ApiError> {
        if !user.is_somebody_in(workspace) {
            return Ok(false);
        }
        Ok(user.is_in(MASTERS) || (!user.foreign && self.rules.rules(workspace)?.allows(user, wanted)))
    }
}

impl std::fmt::Debug for Authorizer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authorizer")
    }
}

/// That a user may not do something, and why not.
pub fn refusal(user: &User, wanted: &Attributes<'_>, reason: &str) -> ApiError {
    let (name, verb) = (&user.name, wanted.verb);
    let told = match wanted.what {
        What::Path(path) => format!("User {name:?} cannot {verb} path {path:?}"),
        What::Objects(Objects { group, resource, subresource, namespace, .. }) => {
            let what = if subresource.is_empty() { resource.to_owned() } else { format!("{resource}/{subresource}") };
            let place = match namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {namespace:?}"),
            };
            format!("User {name:?} cannot {verb} resource {what:?} in API group {group:?} {place}")
        }
    };
    // What comes from a request must not look like markup in a browser.
    let told = told.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let told = if reason.is_empty() { told } else { format!("{told}: {reason}") };
    match wanted.what {
        What::Path(_) => ApiError::forbidden_request("", "", "", &told),
        What::Objects(Objects { group, resource, name, .. }) => {
            ApiError::forbidden_request(group, resource, name, &told)
        }
    }
}
