//! An apply configuration laid over an object, without anybody coming to own what it says.

use super::check::{Duplicates, check};
use super::merge::merge;
use super::schema::{Schema, Shape};
use super::step::Step;
use serde_json::Value;

/// The object with everything that the configuration says. What is owned as one piece may not be said: its author would
/// take out what they do not mention.
pub fn lay_over(live: &Value, configuration: &Value, schema: Schema<'_>) -> Result<Value, String> {
    check(configuration, schema, Duplicates::Refused)
        .map_err(|why| format!("failed to convert patch object to typed object: {why}"))?;
    let mut found = Vec::new();
    atomics(configuration, schema, &mut Vec::new(), &mut found);
    if !found.is_empty() {
        let found = found.join(", ");
        return Err(format!("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {found}"));
    }
    check(live, schema, Duplicates::Allowed)
        .map_err(|why| format!("failed to convert original object to typed object: {why}"))?;
    Ok(merge(live, configuration, schema))
}

fn atomics(tree: &Value, schema: Schema<'_>, path: &mut Vec<Step>, found: &mut Vec<String>) {
    let told = |path: &[Step]| path.iter().map(Step::to_string).collect();
    match (schema.shape(Some(tree)), tree) {
        (Shape::Map(fields), Value::Object(map)) => {
            if fields.is_atomic {
                found.push(told(path));
            }
            for (name, value) in map.iter().filter(|(name, _)| fields.declares(name)) {
                let Some(schema) = fields.get(name) else { continue };
                path.push(Step::field(name));
                atomics(value, schema, path, found);
                path.pop();
            }
        }
        (Shape::List(list), Value::Array(items)) => {
            if list.is_atomic() {
                found.push(told(path));
            }
            for (at, item) in (0i64..).zip(items) {
                path.push(Step::Index(at));
                atomics(item, list.item, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}
