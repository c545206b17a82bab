//! Paths lead where they lead in Kubernetes, whose code wrote every line of `vectors.jsonl` and `scales.jsonl`.

use super::simple::{ScalePaths, Selectable, fault};
use super::*;
use proptest::prelude::*;
use serde_json::json;

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"))
}

/// What a path leads to in each of the objects; or the error.
fn followed(path: &str, objects: &[Value], any_order: bool) -> Value {
    let path = match Path::parse(path) {
        Ok(path) => path,
        Err(error) => return error.into(),
    };
    let find = |object| {
        let mut found: Vec<Value> = path.find(object).into_iter().cloned().collect();
        if any_order {
            found.sort_by_cached_key(Value::to_string);
        }
        found
    };
    objects.iter().map(find).collect::<Vec<_>>().into()
}

#[test]
fn paths_lead_where_they_lead_in_kubernetes() {
    let mut lines = lines(include_str!("vectors.jsonl"));
    let objects = lines.next().expect("the objects")["objects"].take();
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for mut line in lines {
        let any_order = line["anyOrder"] == true;
        let theirs = match line["error"].take() {
            Value::Null if any_order => {
                let mut found = line["found"].take();
                for list in found.as_array_mut().unwrap() {
                    list.as_array_mut().unwrap().sort_by_cached_key(Value::to_string);
                }
                found
            }
            Value::Null => line["found"].take(),
            error => error,
        };
        let ours = followed(line["path"].as_str().unwrap(), objects.as_array().unwrap(), any_order);
        if ours != theirs {
            wrong.push(format!("{}\n  theirs {theirs}\n  ours   {ours}", line["path"]));
        }
        compared += 1;
    }
    assert!(compared > 1500, "only {compared} paths");
    assert!(wrong.is_empty(), "{} of {compared} paths lead elsewhere\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn numbers_are_read_and_written_as_in_kubernetes() {
    for line in lines(include_str!("scales.jsonl")) {
        let (path, object) = (&line["path"], &line["object"]);
        let or_error =
            |value: &Value, error: &Value| if error.is_null() { Ok(value.clone()) } else { Err(error.clone()) };
        let of = |found: Result<Value, String>| found.map_err(Value::from);
        let scale = ScalePaths::read(&json!({ "specReplicasPath": path, "labelSelectorPath": path }));
        let number = of(scale.desired(object).map(Value::from));
        assert_eq!(number, or_error(&line["number"], &line["noNumber"]), "{path} of {object}");
        let text = of(scale.selector(object).map(|text| if text.is_empty() { Value::Null } else { text.into() }));
        assert_eq!(text, or_error(&line["text"], &line["noText"]), "{path} of {object}");
        let mut changed = object.clone();
        let set = of(scale.set_desired(&mut changed, 7).map(|()| changed.clone()));
        assert_eq!(set, or_error(&line["set"], &line["notSet"]), "{path} of {object}");
    }
}

#[test]
fn how_many_there_are_is_nothing_unless_it_is_said() {
    let scale = ScalePaths::read(&json!({ "specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n" }));
    assert_eq!(scale.desired_fields(), ["spec", "n"]);
    assert_eq!(scale.desired(&json!({})), Ok(None));
    assert_eq!(scale.actual(&json!({})), Ok(0));
    assert_eq!(scale.actual(&json!({ "status": { "n": 5 } })), Ok(5));
    assert_eq!(scale.selector(&json!({})), Ok(String::new()));
}

#[test]
fn objects_are_selected_by_text() {
    let fields =
        [".spec.color", ".spec.size", ".spec.on", ".spec.gone", ".spec.["].map(|path| json!({ "jsonPath": path }));
    let object = json!({ "spec": { "color": "red", "size": 5, "on": true, "gone": null } });
    let found: Vec<(String, String)> =
        Selectable::read(&fields).iter().map(|field| (field.name().to_owned(), field.value(&object))).collect();
    let expected = [("spec.color", "red"), ("spec.size", "5"), ("spec.on", "true"), ("spec.gone", ""), ("spec.[", "")];
    assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(Selectable::read(&fields)[0].fields(), Some(vec!["spec", "color"]));
    assert_eq!(Selectable::read(&[json!({ "jsonPath": ".spec.list[0]" })])[0].fields(), None);
}

#[test]
fn validation_looks_at_the_first_character() {
    assert_eq!(fault(".spec["), "");
    assert_eq!(fault(""), "must not be empty");
    assert_eq!(fault("spec"), "must be a simple json path starting with .");
}

#[test]
fn paths_that_multiply_find_nothing() {
    let deep = (0..100).fold(json!("x"), |inside, _| json!([inside]));
    let find = |path: String| Path::parse(&path).unwrap().find(&deep).len();
    assert_eq!(find("[0,0]".repeat(100)), 0);
    assert_eq!(find("..[0]".repeat(20)), 0);
    assert_eq!(find(format!("[?(@{})]", "[0,0]".repeat(17))), 0);
    assert_eq!(find("[0]".repeat(100)), 1);
}

#[test]
fn paths_within_paths_are_few() {
    let check = |path: &str, expect: &str| assert_eq!(Path::parse(path).err().unwrap_or_default(), expect, "{path}");
    check(r#"[?(@.a"[?(@.b'[?(@.c)].d')].e")]"#, "");
    check(&"[?(@.a".repeat(100_000), "unterminated filter");
    check(&format!("{}{}", "[?(@.a\\\"".repeat(10_000), "\")]".repeat(10_000)), "unterminated filter");
    check(&format!("{}{}", "[?(@.a'".repeat(10_000), "')]".repeat(10_000)), "unterminated filter");
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "\\PC{0,40}|([.\\[\\]?(@)'\"\\\\:,*{}0-9a-c =<!-]|\\[\\?\\(@){0,40}") {
        let object = json!({ "a": [{ "b": 1, "c": [] }, null, "x"], "b": { "a": { "c": "" } } });
        if let Ok(path) = Path::parse(&text) {
            path.find(&object);
        }
    }
}
