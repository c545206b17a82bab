//! Literals that can be seen to be wrong before anything runs: durations, timestamps and patterns.

use crate::ast::{Call, Expr, Kind, Literal};
use crate::check::Checked;
use crate::environment::Environment;
use crate::issue::Issues;
use crate::parser::Parsed;
use crate::value::{Error, Text, Value};
use crate::{convert, pattern};

struct Validator<'a, 'e> {
    places: &'e [usize],
    issues: &'e mut Issues<'a>,
}

pub(crate) fn literals(parsed: &Parsed, _: &Checked, _: &Environment, issues: &mut Issues<'_>) {
    Validator { places: &parsed.places, issues }.visit(&parsed.root);
}

impl Validator<'_, '_> {
    fn visit(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Missing | Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select(select) => self.visit(&select.operand),
            Kind::Call(call) => {
                self.call(call);
                call.target.iter().chain(&call.arguments).for_each(|argument| self.visit(argument));
            }
            Kind::List(list) => list.elements.iter().for_each(|element| self.visit(element)),
            Kind::Map(entries) => entries.iter().for_each(|entry| {
                self.visit(&entry.key);
                self.visit(&entry.value);
            }),
            Kind::Object(object) => object.fields.iter().for_each(|field| self.visit(&field.value)),
            Kind::Fold(fold) => {
                for part in [&fold.range, &fold.initial, &fold.condition, &fold.step, &fold.result] {
                    self.visit(part);
                }
            }
        }
    }

    fn call(&mut self, call: &Call) {
        let Some(Expr { id, kind: Kind::Literal(literal) }) = call.arguments.first() else { return };
        let result: Result<(), Error> = match (&*call.function, literal) {
            ("duration", Literal::String(text)) => convert::duration(&string(text)).map(|_| ()),
            ("timestamp", Literal::String(text)) => convert::timestamp(&string(text)).map(|_| ()),
            ("timestamp", Literal::Int(seconds)) => convert::timestamp(&Value::Int(*seconds)).map(|_| ()),
            ("matches", Literal::String(text)) => pattern::compiled(text).map(|_| ()),
            _ => return,
        };
        if result.is_err() {
            let place = self.places.get(*id as usize).copied();
            self.issues.report(place, format!("invalid {} argument", call.function));
        }
    }
}

fn string(text: &str) -> Value<'_> {
    Value::String(Text::Borrowed(text))
}
