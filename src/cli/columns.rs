//! Text in columns, as kubectl prints it, and on lines that fit the terminal.

use ratatui::crossterm::terminal;
use std::fmt::Write;
use std::io::IsTerminal;

/// Lines of as many columns as the first one has; the last column is as wide as it likes.
pub(super) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}   ");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// How wide the lines of a terminal are; what is no terminal has no bound.
pub(super) fn width(of: &impl IsTerminal) -> Option<usize> {
    of.is_terminal().then(|| terminal::size().ok()).flatten().map(|(columns, _)| usize::from(columns))
}

/// Text on lines of so many columns, broken between words. What is to be copied, a command in backquotes or after `see:`,
/// stays in one piece.
pub(super) fn wrapped(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    text.lines().map(|line| wrapped_line(line, columns) + "\n").collect::<String>().trim_end_matches('\n').to_owned()
}

fn wrapped_line(line: &str, columns: usize) -> String {
    let (mut text, mut wide) = (String::new(), 0);
    for piece in pieces(line) {
        let more = piece.chars().count();
        if wide > 0 && wide + 1 + more > columns {
            text.push('\n');
            wide = 0;
        } else if wide > 0 {
            text.push(' ');
            wide += 1;
        }
        text.push_str(&piece);
        wide += more;
    }
    text
}

/// What a line can be broken between.
pub(super) fn pieces(line: &str) -> Vec<String> {
    let (line, command) = match line.find("see: ") {
        Some(at) => (line[..at].trim_end(), Some(line[at..].to_owned())),
        None => (line, None),
    };
    let mut all: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in line.split(' ') {
        match all.last_mut() {
            Some(last) if is_open => *last = format!("{last} {word}"),
            _ => all.push(word.to_owned()),
        }
        is_open ^= word.matches('`').count() % 2 == 1;
    }
    all.extend(command);
    all.retain(|piece| !piece.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_commands_are_not_broken() {
        let text = "one two three\nmore: `hanse cell list` shows\n\nx is away; see: hanse explain deploy/x -n y";
        assert_eq!(wrapped(text, None), text);
        let expected =
            "one two\nthree\nmore:\n`hanse cell list`\nshows\n\nx is away;\nsee: hanse explain deploy/x -n y";
        assert_eq!(wrapped(text, Some(10)), expected);
        assert_eq!(wrapped(text, Some(80)), text);
    }
}
