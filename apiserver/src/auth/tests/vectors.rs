//! What Kubernetes decides about the same. The lines are written by `make generate`.

use super::rules;
use crate::auth::escalation::{self, Escalation, Grant};
use crate::auth::impersonation::{Wanted, become_other};
use crate::auth::{Attributes, Objects, RoleError, Rules, User, refusal};
use crate::error::ApiError;
use crate::object::Object;
use http::{HeaderMap, HeaderName};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn vectors(field: &str, at_least: usize) -> (Rules, Vec<Value>) {
    let all = include_str!("vectors.jsonl").lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (policy, others): (Vec<Value>, Vec<Value>) = all.partition(|vector| vector.get("objects").is_some());
    let found: Vec<Value> = others.into_iter().filter(|vector| vector.get(field).is_some()).collect();
    assert!(found.len() >= at_least, "{field}: {}", found.len());
    (rules(policy[0]["objects"].as_array().unwrap()), found)
}

fn user(vector: &Value) -> User {
    let mut words = vector["user"].as_str().unwrap().split(' ').map(str::to_owned);
    User { name: words.next().unwrap(), groups: words.collect(), ..User::default() }
}

/// `get apps deployments/scale n web`, with `-` where nothing is said, or `get /path`.
fn attributes(text: &str) -> Attributes<'_> {
    let words: Vec<&str> = text.split(' ').map(|word| if word == "-" { "" } else { word }).collect();
    if let [verb, path] = *words {
        return Attributes::path(verb, path);
    }
    let (resource, subresource) = words[2].split_once('/').unwrap_or((words[2], ""));
    let (group, namespace, name) = (words[1], words[3], words[4]);
    Attributes::objects(words[0], Objects { group, resource, subresource, namespace, name })
}

/// Everything that differs, so that one run tells it all.
#[track_caller]
fn none(differing: Vec<String>) {
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
}

#[test]
fn who_may_do_what_is_decided_as_in_kubernetes() {
    let (rules, vectors) = vectors("decide", 500);
    let differing = vectors.iter().filter_map(|vector| {
        let (user, wanted) = (user(vector), attributes(vector["decide"].as_str().unwrap()));
        let decision = rules.decide(&user, &wanted);
        assert_eq!(decision.is_allowed(), rules.allows(&user, &wanted), "{vector}");
        let found = json!({ "allowed": decision.is_allowed(), "reason": decision.reason() });
        let expected = json!({ "allowed": vector["allowed"], "reason": vector["reason"] });
        (found != expected).then(|| format!("{vector}\n   found {found}"))
    });
    none(differing.collect());
}

fn object(tree: &Value) -> Object {
    Object::try_from(tree.clone()).unwrap()
}

#[test]
fn who_may_give_what_is_decided_as_in_kubernetes() {
    let (rules, vectors) = vectors("grant", 250);
    let differing = vectors.iter().filter_map(|vector| {
        let new = object(&vector["grant"]);
        let old = vector.get("old").map(object);
        let resource = format!("{}s", new.kind().to_lowercase());
        let namespace = Some(new.namespace()).filter(|namespace| !namespace.is_empty());
        let name = if old.is_some() { "x" } else { "" };
        let grant = Grant { resource: &resource, namespace, name, new: &new, old: old.as_ref() };
        let found = match escalation::confirm(&rules, &user(vector), &grant) {
            Ok(()) => String::new(),
            Err(Escalation::Role(error @ (RoleError::NotFound { .. } | RoleError::Unsupported(_)))) => {
                error.to_string()
            }
            Err(refused) => format!("{resource}.rbac.authorization.k8s.io \"x\" is forbidden: {refused}"),
        };
        (vector["refused"] != found.as_str()).then(|| format!("{vector}\n   found {found}"))
    });
    none(differing.collect());
}

fn headers(vector: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for header in vector["disguise"].as_array().unwrap() {
        let (name, value) = header.as_str().unwrap().split_once(": ").unwrap();
        headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    headers
}

fn became(rules: &Rules, vector: &Value) -> Result<Value, ApiError> {
    let by = user(vector);
    let wanted = Wanted::read(&headers(vector)).map_err(|nameless| ApiError::bad_request(nameless.to_string()))?;
    let ask = |about: &Attributes<'_>| {
        let decision = rules.decide(&by, about);
        if decision.is_allowed() { Ok(()) } else { Err(refusal(&by, about, decision.reason())) }
    };
    let request = attributes(vector["request"].as_str().unwrap());
    let User { name, uid, groups, extra, .. } = become_other(&by, &wanted.unwrap(), &request, &ask)?;
    let extra: Option<BTreeMap<_, _>> = Some(extra).filter(|extra| !extra.is_empty());
    Ok(json!({ "name": name, "uid": uid, "groups": groups, "extra": extra }))
}

#[test]
fn who_may_act_as_whom_is_decided_as_in_kubernetes() {
    let (rules, vectors) = vectors("disguise", 100);
    let differing = vectors.iter().filter_map(|vector| {
        let found = match became(&rules, vector) {
            Ok(user) => json!({ "became": user }),
            Err(error) => json!({ "refused": error.message(), "code": error.code() }),
        };
        let fields = ["became", "refused", "code"].into_iter();
        let expected: serde_json::Map<_, _> =
            fields.filter_map(|field| Some((field.to_owned(), vector.get(field)?.clone()))).collect();
        (found != Value::Object(expected)).then(|| format!("{vector}\n   found {found}"))
    });
    none(differing.collect());
}
