//! Pods, and the templates that they are made from.

use serde_json::{Map, Value, json};

use super::core::agree;
use super::image;
use super::rule::Rule;

/// Octal 644.
const FILE_MODE: i32 = 0o644;

pub(super) fn rules() -> Vec<Rule> {
    let on = |name| Rule::on("core.v1", name);
    vec![
        pod(on("Pod")),
        on("PodStatus").then(|status| agree(status, "podIP", "podIPs", Some("ip"))),
        on("PodSpec")
            .then(one_service_account)
            .set("dnsPolicy", "ClusterFirst")
            .set("restartPolicy", "Always")
            .set("securityContext", json!({}))
            .set("terminationGracePeriodSeconds", 30)
            .set("schedulerName", "default-scheduler"),
        container(on("Container")),
        container(on("EphemeralContainer")),
        on("Probe")
            .set("timeoutSeconds", 1)
            .set("periodSeconds", 10)
            .set("successThreshold", 1)
            .set("failureThreshold", 3),
        on("HTTPGetAction").set("path", "/").set("scheme", "HTTP"),
        on("ObjectFieldSelector").set("apiVersion", "v1"),
        on("Volume").then(empty_directory),
        on("HostPathVolumeSource").set("type", ""),
        on("SecretVolumeSource").set("defaultMode", FILE_MODE),
        on("ConfigMapVolumeSource").set("defaultMode", FILE_MODE),
        on("DownwardAPIVolumeSource").set("defaultMode", FILE_MODE),
        on("ProjectedVolumeSource").set("defaultMode", FILE_MODE),
        on("ServiceAccountTokenProjection").set("expirationSeconds", 3600),
        on("ImageVolumeSource")
            .lacking("pullPolicy", |source| source.then(|source| pull(source, "reference", "pullPolicy"))),
    ]
}

/// What happens to a pod and not to a template: changing templates would roll out every workload anew.
fn pod(rule: Rule) -> Rule {
    rule.then(no_negative_grace)
        .each("spec.containers", request_limits)
        .each("spec.initContainers", request_limits)
        .set("spec.enableServiceLinks", true)
        .given("spec.hostNetwork", true, |pod| {
            pod.each("spec.containers", open_host_ports).each("spec.initContainers", open_host_ports)
        })
}

fn request_limits(container: Rule) -> Rule {
    container.fill("resources.limits", "resources.requests")
}

fn open_host_ports(container: Rule) -> Rule {
    container.each("ports", |port| port.copy("containerPort", "hostPort"))
}

fn container(rule: Rule) -> Rule {
    rule.lacking("imagePullPolicy", |container| container.then(|container| pull(container, "image", "imagePullPolicy")))
        .set("terminationMessagePath", "/dev/termination-log")
        .set("terminationMessagePolicy", "File")
}

fn pull(map: &mut Map<String, Value>, image: &str, policy: &str) {
    let is_latest = map.get(image).and_then(Value::as_str).is_some_and(image::is_latest);
    map.insert(policy.to_owned(), if is_latest { "Always" } else { "IfNotPresent" }.into());
}

fn no_negative_grace(pod: &mut Map<String, Value>) {
    let grace = pod.get_mut("spec").and_then(|spec| spec.get_mut("terminationGracePeriodSeconds"));
    if let Some(seconds) = grace.filter(|value| value.as_i64().is_some_and(|seconds| seconds < 0)) {
        *seconds = 1.into();
    }
}

/// `serviceAccount` is the older name of `serviceAccountName`, which is believed.
fn one_service_account(spec: &mut Map<String, Value>) {
    let said = |name: &str| spec.get(name).filter(|value| *value != "" && !value.is_null());
    if let Some(name) = said("serviceAccountName").or_else(|| said("serviceAccount")).cloned() {
        spec.insert("serviceAccount".to_owned(), name.clone());
        spec.insert("serviceAccountName".to_owned(), name);
    }
}

fn empty_directory(volume: &mut Map<String, Value>) {
    if volume.iter().all(|(field, value)| field == "name" || value.is_null()) {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
}
