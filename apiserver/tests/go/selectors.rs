//! Selectors: what is refused and why, the canonical form, and which objects are meant.

use std::borrow::Cow;

use apiserver::selector::{FieldSelector, LabelSelector};
use serde_json::{Value, json};

/// The labels of the objects that each selector was tried on.
fn labelled() -> Vec<Value> {
    let (a, b) = (json!({"a": "b"}), json!({"a": "c", "b": "a"}));
    let (words, key) = (json!({"in": "notin", "notin": "in"}), json!({"a": "5", "x.y/a": "b"}));
    vec![json!({}), json!({"a": ""}), a, b, words, key, json!({"a": "-7", "b": "b"})]
}

fn chosen(matches: impl Fn(&Value) -> bool) -> String {
    labelled().iter().map(|labels| if matches(labels) { '1' } else { '0' }).collect()
}

fn of_labels(selector: &LabelSelector) -> (String, String) {
    (selector.to_string(), chosen(|labels| selector.matches(labels.as_object())))
}

fn of_fields(selector: &FieldSelector) -> (String, String) {
    let matches = |labels: &Value| selector.matches(|field| labels.get(field)?.as_str().map(Cow::from));
    (selector.to_string(), chosen(matches))
}

#[test]
fn selectors_are_read_as_in_go() {
    let mut read = 0;
    for [what, input, expected, chosen] in super::lines("selectors.txt") {
        let input: Value = serde_json::from_str(&input).expect("JSON");
        let text = input.as_str().unwrap_or_default();
        let outcome = match what.as_str() {
            "label" => LabelSelector::parse(text).map(|selector| of_labels(&selector)),
            "object" => LabelSelector::from_object(&input).map(|selector| of_labels(&selector)),
            _ => FieldSelector::parse(text).map(|selector| of_fields(&selector)),
        };
        let outcome = outcome.unwrap_or_else(|error| (format!("!{error}"), String::new()));
        let expected: String = serde_json::from_str(&expected).expect("JSON");
        assert_eq!(outcome, (expected, chosen), "{what} {input}");
        read += 1;
    }
    assert!(read > 400, "only {read}");
}
