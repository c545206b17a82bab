//! The roles that every Kubernetes has, and who holds them.
//!
//! `policy.jsonl` lists them as a kube-apiserver 1.37 makes them, an object a line. They are stored where they are made:
//! they are objects like any others, to be read, watched, changed and deleted. What is missing of one when a server
//! starts is put back, unless its annotation says that it should be left alone.

use apiserver::auth::{Rule, Rules, StoredRole, missing};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::{Collection, Workspace};
use apiserver::strategy::Part;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::Deserialize;
use serde_json::{Value, json};

const POLICY: &str = include_str!("policy.jsonl");
/// The roles that kcp has besides.
const POLICY_OF_KCP: &str = include_str!("kcp.jsonl");

const GROUP: &str = "rbac.authorization.k8s.io";
const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// Roles that are made at once: enough to fill a commit.
const MADE_AT_ONCE: usize = 64;

/// The same as rules, for workspaces that do not keep them as objects: ten thousand copies would say nothing new.
pub fn rules() -> Rules {
    let all: Vec<(String, Option<String>, String, Bytes)> = wanted()
        .map(|object| {
            let word = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
            let kind = object["kind"].as_str().unwrap_or_default().to_owned();
            (kind, word("namespace"), word("name").unwrap_or_default(), Bytes::from(object.to_string()))
        })
        .collect();
    let of = |bindings: bool| {
        let wanted = all.iter().filter(move |(kind, ..)| kind.ends_with("Binding") == bindings);
        wanted.map(|(_, namespace, name, value)| StoredRole { namespace: namespace.as_deref(), name, value })
    };
    Rules::compile(of(false), of(true))
}

/// Makes what is missing of the roles and bindings.
pub(super) async fn policy(client: &Client, workspace: &Workspace) -> Result<(), ApiError> {
    let all = stream::iter(wanted()).map(|object| ensure(client, workspace, object));
    all.buffer_unordered(MADE_AT_ONCE).try_collect().await
}

/// Every role and binding that there should be.
fn wanted() -> impl Iterator<Item = Value> {
    let read = |line| serde_json::from_str(line).unwrap_or_else(|error| unreachable!("policy.jsonl: {error}: {line}"));
    POLICY.lines().chain(POLICY_OF_KCP.lines()).map(read)
}

async fn ensure(client: &Client, workspace: &Workspace, wanted: Value) -> Result<(), ApiError> {
    let at = place(client, workspace, &wanted)?;
    let place = at.object(wanted["metadata"]["name"].as_str().unwrap_or_default());
    match client.get(&place).await? {
        None => client.ensure(&at, wanted).await,
        Some(found) => match put_back(&found, &wanted) {
            Some(patch) => client.merge(&place, Part::Main, &patch).await.map(drop),
            None => Ok(()),
        },
    }
}

fn place(client: &Client, workspace: &Workspace, wanted: &Value) -> Result<Collection, ApiError> {
    let plural = match wanted["kind"].as_str() {
        Some("ClusterRole") => "clusterroles",
        Some("ClusterRoleBinding") => "clusterrolebindings",
        Some("Role") => "roles",
        _ => "rolebindings",
    };
    client.at((GROUP, "v1", plural), workspace, wanted["metadata"]["namespace"].as_str())
}

/// What an object lacks of what it should have. More than that is its administrator's business, and so is one that
/// gathers its rules from others.
fn put_back(found: &Object, wanted: &Value) -> Option<Value> {
    if found.annotation(AUTOUPDATE) != Some("true") || wanted.get("aggregationRule").is_some() {
        return None;
    }
    let list = |tree: Option<&Value>| tree.and_then(Value::as_array).cloned().unwrap_or_default();
    let metadata = json!({ "uid": found.uid(), "resourceVersion": found.resource_version() });
    let (field, lacking) = if wanted.get("roleRef").is_some() {
        let has = list(found.get("subjects"));
        let mut wanted = list(wanted.get("subjects"));
        wanted.retain(|subject| !has.contains(subject));
        ("subjects", wanted)
    } else {
        let rules = |tree| Vec::<Rule>::deserialize(Value::Array(list(tree))).unwrap_or_default();
        let lacking = missing(&rules(found.get("rules")), &rules(wanted.get("rules")));
        ("rules", lacking.iter().map(|rule| json!(rule)).collect())
    };
    let all: Vec<Value> = list(found.get(field)).into_iter().chain(lacking.iter().cloned()).collect();
    (!lacking.is_empty()).then(|| json!({ "metadata": metadata, field: all }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: Value, wanted: Value, expected: Option<Value>) {
        let mut found = found;
        if found["metadata"].is_null() {
            found["metadata"] = json!({ "annotations": { AUTOUPDATE: "true" } });
        }
        let patch = put_back(&found.try_into().unwrap(), &wanted).map(|mut patch| {
            patch.as_object_mut().unwrap().remove("metadata");
            patch
        });
        assert_eq!(patch, expected);
    }

    fn rule(verbs: &[&str]) -> Value {
        json!({ "apiGroups": [""], "resources": ["pods"], "verbs": verbs })
    }

    #[test]
    fn what_is_missing_of_a_role_is_put_back() {
        let role = |verbs: &[&str]| json!({ "rules": [rule(verbs)] });
        check(role(&["get", "list", "watch"]), role(&["get", "list"]), None);
        check(role(&["*"]), role(&["get", "list"]), None);
        check(role(&["get"]), role(&["get", "list"]), Some(json!({ "rules": [rule(&["get"]), rule(&["list"])] })));
        check(json!({}), role(&["get"]), Some(json!({ "rules": [rule(&["get"])] })));
        check(json!({ "metadata": {} }), role(&["get"]), None);
        check(json!({}), json!({ "aggregationRule": {}, "rules": [rule(&["get"])] }), None);
    }

    #[test]
    fn what_is_missing_of_a_binding_is_put_back() {
        let subject = |name: &str| json!({ "kind": "User", "name": name, "apiGroup": GROUP });
        let binding = |names: &[&str]| {
            let subjects: Vec<Value> = names.iter().map(|name| subject(name)).collect();
            json!({ "roleRef": {}, "subjects": subjects })
        };
        check(binding(&["a", "b"]), binding(&["a"]), None);
        check(binding(&["b"]), binding(&["a", "b"]), Some(json!({ "subjects": [subject("b"), subject("a")] })));
    }

    #[test]
    fn every_role_that_is_bound_is_there() {
        let all: Vec<Value> = wanted().collect();
        let has = |kind: &Value, name: &Value| all.iter().any(|o| o["kind"] == *kind && o["metadata"]["name"] == *name);
        for binding in all.iter().filter(|object| object.get("roleRef").is_some()) {
            let role = &binding["roleRef"];
            assert!(has(&role["kind"], &role["name"]), "{binding}");
        }
        assert_eq!(all.len(), 141 + 10);
    }
}
