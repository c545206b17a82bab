//! Variables, and what is selected from them.

use crate::error::Error;
use crate::input::Input;
use crate::plan::{Attribute, Key, Qualifier, Root, Step};
use crate::types::Form;
use crate::value::data::{Entries, Map, read};
use crate::value::{Text, Value};

use super::{Frame, Outcome, Slot, absorbable};

impl<'a> Frame<'a, '_> {
    pub(super) fn attribute(&mut self, attribute: &'a Attribute) -> Outcome<'a> {
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
        let name = &*self.variables[index].0;
        // Callers mostly give inputs in the order of the declarations.
        if let Some((given, input)) = self.inputs.get(index)
            && *given == name
        {
            return Some(input);
        }
        self.inputs.iter().find(|(given, _)| *given == name).map(|(_, input)| input)
    }

    fn variable(&mut self, index: usize) -> Outcome<'a> {
        let (name, declared) = &self.variables[index];
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

    pub(super) fn local(&mut self, slot: usize) -> Outcome<'a> {
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
    pub(super) fn test(&mut self, attribute: &'a Attribute) -> Outcome<'a> {
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
