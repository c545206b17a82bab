//! What the author of a built-in object should be told though it is accepted: fields that do nothing, that are on their
//! way out, or that say less than it seems. The words, and when they are said, are those of a Kubernetes API server v1.37.

mod network;
mod node;
mod paths;
mod pod;
mod ports;
mod schemas;
mod storage;

use serde_json::Value;

use super::amount;
use super::names;
use super::tree::Node;
use crate::scalar::base64;

/// Warnings about one object. Together they fill the room that an answer has for them: 4096 characters.
const WARNINGS_MAX: usize = 128;

/// What was found so far.
#[derive(Debug, Default)]
struct Told(Vec<String>);

impl Told {
    fn say(&mut self, warning: String) {
        if !self.is_full() {
            self.0.push(warning);
        }
    }

    fn about(&mut self, at: &Node<'_>, what: &str) {
        self.say(format!("{}: {what}", at.path()));
    }

    fn is_full(&self) -> bool {
        self.0.len() >= WARNINGS_MAX
    }
}

/// What to say about a new object, or one in the place of `old`. Expects it as it will be stored, and valid.
pub fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut told = Told::default();
    let text = |field: &str| new.get(field).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    let (object, old) = (Node::root(new), old.map(Node::root));
    match (group, text("kind")) {
        ("", kind) => core(&mut told, kind, &object, old.as_ref()),
        ("apps" | "batch", kind) => workload(&mut told, kind, &object, old.as_ref()),
        ("apiextensions.k8s.io", _) => schemas::definition(&mut told, &object, old.as_ref()),
        ("networking.k8s.io", "Ingress") if old.is_none() => network::ingress(&mut told, &object),
        ("networking.k8s.io", "NetworkPolicy") => network::policy(&mut told, &object),
        ("discovery.k8s.io", "EndpointSlice") => network::slice(&mut told, &object, old.is_none()),
        ("node.k8s.io", "RuntimeClass") => node::runtime_class(&mut told, &object),
        ("storage.k8s.io", kind) => storage::of_kind(&mut told, kind, &object, old.as_ref()),
        ("resource.k8s.io", "ResourceSlice") => slice_of_devices(&mut told, &object),
        _ => {}
    }
    told.0
}

fn core(told: &mut Told, kind: &str, object: &Node<'_>, old: Option<&Node<'_>>) {
    match kind {
        // Pods are written far too often to be looked at each time.
        "Pod" if old.is_none() => {
            recommend_label(told, object, "the Pod's hostname");
            pod::pod(told, object, pod::Place::Alone);
        }
        "PodTemplate" if counts(object, old) => pod::pod(told, &object.at("template"), pod::Place::Template),
        "ReplicationController" => workload(told, kind, object, old),
        "Service" => network::service(told, object),
        "Endpoints" => network::endpoints(told, object),
        "PersistentVolume" => storage::volume(told, object),
        "PersistentVolumeClaim" => storage::claim(told, object),
        "Node" => node::node(told, object),
        "Secret" => secret(told, object),
        _ => {}
    }
}

/// It is new, or something else is asked of it.
fn counts(object: &Node<'_>, old: Option<&Node<'_>>) -> bool {
    old.is_none_or(|old| !old.at("metadata").at("generation").same(&object.at("metadata").at("generation")))
}

fn recommend_label(told: &mut Told, object: &Node<'_>, used: &str) {
    let name = object.at("metadata").at("name");
    let wrong = names::dns1123_label(name.text());
    if !wrong.is_empty() {
        let why =
            format!("this is used in {used}, which can result in surprising behavior; a DNS label is recommended");
        told.about(&name, &format!("{why}: [{}]", wrong.join(" ")));
    }
}

fn workload(told: &mut Told, kind: &str, object: &Node<'_>, old: Option<&Node<'_>>) {
    let named = matches!(kind, "Deployment" | "ReplicaSet" | "ReplicationController" | "Job" | "CronJob");
    if named && old.is_none() {
        recommend_label(told, object, "Pod names and hostnames");
    }
    let spec = object.at("spec");
    if counts(object, old) {
        match kind {
            "DaemonSet" if !is_another_template(object, old) => {}
            "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet" | "DaemonSet" => {
                pod::pod(told, &spec.at("template"), pod::Place::Template);
            }
            "Job" => job(told, &spec),
            "CronJob" => job(told, &spec.at("jobTemplate").at("spec")),
            _ => {}
        }
    }
    match kind {
        "StatefulSet" => stateful_set(told, &spec, old.is_none()),
        "CronJob" if old.is_some() && spec.at("schedule").text().contains("TZ") => {
            let instead =
                "use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/";
            told.say(format!("cannot use TZ or CRON_TZ in spec.spec.schedule, {instead} for more details"));
        }
        _ => {}
    }
}

fn is_another_template(object: &Node<'_>, old: Option<&Node<'_>>) -> bool {
    old.is_none_or(|old| !old.at("spec").at("template").same(&object.at("spec").at("template")))
}

fn stateful_set(told: &mut Told, spec: &Node<'_>, new: bool) {
    for template in spec.at("volumeClaimTemplates").items() {
        // Kubernetes says where it stands in two ways, both of them wrong.
        let at = if new { template.clone() } else { template.at("Spec") };
        storage::claim_spec(told, &template.at("spec").placed_at(&at));
    }
    if spec.at("revisionHistoryLimit").int() < 0 {
        let why = "a negative value retains all historical revisions; a value >= 0 is recommended";
        told.about(&spec.at("revisionHistoryLimit"), why);
    }
}

/// More than a controller can keep count of.
const COMPLETIONS_MANY: i64 = 100_000;
const PARALLEL_MANY: i64 = 10_000;

fn job(told: &mut Told, spec: &Node<'_>) {
    let many = spec.at("completions").int() > COMPLETIONS_MANY && spec.at("parallelism").int() > PARALLEL_MANY;
    if spec.at("completionMode").is("Indexed") && many {
        let what = "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, \
                    Kubernetes might not be able to track completedIndexes when a big number of indexes fail";
        told.about(spec, what);
    }
    pod::pod(told, &spec.at("template"), pod::Place::Template);
}

fn secret(told: &mut Told, secret: &Node<'_>) {
    if !secret.at("type").is("kubernetes.io/tls") {
        return;
    }
    // Whether the two belong together is left to whoever uses them.
    for (key, what) in [("tls.crt", "certificate"), ("tls.key", "key")] {
        let data = base64::decode(secret.at("data").key(key).text()).unwrap_or_default();
        if !data.windows(11).any(|window| window == b"-----BEGIN ") {
            return told.say(format!("tls: failed to find any PEM data in {what} input"));
        }
    }
}

fn slice_of_devices(told: &mut Told, slice: &Node<'_>) {
    let driver = slice.at("spec").at("driver");
    if driver.text().to_lowercase() != driver.text() {
        let (path, name) = (driver.path(), driver.text());
        told.say(format!("{path}: driver names should be lowercase; {name:?} contains uppercase characters"));
    }
}

/// An amount of bytes that is not a whole number.
fn fractional(told: &mut Told, amount: &Node<'_>) {
    if amount.exists() && !amount::is_whole(amount.value()) {
        let shown = amount::text(amount.value());
        told.about(amount, &format!("fractional byte value {shown:?} is invalid, must be an integer"));
    }
}

#[cfg(test)]
mod tests;
