//! Regular expressions as Go reads them, compiled once and kept.

mod syntax;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

use crate::error::Error;

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
    let refusal = |why: &str| Error::new(format!("error parsing regexp: {why}"));
    let translated = syntax::translate(pattern).map_err(|why| refusal(&why))?;
    let built = RegexBuilder::new(&translated).size_limit(SIZE_MAX).dfa_size_limit(SIZE_MAX).build();
    built.map_err(|_| refusal(&format!("expression too large: `{pattern}`")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{compile, syntax};

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
    fn flags_may_stand_before_a_repetition() {
        check("^.(?i)+b$", &["aaB", "ab"], &["a"]);
        check("^(a(?i))b$", &["ab"], &["aB"]);
        check("^(?i)(?-i)a(?)$", &["a"], &["A"]);
    }

    proptest! {
        /// Whatever Go takes for a pattern, the regex crate takes in its new words.
        #[test]
        fn what_was_translated_can_be_compiled(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..8)) {
            let pattern = pieces.concat();
            if let Ok(translated) = syntax::translate(&pattern) {
                prop_assert!(regex::Regex::new(&translated).is_ok(), "{} {}", pattern, translated);
            }
        }

        #[test]
        fn no_text_panics(pattern in "\\PC{0,20}") {
            let _ = compile(&pattern);
        }
    }

    const PIECES: &[&str] = &[
        "a",
        "é",
        ".",
        "*",
        "+",
        "?",
        "(",
        ")",
        "[",
        "]",
        "|",
        "^",
        "$",
        "\\",
        "d",
        "\\b",
        "{2}",
        "{,3}",
        "{1,}",
        "{",
        "}",
        "-",
        "[^",
        "(?:",
        "(?i)",
        "(?U-s:",
        "(?P<n>",
        "\\x41",
        "\\x{1F600}",
        "\\pL",
        "\\P{Greek}",
        "1",
        "\\Q",
        "\\E",
        "[:alpha:]",
        "&&",
        "~~",
        "--",
        "#",
        " ",
        "<",
        "\\<",
        "\\061",
        "\n",
        ",",
        "[:^word:]",
    ];

    #[test]
    fn what_go_does_not_know_is_refused() {
        for pattern in ["(", "[a", "a**", r"\u{41}", r"(?=a)", r"(a)\1", "x{1001}"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_would_take_much_memory_are_refused() {
        assert!(compile("((a{100}){100}){100}").is_err());
    }
}
