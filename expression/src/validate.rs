//! What can be seen to be wrong before anything runs: literals of durations, timestamps, patterns and formats, and lists
//! and maps of mixed types.

use crate::ast::{Call, Entry, Expr, Id, Kind, List, Literal};
use crate::check::Checked;
use crate::convert;
use crate::error::Error;
use crate::issue::Issues;
use crate::kubernetes::{self, Argument};
use crate::parser::Parsed;
use crate::pattern;
use crate::types::Type;
use crate::value::{Text, Value};

struct Validator<'a, 'e> {
    places: &'e [usize],
    checked: &'e Checked,
    issues: &'e mut Issues<'a>,
    /// Inside the arguments of `format`, which may be of any types.
    mixed: bool,
}

pub(crate) fn literals(parsed: &Parsed, checked: &Checked, issues: &mut Issues<'_>) {
    Validator { places: &parsed.places, checked, issues, mixed: false }.visit(&parsed.root);
}

impl Validator<'_, '_> {
    fn visit(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Missing | Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select(select) => self.visit(&select.operand),
            Kind::Call(call) => {
                self.call(call);
                self.format(expr.id, call);
                let outside = self.mixed;
                self.mixed |= &*call.function == "format";
                call.target.iter().chain(&call.arguments).for_each(|argument| self.visit(argument));
                self.mixed = outside;
            }
            Kind::List(list) => {
                self.list(list);
                list.elements.iter().for_each(|element| self.visit(element));
            }
            Kind::Map(entries) => {
                self.map(entries);
                for entry in entries {
                    self.visit(&entry.key);
                    self.visit(&entry.value);
                }
            }
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

    /// The type of an element, inside if it may be absent.
    fn inner(&self, expr: &Expr, optional: bool) -> Type {
        match self.checked.ty(expr.id) {
            Type::Optional(inner) if optional => (**inner).clone(),
            other => other.clone(),
        }
    }

    /// Whether an expression has the type of those before it; the first difference is told.
    fn expect(&mut self, expected: &Type, found: &Type, id: Id) -> bool {
        let same = expected.is_exactly(found);
        if !same {
            self.report(id, format!("expected type '{expected}' but found '{found}'"));
        }
        same
    }

    fn list(&mut self, list: &List) {
        let mut elements = list.elements.iter().enumerate();
        let Some((_, first)) = elements.next().filter(|_| !self.mixed) else { return };
        let expected = self.inner(first, list.optional.contains(&0));
        for (place, element) in elements {
            let found = self.inner(element, list.optional.contains(&place));
            if !self.expect(&expected, &found, element.id) {
                return;
            }
        }
    }

    fn map(&mut self, entries: &[Entry]) {
        let Some((first, rest)) = entries.split_first().filter(|_| !self.mixed) else { return };
        let (key, value) = (self.inner(&first.key, false), self.inner(&first.value, first.optional));
        for entry in rest {
            let found = (self.inner(&entry.key, false), self.inner(&entry.value, entry.optional));
            self.expect(&key, &found.0, entry.key.id);
            self.expect(&value, &found.1, entry.value.id);
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
        let arguments: Vec<Argument> = list.elements.iter().map(|element| self.argument(element)).collect();
        if let Some((blamed, message)) = kubernetes::check_format(format, &arguments) {
            self.report(blamed.unwrap_or(id), message);
        }
    }

    /// An argument of `format` with all that is written out in it.
    fn argument(&self, expr: &Expr) -> Argument {
        let parts = match &expr.kind {
            Kind::List(list) => list.elements.iter().map(|element| self.argument(element)).collect(),
            Kind::Map(entries) => {
                entries.iter().flat_map(|entry| [&entry.key, &entry.value]).map(|part| self.argument(part)).collect()
            }
            _ => Vec::new(),
        };
        Argument { id: expr.id, ty: self.checked.ty(expr.id).clone(), parts }
    }
}

fn string(text: &str) -> Value<'_> {
    Value::String(Text::Borrowed(text))
}
