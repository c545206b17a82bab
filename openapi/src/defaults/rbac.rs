//! Bindings of roles.

use super::rule::Rule;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn rules() -> Vec<Rule> {
    let on = |name| Rule::on("rbac.v1", name);
    vec![
        on("RoleBinding").set("roleRef.apiGroup", GROUP),
        on("ClusterRoleBinding").set("roleRef.apiGroup", GROUP),
        on("Subject").given("kind", "User", |subject| subject.set("apiGroup", GROUP)).given(
            "kind",
            "Group",
            |subject| subject.set("apiGroup", GROUP),
        ),
    ]
}
