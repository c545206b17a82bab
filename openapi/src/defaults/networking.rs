//! Network policies and ingress classes. An ingress has no defaults.

use serde_json::json;

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    let on = |name| Rule::on("networking.v1", name);
    vec![
        on("NetworkPolicySpec")
            .having("egress", |spec| spec.set("policyTypes", json!(["Ingress", "Egress"])))
            .set("policyTypes", json!(["Ingress"])),
        on("NetworkPolicyPort").set("protocol", "TCP"),
        on("IngressClassParametersReference").set("scope", "Cluster"),
    ]
}
