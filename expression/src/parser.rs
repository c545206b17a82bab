//! Tokens into expressions. Complaints are worded as those of cel-go's parser.

use std::sync::Arc;

use crate::ast::{Call, Entry, Expr, Id, Initializer, Kind, List, Literal, Object, Select, operator};
use crate::issue::Issues;
use crate::lexer::{Form, Token, tokens, unquote};
use crate::library::Macro;

/// The longest expression, in characters.
const LENGTH_MAX: usize = 100_000;
/// How deep expressions nest.
const DEPTH_MAX: usize = 250;

const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A parsed expression and where its nodes are, in characters by id.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) root: Expr,
    pub(crate) places: Vec<usize>,
}

/// An expression, and how many operators, selections and calls are nested in it.
pub(crate) struct Tree {
    pub(crate) expr: Expr,
    pub(crate) height: usize,
}

pub(crate) struct Parser<'a, 'b> {
    characters: &'b [char],
    tokens: Vec<Token>,
    at: usize,
    pub(crate) places: Vec<usize>,
    pub(crate) issues: &'b mut Issues<'a>,
    pub(crate) macros: &'b [Macro],
    /// After a complaint, until a token fits again: what else does not fit follows from it.
    recovering: bool,
    depth: usize,
    /// Brackets that are open.
    open: usize,
}

pub(crate) fn parse<'a>(source: &'a str, macros: &[Macro], issues: &mut Issues<'a>) -> Parsed {
    let characters: Vec<char> = source.chars().collect();
    if characters.len() > LENGTH_MAX {
        let length = characters.len();
        issues.report(None, format!("expression code point size exceeds limit: size: {length}, limit {LENGTH_MAX}"));
        return Parsed { root: Expr { id: 0, kind: Kind::Missing }, places: vec![0] };
    }
    let (tokens, unknown) = tokens(&characters);
    for place in unknown {
        let text: String = characters[place.clone()].iter().collect();
        issues.report(Some(place.start), format!("Syntax error: token recognition error at: '{text}'"));
    }
    parse_tokens(&characters, tokens, macros, issues)
}

fn parse_tokens(characters: &[char], tokens: Vec<Token>, macros: &[Macro], issues: &mut Issues<'_>) -> Parsed {
    let mut parser =
        Parser { characters, tokens, at: 0, places: Vec::new(), issues, macros, recovering: false, depth: 0, open: 0 };
    let root = parser.expression().expr;
    parser.end();
    Parsed { root, places: parser.places }
}

fn visible(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}

impl Parser<'_, '_> {
    pub(crate) fn id(&mut self, place: usize) -> Id {
        self.places.push(place);
        Id::try_from(self.places.len() - 1).unwrap_or(Id::MAX)
    }

    pub(crate) fn place(&self, id: Id) -> usize {
        self.places.get(id as usize).copied().unwrap_or_default()
    }

    fn form(&self) -> Form {
        self.tokens[self.at].form
    }

    fn form_after(&self) -> Form {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)].form
    }

    fn start(&self) -> usize {
        self.tokens[self.at].place.start
    }

    fn text(&self) -> String {
        if self.form() == Form::End {
            return "<EOF>".to_owned();
        }
        self.characters[self.tokens[self.at].place.clone()].iter().collect()
    }

    fn skip(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    /// Takes the token at hand, and its place and text.
    fn take(&mut self) -> (usize, String) {
        let taken = (self.start(), self.text());
        self.recovering = false;
        self.skip();
        taken
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.form(), Form::Symbol(found) if found == symbol)
    }

    fn accept(&mut self, symbol: &str) -> Option<usize> {
        self.is(symbol).then(|| self.take().0)
    }

    fn complain(&mut self, message: &str) {
        if !self.recovering {
            self.recovering = true;
            let start = self.start();
            self.issues.report(Some(start), format!("Syntax error: {message}"));
        }
    }

    fn give_up(&mut self) {
        self.recovering = true;
        self.at = self.tokens.len() - 1;
    }

    fn expect(&mut self, symbol: &str) {
        if self.accept(symbol).is_some() {
            return;
        }
        let found = visible(&self.text());
        if matches!(self.form_after(), Form::Symbol(next) if next == symbol) && self.form() != Form::End {
            self.complain(&format!("extraneous input '{found}' expecting '{symbol}'"));
            self.skip();
            self.take();
        } else if symbol != ":" && self.may_follow_a_bracket() {
            self.complain(&format!("missing '{symbol}' at '{found}'"));
        } else {
            self.complain(&format!("mismatched input '{found}' expecting '{symbol}'"));
            self.give_up();
        }
    }

    /// The end of a list or map, where another comma would do as well unless there was one just now.
    fn close(&mut self, symbol: &str, trailing: bool) {
        if self.accept(symbol).is_some() {
            return;
        }
        let expected = if trailing { format!("'{symbol}'") } else { format!("{{'{symbol}', ','}}") };
        let found = visible(&self.text());
        if matches!(self.form_after(), Form::Symbol(next) if next == symbol) && self.form() != Form::End {
            self.complain(&format!("extraneous input '{found}' expecting {expected}"));
            self.skip();
            self.take();
        } else {
            self.complain(&format!("mismatched input '{found}' expecting {expected}"));
            self.give_up();
        }
    }

    fn may_follow_a_bracket(&self) -> bool {
        match self.form() {
            Form::End => self.open <= 1,
            Form::Symbol(symbol) => !matches!(symbol, "{" | "(" | "!" | "true" | "false" | "null"),
            _ => false,
        }
    }

    fn end(&mut self) {
        if self.form() == Form::End {
            return;
        }
        let how = if self.form_after() == Form::End { "extraneous" } else { "mismatched" };
        let found = visible(&self.text());
        self.complain(&format!("{how} input '{found}' expecting <EOF>"));
    }

    fn missing(&mut self) -> Tree {
        let start = self.start();
        let id = self.id(start);
        Tree { expr: Expr { id, kind: Kind::Missing }, height: 0 }
    }

    /// Complains about something that could be read but means nothing.
    pub(crate) fn refuse(&mut self, place: usize, message: &str) -> Tree {
        self.issues.report(Some(place), message);
        let id = self.id(place);
        Tree { expr: Expr { id, kind: Kind::Missing }, height: 0 }
    }

    /// A node above others, unless that nests too deep.
    fn above(&mut self, expr: Expr, below: usize) -> Tree {
        if below >= DEPTH_MAX {
            let reported = self.at + 1 == self.tokens.len() && self.recovering;
            if !reported {
                self.issues.report(None, "max recursion depth exceeded");
            }
            self.give_up();
            return self.missing();
        }
        Tree { expr, height: below + 1 }
    }

    fn expression(&mut self) -> Tree {
        if self.depth >= DEPTH_MAX {
            if !self.recovering {
                self.issues.report(None, format!("expression recursion limit exceeded: {DEPTH_MAX}"));
            }
            self.give_up();
            return self.missing();
        }
        self.depth += 1;
        let tree = self.conditional();
        self.depth -= 1;
        tree
    }

    fn conditional(&mut self) -> Tree {
        let condition = self.logical(operator::OR);
        let Some(place) = self.accept("?") else { return condition };
        let id = self.id(place);
        let yes = self.logical(operator::OR);
        self.expect(":");
        let no = self.expression();
        let height = condition.height.max(yes.height).max(no.height);
        let expr = global(id, operator::CONDITIONAL, vec![condition.expr, yes.expr, no.expr]);
        self.above(expr, height)
    }

    /// A chain of `||` or of `&&`. Chains become balanced trees, so that long ones are not deep.
    fn logical(&mut self, function: &str) -> Tree {
        let symbol = if function == operator::OR { "||" } else { "&&" };
        let mut terms = vec![self.logical_term(function)];
        let mut ids = Vec::new();
        while let Some(place) = self.accept(symbol) {
            terms.push(self.logical_term(function));
            ids.push(self.id(place));
        }
        let height = terms.iter().map(|term| term.height).max().unwrap_or_default();
        let mut terms: Vec<Option<Expr>> = terms.into_iter().map(|term| Some(term.expr)).collect();
        let last = ids.len();
        Tree { expr: balance(function, &mut terms, &ids, 0, last), height }
    }

    fn logical_term(&mut self, function: &str) -> Tree {
        if function == operator::OR { self.logical(operator::AND) } else { self.binary(1) }
    }

    fn binary(&mut self, least: u8) -> Tree {
        let mut left = self.unary();
        while let Form::Symbol(symbol) = self.form() {
            let Some((function, strength)) = binary_operator(symbol) else { break };
            if strength < least {
                break;
            }
            let (place, _) = self.take();
            let id = self.id(place);
            let right = self.binary(strength + 1);
            let height = left.height.max(right.height);
            left = self.above(global(id, function, vec![left.expr, right.expr]), height);
        }
        left
    }

    fn unary(&mut self) -> Tree {
        for (symbol, function) in [("!", operator::NOT), ("-", operator::NEGATE)] {
            if !self.is(symbol) {
                continue;
            }
            let number = symbol == "-" && matches!(self.form_after(), Form::Int | Form::Float);
            if number {
                break;
            }
            let place = self.start();
            let mut count = 0;
            while self.accept(symbol).is_some() {
                count += 1;
            }
            let id = self.id(place);
            let operand = self.member();
            if count % 2 == 0 {
                return operand;
            }
            return Tree { expr: global(id, function, vec![operand.expr]), height: operand.height };
        }
        self.member()
    }

    fn member(&mut self) -> Tree {
        let mut tree = self.primary();
        loop {
            if let Some(place) = self.accept(".") {
                tree = self.selection(tree, place);
            } else if let Some(place) = self.accept("[") {
                tree = self.index(tree, place);
            } else {
                return tree;
            }
        }
    }

    fn index(&mut self, target: Tree, place: usize) -> Tree {
        let optional = self.accept("?").is_some();
        if optional && !self.macros.contains(&Macro::Optionals) {
            self.issues.report(Some(place), "unsupported syntax '[?'");
        }
        let id = self.id(place);
        self.open += 1;
        let index = self.expression();
        self.expect("]");
        self.open -= 1;
        let function = if optional { operator::OPTIONAL_INDEX } else { operator::INDEX };
        let height = target.height.max(index.height);
        self.above(global(id, function, vec![target.expr, index.expr]), height)
    }

    fn selection(&mut self, target: Tree, dot: usize) -> Tree {
        let optional = self.accept("?").is_some();
        if !matches!(self.form(), Form::Identifier | Form::Escaped) {
            return if optional { self.no_optional_field() } else { self.no_field() };
        }
        let escaped = self.form() == Form::Escaped;
        let (place, name) = self.take();
        let name = if escaped { name.trim_matches('`').to_owned() } else { name };
        if optional {
            if !self.macros.contains(&Macro::Optionals) {
                return self.refuse(dot, "unsupported syntax '.?'");
            }
            let id = self.id(dot);
            let field = self.id(place);
            let field = Expr { id: field, kind: Kind::Literal(Literal::String(name.into())) };
            let expr = global(id, operator::OPTIONAL_SELECT, vec![target.expr, field]);
            return self.above(expr, target.height);
        }
        if self.is("(") && !escaped {
            return self.member_call(target, name);
        }
        let id = self.id(dot);
        let select = Select { operand: target.expr, field: name.into(), test: false };
        self.above(Expr { id, kind: Kind::Select(Box::new(select)) }, target.height)
    }

    fn no_optional_field(&mut self) -> Tree {
        let found = visible(&self.text());
        self.complain(&format!("mismatched input '{found}' expecting {{IDENTIFIER, ESC_IDENTIFIER}}"));
        let start = self.start();
        self.refuse(start, "unsupported ident kind")
    }

    fn no_field(&mut self) -> Tree {
        let found = if self.form() == Form::End { String::new() } else { self.text() };
        if matches!(found.as_str(), "true" | "false" | "null") {
            self.complain(&format!("mismatched input '{found}' expecting IDENTIFIER"));
        } else {
            self.complain(&format!("no viable alternative at input '.{}'", visible(&found)));
        }
        self.missing()
    }

    fn member_call(&mut self, target: Tree, name: String) -> Tree {
        let (place, _) = self.take();
        let id = self.id(place);
        let (arguments, height) = self.arguments();
        let height = height.max(target.height);
        let expr = self.expand(id, name.into(), Some(target.expr), arguments);
        self.above(expr, height)
    }

    fn arguments(&mut self) -> (Vec<Expr>, usize) {
        self.open += 1;
        let (mut arguments, mut height) = (Vec::new(), 0);
        if !self.is(")") {
            loop {
                let argument = self.expression();
                height = height.max(argument.height);
                arguments.push(argument.expr);
                if self.accept(",").is_none() {
                    break;
                }
            }
        }
        self.expect(")");
        self.open -= 1;
        (arguments, height)
    }

    fn primary(&mut self) -> Tree {
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
        if RESERVED.contains(&name.as_str()) {
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

fn binary_operator(symbol: &str) -> Option<(&'static str, u8)> {
    Some(match symbol {
        "<" => (operator::LESS, 1),
        "<=" => (operator::LESS_EQUALS, 1),
        ">" => (operator::GREATER, 1),
        ">=" => (operator::GREATER_EQUALS, 1),
        "==" => (operator::EQUALS, 1),
        "!=" => (operator::NOT_EQUALS, 1),
        "in" => (operator::IN, 1),
        "+" => (operator::ADD, 2),
        "-" => (operator::SUBTRACT, 2),
        "*" => (operator::MULTIPLY, 3),
        "/" => (operator::DIVIDE, 3),
        "%" => (operator::MODULO, 3),
        _ => return None,
    })
}

pub(crate) fn global(id: Id, function: &str, arguments: Vec<Expr>) -> Expr {
    Expr { id, kind: Kind::Call(Box::new(Call { function: function.into(), target: None, arguments })) }
}

/// The terms from `first` to `last`, both included, joined by the operators between them.
fn balance(function: &str, terms: &mut [Option<Expr>], ids: &[Id], first: usize, last: usize) -> Expr {
    if first == last {
        return terms[first].take().unwrap_or(Expr { id: 0, kind: Kind::Missing });
    }
    let middle = (first + last) / 2;
    let left = balance(function, terms, ids, first, middle);
    let right = balance(function, terms, ids, middle + 1, last);
    global(ids[middle], function, vec![left, right])
}
