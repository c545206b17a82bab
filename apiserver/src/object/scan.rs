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

/// Whether two objects say the same, whatever they say under `but`. What cannot be read says something else.
pub(super) fn same(one: &[u8], other: &[u8], but: &[&[&str]]) -> bool {
    let (Some(mut one), Some(mut other)) = (members(one), members(other)) else { return false };
    let is_left_out = |name: &[u8]| but.iter().any(|path| path.len() == 1 && path[0].as_bytes() == name);
    one.retain(|(name, _)| !is_left_out(name));
    other.retain(|(name, _)| !is_left_out(name));
    one.len() == other.len()
        && one.iter().zip(&other).all(|((name, one), (named, other))| {
            let under = but.iter().filter(|path| path.len() > 1 && path[0].as_bytes() == *name);
            let under: Vec<&[&str]> = under.map(|path| &path[1..]).collect();
            name == named && (one == other || !under.is_empty() && same(one, other, &under))
        })
}

/// The names of an object's members, and the texts of their values.
fn members(text: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let (mut found, mut at) = (Vec::new(), expect(text, 0, b'{')?);
    while text.get(at) == Some(&b'"') {
        let end = skip(text, at)?;
        let value = expect(text, end, b':')?;
        let after = skip(text, value)?;
        found.push((text.get(at + 1..end - 1)?, text.get(value..after)?));
        at = if text.get(after) == Some(&b',') { after + 1 } else { after };
    }
    Some(found)
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

    #[track_caller]
    fn compare(one: &Value, other: &Value, expect: bool) {
        let text = |tree: &Value| serde_json::to_vec(tree).unwrap();
        let but: [&[&str]; 3] = [&["status"], &["metadata", "resourceVersion"], &["metadata", "deeply", "kept"]];
        assert_eq!(same(&text(one), &text(other), &but), expect, "{one} and {other}");
    }

    #[test]
    fn objects_are_the_same_whatever_is_left_out() {
        let tree = json!({ "data": { "a": "}" }, "metadata": { "name": "n", "resourceVersion": "1" } });
        let changed = |change: fn(&mut Value)| {
            let mut changed = tree.clone();
            change(&mut changed);
            changed
        };
        compare(&tree, &tree, true);
        compare(&tree, &changed(|tree| tree["metadata"]["resourceVersion"] = json!("22")), true);
        compare(&tree, &changed(|tree| tree["status"] = json!({ "ready": 1 })), true);
        compare(&tree, &changed(|tree| tree["data"]["a"] = json!("{")), false);
        compare(&tree, &changed(|tree| tree["metadata"]["labels"] = json!({})), false);
        compare(&tree, &changed(|tree| tree["metadata"]["deeply"] = json!({ "kept": 1 })), false);
        let deep = |kept: i64, other: i64| json!({ "metadata": { "deeply": { "kept": kept, "other": other } } });
        compare(&deep(1, 1), &deep(2, 1), true);
        compare(&deep(1, 1), &deep(1, 2), false);
        compare(&tree, &json!([]), false);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in proptest::collection::vec(any::<u8>(), 0..64)) {
            find(&text, &["metadata", "name"]);
            same(&text, &text, &[&["metadata", "name"]]);
        }
    }
}
