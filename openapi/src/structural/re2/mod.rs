//! Go's regular expressions in the words of the `regex` crate.
//!
//! Both are of the family of RE2, but `\d` of Go is ASCII, some of its literals mean something here, and its mistakes
//! have texts of their own.

mod letters;

use std::fmt;

use letters::{POSIX, counts, hexadecimal, octal, perl_class, push_literal};

/// Groups inside of one another.
pub(super) const DEPTH_MAX: u32 = 1000;
const REPEAT_MAX: i64 = 1000;

/// Steps that a character takes up at most: of ASCII, of any kind, of a Unicode category.
const NARROW: usize = 2;
const WIDE: usize = 16;
const CATEGORY: usize = 1000;
/// Unicode categories in one pattern, each of which has to be looked up.
const CATEGORIES_MAX: usize = 500;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    code: &'static str,
    at: String,
}

impl SyntaxError {
    fn new(code: &'static str, at: &str) -> Self {
        Self { code, at: at.to_owned() }
    }

    pub(super) fn large(pattern: &str) -> Self {
        Self::new("expression too large", pattern)
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "error parsing regexp: {}: `{}`", self.code, self.at)
    }
}

pub(super) struct Translated {
    pub(super) pattern: String,
    /// About as many as the compiled program has.
    pub(super) steps: usize,
}

pub(super) fn translate(pattern: &str) -> Result<Translated, SyntaxError> {
    let mut translator = Translator { whole: pattern, rest: pattern, ..Translator::default() };
    translator.all()?;
    Ok(Translated { pattern: translator.out, steps: translator.level.steps })
}

/// What is known of the group that is being read.
#[derive(Clone, Copy, Default)]
struct Level {
    steps: usize,
    /// Of the last thing read, which a repetition would repeat.
    last: Option<Piece>,
    /// Most copies of anything inside.
    copies: i64,
}

#[derive(Clone, Copy)]
struct Piece {
    steps: usize,
    copies: i64,
}

#[derive(Default)]
struct Translator<'a> {
    whole: &'a str,
    rest: &'a str,
    out: String,
    level: Level,
    outer: Vec<Level>,
    /// What stood from the last repetition on, if that was the last thing read.
    repeated: Option<&'a str>,
    categories: usize,
    /// Flags that hold from here on. Go lets a repetition reach over them, to what stands before.
    flags: String,
}

/// The text before `rest`, which is its end.
fn before<'a>(text: &'a str, rest: &str) -> &'a str {
    &text[..text.len() - rest.len()]
}

impl<'a> Translator<'a> {
    fn all(&mut self) -> Result<(), SyntaxError> {
        while let Some(first) = self.rest.chars().next() {
            let repeated = self.repeated.take();
            let repeats = matches!(first, '*' | '+' | '?') || (first == '{' && counts(self.rest).is_some());
            if !repeats {
                self.out.push_str(&std::mem::take(&mut self.flags));
            }
            match first {
                '(' => self.open()?,
                ')' => self.close()?,
                '|' => {
                    self.skip(1);
                    self.out.push('|');
                    self.level.last = None;
                }
                '^' | '$' => self.verbatim(1, 1),
                '.' => self.verbatim(1, WIDE),
                '[' => self.class()?,
                '*' | '+' | '?' => self.repeat(1, 0, repeated)?,
                '{' => self.braces(repeated)?,
                '\\' => self.escape()?,
                other => {
                    self.skip(other.len_utf8());
                    self.literal(other);
                }
            }
        }
        if self.outer.is_empty() { Ok(()) } else { Err(SyntaxError::new("missing closing )", self.whole)) }
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// Takes over as many bytes as they are: one piece of so many steps.
    fn verbatim(&mut self, bytes: usize, steps: usize) {
        let (taken, rest) = self.rest.split_at(bytes);
        self.out.push_str(taken);
        self.rest = rest;
        self.piece(steps);
    }

    fn piece(&mut self, steps: usize) {
        self.level.steps = self.level.steps.saturating_add(steps);
        self.level.copies = self.level.copies.max(1);
        self.level.last = Some(Piece { steps, copies: 1 });
    }

    fn emit(&mut self, text: &str, steps: usize) {
        self.out.push_str(text);
        self.piece(steps);
    }

    fn literal(&mut self, literal: char) {
        push_literal(&mut self.out, literal);
        self.piece(if literal.is_ascii() { NARROW } else { WIDE });
    }

    fn open(&mut self) -> Result<(), SyntaxError> {
        if self.outer.len() >= DEPTH_MAX as usize {
            return Err(SyntaxError::new("expression nests too deeply", self.whole));
        }
        if self.rest.starts_with("(?") {
            return self.flags();
        }
        self.skip(1);
        self.enter("(");
        Ok(())
    }

    fn enter(&mut self, group: &str) {
        self.out.push_str(group);
        self.outer.push(std::mem::take(&mut self.level));
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        let Some(outer) = self.outer.pop() else { return Err(SyntaxError::new("unexpected )", self.whole)) };
        self.skip(1);
        self.out.push(')');
        let inner = std::mem::replace(&mut self.level, outer);
        let piece = Piece { steps: inner.steps.saturating_add(NARROW), copies: inner.copies.max(1) };
        self.level.steps = self.level.steps.saturating_add(piece.steps);
        self.level.copies = self.level.copies.max(piece.copies);
        self.level.last = Some(piece);
        Ok(())
    }

    /// `(?i)`, `(?:`, `(?P<name>` and the like.
    fn flags(&mut self) -> Result<(), SyntaxError> {
        let start = self.rest;
        let named =
            ["(?P<", "(?<"].into_iter().find(|opening| start.len() > opening.len() && start.starts_with(opening));
        if let Some(opening) = named {
            let invalid = |at| SyntaxError::new("invalid named capture", at);
            let end = start.find('>').ok_or_else(|| invalid(start))?;
            let name = start.get(opening.len()..end).unwrap_or_default();
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err(invalid(&start[..=end]));
            }
            self.skip(end + 1);
            self.enter("(");
            return Ok(());
        }
        let unsupported = |end: usize| SyntaxError::new("invalid or unsupported Perl syntax", &start[..end]);
        let (mut negated, mut any) = (false, false);
        for (at, letter) in start.char_indices().skip(2) {
            match letter {
                'i' | 'm' | 's' | 'U' => any = true,
                '-' if !negated => (negated, any) = (true, false),
                ':' | ')' if any || !negated => {
                    self.skip(at + 1);
                    self.end_flags(&start[..=at], letter == ':');
                    return Ok(());
                }
                _ => return Err(unsupported(at + letter.len_utf8())),
            }
        }
        Err(unsupported(start.len()))
    }

    fn end_flags(&mut self, flags: &str, group: bool) {
        if group {
            self.enter(flags);
        } else if flags != "(?)" {
            self.flags.push_str(flags);
        }
    }

    /// `{2}`, `{2,}` or `{2,3}`; anything else that begins with a brace is a literal.
    fn braces(&mut self, repeated: Option<&'a str>) -> Result<(), SyntaxError> {
        let Some((bytes, min, max)) = counts(self.rest) else {
            self.skip(1);
            self.literal('{');
            return Ok(());
        };
        if min > REPEAT_MAX || max.is_some_and(|max| max > REPEAT_MAX || max < min) {
            return Err(SyntaxError::new("invalid repeat count", &self.rest[..bytes]));
        }
        self.repeat(bytes, min.max(max.unwrap_or(0)), repeated)
    }

    fn repeat(&mut self, bytes: usize, copies: i64, repeated: Option<&'a str>) -> Result<(), SyntaxError> {
        let start = self.rest;
        self.skip(bytes);
        if self.rest.starts_with('?') {
            self.skip(1);
        }
        let operator = before(start, self.rest);
        if let Some(first) = repeated {
            return Err(SyntaxError::new("invalid nested repetition operator", before(first, self.rest)));
        }
        let Some(piece) = self.level.last else {
            return Err(SyntaxError::new("missing argument to repetition operator", operator));
        };
        let inner = if copies >= 2 { piece.copies.saturating_mul(copies) } else { piece.copies };
        if copies >= 2 && inner > REPEAT_MAX {
            return Err(SyntaxError::new("invalid repeat count", operator));
        }
        self.out.push_str(operator);
        let steps = piece.steps.saturating_mul(usize::try_from(copies).unwrap_or(1).max(1)).saturating_add(NARROW);
        self.level.steps = (self.level.steps - piece.steps).saturating_add(steps);
        self.level.copies = self.level.copies.max(inner);
        self.level.last = Some(Piece { steps, copies: inner });
        self.repeated = Some(start);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        let start = self.rest;
        let letter = start[1..].chars().next();
        match letter {
            Some('A' | 'z') => self.verbatim(2, 1),
            Some('b') => self.word_edge("(?-u:\\b)"),
            Some('B') => self.word_edge("(?-u:\\B)"),
            Some('C') => return Err(SyntaxError::new("invalid escape sequence", &start[..2])),
            Some('Q') => {
                let (text, rest) = start[2..].split_once("\\E").unwrap_or((&start[2..], ""));
                self.rest = rest;
                text.chars().for_each(|literal| self.literal(literal));
            }
            Some('p' | 'P') => {
                let class = self.category()?;
                self.emit(&class, CATEGORY);
            }
            _ => match letter.and_then(perl_class) {
                Some((negated, class)) => {
                    self.skip(2);
                    let class = format!("[{}{class}]", if negated { "^" } else { "" });
                    self.emit(&class, if negated { WIDE } else { NARROW });
                }
                None => {
                    let literal = self.character()?;
                    self.literal(literal);
                }
            },
        }
        Ok(())
    }

    fn word_edge(&mut self, text: &str) {
        self.skip(2);
        self.emit(text, 1);
    }

    /// `\pL`, `\p{Greek}`, `\P{^Greek}`.
    fn category(&mut self) -> Result<String, SyntaxError> {
        let start = self.rest;
        let refused = |at: &str| SyntaxError::new("invalid character class range", at);
        let first = start[2..].chars().next().ok_or_else(|| refused(start))?;
        let (bytes, name) = if first == '{' {
            let end = start.find('}').ok_or_else(|| refused(start))?;
            (end + 1, &start[3..end])
        } else {
            (2 + first.len_utf8(), &start[2..2 + first.len_utf8()])
        };
        let (inverted, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
        let letter = if start.starts_with("\\p") == inverted { 'P' } else { 'p' };
        let class = format!("\\{letter}{{{name}}}");
        let known = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_- ".contains(&byte));
        if !known || regex::Regex::new(&class).is_err() {
            return Err(refused(&start[..bytes]));
        }
        self.skip(bytes);
        self.categories += 1;
        if self.categories > CATEGORIES_MAX { Err(SyntaxError::large(self.whole)) } else { Ok(class) }
    }

    /// A character that a backslash stands before.
    fn character(&mut self) -> Result<char, SyntaxError> {
        let start = self.rest;
        let mut rest = start[1..].chars();
        let Some(letter) = rest.next() else {
            return Err(SyntaxError::new("trailing backslash at end of expression", ""));
        };
        let literal = match letter {
            'a' => Some('\u{7}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            'x' => hexadecimal(&mut rest),
            '0'..='7' => octal(letter, &mut rest),
            _ => (letter.is_ascii() && !letter.is_ascii_alphanumeric()).then_some(letter),
        };
        self.rest = rest.as_str();
        literal.ok_or_else(|| SyntaxError::new("invalid escape sequence", before(start, self.rest)))
    }

    fn class(&mut self) -> Result<(), SyntaxError> {
        let start = self.rest;
        self.skip(1);
        self.out.push('[');
        let mut steps = NARROW;
        if self.rest.starts_with('^') {
            self.skip(1);
            self.out.push('^');
            steps = WIDE;
        }
        let mut first = true;
        while first || !self.rest.starts_with(']') {
            first = false;
            steps = steps.saturating_add(self.class_item(start)?);
        }
        self.skip(1);
        self.out.push(']');
        self.piece(steps);
        Ok(())
    }

    fn class_item(&mut self, class: &str) -> Result<usize, SyntaxError> {
        if let Some(named) =
            self.rest.strip_prefix("[:").and_then(|rest| rest.find(":]")).map(|end| &self.rest[..end + 4])
        {
            let name = named[2..named.len() - 2].trim_start_matches('^');
            if !POSIX.contains(&name) {
                return Err(SyntaxError::new("invalid character class range", named));
            }
            self.out.push_str(named);
            self.skip(named.len());
            return Ok(WIDE);
        }
        let escaped = self.rest.strip_prefix('\\').and_then(|rest| rest.chars().next());
        if matches!(escaped, Some('p' | 'P')) {
            let category = self.category()?;
            self.out.push_str(&category);
            return Ok(CATEGORY);
        }
        if let Some((negated, inner)) = escaped.and_then(perl_class) {
            self.out.push_str(if negated { "[^" } else { "[" });
            self.out.push_str(inner);
            self.out.push(']');
            self.skip(2);
            return Ok(if negated { WIDE } else { NARROW });
        }
        self.range(class)
    }

    fn range(&mut self, class: &str) -> Result<usize, SyntaxError> {
        let start = self.rest;
        let low = self.class_character(class)?;
        push_literal(&mut self.out, low);
        let mut high = low;
        if self.rest.len() >= 2 && self.rest.starts_with('-') && !self.rest.starts_with("-]") {
            self.skip(1);
            high = self.class_character(class)?;
            if high < low {
                return Err(SyntaxError::new("invalid character class range", before(start, self.rest)));
            }
            self.out.push('-');
            push_literal(&mut self.out, high);
        }
        Ok(if high.is_ascii() { 1 } else { WIDE })
    }

    fn class_character(&mut self, class: &str) -> Result<char, SyntaxError> {
        match self.rest.chars().next() {
            None => Err(SyntaxError::new("missing closing ]", class)),
            Some('\\') => self.character(),
            Some(literal) => {
                self.skip(literal.len_utf8());
                Ok(literal)
            }
        }
    }
}
