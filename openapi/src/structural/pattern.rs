//! Regular expressions of schemas, which are written in RE2's syntax as Go has it, compiled when they are first needed.

use std::fmt;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use super::re2::{self, SyntaxError};

/// Steps that the patterns of one schema may take up together: some 50 MB when all of them are compiled.
pub const STEPS_MAX: usize = 1_000_000;
/// What one compiled pattern may take up. More than [`STEPS_MAX`] steps never do.
const BYTES_MAX: usize = 64 << 20;
/// What a pattern may keep of past matches to be faster.
const CACHE_BYTES_MAX: usize = 256 << 10;

/// A pattern as written, and compiled once.
pub struct Pattern {
    text: Box<str>,
    compiled: OnceLock<Option<Box<Compiled>>>,
}

struct Compiled {
    regex: Regex,
    steps: usize,
}

impl Pattern {
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), compiled: OnceLock::new() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is wrong with a pattern, in Go's words; or how many steps it takes up.
    pub fn steps(text: &str) -> Result<usize, SyntaxError> {
        let translated = re2::translate(text)?;
        if translated.steps > STEPS_MAX { Err(SyntaxError::large(text)) } else { Ok(translated.steps) }
    }

    fn compiled(&self) -> Option<&Compiled> {
        self.compiled.get_or_init(|| compile(&self.text)).as_deref()
    }

    /// Whether the pattern can be found in any text at all.
    #[cfg(test)]
    pub(super) fn compiles(&self) -> bool {
        self.compiled().is_some()
    }

    /// Whether the pattern is found in a text. One that cannot be compiled is found nowhere.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled().is_some_and(|compiled| compiled.regex.is_match(text))
    }

    /// What it costs at worst to look for the pattern in a text, in steps.
    pub fn cost(&self, text: &str) -> usize {
        self.compiled().map_or(0, |compiled| compiled.steps.saturating_mul(text.len()))
    }
}

fn compile(text: &str) -> Option<Box<Compiled>> {
    let translated = re2::translate(text).ok().filter(|translated| translated.steps <= STEPS_MAX)?;
    let mut builder = RegexBuilder::new(&translated.pattern);
    builder.size_limit(BYTES_MAX).dfa_size_limit(CACHE_BYTES_MAX).nest_limit(re2::DEPTH_MAX);
    let regex = builder.build().ok()?;
    Some(Box::new(Compiled { regex, steps: translated.steps }))
}

impl fmt::Debug for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Pattern").field(&self.text).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, text: &str) -> bool {
        Pattern::steps(pattern).unwrap();
        Pattern::new(pattern).is_match(text)
    }

    fn refused(pattern: &str) -> String {
        Pattern::steps(pattern).unwrap_err().to_string()
    }

    #[test]
    fn classes_are_those_of_ascii() {
        assert!(found(r"^\d+$", "123") && !found(r"^\d+$", "١٢٣"));
        assert!(found(r"^\w$", "_") && !found(r"^\w$", "ä") && found(r"^\W$", "ä"));
        assert!(found(r"^[\d\s]+$", "1 2") && !found(r"^\s$", "\u{b}") && found(r"^[^\D]$", "1"));
        assert!(found(r"a\b", "aä") && !found(r"a\B", "aä"));
        assert!(found(r"^\p{Greek}$", "λ") && found(r"^\P{^Greek}$", "λ") && found(r"^\pL[[:digit:]]$", "λ1"));
    }

    #[test]
    fn what_rust_reads_otherwise_is_literal() {
        assert!(found(r"^[a&&b]+$", "a&b") && found(r"^[a[]+$", "[a") && found(r"^a{$", "a{"));
        assert!(found(r"^\<\_\/$", "<_/") && found(r"^\Qa.b\E.$", "a.bc") && found(r"^\101\x41\x{41}$", "AAA"));
        assert!(found("^ba(?i)*C$", "bc") && found("^b(?i)c$", "bC"));
        assert!(found("^a#b $", "a#b ") && found("^x{,3}$", "x{,3}") && found(r"^[]a-]+$", "]-a"));
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_go() {
        assert_eq!(refused("a**"), "error parsing regexp: invalid nested repetition operator: `**`");
        assert_eq!(refused("*a"), "error parsing regexp: missing argument to repetition operator: `*`");
        assert_eq!(refused("(a"), "error parsing regexp: missing closing ): `(a`");
        assert_eq!(refused("a)"), "error parsing regexp: unexpected ): `a)`");
        assert_eq!(refused("[a"), "error parsing regexp: missing closing ]: `[a`");
        assert_eq!(refused("[b-a]"), "error parsing regexp: invalid character class range: `b-a`");
        assert_eq!(refused("(?=a)"), "error parsing regexp: invalid or unsupported Perl syntax: `(?=`");
        assert_eq!(refused("(?<=a)"), "error parsing regexp: invalid named capture: `(?<=a)`");
        assert_eq!(refused(r"\y"), r"error parsing regexp: invalid escape sequence: `\y`");
        assert_eq!(refused(r"\1"), r"error parsing regexp: invalid escape sequence: `\1`");
        assert_eq!(refused("a{1001}"), "error parsing regexp: invalid repeat count: `{1001}`");
        assert_eq!(refused("(a{100}){100}"), "error parsing regexp: invalid repeat count: `{100}`");
        assert_eq!(refused("a\\"), "error parsing regexp: trailing backslash at end of expression: ``");
    }

    #[test]
    fn size_and_depth_are_bounded() {
        let deep = "(".repeat(100_000) + &")".repeat(100_000);
        assert_eq!(&refused(&deep)[..56], "error parsing regexp: expression nests too deeply: `((((");
        assert!(Pattern::steps(&"a".repeat(1 << 20)).is_err());
        assert!(Pattern::steps(&r"\pL{1000}".repeat(10)).is_err());
        assert!(found("^(a+)+$", &"a".repeat(1000)) && !found("^(a+)+$", &("a".repeat(100_000) + "b")));
        assert!(found(&format!("{}{}", "(".repeat(300), ")".repeat(300)), ""));
    }
}
