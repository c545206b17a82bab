//! Pods and pod templates: what one pod may ask for.

mod container;
mod env;
mod mounts;
mod placement;
mod probe;
mod projected;
mod resources;
mod security;
mod update;
mod volumes;
mod windows;

use std::collections::{HashMap, HashSet};

use super::net;
use super::tree::{Errors, Node};
use super::{meta, names, selector};

pub(super) use placement::{Values, node_selector, tolerations};
pub(super) use projected::signer_name;
pub(super) use resources::{container_resource, is_standard, overhead, resource_name, resource_quantity};
pub(super) use update::{pod_status, pod_update};
pub(super) use volumes::no_backsteps;

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_BYTES_MAX: usize = 2048;
const HOSTNAME_BYTES_MAX: usize = 64;

/// A pod's spec, with what its parts must know of the whole.
struct Pod<'a> {
    spec: Node<'a>,
    /// The metadata of a pod; a template has none that counts.
    meta: Option<Node<'a>>,
    /// The volumes without errors, by name.
    volumes: HashMap<&'a str, Node<'a>>,
    /// Volumes that are there though the spec does not name them.
    claims: HashSet<&'a str>,
    grace_secs: Option<i64>,
}

impl<'a> Pod<'a> {
    fn of(spec: &Node<'a>, meta: Option<Node<'a>>) -> Self {
        let claims = spec.at("resourceClaims").items().map(|claim| claim.at("name").text()).collect();
        let grace_secs = spec.at("terminationGracePeriodSeconds").value().as_i64();
        Self { spec: spec.clone(), meta, volumes: HashMap::new(), claims, grace_secs }
    }

    /// Every container, in the order in which Kubernetes visits them.
    fn containers(&self) -> impl Iterator<Item = Node<'a>> {
        ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(|list| self.spec.at(list).items())
    }

    fn shares_host_users(&self) -> bool {
        !self.spec.at("hostUsers").is_false()
    }
}

/// A pod, besides its metadata: what holds at any time.
pub(super) fn pod(errors: &mut Errors, object: &Node, old: Option<&Node>) {
    let spec = object.at("spec");
    let meta = object.at("metadata");
    annotations(errors, &meta.at("annotations"), &spec);
    pod_spec(errors, &spec, Some(meta), &[]);
    if spec.at("serviceAccountName").is_empty() {
        for source in spec.at("volumes").items().flat_map(|volume| volume.at("projected").at("sources").items()) {
            if source.at("serviceAccountToken").exists() {
                let detail = "must not be specified when serviceAccountName is not set";
                errors.forbidden(&source.at("serviceAccountToken"), detail);
            }
        }
    }
    errors.negative(&spec.at("terminationGracePeriodSeconds"));
    for image in ["containers", "initContainers"].into_iter().flat_map(|list| spec.at(list).items()) {
        container::trimmed_image(errors, &image);
    }
    if old.is_none() {
        only_on_create(errors, object);
    }
}

fn only_on_create(errors: &mut Errors, object: &Node) {
    let spec = object.at("spec");
    if !spec.at("ephemeralContainers").is_empty() {
        errors.forbidden(&spec.at("ephemeralContainers"), "cannot be set on create");
    }
    if !spec.at("nodeName").is_empty() && !spec.at("schedulingGates").is_empty() {
        errors.forbidden(&spec.at("nodeName"), "cannot be set until all schedulingGates have been cleared");
    }
}

/// A template of pods. `given` are the volumes that its owner adds to it.
pub(super) fn template(errors: &mut Errors, template: &Node, given: &[&str]) {
    let meta = template.at("metadata");
    let spec = template.at("spec");
    template_meta(errors, template);
    annotations(errors, &moved(template, &meta.at("annotations"), "annotations"), &spec);
    pod_spec(errors, &spec, None, given);
    if !spec.at("ephemeralContainers").is_empty() {
        errors.forbidden(&spec.at("ephemeralContainers"), "ephemeral containers not allowed in pod template");
    }
}

/// Labels and annotations of a template, which errors place beside its spec.
pub(super) fn template_meta(errors: &mut Errors, template: &Node) {
    let meta = template.at("metadata");
    selector::labels(errors, &moved(template, &meta.at("labels"), "labels"));
    meta::annotations(errors, &moved(template, &meta.at("annotations"), "annotations"));
}

pub(super) fn template_annotations(errors: &mut Errors, template: &Node) {
    let annotations = moved(template, &template.at("metadata").at("annotations"), "annotations");
    self::annotations(errors, &annotations, &template.at("spec"));
}

fn moved<'a>(template: &Node<'a>, value: &Node<'a>, name: &'a str) -> Node<'a> {
    value.placed_at(&template.at(name))
}

fn annotations(errors: &mut Errors, annotations: &Node, spec: &Node) {
    let mirror = annotations.key(MIRROR);
    if mirror.exists() && spec.at("nodeName").is_empty() {
        errors.invalid(&mirror, "must set spec.nodeName if mirror pod annotation is set");
    }
    let cost = annotations.key(DELETION_COST);
    // Only the spelling that Go prints is read: no plus sign, no leading zeros.
    let read = |text: &str| text.parse::<i32>().is_ok_and(|number| number.to_string() == text);
    if cost.exists() && !read(cost.text()) {
        errors.invalid(&cost, "must be a 32bit integer");
    }
}

/// A pod's spec. `given` are volumes that need not be named.
pub(super) fn pod_spec(errors: &mut Errors, spec: &Node, meta: Option<Node>, given: &[&str]) {
    let mut pod = Pod::of(spec, meta);
    if pod.grace_secs.is_none() {
        errors.required(&spec.at("terminationGracePeriodSeconds"), "");
    }
    volumes::volumes(errors, &mut pod);
    let claimed = serde_json::json!({"persistentVolumeClaim": {}});
    for name in given {
        pod.volumes.insert(name, Node::root(&claimed));
    }
    resource_claims(errors, &pod);
    container::containers(errors, &pod);
    container::init_containers(errors, &pod);
    container::ephemeral_containers(errors, &pod);
    resources::of_pod(errors, &pod);
    container::host_network(errors, &pod);
    errors.one_of(&spec.at("restartPolicy"), &["Always", "OnFailure", "Never"]);
    errors.one_of(&spec.at("dnsPolicy"), &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    selector::labels(errors, &spec.at("nodeSelector"));
    security::of_pod(errors, &pod);
    if spec.at("shareProcessNamespace").is_true() && spec.at("hostPID").is_true() {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(&spec.at("shareProcessNamespace"), detail);
    }
    placement::affinity(errors, &spec.at("affinity"));
    dns_config(errors, spec);
    gates(errors, spec);
    placement::spread(errors, &spec.at("topologySpreadConstraints"));
    windows::host_process(errors, &pod);
    host_users(errors, &pod);
    names_of_the_host(errors, spec);
    references(errors, spec);
    env::file_volumes(errors, &pod);
}

fn resource_claims(errors: &mut Errors, pod: &Pod) {
    let mut seen = HashSet::new();
    for claim in pod.spec.at("resourceClaims").items() {
        let name = claim.at("name");
        if name.is_empty() {
            errors.required(&name, "");
        } else if !seen.insert(name.text()) {
            errors.duplicate(&name, name.text());
        } else {
            errors.refuse(&name, names::dns1123_label(name.text()));
        }
        let (direct, template) = (claim.at("resourceClaimName"), claim.at("resourceClaimTemplateName"));
        if direct.exists() && template.exists() {
            let detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
            errors.invalid(&claim, detail);
        }
        if !direct.exists() && !template.exists() {
            errors.invalid(&claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
        }
        for name in [direct, template].iter().filter(|name| name.exists()) {
            errors.refuse(name, names::dns1123_subdomain(name.text()));
        }
    }
}

fn dns_config(errors: &mut Errors, spec: &Node) {
    let config = spec.at("dnsConfig");
    let (servers, searches) = (config.at("nameservers"), config.at("searches"));
    if spec.at("dnsPolicy").is("None") && !config.exists() {
        return errors.required(&config, "must provide `dnsConfig` when `dnsPolicy` is None");
    }
    if spec.at("dnsPolicy").is("None") && servers.is_empty() {
        return errors.required(&servers, "must provide at least one DNS nameserver when `dnsPolicy` is None");
    }
    if servers.len() > NAMESERVERS_MAX {
        errors.invalid(&servers, format!("must not have more than {NAMESERVERS_MAX} nameservers"));
    }
    for server in servers.items() {
        net::check_address(errors, &server, &HashSet::new());
    }
    if searches.len() > SEARCHES_MAX {
        errors.invalid(&searches, format!("must not have more than {SEARCHES_MAX} search paths"));
    }
    if searches.texts().join(" ").len() > SEARCH_BYTES_MAX {
        let detail =
            format!("must not have more than {SEARCH_BYTES_MAX} characters (including spaces) in the search list");
        errors.invalid(&searches, detail);
    }
    for search in searches.items().filter(|search| !search.is(".")) {
        let name = search.text().strip_suffix('.').unwrap_or(search.text());
        for message in names::dns1123_subdomain_underscored(name) {
            errors.invalid_value(&search, name, message);
        }
    }
    for option in config.at("options").items().filter(|option| option.at("name").is_empty()) {
        errors.required(&option, "must not be empty");
    }
}

fn gates(errors: &mut Errors, spec: &Node) {
    for gate in spec.at("readinessGates").items() {
        selector::label_name(errors, &gate.at("conditionType"));
    }
    let mut seen = HashSet::new();
    for gate in spec.at("schedulingGates").items() {
        let name = gate.at("name").text();
        for message in names::qualified_name(name) {
            errors.invalid_value(&gate, name, message);
        }
        if !seen.insert(name) {
            errors.duplicate(&gate, name);
        }
    }
}

fn host_users(errors: &mut Errors, pod: &Pod) {
    if pod.shares_host_users() {
        return;
    }
    for (field, name) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if pod.spec.at(field).is_true() {
            errors.forbidden(&pod.spec.at(name), "when `hostUsers` is false");
        }
    }
    for container in pod.containers().filter(|container| !container.at("volumeDevices").is_empty()) {
        errors.forbidden(&container.at("volumeDevices"), "when `hostUsers` is false");
    }
}

fn names_of_the_host(errors: &mut Errors, spec: &Node) {
    let name = spec.at("hostnameOverride");
    if name.exists() {
        for other in ["setHostnameAsFQDN", "hostNetwork"].into_iter().filter(|other| spec.at(other).is_true()) {
            errors.forbidden(&name, format!("may not be specified when {other} is true"));
        }
        if name.len() > HOSTNAME_BYTES_MAX {
            errors.too_long(&name, HOSTNAME_BYTES_MAX);
        }
        errors.refuse(&name, names::dns1123_subdomain(name.text()));
    }
    let account = spec.at("serviceAccountName");
    if !account.is_empty() {
        errors.refuse(&account, names::dns1123_subdomain(account.text()));
    }
    let twin = spec.at("serviceAccount");
    if twin.text() != account.text() {
        let detail = format!("must be the same as serviceAccountName: {:?}", account.text());
        errors.invalid_value(&twin.called("deprecatedServiceAccount"), twin.text(), detail);
    }
    if !spec.at("nodeName").is_empty() {
        errors.refuse(&spec.at("nodeName"), names::dns1123_subdomain(spec.at("nodeName").text()));
    }
    let deadline = spec.at("activeDeadlineSeconds");
    if deadline.exists() {
        for message in names::between(deadline.int(), 1, i64::from(i32::MAX)) {
            errors.invalid(&deadline, message);
        }
    }
    for name in ["hostname", "subdomain"].map(|name| spec.at(name)).iter().filter(|name| !name.is_empty()) {
        errors.refuse(name, names::dns1123_label(name.text()));
    }
}

fn references(errors: &mut Errors, spec: &Node) {
    placement::tolerations(errors, &spec.at("tolerations"));
    for alias in spec.at("hostAliases").items() {
        net::check_address(errors, &alias.at("ip"), &HashSet::new());
        for name in alias.at("hostnames").items() {
            errors.refuse(&name, names::dns1123_subdomain(name.text()));
        }
    }
    let (priority, runtime) = (spec.at("priorityClassName"), spec.at("runtimeClassName"));
    if !priority.is_empty() {
        errors.refuse(&priority, names::dns1123_subdomain(priority.text()));
    }
    if runtime.exists() {
        errors.refuse(&runtime, names::dns1123_subdomain(runtime.text()));
    }
    if spec.at("preemptionPolicy").exists() {
        errors.one_of(&spec.at("preemptionPolicy"), &["PreemptLowerPriority", "Never"]);
    }
    if spec.at("overhead").exists() {
        resources::overhead(errors, &spec.at("overhead"));
    }
    let os = spec.at("os");
    if os.exists() {
        security::operating_system(errors, spec, &os);
    }
}
