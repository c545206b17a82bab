//! What operators stand between: names, calls, literals, lists, maps and objects.

use std::sync::Arc;

use crate::ast::{Entry, Expr, Initializer, Kind, List, Literal, Object};
use crate::escape::is_reserved;
use crate::lexer::{Form, unquote};
use crate::library::Macro;

use super::{Parser, Tree, visible};

impl Parser<'_, '_> {
    pub(super) fn primary(&mut self) -> Tree {
        match self.form() {
            Form::Identifier => self.named(false),
            Form::Symbol(".") if self.form_after() == Form::Identifier => {
                self.take();
                self.named(true)
            }
            Form::Symbol("(") => {
                self.take();
                self.open += 1;
                let inner = self.expression();
                self.expect(")");
                self.open -= 1;
                inner
            }
            Form::Symbol("[") => self.list(),
            Form::Symbol("{") => self.map(),
            Form::Symbol("true" | "false" | "null" | "-") | Form::Int | Form::Uint | Form::Float => self.scalar(),
            Form::String | Form::Bytes => self.text_literal(),
            _ => self.unexpected("{'[', '{', '(', '.', "),
        }
    }

    /// Something stands where an operand should. If only it is too much, it is left out.
    fn unexpected(&mut self, beginning: &str) -> Tree {
        let rest = "'-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
        let found = visible(&self.text());
        if self.form() != Form::End && begins_operand(self.form_after()) {
            self.complain(&format!("extraneous input '{found}' expecting {beginning}{rest}"));
            self.skip();
            return self.primary();
        }
        self.complain(&format!("mismatched input '{found}' expecting {beginning}{rest}"));
        self.missing()
    }

    /// An identifier, a call of a function, or an object with its fields.
    fn named(&mut self, absolute: bool) -> Tree {
        if let Some(fields) = self.object_ahead() {
            return self.object(absolute, fields);
        }
        let (place, name) = self.take();
        if is_reserved(&name) {
            if self.is("(") {
                self.take();
                self.arguments();
            }
            return self.refuse(place, &format!("reserved identifier: {name}"));
        }
        let name: Arc<str> = if absolute { format!(".{name}").into() } else { name.into() };
        if let Some(open) = self.accept("(") {
            let id = self.id(open);
            let (arguments, height) = self.arguments();
            return Tree { expr: self.expand(id, name, None, arguments), height };
        }
        let id = self.id(place);
        Tree { expr: Expr { id, kind: Kind::Ident(name) }, height: 0 }
    }

    /// How many tokens there are before `{` if this is `a.b.C{`.
    fn object_ahead(&self) -> Option<usize> {
        let mut ahead = 0;
        loop {
            let form = |index: usize| self.tokens.get(self.at + index).map(|token| token.form);
            if form(ahead)? != Form::Identifier {
                return None;
            }
            match form(ahead + 1)? {
                Form::Symbol("{") => return Some(ahead + 1),
                Form::Symbol(".") => ahead += 2,
                _ => return None,
            }
        }
    }

    fn object(&mut self, absolute: bool, before: usize) -> Tree {
        let mut name = if absolute { ".".to_owned() } else { String::new() };
        for _ in 0..before {
            name.push_str(&self.take().1);
        }
        let (place, _) = self.take();
        let id = self.id(place);
        self.open += 1;
        let (mut fields, mut height) = (Vec::new(), 0);
        if self.form() == Form::End {
            self.complain("mismatched input '<EOF>' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}");
        }
        while !self.is("}") && self.form() != Form::End {
            let optional = self.accept("?").is_some();
            if self.form() != Form::Identifier {
                let found = visible(&self.text());
                self.complain(&format!("mismatched input '{found}' expecting {{IDENTIFIER, ESC_IDENTIFIER}}"));
                self.give_up();
                break;
            }
            let (_, field) = self.take();
            let colon = self.start();
            self.expect(":");
            let initializer = self.id(colon);
            let value = self.expression();
            height = height.max(value.height);
            fields.push(Initializer { id: initializer, name: field.into(), value: value.expr, optional });
            if self.accept(",").is_none() {
                break;
            }
        }
        self.expect("}");
        self.open -= 1;
        Tree { expr: Expr { id, kind: Kind::Object(Object { name: name.into(), fields }) }, height }
    }

    fn list(&mut self) -> Tree {
        let (place, _) = self.take();
        let id = self.id(place);
        self.open += 1;
        let (mut list, mut height) = (List { elements: Vec::new(), optional: Vec::new() }, 0);
        let mut trailing = true;
        if self.form() == Form::End {
            self.unexpected("{'[', ']', '{', '(', '.', ',', ");
        }
        while !self.is("]") && self.form() != Form::End {
            if list.elements.is_empty() && self.accept(",").is_some() {
                break;
            }
            if self.optional_mark() {
                list.optional.push(list.elements.len());
            }
            let element = self.expression();
            height = height.max(element.height);
            list.elements.push(element.expr);
            trailing = self.accept(",").is_some();
            if !trailing || !(begins_operand(self.form()) || self.is("?")) {
                break;
            }
        }
        self.close("]", trailing);
        self.open -= 1;
        Tree { expr: Expr { id, kind: Kind::List(list) }, height }
    }

    fn optional_mark(&mut self) -> bool {
        let place = self.accept("?");
        if let Some(place) = place
            && !self.macros.contains(&Macro::Optionals)
        {
            self.issues.report(Some(place), "unsupported syntax '?'");
        }
        place.is_some()
    }

    fn map(&mut self) -> Tree {
        let (place, _) = self.take();
        let id = self.id(place);
        self.open += 1;
        let (mut entries, mut height) = (Vec::new(), 0);
        let mut trailing = true;
        if self.form() == Form::End {
            self.complain(
                "mismatched input '<EOF>' expecting {'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', 'null', \
                 NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
            );
        }
        while !self.is("}") && self.form() != Form::End {
            if entries.is_empty() && self.accept(",").is_some() {
                break;
            }
            let optional = self.optional_mark();
            let key = self.expression();
            self.expect(":");
            let value = self.expression();
            height = height.max(key.height).max(value.height);
            entries.push(Entry { key: key.expr, value: value.expr, optional });
            trailing = self.accept(",").is_some();
            if !trailing || !(begins_operand(self.form()) || self.is("?")) {
                break;
            }
        }
        self.close("}", trailing);
        self.open -= 1;
        Tree { expr: Expr { id, kind: Kind::Map(entries) }, height }
    }

    fn scalar(&mut self) -> Tree {
        let place = self.start();
        let sign = if self.accept("-").is_some() { "-" } else { "" };
        let form = self.form();
        let (_, text) = self.take();
        let literal = match form {
            Form::Int => integer(sign, &text).map(Literal::Int).ok_or("invalid int literal"),
            Form::Uint => {
                let text = &text[..text.len() - 1];
                let (text, radix) = text.strip_prefix("0x").map_or((text, 10), |text| (text, 16));
                u64::from_str_radix(text, radix).map(Literal::Uint).map_err(|_| "invalid uint literal")
            }
            Form::Float => {
                let number = format!("{sign}{text}").parse::<f64>().ok().filter(|number| number.is_finite());
                number.map(Literal::Double).ok_or("invalid double literal")
            }
            _ if text == "null" => Ok(Literal::Null),
            _ => Ok(Literal::Bool(text == "true")),
        };
        self.literal(place, literal)
    }

    fn text_literal(&mut self) -> Tree {
        let bytes = self.form() == Form::Bytes;
        let (place, text) = self.take();
        let literal = unquote(&text, bytes).and_then(|content| {
            if bytes {
                return Ok(Literal::Bytes(content.into()));
            }
            let text = String::from_utf8(content).map_err(|_| "unable to unescape string")?;
            Ok(Literal::String(text.into()))
        });
        self.literal(place, literal)
    }

    fn literal(&mut self, place: usize, literal: Result<Literal, &str>) -> Tree {
        match literal {
            Err(message) => self.refuse(place, message),
            Ok(literal) => {
                let id = self.id(place);
                Tree { expr: Expr { id, kind: Kind::Literal(literal) }, height: 0 }
            }
        }
    }
}

fn integer(sign: &str, text: &str) -> Option<i64> {
    let (text, radix) = text.strip_prefix("0x").map_or((text, 10), |text| (text, 16));
    i64::from_str_radix(&format!("{sign}{text}"), radix).ok()
}

fn begins_operand(form: Form) -> bool {
    match form {
        Form::Symbol(symbol) => matches!(symbol, "[" | "{" | "(" | "." | "-" | "!" | "true" | "false" | "null"),
        Form::End | Form::Escaped => false,
        _ => true,
    }
}
