//! Regular expressions as Go reads them, compiled once and kept.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

use crate::value::Error;

/// The most memory that a compiled pattern may take, and that matching it may.
const SIZE_MAX: usize = 2 << 20;
/// How many patterns are kept. When there are more, all are forgotten: cheaper than knowing which were used last.
const KEPT_MAX: usize = 256;

static KEPT: LazyLock<Mutex<HashMap<Box<str>, Arc<Regex>>>> = LazyLock::new(Mutex::default);

/// The pattern, from among those kept if it was compiled before.
pub fn compiled(pattern: &str) -> Result<Arc<Regex>, Error> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = kept.get(pattern) {
        return Ok(regex.clone());
    }
    drop(kept);
    let regex = Arc::new(compile(pattern)?);
    kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() >= KEPT_MAX {
        kept.clear();
    }
    kept.insert(pattern.into(), regex.clone());
    Ok(regex)
}

pub(crate) fn compile(pattern: &str) -> Result<Regex, Error> {
    let refusal = |reason: String| Error::new(format!("error parsing regexp: {reason}"));
    if let Some(count) = large_count(pattern) {
        return Err(refusal(format!("invalid repeat count: `{count}`")));
    }
    if let Some(operators) = repeated_twice(pattern) {
        return Err(refusal(format!("invalid nested repetition operator: `{operators}`")));
    }
    let translated = translate(pattern).ok_or_else(|| refusal(format!("invalid escape sequence: `{pattern}`")))?;
    let built = RegexBuilder::new(&translated).size_limit(SIZE_MAX).dfa_size_limit(SIZE_MAX).build();
    built.map_err(|error| refusal(in_words_of_go(&reason(&error), pattern)))
}

/// A repetition of more than a thousand, which Go does not do.
fn large_count(pattern: &str) -> Option<&str> {
    pattern.match_indices('{').find_map(|(start, _)| {
        let end = start + pattern[start..].find('}')?;
        let numbers = &pattern[start + 1..end];
        let is_count = !numbers.is_empty() && numbers.bytes().all(|next| next.is_ascii_digit() || next == b',');
        let large = |number: &str| !number.is_empty() && number.parse::<u32>().map_or(true, |number| number > 1000);
        (is_count && numbers.split(',').any(large)).then(|| &pattern[start..=end])
    })
}

/// `**` and its like, which Go does not allow. What is escaped or in brackets is no operator.
fn repeated_twice(pattern: &str) -> Option<&str> {
    let (mut in_class, mut escaped) = (false, false);
    let mut before: Option<(usize, bool)> = None;
    for (at, next) in pattern.char_indices() {
        let operator = !in_class && !escaped && matches!(next, '*' | '+' | '?');
        match before {
            // A question mark after an operator makes it lazy, once.
            Some((start, false)) if operator && next == '?' => before = Some((start, true)),
            Some((start, _)) if operator => return Some(&pattern[start..=at]),
            _ => before = (operator && at > 0).then_some((at, false)),
        }
        in_class = if escaped { in_class } else { (in_class && next != ']') || (!in_class && next == '[') };
        escaped = !escaped && next == '\\';
    }
    None
}

/// The common complaints as Go words them.
fn in_words_of_go(reason: &str, pattern: &str) -> String {
    match reason {
        "unclosed character class" => {
            let start = pattern.rfind('[').unwrap_or_default();
            format!("missing closing ]: `{}`", &pattern[start..])
        }
        "repetition operator missing expression" => {
            let operator = pattern.chars().find(|next| "*+?{".contains(*next)).unwrap_or('*');
            format!("missing argument to repetition operator: `{operator}`")
        }
        "unclosed group" => format!("missing closing ): `{pattern}`"),
        "unopened group" => format!("unexpected ): `{pattern}`"),
        other => other.to_owned(),
    }
}

/// The last line of what the regex crate has to say, which is the complaint itself.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// What Go means in the words of the regex crate: `\d`, `\w`, `\s` and `\b` are ASCII there, brackets in brackets are
/// characters, and `\Q…\E` is literal. `None` for what only the regex crate would understand.
fn translate(pattern: &str) -> Option<String> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(next) = rest.chars().next() {
        if next == '\\' {
            rest = escape(&rest[1..], in_class, &mut out)?;
            continue;
        }
        if in_class {
            if let Some(length) = named_class(rest) {
                out.push_str(&rest[..length]);
                rest = &rest[length..];
                continue;
            }
            in_class = next != ']';
            if matches!(next, '[' | '&' | '~' | '-') && !range_dash(next, &rest[1..], &out) {
                out.push('\\');
            }
        } else if next == '[' {
            rest = open_class(&rest[1..], &mut out);
            in_class = true;
            continue;
        }
        out.push(next);
        rest = &rest[next.len_utf8()..];
    }
    Some(out)
}

/// A dash between two characters makes a range; others stand for themselves.
fn range_dash(next: char, after: &str, before: &str) -> bool {
    next == '-' && !after.starts_with(']') && !before.ends_with(['[', '^'])
}

/// `[`, `[^`, and a bracket right after it, which is a character.
fn open_class<'a>(after: &'a str, out: &mut String) -> &'a str {
    out.push('[');
    let mut rest = after;
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    if let Some(after) = rest.strip_prefix(']') {
        out.push_str("\\]");
        rest = after;
    }
    rest
}

/// The length of `[:alpha:]` or its like.
fn named_class(text: &str) -> Option<usize> {
    let name = text.strip_prefix("[:")?;
    let end = name.find(":]")?;
    name[..end].chars().all(|next| next.is_ascii_alphabetic() || next == '^').then_some(end + 4)
}

/// One escape, the backslash already taken. The rest of the pattern.
fn escape<'a>(text: &'a str, in_class: bool, out: &mut String) -> Option<&'a str> {
    let next = text.chars().next()?;
    let rest = &text[next.len_utf8()..];
    let translated = match (next, in_class) {
        ('d', false) => "[0-9]",
        ('D', _) => "[^0-9]",
        ('w', false) => "[0-9A-Za-z_]",
        ('W', _) => "[^0-9A-Za-z_]",
        ('s', false) => "[\\t\\n\\f\\r ]",
        ('S', _) => "[^\\t\\n\\f\\r ]",
        ('d', true) => "0-9",
        ('w', true) => "0-9A-Za-z_",
        ('s', true) => "\\t\\n\\f\\r ",
        ('b', false) => "(?-u:\\b)",
        ('B', false) => "(?-u:\\B)",
        ('Q', false) => {
            let (literal, after) = rest.split_once("\\E").unwrap_or((rest, ""));
            out.push_str(&regex::escape(literal));
            return Some(after);
        }
        ('<' | '>' | 'u' | 'U' | 'Z' | 'E', _) => return None,
        ('A' | 'z' | 'C', true) => return None,
        _ => {
            out.push('\\');
            out.push(next);
            return Some(rest);
        }
    };
    out.push_str(translated);
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::compile;

    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        let regex = compile(pattern).unwrap();
        for text in matching {
            assert!(regex.is_match(text), "{pattern} {text}");
        }
        for text in others {
            assert!(!regex.is_match(text), "{pattern} {text}");
        }
    }

    #[test]
    fn classes_are_ascii_and_brackets_are_characters() {
        check(r"^\d+$", &["12"], &["١٢", ""]);
        check(r"^\w$", &["a", "_"], &["ä"]);
        check(r"^[\w-]+$", &["a-b"], &["a b"]);
        check(r"^[[]$", &["["], &["]"]);
        check(r"^[]a]$", &["]", "a"], &["b"]);
        check(r"^[^\s&&]$", &["a"], &["&", " "]);
        check(r"^[[:alpha:]-]$", &["a", "-"], &["1"]);
        check(r"^\Qa.b\E$", &["a.b"], &["axb"]);
        check(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", &["a-b", "a"], &["-a", "A"]);
        check(r"\bfoo\b", &["a foo b"], &["foob"]);
        check(r"^(?i)abc(?-i)d$", &["ABCd"], &["ABCD"]);
    }

    #[test]
    fn what_go_does_not_know_is_refused() {
        for pattern in ["(", "[a", "a**", r"\u{41}", r"(?=a)", r"(a)\1", "x{1001}", r"\<a"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_would_take_much_memory_are_refused() {
        assert!(compile("((a{100}){100}){100}").is_err());
    }
}
