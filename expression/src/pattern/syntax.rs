//! What Go takes for a regular expression, in the words of the regex crate.
//!
//! The two agree on what patterns mean, but not on which texts are patterns: Go takes `{` for a character where it cannot
//! be a count, its brackets do not nest, its `\d`, `\w`, `\s` and `\b` are ASCII, and it has its own bounds. So patterns
//! are read as Go reads them, with its words for what is wrong, and written anew. Groups capture nothing then.

use regex::Regex;

/// How often something may be repeated, counted over all counts that stand in each other.
const REPEATS_MAX: u32 = 1000;
/// How deep groups may nest. The regex crate's own bound; Go's is higher.
const DEPTH_MAX: usize = 250;

/// The pattern in the syntax of the regex crate, or why Go refuses it.
pub(super) fn translate(pattern: &str) -> Result<String, String> {
    let mut reader = Reader {
        whole: pattern,
        rest: pattern,
        out: String::new(),
        flags: String::new(),
        outermost: Group::default(),
        open: Vec::new(),
    };
    let mut last_repeat = None;
    while let Some(next) = reader.rest.chars().next() {
        let before = reader.rest;
        match next {
            '*' | '+' | '?' => reader.operator(next, last_repeat)?,
            '{' if count(before).is_some() => reader.counted(last_repeat)?,
            _ => {
                reader.item(next)?;
                last_repeat = None;
                continue;
            }
        }
        last_repeat = Some(before);
    }
    if !reader.open.is_empty() {
        return Err(refuse("missing closing )", pattern));
    }
    Ok(reader.out)
}

fn refuse(why: &str, part: &str) -> String {
    format!("{why}: `{part}`")
}

struct Reader<'p> {
    whole: &'p str,
    rest: &'p str,
    out: String,
    /// Flags that hold for what follows. In Go they may stand between something and its repetition.
    flags: String,
    outermost: Group,
    /// Those in it that are open.
    open: Vec<Group>,
}

/// A group that is being read. Whatever can be repeated has a number: how often it is repeated inside of itself.
#[derive(Default)]
struct Group {
    most: u32,
    last: Option<u32>,
}

impl Group {
    fn add(&mut self, repeats: u32) {
        self.most = self.most.max(repeats);
        self.last = Some(repeats);
    }
}

impl<'p> Reader<'p> {
    /// The innermost group that is open.
    fn group(&mut self) -> &mut Group {
        self.open.last_mut().unwrap_or(&mut self.outermost)
    }

    /// Takes so many bytes.
    fn take(&mut self, length: usize) -> &'p str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// Something that matches, as the regex crate writes it.
    fn matcher(&mut self, length: usize, written: &str) {
        self.take(length);
        self.write_flags();
        self.out.push_str(written);
        self.group().add(1);
    }

    fn write_flags(&mut self) {
        self.out.push_str(&std::mem::take(&mut self.flags));
    }

    fn literal(&mut self, character: char) {
        self.write_flags();
        push_literal(character, &mut self.out);
        self.group().add(1);
    }

    /// Anything but a repetition.
    fn item(&mut self, next: char) -> Result<(), String> {
        match next {
            '(' => return self.open_group(),
            ')' => return self.close(),
            '|' => {
                self.take(1);
                self.write_flags();
                self.out.push('|');
                self.group().last = None;
            }
            '^' | '$' | '.' => self.matcher(1, &self.rest[..1]),
            '[' => return self.class(),
            '\\' => return self.escape(),
            _ => {
                self.take(next.len_utf8());
                self.literal(next);
            }
        }
        Ok(())
    }

    fn open_group(&mut self) -> Result<(), String> {
        if self.open.len() >= DEPTH_MAX {
            return Err(refuse("expression nests too deeply", self.whole));
        }
        if self.rest.starts_with("(?") {
            return self.open_special();
        }
        self.take(1);
        self.push_group("(?:");
        Ok(())
    }

    fn push_group(&mut self, written: &str) {
        self.write_flags();
        self.out.push_str(written);
        self.open.push(Group::default());
    }

    /// `(?P<name>`, `(?<name>`, `(?flags:` or `(?flags)`
    fn open_special(&mut self) -> Result<(), String> {
        let text = self.rest;
        let name = text.strip_prefix("(?P<").or_else(|| text.strip_prefix("(?<")).filter(|name| !name.is_empty());
        let Some(name) = name else { return self.flags() };
        let Some(end) = name.find('>') else { return Err(refuse("invalid named capture", text)) };
        let length = text.len() - name.len() + end + 1;
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if end == 0 || !name[..end].bytes().all(is_letter) {
            return Err(refuse("invalid named capture", &text[..length]));
        }
        self.take(length);
        self.push_group("(?:");
        Ok(())
    }

    fn flags(&mut self) -> Result<(), String> {
        let text = self.rest;
        let mut state = [None; 4];
        let (mut on, mut is_flagged) = (true, false);
        for (at, next) in text.char_indices().skip(2) {
            match (next, "imsU".find(next)) {
                (_, Some(flag)) => (state[flag], is_flagged) = (Some(on), true),
                ('-', _) if on => (on, is_flagged) = (false, false),
                (':' | ')', _) if on || is_flagged => {
                    self.take(at + 1);
                    let flags = written(state);
                    match next {
                        ':' => self.push_group(&format!("(?{flags}:")),
                        _ if flags.is_empty() => {}
                        _ => self.flags.push_str(&format!("(?{flags})")),
                    }
                    return Ok(());
                }
                _ => return Err(refuse("invalid or unsupported Perl syntax", &text[..at + next.len_utf8()])),
            }
        }
        Err(refuse("invalid or unsupported Perl syntax", text))
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(closed) = self.open.pop() else { return Err(refuse("unexpected )", self.whole)) };
        self.take(1);
        self.flags.clear();
        self.out.push(')');
        self.group().add(closed.most.max(1));
        Ok(())
    }

    fn operator(&mut self, next: char, last_repeat: Option<&str>) -> Result<(), String> {
        let before = self.rest;
        self.take(1);
        let lazy = self.lazy();
        let repeats = self.repeatable(before, last_repeat)?;
        self.out.push(next);
        self.out.push_str(lazy);
        self.group().last = Some(repeats);
        Ok(())
    }

    /// `{2}`, `{2,}` or `{2,5}`
    fn counted(&mut self, last_repeat: Option<&str>) -> Result<(), String> {
        let before = self.rest;
        let Some((count, length)) = count(before) else { return Ok(()) };
        self.take(length);
        let Some((least, most)) = count else { return Err(refuse("invalid repeat count", &before[..length])) };
        let lazy = self.lazy();
        let inner = self.repeatable(before, last_repeat)?;
        let times = most.unwrap_or(least);
        let repeats = if most == Some(0) { 1 } else { times.max(1).saturating_mul(inner) };
        if (least >= 2 || most.is_some_and(|most| most >= 2)) && repeats > REPEATS_MAX {
            return Err(refuse("invalid repeat count", &before[..before.len() - self.rest.len()]));
        }
        match most {
            Some(most) => self.out.push_str(&format!("{{{least},{most}}}{lazy}")),
            None => self.out.push_str(&format!("{{{least},}}{lazy}")),
        }
        self.group().add(repeats);
        Ok(())
    }

    fn lazy(&mut self) -> &'static str {
        if self.rest.starts_with('?') {
            self.take(1);
            return "?";
        }
        ""
    }

    /// How often that is repeated inside which is about to be repeated.
    fn repeatable(&mut self, before: &str, last_repeat: Option<&str>) -> Result<u32, String> {
        let end = self.rest.len();
        if let Some(last) = last_repeat {
            return Err(refuse("invalid nested repetition operator", &last[..last.len() - end]));
        }
        let refusal = || refuse("missing argument to repetition operator", &before[..before.len() - end]);
        self.group().last.ok_or_else(refusal)
    }

    fn escape(&mut self) -> Result<(), String> {
        let text = self.rest;
        match text.as_bytes().get(1) {
            Some(b'A') => self.matcher(2, "\\A"),
            Some(b'z') => self.matcher(2, "\\z"),
            Some(b'b') => self.matcher(2, "(?-u:\\b)"),
            Some(b'B') => self.matcher(2, "(?-u:\\B)"),
            Some(b'C') => return Err(refuse("invalid escape sequence", "\\C")),
            Some(b'Q') => {
                let (quoted, rest) = text[2..].split_once("\\E").unwrap_or((&text[2..], ""));
                self.rest = rest;
                quoted.chars().for_each(|character| self.literal(character));
            }
            _ => {
                if let Some((written, length)) = class_escape(text)? {
                    self.matcher(length, &written);
                } else {
                    let (character, length) = character_escape(text)?;
                    self.take(length);
                    self.literal(character);
                }
            }
        }
        Ok(())
    }

    fn class(&mut self) -> Result<(), String> {
        let whole = self.rest;
        let mut written = String::from("[");
        let mut rest = &whole[1..];
        if let Some(after) = rest.strip_prefix('^') {
            written.push('^');
            rest = after;
        }
        let mut is_first = true;
        while is_first || !rest.starts_with(']') {
            is_first = false;
            rest = class_item(rest, whole, &mut written)?;
        }
        written.push(']');
        self.matcher(whole.len() - rest.len() + 1, &written);
        Ok(())
    }
}

/// One character, range or class in brackets. What follows it.
fn class_item<'p>(text: &'p str, whole: &str, out: &mut String) -> Result<&'p str, String> {
    if let Some((name, length)) = named_class(text)? {
        out.push_str(&name);
        return Ok(&text[length..]);
    }
    if let Some((written, length)) = class_escape(text)? {
        out.push_str(&written);
        return Ok(&text[length..]);
    }
    let (low, length) = class_character(text, whole)?;
    let mut rest = &text[length..];
    push_literal(low, out);
    if let Some(after) = rest.strip_prefix('-').filter(|after| !after.is_empty() && !after.starts_with(']')) {
        let (high, length) = class_character(after, whole)?;
        rest = &after[length..];
        if high < low {
            return Err(refuse("invalid character class range", &text[..text.len() - rest.len()]));
        }
        out.push('-');
        push_literal(high, out);
    }
    Ok(rest)
}

fn class_character(text: &str, whole: &str) -> Result<(char, usize), String> {
    match text.chars().next() {
        None => Err(refuse("missing closing ]", whole)),
        Some('\\') => character_escape(text),
        Some(character) => Ok((character, character.len_utf8())),
    }
}

/// `[:alpha:]` or its like, with its length.
fn named_class(text: &str) -> Result<Option<(String, usize)>, String> {
    const NAMES: [&str; 14] = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
        "word", "xdigit",
    ];
    let Some(end) = text.strip_prefix("[:").and_then(|name| name.find(":]")) else { return Ok(None) };
    let written = &text[..end + 4];
    let name = &text[2..end + 2];
    if !NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(refuse("invalid character class range", written));
    }
    Ok(Some((written.to_owned(), written.len())))
}

/// `\d`, `\pL` or `\p{Greek}`, in brackets or not, with its length.
fn class_escape(text: &str) -> Result<Option<(String, usize)>, String> {
    let written = match text.get(..2) {
        Some("\\d") => "[0-9]",
        Some("\\D") => "[^0-9]",
        Some("\\w") => "[0-9A-Za-z_]",
        Some("\\W") => "[^0-9A-Za-z_]",
        Some("\\s") => "[\\t\\n\\f\\r ]",
        Some("\\S") => "[^\\t\\n\\f\\r ]",
        Some("\\p" | "\\P") => return property(text).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((written.to_owned(), 2)))
}

/// A class by the name of a category or of a script.
fn property(text: &str) -> Result<(String, usize), String> {
    let (name, length) = match text[2..].chars().next() {
        Some('{') => match text.find('}') {
            Some(end) => (&text[3..end], end + 1),
            None => return Err(refuse("invalid character class range", text)),
        },
        Some(letter) => (&text[2..2 + letter.len_utf8()], 2 + letter.len_utf8()),
        None => return Err(refuse("invalid UTF-8", "")),
    };
    let (is_negated, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
    let sign = if text.starts_with("\\P") == is_negated { 'p' } else { 'P' };
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_- ".contains(&byte));
    let kinds = ["General_Category=", "Script="].iter().filter(|_| is_name);
    let mut classes = kinds.map(|kind| format!("\\{sign}{{{kind}{name}}}"));
    let known = classes.find(|class| Regex::new(class).is_ok());
    Ok((known.ok_or_else(|| refuse("invalid character class range", &text[..length]))?, length))
}

/// A character that is written with a backslash, with the length of that.
fn character_escape(text: &str) -> Result<(char, usize), String> {
    let mut rest = text[1..].chars();
    let Some(first) = rest.next() else { return Err(refuse("trailing backslash at end of expression", "")) };
    let plain = match first {
        'a' => '\x07',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        'x' => return hexadecimal(text),
        '0'..='7' => return octal(text),
        first if first.is_ascii() && !first.is_ascii_alphanumeric() => first,
        first => return Err(refuse("invalid escape sequence", &text[..1 + first.len_utf8()])),
    };
    Ok((plain, 2))
}

/// Up to three digits. One alone, unless it is zero, would refer to a group.
fn octal(text: &str) -> Result<(char, usize), String> {
    let digits: Vec<u32> = text[1..].chars().map_while(|digit| digit.to_digit(8)).take(3).collect();
    if digits.len() == 1 && digits[0] != 0 {
        return Err(refuse("invalid escape sequence", &text[..2]));
    }
    let code = digits.iter().fold(0, |code, digit| code * 8 + digit);
    Ok((char::from_u32(code).unwrap_or_default(), 1 + digits.len()))
}

/// `\x7f` or `\x{10ffff}`
fn hexadecimal(text: &str) -> Result<(char, usize), String> {
    let digits = &text[2..];
    if let Some(braced) = digits.strip_prefix('{') {
        return braced_hexadecimal(text, braced);
    }
    let length = 2 + digits.chars().take(2).map(char::len_utf8).sum::<usize>();
    let is_code = length == 4 && text[2..4].bytes().all(|digit| digit.is_ascii_hexdigit());
    let code = u8::from_str_radix(text.get(2..4).filter(|_| is_code).unwrap_or_default(), 16);
    Ok((char::from(code.map_err(|_| refuse("invalid escape sequence", &text[..length]))?), 4))
}

fn braced_hexadecimal(text: &str, digits: &str) -> Result<(char, usize), String> {
    let mut code = 0;
    for (index, digit) in digits.char_indices() {
        let end = 3 + index + digit.len_utf8();
        if digit == '}' && index > 0 {
            let character = char::from_u32(code).ok_or_else(|| refuse("invalid escape sequence", &text[..end]))?;
            return Ok((character, end));
        }
        code = match digit.to_digit(16).map(|digit| code * 16 + digit) {
            Some(code) if code <= u32::from(char::MAX) => code,
            _ => return Err(refuse("invalid escape sequence", &text[..end])),
        };
    }
    Err(refuse("invalid escape sequence", text))
}

/// The least and the most.
type Count = (u32, Option<u32>);

/// A count and its length; no count at all if its numbers are too large. `None` if this is no count.
fn count(text: &str) -> Option<(Option<Count>, usize)> {
    let (least, rest) = number(text.strip_prefix('{')?)?;
    let (most, rest) = match rest.strip_prefix(',') {
        None => (Some(least), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => {
            let (most, rest) = number(rest)?;
            (Some(most), rest)
        }
    };
    let rest = rest.strip_prefix('}')?;
    let is_valid = least <= REPEATS_MAX && most.is_none_or(|most| most <= REPEATS_MAX && least <= most);
    Some((is_valid.then_some((least, most)), text.len() - rest.len()))
}

/// Digits, without a zero before others. What is too large stays too large.
fn number(text: &str) -> Option<(u32, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(length);
    if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}

/// Flags that are on, and those that are off.
fn written(state: [Option<bool>; 4]) -> String {
    let with =
        |wanted: bool| "imsU".chars().zip(state).filter(move |(_, on)| *on == Some(wanted)).map(|(flag, _)| flag);
    let (on, off): (String, String) = (with(true).collect(), with(false).collect());
    if off.is_empty() { on } else { format!("{on}-{off}") }
}

fn push_literal(character: char, out: &mut String) {
    if r".+*?()|[]{}^$#&-~\".contains(character) {
        out.push('\\');
    }
    out.push(character);
}
