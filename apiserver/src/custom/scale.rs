//! What the numbers of a custom resource that can be scaled must be.

use crate::jsonpath::simple::ScalePaths;
use openapi::FieldError;
use serde_json::Value;

/// What is wrong with the numbers of an object, and with what is said to select what it counts.
pub(super) fn check(paths: &ScalePaths, object: &Value) -> Vec<FieldError> {
    let desired = paths.desired(object).map(|count| count.unwrap_or(0));
    let counts = [(paths.desired_path(), desired), (paths.actual_path(), paths.actual(object))];
    let counts = counts.into_iter().filter_map(|(path, count)| wrong_count(path, count));
    let selector = paths.selector(object).err().map(|why| FieldError::invalid(paths.selector_path(), "", why));
    counts.chain(selector).collect()
}

fn wrong_count(path: String, count: Result<i64, String>) -> Option<FieldError> {
    let (value, detail) = match count {
        Err(why) => (0, why),
        Ok(count @ ..0) => (count, "should be a non-negative integer".to_owned()),
        Ok(count) if count > i64::from(i32::MAX) => (count, format!("should be less than or equal to {}", i32::MAX)),
        Ok(_) => return None,
    };
    Some(FieldError::invalid(path, value, detail))
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
        let errors = super::check(&paths, &object);
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
            &[
                ".status.replicas: Invalid value: 0: .status.replicas accessor error: 3 is of the type string, expected \
               int64",
            ],
        );
    }
}
