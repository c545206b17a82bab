//! Requirements on single fields of an object, all of which it has to meet.

use std::borrow::Cow;
use std::fmt;

use super::ParseError;

/// `metadata.name=web,status.phase!=Running`. Which fields there are is not known here: see [`FieldSelector::terms`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub field: String,
    pub op: TermOp,
    pub value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermOp {
    Equal,
    NotEqual,
}

impl FieldSelector {
    /// Reads the text of a query; an empty one selects everything.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut parts = split_unescaped(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let Some((field, op, value)) = split_at_operator(part) else {
                return Err(ParseError(format!("invalid selector: '{text}'; can't understand '{part}'")));
            };
            let term = Term { field: field.to_owned(), op, value: unescape(value)? };
            if !term.field.is_empty() || !term.value.is_empty() {
                terms.push(term);
            }
        }
        Ok(Self { terms })
    }

    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether an object is meant whose fields `field` knows; one that it does not know is empty.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> Option<Cow<'a, str>>) -> bool {
        let equal = |term: &Term| field(&term.field).unwrap_or_default() == term.value.as_str();
        self.terms.iter().all(|term| equal(term) == (term.op == TermOp::Equal))
    }

    /// The value that this field must have, where one is required.
    pub fn exact(&self, field: &str) -> Option<&str> {
        let required = |term: &&Term| term.field == field && term.op == TermOp::Equal;
        self.terms.iter().find(required).map(|term| term.value.as_str())
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Term { field, op, value }) in self.terms.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let op = if *op == TermOp::Equal { "=" } else { "!=" };
            let value = value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
            write!(f, "{comma}{field}{op}{value}")?;
        }
        Ok(())
    }
}

/// The parts between commas that no backslash stands before.
fn split_unescaped(text: &str) -> Vec<&str> {
    let mut escaped = false;
    let at_comma = |c: char| {
        let ends = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    };
    text.split(at_comma).collect()
}

fn split_at_operator(part: &str) -> Option<(&str, TermOp, &str)> {
    let at = part.match_indices('=').next()?.0;
    let (before, after) = (&part[..at], &part[at + 1..]);
    Some(match before.strip_suffix('!') {
        Some(field) => (field, TermOp::NotEqual, after),
        None => (before, TermOp::Equal, after.strip_prefix('=').unwrap_or(after)),
    })
}

fn unescape(value: &str) -> Result<String, ParseError> {
    let bad_escape =
        |found: String| Err(ParseError(format!("invalid field selector: invalid escape sequence: \\{found}")));
    let mut plain = String::with_capacity(value.len());
    let mut rest = value.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some(c @ ('\\' | ',' | '=')) => plain.push(c),
                other => return bad_escape(other.map(String::from).unwrap_or_default()),
            },
            ',' | '=' => {
                // Kubernetes prints the number of the character.
                let number = u32::from(c);
                return Err(ParseError(format!("invalid field selector: unescaped character in value: {number}")));
            }
            c => plain.push(c),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(selector: &str, expect: bool) {
        let field = |name: &str| match name {
            "metadata.name" => Some(Cow::from("web")),
            "status.phase" => Some(Cow::from("a,b=c\\d")),
            _ => None,
        };
        assert_eq!(FieldSelector::parse(selector).unwrap().matches(field), expect, "{selector}");
    }

    #[test]
    fn an_unknown_field_is_empty() {
        for selector in ["", "metadata.name=web", "metadata.name!=db", r"status.phase==a\,b\=c\\d", "x=", "x!=a", ",,="]
        {
            check(selector, true);
        }
        for selector in ["metadata.name!=web", "metadata.name=web,x=a", "x!="] {
            check(selector, false);
        }
    }

    #[test]
    fn a_required_value_is_found() {
        let selector = FieldSelector::parse("a!=1,b=2,b=3").unwrap();
        assert_eq!([selector.exact("a"), selector.exact("b"), selector.exact("c")], [None, Some("2"), None]);
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_the_same(text in r"([a-c.]{0,2}(=|==|!=|)([a-c]|\\[,=\\x]){0,3},?){0,3}") {
            // In another order, perhaps: terms are sorted as they are written, `==` or `=`.
            if let Ok(selector) = FieldSelector::parse(&text) {
                let again = FieldSelector::parse(&selector.to_string()).unwrap();
                prop_assert_eq!(again.terms.len(), selector.terms.len());
                prop_assert!(again.terms.iter().all(|term| selector.terms.contains(term)));
            }
        }

        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,40}|[a-z!=,\\\\]{0,30}") {
            let _ = FieldSelector::parse(&text);
        }
    }
}
