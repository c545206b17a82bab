//! Permission as a type: nobody but the authorizer can make an `Authorized`.

use super::attributes::{Asked, Attributes, Objects, What, guess};
use super::elsewhere::{Elsewhere, Question};
use super::rules::{Decision, Rulebook, Rules};
use super::{MASTERS, User};
use crate::error::ApiError;
use crate::place::{Collection, ObjectRef, Workspace};
use crate::target::{Target, Verb};
use std::borrow::Cow;
use std::sync::Arc;

/// Why somebody may do nothing in a workspace, be there one or not.
pub const CLOSED: &str = "workspace access not permitted";

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
    fn workspace(&self) -> &Workspace {
        match self {
            Self::Objects { at, .. } => &at.workspace,
            Self::Object { at, .. } => at.workspace(),
        }
    }

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
            self.enter(user, workspace, asked)?;
            self.insist(user, workspace, &Attributes::of(&target, asked)).await?;
            self.limit(user, &target, asked)?;
        }
        Ok(Authorized { what: target, user: user.clone() })
    }

    /// Permits a target to whoever may do something else, which stands for it in the rules of a workspace; and to those
    /// for whom `otherwise` finds something that is theirs to see of it. Others are refused in the same words as if
    /// there were no such workspace.
    pub(crate) fn lend(
        self,
        user: &Arc<User>,
        (workspace, wanted): (&Workspace, &Attributes<'_>),
        target: Target,
        asked: &Asked,
        otherwise: impl FnOnce(&Target) -> bool,
    ) -> Result<Authorized<Target>, ApiError> {
        if !self.allows(user, workspace, wanted)? && !otherwise(&target) {
            return Err(refusal(user, &guess(asked), CLOSED));
        }
        Ok(Authorized { what: target, user: user.clone() })
    }

    /// The same question, asked from inside by those whom the rules alone decide about: parts of the server.
    pub fn permit(self, user: &Arc<User>, access: Access) -> Result<Authorized<Access>, ApiError> {
        // They ask all the time, and may do anything where there is a workspace.
        if access.workspace().is_nowhere() || !(user.is_part_of_the_server() && user.is_master()) {
            let (workspace, target) = access.place();
            self.check(user, workspace, &Attributes::of(&target, &Asked::default()))?;
            self.limit(user, &target, &Asked::default())?;
        }
        Ok(Authorized { what: access, user: user.clone() })
    }

    /// The same, asked from inside about somebody from outside.
    pub async fn permit_now(self, user: &Arc<User>, access: Access) -> Result<Authorized<Access>, ApiError> {
        let (workspace, target) = access.place();
        self.insist(user, workspace, &Attributes::of(&target, &Asked::default())).await?;
        self.limit(user, &target, &Asked::default())?;
        Ok(Authorized { what: access, user: user.clone() })
    }

    /// Refuses what whoever shares a kind permits nobody to do who is like the user, whatever they may where they are.
    pub(crate) fn limit(self, user: &User, target: &Target, asked: &Asked) -> Result<(), ApiError> {
        let Some(resource) = target.resource() else { return Ok(()) };
        let Some((there, rules)) = self.rules.ceiling(user, resource)? else { return Ok(()) };
        let wanted = Attributes::of(target, asked);
        if rules.allows(&there, &wanted) {
            return Ok(());
        }
        Err(refusal(user, &wanted, "whoever shares this API does not permit it"))
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

    /// What others would have to be asked, if there are any. They are not asked about those who may not even enter.
    pub fn question(self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Option<Question> {
        self.elsewhere?;
        self.visit(user, workspace).ok().flatten()?;
        Some(Question::new(user, workspace, wanted))
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
        let Some((standing, rules)) = self.visit(user, workspace)? else {
            return Ok(Decision::NoOpinion(CLOSED.to_owned()));
        };
        let mut first = None;
        for user in &standing {
            match rules.decide(user, wanted) {
                decision @ Decision::Allow(_) => return Ok(decision),
                refused => first = first.or(Some(refused)),
            }
        }
        Ok(first.unwrap_or_else(|| Decision::NoOpinion(String::new())))
    }

    /// Whether the user may do it.
    pub fn allows(self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Result<bool, ApiError> {
        let visit = self.visit(user, workspace)?;
        Ok(visit.is_some_and(|(standing, rules)| standing.iter().any(|user| rules.allows(user, wanted))))
    }

    /// The same of somebody who need not be let in for it: they only want what is offered to them there.
    pub fn grants(self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Result<bool, ApiError> {
        let rules = self.rules.rules(workspace)?;
        Ok(self.rules.standing(user, workspace).iter().any(|user| rules.allows(user, wanted)))
    }

    /// Refuses those who may not enter the workspace, in the same words as if there were none: what is said follows from
    /// the request alone.
    pub fn enter(self, user: &User, workspace: &Workspace, asked: &Asked) -> Result<(), ApiError> {
        match self.visit(user, workspace)? {
            Some(_) => Ok(()),
            None => Err(refusal(user, &guess(asked), CLOSED)),
        }
    }

    /// As whom somebody counts in a workspace, and what is permitted there; nothing if they may not enter it.
    fn visit<'u>(self, user: &'u User, workspace: &Workspace) -> Result<Option<Visit<'u>>, ApiError> {
        if workspace.is_nowhere() {
            return Ok(None);
        }
        let (standing, rules) = (self.rules.standing(user, workspace), self.rules.rules(workspace)?);
        let is_master = standing.iter().any(|user| user.is_in(MASTERS));
        if user.foreign && !is_master {
            // Whoever comes from elsewhere is decided about there alone: the rules know nobody like them.
            return Ok((!standing.is_empty()).then(|| (Vec::new(), rules)));
        }
        let admitted = is_master || !standing.is_empty() && self.rules.admits(&standing, workspace, &rules)?;
        Ok(admitted.then_some((standing, rules)))
    }
}

type Visit<'u> = (Vec<Cow<'u, User>>, Arc<Rules>);

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
