//! Finds a value in the text of an object without reading the rest of it into a tree.
//!
//! The text is one that serde_json has written: well-formed, without white space.

/// The text of the value under `path`, and where it starts.
pub(super) fn find<'a>(text: &'a [u8], path: &[&str]) -> Option<(usize, &'a [u8])> {
    let mut start = 0;
    for step in path {
        start = member(text, start, step)?;
    }
    Some((start, &text[start..skip(text, start)?]))
}

/// Where the value of `name` starts, in the object that starts at `at`.
fn member(text: &[u8], at: usize, name: &str) -> Option<usize> {
    let mut at = expect(text, at, b'{')?;
    while text.get(at) == Some(&b'"') {
        let end = skip(text, at)?;
        let value = expect(text, end, b':')?;
        if &text[at + 1..end - 1] == name.as_bytes() {
            return Some(value);
        }
        at = skip(text, value)?;
        at = if text.get(at) == Some(&b',') { at + 1 } else { at };
    }
    None
}

fn expect(text: &[u8], at: usize, byte: u8) -> Option<usize> {
    (text.get(at) == Some(&byte)).then_some(at + 1)
}

/// Where the value that starts at `at` ends.
fn skip(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => string_end(text, at + 1),
        b'{' | b'[' => nested_end(text, at),
        _ => Some(text[at..].iter().position(|byte| matches!(byte, b',' | b'}' | b']')).map_or(text.len(), |n| at + n)),
    }
}

/// Where the string ends whose first character is at `at`.
fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match text.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

fn nested_end(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match text.get(at)? {
            b'"' => {
                at = string_end(text, at + 1)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn check(tree: &Value, path: &[&str]) {
        let text = serde_json::to_vec(tree).unwrap();
        let expected = path.iter().try_fold(tree, |at, step| at.get(*step));
        let found = find(&text, path).map(|(_, value)| serde_json::from_slice::<Value>(value).unwrap());
        assert_eq!(found.as_ref(), expected, "{path:?} in {tree}");
    }

    #[test]
    fn values_are_found_past_whatever_stands_before_them() {
        let tree = json!({
            "a": { "metadata": { "b": "no" } }, "k": "\\\"}{[\",", "list": [1, "]", {"metadata": 2}], "n": -1.5e3,
            "metadata": { "a": [], "b": "yes", "c": null, "d": {}, "e": true },
        });
        for field in ["a", "b", "c", "d", "e", "f"] {
            check(&tree, &["metadata", field]);
        }
        check(&tree, &["k"]);
        check(&tree, &["missing", "field"]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in proptest::collection::vec(any::<u8>(), 0..64)) {
            find(&text, &["metadata", "name"]);
        }
    }
}
