//! The fields of Karmada's kinds.

use crate::dialects::schema::anything;
use crate::dialects::schema::at_least;
use crate::dialects::schema::conditions;
use crate::dialects::schema::flag;
use crate::dialects::schema::label_selector;
use crate::dialects::schema::list;
use crate::dialects::schema::map;
use crate::dialects::schema::object;
use crate::dialects::schema::one_of;
use crate::dialects::schema::open;
use crate::dialects::schema::or_else;
use crate::dialects::schema::quantities;
use crate::dialects::schema::requirement;
use crate::dialects::schema::taint;
use crate::dialects::schema::text;
use crate::dialects::schema::texts;
use crate::dialects::schema::time;
use crate::dialects::schema::toleration;
use crate::dialects::schema::whole;
use serde_json::Value;
use serde_json::json;

const OPERATORS: &[&str] = &["add", "remove", "replace"];

fn affinity_fields() -> Vec<(&'static str, Value)> {
    vec![
        ("labelSelector", label_selector()),
        ("fieldSelector", object(&[("matchExpressions", list(requirement()))])),
        ("clusterNames", texts()),
        ("exclude", texts()),
    ]
}

fn affinity() -> Value {
    object(&affinity_fields())
}

fn named_affinity() -> Value {
    let mut name = text();
    (name["minLength"], name["maxLength"]) = (1.into(), 32.into());
    let mut fields = affinity_fields();
    fields.push(("affinityName!", name));
    let tier = object(&fields);
    fields.push(("overflowAffinities", list(tier)));
    object(&fields)
}

fn resource_selector() -> Value {
    object(&[
        ("apiVersion!", text()),
        ("kind!", text()),
        ("namespace", text()),
        ("name", text()),
        ("labelSelector", label_selector()),
    ])
}

fn spread_constraint() -> Value {
    object(&[
        ("spreadByField", one_of(&["cluster", "region", "zone", "provider"])),
        ("spreadByLabel", text()),
        ("maxGroups", whole()),
        ("minGroups", whole()),
    ])
}

fn replica_scheduling() -> Value {
    let weight = object(&[("targetCluster!", affinity()), ("weight!", at_least(1))]);
    let preference = object(&[("staticWeightList", list(weight)), ("dynamicWeight", one_of(&["AvailableReplicas"]))]);
    object(&[
        ("replicaSchedulingType", or_else(one_of(&["Duplicated", "Divided"]), json!("Divided"))),
        ("replicaDivisionPreference", one_of(&["Aggregated", "Weighted"])),
        ("weightPreference", preference),
    ])
}

fn placement() -> Value {
    let grouped = || object(&[("groupByLabelKey", text())]);
    object(&[
        ("clusterAffinity", affinity()),
        ("clusterAffinities", list(named_affinity())),
        ("clusterTolerations", list(toleration())),
        ("spreadConstraints", list(spread_constraint())),
        ("replicaScheduling", replica_scheduling()),
        ("workloadAffinity", object(&[("affinity", grouped()), ("antiAffinity", grouped())])),
    ])
}

fn failover() -> Value {
    let rule = object(&[("aliasLabelName!", text()), ("jsonPath!", text())]);
    let preserved = || object(&[("rules!", list(rule.clone()))]);
    let tolerated = object(&[("tolerationSeconds", or_else(whole(), json!(300)))]);
    let purge = |words: &[&str]| or_else(one_of(words), json!("Gracefully"));
    object(&[
        (
            "application",
            object(&[
                ("decisionConditions!", tolerated),
                ("purgeMode", purge(&["Directly", "Gracefully", "Immediately", "Graciously", "Never"])),
                ("gracePeriodSeconds", whole()),
                ("statePreservation", preserved()),
            ]),
        ),
        ("cluster", object(&[("purgeMode", purge(&["Directly", "Gracefully"])), ("statePreservation", preserved())])),
    ])
}

fn suspension() -> Value {
    object(&[
        ("dispatching", flag()),
        ("dispatchingOnClusters", object(&[("clusterNames", texts())])),
        ("scheduling", flag()),
    ])
}

fn schedule_priority() -> Value {
    object(&[("priorityClassSource!", one_of(&["KubePriorityClass"])), ("priorityClassName!", text())])
}

fn conflict_resolution() -> Value {
    or_else(one_of(&["Abort", "Overwrite"]), json!("Abort"))
}

pub(super) fn propagation_spec() -> Value {
    let mut selectors = list(resource_selector());
    selectors["minItems"] = 1.into();
    object(&[
        ("resourceSelectors!", selectors),
        ("association", flag()),
        ("propagateDeps", flag()),
        ("placement", placement()),
        ("priority", or_else(json!({"type": "integer", "format": "int32"}), json!(0))),
        ("preemption", or_else(one_of(&["Always", "Never"]), json!("Never"))),
        ("dependentOverrides", texts()),
        ("schedulerName", or_else(text(), json!("default-scheduler"))),
        ("failover", failover()),
        ("conflictResolution", conflict_resolution()),
        ("activationPreference", one_of(&["Lazy"])),
        ("suspension", suspension()),
        ("preserveResourcesOnDeletion", flag()),
        ("schedulePriority", schedule_priority()),
    ])
}

fn overriders() -> Value {
    let operator = || one_of(OPERATORS);
    let image = object(&[
        ("predicate", object(&[("path!", text())])),
        ("component!", one_of(&["Registry", "Repository", "Tag"])),
        ("operator!", operator()),
        ("value", text()),
    ]);
    let words = object(&[("containerName!", text()), ("operator!", one_of(&["add", "remove"])), ("value", texts())]);
    let entries = object(&[("operator!", operator()), ("value", map(text()))]);
    let step = object(&[("subPath!", text()), ("operator!", operator()), ("value", anything())]);
    let field = object(&[("fieldPath!", text()), ("json", list(step.clone())), ("yaml", list(step))]);
    let plain = object(&[("path!", text()), ("operator!", operator()), ("value", anything())]);
    object(&[
        ("imageOverrider", list(image)),
        ("commandOverrider", list(words.clone())),
        ("argsOverrider", list(words)),
        ("labelsOverrider", list(entries.clone())),
        ("annotationsOverrider", list(entries)),
        ("fieldOverrider", list(field)),
        ("plaintext", list(plain)),
    ])
}

pub fn override_rule() -> Value {
    object(&[("targetCluster", affinity()), ("overriders!", overriders())])
}

pub(super) fn override_spec() -> Value {
    object(&[
        ("resourceSelectors", list(resource_selector())),
        ("overrideRules", list(override_rule())),
        ("targetCluster", affinity()),
        ("overriders", overriders()),
    ])
}

pub(super) fn binding_spec() -> Value {
    let resource = object(&[
        ("apiVersion!", text()),
        ("kind!", text()),
        ("namespace", text()),
        ("name!", text()),
        ("uid", text()),
        ("resourceVersion", text()),
    ]);
    let cluster = || object(&[("name!", text()), ("replicas", whole()), ("components", list(open()))]);
    let required = object(&[("namespace", text()), ("name!", text()), ("clusters", list(cluster()))]);
    let needed = object(&[
        ("nodeClaim", open()),
        ("resourceRequest", quantities()),
        ("namespace", text()),
        ("priorityClassName", text()),
    ]);
    object(&[
        ("resource!", resource),
        ("propagateDeps", flag()),
        ("replicaRequirements", needed),
        ("replicas", whole()),
        ("components", list(open())),
        ("clusters", list(cluster())),
        ("placement", placement()),
        ("gracefulEvictionTasks", list(open())),
        ("requiredBy", list(required)),
        ("schedulerName", text()),
        ("failover", failover()),
        ("conflictResolution", conflict_resolution()),
        ("rescheduleTriggeredAt", time()),
        ("suspension", suspension()),
        ("preserveResourcesOnDeletion", flag()),
        ("schedulePriority", open()),
    ])
}

pub(super) fn binding_status() -> Value {
    let item = object(&[
        ("clusterName!", text()),
        ("status", open()),
        ("applied", flag()),
        ("appliedMessage", text()),
        ("health", one_of(&["Healthy", "Unhealthy", "Unknown"])),
    ]);
    object(&[
        ("schedulerObservedGeneration", whole()),
        ("schedulerObservingAffinityName", text()),
        ("lastScheduledTime", time()),
        ("conditions", conditions()),
        ("aggregatedStatus", list(item)),
    ])
}

pub(super) fn work_spec() -> Value {
    let mut manifest = open();
    manifest["x-kubernetes-embedded-resource"] = true.into();
    object(&[
        ("workload", object(&[("manifests", list(manifest))])),
        ("suspendDispatching", flag()),
        ("preserveResourcesOnDeletion", flag()),
    ])
}

pub(super) fn work_status() -> Value {
    let identifier = object(&[
        ("ordinal!", whole()),
        ("group", text()),
        ("version!", text()),
        ("kind!", text()),
        ("resource!", text()),
        ("namespace", text()),
        ("name!", text()),
    ]);
    let health = one_of(&["Healthy", "Unhealthy", "Unknown"]);
    let manifest = object(&[("identifier!", identifier), ("status", open()), ("health", health)]);
    object(&[("conditions", conditions()), ("manifestStatuses", list(manifest))])
}

pub(super) fn cluster_spec() -> Value {
    let secret = || object(&[("namespace", text()), ("name", text())]);
    let amount = || json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true});
    let range = object(&[("name!", text()), ("min!", amount()), ("max!", amount())]);
    object(&[
        ("id", text()),
        ("syncMode!", one_of(&["Push", "Pull"])),
        ("apiEndpoint", text()),
        ("secretRef", secret()),
        ("impersonatorSecretRef", secret()),
        ("insecureSkipTLSVerification", flag()),
        ("proxyURL", text()),
        ("proxyHeader", map(text())),
        ("provider", text()),
        ("region", text()),
        ("zone", text()),
        ("zones", texts()),
        ("taints", list(taint())),
        ("resourceModels", list(object(&[("grade!", whole()), ("ranges!", list(range))]))),
    ])
}

pub(super) fn cluster_status() -> Value {
    let resource = object(&[("name!", text()), ("kind!", text())]);
    let summary = object(&[
        ("allocatable", quantities()),
        ("allocating", quantities()),
        ("allocated", quantities()),
        ("allocatableModelings", list(object(&[("grade", whole()), ("count", whole())]))),
    ]);
    object(&[
        ("kubernetesVersion", text()),
        ("apiEnablements", list(object(&[("groupVersion!", text()), ("resources", list(resource))]))),
        ("conditions", conditions()),
        ("nodeSummary", object(&[("totalNum", whole()), ("readyNum", whole())])),
        ("resourceSummary", summary),
        ("remedyActions", texts()),
    ])
}

pub(super) fn interpreter_spec() -> Value {
    let script = || object(&[("luaScript", text())]);
    let operations = [
        "retention",
        "replicaResource",
        "componentResource",
        "replicaRevision",
        "statusReflection",
        "statusAggregation",
        "healthInterpretation",
        "dependencyInterpretation",
    ];
    let customizations: Vec<(&str, Value)> = operations.into_iter().map(|operation| (operation, script())).collect();
    object(&[
        ("target!", object(&[("apiVersion!", text()), ("kind!", text())])),
        ("customizations!", object(&customizations)),
    ])
}
