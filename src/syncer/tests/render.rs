//! What one cell should hold.

use super::*;
use crate::scheduler::rule::Namespaces;

#[test]
fn a_copy_has_what_the_author_wrote_and_where_it_comes_from() {
    let copy = rendered(&deployment(), &[target("m1", Some(2))], &Terms::default()).unwrap().object;
    assert_eq!(copy["metadata"]["namespace"], "ns-n-1");
    assert_eq!(copy["metadata"]["name"], "web");
    assert_eq!(copy["spec"]["replicas"], 2);
    assert_eq!(copy["metadata"]["labels"]["meta.datumapis.com/upstream-namespace"], "default");
    for gone in ["uid", "resourceVersion", "generation"] {
        assert_eq!(copy["metadata"].get(gone), None);
    }
    assert_eq!(copy.get("status"), None);
}

#[test]
fn a_namespace_keeps_its_name_where_the_workspace_owns_the_names() {
    let terms = Terms { namespaces: Namespaces::Same, ..Terms::default() };
    let copy = rendered(&deployment(), &[target("m1", None)], &terms).unwrap().object;
    assert_eq!(copy["metadata"]["namespace"], "default");
    assert_eq!(copy["spec"]["replicas"], 5);
}

#[test]
fn accounts_of_a_binding_move_with_their_namespace() {
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"namespace": "default", "name": "b"}, "subjects": [
            {"kind": "ServiceAccount", "name": "a", "namespace": "default"},
            {"kind": "ServiceAccount", "name": "a", "namespace": "other"}]});
    let copy = rendered(&binding, &[target("m1", None)], &Terms::default()).unwrap().object;
    assert_eq!(copy["subjects"][0]["namespace"], "ns-n-1");
    assert_eq!(copy["subjects"][1]["namespace"], "other");
}

#[test]
fn a_job_is_divided_in_what_it_runs_and_in_what_it_completes() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"parallelism": 6, "completions": 9, "template": {}}});
    let targets = [target("m1", Some(4)), target("m2", Some(2))];
    let terms = Terms { divides: true, ..Terms::default() };
    let copy = rendered(&job, &targets, &terms).unwrap().object;
    assert_eq!((&copy["spec"]["parallelism"], &copy["spec"]["completions"]), (&json!(4), &json!(6)));
    let copy = rendered(&job, &targets, &Terms::default()).unwrap().object;
    assert_eq!(copy["spec"]["completions"], 9);
}

#[test]
fn a_cell_sees_the_status_of_the_source_if_the_rule_says_so() {
    let terms = Terms { status_down: true, ..Terms::default() };
    assert_eq!(rendered(&deployment(), &[], &terms).unwrap().status, Some(json!({"replicas": 5})));
    assert_eq!(rendered(&deployment(), &[], &Terms::default()).unwrap().status, None);
}

#[test]
fn an_override_finds_a_place_for_labels_and_annotations() {
    use crate::scheduler::affinity::Affinity;
    use crate::scheduler::change::{Change, FieldChange, Operation, Override};
    let add = |path: &str| {
        let (path, value) = (path.to_owned(), json!("b"));
        Change::Field(FieldChange { path, operation: Operation::Add, value })
    };
    let changes = vec![add("/metadata/annotations/a"), add("/metadata/labels/a")];
    let terms = Terms { overrides: vec![Override { cells: Affinity::default(), changes }], ..Terms::default() };
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bare"}});
    let copy = rendered(&map, &[target("m1", None)], &terms).unwrap().object;
    assert_eq!((&copy["metadata"]["annotations"]["a"], &copy["metadata"]["labels"]["a"]), (&json!("b"), &json!("b")));
}
