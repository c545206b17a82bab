//! Questions to whoever authorizes requests: `authorizer.group('apps').resource('deployments').check('get').allowed()`.

use std::fmt::Debug;
use std::sync::Arc;

use super::costs::Costs;
use super::{named, opaque, text};
use crate::cost::{Cost, LIST_CREATION, OBJECT_CREATION, Size, TRAVERSAL};
use crate::error::Error;
use crate::library::{Library, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};

/// Whoever can tell whether the user of a request may do something.
pub trait Authorizer: Debug + Send + Sync {
    fn authorize(&self, attributes: &Attributes) -> Decision;
}

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Namespace and name of the service account that is asked for instead of the user.
    pub service_account: Option<(String, String)>,
    pub verb: String,
    /// Of a request that is not about a resource.
    pub path: String,
    pub group: String,
    /// Empty if the request is about a path.
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
    /// As they are written, and to be left out where they cannot be read. Empty ones are none.
    pub field_selector: String,
    pub label_selector: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub allowed: bool,
    pub reason: String,
    pub error: Option<String>,
}

/// A value for the variable `authorizer`.
pub fn authorizer(by: Arc<dyn Authorizer>) -> Value<'static> {
    Value::opaque(Check { by, stage: Stage::Authorizer, attributes: Attributes::default() })
}

/// A value for the variable `authorizer.requestResource`: a check of the resource that a request is about.
pub fn request_resource(by: Arc<dyn Authorizer>, attributes: Attributes) -> Value<'static> {
    Value::opaque(Check { by, stage: Stage::Resource, attributes })
}

/// A check that costs so much leaves room for two of them in a call.
const CHECK: u64 = 350_000;

/// A question as far as it has been put.
#[derive(Clone, Debug)]
struct Check {
    by: Arc<dyn Authorizer>,
    stage: Stage,
    attributes: Attributes,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Authorizer,
    Path,
    Group,
    Resource,
}

impl Stage {
    fn ty(self) -> Type {
        Type::object(match self {
            Stage::Authorizer => "kubernetes.authorization.Authorizer",
            Stage::Path => "kubernetes.authorization.PathCheck",
            Stage::Group => "kubernetes.authorization.GroupCheck",
            Stage::Resource => "kubernetes.authorization.ResourceCheck",
        })
    }
}

impl Opaque for Check {
    fn ty(&self) -> Type {
        self.stage.ty()
    }

    fn equals(&self, _: &dyn Opaque) -> Result<bool, Error> {
        Err(Error::no_such_overload())
    }
}

impl Opaque for Decision {
    fn ty(&self) -> Type {
        decision()
    }

    fn equals(&self, _: &dyn Opaque) -> Result<bool, Error> {
        Err(Error::no_such_overload())
    }
}

fn decision() -> Type {
    Type::object("kubernetes.authorization.Decision")
}

pub(super) fn library() -> Library {
    let types = [Stage::Authorizer.ty(), Stage::Path.ty(), Stage::Group.ty(), Stage::Resource.ty(), decision()];
    let library =
        types.into_iter().fold(Library::new(), |library, ty| library.equality(ty, |_| Some(Cost::exactly(1).into())));
    decisions(refinements(stages(library)))
}

/// How a question becomes one about something.
fn stages(library: Library) -> Library {
    let (who, group) = (Stage::Authorizer.ty(), Stage::Group.ty());
    let to = |id, from: &Type, stage: Stage, run| {
        [Overload::member(id, [from.clone(), Type::String], stage.ty(), run).nominal()]
    };
    let account = [who.clone(), Type::String, Type::String];
    let account = Overload::member("authorizer_serviceaccount", account, who.clone(), service_account).nominal();
    library
        .function("serviceAccount", [account])
        .function(
            "path",
            to("authorizer_path", &who, Stage::Path, |a| next(a, Stage::Path, Some("path"), |of| &mut of.path)),
        )
        .function(
            "group",
            to("authorizer_group", &who, Stage::Group, |a| next(a, Stage::Group, None, |of| &mut of.group)),
        )
        .function(
            "resource",
            to("groupcheck_resource", &group, Stage::Resource, |a| {
                next(a, Stage::Resource, Some("resource"), |of| &mut of.resource)
            }),
        )
}

/// What can be said besides of a resource.
fn refinements(library: Library) -> Library {
    let overload = |id, run| Overload::member(id, [Stage::Resource.ty(), Type::String], Stage::Resource.ty(), run);
    library
        .function(
            "subresource",
            [overload("resourcecheck_subresource", |a| refine(a, |of| &mut of.subresource)).nominal()],
        )
        .function("namespace", [overload("resourcecheck_namespace", |a| refine(a, |of| &mut of.namespace)).nominal()])
        .function("name", [overload("resourcecheck_name", |a| refine(a, |of| &mut of.name)).nominal()])
        .function(
            "fieldSelector",
            [selecting(overload("authorizer_fieldselector", |a| refine(a, |of| &mut of.field_selector)))],
        )
        .function(
            "labelSelector",
            [selecting(overload("authorizer_labelselector", |a| refine(a, |of| &mut of.label_selector)))],
        )
}

fn decisions(library: Library) -> Library {
    let check = |id, stage: Stage| {
        let overload = Overload::member(id, [stage.ty(), Type::String], decision(), check);
        overload.cost(|_, _| Some(CHECK)).estimate(|_| Some(Cost::exactly(CHECK).into()))
    };
    let tell = |id, result, run| [Overload::member(id, [decision()], result, run).nominal()];
    library
        .function("check", [check("pathcheck_check", Stage::Path), check("resourcecheck_check", Stage::Resource)])
        .function("allowed", tell("decision_allowed", Type::Bool, |a| Ok(of(a)?.allowed.into())))
        .function("reason", tell("decision_reason", Type::String, |a| Ok(of(a)?.reason.clone().into())))
        .function("errored", tell("decision_errored", Type::Bool, |a| Ok(of(a)?.error.is_some().into())))
        .function(
            "error",
            tell("decision_error", Type::String, |a| Ok(of(a)?.error.clone().unwrap_or_default().into())),
        )
}

fn of<'v>(arguments: &'v [Value<'_>]) -> Result<&'v Decision, Error> {
    opaque(arguments, 0)
}

/// Where an argument belongs.
type Place = fn(&mut Attributes) -> &mut String;

/// The next stage. What is named may not be blank.
fn next<'a>(arguments: &[Value<'a>], stage: Stage, named: Option<&str>, place: Place) -> Result<Value<'a>, Error> {
    let (check, part) = (opaque::<Check>(arguments, 0)?, text(arguments, 1)?);
    if let Some(name) = named.filter(|_| part.trim().is_empty()) {
        return Err(Error::new(format!("{name} must not be empty")));
    }
    let mut check = Check { stage, ..check.clone() };
    part.clone_into(place(&mut check.attributes));
    Ok(Value::opaque(check))
}

fn refine<'a>(arguments: &[Value<'a>], place: Place) -> Result<Value<'a>, Error> {
    next(arguments, Stage::Resource, None, place)
}

fn service_account<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let mut check = opaque::<Check>(arguments, 0)?.clone();
    let (namespace, name) = (text(arguments, 1)?, text(arguments, 2)?);
    if !named::dns_subdomain(name).is_empty() {
        return Err(Error::new("Invalid service account name"));
    }
    if !named::dns_label(namespace).is_empty() {
        return Err(Error::new("Invalid service account namespace"));
    }
    check.attributes.service_account = Some((namespace.to_owned(), name.to_owned()));
    Ok(Value::opaque(check))
}

fn check<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let check: &Check = opaque(arguments, 0)?;
    let attributes = Attributes { verb: text(arguments, 1)?.to_owned(), ..check.attributes.clone() };
    Ok(Value::opaque(check.by.authorize(&attributes)))
}

/// A selector is read into requirements, the shortest of which are two characters long, each an object with a list.
fn selecting(overload: Overload) -> Overload {
    overload
        .cost(|arguments, _| Some(selector(Size::exactly(arguments.get(1)?.size())).max))
        .estimate(|call| Some(selector(call.argument(0)?.size()).into()))
}

fn selector(length: Size) -> Cost {
    let requirements = length.at(0.5).at((LIST_CREATION + OBJECT_CREATION) as f64);
    Cost::exactly(LIST_CREATION).plus(length.at(TRAVERSAL)).plus(requirements)
}
