//! PropagationPolicy and ClusterPropagationPolicy.

use super::Compat;
use super::placement;
use crate::apis;
use crate::apis::Kind;
use crate::dialects::read;
use crate::dialects::read::DialectError;
use crate::scheduler::Rule;
use crate::scheduler::rule::ApplicationFailover;
use crate::scheduler::rule::CellFailover;
use crate::scheduler::rule::Failover;
use crate::scheduler::rule::Namespaces;
use crate::scheduler::rule::NothingFits;
use crate::scheduler::rule::ObjectSelector;
use crate::scheduler::rule::Purge;
use crate::scheduler::rule::Release;
use crate::scheduler::rule::Strangers;
use crate::scheduler::rule::Suspension;
use serde_json::Value;
use std::collections::BTreeSet;

/// By this an object says for itself what to do with one that is in the cell already.
const CONFLICT_RESOLUTION: &str = "work.karmada.io/conflict-resolution";

/// How long an application may be unhealthy before it is moved, unless the policy says.
const TOLERATION_SECONDS: i64 = 300;

/// A policy, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// `None` for those of the whole cluster.
    pub namespace: Option<String>,
    pub name: String,
    pub priority: i64,
    /// It takes objects from other policies.
    pub preempts: bool,
    /// Changes of the policy wait until the object changes.
    pub lazy: bool,
    /// Who decides; others than `default-scheduler` are somebody else's.
    pub scheduler: String,
    /// It waits until there are override policies of these names.
    pub waits_for: Vec<String>,
    pub rule: Rule,
    /// As it was written; bindings show it.
    pub spec: Value,
}

impl Policy {
    /// The rule for one object, which may say something for itself.
    pub fn rule_for(&self, object: &Value) -> Rule {
        let mut rule = self.rule.clone();
        if let Some(said) = apis::text(object, &["metadata", "annotations", CONFLICT_RESOLUTION]) {
            rule.strangers = Some(strangers(said));
        }
        // An imported service is nothing without what was derived from it.
        rule.follow |= Kind::of(object).name() == ("multicluster.x-k8s.io", "ServiceImport");
        rule
    }
}

fn strangers(said: &str) -> Strangers {
    if said.eq_ignore_ascii_case("overwrite") { Strangers::Adopt } else { Strangers::Leave }
}

/// Reads either kind. `namespaces` is how the workspace names them in its cells.
pub fn compile(policy: &Value, namespaces: Namespaces, compat: Compat) -> Result<Policy, DialectError> {
    let namespace = apis::text(policy, &["metadata", "namespace"]).filter(|namespace| !namespace.is_empty());
    let name = apis::text(policy, &["metadata", "name"]).unwrap_or_default();
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let said = |key| apis::text(spec, &[key]);
    let (cells, division) = placement::compile(spec.get("placement").unwrap_or(&Value::Null), compat)?;
    let selectors = apis::list(spec, &["resourceSelectors"]);
    let rule = Rule {
        name: namespace.map_or(name.to_owned(), |namespace| format!("{namespace}/{name}")),
        objects: read::each(selectors, |selector| object_selector(selector, namespace))?,
        cells,
        replicas: Some(division),
        follow: flag(spec, "propagateDeps"),
        namespaces: Some(namespaces),
        strangers: Some(said("conflictResolution").map_or(Strangers::Leave, strangers)),
        suspension: suspension(spec),
        preserve_on_deletion: flag(spec, "preserveResourcesOnDeletion"),
        nothing_fits: if compat == Compat::Karmada118 { NothingFits::Withdraw } else { NothingFits::Keep },
        release: Release::Leave,
        failover: failover(spec),
        unheeded: unheeded(spec),
        ..Rule::default()
    };
    Ok(Policy {
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
        priority: apis::number(spec, &["priority"]).unwrap_or(0),
        preempts: said("preemption") == Some("Always"),
        lazy: said("activationPreference") == Some("Lazy"),
        scheduler: said("schedulerName").unwrap_or("default-scheduler").to_owned(),
        waits_for: apis::texts(spec, &["dependentOverrides"]),
        rule,
        spec: spec.clone(),
    })
}

/// What Karmada 1.18 leaves alone as well, unless feature gates that are off by default are turned on; `association` it
/// leaves alone in any case.
const UNHEEDED: [&[&str]; 3] = [&["association"], &["placement", "workloadAffinity"], &["schedulePriority"]];

fn unheeded(spec: &Value) -> BTreeSet<String> {
    let is_set = |path: &&&[&str]| apis::at(spec, path).is_some_and(|said| *said != Value::Bool(false));
    UNHEEDED.iter().filter(is_set).map(|path| format!("spec.{}", path.join("."))).collect()
}

fn flag(spec: &Value, key: &str) -> bool {
    spec.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A policy of a namespace speaks for objects of that namespace, whatever it says.
pub(super) fn object_selector(selector: &Value, namespace: Option<&str>) -> Result<ObjectSelector, DialectError> {
    let said = |key| apis::text(selector, &[key]).filter(|text| !text.is_empty());
    Ok(ObjectSelector {
        kind: Some(Kind::new(said("apiVersion").unwrap_or_default(), said("kind").unwrap_or_default())),
        workspaces: Vec::new(),
        namespace: namespace.or(said("namespace")).map(str::to_owned),
        name: said("name").map(str::to_owned),
        labels: read::label_selector(selector, "labelSelector")?,
    })
}

fn suspension(spec: &Value) -> Suspension {
    let everywhere = spec.pointer("/suspension/dispatching").and_then(Value::as_bool) == Some(true);
    let cells = apis::texts(spec, &["suspension", "dispatchingOnClusters", "clusterNames"]);
    match (everywhere, cells.is_empty()) {
        (true, _) => Suspension::Everywhere,
        (false, true) => Suspension::None,
        (false, false) => Suspension::In(cells.into_iter().collect()),
    }
}

/// By default nothing leaves a cell that fails, as in Karmada, whose feature gate is off: a policy has to ask for it.
fn failover(spec: &Value) -> Failover {
    let application = apis::at(spec, &["failover", "application"]).map(|application| ApplicationFailover {
        toleration_seconds: apis::number(application, &["decisionConditions", "tolerationSeconds"])
            .unwrap_or(TOLERATION_SECONDS),
        purge: purge(application),
        grace_seconds: apis::number(application, &["gracePeriodSeconds"]),
        carry: carried(application),
    });
    let cell = apis::at(spec, &["failover", "cluster"]);
    let cell = cell.map(|cell| CellFailover { purge: purge(cell), carry: carried(cell) });
    Failover { application, heeds_taints: cell.is_some(), cell }
}

fn purge(of: &Value) -> Purge {
    match apis::text(of, &["purgeMode"]) {
        Some("Directly" | "Immediately") => Purge::Directly,
        Some("Never") => Purge::Never,
        _ => Purge::Gracefully,
    }
}

fn carried(of: &Value) -> Vec<(String, String)> {
    let rule = |rule: &Value| {
        let said = |key| apis::text(rule, &[key]).map(str::to_owned);
        Some((said("aliasLabelName")?, said("jsonPath")?))
    };
    apis::list(of, &["statePreservation", "rules"]).iter().filter_map(rule).collect()
}
