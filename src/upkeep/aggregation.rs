//! Roles that gather their rules from others: whatever they select is written into them.

use crate::controller::{Action, Controller, Reconciler, changes_of};
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::Object;
use apiserver::place::Workspace;
use apiserver::selector::LabelSelector;
use apiserver::strategy::Part;
use serde_json::{Value, json};

const ROLES: (&str, &str, &str) = ("rbac.authorization.k8s.io", "v1", "clusterroles");

pub(super) fn controller(client: &Client) -> Controller<Aggregation> {
    let workspace = |seen: &Seen| keyspace::workspace(&seen.key);
    Controller::new(Aggregation { client: client.clone() }).source(changes_of(client, ROLES, workspace))
}

pub(super) struct Aggregation {
    client: Client,
}

impl Reconciler for Aggregation {
    type Key = Workspace;

    fn name(&self) -> &'static str {
        "aggregation"
    }

    async fn reconcile(&self, workspace: &Workspace) -> Result<Action, ApiError> {
        let place = self.client.at(ROLES, workspace, None)?;
        let roles = self.client.list(&place).await?;
        for (name, rules) in decide(&roles) {
            let wanted = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": { "name": name }, "rules": rules,
            });
            self.client.apply(&place.object(&name), Part::Main, &wanted).await?;
        }
        Ok(Action::Done)
    }
}

/// The roles whose rules are not those that they select, and the rules that are. `roles` are in the order of their names.
/// What they gather from may gather, too; it changes, and then they are looked at again.
fn decide(roles: &[Object]) -> Vec<(String, Vec<Value>)> {
    let gathering = roles.iter().filter(|role| role.get("aggregationRule").is_some_and(Value::is_object));
    let wrong = gathering.filter(|role| !role.is_deleting()).filter_map(|role| {
        let rules = gathered(role, roles);
        let has: Vec<&Value> = role.items(&["rules"]).collect();
        (has != rules.iter().collect::<Vec<_>>()).then(|| (role.name().to_owned(), rules))
    });
    wrong.collect()
}

fn gathered(role: &Object, roles: &[Object]) -> Vec<Value> {
    let mut rules: Vec<Value> = Vec::new();
    for selector in role.items(&["aggregationRule", "clusterRoleSelectors"]) {
        // One that cannot be read selects nothing; it should not have been accepted.
        let Ok(selector) = LabelSelector::from_object(selector) else { continue };
        let selected = roles.iter().filter(|other| other.name() != role.name() && selector.matches(other.labels()));
        for rule in selected.flat_map(|other| other.items(&["rules"])) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(verb: &str) -> Value {
        json!({ "apiGroups": [""], "resources": ["pods"], "verbs": [verb] })
    }

    fn role(name: &str, label: &str, verbs: &[&str], selects: &[&str]) -> Object {
        let rules: Vec<Value> = verbs.iter().map(|verb| rule(verb)).collect();
        let selectors: Vec<Value> = selects.iter().map(|label| json!({ "matchLabels": { *label: "true" } })).collect();
        let mut tree = json!({ "metadata": { "name": name, "labels": { label: "true" } }, "rules": rules });
        if !selects.is_empty() {
            tree["aggregationRule"] = json!({ "clusterRoleSelectors": selectors });
        }
        tree.try_into().unwrap()
    }

    #[track_caller]
    fn check(roles: &[Object], expected: &[(&str, &[&str])]) {
        let told = |verbs: &[&str]| -> Vec<Value> { verbs.iter().map(|verb| rule(verb)).collect() };
        let expected: Vec<_> = expected.iter().map(|(name, verbs)| ((*name).to_owned(), told(verbs))).collect();
        assert_eq!(decide(roles), expected);
    }

    #[test]
    fn a_role_has_the_rules_of_those_that_it_selects() {
        let parts = || [role("a", "x", &["get", "list"], &[]), role("b", "y", &["list", "watch"], &[])];
        let with = |more: Object| [parts().to_vec(), vec![more]].concat();
        check(&with(role("all", "z", &[], &["x", "y"])), &[("all", &["get", "list", "watch"])]);
        check(&with(role("all", "z", &["get", "list", "watch"], &["x", "y"])), &[]);
        check(&with(role("all", "z", &["delete"], &["x"])), &[("all", &["get", "list"])]);
        check(&with(role("all", "z", &["delete"], &["none"])), &[("all", &[])]);
        check(&with(role("all", "x", &["get", "list"], &["x"])), &[]);
        check(&with(role("plain", "x", &["delete"], &[])), &[]);
    }
}
