//! Texts in quotes.

use std::fmt::Write;

/// As Go's `%q`: what cannot be seen is escaped.
pub(super) fn go(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match escape(character) {
            Some(escape) => out.extend(['\\', escape]),
            None if is_visible(character) => out.push(character),
            None => unseen(character, &mut out),
        }
    }
    out.push('"');
    out
}

/// As the language writes a string: only what has an escape of its own is escaped.
pub(super) fn cel(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match escape(character) {
            Some(escape) => out.extend(['\\', escape]),
            None => out.push(character),
        }
    }
    out.push('"');
    out
}

fn escape(character: char) -> Option<char> {
    Some(match character {
        '\x07' => 'a',
        '\x08' => 'b',
        '\x0c' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        '\x0b' => 'v',
        '\\' => '\\',
        '"' => '"',
        _ => return None,
    })
}

fn is_visible(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    // Alone, a combining mark would count as something that cannot be seen.
    !format!("a{character}").escape_debug().any(|part| part == '\\')
}

fn unseen(character: char, out: &mut String) {
    let code = u32::from(character);
    let written = match code {
        0..=0x7f => write!(out, "\\x{code:02x}"),
        0x80..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
    debug_assert!(written.is_ok(), "writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::{cel, go};

    #[test]
    fn go_escapes_what_cannot_be_seen() {
        let check = |text, quoted| assert_eq!(go(text), quoted);
        check("plain é 😀", "\"plain é 😀\"");
        check("a\"b\\c\n\t\x07", r#""a\"b\\c\n\t\a""#);
        check("\x01\x7f\u{a0}\u{200b}\u{e0001}", r#""\x01\x7f\u00a0\u200b\U000e0001""#);
        check("e\u{301}", "\"e\u{301}\"");
    }

    #[test]
    fn the_language_leaves_the_unseen_as_it_is() {
        assert_eq!(cel("\x01\n\"\u{a0}"), "\"\x01\\n\\\"\u{a0}\"");
    }
}
