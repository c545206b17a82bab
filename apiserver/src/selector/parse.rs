//! The grammar of label selectors.

use std::collections::BTreeSet;

use openapi::FieldError;

use super::label::{Operator, Requirement};
use super::syntax;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    End,
    /// A key, a value, or one of the words `in` and `notin`, which may be either.
    Word,
    Comma,
    Open,
    Close,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
}

/// Reads token by token; `ahead` is the next one.
pub(super) struct Parser<'a> {
    rest: &'a str,
    ahead: (Token, &'a str),
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut parser = Self { rest: text, ahead: (Token::End, "") };
        parser.next();
        parser
    }

    pub(super) fn requirements(mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.ahead {
                (Token::Word | Token::Not, _) => {
                    let one = self.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
                    requirements.push(one);
                }
                (Token::End, _) => return Ok(requirements),
                (_, found) => return Err(format!("found '{found}', expected: !, identifier, or 'end of string'")),
            }
            match (self.next(), self.ahead) {
                ((Token::End, _), _) => return Ok(requirements),
                ((Token::Comma, _), (Token::Word | Token::Not, _)) => {}
                ((Token::Comma, _), (_, found)) => {
                    return Err(format!("found '{found}', expected: identifier after ','"));
                }
                ((_, found), _) => return Err(format!("found '{found}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut first = self.next();
        let negated = first.0 == Token::Not;
        if negated {
            first = self.next();
        }
        let (Token::Word, key) = first else {
            return Err(format!("found '{}', expected: identifier", first.1));
        };
        let faults = syntax::key_faults(key);
        if !faults.is_empty() {
            return Err(FieldError::invalid("<nil>", key, faults.join("; ")).to_string());
        }
        if negated {
            return Requirement::new(key.to_owned(), Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.ahead.0, Token::End | Token::Comma) {
            return Requirement::new(key.to_owned(), Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?.into_iter().map(str::to_owned).collect(),
            _ => vec![self.exact_value()?.to_owned()],
        };
        Requirement::new(key.to_owned(), operator, values)
    }

    fn operator(&mut self) -> Result<Operator, String> {
        match self.next() {
            (Token::Word, "in") => Ok(Operator::In),
            (Token::Word, "notin") => Ok(Operator::NotIn),
            (Token::Equals, _) => Ok(Operator::Equals),
            (Token::DoubleEquals, _) => Ok(Operator::DoubleEquals),
            (Token::NotEquals, _) => Ok(Operator::NotEquals),
            (Token::Greater, _) => Ok(Operator::GreaterThan),
            (Token::Less, _) => Ok(Operator::LessThan),
            (_, found) => Err(format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt")),
        }
    }

    fn exact_value(&mut self) -> Result<&'a str, String> {
        if matches!(self.ahead.0, Token::End | Token::Comma) {
            return Ok("");
        }
        match self.next() {
            (Token::Word, value) => Ok(value),
            (_, found) => Err(format!("found '{found}', expected: identifier")),
        }
    }

    /// `(a,b)`. Nothing before, between or after commas stands for the empty value.
    fn values(&mut self) -> Result<BTreeSet<&'a str>, String> {
        let (open, found) = self.next();
        if open != Token::Open {
            return Err(format!("found '{found}' expected: '('"));
        }
        match self.ahead {
            (Token::Word | Token::Comma, _) => {}
            (Token::Close, _) => {
                self.next();
                return Ok(BTreeSet::from([""]));
            }
            (_, found) => return Err(format!("found '{found}', expected: ',', ')' or identifier")),
        }
        let mut values = BTreeSet::new();
        loop {
            match (self.next(), self.ahead) {
                ((Token::Word, value), (Token::Comma | Token::Close, _)) => {
                    values.insert(value);
                }
                ((Token::Word, _), (_, found)) => return Err(format!("found '{found}', expected: ',' or ')'")),
                ((Token::Comma, _), (ahead, _)) => {
                    if values.is_empty() || matches!(ahead, Token::Close | Token::Comma) {
                        values.insert("");
                    }
                }
                ((_, found), _) => return Err(format!("found '{found}', expected: ',', or identifier")),
            }
            if self.ahead.0 == Token::Close {
                self.next();
                return Ok(values);
            }
        }
    }

    /// The token ahead, which is gone then.
    fn next(&mut self) -> (Token, &'a str) {
        let found = self.ahead;
        self.ahead = self.scan();
        found
    }

    fn scan(&mut self) -> (Token, &'a str) {
        let text = self.rest.trim_start_matches(is_space);
        let (token, length) = match text.as_bytes() {
            // Like Go, which takes a NUL for the end of the text.
            [] | [0, ..] => return (Token::End, ""),
            [b'=', b'=', ..] => (Token::DoubleEquals, 2),
            [b'!', b'=', ..] => (Token::NotEquals, 2),
            [b'=', ..] => (Token::Equals, 1),
            [b'!', ..] => (Token::Not, 1),
            [b',', ..] => (Token::Comma, 1),
            [b'(', ..] => (Token::Open, 1),
            [b')', ..] => (Token::Close, 1),
            [b'>', ..] => (Token::Greater, 1),
            [b'<', ..] => (Token::Less, 1),
            _ => (Token::Word, text.find(|c| is_space(c) || "=!(),<>\0".contains(c)).unwrap_or(text.len())),
        };
        let (literal, rest) = text.split_at(length);
        self.rest = rest;
        (token, literal)
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}
