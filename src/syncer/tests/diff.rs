//! The steps from what a cell holds to what it should hold, one situation at a time.

use super::*;
use crate::scheduler::rule::Strangers;
use crate::syncer::diff::Actual;
use crate::syncer::diff::Desired;
use crate::syncer::diff::Held;
use crate::syncer::diff::Inventory;
use crate::syncer::diff::Key;
use crate::syncer::diff::Step;

/// A config map `name` of source `uid`, as it is sent.
fn copy(name: &str, uid: &str, data: &str) -> Value {
    let source =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "uid": uid}, "data": {"k": data}});
    rendered(&source, &[], &Terms::default()).unwrap().object
}

fn desired(object: Value, uid: &str) -> Desired {
    let strangers = Strangers::Leave;
    Desired {
        object,
        source_uid: uid.to_owned(),
        strangers,
        retain: BTreeSet::new(),
        suspended: false,
        preserve: false,
    }
}

/// As the cell gives it back.
fn there(mut object: Value, uid: &str, version: &str) -> (Key, Value) {
    object["metadata"]["uid"] = uid.into();
    object["metadata"]["resourceVersion"] = version.into();
    (Key::of(&object), object)
}

fn held(object: &Value, source_uid: &str, uid: &str, version: &str) -> (Key, Held) {
    let hash = crate::syncer::diff::hash(object);
    let (source_uid, uid, version) = (source_uid.to_owned(), uid.to_owned(), version.to_owned());
    (Key::of(object), Held { source_uid, hash, uid, version, preserve: false })
}

/// `apply a`, `delete b`, one word for each step.
fn words(steps: &[Step]) -> Vec<String> {
    let word = |step: &Step| match step {
        Step::Apply { object, .. } => format!("apply {}", Key::of(object).name),
        Step::Note { key, .. } => format!("note {}", key.name),
        Step::Delete { key, uid } => format!("delete {} {uid}", key.name),
        Step::Release { key } => format!("release {}", key.name),
        Step::Forget { key } => format!("forget {}", key.name),
        Step::Report { key, problem } => format!("report {} {problem:?}", key.name),
    };
    steps.iter().map(word).collect()
}

#[track_caller]
fn check(desired: &[Desired], inventory: &[(Key, Held)], actual: &[(Key, Value)], expect: &[&str]) {
    let inventory: Inventory = inventory.iter().cloned().collect();
    let actual = Actual { objects: actual.iter().cloned().collect(), shared: BTreeSet::new() };
    assert_eq!(words(&crate::syncer::diff(desired, &inventory, &actual, OWNER)), expect);
}

#[test]
fn what_is_missing_is_made_and_what_is_the_same_costs_nothing() {
    let a = copy("a", "u", "1");
    check(&[desired(a.clone(), "u")], &[], &[], &["apply a"]);
    let (inventory, actual) = (held(&a, "u", "c-1", "10"), there(a.clone(), "c-1", "10"));
    check(&[desired(a.clone(), "u")], std::slice::from_ref(&inventory), std::slice::from_ref(&actual), &[]);
    check(&[desired(copy("a", "u", "2"), "u")], &[inventory], &[actual], &["apply a"]);
}

#[test]
fn what_somebody_changed_in_the_cell_is_put_right_if_it_is_ours() {
    let a = copy("a", "u", "1");
    let inventory = held(&a, "u", "c-1", "10");
    let (key, mut other) = there(a.clone(), "c-1", "11");
    other["metadata"]["annotations"]["local"] = "yes".into();
    check(&[desired(a.clone(), "u")], std::slice::from_ref(&inventory), &[(key.clone(), other.clone())], &["note a"]);
    other["data"]["k"] = "drift".into();
    check(&[desired(a, "u")], &[inventory], &[(key, other)], &["apply a"]);
}

#[test]
fn a_field_the_cell_decides_about_is_sent_as_the_cell_has_it() {
    let a = copy("a", "u", "1");
    let mut wanted = desired(a.clone(), "u");
    wanted.retain.insert(crate::apis::FieldPath::parse("data.k").unwrap());
    let (key, mut other) = there(a.clone(), "c-1", "11");
    other["data"]["k"] = "local".into();
    check(std::slice::from_ref(&wanted), &[held(&a, "u", "c-1", "10")], &[(key.clone(), other.clone())], &["note a"]);
    wanted.object["data"]["new"] = "x".into();
    let actual = Actual { objects: [(key, other)].into(), shared: BTreeSet::new() };
    let steps = crate::syncer::diff(&[wanted], &[held(&a, "u", "c-1", "10")].into(), &actual, OWNER);
    let Step::Apply { object, .. } = &steps[0] else { panic!("{steps:?}") };
    assert_eq!(object["data"], json!({"k": "local", "new": "x"}));
}

#[test]
fn a_stranger_is_left_alone_unless_the_rule_adopts() {
    let stranger = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let wanted = desired(copy("a", "u", "1"), "u");
    check(std::slice::from_ref(&wanted), &[], &[there(stranger.clone(), "c-9", "1")], &["report a Stranger"]);
    let adopting = Desired { strangers: Strangers::Adopt, ..wanted };
    check(&[adopting], &[], &[there(stranger.clone(), "c-9", "1")], &["apply a"]);
    // Not even when the inventory says that it was ours once.
    let once = held(&copy("a", "u", "1"), "u", "c-1", "10");
    check(&[], &[once], &[there(stranger, "c-9", "1")], &["forget a"]);
    let of_another_hub = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a",
        "labels": {mark::OWNER: "hub-2"}, "annotations": {mark::SOURCE_UID: "u"}}});
    check(&[desired(copy("a", "u", "1"), "u")], &[], &[there(of_another_hub, "c-9", "1")], &["report a Stranger"]);
}

#[test]
fn a_source_that_was_made_anew_does_not_inherit() {
    let (old, new) = (copy("a", "old", "1"), copy("a", "new", "1"));
    let inventory = held(&old, "old", "c-1", "10");
    check(
        &[desired(new.clone(), "new")],
        std::slice::from_ref(&inventory),
        &[there(old.clone(), "c-1", "10")],
        &["delete a c-1"],
    );
    let (key, mut going) = there(old, "c-1", "11");
    going["metadata"]["deletionTimestamp"] = "now".into();
    check(&[desired(new.clone(), "new")], std::slice::from_ref(&inventory), &[(key, going)], &["report a Predecessor"]);
    check(&[desired(new, "new")], &[inventory], &[], &["apply a"]);
}

#[test]
fn what_is_no_longer_wanted_goes_once() {
    let a = copy("a", "u", "1");
    let inventory = held(&a, "u", "c-1", "10");
    check(&[], std::slice::from_ref(&inventory), &[there(a.clone(), "c-1", "12")], &["delete a c-1"]);
    check(&[], std::slice::from_ref(&inventory), &[], &["forget a"]);
    let (key, mut going) = there(a.clone(), "c-1", "12");
    going["metadata"]["deletionTimestamp"] = "now".into();
    check(&[], std::slice::from_ref(&inventory), &[(key, going)], &[]);
    let (key, kept) = inventory;
    check(&[], &[(key, Held { preserve: true, ..kept })], &[there(a.clone(), "c-1", "12")], &["release a"]);
    // What is not in the inventory is not deleted, even if it looks like ours.
    check(&[], &[], &[there(a, "c-1", "12")], &[]);
}

#[test]
fn what_is_suspended_stays_as_it_is() {
    let suspended = Desired { suspended: true, ..desired(copy("a", "u", "2"), "u") };
    let a = copy("a", "u", "1");
    check(std::slice::from_ref(&suspended), &[held(&a, "u", "c-1", "10")], &[there(a, "c-1", "10")], &[]);
    check(&[suspended], &[], &[], &[]);
}

#[test]
fn what_two_sources_ask_for_stays_with_the_one_that_has_it() {
    let (a, b) = (copy("x", "u-1", "1"), copy("x", "u-2", "2"));
    let both = [desired(a.clone(), "u-1"), desired(b, "u-2")];
    check(&both, &[], &[], &["report x Twice"]);
    check(&both, &[held(&a, "u-1", "c-1", "1")], &[there(a.clone(), "c-1", "1")], &["report x Twice"]);
}

#[test]
fn namespaces_and_definitions_come_first_and_go_last() {
    let made = |api_version: &str, kind: &str, name: &str| {
        let source = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "uid": name}});
        rendered(&source, &[], &Terms::default()).unwrap().object
    };
    let objects = [
        made("apps/v1", "Deployment", "deployment"),
        made("v1", "ConfigMap", "config"),
        made("apiextensions.k8s.io/v1", "CustomResourceDefinition", "definition"),
        made("v1", "Namespace", "namespace"),
    ];
    let wanted: Vec<_> =
        objects.iter().map(|object| desired(object.clone(), object["metadata"]["name"].as_str().unwrap())).collect();
    check(&wanted, &[], &[], &["apply namespace", "apply definition", "apply config", "apply deployment"]);
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
    let inventory: Vec<_> = objects.iter().map(|object| held(object, &name(object), "c", "1")).collect();
    let actual: Vec<_> = objects.iter().map(|object| there(object.clone(), "c", "1")).collect();
    check(
        &[],
        &inventory,
        &actual,
        &["delete deployment c", "delete config c", "delete definition c", "delete namespace c"],
    );
    let shared = Actual { objects: actual.into_iter().collect(), shared: BTreeSet::from(["namespace".to_owned()]) };
    let steps = crate::syncer::diff(&[], &inventory.into_iter().collect(), &shared, OWNER);
    assert_eq!(words(&steps).last().unwrap(), "release namespace");
}
