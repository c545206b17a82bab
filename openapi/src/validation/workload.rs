//! Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController, ControllerRevision, PodTemplate.

use super::claim;
use super::names;
use super::pod;
use super::selector;
use super::tree::{Errors, Node};

const NOT_MATCHING: &str = "`selector` does not match template `labels`";

pub(super) fn pod_template(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    pod::template(errors, &object.at("template"), &[]);
}

pub(super) fn deployment(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    errors.negative(&spec.at("replicas"));
    selected_template(errors, &spec);
    strategy(errors, &spec.at("strategy"));
    errors.negative(&spec.at("minReadySeconds"));
    errors.negative(&spec.at("revisionHistoryLimit"));
    let deadline = spec.at("progressDeadlineSeconds");
    errors.negative(&deadline);
    if deadline.exists() && deadline.int() <= spec.at("minReadySeconds").int() {
        errors.invalid(&deadline, "must be greater than minReadySeconds");
    }
}

pub(super) fn replica_set(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    errors.negative(&spec.at("replicas"));
    errors.negative(&spec.at("minReadySeconds"));
    selected_template(errors, &spec);
}

/// A deployment's or a replica set's selector and what it selects.
fn selected_template(errors: &mut Errors, spec: &Node) {
    let (selector, template) = (spec.at("selector"), spec.at("template"));
    if selector.exists() {
        selector::selector(errors, &selector);
        if selector::is_empty(&selector) {
            errors.invalid(&selector, "empty selector is invalid for deployment");
        }
    } else {
        errors.required(&selector, "");
    }
    if !selector::is_readable(&selector) {
        return errors.invalid(&selector, "invalid label selector");
    }
    let labels = template.at("metadata").at("labels");
    matching(errors, &selector, &labels);
    pod::template(errors, &template, &[]);
    always(errors, &template, "ReplicaSet");
}

/// No selector selects nothing, an empty one selects anything.
fn matching(errors: &mut Errors, selector: &Node, labels: &Node) {
    if !selector.exists() || !selector::selects(selector, labels) {
        errors.invalid(labels, NOT_MATCHING);
    }
}

/// Pods of a controller run until it stops them.
fn always(errors: &mut Errors, template: &Node, kind: &str) {
    let (policy, deadline) = (template.at("spec").at("restartPolicy"), template.at("spec").at("activeDeadlineSeconds"));
    if !policy.is("Always") {
        errors.unsupported(&policy, &["Always"]);
    }
    if deadline.exists() {
        errors.forbidden(&deadline, format!("activeDeadlineSeconds in {kind} is not Supported"));
    }
}

fn strategy(errors: &mut Errors, strategy: &Node) {
    let rolling = strategy.at("rollingUpdate");
    match strategy.at("type").text() {
        "Recreate" if rolling.exists() => {
            errors.forbidden(&rolling, "may not be specified when strategy `type` is 'Recreate'");
        }
        "Recreate" => {}
        "RollingUpdate" if rolling.exists() => {
            let (unavailable, surge) = (rolling.at("maxUnavailable"), rolling.at("maxSurge"));
            int_or_percent(errors, &unavailable);
            int_or_percent(errors, &surge);
            if number(&unavailable) == 0 && number(&surge) == 0 {
                errors.invalid(&unavailable, "may not be 0 when `maxSurge` is 0");
            }
            at_most_all(errors, &unavailable);
        }
        "RollingUpdate" => errors.required(&rolling, "this should be defaulted and never be nil"),
        _ => errors.unsupported_value(strategy, strategy.value().clone(), &["Recreate", "RollingUpdate"]),
    }
}

pub(super) fn int_or_percent(errors: &mut Errors, at: &Node) {
    if at.value().is_string() { errors.refuse(at, names::percent(at.text())) } else { errors.negative(at) }
}

fn percent(at: &Node) -> Option<i64> {
    if names::percent(at.text()).is_empty() { at.text().trim_end_matches('%').parse().ok() } else { None }
}

/// The number that is meant, of pods or of percent; a text that means none counts as nothing.
pub(super) fn number(at: &Node) -> i64 {
    percent(at).unwrap_or_else(|| at.text().parse().unwrap_or(at.int()))
}

pub(super) fn at_most_all(errors: &mut Errors, at: &Node) {
    if percent(at).is_some_and(|percent| percent > 100) {
        errors.invalid(at, "must not be greater than 100%");
    }
}

pub(super) fn kept_selector(errors: &mut Errors, new: &Node, old: &Node) {
    errors.immutable(&new.at("spec").at("selector"), &old.at("spec").at("selector"));
}

pub(super) fn stateful_set(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    match spec.at("podManagementPolicy").text() {
        "" => errors.required(&spec.at("podManagementPolicy"), ""),
        "OrderedReady" | "Parallel" => {}
        _ => errors.invalid(&spec.at("podManagementPolicy"), "must be 'OrderedReady' or 'Parallel'"),
    }
    stateful_strategy(errors, &spec.at("updateStrategy"));
    let retention = spec.at("persistentVolumeClaimRetentionPolicy");
    for policy in ["whenDeleted", "whenScaled"].map(|name| retention.at(name)) {
        if retention.exists() && !["Retain", "Delete"].contains(&policy.text()) {
            errors.unsupported(&policy, &["Retain", "Delete"]);
        }
    }
    // These cannot change any more, and older servers let worse ones pass.
    let settled = old.is_some();
    for template in spec.at("volumeClaimTemplates").items().filter(|_| !settled) {
        claim::claim_spec(errors, &template.at("spec"));
    }
    errors.negative(&spec.at("replicas"));
    errors.negative(&spec.at("minReadySeconds"));
    let start = spec.at("ordinals").at("start");
    errors.negative(&start.placed_at(&spec.at("ordinals.start")));
    if !spec.at("serviceName").is_empty() && !settled {
        errors.refuse(&spec.at("serviceName"), names::dns1123_label(spec.at("serviceName").text()));
    }
    stateful_template(errors, &spec);
}

fn stateful_template(errors: &mut Errors, spec: &Node) {
    let (selector, template) = (spec.at("selector"), spec.at("template"));
    if selector.exists() {
        selector::selector(errors, &selector);
        if selector::is_empty(&selector) {
            errors.invalid(&selector, "empty selector is invalid for statefulset");
        }
    } else {
        errors.required(&selector, "");
    }
    if selector::is_readable(&selector) {
        let labels = template.at("metadata").at("labels");
        matching(errors, &selector, &labels);
        let claims = spec.at("volumeClaimTemplates");
        let given: Vec<&str> = claims.items().map(|claim| claim.at("metadata").at("name").text()).collect();
        pod::template(errors, &template, &given);
        pod::template_meta(errors, &template);
        pod::template_annotations(errors, &template);
    } else {
        errors.invalid(&selector, "");
    }
    always(errors, &template, "StatefulSet");
}

fn stateful_strategy(errors: &mut Errors, strategy: &Node) {
    let rolling = strategy.at("rollingUpdate");
    match strategy.at("type").text() {
        "" => errors.required(strategy, ""),
        "OnDelete" if rolling.exists() => {
            errors.invalid(&rolling, "only allowed for updateStrategy 'RollingUpdate'");
        }
        "OnDelete" => {}
        "RollingUpdate" => {
            errors.negative(&rolling.at("partition"));
            let unavailable = rolling.at("maxUnavailable");
            if unavailable.exists() {
                int_or_percent(errors, &unavailable);
                if number(&unavailable) == 0 {
                    errors.invalid(&unavailable, "cannot be 0");
                }
                at_most_all(errors, &unavailable);
            }
        }
        _ => errors.invalid(strategy, "must be 'RollingUpdate' or 'OnDelete'"),
    }
}

pub(super) fn stateful_set_update(errors: &mut Errors, new: &Node, old: &Node) {
    for name in ["selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"] {
        errors.immutable(&new.at("spec").at(name), &old.at("spec").at(name));
    }
}

pub(super) fn daemon_set(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    let (selector, template) = (spec.at("selector"), spec.at("template"));
    selector::selector(errors, &selector);
    let labels = template.at("metadata").at("labels");
    if selector::is_readable(&selector) {
        matching(errors, &selector, &labels);
    }
    if selector.exists() && selector::is_empty(&selector) {
        errors.invalid(&selector, "empty selector is invalid for daemonset");
    }
    pod::template(errors, &template, &[]);
    always(errors, &template, "DaemonSet");
    errors.negative(&spec.at("minReadySeconds"));
    daemon_strategy(errors, &spec.at("updateStrategy"));
    errors.negative(&spec.at("revisionHistoryLimit"));
}

fn daemon_strategy(errors: &mut Errors, strategy: &Node) {
    let rolling = strategy.at("rollingUpdate");
    match strategy.at("type").text() {
        "OnDelete" => {}
        "RollingUpdate" if !rolling.exists() => errors.required(&rolling, ""),
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.at("maxUnavailable"), rolling.at("maxSurge"));
            for at in [&unavailable, &surge] {
                int_or_percent(errors, at);
                at_most_all(errors, at);
            }
            match (number(&unavailable) != 0, number(&surge) != 0) {
                (true, true) => errors.invalid(&surge, "may not be set when maxUnavailable is non-zero"),
                (false, false) => errors.required(&unavailable, "cannot be 0 when maxSurge is 0"),
                _ => {}
            }
        }
        _ => errors.unsupported_value(strategy, strategy.value().clone(), &["RollingUpdate", "OnDelete"]),
    }
}

pub(super) fn replication_controller(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let spec = object.at("spec");
    let (selector, template) = (spec.at("selector"), spec.at("template"));
    if selector.is_empty() {
        errors.required(&selector, "");
    }
    if !template.exists() {
        return errors.required(&template, "");
    }
    let labels = template.at("metadata").at("labels");
    if !selector::matches_all(&selector, &labels) {
        errors.invalid(&labels, NOT_MATCHING);
    }
    pod::template(errors, &template, &[]);
    always(errors, &template, "ReplicationController");
}

pub(super) fn replication_controller_declared(errors: &mut Errors, new: &Node, old: Option<&Node>) {
    let name = new.at("metadata").at("name");
    if old.is_none() && !name.is_empty() {
        errors.refuse(&name, names::long_name(name.text()));
    }
    let spec = new.at("spec");
    for name in ["replicas", "minReadySeconds"] {
        let changed = old.is_none_or(|old| !old.at("spec").at(name).same(&spec.at(name)));
        if changed && name == "replicas" && !spec.at(name).exists() {
            errors.required(&spec.at(name), "");
        } else if changed {
            errors.negative(&spec.at(name));
        }
    }
}

pub(super) fn controller_revision(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    errors.negative(&object.at("revision"));
    let data = object.at("data");
    if old.is_some() {
        return;
    }
    if !data.exists() {
        errors.required(&data, "data is mandatory");
    } else if !data.value().is_object() {
        errors.required(&data, "data must be a valid JSON object");
    }
}

pub(super) fn controller_revision_update(errors: &mut Errors, new: &Node, old: &Node) {
    errors.immutable(&new.at("data"), &old.at("data"));
}

/// What the numbers of a status must not be: negative, or more than there are.
struct Counts {
    first: &'static [&'static str],
    of_replicas: &'static [&'static str],
    ready: &'static str,
}

fn counts(errors: &mut Errors, status: &Node, rules: &Counts) {
    for name in rules.first {
        errors.negative(&status.at(name));
    }
    let replicas = status.at("replicas").int();
    for at in rules.of_replicas.iter().map(|name| status.at(name)).filter(|at| at.int() > replicas) {
        errors.invalid(&at, "cannot be greater than status.replicas");
    }
    let available = status.at("availableReplicas");
    if !rules.ready.is_empty() && available.int() > status.at("readyReplicas").int() {
        errors.invalid(&available, format!("cannot be greater than {}", rules.ready));
    }
}

fn collisions(errors: &mut Errors, new: &Node, old: &Node) {
    let (now, then) = (new.at("status").at("collisionCount"), old.at("status").at("collisionCount"));
    if then.exists() && now.int() < then.int() || then.exists() && !now.exists() {
        errors.invalid_value(&now, now.int(), "cannot be decremented");
    }
}

pub(super) fn deployment_status(errors: &mut Errors, new: &Node, old: &Node) {
    let rules = Counts {
        first: &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "terminatingReplicas",
            "collisionCount",
        ],
        of_replicas: &["updatedReplicas", "readyReplicas", "availableReplicas"],
        ready: "readyReplicas",
    };
    counts(errors, &new.at("status"), &rules);
    collisions(errors, new, old);
}

pub(super) fn replica_set_status(errors: &mut Errors, new: &Node, _old: &Node) {
    let rules = Counts {
        first: &[
            "replicas",
            "fullyLabeledReplicas",
            "readyReplicas",
            "availableReplicas",
            "observedGeneration",
            "terminatingReplicas",
        ],
        of_replicas: &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
        ready: "readyReplicas",
    };
    counts(errors, &new.at("status"), &rules);
}

pub(super) fn stateful_set_status(errors: &mut Errors, new: &Node, old: &Node) {
    let rules = Counts {
        first: &[
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
        ],
        of_replicas: &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
        ready: "status.readyReplicas",
    };
    counts(errors, &new.at("status"), &rules);
    collisions(errors, new, old);
}

pub(super) fn daemon_set_status(errors: &mut Errors, new: &Node, old: &Node) {
    let rules = Counts {
        first: &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ],
        of_replicas: &[],
        ready: "",
    };
    counts(errors, &new.at("status"), &rules);
    collisions(errors, new, old);
}
