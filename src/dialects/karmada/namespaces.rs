//! Namespaces, which go to every member without a policy that selects them.

use crate::apis;
use crate::apis::Kind;
use crate::scheduler::Rule;
use crate::scheduler::affinity::Toleration;
use crate::scheduler::rule::{CellChoice, Division, Namespaces, ObjectSelector, Release, Strangers};
use serde_json::Value;

/// What the rule is called wherever it is named.
const NAME: &str = "namespaces.karmada.io";

/// Set to `true`, the namespace goes only where something in it goes.
const SKIP: &str = "namespace.karmada.io/skip-auto-propagation";

/// Those that are there in every cluster, and those in which a hub keeps what is nobody else's business.
const OWN: [&str; 4] = ["default", "karmada-system", "karmada-cluster", "hanse-cells"];
const OWN_PREFIXES: [&str; 2] = ["kube-", "karmada-es-"];

/// Whatever a cell is like, it has the namespaces. Taints keep workloads away, which come with rules of their own.
pub fn rule() -> Rule {
    let tolerations = vec![Toleration { key: String::new(), value: None, effect: None, seconds: None }];
    let kind = Some(Kind::new("v1", "Namespace"));
    Rule {
        name: NAME.to_owned(),
        objects: vec![ObjectSelector { kind, ..ObjectSelector::default() }],
        cells: CellChoice { tolerations, ..CellChoice::default() },
        replicas: Some(Division::Duplicated),
        namespaces: Some(Namespaces::Same),
        strangers: Some(Strangers::Leave),
        release: Release::Leave,
        ..Rule::default()
    }
}

/// Whether an object is a namespace that goes everywhere.
pub fn goes_everywhere(object: &Value) -> bool {
    let name = apis::text(object, &["metadata", "name"]).unwrap_or_default();
    let skipped = apis::text(object, &["metadata", "labels", SKIP]);
    Kind::of(object).name() == ("", "Namespace")
        && !OWN.contains(&name)
        && !OWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && !skipped.is_some_and(|said| said.eq_ignore_ascii_case("true"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn namespaces_of_users_go_everywhere_unless_they_say_otherwise() {
        let goes = |name: &str, skip: &str| {
            let metadata = json!({ "name": name, "labels": { SKIP: skip } });
            goes_everywhere(&json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": metadata }))
        };
        assert!(goes("shop", "false") && goes("karmada", ""));
        assert!(!goes("shop", "true") && !goes("shop", "True"));
        for own in ["default", "kube-system", "karmada-system", "karmada-es-member1", "hanse-cells"] {
            assert!(!goes(own, "false"), "{own}");
        }
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "shop" } });
        assert!(!goes_everywhere(&map));
    }
}
