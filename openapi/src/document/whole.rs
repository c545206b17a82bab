//! A document of version 2 as text, to which the text of others can be added without making it anew.

use serde_json::{Map, Value};

/// A document of version 2, in the parts that grow and the rest.
#[derive(Debug)]
pub struct Whole {
    definitions: String,
    paths: String,
    rest: String,
}

impl Whole {
    pub fn new(document: Value) -> Self {
        let Value::Object(mut map) = document else { return Self::new(Value::Object(Map::new())) };
        let mut part = |name: &str| match map.remove(name) {
            Some(Value::Object(entries)) => inner(&entries),
            _ => String::new(),
        };
        let (definitions, paths) = (part("definitions"), part("paths"));
        Self { definitions, paths, rest: inner(&map) }
    }

    pub fn text(&self) -> String {
        self.with(&Map::new(), &Map::new())
    }

    /// The text with more in it. What is added must not be there already.
    pub fn with(&self, definitions: &Map<String, Value>, paths: &Map<String, Value>) -> String {
        let definitions = joined(&self.definitions, &inner(definitions));
        let paths = joined(&self.paths, &inner(paths));
        let grown = format!(r#""definitions":{{{definitions}}},"paths":{{{paths}}}"#);
        format!("{{{}}}", joined(&grown, &self.rest))
    }
}

/// The entries of a map, without what is around them.
fn inner(map: &Map<String, Value>) -> String {
    let text = serde_json::to_string(map).unwrap_or_default();
    text.get(1..text.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

fn joined(one: &str, other: &str) -> String {
    let comma = if one.is_empty() || other.is_empty() { "" } else { "," };
    format!("{one}{comma}{other}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_added_is_in_the_text() {
        let document = json!({ "swagger": "2.0", "definitions": { "a": {} }, "paths": {} });
        let whole = Whole::new(document.clone());
        assert_eq!(serde_json::from_str::<Value>(&whole.text()).unwrap(), document);
        let (more, path) = (json!({ "b": { "type": "object" } }), json!({ "/x": {} }));
        let grown = whole.with(more.as_object().unwrap(), path.as_object().unwrap());
        let expect = json!({ "swagger": "2.0", "definitions": { "a": {}, "b": { "type": "object" } }, "paths": path });
        assert_eq!(serde_json::from_str::<Value>(&grown).unwrap(), expect);
    }
}
