//! What Go means in the words of the regex crate, and what Go refuses in Go's words.
//!
//! `\d`, `\w`, `\s` and `\b` are ASCII in Go, brackets in brackets are characters, a brace that counts nothing is a
//! character, and `\Q…\E` is literal.

/// Go repeats nothing more often, nested repetitions multiplied.
const REPEAT_MAX: u64 = 1000;

pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut translator = Translator {
        pattern,
        rest: pattern,
        out: String::with_capacity(pattern.len() + 16),
        groups: Vec::new(),
        repeated: 1,
        most: 1,
        operator: None,
    };
    while let Some(next) = translator.rest.chars().next() {
        translator.next(next)?;
    }
    Ok(translator.out)
}

struct Translator<'p> {
    pattern: &'p str,
    rest: &'p str,
    out: String,
    /// For each group that is open, how often something in what surrounds it is repeated.
    groups: Vec<u64>,
    /// How often something in the last expression is repeated.
    repeated: u64,
    /// How often something in this group is repeated.
    most: u64,
    /// Where the repetition just before begins, and whether it is already lazy.
    operator: Option<(usize, bool)>,
}

impl<'p> Translator<'p> {
    fn at(&self) -> usize {
        self.pattern.len() - self.rest.len()
    }

    fn skip(&mut self, length: usize) -> &'p str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn copy(&mut self, length: usize) {
        let taken = self.skip(length);
        self.out.push_str(taken);
    }

    fn next(&mut self, next: char) -> Result<(), String> {
        if let Some(length) = repetition(self.rest) {
            return self.repeat(length);
        }
        self.operator = None;
        self.repeated = 1;
        match next {
            '\\' => self.escape(),
            '[' => self.class(),
            '(' => self.open(),
            ')' => {
                self.repeated = self.most;
                let outside = self.groups.pop().ok_or_else(|| format!("unexpected ): `{}`", self.pattern))?;
                self.most = self.most.max(outside);
                self.copy(1);
                Ok(())
            }
            '{' => {
                self.skip(1);
                self.out.push_str("\\{");
                Ok(())
            }
            _ => {
                self.copy(next.len_utf8());
                Ok(())
            }
        }
    }

    fn repeat(&mut self, length: usize) -> Result<(), String> {
        let start = self.at();
        let text = self.skip(length);
        match self.operator {
            None if self.begins_nothing() => return Err(format!("missing argument to repetition operator: `{text}`")),
            Some((before, false)) if text == "?" => self.operator = Some((before, true)),
            Some((before, _)) => {
                return Err(format!("invalid nested repetition operator: `{}`", &self.pattern[before..start + length]));
            }
            None => self.operator = Some((start, false)),
        }
        if let Some(counts) = text.strip_prefix('{') {
            let numbers: Vec<u64> =
                counts.trim_end_matches('}').split(',').filter_map(|number| number.parse().ok()).collect();
            let most = numbers.iter().copied().max().unwrap_or(1);
            self.repeated = self.repeated.saturating_mul(most.max(1));
            if self.repeated > REPEAT_MAX || numbers.len() == 2 && numbers[0] > numbers[1] {
                return Err(format!("invalid repeat count: `{text}`"));
            }
            self.most = self.most.max(self.repeated);
        }
        self.out.push_str(text);
        Ok(())
    }

    /// Whether there is nothing before this place that could be repeated.
    fn begins_nothing(&self) -> bool {
        self.out.is_empty()
            || (self.out.ends_with(['(', '|']) && !self.out.ends_with("\\(") && !self.out.ends_with("\\|"))
    }

    fn open(&mut self) -> Result<(), String> {
        self.groups.push(self.most);
        self.most = 1;
        let Some(flags) = self.rest.strip_prefix("(?") else {
            self.copy(1);
            return Ok(());
        };
        if let Some(name) = flags.strip_prefix("P<").or_else(|| flags.strip_prefix('<')) {
            let length = name.find('>').unwrap_or(name.len());
            let before = self.rest.len() - name.len();
            let taken = self.skip((before + length + 1).min(self.rest.len()));
            let valid = length > 0 && name[..length].chars().all(|next| next.is_ascii_alphanumeric() || next == '_');
            if !valid {
                return Err(format!("invalid named capture: `{taken}`"));
            }
            self.out.push_str(taken);
            return Ok(());
        }
        let length = flags.find(|next: char| !matches!(next, 'i' | 'm' | 's' | 'U' | '-')).unwrap_or(flags.len());
        let taken = self.skip((length + 3).min(self.rest.len()));
        if !taken.ends_with([':', ')']) {
            return Err(format!("invalid or unsupported Perl syntax: `{taken}`"));
        }
        if taken.ends_with(')') {
            let outside = self.groups.pop().unwrap_or(1);
            self.most = self.most.max(outside);
        }
        self.out.push_str(taken);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), String> {
        let Some(next) = self.rest[1..].chars().next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let taken = self.skip(1 + next.len_utf8());
        let translated = match next {
            'd' => "[0-9]",
            'w' => "[0-9A-Za-z_]",
            's' => "[\\t\\n\\f\\r ]",
            'b' => "(?-u:\\b)",
            'B' => "(?-u:\\B)",
            'A' | 'z' => taken,
            'Q' => {
                let (literal, after) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                self.rest = after;
                self.out.push_str(&regex::escape(literal));
                return Ok(());
            }
            _ => return self.character(taken, next),
        };
        self.out.push_str(translated);
        Ok(())
    }

    /// An escape that is the same in brackets and outside.
    fn character(&mut self, taken: &str, next: char) -> Result<(), String> {
        match next {
            'D' => self.out.push_str("[^0-9]"),
            'W' => self.out.push_str("[^0-9A-Za-z_]"),
            'S' => self.out.push_str("[^\\t\\n\\f\\r ]"),
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => self.out.push_str(taken),
            'p' | 'P' | 'x' => {
                self.out.push_str(taken);
                let length = self.rest.starts_with('{').then(|| self.rest.find('}')).flatten();
                self.copy(length.map_or(0, |end| end + 1));
            }
            '<' | '>' => self.out.push(next),
            '0' => self.octal(),
            '1'..='7' if self.rest.starts_with(|next: char| ('0'..='7').contains(&next)) => {
                self.rest = &self.pattern[self.at() - 1..];
                self.octal();
            }
            _ if next.is_ascii_punctuation() => self.out.push_str(taken),
            _ => return Err(format!("invalid escape sequence: `{taken}`")),
        }
        Ok(())
    }

    fn octal(&mut self) {
        let length = self.rest.bytes().take(3).take_while(|next| (b'0'..=b'7').contains(next)).count();
        let digits = self.skip(length);
        let code = u32::from_str_radix(digits, 8).unwrap_or_default();
        self.out.push_str(&format!("\\x{{{code:x}}}"));
    }

    fn class(&mut self) -> Result<(), String> {
        let whole = self.rest;
        self.copy(1);
        if self.rest.starts_with('^') {
            self.copy(1);
        }
        let mut first = true;
        loop {
            match self.rest.chars().next() {
                None => return Err(format!("missing closing ]: `{whole}`")),
                Some(']') if !first => break,
                Some(_) => self.class_item()?,
            }
            first = false;
        }
        self.copy(1);
        Ok(())
    }

    /// A character, a range, or a class in a class.
    fn class_item(&mut self) -> Result<(), String> {
        if let Some(length) = named_class(self.rest) {
            self.copy(length);
            return Ok(());
        }
        let start = self.at();
        let Some(low) = self.class_character()? else { return Ok(()) };
        let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]") && self.rest.len() > 1;
        if is_range {
            self.copy(1);
            let high = self.class_character()?;
            if high.is_none_or(|high| high < low) {
                return Err(format!("invalid character class range: `{}`", &self.pattern[start..self.at()]));
            }
        }
        Ok(())
    }

    /// One character in brackets, if it is one and not a class of them.
    fn class_character(&mut self) -> Result<Option<char>, String> {
        let next = self.rest.chars().next().unwrap_or_default();
        if next != '\\' {
            self.skip(next.len_utf8());
            if matches!(next, '[' | ']' | '&' | '~' | '-' | '^') {
                self.out.push('\\');
            }
            self.out.push(next);
            return Ok(Some(next));
        }
        let Some(next) = self.rest[1..].chars().next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let taken = self.skip(1 + next.len_utf8());
        let inner = match next {
            'd' => "0-9",
            'w' => "0-9A-Za-z_",
            's' => "\\t\\n\\f\\r ",
            _ => "",
        };
        if inner.is_empty() {
            self.character(taken, next)?;
        }
        self.out.push_str(inner);
        let control = match next {
            'a' => Some('\u{7}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            other => other.is_ascii_punctuation().then_some(other),
        };
        Ok(control)
    }
}

/// The length of `*`, `+`, `?`, or a count in braces.
fn repetition(text: &str) -> Option<usize> {
    if text.starts_with(['*', '+', '?']) {
        return Some(1);
    }
    let counts = text.strip_prefix('{')?;
    let end = counts.find('}')?;
    let (low, high) = counts[..end].split_once(',').unwrap_or((&counts[..end], ""));
    let digits = |text: &str| text.bytes().all(|next| next.is_ascii_digit());
    (!low.is_empty() && digits(low) && digits(high)).then_some(end + 2)
}

/// The length of `[:alpha:]` or its like.
fn named_class(text: &str) -> Option<usize> {
    let name = text.strip_prefix("[:")?;
    let end = name.find(":]")?;
    name[..end].chars().all(|next| next.is_ascii_alphabetic() || next == '^').then_some(end + 4)
}
