//! Kinds that somebody looks after: who completes their objects, and says what is written together with them.

use crate::allocate::Beside;
use crate::ambient::Ambient;
use crate::auth::impersonation::Wanted;
use crate::auth::{Attributes, Rules, User};
use crate::catalog::ResourceDef;
use crate::custom::Elsewhere;
use crate::error::ApiError;
use crate::object::Object;
use crate::place::{Collection, ObjectRef, Workspace};
use crate::strategy::Part;
use crate::target::Target;
use bytes::Bytes;
use openapi::FieldError;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// A write of an object that is looked after.
#[derive(Clone, Copy)]
pub struct Attending<'a> {
    pub at: &'a Collection,
    pub part: Part,
    /// What is being replaced. `None`: the object is made.
    pub old: Option<&'a Object>,
    pub user: &'a User,
    /// The author looks in from outside, and may write what can be seen.
    pub through_window: bool,
    pub ambient: &'a Ambient,
    pub around: &'a dyn Around,
}

impl fmt::Debug for Attending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attending").field("at", self.at).field("part", &self.part).finish_non_exhaustive()
    }
}

/// Somebody who wants to enter a workspace.
#[derive(Clone, Copy)]
pub struct Visit<'a> {
    /// As whom they count there.
    pub standing: &'a [Cow<'a, User>],
    pub workspace: &'a Workspace,
    /// Those of the workspace.
    pub rules: &'a Rules,
    pub around: &'a dyn Around,
}

impl fmt::Debug for Visit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit").field("workspace", self.workspace).finish_non_exhaustive()
    }
}

/// All workspaces as they are at one revision.
pub trait Around: Sync {
    /// A resource that every workspace serves, by group and plural, in the version it is stored in.
    fn resource(&self, group: &str, plural: &str) -> Option<Arc<ResourceDef>>;

    /// One object, as it is stored.
    fn object(&self, at: &ObjectRef) -> Result<Option<Object>, ApiError>;

    /// The same for those who want to know only a little of it.
    fn bytes(&self, at: &ObjectRef) -> Result<Option<Bytes>, ApiError>;

    /// All objects of a collection, as they are stored.
    fn all(&self, at: &Collection) -> Result<Vec<Object>, ApiError>;

    /// Shows the objects of a collection one by one, as they are stored and with the workspaces that they are in, for as
    /// long as more are wanted.
    fn each(&self, at: &Collection, look: &mut dyn FnMut(&Workspace, &Bytes) -> bool) -> Result<(), ApiError>;

    /// Whether the rules of a workspace let a user do something.
    fn allows(&self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Result<bool, ApiError>;

    /// The same of somebody who need not be let in for it.
    fn grants(&self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Result<bool, ApiError>;

    /// What a workspace serves besides what every workspace does; and what has to be so, and to move, when something is
    /// added to that.
    fn added(&self, workspace: &Workspace) -> Result<(Vec<Beside>, Vec<Added>), ApiError>;

    /// A new object of a built-in kind as it would be accepted, or what is wrong with it.
    fn judged(&self, resource: (&str, &str), object: Value) -> Result<Object, Vec<FieldError>>;
}

/// A resource that a workspace serves and others do not have to.
#[derive(Clone, Debug)]
pub struct Added {
    pub by: By,
    pub resource: Arc<ResourceDef>,
}

/// Whose word it is that something is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A definition of this name.
    Definition(String),
    /// An object of this name that shares what is kept elsewhere.
    Sharing(String),
    /// A definition of this name in the workspace that lends what it defines.
    Lending(String),
}

/// A definition that is shared with a workspace.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The name of the object because of which it is.
    pub by: String,
    pub from: Elsewhere,
}

/// How many objects a workspace may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allowance {
    /// As many as any other.
    #[default]
    AsOthers,
    /// Whatever holds for others. Events are not counted, nor are they refused: they tell why nothing else is made.
    Objects(u64),
    AnyNumber,
}

/// Looks after some kinds that came with the server.
pub trait Attendant: fmt::Debug + Send + Sync {
    /// Completes an object that is made or changed, after its author and all who are asked have had their say; and says
    /// what is written together with it, or not at all. May be asked several times about one write.
    fn attend(&self, object: &mut Object, write: &Attending<'_>) -> Result<Vec<Beside>, ApiError>;

    /// What is permitted in a workspace besides what its own roles and bindings permit.
    fn rules(&self, _: &Workspace) -> Option<Arc<Rules>> {
        None
    }

    /// Who somebody is once they are in a workspace, if that is somebody else.
    fn arrived(&self, _: &User, _: &Workspace) -> Option<User> {
        None
    }

    /// As whom somebody counts in a workspace: what any of these may do, they may. None, if they are nobody there.
    fn standing<'a>(&self, user: &'a User, workspace: &Workspace) -> Vec<Cow<'a, User>> {
        if user.is_somebody_in(workspace) { vec![Cow::Borrowed(user)] } else { Vec::new() }
    }

    /// Whether somebody may enter a workspace at all, whatever else its rules permit.
    fn admits(&self, _: &Visit<'_>) -> Result<bool, ApiError> {
        Ok(true)
    }

    /// Refuses what a workspace does not answer for the time being, whoever asks.
    fn answers(&self, _: &Workspace, _: &Target, _: &dyn Around) -> Result<(), ApiError> {
        Ok(())
    }

    /// Why somebody may not act as somebody else, whatever the rules of the workspace permit.
    fn unmasked(&self, _by: &User, _wanted: &Wanted, _: &Workspace) -> Option<String> {
        None
    }

    /// What is shared with a workspace, besides its own definitions.
    fn shared(&self, _: &Workspace, _: &dyn Around) -> Result<Vec<Shared>, ApiError> {
        Ok(Vec::new())
    }

    /// The workspace whose definitions a workspace serves like its own, if there is one.
    fn lender(&self, _: &Workspace, _: &dyn Around) -> Result<Option<Workspace>, ApiError> {
        Ok(None)
    }

    /// Who somebody is to whoever shares a kind, and where, if the rules there limit what may be done with its objects.
    fn ceiling(&self, _: &User, _: &Elsewhere, _: &dyn Around) -> Result<Option<(User, Workspace)>, ApiError> {
        Ok(None)
    }

    /// Says on an object of a shared kind whose it is: whoever shares it sees those of all workspaces side by side.
    fn brand(&self, _object: &mut Object, _: &Workspace) {}

    /// What somebody should know who only asks what a write would do.
    fn foretell(&self, _object: &Object, _: &Attending<'_>) -> Result<Vec<String>, ApiError> {
        Ok(Vec::new())
    }

    /// Looks at the metadata of an object that is made or changed: what in it is not its author's is put back, or is why
    /// the write is refused. Says how many objects the workspace may hold, which is known where it is looked at. Of what
    /// masters write only what they make is asked.
    fn keep(&self, _object: &mut Object, _: &Attending<'_>) -> Result<Allowance, ApiError> {
        Ok(Allowance::default())
    }
}

/// Leaves everything as it is.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Attendant for Nobody {
    fn attend(&self, _: &mut Object, _: &Attending<'_>) -> Result<Vec<Beside>, ApiError> {
        Ok(Vec::new())
    }
}
