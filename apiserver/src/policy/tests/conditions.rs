//! Webhooks that are asked only if their conditions hold.

use crate::hooks::tests::stage::{hook, scene};
use crate::policy::MatchConditions;
use futures_util::FutureExt;
use serde_json::{Value, json};

const WEB: &str = "CREATE apps/v1/deployments n/web";

/// Who was asked, or the refusal.
fn asked(conditions: &[&str], failure_policy: &str) -> Result<Vec<String>, (u16, String)> {
    let conditions: Vec<Value> =
        conditions.iter().enumerate().map(|(n, text)| json!({ "name": format!("c{n}"), "expression": text })).collect();
    let mut scene = scene(WEB);
    scene.conditions = Box::new(MatchConditions);
    let hook = hook("allow", json!({ "matchConditions": conditions, "failurePolicy": failure_policy }));
    let played = scene.validate(&[hook]).now_or_never().unwrap();
    match played.result {
        Ok(_) => Ok(played.asked),
        Err(error) => Err((error.code(), error.message().to_owned())),
    }
}

#[track_caller]
fn is_asked(conditions: &[&str], expected: bool) {
    assert_eq!(asked(conditions, "Fail").map(|asked| !asked.is_empty()), Ok(expected), "{conditions:?}");
}

#[test]
fn conditions_speak_of_the_request_and_its_objects() {
    is_asked(&["object.metadata.name == 'web'"], true);
    is_asked(&["object.metadata.name == 'web'", "request.userInfo.username == 'bob'"], false);
    is_asked(&["oldObject == null", "namespaceObject == null"], true);
    is_asked(&["request.operation == 'CREATE' && request.namespace == 'n'"], true);
    is_asked(&["authorizer.requestResource.check('create').allowed()"], false);
    is_asked(&["!('system:masters' in request.userInfo.groups)"], true);
}

#[test]
fn one_that_does_not_hold_decides() {
    is_asked(&["object.nothing == 1", "false"], false);
    is_asked(&["false", "object.nothing == 1"], false);
}

#[test]
fn what_nobody_can_say_is_decided_by_the_failure_policy() {
    let broken = "object.nothing == 1";
    let message = "deployments.apps \"web\" is forbidden: expression 'object.nothing == 1' resulted in error: no such key: \
                   nothing";
    assert_eq!(asked(&["true", broken], "Fail"), Err((403, message.to_owned())));
    assert_eq!(asked(&["true", broken], "Ignore"), Ok(Vec::new()));
}

#[test]
fn conditions_have_a_budget() {
    let ten = "[1,2,3,4,5,6,7,8,9,10]";
    let costly = format!("{ten}.all(a, {ten}.all(b, {ten}.all(c, {ten}.all(d, {ten}.all(e, a + b + c + d + e > 0)))))");
    let refused = asked(&[&costly, &costly, &costly, &costly], "Fail").unwrap_err().1;
    let message = "validation failed due to running out of cost budget, no further validation rules will be run";
    assert!(refused.ends_with(message), "{refused}");
    assert_eq!(asked(&[&costly, &costly, &costly, &costly], "Ignore"), Ok(Vec::new()));
}
