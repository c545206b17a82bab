//! Keys of documents as identifiers of expressions: `a-b` is written `a__dash__b`.

/// Words of the language itself.
const KEYWORDS: [&str; 4] = ["true", "false", "null", "in"];

/// Words that the language keeps to itself though it has no use for them.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Whether the word means nothing in the language and is no identifier all the same.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// Whether a key is written between double underscores, for as an identifier it would be none.
pub(crate) fn is_word(key: &str) -> bool {
    KEYWORDS.contains(&key) || is_reserved(key)
}

/// The identifier for a key, if the key can be written as one.
pub fn escape(key: &str) -> Option<String> {
    if key.is_empty() || key.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if is_word(key) {
        return Some(format!("__{key}__"));
    }
    let mut out = String::with_capacity(key.len());
    let mut rest = key;
    while let Some(next) = rest.chars().next() {
        let (read, written) = match next {
            '_' if rest.starts_with("__") => ("__", "__underscores__"),
            '.' => (".", "__dot__"),
            '-' => ("-", "__dash__"),
            '/' => ("/", "__slash__"),
            '_' | 'a'..='z' | 'A'..='Z' | '0'..='9' => (&rest[..1], &rest[..1]),
            _ => return None,
        };
        out.push_str(written);
        rest = &rest[read.len()..];
    }
    Some(out)
}

/// The key that an identifier stands for, if its escapes are right.
pub fn unescape(identifier: &str) -> Option<String> {
    let mut out = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(start) = rest.find("__") {
        let inside = &rest[start + 2..];
        let length = inside.find('_').unwrap_or(inside.len());
        if length == 0 || !inside[length..].starts_with("__") {
            // Not an escape: the underscore stands for itself.
            out.push_str(&rest[..=start]);
            rest = &rest[start + 1..];
            continue;
        }
        out.push_str(&rest[..start]);
        match &inside[..length] {
            "underscores" => out.push_str("__"),
            "dot" => out.push('.'),
            "dash" => out.push('-'),
            "slash" => out.push('/'),
            word if is_word(word) && length + 4 == identifier.len() => out.push_str(word),
            _ => return None,
        }
        rest = &inside[length + 2..];
    }
    out.push_str(rest);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{escape, unescape};

    fn check(key: &str, identifier: &str) {
        assert_eq!(escape(key).as_deref(), Some(identifier));
        assert_eq!(unescape(identifier).as_deref(), Some(key));
    }

    #[test]
    fn keys_become_identifiers_and_keys_again() {
        check("replicas", "replicas");
        check("a-b.c/d", "a__dash__b__dot__c__slash__d");
        check("a__b", "a__underscores__b");
        check("a___b", "a__underscores___b");
        check("namespace", "__namespace__");
        check("_in_", "_in_");
    }

    #[test]
    fn what_has_no_identifier_is_refused() {
        for key in ["", "1a", "a b", "ä", "a$"] {
            assert_eq!(escape(key), None, "{key}");
        }
        for identifier in ["a__foo__b", "x__namespace__", "__true__y"] {
            assert_eq!(unescape(identifier), None, "{identifier}");
        }
    }
}
