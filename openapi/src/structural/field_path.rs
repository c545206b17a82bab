//! Paths like `.spec.list['a b']`, as rules and selectable fields name a place of the schema below theirs.

use super::node::Node;

/// A place that a path names.
#[derive(Debug)]
pub struct Found<'a> {
    /// As errors print it: `spec.map[key]`.
    pub path: String,
    /// The first name of the path.
    pub first: String,
    /// None for an entry of a map that may hold anything.
    pub node: Option<&'a Node>,
}

impl Node {
    /// The place that a path names below this one; why it names none otherwise. `brackets` if `['a b']` may be used.
    pub fn find(&self, json_path: &str, brackets: bool) -> Result<Found<'_>, String> {
        let mut found = Found { path: String::new(), first: String::new(), node: Some(self) };
        let mut tokens = Tokens { rest: json_path };
        let cut_short = || "unexpected end of JSON path".to_owned();
        while let Some(token) = tokens.next() {
            match token {
                "[" if !brackets => return Err("array notation is not allowed".to_owned()),
                "[" => {
                    let name = unquoted(tokens.next().ok_or_else(cut_short)?)?;
                    found.enter(&name)?;
                    let end = tokens.next().ok_or_else(cut_short)?;
                    if end != "]" {
                        return Err(format!("expected ] but got {end}"));
                    }
                }
                "." => found.enter(tokens.next().ok_or_else(cut_short)?)?,
                other => return Err(format!("expected [ or . but got: {other}")),
            }
        }
        Ok(found)
    }
}

impl Found<'_> {
    fn enter(&mut self, name: &str) -> Result<(), String> {
        let nowhere = || "does not refer to a valid field".to_owned();
        let node = self.node.ok_or_else(nowhere)?;
        if self.path.is_empty() {
            self.first = name.to_owned();
        }
        if node.properties().len() > 0 {
            self.node = Some(node.property(name).ok_or_else(nowhere)?);
            self.path.push_str(if self.path.is_empty() { "" } else { "." });
            self.path.push_str(name);
        } else if node.additional_properties().is_specified() {
            self.node = node.additional_properties().schema();
            self.path.push_str(&format!("[{name}]"));
        } else {
            return Err(nowhere());
        }
        Ok(())
    }
}

/// Dots and brackets, and what stands between them; a quoted text is one.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.rest.as_bytes();
        let first = *bytes.first()?;
        let end = match first {
            b'.' | b'[' | b']' => 1,
            b'\'' => (1..bytes.len())
                .find(|at| bytes[*at] == b'\'' && bytes[at - 1] != b'\\')
                .map_or(bytes.len(), |at| at + 1),
            _ => bytes.iter().position(|byte| matches!(byte, b'.' | b'[' | b']')).unwrap_or(bytes.len()),
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token)
    }
}

fn unquoted(token: &str) -> Result<String, String> {
    let inner = token.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
    let inner = inner.ok_or_else(|| format!("expected single quoted string but got {token}"))?;
    let mut text = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        text.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(same @ ('\'' | '\\')) => same,
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
            None => '\\',
        });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::structural::Structural;

    #[test]
    fn paths_follow_properties_and_maps() {
        let schema = Structural::read(&json!({"properties": {
            "spec": {"properties": {"a b": {"type": "string"}}},
            "map": {"additionalProperties": {"type": "string"}},
        }}));
        let found = |path: &str| match schema.root().find(path, true) {
            Ok(found) => found.path,
            Err(error) => error,
        };
        assert_eq!(found(".spec['a b']"), "spec.a b");
        assert_eq!(found(".map.x"), "map[x]");
        assert_eq!(found(".spec.c"), "does not refer to a valid field");
        assert_eq!(found("spec"), "expected [ or . but got: spec");
        assert_eq!(found(".spec["), "unexpected end of JSON path");
        assert_eq!(found(".spec[a]"), "expected single quoted string but got a");
        assert_eq!(schema.root().find(".spec['a b']", false).unwrap_err(), "array notation is not allowed");
    }
}
