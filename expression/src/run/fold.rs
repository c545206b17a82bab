//! Loops.

use std::sync::atomic::Ordering;

use crate::error::Error;
use crate::operate;
use crate::plan::{Loop, Step};
use crate::value::Value;

use super::{Frame, Outcome, Slot, absorbable};

/// How many rounds of loops pass between looks at whether to stop.
const ROUNDS: u32 = 128;

impl<'a> Frame<'a, '_> {
    pub(super) fn fold(&mut self, fold: &'a Loop) -> Outcome<'a> {
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

    pub(super) fn append(&mut self, slot: usize, added: &'a Step) -> Outcome<'a> {
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

    pub(super) fn insert(&mut self, slot: usize, added: &'a [Step]) -> Outcome<'a> {
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
