//! Holds an object to the rules of its schema.
//!
//! On an update a value that did not change is not blamed for breaking a rule, unless the rule is about the change.

use std::sync::OnceLock;

use expression::{Budget, Error, Input, Value};
use openapi::FieldError;
use openapi::structural::{Node, OldItems, Rule, Type, unchanged};
use serde_json::{Map, Value as Json};

use super::Judged;
use super::compile::{Compiled, Place};
use super::message::{self, Told};
use super::{BYTES_MAX, CALL_COST, ERRORS_MAX, OLD_SELF, SELF};

/// The rules of one object, and what came of them.
#[derive(Debug)]
pub(super) struct Evaluation {
    pub(super) errors: Vec<FieldError>,
    /// What is wrong as it was before.
    forgiven: Vec<FieldError>,
    bytes: usize,
    /// What is left of the budget; none once it is spent.
    pub(super) left: Option<u64>,
}

/// No more rules are run.
struct Stop;

/// A value, and what it was before.
struct Tie<'a> {
    node: &'a Node,
    new: &'a Json,
    old: &'a Json,
    /// Found out at most once: many rules may ask.
    same: OnceLock<bool>,
}

impl<'a> Tie<'a> {
    fn new(node: &'a Node, new: &'a Json, old: &'a Json) -> Self {
        Self { node, new, old, same: OnceLock::new() }
    }

    fn is_same(&self) -> bool {
        *self.same.get_or_init(|| unchanged(self.node, self.new, self.old))
    }
}

/// What a value is tied to: its own old value, or that of the nearest value around it that has one.
#[derive(Clone, Copy, Default)]
struct Ties<'t, 'a> {
    own: Option<&'t Tie<'a>>,
    around: Option<&'t Tie<'a>>,
}

impl Ties<'_, '_> {
    fn forgive(&self) -> bool {
        self.own.or(self.around).is_some_and(Tie::is_same)
    }
}

/// A value that is held to rules.
struct At<'t, 'a> {
    node: &'a Node,
    path: &'t str,
    value: &'a Json,
    old: Option<&'a Json>,
    ties: Ties<'t, 'a>,
}

impl At<'_, '_> {
    /// As errors name it: the object as a whole has no name.
    fn field(&self) -> String {
        if self.path.is_empty() { "<nil>".to_owned() } else { self.path.to_owned() }
    }

    /// An error that shows no value, but what type it should be of.
    fn failed(&self, detail: String) -> FieldError {
        FieldError::invalid(self.field(), self.node.ty().map_or("", Type::name), detail)
    }
}

impl Evaluation {
    pub(super) fn of(budget: u64) -> Self {
        Self { errors: Vec::new(), forgiven: Vec::new(), bytes: 0, left: Some(budget) }
    }

    /// An object as a whole.
    pub(super) fn object(mut self, root: &Place, node: &Node, value: &Json, old: Option<&Json>) -> Judged {
        let tie = old.map(|old| Tie::new(node, value, old));
        let ties = Ties { own: tie.as_ref(), around: None };
        if self.place(root, &At { node, path: "", value, old, ties }).is_err() {
            self.left = None;
        }
        Judged { errors: self.errors, forgiven: self.forgiven }
    }

    /// A value at `path`, whether or not it was there before.
    pub(super) fn part(mut self, place: &Place, node: &Node, path: &str, value: &Json, old: Option<&Json>) -> Self {
        let at = At { node, path, value, old, ties: Ties::default() };
        if self.place(place, &at).is_err() {
            self.left = None;
        }
        self
    }

    fn place(&mut self, place: &Place, at: &At<'_, '_>) -> Result<(), Stop> {
        if at.value.is_null() {
            return Ok(());
        }
        self.rules(place, at)?;
        match at.value {
            Json::Array(items) => self.list(place, at, items),
            Json::Object(map) => self.map(place, at, map),
            _ => Ok(()),
        }
    }

    fn list(&mut self, place: &Place, at: &At<'_, '_>, items: &[Json]) -> Result<(), Stop> {
        let (Some(place), Some(node)) = (&place.items, at.node.items()) else { return Ok(()) };
        let old_items = OldItems::of(at.node, at.old);
        for (index, item) in items.iter().enumerate() {
            let path = format!("{}[{index}]", at.path);
            let old = old_items.of_item(item);
            self.child(place, at, Child { node, path: &path, value: item, old, tied: true })?;
        }
        Ok(())
    }

    fn map(&mut self, place: &Place, at: &At<'_, '_>, map: &Map<String, Json>) -> Result<(), Stop> {
        let old = at.old.and_then(Json::as_object);
        let is_root = at.ties.around.is_none();
        for (name, value) in map {
            let old = old.and_then(|old| old.get(name)).filter(|old| !old.is_null());
            // What an object is was converted, and does not show a change.
            let tied = !(is_root && matches!(name.as_str(), "apiVersion" | "kind"));
            if let (Some(place), Some(node)) = (&place.additional, at.node.additional_properties().schema()) {
                let path = format!("{}[{name}]", at.path);
                self.child(place, at, Child { node, path: &path, value, old, tied })?;
            }
            if let (Some(place), Some(node)) = (place.properties.get(name.as_str()), at.node.property(name)) {
                let path = joined(at.path, name);
                self.child(place, at, Child { node, path: &path, value, old, tied })?;
            }
        }
        Ok(())
    }

    fn child(&mut self, place: &Place, above: &At<'_, '_>, child: Child<'_>) -> Result<(), Stop> {
        let Child { node, path, value, old, tied } = child;
        let own = old.map(|old| Tie::new(node, value, old));
        let ties = match above.ties.own {
            Some(_) if !tied => Ties::default(),
            Some(around) => Ties { own: own.as_ref(), around: Some(around) },
            None => Ties { own: None, around: above.ties.around },
        };
        self.place(place, &At { node, path, value, old, ties })
    }

    fn rules(&mut self, place: &Place, at: &At<'_, '_>) -> Result<(), Stop> {
        if place.compiled().is_empty() {
            return Ok(());
        }
        if self.left == Some(0) {
            return self.spent(at);
        }
        let uses_old = place.compiled().iter().any(Compiled::uses_old);
        for (rule, compiled) in at.node.rules().iter().zip(place.compiled()) {
            match &compiled.program {
                Err(why) => self.push(at.failed(format!("rule compile error: {why}")))?,
                Ok(None) => {}
                Ok(Some(_)) => self.rule(rule, compiled, at, uses_old)?,
            }
        }
        Ok(())
    }

    fn spent(&mut self, at: &At<'_, '_>) -> Result<(), Stop> {
        let why = "validation failed due to running out of cost budget, no further validation rules will be run";
        self.push(at.failed(why.to_owned()))?;
        Err(Stop)
    }

    fn rule(&mut self, rule: &Rule, compiled: &Compiled, at: &At<'_, '_>, uses_old: bool) -> Result<(), Stop> {
        let Some(program) = compiled.runs() else { return Ok(()) };
        let optional = rule.optional_old_self == Some(true);
        if compiled.uses_old() && at.old.is_none() && !optional {
            return Ok(());
        }
        let mut inputs = vec![(SELF, Input::Json(at.value))];
        inputs.extend(at.old.map(|old| (OLD_SELF, Input::Json(old))));
        let mut budget = Budget::from(CALL_COST);
        let result = program.run(&inputs, &mut budget).map(|value| value.as_bool() == Some(true));
        let left = self.left.unwrap_or(0);
        let cost = CALL_COST - budget.cost;
        let beyond = result == Err(Error::Cost) && left <= CALL_COST;
        if beyond || cost > left {
            return self.spent(at);
        }
        self.left = Some(left - cost);
        match result {
            Ok(true) => Ok(()),
            Ok(false) => self.broken(rule, compiled, at, uses_old),
            Err(error) => self.failed(rule, at, &error),
        }
    }

    /// A rule that could not be run to its end.
    fn failed(&mut self, rule: &Rule, at: &At<'_, '_>, error: &Error) -> Result<(), Stop> {
        let (text, name) = (error.to_string(), message::name(rule));
        if *error == Error::Cost {
            let why = "no further validation rules will be run due to call cost exceeds limit for rule";
            self.push(at.failed(format!("'{text}': {why}: {name}")))?;
            return Err(Stop);
        }
        self.push(at.failed(if text.starts_with("no such overload") {
            let why = "call arguments did not match a supported operator, function or macro signature for rule";
            format!("'{text}': {why}: {name}")
        } else {
            format!("{text} evaluating rule: {name}")
        }))
    }

    fn broken(&mut self, rule: &Rule, compiled: &Compiled, at: &At<'_, '_>, uses_old: bool) -> Result<(), Stop> {
        let field = match &compiled.field_path {
            Some(path) => joined(at.path, path),
            None => at.field(),
        };
        let forgiven = !compiled.uses_old() && at.ties.forgive();
        let told = match &compiled.message {
            Ok(Some(program)) => {
                let inputs = for_message(rule, at, uses_old);
                let mut left = self.left.unwrap_or(0);
                let told = message::tell(program, &rule.message_expression, &inputs, &mut left);
                self.left = Some(left);
                told
            }
            _ => Told::Nothing,
        };
        let detail = match told {
            Told::Text(text) => text,
            Told::Nothing => message::own(rule),
            Told::Spent(why) => {
                if !forgiven {
                    self.push(FieldError { field, ..at.failed(why) })?;
                }
                return Err(Stop);
            }
        };
        let scalar = !matches!(at.node.ty(), Some(Type::Object | Type::Array));
        let error = message::error(rule, field, Some(at.value).filter(|_| scalar), detail);
        if forgiven {
            return self.forgive(error);
        }
        self.push(error)
    }

    fn forgive(&mut self, error: FieldError) -> Result<(), Stop> {
        self.bytes += size(&error);
        self.forgiven.push(error);
        self.go_on()
    }

    fn push(&mut self, error: FieldError) -> Result<(), Stop> {
        self.bytes += size(&error);
        self.errors.push(error);
        self.go_on()
    }

    fn go_on(&self) -> Result<(), Stop> {
        let told = self.errors.len() + self.forgiven.len();
        if told >= ERRORS_MAX || self.bytes >= BYTES_MAX { Err(Stop) } else { Ok(()) }
    }
}

fn size(error: &FieldError) -> usize {
    error.field.len() + error.detail.len() + error.value.as_ref().map_or(0, String::len)
}

/// A value inside of another.
struct Child<'a> {
    node: &'a Node,
    path: &'a str,
    value: &'a Json,
    old: Option<&'a Json>,
    tied: bool,
}

/// Messages see what rules see, but an optional old value only as something that it cannot be asked for: Kubernetes
/// hands them the old value itself.
fn for_message<'a>(rule: &Rule, at: &At<'_, 'a>, uses_old: bool) -> Vec<(&'a str, Input<'a>)> {
    let mut inputs = vec![(SELF, Input::Json(at.value))];
    if rule.optional_old_self == Some(true) {
        inputs.push((OLD_SELF, Input::Value(Value::Null)));
    } else if uses_old {
        inputs.extend(at.old.map(|old| (OLD_SELF, Input::Json(old))));
    }
    inputs
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
