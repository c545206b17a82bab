//! A decision, shown as ResourceBinding or ClusterResourceBinding.

use super::names;
use super::policy::Policy;
use super::work::Report;
use crate::apis;
use crate::apis::Kind;
use crate::apis::kinds;
use crate::apis::quantity;
use crate::scheduler::Because;
use crate::scheduler::Placement;
use crate::scheduler::Target;
use crate::scheduler::Terms;
use crate::scheduler::evict::{Eviction, Why};
use crate::scheduler::rule::Purge;
use apiserver::object::timestamp;
use openapi::scalar::time::Instant;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

/// The word for an object that no cell can have.
const NOTHING_FITS: &str = "NoCellFits";

/// Everything a binding shows.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    pub object: &'a Value,
    /// What the object asks for, if it has replicas.
    pub replicas: Option<&'a kinds::Replicas>,
    /// `None` for what is only there because others refer to it.
    pub policy: Option<&'a Policy>,
    pub placement: &'a Placement,
    /// Why it is not where it should be: one word, and a sentence.
    pub troubles: &'a [(String, String)],
    /// Cells that were not chosen, and why.
    pub refused: &'a [(String, String)],
    pub reports: &'a [Report],
    /// Cells that it is leaving.
    pub evictions: &'a [Eviction],
    /// When the placement was decided last.
    pub decided: &'a str,
}

pub fn binding(bound: &Bound<'_>) -> Value {
    let meta = |key| apis::text(bound.object, &["metadata", key]).unwrap_or_default();
    let kind = Kind::of(bound.object);
    let (namespace, name) = (meta("namespace"), names::binding_name(&kind.kind, meta("name")));
    let sort = if namespace.is_empty() { "ClusterResourceBinding" } else { "ResourceBinding" };
    let owner = json!({"apiVersion": kind.api_version, "kind": kind.kind, "name": meta("name"), "uid": meta("uid"),
        "controller": true, "blockOwnerDeletion": true});
    let mut metadata = json!({"name": name, "ownerReferences": [owner], "annotations": annotations(bound),
        "labels": {"resourcebinding.karmada.io/permanent-id": meta("uid")}});
    if !namespace.is_empty() {
        apis::map_mut(&mut metadata, &[]).insert("namespace".to_owned(), namespace.into());
    }
    if let Some(created) = apis::at(bound.object, &["metadata", "creationTimestamp"]) {
        apis::map_mut(&mut metadata, &[]).insert("creationTimestamp".to_owned(), created.clone());
    }
    json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": sort, "metadata": metadata,
        "spec": spec(bound, &kind), "status": status(bound)})
}

/// Whose claim it is.
fn annotations(bound: &Bound<'_>) -> Value {
    let Some(policy) = bound.policy else { return json!({}) };
    let mut annotations = match &policy.namespace {
        Some(namespace) => json!({"propagationpolicy.karmada.io/namespace": namespace,
            "propagationpolicy.karmada.io/name": policy.name}),
        None => json!({"clusterpropagationpolicy.karmada.io/name": policy.name}),
    };
    // It was applied if that came to something, be it that nothing fits.
    let nothing_fits = bound.troubles.first().is_none_or(|(word, _)| word == NOTHING_FITS);
    if nothing_fits || !bound.placement.targets.is_empty() {
        let placement = policy.spec.get("placement").unwrap_or(&Value::Null).to_string();
        let fields = apis::map_mut(&mut annotations, &[]);
        fields.insert("policy.karmada.io/applied-placement".to_owned(), placement.into());
    }
    annotations
}

/// What a binding has from its policy, word for word.
const FROM_POLICY: [&str; 7] = [
    "conflictResolution",
    "failover",
    "placement",
    "preserveResourcesOnDeletion",
    "propagateDeps",
    "schedulerName",
    "suspension",
];

fn spec(bound: &Bound<'_>, kind: &Kind) -> Value {
    let mut resource = json!({"apiVersion": kind.api_version, "kind": kind.kind});
    for key in ["name", "namespace", "resourceVersion", "uid"] {
        if let Some(value) = apis::at(bound.object, &["metadata", key]) {
            apis::map_mut(&mut resource, &[]).insert(key.to_owned(), value.clone());
        }
    }
    let mut spec = Map::from_iter([("resource".to_owned(), resource)]);
    for key in FROM_POLICY {
        let said = bound.policy.and_then(|policy| apis::at(&policy.spec, &[key]));
        let said = said.filter(|said| key != "propagateDeps" || **said != Value::Bool(false));
        spec.extend(said.map(|said| (key.to_owned(), said.clone())));
    }
    if let Some(replicas) = bound.replicas {
        // What is nothing is left out, as Karmada does.
        if replicas.number != 0 {
            spec.insert("replicas".to_owned(), replicas.number.into());
        }
        let requests = requests(replicas);
        if !requests.is_empty() {
            spec.insert("replicaRequirements".to_owned(), json!({"resourceRequest": requests}));
        }
    }
    let ruled = |target: &&Target| target.because.iter().any(|because| matches!(because, Because::Rule(_)));
    let clusters: Vec<Value> = bound.placement.targets.iter().filter(ruled).map(cluster).collect();
    if !clusters.is_empty() {
        spec.insert("clusters".to_owned(), clusters.into());
    }
    if !bound.evictions.is_empty() {
        let tasks: Vec<Value> = bound.evictions.iter().map(task).collect();
        spec.insert("gracefulEvictionTasks".to_owned(), tasks.into());
    }
    let required = required_by(bound.placement);
    if !required.is_empty() {
        spec.insert("requiredBy".to_owned(), required.into());
    }
    Value::Object(spec)
}

/// A cell that the object is leaving, as Karmada tells of it.
fn task(eviction: &Eviction) -> Value {
    let (reason, producer) = match eviction.why {
        Why::Taint => ("TaintUntolerated", "TaintManager"),
        Why::Application => ("ApplicationFailure", "RBApplicationFailoverController"),
    };
    let purge = match eviction.purge {
        Purge::Directly => "Directly",
        Purge::Gracefully => "Gracefully",
        Purge::Never => "Never",
    };
    let since = timestamp(Instant { seconds: eviction.since, nanos: 0 });
    let mut task = json!({"fromCluster": eviction.cell, "purgeMode": purge, "reason": reason, "producer": producer,
        "creationTimestamp": since, "clustersBeforeFailover": eviction.before});
    let fields = apis::map_mut(&mut task, &[]);
    fields.extend(eviction.replicas.map(|replicas| ("replicas".to_owned(), replicas.into())));
    fields.extend(eviction.grace_seconds.map(|grace| ("gracePeriodSeconds".to_owned(), grace.into())));
    if eviction.purge == Purge::Never {
        fields.insert("suppressDeletion".to_owned(), true.into());
    }
    if !eviction.carry.is_empty() {
        fields.insert("preservedLabelState".to_owned(), json!(eviction.carry));
    }
    task
}

fn requests(replicas: &kinds::Replicas) -> Map<String, Value> {
    let amount = |(name, amount): (&String, &i64)| (name.clone(), quantity::told(name, *amount).into());
    replicas.request.iter().map(amount).collect()
}

fn cluster(target: &Target) -> Value {
    match target.replicas {
        Some(replicas) if replicas != 0 => json!({"name": target.cell, "replicas": replicas}),
        _ => json!({"name": target.cell}),
    }
}

/// By who refers to it: `namespace/name` of their bindings, and where they are.
fn required_by(placement: &Placement) -> Vec<Value> {
    let mut by: std::collections::BTreeMap<&str, Vec<Value>> = std::collections::BTreeMap::new();
    for target in &placement.targets {
        for because in &target.because {
            if let Because::Follows(who) = because {
                by.entry(who).or_default().push(json!({"name": target.cell}));
            }
        }
    }
    let shown = |(who, clusters): (&str, Vec<Value>)| {
        let (namespace, name) = who.split_once('/').unwrap_or(("", who));
        json!({"namespace": namespace, "name": name, "clusters": clusters})
    };
    by.into_iter().map(shown).collect()
}

fn status(bound: &Bound<'_>) -> Value {
    let mut reports: Vec<&Report> = bound.reports.iter().collect();
    reports.sort_by(|a, b| a.cell.cmp(&b.cell));
    let follows = bound.policy.is_none() && bound.troubles.is_empty() && !required_by(bound.placement).is_empty();
    // Nobody decided where to send what only follows others.
    let mut conditions: Vec<Value> = (!follows).then(|| scheduled(bound)).into_iter().collect();
    // What never went anywhere cannot have failed there.
    if !bound.placement.targets.is_empty() || !reports.is_empty() {
        conditions.push(fully_applied(bound, &reports));
    }
    conditions.extend(heeded(bound));
    let kind = Kind::of(bound.object);
    let aggregated: Vec<Value> = reports.iter().map(|report| report.aggregated(&kind)).collect();
    let mut status = json!({"conditions": conditions, "aggregatedStatus": aggregated});
    let fields = apis::map_mut(&mut status, &[]);
    if bound.troubles.is_empty() {
        fields.insert("lastScheduledTime".to_owned(), bound.decided.into());
    }
    let group = bound.policy.and_then(|policy| bound.placement.groups.get(&policy.rule.name));
    if let Some(group) = group.filter(|group| !group.is_empty()) {
        fields.insert("schedulerObservingAffinityName".to_owned(), group.as_str().into());
    }
    status
}

fn condition(kind: &str, is: bool, reason: &str, message: &str, since: &str) -> Value {
    let status = if is { "True" } else { "False" };
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since})
}

fn scheduled(bound: &Bound<'_>) -> Value {
    let Some((word, trouble)) = bound.troubles.first() else {
        return condition("Scheduled", true, "Success", "Binding has been scheduled successfully.", bound.decided);
    };
    let reason = match word.as_str() {
        NOTHING_FITS => "NoClusterFit",
        "NotEnoughCapacity" => "Unschedulable",
        _ => "SchedulerError",
    };
    let why: Vec<String> = bound.refused.iter().map(|(cell, why)| format!("{cell}: {why}")).collect();
    let message = if why.is_empty() { trouble.clone() } else { format!("{trouble} ({})", why.join("; ")) };
    condition("Scheduled", false, reason, &message, bound.decided)
}

/// Only where there is something to complain about.
fn heeded(bound: &Bound<'_>) -> Option<Value> {
    let rule = std::slice::from_ref(&bound.policy?.rule);
    let unheeded = Terms::of(rule).unheeded_in_words()?;
    Some(condition("Heeded", false, "NotActedUpon", &unheeded, bound.decided))
}

fn fully_applied(bound: &Bound<'_>, reports: &[&Report]) -> Value {
    let applied = |target: &Target| reports.iter().any(|report| report.cell == target.cell && report.applied);
    let targets = &bound.placement.targets;
    if !targets.is_empty() && targets.iter().all(applied) {
        let message = "All works have been successfully applied";
        return condition("FullyApplied", true, "FullyAppliedSuccess", message, bound.decided);
    }
    let message = "Failed to apply all works, see status.aggregatedStatus for details";
    condition("FullyApplied", false, "FullyAppliedFailed", message, bound.decided)
}
