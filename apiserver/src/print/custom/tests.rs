//! Tables of custom objects are those of a Kubernetes API server, whose code wrote every line of `vectors.jsonl`.

use super::*;

/// When the objects of the file were looked at: a tenth of a second past 2026-03-04T05:06:07Z.
const NOW: Instant = Instant { seconds: 1_772_600_767, nanos: 100_000_000 };

fn lines() -> Vec<Value> {
    let lines = include_str!("vectors.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn rows_are_those_of_kubernetes() {
    let mut compared = 0;
    for line in lines() {
        let columns = Columns::read(line.list("additional"));
        for (object, row) in line.list("objects").iter().zip(line.list("rows")) {
            assert_eq!(Value::from(columns.row(object, NOW)), *row, "{} of {object}", line["additional"]);
            compared += 1;
        }
    }
    assert!(compared >= 50, "only {compared} rows");
}

#[test]
fn columns_are_those_of_kubernetes() {
    for line in lines() {
        let found = Columns::read(line.list("additional")).definitions();
        assert_eq!(found.len(), line.list("columns").len(), "{}", line["additional"]);
        for (ours, theirs) in found.iter().zip(line.list("columns")) {
            let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
            let (own, whole) = (ours["description"].take(), theirs["description"].take());
            assert_eq!(ours, theirs);
            let whole = whole.as_str().unwrap();
            assert!(whole.starts_with(own.as_str().unwrap()), "{own} is not how {whole:?} begins");
        }
    }
}

#[test]
fn a_scale_shows_how_many_there_are_and_should_be() {
    let scale = json!({ "metadata": { "name": "a" }, "spec": { "replicas": 3 }, "status": { "replicas": 2 } });
    assert_eq!(Columns::of_scale().row(&scale, NOW), [json!("a"), json!(3), json!(2), Value::Null]);
    let names: Vec<Value> = Columns::of_scale().definitions().iter().map(|column| column["name"].clone()).collect();
    assert_eq!(names, ["Name", "Desired", "Available", "Age"]);
}

#[test]
fn whatever_a_definition_is_made_of_its_objects_have_rows() {
    let odd = [json!(null), json!(5), json!({ "jsonPath": ".a", "priority": "x", "type": [] }), json!({})];
    for column in odd {
        let columns = Columns::read(std::slice::from_ref(&column));
        for object in [json!(null), json!({ "a": [] }), json!({ "metadata": 5 })] {
            assert_eq!(columns.row(&object, NOW).len(), columns.definitions().len(), "{column} of {object}");
        }
    }
}
