//! Policies and their bindings, as they are stored.

use super::compiled::{Expression, Named, Wanted, text};
use super::constraints::Constraints;
use super::environment::{self, Scope};
use super::look::ParamKind;
use super::params::ParamRef;
use crate::object::Object;
use serde_json::Value;

/// A policy that is bound to something.
#[derive(Debug)]
pub(super) struct Policy<R> {
    pub(super) name: String,
    pub(super) constraints: Result<Constraints, String>,
    pub(super) param_kind: Option<ParamKind>,
    /// A write goes on when the policy cannot be asked.
    pub(super) ignores_failure: bool,
    pub(super) named: Named,
    pub(super) conditions: Vec<Expression>,
    /// What the policy wants.
    pub(super) rules: R,
    /// By their names.
    pub(super) bindings: Vec<Binding>,
}

#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: String,
    pub(super) policy: String,
    /// `None`: whatever the policy is about.
    pub(super) resources: Option<Result<Constraints, String>>,
    pub(super) param: Option<ParamRef>,
    /// Of those that validate.
    pub(super) actions: Vec<String>,
}

/// By the names of policies. One that nobody has bound does nothing.
pub(super) fn policies<R>(
    policies: &[Object],
    bindings: &[Object],
    rules: impl Fn(&Object, Scope, &Named) -> R,
) -> Vec<Policy<R>> {
    let mut sorted: Vec<&Object> = policies.iter().collect();
    sorted.sort_by_key(|policy| policy.name());
    let bound = |policy: &Object| {
        let own = bindings.iter().filter(|binding| binding.text(&["spec", "policyName"]) == policy.name());
        let mut own: Vec<Binding> = own.map(Binding::read).collect();
        own.sort_by(|one, other| one.name.cmp(&other.name));
        (!own.is_empty()).then_some(own)
    };
    let all = sorted.into_iter().filter_map(|policy| Some((policy, bound(policy)?)));
    all.map(|(policy, bindings)| Policy::read(policy, bindings, &rules)).collect()
}

impl<R> Policy<R> {
    fn read(policy: &Object, bindings: Vec<Binding>, rules: impl Fn(&Object, Scope, &Named) -> R) -> Self {
        let kind = given(policy.pointer(&["spec", "paramKind"]));
        let scope = scope(policy);
        let named = Named::read(policy, scope);
        let environment = environment::environment(scope, Some(named.declared()));
        let conditions = policy.items(&["spec", "matchConditions"]).map(|item| text(item, "expression"));
        let constraints = given(policy.pointer(&["spec", "matchConstraints"]));
        Self {
            name: policy.name().to_owned(),
            constraints: constraints.map_or_else(
                || Err("policy contained no match constraints, a required field".to_owned()),
                Constraints::read,
            ),
            param_kind: kind.map(|kind| ParamKind {
                api_version: text(kind, "apiVersion").to_owned(),
                kind: text(kind, "kind").to_owned(),
            }),
            ignores_failure: policy.text(&["spec", "failurePolicy"]) == "Ignore",
            conditions: conditions.map(|text| Expression::compile(&environment, text, Wanted::Bool)).collect(),
            rules: rules(policy, scope, &named),
            named,
            bindings,
        }
    }
}

/// What expressions of a policy have.
pub(super) fn scope(policy: &Object) -> Scope {
    Scope { params: given(policy.pointer(&["spec", "paramKind"])).is_some(), authorizer: true, patches: false }
}

fn given(tree: Option<&Value>) -> Option<&Value> {
    tree.filter(|tree| !tree.is_null())
}

impl Binding {
    fn read(binding: &Object) -> Self {
        let actions = binding.items(&["spec", "validationActions"]).filter_map(Value::as_str);
        Self {
            name: binding.name().to_owned(),
            policy: binding.text(&["spec", "policyName"]).to_owned(),
            resources: given(binding.pointer(&["spec", "matchResources"])).map(Constraints::read),
            param: given(binding.pointer(&["spec", "paramRef"])).map(ParamRef::read),
            actions: actions.map(str::to_owned).collect(),
        }
    }
}
