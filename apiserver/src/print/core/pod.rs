//! Pods: one word for what all their containers are doing.

use std::collections::{HashMap, HashSet};

use openapi::scalar::time::Instant;
use serde_json::{Value, json};

use crate::print::column::{AGE, Column, NAME, text};
use crate::print::look::Look;
use crate::print::subject::{Subject, instant};
use crate::print::words::{NONE, or_none};
use crate::print::{Printer, row};

pub(super) const PRINTER: Printer = Printer { kind: "Pod", columns: COLUMNS, row: pod };

const COLUMNS: &[Column] = &[
    NAME,
    text("Ready", "The aggregate readiness state of this pod for accepting traffic."),
    text("Status", "The aggregate status of the containers in this pod."),
    text("Restarts", "The number of times the containers in this pod have been restarted"),
    AGE,
    text("IP", "podIP address allocated to the pod.").wide(),
    text("Node", "NodeName indicates in which node this pod is scheduled.").wide(),
    text("Nominated Node", "nominatedNodeName is set only when this pod preempts other pods on the node").wide(),
    text("Readiness Gates", "If specified, all readiness gates will be evaluated for pod readiness.").wide(),
];

/// The condition of a row whose pod will not run again.
pub(in crate::print) fn completed(pod: &Value) -> Option<Value> {
    let message = match pod.text("status.phase") {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    let reason = pod.text("status.phase");
    Some(json!([{ "type": "Completed", "status": "True", "reason": reason, "message": message }]))
}

fn pod(it: &Subject<'_>) -> Vec<Value> {
    let story = Story::of(it.object);
    let restarts = match story.restarts.last {
        Some(last) if story.restarts.count != 0 => {
            format!("{} ({} ago)", story.restarts.count, it.elapsed(last))
        }
        _ => story.restarts.count.to_string(),
    };
    row![
        it.name(),
        format!("{}/{}", story.ready, story.total),
        story.reason,
        restarts,
        it.age(),
        address(it),
        or_none(it.text("spec.nodeName")),
        or_none(it.text("status.nominatedNodeName")),
        readiness_gates(it),
    ]
}

fn address(pod: &Value) -> &str {
    let first = pod.list("status.podIPs").first().map_or("", |address| address.text("ip"));
    let single = pod.text("status.podIP");
    or_none(if single.is_empty() { first } else { single })
}

fn readiness_gates(pod: &Value) -> String {
    let gates = pod.list("spec.readinessGates");
    if gates.is_empty() {
        return NONE.to_owned();
    }
    // Turned around, so that the first condition of a type is the one that stays.
    let conditions = pod.list("status.conditions").iter().rev();
    let conditions: HashMap<&str, &str> = conditions.map(|held| (held.text("type"), held.text("status"))).collect();
    let open = gates.iter().filter(|gate| conditions.get(gate.text("conditionType")) == Some(&"True")).count();
    format!("{open}/{}", gates.len())
}

#[derive(Default, Clone, Copy)]
struct Restarts {
    count: i64,
    last: Option<Instant>,
}

impl Restarts {
    fn add(&mut self, container: &Value) {
        self.count = self.count.saturating_add(container.number("restartCount"));
        let ended = instant(container.text("lastState.terminated.finishedAt"));
        if ended.map(order) > self.last.map(order) {
            self.last = ended;
        }
    }
}

fn order(instant: Instant) -> (i64, u32) {
    (instant.seconds, instant.nanos)
}

/// What happened in a pod so far, as far as its row tells.
struct Story {
    reason: String,
    ready: usize,
    total: usize,
    restarts: Restarts,
    /// Restarts of init containers that run beside the others, and so count when initialization is over.
    sidecar_restarts: Restarts,
}

impl Story {
    fn of(pod: &Value) -> Story {
        let mut story = Story {
            reason: first_reason(pod),
            ready: 0,
            total: pod.list("spec.containers").len() + sidecars(pod).count(),
            restarts: Restarts::default(),
            sidecar_restarts: Restarts::default(),
        };
        let initializing = story.initialize(pod);
        if !initializing || pod.is_true("Initialized") {
            story.restarts = story.sidecar_restarts;
            story.run(pod);
        }
        if pod.is_being_deleted() {
            if pod.text("status.reason") == "NodeLost" {
                story.reason = "Unknown".to_owned();
            } else if !matches!(pod.text("status.phase"), "Succeeded" | "Failed") {
                story.reason = "Terminating".to_owned();
            }
        }
        story
    }

    /// Goes through the init containers as far as the first that is not done, and says whether there is one.
    fn initialize(&mut self, pod: &Value) -> bool {
        let count = pod.list("spec.initContainers").len();
        let sidecars: HashSet<&str> = sidecars(pod).map(|sidecar| sidecar.text("name")).collect();
        for (at, container) in pod.list("status.initContainerStatuses").iter().enumerate() {
            self.restarts.add(container);
            let is_sidecar = sidecars.contains(container.text("name"));
            if is_sidecar {
                self.sidecar_restarts.add(container);
            }
            let terminated = container.at("state.terminated");
            if terminated.is_some_and(|terminated| terminated.number("exitCode") == 0) {
                continue;
            }
            if is_sidecar && container.flag("started") {
                self.ready += usize::from(container.flag("ready"));
                continue;
            }
            self.reason = match (terminated, container.text("state.waiting.reason")) {
                (Some(terminated), _) => format!("Init:{}", end(terminated)),
                (None, "" | "PodInitializing") => format!("Init:{at}/{count}"),
                (None, waiting) => format!("Init:{waiting}"),
            };
            return true;
        }
        false
    }

    /// Goes through the containers from the last to the first: the first has the last word.
    fn run(&mut self, pod: &Value) {
        let mut is_running = false;
        let mut failure = None;
        for container in pod.list("status.containerStatuses").iter().rev() {
            self.restarts.add(container);
            let waiting = container.text("state.waiting.reason");
            if !waiting.is_empty() {
                self.reason = waiting.to_owned();
            } else if let Some(terminated) = container.at("state.terminated") {
                self.reason = end(terminated);
                if terminated.number("exitCode") != 0 {
                    failure = Some(self.reason.clone());
                }
            } else if container.flag("ready") && container.has("state.running") {
                is_running = true;
                self.ready += 1;
            }
        }
        if self.reason != "Completed" {
            return;
        }
        if is_running && has_ready(pod) {
            self.reason = "Running".to_owned();
        } else if let Some(failure) = failure {
            self.reason = failure;
        } else if is_running {
            self.reason = "NotReady".to_owned();
        }
    }
}

fn first_reason(pod: &Value) -> String {
    let gated =
        |condition: &Value| condition.text("type") == "PodScheduled" && condition.text("reason") == "SchedulingGated";
    if pod.list("status.conditions").iter().any(gated) {
        return "SchedulingGated".to_owned();
    }
    let reason = pod.text("status.reason");
    if reason.is_empty() { pod.text("status.phase") } else { reason }.to_owned()
}

/// Init containers that stay on.
fn sidecars(pod: &Value) -> impl Iterator<Item = &Value> {
    pod.list("spec.initContainers").iter().filter(|container| container.text("restartPolicy") == "Always")
}

fn has_ready(pod: &Value) -> bool {
    let ready = |condition: &Value| condition.text("type") == "Ready" && condition.text("status") == "True";
    pod.list("status.conditions").iter().any(ready)
}

fn end(terminated: &Value) -> String {
    let (reason, signal) = (terminated.text("reason"), terminated.number("signal"));
    match (reason, signal) {
        ("", 0) => format!("ExitCode:{}", terminated.number("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}
