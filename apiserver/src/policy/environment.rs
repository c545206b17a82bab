//! What expressions of policies can speak of.

use expression::{Declared, Environment, Identity, Library, Type, kubernetes};
use std::sync::LazyLock;

/// What is there besides the objects of the request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scope {
    pub(super) params: bool,
    pub(super) authorizer: bool,
    /// `Object{…}` and `JSONPatch{…}` can be written.
    pub(super) patches: bool,
}

pub(super) const OBJECT: &str = "Object";

static PLAIN: LazyLock<Environment> =
    LazyLock::new(|| kubernetes::everywhere().into_iter().fold(Environment::new(), Environment::with));

static PATCHING: LazyLock<Environment> = LazyLock::new(|| {
    let types = Library::new().open(OBJECT).declare(json_patch());
    PLAIN.clone().with(kubernetes::patches()).with(types)
});

/// `variables` is the type of what expressions before this one are called; without it there are none.
pub(super) fn environment(scope: Scope, variables: Option<Declared>) -> Environment {
    let any = Declared::any();
    let all = facts(scope, (&any, &any));
    let all =
        if scope.authorizer { all.variable("authorizer.requestResource", authorizing("ResourceCheck")) } else { all };
    match variables {
        Some(variables) => all.variable("variables", variables),
        None => all,
    }
}

/// The same for objects and params of known types. Kubernetes does not know `authorizer.requestResource` here.
pub(super) fn typed(scope: Scope, variables: Declared, types: (&Declared, &Declared)) -> Environment {
    facts(scope, types).variable("variables", variables)
}

fn authorizing(name: &str) -> Declared {
    Declared::given(Type::object(&format!("kubernetes.authorization.{name}")))
}

fn facts(scope: Scope, (object, params): (&Declared, &Declared)) -> Environment {
    let base: &Environment = if scope.patches { &PATCHING } else { &PLAIN };
    let all = base
        .clone()
        .variable("object", object.clone())
        .variable("oldObject", object.clone())
        .variable("namespaceObject", namespace())
        .variable("request", request());
    let all = if scope.params { all.variable("params", params.clone()) } else { all };
    if scope.authorizer { all.variable("authorizer", authorizing("Authorizer")) } else { all }
}

/// The type of an operation of a JSON patch.
pub(super) fn json_patch() -> Type {
    let text = |name: &str| (name.to_owned(), Declared::string());
    let value = ("value".to_owned(), Declared::any());
    Declared::object("JSONPatch", [text("op"), text("path"), text("from"), value]).ty
}

fn object(name: &str, fields: &[(&str, &Declared)]) -> Declared {
    let fields = fields.iter().map(|(name, declared)| ((*name).to_owned(), (*declared).clone()));
    Declared::object(&format!("kubernetes.{name}"), fields)
}

fn texts() -> Declared {
    Declared::list(Declared::string(), Identity::Order)
}

/// An `AdmissionRequest` without uid and objects.
fn request() -> Declared {
    let text = &Declared::string();
    let kind = &object("GroupVersionKind", &[("group", text), ("version", text), ("kind", text)]);
    let resource = &object("GroupVersionResource", &[("group", text), ("version", text), ("resource", text)]);
    let extra = &Declared::map(texts());
    let user = &object("UserInfo", &[("username", text), ("uid", text), ("groups", &texts()), ("extra", extra)]);
    let fields: [(&str, &Declared); 12] = [
        ("kind", kind),
        ("resource", resource),
        ("subResource", text),
        ("requestKind", kind),
        ("requestResource", resource),
        ("requestSubResource", text),
        ("name", text),
        ("namespace", text),
        ("operation", text),
        ("userInfo", user),
        ("dryRun", &Declared::bool()),
        ("options", &Declared::any()),
    ];
    object("AdmissionRequest", &fields)
}

/// A `Namespace` with what policies may know of it. That a field is called `UID` is as old as the API.
fn namespace() -> Declared {
    let (text, time, int) = (&Declared::string(), &Declared::date_time(), &Declared::int());
    let labels = &Declared::map(Declared::string());
    let condition: [(&str, &Declared); 5] =
        [("status", text), ("type", text), ("lastTransitionTime", time), ("message", text), ("reason", text)];
    let conditions = &Declared::list(object("NamespaceCondition", &condition), Identity::Order);
    let metadata: [(&str, &Declared); 12] = [
        ("name", text),
        ("generateName", text),
        ("namespace", text),
        ("labels", labels),
        ("annotations", labels),
        ("UID", text),
        ("creationTimestamp", time),
        ("deletionGracePeriodSeconds", int),
        ("deletionTimestamp", time),
        ("generation", int),
        ("resourceVersion", text),
        ("finalizers", &texts()),
    ];
    let fields: [(&str, &Declared); 3] = [
        ("metadata", &object("NamespaceMetadata", &metadata)),
        ("spec", &object("NamespaceSpec", &[("finalizers", &texts())])),
        ("status", &object("NamespaceStatus", &[("conditions", conditions), ("phase", text)])),
    ];
    object("Namespace", &fields).or_null()
}
