//! Which policy speaks for an object.

use super::*;

/// `namespace/name priority selector`: no namespace for a cluster's; a selector is `name`, `labels`, `all` or `other`;
/// a `!` at the end takes objects from others.
fn policies(lines: &[&str]) -> Vec<Policy> {
    let one = |line: &&str| {
        let words: Vec<&str> = line.trim_end_matches('!').split_whitespace().collect();
        let mut object = propagation(json!({}));
        match words[0].split_once('/') {
            Some((namespace, name)) => object["metadata"] = json!({"namespace": namespace, "name": name}),
            None => object["metadata"] = json!({"name": words[0]}),
        }
        let selector = match words[2] {
            "name" => json!({"name": "nginx", "labelSelector": {"matchLabels": {"app": "other"}}}),
            "labels" => json!({"labelSelector": {"matchLabels": {"app": "nginx"}}}),
            "all" => json!({}),
            _ => json!({"name": "other"}),
        };
        let selected = &mut object["spec"]["resourceSelectors"][0];
        *selected = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
        selected.as_object_mut().unwrap().extend(selector.as_object().unwrap().clone());
        object["spec"]["priority"] = words[1].parse::<i64>().unwrap().into();
        object["spec"]["preemption"] = if line.ends_with('!') { "Always" } else { "Never" }.into();
        policy(&object)
    };
    lines.iter().map(one).collect()
}

#[track_caller]
fn check(lines: &[&str], claimed: Option<&str>, expect: Option<&str>) {
    let policies = policies(lines);
    let held: Vec<&str> = claimed.into_iter().chain(["another/rule"]).collect();
    let found = claim(&nginx(), policies.iter(), &held).map(|policy| policy.rule.name.as_str());
    assert_eq!(found, expect);
    let reversed: Vec<Policy> = policies.into_iter().rev().collect();
    assert_eq!(claim(&nginx(), reversed.iter(), &held).map(|policy| policy.rule.name.as_str()), expect, "reversed");
}

#[test]
fn a_policy_of_the_namespace_comes_before_one_of_the_cluster() {
    check(&["a 9 name", "default/b 0 all"], None, Some("default/b"));
    check(&["a 9 name", "other/b 0 all"], None, Some("a"));
    check(&["a 0 other", "default/b 0 other"], None, None);
}

#[test]
fn then_priority_then_closeness_then_the_name_decides() {
    check(&["default/a 1 name", "default/b 2 all"], None, Some("default/b"));
    check(&["default/a 0 all", "default/b 0 labels"], None, Some("default/b"));
    check(&["default/a 0 labels", "default/b 0 name"], None, Some("default/b"));
    check(&["default/b 0 name", "default/a 0 name"], None, Some("default/a"));
}

#[test]
fn whoever_has_an_object_keeps_it() {
    check(&["default/a 9 name", "default/b 0 all"], Some("default/b"), Some("default/b"));
    check(&["default/a 9 name", "b 0 all"], Some("b"), Some("b"));
    check(&["default/a 9 name", "b 0 other"], Some("b"), Some("default/a"));
    check(&["default/a 9 name"], Some("gone"), Some("default/a"));
}

#[test]
fn a_policy_that_may_takes_from_those_below() {
    check(&["default/a 9 name!", "default/b 0 all"], Some("default/b"), Some("default/a"));
    check(&["default/a 0 name!", "default/b 0 all"], Some("default/b"), Some("default/b"));
    check(&["default/a 0 name!", "b 9 all"], Some("b"), Some("default/a"));
    check(&["a 9 name!", "default/b 0 all"], Some("default/b"), Some("default/b"));
    check(&["a 9 name!", "b 0 all"], Some("b"), Some("a"));
}
