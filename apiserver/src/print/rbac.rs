//! rbac.authorization.k8s.io: who may do what.

use serde_json::Value;

use super::column::{AGE, NAME, text};
use super::look::Look;
use super::subject::Subject;
use super::words::join;
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        kind: "RoleBinding",
        columns: &[
            NAME,
            text(
                "Role",
                "roleRef can reference a Role in the current namespace or a ClusterRole in the global namespace.",
            ),
            AGE,
            text("Users", "Users in the roleBinding").wide(),
            text("Groups", "Groups in the roleBinding").wide(),
            text("ServiceAccounts", "ServiceAccounts in the roleBinding").wide(),
        ],
        row: binding,
    },
    Printer {
        kind: "ClusterRoleBinding",
        columns: &[
            NAME,
            text("Role", "roleRef can only reference a ClusterRole in the global namespace."),
            AGE,
            text("Users", "Users in the clusterRoleBinding").wide(),
            text("Groups", "Groups in the clusterRoleBinding").wide(),
            text("ServiceAccounts", "ServiceAccounts in the clusterRoleBinding").wide(),
        ],
        row: binding,
    },
];

fn binding(it: &Subject<'_>) -> Vec<Value> {
    let of_kind = |kind| it.list("subjects").iter().filter(move |subject| subject.text("kind") == kind);
    let names = |kind| join(of_kind(kind).map(|subject| subject.text("name")), ", ");
    let account = |subject: &Value| format!("{}/{}", subject.text("namespace"), subject.text("name"));
    row![
        it.name(),
        format!("{}/{}", it.text("roleRef.kind"), it.text("roleRef.name")),
        it.age(),
        names("User"),
        names("Group"),
        join(of_kind("ServiceAccount").map(account), ", "),
    ]
}
