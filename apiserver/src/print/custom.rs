//! The columns of a custom resource: its definition says which.

use openapi::scalar::time::{Instant, Precision};
use serde_json::{Value, json};

use super::age::{human_duration, nanos_between};
use super::column::{CREATED, NAME};
use super::look::Look;
use super::words::UNKNOWN;
use crate::jsonpath::{self, Path};

/// What is shown of the objects of one version of a custom resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    columns: Vec<Custom>,
}

/// One column after the name.
#[derive(Clone, Debug, PartialEq)]
struct Custom {
    definition: Value,
    path: Path,
}

impl Columns {
    /// Reads `additionalPrinterColumns`; where there are none, the age is shown. A path that cannot be read ends the
    /// columns, as it does in Kubernetes: validation looks no further than at its first character.
    pub fn read(additional: &[Value]) -> Self {
        if additional.is_empty() {
            return Self { columns: Custom::age().into_iter().collect() };
        }
        Self { columns: additional.iter().map_while(Custom::read).collect() }
    }

    /// What is shown of a `Scale`.
    pub fn of_scale() -> Self {
        let number = |name: &str, description: &str, path: &str| {
            Custom::read(&json!({ "name": name, "type": "integer", "description": description, "jsonPath": path }))
        };
        let wanted = number("Desired", "Number of desired replicas", ".spec.replicas");
        let there = number("Available", "Number of actual replicas", ".status.replicas");
        Self { columns: [wanted, there, Custom::age()].into_iter().flatten().collect() }
    }

    /// The `columnDefinitions` of a table.
    pub fn definitions(&self) -> Vec<Value> {
        let own = self.columns.iter().map(|column| column.definition.clone());
        [NAME.definition()].into_iter().chain(own).collect()
    }

    /// The row of one object: a value for each column.
    pub fn row(&self, object: &Value, now: Instant) -> Vec<Value> {
        let own = self.columns.iter().map(|column| column.value(object, now));
        [Value::from(object.text("metadata.name"))].into_iter().chain(own).collect()
    }
}

impl Custom {
    fn read(column: &Value) -> Option<Self> {
        let path = column.text("jsonPath");
        let description = match column.text("description") {
            "" => format!("Custom resource definition column (in JSONPath format): {path}"),
            description => description.to_owned(),
        };
        let definition = json!({
            "name": column.text("name"), "type": column.text("type"), "format": column.text("format"),
            "description": description, "priority": column.number("priority"),
        });
        Some(Self { definition, path: Path::parse(path).ok()? })
    }

    fn age() -> Option<Self> {
        let path = ".metadata.creationTimestamp";
        Self::read(&json!({ "name": "Age", "type": "date", "description": CREATED, "jsonPath": path }))
    }

    /// The first thing that the path leads to, if it is of the type that the column has.
    fn value(&self, object: &Value, now: Instant) -> Value {
        let found = self.path.find(object);
        let Some(&found) = found.first() else { return Value::Null };
        let shown = match self.definition.text("type") {
            "integer" => found.as_i64().or_else(|| found.as_f64().map(|float| float as i64)).map(Value::from),
            "number" => number(found),
            "boolean" => found.as_bool().map(Value::from),
            "string" => Some(jsonpath::text(found).into()),
            "date" => found.as_str().map(|text| since(text, now).into()),
            _ => None,
        };
        shown.unwrap_or_default()
    }
}

/// A number of which nobody can tell whether it was written with a fraction: to Go, they are all floats.
fn number(value: &Value) -> Option<Value> {
    let float = value.as_f64()?;
    Some(float.to_string().parse::<i64>().map_or_else(|_| Value::from(float), Value::from))
}

/// How long ago a text says that something was.
fn since(text: &str, now: Instant) -> String {
    match Instant::parse(text, Precision::Seconds) {
        _ if matches!(text, "" | "null") => UNKNOWN.to_owned(),
        Ok(then) if then.is_zero() => UNKNOWN.to_owned(),
        Ok(then) => human_duration(nanos_between(then, now)),
        Err(_) => "<invalid>".to_owned(),
    }
}

#[cfg(test)]
mod tests;
