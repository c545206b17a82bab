//! A checked expression as steps to run: names are slots, literals are values, and what is constant is computed.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use regex::Regex;

use crate::ast::{Call, Entry, Expr, Fold, Kind, List, Literal, Object, Select, operator};
use crate::check::{Checked, Reference};
use crate::environment::Environment;
use crate::error::Error;
use crate::library::Overload;
use crate::pattern;
use crate::types::{Declared, Type};
use crate::value::data::Map;
use crate::value::{Text, Value, compare_numbers};

#[derive(Debug)]
pub(crate) enum Step {
    Constant(Value<'static>),
    Attribute(Box<Attribute>),
    /// `has(…)`: whether the last qualifier of the attribute finds something.
    Test(Box<Attribute>),
    And(Box<(Step, Step)>),
    Or(Box<(Step, Step)>),
    Equals(Box<(Step, Step)>),
    NotEquals(Box<(Step, Step)>),
    /// True for anything but false, failures included.
    NotStrictlyFalse(Box<Step>),
    Call(Box<Invocation>),
    /// A match with a pattern that is written out.
    Matches(Box<(Step, Value<'static>, Regex)>),
    /// Whether a value is among constants.
    Among(Box<(Step, Constants)>),
    /// `a.or(b)`, and with `true` `a.orValue(b)`
    OptionalOr(Box<(Step, Step)>, bool),
    /// Elements, and whether each is left out when absent.
    List(Vec<(Step, bool)>),
    Map(Vec<(Step, Step, bool)>),
    Object(Arc<crate::types::Object>, Vec<(Value<'static>, Step, bool)>),
    Fold(Box<Loop>),
    /// Adds a list to the accumulator of the innermost fold, in place.
    Append(usize, Box<Step>),
    /// Adds an entry, or all of a map, to the accumulator of the innermost fold, in place.
    Insert(usize, Vec<Step>),
}

/// Scalars, to look one up in.
#[derive(Debug, Default)]
pub(crate) struct Constants {
    strings: HashSet<Box<str>>,
    /// Sorted, whatever their types are.
    numbers: Vec<Value<'static>>,
    bools: [bool; 2],
}

impl Constants {
    fn new(values: Vec<Value<'static>>) -> Constants {
        let mut constants = Constants::default();
        for value in values {
            match value {
                Value::String(text) => drop(constants.strings.insert((*text).into())),
                Value::Bool(value) => constants.bools[usize::from(value)] = true,
                Value::Double(number) if number.is_nan() => {}
                number => constants.numbers.push(number),
            }
        }
        constants.numbers.sort_by(|one, two| compare_numbers(one, two).unwrap_or(Ordering::Equal));
        constants
    }

    pub(crate) fn contain(&self, value: &Value<'_>) -> bool {
        match value {
            Value::String(text) => self.strings.contains(&**text),
            Value::Bool(value) => self.bools[usize::from(*value)],
            Value::Int(_) | Value::Uint(_) | Value::Double(_) => {
                let found = self.numbers.binary_search_by(|number| {
                    // What is not a number is before none of them.
                    compare_numbers(number, value).unwrap_or(Ordering::Less)
                });
                found.is_ok()
            }
            _ => false,
        }
    }
}

/// A variable or another value, and what is selected from it.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) root: Root,
    pub(crate) qualifiers: Vec<Qualifier>,
}

#[derive(Debug)]
pub(crate) enum Root {
    /// The number of a declared variable.
    Variable(usize),
    Local(usize),
    Computed(Step),
    Conditional(Box<(Step, Attribute, Attribute)>),
}

#[derive(Debug)]
pub(crate) struct Qualifier {
    pub(crate) key: Key,
    pub(crate) optional: bool,
}

#[derive(Debug)]
pub(crate) enum Key {
    /// A field that the type of the operand declares: found without looking at the declaration again.
    Declared(Box<Declaration>),
    Field(Arc<str>),
    Constant(Value<'static>),
    Attribute(Attribute),
}

impl Key {
    /// The name, if it is written out.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Key::Declared(field) => Some(&field.name),
            Key::Field(name) => Some(name),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) name: Arc<str>,
    pub(crate) object: Arc<crate::types::Object>,
    pub(crate) key: Box<str>,
    pub(crate) declared: Declared,
}

#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) function: Arc<str>,
    /// Those that may fit: one, if the types of the arguments are known.
    pub(crate) overloads: Vec<Overload>,
    pub(crate) arguments: Vec<Step>,
    /// Whether the arguments' types must be looked at before the overload is run.
    pub(crate) guarded: bool,
    /// Whether a failing argument keeps those after it from being computed.
    pub(crate) in_order: bool,
}

#[derive(Debug)]
pub(crate) struct Loop {
    pub(crate) range: Step,
    pub(crate) initial: Step,
    pub(crate) condition: Step,
    pub(crate) step: Step,
    pub(crate) result: Step,
    /// The slot of the accumulator; those of the variables follow.
    pub(crate) slot: usize,
    pub(crate) two: bool,
}

pub(crate) struct Planner<'e> {
    environment: &'e Environment,
    checked: &'e Checked,
    /// Local variables in scope, and their slots. Every fold has slots of its own: a binding's value may be computed
    /// while folds inside the binding run.
    locals: Vec<(Arc<str>, usize)>,
    /// Accumulators of the folds around, innermost last: their slots, if they start as an empty list or map.
    growing: Vec<usize>,
    pub(crate) slots: usize,
}

const CONVERSIONS: [&str; 10] =
    ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

impl<'e> Planner<'e> {
    pub(crate) fn new(environment: &'e Environment, checked: &'e Checked) -> Planner<'e> {
        Planner { environment, checked, locals: Vec::new(), growing: Vec::new(), slots: 0 }
    }

    pub(crate) fn plan(&mut self, expr: &Expr) -> Result<Step, Error> {
        match &expr.kind {
            Kind::Missing => Err(Error::new("unsupported expr")),
            Kind::Literal(literal) => Ok(Step::Constant(constant(literal))),
            Kind::Ident(name) => self.ident(expr, name),
            Kind::Select(select) => self.select(select),
            Kind::Call(call) => self.call(expr, call),
            Kind::List(list) => self.list(list),
            Kind::Map(entries) => self.map(entries),
            Kind::Object(object) => self.object(expr, object),
            Kind::Fold(fold) => self.fold(fold),
        }
    }

    fn ident(&self, expr: &Expr, name: &str) -> Result<Step, Error> {
        let root = match self.checked.reference(expr.id) {
            Reference::Variable(index) => Root::Variable(*index),
            Reference::Type(ty) => return Ok(Step::Constant(Value::Type(ty.clone()))),
            Reference::Local => match self.slot(name) {
                Some(slot) => Root::Local(slot),
                None => return Err(Error::new(format!("no such attribute(s): {name}"))),
            },
            _ => return Err(Error::new(format!("no such attribute(s): {name}"))),
        };
        Ok(Step::Attribute(Box::new(Attribute { root, qualifiers: Vec::new() })))
    }

    fn slot(&self, name: &str) -> Option<usize> {
        self.locals.iter().rev().find(|(local, _)| &**local == name).map(|(_, slot)| *slot)
    }

    /// The attribute that a step is, or one whose root is the step.
    fn attribute(step: Step) -> Attribute {
        match step {
            Step::Attribute(attribute) => *attribute,
            other => Attribute { root: Root::Computed(other), qualifiers: Vec::new() },
        }
    }

    fn select(&mut self, select: &Select) -> Result<Step, Error> {
        let mut attribute = Self::attribute(self.plan(&select.operand)?);
        attribute.qualifiers.push(Qualifier { key: self.field(select), optional: false });
        let attribute = Box::new(attribute);
        Ok(if select.test { Step::Test(attribute) } else { Step::Attribute(attribute) })
    }

    fn field(&self, select: &Select) -> Key {
        let Type::Object(object) = self.checked.ty(select.operand.id) else { return Key::Field(select.field.clone()) };
        let Some(field) = object.field(&select.field) else { return Key::Field(select.field.clone()) };
        let (name, object) = (select.field.clone(), object.clone());
        let (key, declared) = (field.key.clone(), field.declared.clone());
        Key::Declared(Box::new(Declaration { name, object, key, declared }))
    }

    fn call(&mut self, expr: &Expr, call: &Call) -> Result<Step, Error> {
        if let Some(step) = self.grow(call)? {
            return Ok(step);
        }
        let mut arguments = Vec::with_capacity(call.arguments.len() + 1);
        for argument in call.target.iter().chain(&call.arguments) {
            arguments.push(self.plan(argument)?);
        }
        let function = &*call.function;
        match (function, arguments.len()) {
            (operator::AND, 2) => Ok(Step::And(pair(arguments))),
            (operator::OR, 2) => Ok(Step::Or(pair(arguments))),
            (operator::EQUALS, 2) => Ok(Step::Equals(pair(arguments))),
            (operator::NOT_EQUALS, 2) => Ok(Step::NotEquals(pair(arguments))),
            (operator::CONDITIONAL, 3) => Ok(conditional(arguments)),
            (operator::NOT_STRICTLY_FALSE, 1) => Ok(Step::NotStrictlyFalse(Box::new(arguments.remove(0)))),
            (operator::INDEX, 2) => Ok(index(arguments, false)),
            (operator::OPTIONAL_INDEX | operator::OPTIONAL_SELECT, 2) => Ok(index(arguments, true)),
            ("or", 2) if self.is_optional(expr) => Ok(Step::OptionalOr(pair(arguments), false)),
            ("orValue", 2) if self.is_optional(expr) => Ok(Step::OptionalOr(pair(arguments), true)),
            _ => self.invoke(expr, call, arguments),
        }
    }

    fn is_optional(&self, expr: &Expr) -> bool {
        let overloads = self.overloads(expr);
        overloads.len() != 1 || overloads[0].id.starts_with("optional_")
    }

    fn overloads(&self, expr: &Expr) -> Vec<Overload> {
        let Reference::Overloads(function, places) = self.checked.reference(expr.id) else { return Vec::new() };
        let all = self.environment.base.functions.get(&**function).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|place| all.get(*place)).cloned().collect()
    }

    fn invoke(&mut self, expr: &Expr, call: &Call, arguments: Vec<Step>) -> Result<Step, Error> {
        let overloads = self.overloads(expr);
        let known = overloads.len() == 1;
        let id = if known { overloads[0].id } else { "" };
        if let (true, [_, Step::Constant(Value::List(list))]) = (id == "in_list", &arguments[..]) {
            let values: Vec<Value<'static>> = list.to_vec()?;
            let plain = |value: &Value<'_>| {
                matches!(value, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_))
            };
            if values.is_empty() {
                return Ok(Step::Constant(Value::Bool(false)));
            }
            if values.iter().all(plain) {
                let value = arguments.into_iter().next().unwrap_or(Step::Constant(Value::Null));
                return Ok(Step::Among(Box::new((value, Constants::new(values)))));
            }
        }
        let mut in_order = arguments.len() > 2;
        for overload in &overloads {
            if let Some(place) = overload.pattern
                && let Some(Step::Constant(Value::String(pattern))) = arguments.get(place)
            {
                pattern::compiled(pattern)?;
                in_order = true;
            }
        }
        if let ("matches", [_, Step::Constant(pattern @ Value::String(text))]) = (&*call.function, &arguments[..]) {
            let regex = pattern::compile(text)?;
            let pattern = pattern.clone();
            let text = arguments.into_iter().next().unwrap_or(Step::Constant(Value::Null));
            return Ok(Step::Matches(Box::new((text, pattern, regex))));
        }
        if let (true, [Step::Constant(value)]) = (CONVERSIONS.contains(&&*call.function), &arguments[..]) {
            let values = [value.clone()];
            let overload = overloads.iter().find(|overload| overload.singleton || overload.accepts(&values));
            let overload = overload.ok_or_else(|| mismatch(&call.function, &values))?;
            return Ok(Step::Constant((overload.run)(&values)?.into_owned()));
        }
        let guarded = !overloads.iter().any(|overload| overload.singleton)
            && (!known
                || call.target.iter().chain(&call.arguments).any(|argument| is_open(self.checked.ty(argument.id))));
        in_order |= guarded && !known;
        let function = call.function.clone();
        Ok(Step::Call(Box::new(Invocation { function, overloads, arguments, guarded, in_order })))
    }

    /// A step that makes the accumulator larger, done in place: a loop that collects takes linear time.
    fn grow(&mut self, call: &Call) -> Result<Option<Step>, Error> {
        let Some(slot) = self.growing.last().copied() else { return Ok(None) };
        let Some(Expr { kind: Kind::Ident(name), .. }) = call.arguments.first() else { return Ok(None) };
        if self.slot(name) != Some(slot) || &**name != crate::ast::ACCUMULATOR {
            return Ok(None);
        }
        match (&*call.function, &call.arguments[1..]) {
            (operator::ADD, [added]) if matches!(added.kind, Kind::List(_)) => {
                Ok(Some(Step::Append(slot, Box::new(self.plan(added)?))))
            }
            ("cel.@mapInsert", added) => {
                let added = added.iter().map(|argument| self.plan(argument)).collect::<Result<_, _>>()?;
                Ok(Some(Step::Insert(slot, added)))
            }
            _ => Ok(None),
        }
    }

    fn list(&mut self, list: &List) -> Result<Step, Error> {
        let mut elements = Vec::with_capacity(list.elements.len());
        for (index, element) in list.elements.iter().enumerate() {
            elements.push((self.plan(element)?, list.optional.contains(&index)));
        }
        let constants = elements.iter().map(|(element, optional)| match element {
            Step::Constant(value) if !optional => Some(value.clone()),
            _ => None,
        });
        match constants.collect::<Option<Vec<_>>>() {
            Some(values) => Ok(Step::Constant(Value::from(values))),
            None => Ok(Step::List(elements)),
        }
    }

    fn map(&mut self, entries: &[Entry]) -> Result<Step, Error> {
        let mut steps = Vec::with_capacity(entries.len());
        for entry in entries {
            steps.push((self.plan(&entry.key)?, self.plan(&entry.value)?, entry.optional));
        }
        let constants = steps.iter().map(|entry| match entry {
            (Step::Constant(key), Step::Constant(value), false) => Some((key.clone(), value.clone())),
            _ => None,
        });
        match constants.collect::<Option<Vec<_>>>() {
            Some(entries) => Ok(Step::Constant(Value::Map(Map::from(entries)))),
            None => Ok(Step::Map(steps)),
        }
    }

    fn object(&mut self, expr: &Expr, object: &Object) -> Result<Step, Error> {
        let Reference::Type(Type::Object(ty)) = self.checked.reference(expr.id) else {
            return Err(Error::new(format!("unknown type: {}", object.name)));
        };
        let ty = ty.clone();
        let mut fields = Vec::with_capacity(object.fields.len());
        for field in &object.fields {
            let name = Value::String(Text::Shared(field.name.clone()));
            fields.push((name, self.plan(&field.value)?, field.optional));
        }
        Ok(Step::Object(ty, fields))
    }

    fn fold(&mut self, fold: &Fold) -> Result<Step, Error> {
        let initial = self.plan(&fold.initial)?;
        let range = self.plan(&fold.range)?;
        let (slot, before) = (self.slots, self.locals.len());
        self.slots += 3;
        let grows = match &initial {
            Step::Constant(Value::List(list)) => list.is_empty(),
            Step::Constant(Value::Map(map)) => map.is_empty(),
            _ => false,
        };
        self.locals.push((fold.accumulator.clone(), slot));
        self.locals.push((fold.variable.clone(), slot + 1));
        self.locals.extend(fold.second.clone().map(|name| (name, slot + 2)));
        let condition = self.plan(&fold.condition)?;
        self.growing.push(if grows { slot } else { usize::MAX });
        let step = self.plan(&fold.step);
        self.growing.pop();
        let step = step?;
        self.locals.truncate(before + 1);
        let result = self.plan(&fold.result)?;
        self.locals.truncate(before);
        let two = fold.second.is_some();
        Ok(Step::Fold(Box::new(Loop { range, initial, condition, step, result, slot, two })))
    }
}

fn pair(arguments: Vec<Step>) -> Box<(Step, Step)> {
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next().unwrap_or(Step::Constant(Value::Null));
    Box::new((next(), next()))
}

fn conditional(arguments: Vec<Step>) -> Step {
    let mut arguments = arguments.into_iter();
    let mut next = || arguments.next().unwrap_or(Step::Constant(Value::Null));
    let condition = next();
    let (yes, no) = (Planner::attribute(next()), Planner::attribute(next()));
    let root = Root::Conditional(Box::new((condition, yes, no)));
    Step::Attribute(Box::new(Attribute { root, qualifiers: Vec::new() }))
}

fn index(arguments: Vec<Step>, optional: bool) -> Step {
    let (target, key) = *pair(arguments);
    let mut attribute = Planner::attribute(target);
    let key = match key {
        Step::Constant(Value::String(Text::Shared(name))) => Key::Field(name),
        Step::Constant(value) => Key::Constant(value),
        other => Key::Attribute(Planner::attribute(other)),
    };
    attribute.qualifiers.push(Qualifier { key, optional });
    Step::Attribute(Box::new(attribute))
}

/// Whether a value of this type may turn out to be of another.
fn is_open(ty: &Type) -> bool {
    match ty {
        Type::Dyn | Type::Param(_) | Type::Error => true,
        Type::List(inner) | Type::Optional(inner) => is_open(inner),
        Type::Map(entry) => is_open(&entry.0) || is_open(&entry.1),
        _ => false,
    }
}

pub(crate) fn mismatch(function: &str, arguments: &[Value<'_>]) -> Error {
    let types: Vec<String> = arguments.iter().map(|value| value.ty().name().to_owned()).collect();
    Error::new(format!("no such overload: {function}({})", types.join(", ")))
}

fn constant(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(number) => Value::Int(*number),
        Literal::Uint(number) => Value::Uint(*number),
        Literal::Double(number) => Value::Double(*number),
        Literal::String(text) => Value::String(Text::Shared(text.clone())),
        Literal::Bytes(bytes) => Value::Bytes(bytes.clone()),
    }
}
