//! Runs programs, and counts what they cost as cel-go does.

use std::sync::atomic::Ordering;

use crate::cost::{LIST_CREATION, MAP_CREATION, OBJECT_CREATION, TRAVERSAL, scale};
use crate::data::{Entries, Map, read};
use crate::effort;
use crate::operate;
use crate::plan::{Attribute, Invocation, Key, Loop, Qualifier, Root, Step, mismatch};
use crate::program::{Budget, Input, Program};
use crate::types::Form;
use crate::value::{Error, Text, Value};

/// How many rounds of loops pass between looks at whether to stop.
const ROUNDS: u32 = 128;

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
    program: &'a Program,
    inputs: &'a [(&'a str, Input<'a>)],
    locals: Vec<Slot<'a>>,
    budget: &'b mut Budget,
    rounds: u32,
}

impl<'a, 'b> Frame<'a, 'b> {
    pub(crate) fn new(program: &'a Program, inputs: &'a [(&'a str, Input<'a>)], budget: &'b mut Budget) -> Self {
        let locals = std::iter::repeat_with(|| Slot::Empty).take(program.slots).collect();
        Frame { program, inputs, locals, budget, rounds: 0 }
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
            Step::Among(value, constants) => {
                let value = self.eval(value)?;
                Ok(Value::Bool(constants.iter().any(|constant| operate::equals(constant, &value))))
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

    fn attribute(&mut self, attribute: &'a Attribute) -> Outcome<'a> {
        let value = absorbable(self.resolve(attribute))?;
        // A choice costs what its condition and the chosen side cost.
        if !matches!(attribute.root, Root::Conditional(_)) {
            self.charge(1)?;
        }
        value
    }

    fn resolve(&mut self, attribute: &'a Attribute) -> Outcome<'a> {
        if let (Root::Variable(index), Some(first)) = (&attribute.root, attribute.qualifiers.first())
            && let Some(value) = self.computed_field(*index, first)
        {
            return self.qualify(value?, &attribute.qualifiers[1..]);
        }
        let value = self.root(&attribute.root)?;
        self.qualify(value, &attribute.qualifiers)
    }

    fn root(&mut self, root: &'a Root) -> Outcome<'a> {
        match root {
            Root::Variable(index) => self.variable(*index),
            Root::Local(slot) => self.local(*slot),
            Root::Computed(step) => self.eval(step),
            Root::Conditional(parts) => match self.eval(&parts.0)? {
                Value::Bool(true) => self.resolve(&parts.1),
                Value::Bool(false) => self.resolve(&parts.2),
                _ => Err(Error::no_such_overload()),
            },
        }
    }

    fn input(&self, index: usize) -> Option<&'a Input<'a>> {
        let name = &*self.program.variables[index].0;
        // Callers mostly give inputs in the order of the declarations.
        if let Some((given, input)) = self.inputs.get(index)
            && *given == name
        {
            return Some(input);
        }
        self.inputs.iter().find(|(given, _)| *given == name).map(|(_, input)| input)
    }

    fn variable(&mut self, index: usize) -> Outcome<'a> {
        let (name, declared) = &self.program.variables[index];
        match self.input(index) {
            Some(Input::Json(json)) => read(json, declared),
            Some(Input::Value(value)) => Ok(value.clone()),
            Some(Input::Fields(_)) => Err(Error::new(format!("{name} can only be asked for its fields"))),
            None if matches!(declared.form, Form::Optional(_)) => Ok(Value::Optional(None)),
            None => Err(Error::new(format!("no such attribute(s): {name}"))),
        }
    }

    fn computed_field(&mut self, index: usize, qualifier: &Qualifier) -> Option<Outcome<'a>> {
        let Some(Input::Fields(fields)) = self.input(index) else { return None };
        let name = qualifier.key.name()?;
        let value = fields.field(name, self.budget);
        let value = value.unwrap_or_else(|| Err(Error::new(format!("no such key: {name}"))));
        Some(self.charge(1).and(value))
    }

    fn local(&mut self, slot: usize) -> Outcome<'a> {
        if let Some(Slot::Pending(initial)) = self.locals.get(slot) {
            let initial: &'a Step = initial;
            let value = absorbable(self.eval(initial))?;
            self.locals[slot] = Slot::Set(value);
        }
        match self.locals.get(slot) {
            Some(Slot::Set(value)) => value.clone(),
            _ => Err(Error::new("no such attribute(s)")),
        }
    }

    /// Selects from a value step by step. From the first optional selection on, what is absent ends the chain.
    fn qualify(&mut self, value: Value<'a>, qualifiers: &'a [Qualifier]) -> Outcome<'a> {
        let (mut value, mut optional) = match value {
            _ if qualifiers.is_empty() => return Ok(value),
            Value::Optional(None) => return Ok(value),
            Value::Optional(Some(inner)) => ((*inner).clone(), true),
            plain => (plain, false),
        };
        for qualifier in qualifiers {
            optional |= qualifier.optional;
            let found = absorbable(self.find(&value, &qualifier.key, optional))?;
            if optional {
                match found? {
                    None => return Ok(Value::Optional(None)),
                    Some(next) => value = next,
                }
                self.charge(1)?;
            } else {
                self.charge(1)?;
                value = found?.ok_or_else(|| self.missing(&value, &qualifier.key))?;
            }
        }
        Ok(if optional { Value::some(value) } else { value })
    }

    /// `has(…)`. All but the last selection must succeed.
    fn test(&mut self, attribute: &'a Attribute) -> Outcome<'a> {
        let Some((last, before)) = attribute.qualifiers.split_last() else { return Ok(Value::Bool(false)) };
        if let (Root::Variable(index), []) = (&attribute.root, before)
            && let Some(value) = self.computed_field(*index, last)
        {
            return Ok(Value::Bool(value.is_ok()));
        }
        let root = self.root(&attribute.root)?;
        let value = match self.qualify(root, before)? {
            Value::Optional(None) => return Ok(Value::Bool(false)),
            Value::Optional(Some(inner)) => (*inner).clone(),
            plain => plain,
        };
        let found = absorbable(self.find(&value, &last.key, true))?;
        self.charge(1)?;
        Ok(Value::Bool(found?.is_some()))
    }

    fn find(&mut self, value: &Value<'a>, key: &'a Key, lenient: bool) -> Result<Option<Value<'a>>, Error> {
        match key {
            Key::Declared(field) => match value {
                Value::Map(Map(Entries::Object(map, object))) if std::ptr::eq(*object, &*field.object) => {
                    let json = map.get(&*field.key).filter(|json| !json.is_null());
                    json.map(|json| read(json, &field.declared)).transpose()
                }
                _ => named(value, &field.name),
            },
            Key::Field(name) => named(value, name),
            Key::Constant(constant) => element(value, constant),
            Key::Attribute(attribute) => {
                let key = self.resolve(attribute)?;
                let found = element(value, &key)?;
                // Told here: afterwards the key is gone.
                if found.is_none() && !lenient { Err(absent(value, &key)) } else { Ok(found) }
            }
        }
    }

    fn missing(&self, value: &Value<'a>, key: &'a Key) -> Error {
        match key {
            Key::Declared(field) => absent(value, &Value::from(&*field.name)),
            Key::Field(name) => absent(value, &Value::from(&**name)),
            Key::Constant(constant) => absent(value, constant),
            Key::Attribute(_) => Error::no_such_overload(),
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
        let size = |value: &Outcome<'_>| value.as_ref().map_or(1, Value::size);
        let cost = match &one {
            Ok(Value::Opaque(_)) if !negated => 1,
            _ => scale(size(&one).min(size(&two)), TRAVERSAL),
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

    fn fold(&mut self, fold: &'a Loop) -> Outcome<'a> {
        let range = self.eval(&fold.range)?;
        self.locals[fold.slot] = Slot::Pending(&fold.initial);
        self.rounds(fold, range)?;
        self.eval(&fold.result)
    }

    fn rounds(&mut self, fold: &'a Loop, range: Value<'a>) -> Result<(), Error> {
        match range {
            Value::List(list) => {
                for index in 0..list.len() {
                    let Some(element) = list.get(index) else { break };
                    let index = Ok(Value::Int(i64::try_from(index).unwrap_or(i64::MAX)));
                    let (first, second) = if fold.two { (index, Some(element)) } else { (element, None) };
                    if !self.round(fold, first, second)? {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                for key in map.keys() {
                    let second = fold.two.then(|| map.get(&key).map(|value| value.unwrap_or(Value::Null)));
                    if !self.round(fold, Ok(key), second)? {
                        break;
                    }
                }
            }
            other if fold.two => {
                let found = go_type(&other);
                return Err(Error::new(format!("unsupported comprehension range type: {found}")));
            }
            other => return Err(Error::new(format!("got '{}', expected iterable type", go_type(&other)))),
        }
        Ok(())
    }

    /// One round of a loop; whether there may be another.
    fn round(&mut self, fold: &'a Loop, first: Outcome<'a>, second: Option<Outcome<'a>>) -> Result<bool, Error> {
        self.locals[fold.slot + 1] = Slot::Set(first);
        if let Some(second) = second {
            self.locals[fold.slot + 2] = Slot::Set(second);
        }
        let condition = absorbable(self.eval(&fold.condition))?;
        if matches!(condition, Ok(Value::Bool(false))) {
            return Ok(false);
        }
        let value = absorbable(self.eval(&fold.step))?;
        self.locals[fold.slot] = Slot::Set(value);
        self.look_around()?;
        Ok(true)
    }

    fn look_around(&mut self) -> Result<(), Error> {
        self.rounds = self.rounds.wrapping_add(1);
        match &self.budget.stop {
            Some(stop) if self.rounds.is_multiple_of(ROUNDS) && stop.load(Ordering::Relaxed) => Err(Error::Cost),
            _ => Ok(()),
        }
    }

    /// The accumulator, taken out of its slot so that nobody else holds it.
    fn take(&mut self, slot: usize) -> Outcome<'a> {
        let value = self.local(slot);
        self.locals[slot] = Slot::Empty;
        value
    }

    fn append(&mut self, slot: usize, added: &'a Step) -> Outcome<'a> {
        self.charge(1)?;
        let added = absorbable(self.eval(added))?;
        self.charge(1)?;
        let collected = self.take(slot)?;
        match (collected, added?) {
            (Value::List(mut list), Value::List(added)) => {
                operate::append(&mut list, &added)?;
                Ok(Value::List(list))
            }
            _ => Err(Error::no_such_overload()),
        }
    }

    fn insert(&mut self, slot: usize, added: &'a [Step]) -> Outcome<'a> {
        self.charge(1)?;
        let mut values = Vec::with_capacity(2);
        for step in added {
            values.push(absorbable(self.eval(step))?);
        }
        self.charge(1)?;
        let collected = self.take(slot)?;
        let Value::Map(mut map) = collected else { return Err(Error::no_such_overload()) };
        let mut values = values.into_iter();
        match (values.next(), values.next()) {
            (Some(key), Some(value)) => operate::insert_in_place(&mut map, key?, value?)?,
            (Some(more), None) => {
                let more = more?;
                let more = more.as_map().ok_or_else(Error::no_such_overload)?;
                for (key, value) in more.entries()? {
                    operate::insert_in_place(&mut map, key, value)?;
                }
            }
            _ => return Err(Error::no_such_overload()),
        }
        Ok(Value::Map(map))
    }
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

fn named<'a>(value: &Value<'a>, name: &str) -> Result<Option<Value<'a>>, Error> {
    match value {
        Value::Map(map) => map.field(name).transpose(),
        Value::List(_) => element(value, &Value::String(Text::Borrowed(name))),
        _ => Ok(None),
    }
}

/// What a key finds in a map or list. A list has no keys but numbers.
fn element<'a>(value: &Value<'a>, key: &Value<'_>) -> Result<Option<Value<'a>>, Error> {
    match value {
        Value::Map(map) => map.get(key),
        Value::List(list) => {
            let index = match key {
                Value::Int(index) => Some(*index),
                Value::Uint(index) => i64::try_from(*index).ok(),
                Value::Double(index) => crate::number::exact_int(*index),
                other => return Err(Error::new(format!("unsupported index type '{}' in list", other.ty().name()))),
            };
            let Some(index) = index else {
                return Err(Error::new(format!("unsupported index value {} in list", crate::convert::debug(key))));
            };
            usize::try_from(index).ok().and_then(|index| list.get(index)).transpose()
        }
        _ => Ok(None),
    }
}

fn absent(value: &Value<'_>, key: &Value<'_>) -> Error {
    let shown = crate::convert::debug(key);
    match value {
        Value::List(_) => Error::new(format!("index out of bounds: {shown}")),
        _ => Error::new(format!("no such key: {shown}")),
    }
}

/// What cel-go calls the type of a value in its own language.
fn go_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Optional(_) => "*types.Optional",
        Value::Type(_) => "*types.Type",
        Value::List(_) => "*types.baseList",
        Value::Map(_) => "*types.baseMap",
        Value::Opaque(_) => "ref.Val",
    }
}
