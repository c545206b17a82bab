//! What a cell should hold: the template as its author wrote it, with what is different there.

use super::mark;
use super::mark::Origin;
use super::overrides;
use super::overrides::OverrideError;
use crate::apis;
use crate::apis::Kind;
use crate::apis::interpret::{InterpretError, Interpreter};
use crate::apis::kinds;
use crate::scheduler::Cell;
use crate::scheduler::Target;
use crate::scheduler::Terms;
use crate::scheduler::rule::Namespaces;
use crate::scheduler::webster;
use serde_json::Value;

/// Everything a rendering depends on.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    pub template: &'a Value,
    /// All targets: some things are divided among them.
    pub targets: &'a [Target],
    pub cell: &'a Cell,
    pub terms: &'a Terms,
    pub origin: &'a Origin,
    /// The namespace of the template, with its UID; `None` if it has none.
    pub namespace: Option<&'a Value>,
    /// Who knows what the template means.
    pub interpreter: &'a Interpreter,
}

/// Why it cannot be said what a cell should hold.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum RenderError {
    #[error(transparent)]
    Override(#[from] OverrideError),
    #[error(transparent)]
    Interpret(#[from] InterpretError),
}

impl RenderError {
    /// One word for a condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Override(_) => "CannotOverride",
            Self::Interpret(_) => "CannotInterpret",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rendered {
    pub object: Value,
    /// What the cell gets to see of the source's status, if it does.
    pub status: Option<Value>,
}

/// The name of a source namespace in a cell.
pub fn namespace_in_cell(names: Namespaces, namespace: &Value) -> String {
    let meta = |key| apis::text(namespace, &["metadata", key]).unwrap_or_default();
    match names {
        Namespaces::ByUid => format!("ns-{}", meta("uid")),
        Namespaces::Same => meta("name").to_owned(),
    }
}

/// Overrides come last: what they say of replicas counts.
pub fn render(order: &Order<'_>) -> Result<Rendered, RenderError> {
    let mut object = order.template.clone();
    kinds::strip(&mut object);
    map_namespace(&mut object, order);
    divide(&mut object, order)?;
    // Copies have some of both when they are done: overrides may count on there being a place for more.
    for some in ["labels", "annotations"] {
        apis::map_mut(&mut object, &["metadata", some]);
    }
    overrides::apply(&mut object, &order.terms.overrides, order.cell)?;
    mark::mark(&mut object, order.template, order.origin);
    let status = order.template.get("status").filter(|_| order.terms.status_down).cloned();
    Ok(Rendered { object, status })
}

fn map_namespace(object: &mut Value, order: &Order<'_>) {
    let Some(namespace) = order.namespace else { return };
    let name = namespace_in_cell(order.terms.namespaces, namespace);
    let before = apis::text(object, &["metadata", "namespace"]).unwrap_or_default().to_owned();
    apis::map_mut(object, &["metadata"]).insert("namespace".to_owned(), name.as_str().into());
    // Accounts of the same namespace move with it.
    if Kind::of(object).name() == ("rbac.authorization.k8s.io", "RoleBinding") {
        let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
        for subject in subjects.into_iter().flatten().filter_map(Value::as_object_mut) {
            if subject.get("namespace").and_then(Value::as_str) == Some(before.as_str()) {
                subject.insert("namespace".to_owned(), name.as_str().into());
            }
        }
    }
}

fn divide(object: &mut Value, order: &Order<'_>) -> Result<(), InterpretError> {
    let mine = order.targets.iter().find(|target| target.cell == order.cell.name);
    let Some(replicas) = mine.and_then(|target| target.replicas) else { return Ok(()) };
    order.interpreter.revise(object, replicas)?;
    if order.terms.divides && Kind::of(object).name() == ("batch", "Job") {
        divide_completions(object, order);
    }
    Ok(())
}

/// What a job has to complete is divided as what it runs at once.
fn divide_completions(object: &mut Value, order: &Order<'_>) {
    let Some(completions) = apis::number(object, &["spec", "completions"]) else { return };
    let weight = |target: &Target| Some((target.cell.clone(), target.replicas?));
    let weights = order.targets.iter().filter_map(weight).collect();
    let uid = apis::text(order.template, &["metadata", "uid"]).unwrap_or_default();
    if let Some(share) = webster::divide(completions, &weights, uid).get(&order.cell.name) {
        apis::map_mut(object, &["spec"]).insert("completions".to_owned(), (*share).into());
    }
}
