//! Rows, columns and ages are those of a Kubernetes API server, whose code wrote every line of `vectors.jsonl`.

use openapi::scalar::time::Instant;
use serde_json::{Value, json};

use super::look::Look;
use super::{cells, columns, conditions, human_duration, rows};

/// When the objects of the file were looked at: a tenth of a second past 2026-03-04T05:06:07Z.
const NOW: Instant = Instant { seconds: 1_772_600_767, nanos: 100_000_000 };

fn lines(field: &str) -> Vec<Value> {
    let lines = include_str!("vectors.jsonl").lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    let lines: Vec<Value> = lines.filter(|line| line.has(field)).collect();
    assert!(!lines.is_empty(), "no line has {field}");
    lines
}

#[test]
fn rows_are_those_of_kubernetes() {
    let mut wrong = Vec::new();
    for line in lines("objects") {
        let (group, version, kind) = (line.text("group"), line.text("version"), line.text("kind"));
        let objects: Vec<&Value> = line.list("objects").iter().collect();
        let found: Vec<Vec<Value>> = if line.flag("list") {
            rows(group, version, kind, &objects, NOW).into_iter().map(|(_, cells)| cells).collect()
        } else {
            objects.iter().map(|object| cells(group, version, kind, object, NOW)).collect()
        };
        if json!(found) != line["rows"] {
            wrong.push(format!("{kind}:\n  theirs {}\n  ours   {}", line["rows"], json!(found)));
        }
    }
    assert!(wrong.is_empty(), "{} rows differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn conditions_are_those_of_kubernetes() {
    for line in lines("objects") {
        let found: Vec<Value> = line
            .list("objects")
            .iter()
            .filter_map(|object| conditions(line.text("group"), line.text("kind"), object))
            .flat_map(|conditions| conditions.as_array().cloned().unwrap_or_default())
            .collect();
        assert_eq!(found, line.list("conditions"), "{}", line["objects"]);
    }
}

#[test]
fn columns_are_those_of_kubernetes() {
    for line in lines("columns") {
        let (group, kind) = (line.text("group"), line.text("kind"));
        let found = columns(group, kind);
        let theirs = line.list("columns");
        assert_eq!(found.len(), theirs.len(), "{kind}");
        for (ours, theirs) in found.iter().zip(theirs) {
            let format = theirs.text("format");
            let expected = (theirs.text("name"), theirs.text("type"), format, theirs.number("priority"));
            assert_eq!((ours.name, ours.kind, ours.format, i64::from(ours.priority)), expected, "{kind}");
            let description = theirs.text("description");
            assert!(
                description.starts_with(ours.description),
                "{kind}: {} is not how {description:?} begins",
                ours.name
            );
            assert_eq!(ours.description.is_empty(), description.is_empty(), "{kind}: {}", ours.name);
        }
    }
}

#[test]
fn durations_are_those_of_kubernetes() {
    for line in lines("nanos") {
        assert_eq!(human_duration(line.number("nanos")), line.text("text"), "{}", line["nanos"]);
    }
}

/// Puts `other` in the place of each value in turn, and gives the whole to `look`.
fn replacing_each(whole: &mut Value, path: &mut String, other: &Value, look: &mut dyn FnMut(&Value)) {
    let inside: Vec<String> = match whole.pointer(path) {
        Some(Value::Object(map)) => map.keys().map(|key| key.replace('~', "~0").replace('/', "~1")).collect(),
        Some(Value::Array(list)) => (0..list.len()).map(|at| at.to_string()).collect(),
        _ => Vec::new(),
    };
    for name in inside {
        let length = path.len();
        path.push('/');
        path.push_str(&name);
        replacing_each(whole, path, other, look);
        path.truncate(length);
    }
    let before = std::mem::replace(whole.pointer_mut(path).expect("it was there"), other.clone());
    look(whole);
    *whole.pointer_mut(path).expect("it is there") = before;
}

#[test]
fn whatever_an_object_is_made_of_it_has_a_row() {
    for line in lines("objects") {
        let (group, version, kind) = (line.text("group"), line.text("version"), line.text("kind"));
        // Kubernetes itself gives this kind one more.
        let expected = columns(group, kind).len() + usize::from(kind == "IPAddress");
        for other in [json!(null), json!(-1), json!("é"), json!([[], "x", {}]), json!({ "a": null })] {
            for object in line.list("objects") {
                replacing_each(&mut object.clone(), &mut String::new(), &other, &mut |damaged| {
                    assert_eq!(cells(group, version, kind, damaged, NOW).len(), expected, "{damaged}");
                    assert_eq!(rows(group, version, kind, &[damaged, object], NOW).len(), 2, "{damaged}");
                });
            }
        }
    }
}

#[test]
fn a_kind_that_nobody_knows_shows_when_it_was_made() {
    let thing = json!({ "metadata": { "name": "a", "creationTimestamp": "2026-01-02T03:04:05Z" } });
    assert_eq!(cells("example.com", "v1", "Thing", &thing, NOW), ["a", "2026-01-02T03:04:05Z"]);
    assert_eq!(columns("example.com", "Pod"), columns("", "Thing"));
}

#[test]
fn instants_at_the_ends_of_time_have_ages() {
    let aged = |created: &str| {
        cells("", "v1", "Namespace", &json!({ "metadata": { "creationTimestamp": created } }), NOW)[2].clone()
    };
    assert_eq!(aged("0001-01-01T00:00:00Z"), "<unknown>");
    assert_eq!(aged("0001-01-01T00:00:01Z"), "292y");
    assert_eq!(aged("9999-12-31T23:59:59Z"), "<invalid>");
}
