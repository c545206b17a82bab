//! Literals that can be seen to be wrong before anything runs: durations, timestamps, patterns and formats.

use crate::ast::{Call, Expr, Id, Kind, Literal};
use crate::check::Checked;
use crate::issue::Issues;
use crate::parser::Parsed;
use crate::types::Type;
use crate::value::{Error, Text, Value};
use crate::{convert, kubernetes, pattern};

struct Validator<'a, 'e> {
    places: &'e [usize],
    checked: &'e Checked,
    issues: &'e mut Issues<'a>,
}

pub(crate) fn literals(parsed: &Parsed, checked: &Checked, issues: &mut Issues<'_>) {
    Validator { places: &parsed.places, checked, issues }.visit(&parsed.root);
}

impl Validator<'_, '_> {
    fn visit(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Missing | Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select(select) => self.visit(&select.operand),
            Kind::Call(call) => {
                self.call(call);
                self.format(expr.id, call);
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
            self.report(*id, format!("invalid {} argument", call.function));
        }
    }

    fn report(&mut self, id: Id, message: String) {
        let place = self.places.get(id as usize).copied();
        self.issues.report(place, message);
    }

    /// `'%s'.format([…])` with both written out.
    fn format(&mut self, id: Id, call: &Call) {
        let Some(Expr { kind: Kind::Literal(Literal::String(format)), .. }) = &call.target else { return };
        let ("format", [Expr { kind: Kind::List(list), .. }]) = (&*call.function, &call.arguments[..]) else { return };
        let types: Vec<Type> = list.elements.iter().map(|element| self.checked.ty(element.id).clone()).collect();
        if let Some((element, message)) = kubernetes::check_format(format, &types) {
            let blamed = element.and_then(|place| list.elements.get(place)).map_or(id, |element| element.id);
            self.report(blamed, message);
        }
    }
}

fn string(text: &str) -> Value<'_> {
    Value::String(Text::Borrowed(text))
}
