//! Reads the text of a path into steps.

use super::quote::unquote;
use serde_json::{Number, Value};

/// What stands between braces, or outside of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Text,
    Steps(Vec<Step>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Field(String),
    Wildcard,
    /// Everything below, and the thing itself.
    Descent,
    Slice(Slice),
    Union(Vec<Vec<Step>>),
    Filter {
        left: Vec<Step>,
        /// `None` asks whether there is anything on the left.
        test: Option<(Operator, Vec<Step>)>,
    },
    Literal(Value),
    /// A word by itself: it can be read, and means nothing here. `range` needs more than one path.
    Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    /// Any other run of the same characters, which nobody notices before it is used.
    Unknown,
}

/// `[start:end:step]`, or `[start]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) step: Option<i64>,
    /// It is of one item: the end follows from the start.
    pub(super) single: bool,
}

/// Reads what has braces around it. Paths stand in filters, and these in paths, but not for long: a filter ends at the
/// first parenthesis outside of its quotes, so that another one has to stand within them, and there are two sorts.
pub(super) fn parts(text: &str) -> Result<Vec<Part>, String> {
    let (mut parts, mut reader) = (Vec::new(), Reader { rest: text });
    while let Some((before, inside)) = reader.rest.split_once('{') {
        if !before.is_empty() {
            parts.push(Part::Text);
        }
        reader.rest = inside;
        parts.push(Part::Steps(reader.steps()?));
    }
    if !reader.rest.is_empty() {
        parts.push(Part::Text);
    }
    Ok(parts)
}

/// Whether a field's name, or a word, ends before this character.
fn ends_name(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_of_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let after = self.rest.strip_prefix(prefix);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Everything up to the closing brace.
    fn steps(&mut self) -> Result<Vec<Step>, String> {
        let mut steps = Vec::new();
        while !self.skip("}") {
            if self.skip("[?(") {
                steps.push(self.filter()?);
            } else if self.rest.starts_with("..") {
                self.descent(&mut steps)?;
            } else {
                self.step(&mut steps)?;
            }
        }
        Ok(steps)
    }

    fn step(&mut self, steps: &mut Vec<Step>) -> Result<(), String> {
        let first = self.rest.chars().next().filter(|c| !matches!(c, '\r' | '\n'));
        match first.ok_or("unclosed action")? {
            ' ' | '@' | '$' => drop(self.take(1)),
            '[' => self.brackets(steps)?,
            quote @ ('"' | '\'') => steps.push(self.quoted(quote)?),
            '.' => {
                self.take(1);
                steps.push(self.field());
            }
            '+' | '-' | '0'..='9' => steps.push(self.number()?),
            c if is_of_word(c) => steps.push(self.word()),
            c => return Err(format!("unrecognized character in action: {}", named(c))),
        }
        Ok(())
    }

    fn descent(&mut self, steps: &mut Vec<Step>) -> Result<(), String> {
        if steps.last() == Some(&Step::Descent) {
            return Err("invalid multiple recursive descent".to_owned());
        }
        self.take(2);
        steps.push(Step::Descent);
        if self.rest.starts_with(is_of_word) {
            steps.push(self.field());
        }
        Ok(())
    }

    /// The name of a field. A backslash takes away what the next character means.
    fn field(&mut self) -> Step {
        let (mut end, mut escaped) = (self.rest.len(), false);
        for (at, c) in self.rest.char_indices() {
            if !escaped && ends_name(c) {
                end = at;
                break;
            }
            escaped = !escaped && c == '\\';
        }
        match self.take(end) {
            "*" => Step::Wildcard,
            name => Step::Field(name.replace('\\', "")),
        }
    }

    fn word(&mut self) -> Step {
        let end = self.rest.find(ends_name).unwrap_or(self.rest.len());
        match self.take(end) {
            "true" => Step::Literal(Value::Bool(true)),
            "false" => Step::Literal(Value::Bool(false)),
            _ => Step::Word,
        }
    }

    fn number(&mut self) -> Result<Step, String> {
        let digits = self.rest.trim_start_matches(['+', '-']);
        // One sign at most.
        let sign = (self.rest.len() - digits.len()).min(1);
        let after = self.rest[sign..].trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
        let text = self.take(self.rest.len() - after.len());
        let float = || text.parse().ok().and_then(Number::from_f64);
        let number = text.parse::<i64>().ok().map(Number::from).or_else(float);
        let number = number.ok_or_else(|| format!("cannot parse number {text}"))?;
        Ok(Step::Literal(Value::Number(number)))
    }

    fn quoted(&mut self, quote: char) -> Result<Step, String> {
        let bytes = self.rest.as_bytes();
        let end = (1..bytes.len())
            .find(|at| bytes[*at] == b'\n' || (bytes[*at] == quote as u8 && bytes[*at - 1] != b'\\'))
            .filter(|at| bytes[*at] != b'\n')
            .ok_or("unterminated quoted string")?;
        let text = self.take(end + 1);
        let plain = unquote(text).ok_or_else(|| format!("unquote string {text} error invalid syntax"))?;
        Ok(Step::Literal(Value::String(plain)))
    }

    /// What stands between square brackets: several things, a name, or a range of indices.
    fn brackets(&mut self, steps: &mut Vec<Step>) -> Result<(), String> {
        let end = self.rest.find([']', '\n']).filter(|at| self.rest[*at..].starts_with(']'));
        let text = self.take(end.ok_or("unterminated array")? + 1);
        let text = match &text[1..text.len() - 1] {
            "*" => ":",
            text => text,
        };
        if text.contains(',') {
            let one = |part: &str| within(&format!("[{}]", part.trim_matches(' ')));
            steps.push(Step::Union(text.split(',').map(one).collect::<Result<_, _>>()?));
        } else if let Some(name) = name_in_quotes(text) {
            steps.extend(within(&format!(".{name}"))?);
        } else {
            steps.push(Step::Slice(slice(text)?));
        }
        Ok(())
    }

    fn filter(&mut self) -> Result<Step, String> {
        let end = filter_end(self.rest).ok_or("unterminated filter")?;
        let text = self.take(end);
        self.take(1);
        if !self.skip("]") {
            return Err("unclosed array expect ]".to_owned());
        }
        let Some((left, operator, right)) = comparison(text) else {
            return Ok(Step::Filter { left: within(text)?, test: None });
        };
        let operator = match operator {
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            "==" => Operator::Equal,
            "!=" => Operator::NotEqual,
            _ => Operator::Unknown,
        };
        Ok(Step::Filter { left: within(left)?, test: Some((operator, within(right)?)) })
    }
}

/// The steps of a path within another.
fn within(text: &str) -> Result<Vec<Step>, String> {
    // What follows a brace that was closed too early does not count.
    match parts(&format!("{{{text}}}"))?.into_iter().next() {
        Some(Part::Steps(steps)) => Ok(steps),
        _ => Ok(Vec::new()),
    }
}

/// Where the parenthesis closes: not between the first quote and the next of its sort.
fn filter_end(text: &str) -> Option<usize> {
    let (mut quote, mut closed) = (None, false);
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' => return None,
            b'"' | b'\'' if quote.is_none() => quote = Some(byte),
            b'"' | b'\'' if quote == Some(byte) && bytes[at - 1] != b'\\' => closed = true,
            b')' if quote.is_some() == closed => return Some(at),
            _ => {}
        }
    }
    None
}

/// Splits at the first run of comparing characters that has something on both sides of it.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
    let start = text.find(is_operator).filter(|at| *at > 0)?;
    let right = text[start..].trim_start_matches(is_operator);
    let mut end = text.len() - right.len();
    if right.is_empty() {
        // The last of the run is then what stands on the right.
        end -= 1;
    }
    (end > start).then(|| (&text[..start], &text[start..end], &text[end..]))
}

fn name_in_quotes(text: &str) -> Option<&str> {
    text.strip_prefix('\'')?.strip_suffix('\'').filter(|name| !name.contains('\''))
}

fn slice(text: &str) -> Result<Slice, String> {
    let invalid = || format!("invalid array index {text}");
    let fields: Vec<&str> = text.split(':').collect();
    let is_index = |field: &&str| field.strip_prefix('-').unwrap_or(field).bytes().all(|byte| byte.is_ascii_digit());
    if fields.len() > 3 || !fields.iter().all(is_index) {
        return Err(invalid());
    }
    let index = |at: usize| match fields.get(at) {
        None | Some(&"") => Ok(None),
        Some(field) => field.parse().map(Some).map_err(|_| format!("array index {field} is not a number")),
    };
    Ok(Slice { start: index(0)?, end: index(1)?, step: index(2)?, single: fields.len() == 1 })
}

/// As Go's `%#U` names a character.
fn named(c: char) -> String {
    let code = format!("U+{:04X}", u32::from(c));
    // Quotes and backslashes are escaped for other reasons than that they cannot be seen.
    let visible = matches!(c, '"' | '\'' | '\\') || c.escape_debug().count() == 1;
    if visible { format!("{code} '{c}'") } else { code }
}
