//! A thousand roles, as they are stored and as they are asked.

use crate::ROLES;
use apiserver::auth::{Attributes, Objects, Rules, StoredRole, User};
use bytes::Bytes;
use serde_json::{Value, json};

/// The role of a number: a few resources, some of them by name.
pub fn role(number: usize) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": format!("role-{number:04}") },
        "rules": [
            { "verbs": ["get", "list", "watch"], "apiGroups": ["", "apps"], "resources": ["configmaps", "deployments"] },
            { "verbs": ["*"], "apiGroups": [format!("g{number}.example.com")], "resources": ["*", "*/status"] },
            {
                "verbs": ["get", "update"], "apiGroups": [""], "resources": ["secrets"],
                "resourceNames": [format!("secret-{number}"), format!("token-{number}")],
            },
        ],
    })
}

/// Binds the role of a number to its user, and to the group of those who have them all.
pub fn binding(number: usize) -> Value {
    const GROUP: &str = "rbac.authorization.k8s.io";
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": { "name": format!("binding-{number:04}") },
        "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": format!("role-{number:04}") },
        "subjects": [
            { "kind": "User", "apiGroup": GROUP, "name": format!("user-{number}") },
            { "kind": "Group", "apiGroup": GROUP, "name": "everybody" },
        ],
    })
}

pub fn compiled() -> Rules {
    let stored =
        |object: Value| (object["metadata"]["name"].as_str().map(str::to_owned), Bytes::from(object.to_string()));
    let roles: Vec<_> = (0..ROLES).map(|number| stored(role(number))).collect();
    let bindings: Vec<_> = (0..ROLES).map(|number| stored(binding(number))).collect();
    fn all(stored: &[(Option<String>, Bytes)]) -> impl Iterator<Item = StoredRole<'_>> {
        stored.iter().map(|(name, value)| StoredRole {
            namespace: None,
            name: name.as_deref().unwrap_or_default(),
            value,
        })
    }
    Rules::compile(all(&roles), all(&bindings))
}

pub fn holder(number: usize) -> User {
    User::authenticated(&format!("user-{number}"), Vec::new())
}

pub fn everybody() -> User {
    User::authenticated("boss", vec!["everybody".to_owned()])
}

pub fn nobody() -> User {
    User::authenticated("nobody", vec!["people".to_owned(), "others".to_owned()])
}

/// A question in turn: what many roles permit, what one of them permits by name, and what none of them does.
pub fn asks(rules: &Rules, user: &User, round: usize) -> bool {
    let objects = |resource, name| Objects { group: "", resource, subresource: "", namespace: "n", name };
    let wanted = match round % 3 {
        0 => Attributes::objects("get", objects("configmaps", "c")),
        1 => Attributes::objects("update", objects("secrets", "token-7")),
        _ => Attributes::objects("delete", objects("pods", "p")),
    };
    rules.allows(user, &wanted)
}
