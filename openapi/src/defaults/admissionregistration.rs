//! Webhooks and admission policies.

use serde_json::json;

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    let on = |name| Rule::on("admissionregistration.v1", name);
    vec![
        webhook(on("ValidatingWebhook")),
        webhook(on("MutatingWebhook")).set("reinvocationPolicy", "Never"),
        on("ServiceReference").set("port", 443),
        on("RuleWithOperations").set("scope", "*"),
        on("NamedRuleWithOperations").set("scope", "*"),
        selectors(on("MatchResources")),
        on("ValidatingAdmissionPolicySpec").set("failurePolicy", "Fail"),
        on("MutatingAdmissionPolicySpec").set("failurePolicy", "Fail"),
    ]
}

fn webhook(rule: Rule) -> Rule {
    selectors(rule).set("failurePolicy", "Fail").set("timeoutSeconds", 10)
}

fn selectors(rule: Rule) -> Rule {
    rule.set("matchPolicy", "Equivalent").set("namespaceSelector", json!({})).set("objectSelector", json!({}))
}
