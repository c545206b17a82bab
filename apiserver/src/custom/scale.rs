//! Where a custom resource says how many of something there are, and should be.

use crate::object::child;
use openapi::FieldError;
use serde_json::{Map, Value};

/// Places in an object, as steps down from its top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    pub spec: Path,
    pub status: Path,
    pub selector: Option<Path>,
}

/// A place in an object: `.spec.replicas`. Definitions are checked to name no other sort of places here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    text: String,
    steps: Vec<String>,
}

impl Path {
    pub fn parse(text: &str) -> Self {
        let steps = text.trim_start_matches('.').split('.').map(str::to_owned).collect();
        Self { text: text.to_owned(), steps }
    }

    pub fn steps(&self) -> Vec<&str> {
        self.steps.iter().map(String::as_str).collect()
    }

    pub fn get<'a>(&self, object: &'a Map<String, Value>) -> Option<&'a Value> {
        let (first, rest) = self.steps.split_first()?;
        rest.iter().try_fold(object.get(first)?, |at, step| at.get(step))
    }

    /// Puts a value there, making what leads to it.
    pub fn set(&self, object: &mut Map<String, Value>, value: Value) {
        let Some((last, before)) = self.steps.split_last() else { return };
        let parent = before.iter().fold(object, |at, step| child(at, step));
        parent.insert(last.clone(), value);
    }
}

impl ScalePaths {
    /// Reads `subresources.scale` of a version.
    pub fn read(scale: &Value) -> Option<Self> {
        let path = |name: &str| scale.get(name).and_then(Value::as_str).map(Path::parse);
        Some(Self {
            spec: path("specReplicasPath")?,
            status: path("statusReplicasPath")?,
            selector: path("labelSelectorPath"),
        })
    }

    /// What is wrong with the numbers of an object.
    pub fn check(&self, object: &Map<String, Value>) -> Vec<FieldError> {
        let counts = [&self.spec, &self.status].into_iter().filter_map(|path| count_error(path, object));
        let selector = self.selector.as_ref().and_then(|path| {
            let found = path.get(object).filter(|value| !value.is_string())?;
            Some(FieldError::invalid(path.text.clone(), "", wrong_type(path, found, "string")))
        });
        counts.chain(selector).collect()
    }
}

fn count_error(path: &Path, object: &Map<String, Value>) -> Option<FieldError> {
    let found = path.get(object)?;
    let Some(count) = found.as_i64() else {
        return Some(FieldError::invalid(path.text.clone(), 0, wrong_type(path, found, "int64")));
    };
    let detail = match count {
        ..0 => "should be a non-negative integer".to_owned(),
        _ if count > i64::from(i32::MAX) => format!("should be less than or equal to {}", i32::MAX),
        _ => return None,
    };
    Some(FieldError::invalid(path.text.clone(), count, detail))
}

fn wrong_type(path: &Path, found: &Value, wanted: &str) -> String {
    let word = match found {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    let place = path.steps.join(".");
    format!(".{place} accessor error: {found} is of the type {word}, expected {wanted}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(object: Value, expect: &[&str]) {
        let paths = ScalePaths::read(&json!({
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }));
        let errors = paths.unwrap().check(object.as_object().unwrap());
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn counts_are_counts_and_a_selector_is_a_text() {
        check(json!({}), &[]);
        check(json!({ "spec": { "replicas": 3 }, "status": { "selector": "a=b" } }), &[]);
        check(
            json!({ "spec": { "replicas": -1 } }),
            &[".spec.replicas: Invalid value: -1: should be a non-negative integer"],
        );
        check(
            json!({ "status": { "replicas": "3" } }),
            &[".status.replicas: Invalid value: 0: .status.replicas accessor error: \"3\" is of the type string, \
               expected int64"],
        );
    }

    #[test]
    fn a_count_is_put_where_the_definition_says() {
        let mut object = Map::new();
        Path::parse(".spec.size.replicas").set(&mut object, json!(2));
        assert_eq!(Value::Object(object), json!({ "spec": { "size": { "replicas": 2 } } }));
    }
}
