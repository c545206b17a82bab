//! Regular expressions as Go reads them, compiled once and kept.

mod translate;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

use crate::value::Error;

use translate::translate;

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
    let translated = translate(pattern).map_err(refusal)?;
    let built = RegexBuilder::new(&translated).size_limit(SIZE_MAX).dfa_size_limit(SIZE_MAX).build();
    built.map_err(|error| refusal(in_words_of_go(&reason(&error), pattern)))
}

/// What is left for the regex crate to find, as Go words it.
fn in_words_of_go(reason: &str, pattern: &str) -> String {
    match reason {
        "unclosed group" => format!("missing closing ): `{pattern}`"),
        other => other.to_owned(),
    }
}

/// The last line of what the regex crate has to say, which is the complaint itself.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
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
        check(r"^x{,5}$", &["x{,5}"], &["xx"]);
        check(r"^\<\>$", &["<>"], &[]);
        check(r"^[a\-z]$", &["-"], &["b"]);
        check(r"^[a-]$", &["a", "-"], &["b"]);
        check(r"^a{2}?b$", &["aab"], &["ab"]);
        check(r"^[\d\s]+$", &["1 2"], &["a"]);
        check(r"^\101$", &["A"], &["1"]);
        check(r"^(?P<n>a)|b$", &["a", "b"], &["c"]);
    }

    #[test]
    fn what_go_does_not_know_is_refused() {
        for pattern in
            ["(", "[a", "a**", r"\u{41}", r"(?=a)", r"(a)\1", "x{1001}", "[a--b]", "(?x)a", "(a{100}){100}", "a)", r"\"]
        {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_would_take_much_memory_are_refused() {
        assert!(compile("((a{100}){100}){100}").is_err());
    }
}
