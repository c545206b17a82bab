//! What the objects of Karmada's groups look like: definitions of the kinds that are served here.

use super::schemas::binding_spec;
use super::schemas::binding_status;
use super::schemas::cluster_spec;
use super::schemas::cluster_status;
use super::schemas::interpreter_spec;
use super::schemas::override_spec;
use super::schemas::propagation_spec;
use super::schemas::work_spec;
use super::schemas::work_status;
use crate::dialects::schema::Defined;
use crate::dialects::schema::at_least;
use crate::dialects::schema::definition;
use crate::dialects::schema::list;
use crate::dialects::schema::object;
use crate::dialects::schema::text;
use crate::dialects::schema::time;
use crate::dialects::schema::whole;
use apiserver::catalog::{COMPUTED, PASSAGE, WRITTEN_AS};
use serde_json::Value;
use serde_json::json;

/// One rule of an override policy; our own dialect has them too.
pub use super::schemas::override_rule;

const CATEGORIES: &[&str] = &["karmada-io"];

const POLICY: &str = "policy.karmada.io";
const WORK: &str = "work.karmada.io";

/// All of them, in order of their names.
pub fn definitions() -> Vec<Value> {
    let mut all = Vec::new();
    for namespaced in [true, false] {
        all.push(propagation(namespaced));
        all.push(overrides(namespaced));
        all.push(binding(namespaced));
    }
    all.extend([work(), cluster(), interpreter(), rebalancer()]);
    // What is shown of decisions and of what became of them is nobody's to write.
    for definition in &mut all {
        if ["work.karmada.io", "cluster.karmada.io"].iter().any(|group| definition["spec"]["group"] == *group) {
            definition["metadata"]["annotations"] = json!({ COMPUTED: "true" });
        }
        // A cluster is a cell by another name: it is written as one, and leads to it.
        if definition["spec"]["group"] == "cluster.karmada.io" {
            definition["metadata"]["annotations"][WRITTEN_AS] = json!("cells.federation.hanse.dev");
            definition["metadata"]["annotations"][PASSAGE] = json!("true");
        }
    }
    all.sort_by_key(|definition| definition["metadata"]["name"].as_str().map(str::to_owned));
    all
}

fn propagation(namespaced: bool) -> Value {
    let (kind, plural, short): (_, _, &[&str]) = if namespaced {
        ("PropagationPolicy", "propagationpolicies", &["pp"])
    } else {
        ("ClusterPropagationPolicy", "clusterpropagationpolicies", &["cpp"])
    };
    let columns =
        &[("CONFLICT-RESOLUTION", "string", ".spec.conflictResolution"), ("PRIORITY", "string", ".spec.priority")];
    let (group, versions, categories) = (POLICY, &["v1alpha1"], CATEGORIES);
    let (spec, status) = (propagation_spec(), None);
    definition(&Defined { group, versions, kind, plural, short, categories, namespaced, spec, status, columns })
}

fn overrides(namespaced: bool) -> Value {
    let (kind, plural, short): (_, _, &[&str]) = if namespaced {
        ("OverridePolicy", "overridepolicies", &["op"])
    } else {
        ("ClusterOverridePolicy", "clusteroverridepolicies", &["cop"])
    };
    let (group, versions, categories) = (POLICY, &["v1alpha1"], CATEGORIES);
    let (spec, status, columns) = (override_spec(), None, &[]);
    definition(&Defined { group, versions, kind, plural, short, categories, namespaced, spec, status, columns })
}

fn binding(namespaced: bool) -> Value {
    let (kind, plural, short): (_, _, &[&str]) = if namespaced {
        ("ResourceBinding", "resourcebindings", &["rb"])
    } else {
        ("ClusterResourceBinding", "clusterresourcebindings", &["crb"])
    };
    let columns = &[
        ("SCHEDULED", "string", r#".status.conditions[?(@.type=="Scheduled")].status"#),
        ("FULLYAPPLIED", "string", r#".status.conditions[?(@.type=="FullyApplied")].status"#),
    ];
    let (group, versions, categories) = (WORK, &["v1alpha2", "v1alpha1"], CATEGORIES);
    let (spec, status) = (binding_spec(), Some(binding_status()));
    definition(&Defined { group, versions, kind, plural, short, categories, namespaced, spec, status, columns })
}

fn work() -> Value {
    definition(&Defined {
        group: WORK,
        versions: &["v1alpha1"],
        kind: "Work",
        plural: "works",
        short: &["wk"],
        categories: CATEGORIES,
        namespaced: true,
        spec: work_spec(),
        status: Some(work_status()),
        columns: &[
            ("WORKLOAD-KIND", "string", ".spec.workload.manifests[0].kind"),
            ("APPLIED", "string", r#".status.conditions[?(@.type=="Applied")].status"#),
        ],
    })
}

/// Karmada serves clusters by a server of their own; what clients see is the same.
fn cluster() -> Value {
    definition(&Defined {
        group: "cluster.karmada.io",
        versions: &["v1alpha1"],
        kind: "Cluster",
        plural: "clusters",
        short: &[],
        categories: CATEGORIES,
        namespaced: false,
        spec: cluster_spec(),
        status: Some(cluster_status()),
        columns: &[
            ("Version", "string", ".status.kubernetesVersion"),
            ("Mode", "string", ".spec.syncMode"),
            ("Ready", "string", r#".status.conditions[?(@.type=="Ready")].status"#),
        ],
    })
}

fn interpreter() -> Value {
    definition(&Defined {
        group: "config.karmada.io",
        versions: &["v1alpha1"],
        kind: "ResourceInterpreterCustomization",
        plural: "resourceinterpretercustomizations",
        short: &["ric"],
        categories: CATEGORIES,
        namespaced: false,
        spec: interpreter_spec(),
        status: None,
        columns: &[
            ("TARGET-API-VERSION", "string", ".spec.target.apiVersion"),
            ("TARGET-KIND", "string", ".spec.target.kind"),
        ],
    })
}

fn rebalancer() -> Value {
    let workload = object(&[("apiVersion!", text()), ("kind!", text()), ("name!", text()), ("namespace", text())]);
    let observed = object(&[("workload!", workload.clone()), ("result", text()), ("reason", text())]);
    let status =
        object(&[("observedWorkloads", list(observed)), ("observedGeneration", whole()), ("finishTime", time())]);
    definition(&Defined {
        group: "apps.karmada.io",
        versions: &["v1alpha1"],
        kind: "WorkloadRebalancer",
        plural: "workloadrebalancers",
        short: &[],
        categories: CATEGORIES,
        namespaced: false,
        spec: object(&[("workloads!", list(workload)), ("ttlSecondsAfterFinished", at_least(0))]),
        status: Some(status),
        columns: &[],
    })
}
