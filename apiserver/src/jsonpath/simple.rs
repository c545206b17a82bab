//! Paths that only name fields: where a custom resource keeps how many it has and wants, and what it is selected by.
//!
//! `.spec.replicas` is taken apart at its dots and nowhere else, which is how Kubernetes reads the paths of a scale.

use super::Path;
use crate::go;
use serde_json::{Map, Value};

/// What stands in the way of a path; empty where nothing does. These are the texts of a definition's validation, which
/// asks for no more than this of columns and of scales.
pub fn fault(path: &str) -> &'static str {
    match path.chars().next() {
        None => "must not be empty",
        Some('.') => "",
        Some(_) => "must be a simple json path starting with .",
    }
}

/// `subresources.scale` of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    desired: Fields,
    actual: Fields,
    selector: Option<Fields>,
}

impl ScalePaths {
    /// Reads them from a definition that was found to be valid.
    pub fn read(scale: &Value) -> Self {
        let path = |field: &str| scale[field].as_str().filter(|path| !path.is_empty()).map(Fields::new);
        Self {
            desired: path("specReplicasPath").unwrap_or_else(|| Fields::new("")),
            actual: path("statusReplicasPath").unwrap_or_else(|| Fields::new("")),
            selector: path("labelSelectorPath"),
        }
    }

    /// The names of the fields that hold how many are wanted: `spec`, `replicas`.
    pub fn desired_fields(&self) -> &[String] {
        &self.desired.0
    }

    /// The same as a definition writes it: `.spec.replicas`.
    pub fn desired_path(&self) -> String {
        self.desired.path()
    }

    pub fn actual_path(&self) -> String {
        self.actual.path()
    }

    /// Empty where nothing selects what is counted.
    pub fn selector_path(&self) -> String {
        self.selector.as_ref().map(Fields::path).unwrap_or_default()
    }

    /// How many are wanted. Nothing is said where nothing was; an error is Kubernetes' text for what is no number.
    pub fn desired(&self, object: &Value) -> Result<Option<i64>, String> {
        self.desired.integer(object)
    }

    /// How many there are.
    pub fn actual(&self, object: &Value) -> Result<i64, String> {
        Ok(self.actual.integer(object)?.unwrap_or(0))
    }

    /// What those are selected by, as text.
    pub fn selector(&self, object: &Value) -> Result<String, String> {
        let Some(path) = &self.selector else { return Ok(String::new()) };
        match path.get(object)? {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(other) => Err(path.unexpected(other, "string")),
        }
    }

    /// Writes down how many are wanted, and makes whatever is missing on the way there.
    pub fn set_desired(&self, object: &mut Value, replicas: i64) -> Result<(), String> {
        self.desired.set(object, replicas.into())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fields(Vec<String>);

impl Fields {
    fn new(path: &str) -> Self {
        Self(path.strip_prefix('.').unwrap_or(path).split('.').map(str::to_owned).collect())
    }

    fn path(&self) -> String {
        format!(".{}", self.0.join("."))
    }

    /// Null on the way counts as nothing; at the end of it, it is found.
    fn get<'a>(&self, object: &'a Value) -> Result<Option<&'a Value>, String> {
        let mut value = object;
        for (at, field) in self.0.iter().enumerate() {
            let fields = match value {
                Value::Null => return Ok(None),
                Value::Object(fields) => fields,
                other => return Err(unexpected(&self.0[..=at], other, "map[string]interface{}")),
            };
            match fields.get(field) {
                Some(found) => value = found,
                None => return Ok(None),
            }
        }
        Ok(Some(value))
    }

    fn integer(&self, object: &Value) -> Result<Option<i64>, String> {
        match self.get(object)? {
            None => Ok(None),
            Some(found) => found.as_i64().map(Some).ok_or_else(|| self.unexpected(found, "int64")),
        }
    }

    fn unexpected(&self, found: &Value, expected: &str) -> String {
        unexpected(&self.0, found, expected)
    }

    fn set(&self, object: &mut Value, value: Value) -> Result<(), String> {
        let mut place = object;
        for (at, field) in self.0.iter().enumerate() {
            let Value::Object(fields) = place else {
                let path = self.0[..at].join(".");
                return Err(format!("value cannot be set because .{path} is not a map[string]interface{{}}"));
            };
            place = fields.entry(field).or_insert_with(|| Value::Object(Map::new()));
        }
        *place = value;
        Ok(())
    }
}

fn unexpected(fields: &[String], found: &Value, expected: &str) -> String {
    let kind = if found.is_null() { "<nil>" } else { go::type_of(found) };
    format!(".{} accessor error: {} is of the type {kind}, expected {expected}", fields.join("."), go::shown(found))
}

/// A field that a definition lets its objects be selected by.
#[derive(Clone, Debug, PartialEq)]
pub struct Selectable {
    name: String,
    /// `None` for one that cannot be read: it selects what has nothing there.
    path: Option<Path>,
}

impl Selectable {
    /// Reads `selectableFields` of a definition.
    pub fn read(fields: &[Value]) -> Vec<Self> {
        let paths = fields.iter().map(|field| field["jsonPath"].as_str().unwrap_or_default());
        paths
            .map(|path| Self { name: path.strip_prefix('.').unwrap_or(path).into(), path: Path::parse(path).ok() })
            .collect()
    }

    /// How a selector names it: `spec.color`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the fields that lead to it, for those who look at stored bytes: the text of a string, a boolean or
    /// an integer is the same there.
    pub fn fields(&self) -> Option<Vec<&str>> {
        self.path.as_ref()?.fields()
    }

    /// What a selector compares with; empty where there is nothing.
    pub fn value(&self, object: &Value) -> String {
        let found = self.path.as_ref().and_then(|path| path.find(object).first().copied());
        found.filter(|value| !value.is_null()).map(go::shown).unwrap_or_default()
    }
}
