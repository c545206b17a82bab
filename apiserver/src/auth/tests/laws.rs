//! Nobody gains anything by writing roles and bindings, however many and in whichever order.

use super::rules;
use crate::auth::escalation::{GROUP, Grant, confirm};
use crate::auth::{Rules, User, missing};
use crate::object::Object;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Somebody who may write every role and binding, but holds nothing else beyond a few rights.
fn somebody() -> User {
    User::authenticated("eve", vec!["people".to_owned()])
}

const NAMES: [&str; 3] = ["a", "b", "c"];
const NAMESPACES: [&str; 2] = ["n", "m"];

fn word(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(str::to_owned)
}

fn words(all: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(word(all), 1..3)
}

fn rule() -> impl Strategy<Value = Value> {
    let objects = (
        words(&["get", "list", "delete", "*"]),
        words(&["", "apps", "*"]),
        words(&["pods", "secrets", "pods/log", "*/log", "*"]),
        prop::collection::vec(word(&["one", "two"]), 0..2),
    );
    let objects = objects.prop_map(|(verbs, groups, resources, names)| {
        json!({ "verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names })
    });
    let paths = (words(&["get", "*"]), words(&["/metrics", "/api/*", "*"]));
    let paths = paths.prop_map(|(verbs, paths)| json!({ "verbs": verbs, "nonResourceURLs": paths }));
    // Roles that give power over roles are what an attacker would like to write.
    let power = words(&["bind", "escalate", "*"])
        .prop_map(|verbs| json!({ "verbs": verbs, "apiGroups": [GROUP], "resources": ["roles", "clusterroles"] }));
    prop_oneof![6 => objects, 2 => paths, 1 => power]
}

fn role() -> impl Strategy<Value = Value> {
    let all = (word(&NAMES), prop::option::of(word(&NAMESPACES)), prop::collection::vec(rule(), 0..3), any::<bool>());
    all.prop_map(|(name, namespace, rules, gathers)| {
        let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
        let mut role = json!({ "kind": kind, "metadata": { "name": name, "namespace": namespace }, "rules": rules });
        if gathers && namespace.is_none() {
            role["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] });
        }
        role
    })
}

fn binding() -> impl Strategy<Value = Value> {
    let subjects = prop::collection::vec(
        prop_oneof![
            Just(json!({ "kind": "User", "name": "eve" })),
            Just(json!({ "kind": "Group", "name": "people" })),
            Just(json!({ "kind": "Group", "name": "system:authenticated" })),
        ],
        1..3,
    );
    let all =
        (word(&NAMES), prop::option::of(word(&NAMESPACES)), word(&["Role", "ClusterRole"]), word(&NAMES), subjects);
    all.prop_map(|(name, namespace, role_kind, role, subjects)| {
        let kind = if namespace.is_some() { "RoleBinding" } else { "ClusterRoleBinding" };
        json!({
            "kind": kind, "metadata": { "name": name, "namespace": namespace },
            "roleRef": { "apiGroup": GROUP, "kind": role_kind, "name": role }, "subjects": subjects,
        })
    })
}

/// The roles and bindings of a workspace, by kind, namespace and name.
#[derive(Default)]
struct World(BTreeMap<(String, String, String), Value>);

impl World {
    fn key(object: &Value) -> (String, String, String) {
        let text = |tree: &Value| tree.as_str().unwrap_or_default().to_owned();
        (text(&object["kind"]), text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]))
    }

    fn put(&mut self, object: &Value) {
        self.0.insert(Self::key(object), object.clone());
    }

    fn rules(&self) -> Rules {
        let all: Vec<Value> = self.0.values().cloned().collect();
        rules(&all)
    }

    /// Writes what its author may write.
    fn write(&mut self, author: &User, object: &Value) -> bool {
        let (kind, namespace, name) = Self::key(object);
        let old = self.0.get(&(kind.clone(), namespace.clone(), name.clone()));
        // What a binding refers to cannot be changed.
        if old.is_some_and(|old| old["roleRef"] != object["roleRef"]) {
            return false;
        }
        let (new, old) = (as_object(object), old.map(as_object));
        let grant = Grant {
            resource: &format!("{}s", kind.to_lowercase()),
            namespace: Some(&*namespace).filter(|namespace| !namespace.is_empty()),
            name: if old.is_some() { &name } else { "" },
            new: &new,
            old: old.as_ref(),
        };
        let may = confirm(&self.rules(), author, &grant).is_ok();
        if may {
            self.put(object);
        }
        may
    }
}

fn as_object(tree: &Value) -> Object {
    Object::try_from(tree.clone()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nobody_gains_by_what_they_may_write(
        before in prop::collection::vec(prop_oneof![role(), binding()], 0..8),
        writes in prop::collection::vec(prop_oneof![role(), binding()], 1..16),
    ) {
        let (mut world, eve) = (World::default(), somebody());
        before.iter().for_each(|object| world.put(object));
        let had = world.rules();
        let power = |namespace: &str| had.held(&eve, namespace).0;
        // Whoever may give anything, or bind what they do not hold, has been trusted with it.
        let trusted = ["", "n", "m"].iter().any(|namespace| {
            power(namespace).iter().any(|rule| {
                rule.verbs.iter().any(|verb| ["bind", "escalate", "*"].contains(&verb.as_str()))
                    && rule.groups.iter().any(|group| group == "*" || group == GROUP)
            })
        });
        prop_assume!(!trusted);
        // A binding whose role is missing is a promise of whoever made it: they could have meant any role.
        let promised = world.0.values().any(|object| {
            let role: Result<crate::auth::RoleRef, _> = serde_json::from_value(object["roleRef"].clone());
            role.is_ok_and(|role| had.role(&role, object["metadata"]["namespace"].as_str()).is_err())
        });
        prop_assume!(!promised);
        for object in &writes {
            world.write(&eve, object);
        }
        let has = world.rules();
        for namespace in ["", "n", "m"] {
            let gained = missing(&power(namespace), &has.held(&eve, namespace).0);
            prop_assert!(gained.is_empty(), "{gained:?} in {namespace:?}");
        }
    }
}
