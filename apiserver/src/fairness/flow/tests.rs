//! Which requests belong together.

use super::*;
use crate::auth::Objects;
use serde_json::json;

fn of(name: &str, spec: Value) -> Object {
    json!({ "metadata": { "name": name, "uid": format!("uid-of-{name}") }, "spec": spec }).try_into().unwrap()
}

fn user(name: &str, groups: &[&str]) -> User {
    User::authenticated(name, groups.iter().map(ToString::to_string).collect())
}

/// The schema, the level and the distinguisher of a request about objects (`verb resource.group namespace`) or a path.
#[track_caller]
fn check(flows: &Flows, user: &User, asked: &str, expected: &str) {
    let words: Vec<&str> = asked.split(' ').collect();
    let wanted = match &*words {
        [verb, path] if path.starts_with('/') => Attributes::path(verb, path),
        [verb, resource, rest @ ..] => {
            let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
            let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
            let namespace = rest.first().copied().unwrap_or_default();
            Attributes::objects(verb, Objects { group, resource, subresource, namespace, name: "" })
        }
        _ => panic!("{asked}"),
    };
    let class = flows.classify(user, &wanted).unwrap();
    let told = format!("{} {} {:?}", class.schema.name, class.level.name, class.distinguisher);
    assert_eq!(told, expected, "{asked}");
}

#[test]
fn those_that_every_kubernetes_has_are_there_without_a_word() {
    let flows = Flows::compile(&[], &[]);
    check(&flows, &user("admin", &["system:masters"]), "get pods n", "exempt exempt \"\"");
    check(&flows, &user("ada", &[]), "get pods n", "global-default global-default \"ada\"");
    check(&flows, &user("ada", &[]), "get /readyz", "probes exempt \"\"");
    check(&flows, &user("ada", &[]), "get /readyz/store", "probes exempt \"\"");
    check(&flows, &user("ada", &[]), "get /readyzer", "global-default global-default \"ada\"");
    let account = user("system:serviceaccount:kube-system:gc", &["system:serviceaccounts"]);
    check(&flows, &account, "get pods n", "kube-system-service-accounts workload-high \"n\"");
    check(
        &flows,
        &account,
        "update leases.coordination.k8s.io n",
        "system-leader-election leader-election \"system:serviceaccount:kube-system:gc\"",
    );
    let account = user("system:serviceaccount:n:a", &["system:serviceaccounts"]);
    check(&flows, &account, "get pods n", "service-accounts workload-low \"system:serviceaccount:n:a\"");
    let node = user("system:node:x", &["system:nodes"]);
    check(&flows, &node, "patch nodes/status", "system-node-high node-high \"system:node:x\"");
    check(&flows, &node, "patch nodes/other", "system-nodes system \"system:node:x\"");
    check(&flows, &user("x", &[]), "get /anything", "global-default global-default \"x\"");
}

fn rule(subject: Value, resources: &[&str], namespaces: &[&str]) -> Value {
    json!({ "subjects": [subject], "resourceRules": [{
        "verbs": ["list"], "apiGroups": ["apps"], "resources": resources, "namespaces": namespaces,
    }] })
}

#[test]
fn own_schemas_count_by_precedence_and_name_and_only_with_a_level() {
    let level = |name: &str| json!({ "priorityLevelConfiguration": { "name": name }, "matchingPrecedence": 700 });
    let schema = |name: &str, to: &str, method: Option<&str>, rule: Value| {
        let mut spec = level(to);
        spec["rules"] = json!([rule]);
        if let Some(method) = method {
            spec["distinguisherMethod"] = json!({ "type": method });
        }
        of(name, spec)
    };
    let ada = || json!({ "kind": "User", "user": { "name": "ada" } });
    let limited = json!({ "type": "Limited", "limited": {
        "nominalConcurrencyShares": 7, "limitResponse": { "type": "Reject" },
    } });
    let flows = Flows::compile(
        &[
            schema("b", "own", Some("ByNamespace"), rule(ada(), &["deployments", "deployments/scale"], &["*"])),
            schema("a", "gone", None, rule(ada(), &["*"], &["*"])),
            schema("c", "own", None, rule(ada(), &["*"], &["n"])),
        ],
        &[of("own", limited)],
    );
    let ada = user("ada", &[]);
    check(&flows, &ada, "list deployments.apps m", "b own \"m\"");
    check(&flows, &ada, "list deployments/scale.apps m", "b own \"m\"");
    check(&flows, &ada, "list replicasets.apps n", "c own \"\"");
    check(&flows, &ada, "list deployments.apps", "global-default global-default \"ada\"");
    check(&flows, &ada, "get deployments.apps n", "global-default global-default \"ada\"");
    check(&flows, &user("eve", &[]), "list deployments.apps n", "global-default global-default \"eve\"");
}

#[test]
fn nobody_says_what_a_mandatory_one_says_but_everybody_whose_it_is() {
    let nobody = json!({ "priorityLevelConfiguration": { "name": "exempt" }, "matchingPrecedence": 2, "rules": [] });
    let flows = Flows::compile(&[of("exempt", nobody)], &[of("exempt", json!({ "type": "Limited" }))]);
    let class = flows.classify(&user("admin", &["system:masters"]), &Attributes::path("get", "/x")).unwrap();
    assert_eq!((&*class.schema.name, class.level.share.exempt), ("exempt", true));
    assert_eq!(class.schema.uids, (header("uid-of-exempt"), header("uid-of-exempt")));
}

#[test]
fn seats_are_divided_by_shares() {
    let flows = Flows::compile(&[], &[]);
    let limits = |name: &str| flows.limits(flows.levels().find(|level| &*level.name == name).unwrap(), 245);
    assert_eq!(limits("workload-low"), Limits { nominal: 100, kept: 10, max: 245 });
    assert_eq!(limits("catch-all"), Limits { nominal: 5, kept: 5, max: 245 });
    assert_eq!(limits("exempt"), Limits { nominal: 0, kept: 0, max: 245 });
}
