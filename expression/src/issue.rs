//! What is wrong with an expression, and where.

use std::fmt;

/// The most issues that are told of one expression.
const ISSUES_MAX: usize = 100;
/// Longer lines are not shown.
const SNIPPET_MAX: usize = 16_384;

/// A complaint with its position. Printed, it shows the line and points at the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// From 1; -1 when the expression as a whole is meant.
    pub line: i32,
    /// From 1, in characters.
    pub column: i32,
    pub message: String,
    snippet: Option<String>,
}

impl fmt::Display for Issue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ERROR: <input>:{}:{}: {}", self.line, self.column, self.message)?;
        let Some(snippet) = &self.snippet else { return Ok(()) };
        let before = usize::try_from(self.column - 1).unwrap_or_default();
        write!(out, "\n | {snippet}\n | ")?;
        let mut characters = snippet.chars();
        for character in characters.by_ref().take(before) {
            out.write_str(if character.is_ascii() { "." } else { "\u{ff0e}" })?;
        }
        out.write_str(if characters.next().is_some_and(|next| !next.is_ascii()) { "\u{ff3e}" } else { "^" })
    }
}

/// The text of an expression, and complaints about it as they come in.
#[derive(Debug)]
pub(crate) struct Issues<'a> {
    source: &'a str,
    /// Where each line but the first begins, in characters.
    lines: Vec<usize>,
    found: Vec<Issue>,
    left_out: usize,
}

impl<'a> Issues<'a> {
    pub(crate) fn new(source: &'a str) -> Issues<'a> {
        let breaks = source.chars().enumerate().filter(|(_, character)| *character == '\n');
        Issues { source, lines: breaks.map(|(at, _)| at + 1).collect(), found: Vec::new(), left_out: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Complains about a place, given in characters from the start; `None` is the expression as a whole.
    pub(crate) fn report(&mut self, at: Option<usize>, message: impl Into<String>) {
        if self.found.len() >= ISSUES_MAX {
            self.left_out += 1;
            return;
        }
        let message = message.into();
        self.found.push(match at {
            None => Issue { line: -1, column: 0, message, snippet: None },
            Some(at) => self.locate(at, message),
        });
    }

    fn locate(&self, at: usize, message: String) -> Issue {
        if self.source.is_empty() {
            return Issue { line: 1, column: 0, message, snippet: None };
        }
        let line = self.lines.partition_point(|start| *start <= at);
        let start = if line == 0 { 0 } else { self.lines[line - 1] };
        let snippet = self.source.split('\n').nth(line).unwrap_or_default();
        let snippet = (snippet.len() <= SNIPPET_MAX).then(|| snippet.replace('\t', " "));
        let place = |number: usize| i32::try_from(number + 1).unwrap_or(i32::MAX);
        Issue { line: place(line), column: place(at - start), message, snippet }
    }

    /// All of them, by position.
    pub(crate) fn finish(mut self) -> Vec<Issue> {
        self.found.sort_by_key(|issue| (issue.line, issue.column));
        if self.left_out > 0 {
            let message = format!("{} more errors were truncated", self.left_out);
            self.found.push(Issue { line: -1, column: 0, message, snippet: None });
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::Issues;

    fn check(source: &str, at: usize, text: &str) {
        let mut issues = Issues::new(source);
        issues.report(Some(at), "no");
        assert_eq!(issues.finish()[0].to_string(), text);
    }

    #[test]
    fn issues_point_at_their_place() {
        check("self.foo", 4, "ERROR: <input>:1:5: no\n | self.foo\n | ....^");
        check("a\nb + c", 4, "ERROR: <input>:2:3: no\n | b + c\n | ..^");
        check("'ä' ß", 4, "ERROR: <input>:1:5: no\n | 'ä' ß\n | .\u{ff0e}..\u{ff3e}");
        check("\ta", 9, "ERROR: <input>:1:10: no\n |  a\n | ..^");
    }
}
