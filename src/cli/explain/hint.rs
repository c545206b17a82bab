//! What to do next, for whoever finds an object where it should not be, or nowhere.

use super::{items, word};
use serde_json::Value;

/// How a refusal begins, and what helps against it. The words are the scheduler's; a test compares them.
const REFUSALS: [(&str, &str); 3] = [
    ("it does not serve", "`follow: true` in the rule sends the definition along; or install it in the cell"),
    ("it is not ready", "see: hanse cell list"),
    ("taint", "see: kubectl get cells -o yaml; a rule tolerates taints with spec.cells.tolerations"),
];

/// What helps against any of these refusals, each advice once.
pub(super) fn against(refused: &[Value]) -> Vec<&'static str> {
    let met = |begin: &str| refused.iter().any(|one| word(&one["reason"]).starts_with(begin));
    REFUSALS.iter().filter(|(begin, _)| met(begin)).map(|(_, advice)| *advice).collect()
}

/// Why rules that speak of this kind do not speak of this object.
pub(super) fn near_misses(object: &Value, rules: &[Value]) -> Vec<String> {
    let missed = |rule: &Value| {
        let (meta, spec) = (&rule["metadata"], &rule["spec"]);
        let home = word(&meta["namespace"]);
        let selected = items(&spec["objects"]).iter().chain(items(&spec["resourceSelectors"]));
        let only = selected.filter(|selected| is_of_kind(object, selected)).find_map(|selected| {
            // A policy in a namespace speaks of what is there.
            let elsewhere = !home.is_empty() && home != word(&object["metadata"]["namespace"]);
            if elsewhere { Some(format!("only in namespace {home}")) } else { only(object, selected) }
        })?;
        let what = match word(&rule["kind"]) {
            "" | "FederationRule" => "rule".to_owned(),
            policy => policy.to_owned(),
        };
        Some(format!("{what} {} selects {}s, but {only}", word(&meta["name"]), word(&object["kind"])))
    };
    rules.iter().filter_map(missed).collect()
}

fn is_of_kind(object: &Value, selected: &Value) -> bool {
    selected["apiVersion"] == object["apiVersion"] && selected["kind"] == object["kind"]
}

/// What keeps a selector of the right kind from an object.
fn only(object: &Value, selected: &Value) -> Option<String> {
    for key in ["namespace", "name"] {
        let wanted = word(&selected[key]);
        if !wanted.is_empty() && wanted != word(&object["metadata"][key]) {
            return Some(match key {
                "name" => format!("only {wanted}"),
                _ => format!("only in namespace {wanted}"),
            });
        }
    }
    selected["labelSelector"].is_object().then(|| "only those that match its labelSelector".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apis::Kind;
    use crate::scheduler::Reason;
    use serde_json::json;

    #[test]
    fn a_refusal_that_somebody_can_do_something_about_comes_with_an_advice() {
        let refused = |reason: &Reason| json!({ "cell": "a", "rule": "r", "reason": reason.to_string() });
        let kind = Kind::of(&json!({ "apiVersion": "g/v1", "kind": "K" }));
        let all = [refused(&Reason::NotServed(kind)), refused(&Reason::NotReady), refused(&Reason::NotReady)];
        let advice = against(&all);
        assert_eq!(advice.len(), 2, "{advice:?}");
        assert!(advice[0].contains("follow: true") && advice[1].contains("hanse cell list"), "{advice:?}");
        assert!(against(&[refused(&Reason::NotNamed)]).is_empty());
    }

    #[test]
    fn a_rule_that_nearly_fits_says_what_it_is_for() {
        let object = json!({ "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": { "name": "api", "namespace": "shop", "labels": { "app": "api" } } });
        let rule = |selected: Value| {
            let mut all = json!({ "apiVersion": "apps/v1", "kind": "Deployment" });
            all.as_object_mut().unwrap().append(&mut selected.as_object().unwrap().clone());
            json!({ "metadata": { "name": "r" }, "spec": { "objects": [all] } })
        };
        let check = |selected: Value, expected: &[&str]| {
            assert_eq!(near_misses(&object, &[rule(selected.clone())]), expected, "{selected}");
        };
        check(json!({ "name": "web" }), &["rule r selects Deployments, but only web"]);
        check(json!({ "name": "api", "namespace": "x" }), &["rule r selects Deployments, but only in namespace x"]);
        let labels = "rule r selects Deployments, but only those that match its labelSelector";
        check(json!({ "labelSelector": {} }), &[labels]);
        check(json!({ "kind": "Service" }), &[]);
        check(json!({ "name": "api" }), &[]);
        let policy = |namespace: &str, name: &str| {
            json!({ "kind": "PropagationPolicy", "metadata": { "name": "p", "namespace": namespace },
                "spec": { "resourceSelectors": [{ "apiVersion": "apps/v1", "kind": "Deployment", "name": name }] } })
        };
        let missed = near_misses(&object, &[policy("shop", "web"), policy("other", "api"), policy("shop", "api")]);
        let begin = "PropagationPolicy p selects Deployments, but only";
        assert_eq!(missed, [format!("{begin} web"), format!("{begin} in namespace other")]);
    }
}
