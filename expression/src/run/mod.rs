//! Runs programs, and counts what they cost as cel-go does.

mod attribute;
mod fold;

use std::sync::Arc;

use crate::cost::{LIST_CREATION, MAP_CREATION, OBJECT_CREATION, TRAVERSAL, scale};
use crate::effort;
use crate::error::Error;
use crate::input::{Budget, Input};
use crate::operate;
use crate::plan::{Invocation, Step, mismatch};
use crate::types::Declared;
use crate::value::data::Map;
use crate::value::{Text, Value, characters};

type Outcome<'a> = Result<Value<'a>, Error>;

/// A local variable.
#[derive(Debug)]
enum Slot<'a> {
    Empty,
    /// An accumulator that nobody has asked for yet.
    Pending(&'a Step),
    Set(Outcome<'a>),
}

/// One run of a program.
pub(crate) struct Frame<'a, 'b> {
    variables: &'a [(Arc<str>, Declared)],
    inputs: &'a [(&'a str, Input<'a>)],
    locals: Vec<Slot<'a>>,
    budget: &'b mut Budget,
    rounds: u32,
}

impl<'a, 'b> Frame<'a, 'b> {
    /// `slots`: how many local variables there are.
    pub(crate) fn new(
        variables: &'a [(Arc<str>, Declared)],
        slots: usize,
        inputs: &'a [(&'a str, Input<'a>)],
        budget: &'b mut Budget,
    ) -> Self {
        let locals = std::iter::repeat_with(|| Slot::Empty).take(slots).collect();
        Frame { variables, inputs, locals, budget, rounds: 0 }
    }

    fn charge(&mut self, cost: u64) -> Result<(), Error> {
        match self.budget.cost.checked_sub(cost) {
            Some(left) => {
                self.budget.cost = left;
                Ok(())
            }
            None => {
                self.budget.cost = 0;
                Err(Error::Cost)
            }
        }
    }

    pub(crate) fn eval(&mut self, step: &'a Step) -> Outcome<'a> {
        match step {
            Step::Constant(value) => Ok(borrowed(value)),
            Step::Attribute(attribute) => self.attribute(attribute),
            Step::Test(attribute) => self.test(attribute),
            Step::And(terms) => self.logic(terms, false),
            Step::Or(terms) => self.logic(terms, true),
            Step::Equals(sides) => self.equals(sides, false),
            Step::NotEquals(sides) => self.equals(sides, true),
            Step::NotStrictlyFalse(inner) => {
                let value = absorbable(self.eval(inner))?;
                self.charge(1)?;
                Ok(Value::Bool(!matches!(value, Ok(Value::Bool(false)))))
            }
            Step::Call(invocation) => self.invoke(invocation),
            Step::Matches(parts) => self.matches(parts),
            Step::Among(parts) => {
                let value = self.eval(&parts.0)?;
                Ok(Value::Bool(parts.1.contain(&value)))
            }
            Step::OptionalOr(sides, value) => self.optional_or(sides, *value),
            Step::List(elements) => self.list(elements),
            Step::Map(entries) => self.map(entries),
            Step::Object(ty, fields) => self.object(ty, fields),
            Step::Fold(fold) => self.fold(fold),
            Step::Append(slot, added) => self.append(*slot, added),
            Step::Insert(slot, added) => self.insert(*slot, added),
        }
    }

    /// `||` with `decisive` true, `&&` with false. A failure on one side does not matter if the other decides.
    fn logic(&mut self, terms: &'a (Step, Step), decisive: bool) -> Outcome<'a> {
        let mut failure = None;
        for term in [&terms.0, &terms.1] {
            let error = match absorbable(self.eval(term))? {
                Ok(Value::Bool(value)) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => continue,
                Ok(_) => Error::no_such_overload(),
                Err(error) => error,
            };
            failure.get_or_insert(error);
        }
        failure.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn equals(&mut self, sides: &'a (Step, Step), negated: bool) -> Outcome<'a> {
        let one = absorbable(self.eval(&sides.0))?;
        let two = absorbable(self.eval(&sides.1))?;
        let cost = match (&one, &two) {
            (Ok(Value::Opaque(_)), _) if !negated => 1,
            (Ok(one), Ok(two)) => scale(smaller_size(one, two), TRAVERSAL),
            (Ok(value), Err(_)) | (Err(_), Ok(value)) => scale(value.size().min(1), TRAVERSAL),
            (Err(_), Err(_)) => 1,
        };
        self.charge(cost)?;
        let equal = absorbable(operate::try_equals(&one?, &two?))?;
        // What cannot be compared is not equal.
        Ok(Value::Bool(if negated { !equal.unwrap_or(false) } else { equal? }))
    }

    fn matches(&mut self, parts: &'a (Step, Value<'static>, regex::Regex)) -> Outcome<'a> {
        let text = self.eval(&parts.0)?;
        let size = scale(text.size().saturating_add(1), TRAVERSAL);
        self.charge(size.saturating_mul(scale(parts.1.size(), crate::cost::PATTERN)))?;
        match &text {
            Value::String(text) => Ok(Value::Bool(parts.2.is_match(text))),
            _ => Err(Error::no_such_overload()),
        }
    }

    fn optional_or(&mut self, sides: &'a (Step, Step), inner: bool) -> Outcome<'a> {
        match self.eval(&sides.0)? {
            Value::Optional(Some(value)) => Ok(if inner { (*value).clone() } else { Value::Optional(Some(value)) }),
            Value::Optional(None) => self.eval(&sides.1),
            _ => Err(Error::no_such_overload()),
        }
    }

    fn invoke(&mut self, invocation: &'a Invocation) -> Outcome<'a> {
        match &invocation.arguments[..] {
            [] => self.apply(invocation, &[]),
            [one] => match absorbable(self.eval(one))? {
                Ok(value) => self.apply(invocation, &[value]),
                Err(error) => self.fail(invocation, &[Value::Null], error),
            },
            [one, two] if !invocation.in_order => {
                let one = absorbable(self.eval(one))?;
                let two = absorbable(self.eval(two))?;
                match (one, two) {
                    (Ok(one), Ok(two)) => self.apply(invocation, &[one, two]),
                    (Err(error), two) => self.fail(invocation, &[Value::Null, two.unwrap_or(Value::Null)], error),
                    (Ok(one), Err(error)) => self.fail(invocation, &[one, Value::Null], error),
                }
            }
            all => {
                let mut arguments = Vec::with_capacity(all.len());
                for (place, argument) in all.iter().enumerate() {
                    match absorbable(self.eval(argument))? {
                        Ok(value) => arguments.push(value),
                        // Only a call that got as far as its last argument is charged.
                        Err(error) if place + 1 < all.len() => return Err(error),
                        Err(error) => {
                            arguments.push(Value::Null);
                            return self.fail(invocation, &arguments, error);
                        }
                    }
                }
                self.apply(invocation, &arguments)
            }
        }
    }

    fn apply(&mut self, invocation: &'a Invocation, arguments: &[Value<'a>]) -> Outcome<'a> {
        // What cannot be afforded is not even begun.
        if price(invocation, arguments, None) > self.budget.cost {
            self.budget.cost = 0;
            return Err(Error::Cost);
        }
        let overload = match &invocation.overloads[..] {
            [only] if !invocation.guarded => Some(only),
            [first, ..] if !invocation.guarded => Some(first),
            all => all.iter().find(|overload| overload.accepts(arguments)),
        };
        let result = match overload {
            Some(overload) => (overload.run)(arguments),
            None => Err(mismatch(&invocation.function, arguments)),
        };
        self.charge(price(invocation, arguments, result.as_ref().ok()))?;
        effort::check()?;
        result
    }

    /// Charges for a call whose arguments could not be computed.
    fn fail(&mut self, invocation: &'a Invocation, arguments: &[Value<'a>], error: Error) -> Outcome<'a> {
        self.charge(price(invocation, arguments, None))?;
        Err(error)
    }

    fn list(&mut self, steps: &'a [(Step, bool)]) -> Outcome<'a> {
        let elements = absorbable(self.elements(steps))?;
        self.charge(LIST_CREATION)?;
        elements.map(Value::from)
    }

    fn elements(&mut self, steps: &'a [(Step, bool)]) -> Result<Vec<Value<'a>>, Error> {
        let mut elements = Vec::with_capacity(steps.len());
        for (step, optional) in steps {
            match self.eval(step)? {
                value if !optional => elements.push(value),
                Value::Optional(Some(inner)) => elements.push((*inner).clone()),
                Value::Optional(None) => {}
                other => {
                    let value = crate::convert::debug(&other);
                    let refusal = "cannot initialize optional list element from non-optional value";
                    return Err(Error::new(format!("{refusal} {value}")));
                }
            }
        }
        Ok(elements)
    }

    fn map(&mut self, steps: &'a [(Step, Step, bool)]) -> Outcome<'a> {
        let entries = absorbable(self.entries(steps))?;
        self.charge(MAP_CREATION)?;
        entries.map(|entries| Value::Map(Map::from(entries)))
    }

    fn entries(&mut self, steps: &'a [(Step, Step, bool)]) -> Result<Vec<(Value<'a>, Value<'a>)>, Error> {
        let mut entries = Vec::with_capacity(steps.len());
        for (key, value, optional) in steps {
            let key = self.eval(key)?;
            let value = self.eval(value)?;
            entries.extend(entry(key, value, *optional)?);
        }
        Ok(entries)
    }

    fn object(
        &mut self,
        ty: &std::sync::Arc<crate::types::Object>,
        fields: &'a [(Value<'static>, Step, bool)],
    ) -> Outcome<'a> {
        let mut entries = Vec::with_capacity(fields.len());
        let mut failure = None;
        for (name, step, optional) in fields {
            let value = absorbable(self.eval(step))?;
            match value.and_then(|value| entry(borrowed(name), value, *optional)) {
                Ok(found) => entries.extend(found),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        self.charge(OBJECT_CREATION)?;
        failure.map_or_else(|| Ok(Value::Map(Map::made(entries, Some(ty.clone())))), Err)
    }
}

/// The size of the smaller value. A long text beside a short one is not even counted.
fn smaller_size(one: &Value<'_>, two: &Value<'_>) -> u64 {
    let (Value::String(left), Value::String(right)) = (one, two) else { return one.size().min(two.size()) };
    let (short, long) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    let size = characters(short);
    // A character has at most four bytes.
    if long.len() as u64 / 4 >= size { size } else { size.min(characters(long)) }
}

/// What a call costs. Where the overload is not known before it runs, that is the least that any of them would.
fn price<'a>(invocation: &Invocation, arguments: &[Value<'a>], result: Option<&Value<'a>>) -> u64 {
    let known = invocation.overloads.len() == 1;
    let priced = invocation.overloads.iter().filter(|overload| known || !overload.only_if_known);
    let costs = priced.filter_map(|overload| overload.cost).filter_map(|cost| cost(arguments, result));
    costs.min().unwrap_or(1)
}

/// Lets a failure be looked at, but a spent budget through.
fn absorbable<T>(outcome: Result<T, Error>) -> Result<Result<T, Error>, Error> {
    match outcome {
        Err(Error::Cost) => Err(Error::Cost),
        other => Ok(other),
    }
}

/// A constant without touching its count of holders.
fn borrowed<'a>(value: &'a Value<'static>) -> Value<'a> {
    match value {
        Value::String(text) => Value::String(Text::Borrowed(text)),
        other => other.clone(),
    }
}

fn entry<'a>(key: Value<'a>, value: Value<'a>, optional: bool) -> Result<Option<(Value<'a>, Value<'a>)>, Error> {
    match value {
        value if !optional => Ok(Some((key, value))),
        Value::Optional(inner) => Ok(inner.map(|inner| (key, (*inner).clone()))),
        other => {
            let (key, value) = (crate::convert::debug(&key), crate::convert::debug(&other));
            Err(Error::new(format!("cannot initialize optional entry '{key}' from non-optional value {value}")))
        }
    }
}
