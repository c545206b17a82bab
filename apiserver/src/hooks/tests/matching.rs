//! Which requests a hook is asked about.

use super::stage::{hook, scene};
use crate::hooks::{Condition, Conditions, Evaluate, Subject};
use serde_json::{Value, json};

/// A rule of five words: operations, groups, versions, resources, scope; a comma between alternatives.
fn rule(line: &str) -> Value {
    let words: Vec<Vec<&str>> = line.split(' ').map(|word| word.split(',').collect()).collect();
    let groups: Vec<&str> = words[1].iter().map(|group| if *group == "core" { "" } else { group }).collect();
    json!({
        "operations": words[0], "apiGroups": groups, "apiVersions": words[2], "resources": words[3],
        "scope": words.get(4).map_or("*", |scope| scope[0]),
    })
}

/// In which version and group a hook with these rules is asked about the request.
async fn asked(request: &str, rules: &[&str], more: Value) -> Option<String> {
    let mut more = more;
    more["rules"] = rules.iter().map(|line| rule(line)).collect();
    let played = scene(request).validate(&[hook("allow", more)]).await;
    played.result.unwrap();
    let request = &played.reviews.first()?["request"];
    let word = |field: &str, part: &str| request[field][part].as_str().unwrap_or_default().to_owned();
    assert_eq!(request["object"]["apiVersion"].as_str().unwrap_or_default().rsplit('/').next().unwrap_or_default(), {
        if request["object"].is_null() { String::new() } else { word("kind", "version") }
    });
    Some(format!("{}/{}", word("resource", "group"), word("resource", "version")))
}

async fn check(request: &str, rules: &[&str], expect: bool) {
    let found = asked(request, rules, json!({ "matchPolicy": "Exact" })).await;
    assert_eq!(found.is_some(), expect, "{request} by {rules:?}");
}

#[tokio::test]
async fn groups_and_versions_are_named_or_all() {
    for (words, expect) in [("* *", true), ("apps v1", true), ("batch,apps v2,v1", true), ("core v1", false)] {
        check("CREATE apps/v1/deployments n/w", &[&format!("* {words} *")], expect).await;
    }
    check("CREATE apps/v1/deployments n/w", &["* apps v2 *"], false).await;
    check("CREATE v1/pods n/w", &["* core v1 pods"], true).await;
    check("CREATE v1/pods n/w", &["* apps v1 pods"], false).await;
}

#[tokio::test]
async fn operations_are_named_or_all() {
    check("CREATE v1/pods n/w", &["UPDATE,DELETE * * *"], false).await;
    check("CREATE v1/pods n/w", &["UPDATE,CREATE * * *"], true).await;
    check("DELETE v1/pods n/w", &["DELETE * * *"], true).await;
    check("CONNECT v1/pods n/w", &["CONNECT * * *"], true).await;
    check("CONNECT v1/pods n/w", &["* * * *"], true).await;
    check("UPDATE v1/pods n/w", &["create * * *"], false).await;
}

#[tokio::test]
async fn a_star_means_every_resource_but_no_subresource() {
    let rows = [
        ("*", true, false),
        ("pods", true, false),
        ("services,pods", true, false),
        ("*/*", true, true),
        ("pods/*", true, true),
        ("pods/status", false, true),
        ("*/status", false, true),
        ("*/scale", false, false),
        ("services/*", false, false),
        ("pods/", true, false),
    ];
    for (resources, itself, status) in rows {
        check("UPDATE v1/pods n/w", &[&format!("* * * {resources}")], itself).await;
        check("UPDATE v1/pods/status n/w", &[&format!("* * * {resources}")], status).await;
    }
}

#[tokio::test]
async fn a_namespace_is_outside_of_namespaces() {
    for (request, inside) in
        [("CREATE v1/pods n/w", true), ("CREATE v1/nodes w", false), ("UPDATE v1/namespaces w", false)]
    {
        check(request, &["* * * * *"], true).await;
        check(request, &["* * * * Namespaced"], inside).await;
        check(request, &["* * * * Cluster"], !inside).await;
        check(request, &["* * * * Other"], false).await;
    }
}

#[tokio::test]
async fn any_rule_is_enough_and_none_is_not() {
    check("CREATE v1/pods n/w", &[], false).await;
    check("CREATE v1/pods n/w", &["DELETE * * *", "CREATE * * pods"], true).await;
}

async fn equivalent(request: &str, rules: &[&str], expect: Option<&str>) {
    let found = asked(request, rules, json!({ "matchPolicy": "Equivalent" })).await;
    assert_eq!(found.as_deref(), expect, "{request} by {rules:?}");
}

#[tokio::test]
async fn a_rule_for_another_version_means_this_one_too() {
    let scaler = "UPDATE autoscaling/v1/horizontalpodautoscalers n/w";
    equivalent(scaler, &["* autoscaling v2 *"], Some("autoscaling/v2")).await;
    equivalent(scaler, &["* * * *"], Some("autoscaling/v1")).await;
    // The requested version is preferred to rules that come earlier.
    equivalent(scaler, &["* autoscaling v2 *", "* autoscaling v1 *"], Some("autoscaling/v1")).await;
    equivalent(scaler, &["* autoscaling v3 *"], None).await;
    equivalent(scaler, &["* apps v2 *"], None).await;
    equivalent(scaler, &["DELETE autoscaling v2 *", "UPDATE autoscaling v2 *"], Some("autoscaling/v2")).await;
    let status = "UPDATE autoscaling/v1/horizontalpodautoscalers/status n/w";
    equivalent(status, &["* autoscaling v2 horizontalpodautoscalers"], None).await;
    equivalent(status, &["* autoscaling v2 */status"], Some("autoscaling/v2")).await;
    check(scaler, &["* autoscaling v2 *"], false).await;
}

#[tokio::test]
async fn an_event_is_the_same_in_both_groups() {
    equivalent("CREATE v1/events n/w", &["* events.k8s.io v1 events"], Some("events.k8s.io/v1")).await;
    equivalent("CREATE events.k8s.io/v1/events n/w", &["* core v1 events"], Some("/v1")).await;
}

#[tokio::test]
async fn a_converted_request_still_says_what_was_requested() {
    let rules = json!([rule("* autoscaling v2 *")]);
    let played = scene("UPDATE autoscaling/v1/horizontalpodautoscalers n/w")
        .validate(&[hook("allow", json!({ "rules": rules }))])
        .await;
    let request = &played.reviews[0]["request"];
    assert_eq!(request["oldObject"]["apiVersion"], "autoscaling/v2");
    assert_eq!(request["kind"]["version"], "v2");
    assert_eq!(request["requestKind"]["version"], "v1");
    assert_eq!(request["requestResource"]["version"], "v1");
}

async fn selected(request: &str, field: &str, selector: Value) -> Result<bool, (u16, String)> {
    let played = scene(request).validate(&[hook("allow", json!({ field: selector }))]).await;
    let asked = !played.asked.is_empty();
    if played.result.is_err() { Err(played.refused()) } else { Ok(asked) }
}

#[tokio::test]
async fn namespaces_are_selected_by_their_labels() {
    let of = |value: &str| json!({ "matchLabels": { "in": value } });
    let field = "namespaceSelector";
    assert_eq!(selected("CREATE v1/pods n/w", field, of("n")).await, Ok(true));
    assert_eq!(selected("CREATE v1/pods n/w", field, of("m")).await, Ok(false));
    assert_eq!(selected("CREATE v1/pods n/w", field, json!({})).await, Ok(true));
    assert_eq!(selected("CREATE v1/pods n/w", field, Value::Null).await, Ok(false));
    // What is in none is never exempt.
    assert_eq!(selected("CREATE v1/nodes w", field, of("m")).await, Ok(true));
    // A namespace that is written speaks for itself; of one that goes, the stored one does.
    assert_eq!(selected("CREATE v1/namespaces w", field, of("w")).await, Ok(false));
    assert_eq!(selected("UPDATE v1/namespaces w", field, json!({ "matchLabels": { "a": "1" } })).await, Ok(true));
    assert_eq!(selected("DELETE v1/namespaces w", field, of("w")).await, Ok(true));
    assert_eq!(selected("UPDATE v1/namespaces/status w", field, of("w")).await, Ok(true));
}

#[tokio::test]
async fn a_namespace_that_is_not_there_is_not_found() {
    let selector = json!({ "matchLabels": { "in": "n" } });
    let found = selected("CREATE v1/pods gone/w", "namespaceSelector", selector.clone()).await;
    assert_eq!(found, Err((404, "namespaces \"gone\" not found".to_owned())));
    let found = selected("CREATE v1/pods broken/w", "namespaceSelector", selector.clone()).await;
    assert_eq!(found, Err((500, "Internal error occurred: no store".to_owned())));
    // Those who are not meant do not hear of it.
    let more = json!({ "namespaceSelector": selector, "rules": [rule("DELETE * * *")] });
    assert!(scene("CREATE v1/pods gone/w").validate(&[hook("allow", more)]).await.result.is_ok());
}

#[tokio::test]
async fn objects_are_selected_by_new_and_old_labels() {
    let of = |value: &str| json!({ "matchLabels": { "a": value } });
    assert_eq!(selected("CREATE v1/pods n/w", "objectSelector", of("1")).await, Ok(true));
    assert_eq!(selected("CREATE v1/pods n/w", "objectSelector", of("2")).await, Ok(false));
    assert_eq!(selected("DELETE v1/pods n/w", "objectSelector", of("1")).await, Ok(true));
    let mut update = scene("UPDATE v1/pods n/w");
    update.object = Some(json!({ "metadata": { "labels": { "a": "2" } } }));
    for value in ["1", "2"] {
        let played = update.validate(&[hook("allow", json!({ "objectSelector": of(value) }))]).await;
        assert_eq!(played.asked, ["allow"], "{value}");
    }
    let mut connect = scene("CONNECT v1/pods/exec n/w");
    (connect.object, connect.old) = (Some(json!({ "kind": "PodExecOptions" })), None);
    let absent = json!({ "matchExpressions": [{ "key": "b", "operator": "DoesNotExist" }] });
    let played = connect.validate(&[hook("allow", json!({ "objectSelector": absent }))]).await;
    assert!(played.asked.is_empty());
}

#[tokio::test]
async fn nobody_is_asked_about_who_is_asked() {
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicies"] {
        let request = format!("CREATE admissionregistration.k8s.io/v1/{plural} w");
        assert!(scene(&request).validate(&[hook("deny", json!({}))]).await.asked.is_empty(), "{plural}");
        assert!(scene(&request).mutate(&[hook("deny", json!({}))]).await.asked.is_empty(), "{plural}");
    }
    for request in [
        "CREATE authentication.k8s.io/v1/tokenreviews w",
        "CREATE authorization.k8s.io/v1/subjectaccessreviews w",
        "CREATE authorization.k8s.io/v1/localsubjectaccessreviews n/w",
    ] {
        assert!(scene(request).validate(&[hook("deny", json!({}))]).await.asked.is_empty(), "{request}");
    }
}

/// Expressions are `true`, `false`, or the text of an error.
struct Words;

#[derive(Debug)]
struct Read(Vec<Condition>);

impl Conditions for Words {
    fn compile(&self, conditions: &[Condition]) -> Box<dyn Evaluate> {
        Box::new(Read(conditions.to_vec()))
    }
}

impl Evaluate for Read {
    fn evaluate(&self, subject: &Subject<'_>) -> Vec<Result<bool, String>> {
        assert_eq!(subject.request["operation"], "CREATE");
        assert!(subject.request.get("uid").is_none() && subject.object.is_some() && subject.old.is_none());
        let value = |one: &Condition| match one.expression.as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(other.to_owned()),
        };
        self.0.iter().map(value).collect()
    }
}

async fn conditional(expressions: &[&str], policy: &str) -> Result<bool, (u16, String)> {
    let conditions: Vec<Value> = expressions.iter().map(|text| json!({ "name": "c", "expression": text })).collect();
    let mut scene = scene("CREATE v1/pods n/w");
    scene.conditions = Box::new(Words);
    let more = json!({ "matchConditions": conditions, "failurePolicy": policy });
    let played = scene.validate(&[hook("allow", more)]).await;
    let asked = !played.asked.is_empty();
    if played.result.is_err() { Err(played.refused()) } else { Ok(asked) }
}

#[tokio::test]
async fn a_condition_that_fails_decides_before_one_that_cannot_be_told() {
    assert_eq!(conditional(&["true", "true"], "Fail").await, Ok(true));
    assert_eq!(conditional(&["true", "false"], "Fail").await, Ok(false));
    assert_eq!(conditional(&["oh", "false"], "Fail").await, Ok(false));
    assert_eq!(conditional(&["oh", "true"], "Ignore").await, Ok(false));
    let one = Err((403, "pods \"w\" is forbidden: oh".to_owned()));
    assert_eq!(conditional(&["true", "oh", "oh"], "Fail").await, one);
    let two = Err((403, "pods \"w\" is forbidden: [oh, no]".to_owned()));
    assert_eq!(conditional(&["oh", "no"], "Fail").await, two);
}

#[tokio::test]
async fn conditions_that_nobody_can_read_fail() {
    let more = json!({ "matchConditions": [{ "name": "c", "expression": "true" }] });
    let (code, message) = scene("CREATE v1/pods n/w").validate(&[hook("allow", more)]).await.refused();
    assert_eq!((code, message.contains("cannot be evaluated")), (403, true), "{message}");
}
