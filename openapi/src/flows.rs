//! The flow schemas and priority levels that every Kubernetes API server has: those without which none could work, whose
//! specs nobody may change, and those that are suggested.

use serde_json::{Value, json};

/// The names of those, of both kinds, that always are as they are here.
pub const MANDATORY: [&str; 2] = ["exempt", "catch-all"];

const API_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    let metadata = json!({ "name": name, "annotations": { "apf.kubernetes.io/autoupdate-spec": "true" } });
    json!({ "apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec })
}

/// All priority levels, whole.
pub fn levels() -> Vec<Value> {
    // Where seats are few, lines are long: a user has six of them, and so 2,000 requests that wait.
    let queued = |name: &str, shares: u32, lendable: u32, (queues, hand): (u32, u32)| {
        let queuing = json!({ "queues": queues, "handSize": hand, "queueLengthLimit": 333 });
        let response = json!({ "type": "Queue", "queuing": queuing });
        let limited =
            json!({ "nominalConcurrencyShares": shares, "lendablePercent": lendable, "limitResponse": response });
        object("PriorityLevelConfiguration", name, &json!({ "type": "Limited", "limited": limited }))
    };
    let nothing = json!({ "nominalConcurrencyShares": 0, "lendablePercent": 0 });
    let few = json!({ "nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": { "type": "Reject" } });
    vec![
        object("PriorityLevelConfiguration", "exempt", &json!({ "type": "Exempt", "exempt": nothing })),
        object("PriorityLevelConfiguration", "catch-all", &json!({ "type": "Limited", "limited": few })),
        queued("system", 30, 33, (64, 6)),
        queued("node-high", 40, 25, (64, 6)),
        queued("leader-election", 10, 0, (16, 4)),
        queued("workload-high", 40, 50, (128, 6)),
        queued("workload-low", 100, 90, (128, 6)),
        queued("global-default", 20, 50, (128, 6)),
    ]
}

/// All flow schemas, whole.
pub fn schemas() -> Vec<Value> {
    let (user, space) = (Some("ByUser"), Some("ByNamespace"));
    let everybody = || groups(&["system:unauthenticated", "system:authenticated"]);
    let own = || json!([{ "kind": "ServiceAccount", "serviceAccount": { "namespace": "kube-system", "name": "*" } }]);
    let leaders = || {
        let mut subjects = users(&["system:kube-controller-manager", "system:kube-scheduler"]);
        if let (Some(all), Some(more)) = (subjects.as_array_mut(), own().as_array()) {
            all.extend(more.iter().cloned());
        }
        subjects
    };
    let probes = json!({
        "subjects": everybody(),
        "nonResourceRules": [{ "verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"] }],
    });
    let leases = |verbs: &[&str]| resources(verbs, "coordination.k8s.io", &["leases"], false);
    let leading = json!({ "subjects": leaders(), "resourceRules": [leases(&["get", "create", "update"])] });
    let reporting = json!({
        "subjects": groups(&["system:nodes"]),
        "resourceRules": [resources(&["*"], "", &["nodes", "nodes/status"], true), leases(&["*"])],
    });
    vec![
        schema("exempt", "exempt", 1, None, &whole(groups(&["system:masters"]))),
        schema("catch-all", "catch-all", 10_000, user, &whole(everybody())),
        schema("system-nodes", "system", 500, user, &whole(groups(&["system:nodes"]))),
        schema("system-node-high", "node-high", 400, user, &reporting),
        schema("probes", "exempt", 2, None, &probes),
        schema("system-leader-election", "leader-election", 100, user, &leading),
        schema(
            "kube-controller-manager",
            "workload-high",
            800,
            space,
            &whole(users(&["system:kube-controller-manager"])),
        ),
        schema("kube-scheduler", "workload-high", 800, space, &whole(users(&["system:kube-scheduler"]))),
        schema("kube-system-service-accounts", "workload-high", 900, space, &whole(own())),
        schema("service-accounts", "workload-low", 9000, user, &whole(groups(&["system:serviceaccounts"]))),
        schema("global-default", "global-default", 9900, user, &whole(everybody())),
    ]
}

fn schema(name: &str, level: &str, precedence: u32, distinguisher: Option<&str>, rule: &Value) -> Value {
    let mut spec = json!({
        "priorityLevelConfiguration": { "name": level }, "matchingPrecedence": precedence, "rules": [rule],
    });
    if let Some(method) = distinguisher {
        spec["distinguisherMethod"] = json!({ "type": method });
    }
    object("FlowSchema", name, &spec)
}

/// Everything that somebody may ask for.
fn whole(subjects: Value) -> Value {
    json!({
        "subjects": subjects,
        "resourceRules": [resources(&["*"], "*", &["*"], true)],
        "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
    })
}

fn resources(verbs: &[&str], group: &str, resources: &[&str], outside: bool) -> Value {
    let mut rule = json!({ "verbs": verbs, "apiGroups": [group], "resources": resources, "namespaces": ["*"] });
    if outside {
        rule["clusterScope"] = true.into();
    }
    rule
}

fn groups(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "kind": "Group", "group": { "name": name } })).collect()
}

fn users(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "kind": "User", "user": { "name": name } })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::kind_in;
    use crate::{defaults, validation};

    #[test]
    fn they_are_complete_and_valid() {
        for object in levels().into_iter().chain(schemas()) {
            let ty = kind_in(API_VERSION, object["kind"].as_str().unwrap()).unwrap();
            let mut completed = object.clone();
            defaults::apply(&mut completed, ty);
            assert_eq!(completed["spec"], object["spec"]);
            assert_eq!(validation::create(&completed, ty), [], "{object}");
        }
    }

    #[test]
    fn what_must_be_stays_as_it_is() {
        for (mut object, change) in [
            (schemas().remove(1), json!({ "matchingPrecedence": 77 })),
            (levels().remove(1), json!({ "limited": { "lendablePercent": 7, "limitResponse": { "type": "Reject" } } })),
        ] {
            let ty = kind_in(API_VERSION, object["kind"].as_str().unwrap()).unwrap();
            for (field, value) in change.as_object().unwrap() {
                object["spec"][field] = value.clone();
            }
            let told: Vec<String> = validation::create(&object, ty).iter().map(ToString::to_string).collect();
            assert!(told.iter().any(|one| one.contains("spec of 'catch-all' must equal the fixed value")), "{told:?}");
        }
        let ty = kind_in(API_VERSION, "PriorityLevelConfiguration").unwrap();
        let mut exempt = levels().remove(0);
        exempt["spec"]["exempt"]["nominalConcurrencyShares"] = 9.into();
        assert_eq!(validation::create(&exempt, ty), [], "its shares are its administrator's business");
    }
}
