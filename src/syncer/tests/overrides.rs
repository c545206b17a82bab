//! What is different in some cells.

use super::*;
use crate::scheduler::affinity::Affinity;
use crate::scheduler::change::Change;
use crate::scheduler::change::DocumentChange;
use crate::scheduler::change::EntriesChange;
use crate::scheduler::change::FieldChange;
use crate::scheduler::change::ImageChange;
use crate::scheduler::change::ImagePart;
use crate::scheduler::change::Operation;
use crate::scheduler::change::Override;
use crate::scheduler::change::Syntax;
use crate::scheduler::change::WordsChange;

fn changed(template: &Value, changes: Vec<Change>) -> Result<Value, OverrideError> {
    let overrides = vec![Override { cells: Affinity::named(&["m1"]), changes }];
    let terms = Terms { overrides, ..Terms::default() };
    match rendered(template, &[target("m1", Some(2))], &terms) {
        Ok(rendered) => Ok(rendered.object),
        Err(RenderError::Override(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn check(changes: Vec<Change>, pointer: &str, expect: Value) {
    let copy = changed(&deployment(), changes).unwrap();
    assert_eq!(copy.pointer(pointer), Some(&expect));
}

fn field(path: &str, operation: Operation, value: Value) -> FieldChange {
    FieldChange { path: path.to_owned(), operation, value }
}

#[test]
fn only_the_cells_that_are_meant_differ() {
    let changes = vec![Change::Field(field("/spec/replicas", Operation::Replace, json!(9)))];
    let overrides = vec![Override { cells: Affinity::named(&["m2"]), changes: changes.clone() }];
    let terms = Terms { overrides, ..Terms::default() };
    assert_eq!(rendered(&deployment(), &[target("m1", Some(2))], &terms).unwrap().object["spec"]["replicas"], 2);
    check(changes, "/spec/replicas", json!(9));
}

#[test]
fn an_override_has_the_last_word_about_replicas() {
    check(vec![Change::Field(field("/spec/replicas", Operation::Add, json!(7)))], "/spec/replicas", json!(7));
}

#[test]
fn images_commands_and_arguments_change_by_container() {
    let image = "/spec/template/spec/containers/0/image";
    let change = |at: Option<&str>| {
        let at = at.map(str::to_owned);
        Change::Image(ImageChange {
            at,
            part: ImagePart::Registry,
            operation: Operation::Replace,
            value: "hub.example".to_owned(),
        })
    };
    check(vec![change(None)], image, json!("hub.example/nginx:1"));
    check(vec![change(Some(image))], image, json!("hub.example/nginx:1"));
    assert!(matches!(changed(&deployment(), vec![change(Some("/spec/none"))]), Err(OverrideError::NoText { .. })));
    let words = |container: &str, remove, words: &[&str]| WordsChange {
        container: container.to_owned(),
        remove,
        words: words.iter().map(|word| (*word).to_owned()).collect(),
    };
    let args = "/spec/template/spec/containers/0/args";
    check(
        vec![Change::Args(words("web", false, &["-a", "-b"])), Change::Args(words("web", true, &["-a"]))],
        args,
        json!(["-b"]),
    );
    let copy = changed(&deployment(), vec![Change::Command(words("other", false, &["x"]))]).unwrap();
    assert_eq!(copy.pointer("/spec/template/spec/containers/0/command"), None);
}

#[test]
fn labels_and_annotations_are_added_and_only_then_replaced() {
    let entries = |operation, value: &str| EntriesChange {
        operation,
        entries: [("example.com/a".to_owned(), value.to_owned())].into_iter().collect(),
    };
    let at = "/metadata/labels/example.com~1a";
    check(vec![Change::Labels(entries(Operation::Add, "1"))], at, json!("1"));
    check(
        vec![Change::Labels(entries(Operation::Add, "1")), Change::Labels(entries(Operation::Replace, "2"))],
        at,
        json!("2"),
    );
    for silent in [Operation::Replace, Operation::Remove] {
        let copy = changed(&deployment(), vec![Change::Annotations(entries(silent, "1"))]).unwrap();
        assert_eq!(copy.pointer("/metadata/annotations/example.com~1a"), None);
    }
}

#[test]
fn documents_inside_of_strings_are_changed_in_their_own_syntax() {
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},
        "data": {"a.json": r#"{"b":1,"a":[1]}"#, "a.yaml": "z: 1\nlist:\n  - x\n", "text": "["}});
    let document =
        |at: &str, syntax, step| Change::Document(DocumentChange { at: at.to_owned(), syntax, steps: vec![step] });
    let add = || field("/a/-", Operation::Add, json!(2));
    let copy = changed(&config, vec![document("/data/a.json", Syntax::Json, add())]).unwrap();
    assert_eq!(copy["data"]["a.json"], r#"{"a":[1,2],"b":1}"#);
    let replace = field("/list/0", Operation::Replace, json!("w"));
    let copy = changed(&config, vec![document("/data/a.yaml", Syntax::Yaml, replace)]).unwrap();
    assert_eq!(copy["data"]["a.yaml"], "list:\n- w\nz: 1\n");
    let refused = changed(&config, vec![document("/data/text", Syntax::Json, add())]);
    assert!(matches!(refused, Err(OverrideError::Syntax { .. })), "{refused:?}");
}

#[test]
fn a_change_that_does_not_fit_is_an_error() {
    let change = vec![Change::Field(field("/spec/none/deep", Operation::Remove, Value::Null))];
    assert!(matches!(changed(&deployment(), change), Err(OverrideError::Field { .. })));
}
