//! Objects, and what a Kubernetes API server says about them. The texts of pods, services and ingresses are compared with
//! a real one by `make differential`.

use super::{WARNINGS_MAX, warnings};
use serde_json::{Value, json};

fn check(object: Value, expected: &[&str]) {
    assert_eq!(warnings(&object, None), expected, "{object}");
}

fn pod(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
}

fn ports(ports: Value) -> Value {
    pod(json!({"containers": [{"name": "c", "ports": ports}]}))
}

#[test]
fn a_variable_that_is_set_again_hides_the_first_unless_it_goes_on_with_it() {
    let env = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}, {"name": "A", "value": "$(A)3"}]);
    let hides = "spec.containers[0].env[1]: hides previous definition of \"A\", which may be dropped when using apply";
    check(pod(json!({"containers": [{"name": "c", "env": env}]})), &[hides]);
}

#[test]
fn ports_get_in_each_others_way_as_far_as_they_are_bound_to_the_same() {
    let port = |host: i64, ip: &str| json!({"containerPort": 80, "protocol": "TCP", "hostPort": host, "hostIP": ip});
    let at = |how: &str| format!("spec.containers[0].ports[1]: {how} port definition with spec.containers[0].ports[0]");
    check(ports(json!([port(0, ""), port(0, "")])), &[&at("duplicate")]);
    check(ports(json!([port(0, ""), port(7, "")])), &[&at("overlapping")]);
    check(ports(json!([port(7, ""), port(7, "192.0.2.1")])), &[&at("dangerously ambiguous")]);
    check(ports(json!([port(7, ""), port(8, "")])), &[]);
    check(ports(json!([port(7, "192.0.2.1"), port(7, "192.0.2.2")])), &[]);
}

#[test]
fn a_port_of_a_host_without_a_number_is_shown_as_go_would() {
    let shown = "{Name:a HostPort:0 ContainerPort:80 Protocol:TCP HostIP:192.0.2.1}";
    let port = json!([{"name": "a", "containerPort": 80, "protocol": "TCP", "hostIP": "192.0.2.1"}]);
    check(ports(port), &[&format!("spec.containers[0].ports[0]: hostIP set without hostPort: {shown}")]);
}

#[test]
fn many_ports_take_no_time_and_many_warnings_no_room() {
    let port = |host: usize| json!({"containerPort": 80, "protocol": "TCP", "hostPort": host, "hostIP": ""});
    check(ports((1..30_000).map(port).collect()), &[]);
    let same = ports((0..30_000).map(|_| port(0)).collect());
    assert_eq!(warnings(&same, None).len(), WARNINGS_MAX);
}

#[test]
fn files_of_one_volume_overlap_by_name_or_as_folders() {
    let items = json!([{"key": "a", "path": "p"}, {"key": "b", "path": "p/q"}, {"key": "c", "path": "pq"}]);
    let volumes = json!([{"name": "v", "configMap": {"name": "m", "items": items}}]);
    let text = "volume \"v\" (ConfigMap \"m\"): overlapping paths: \"p/q\" with \"p\"";
    check(pod(json!({"volumes": volumes, "containers": []})), &[text]);
    let token = json!({"serviceAccountToken": {"path": "t/"}});
    let secret = json!({"secret": {"name": "s", "items": [{"key": "a", "path": "t"}]}});
    let volumes = json!([{"name": "v", "projected": {"sources": [token, secret, {}]}}]);
    let empty = "volume \"v\" (Projected) has no sources provided";
    let text = "volume \"v\" (Projected): overlapping paths: \"t\" (Secret \"s\") with \"t\" (ServiceAccountToken)";
    check(pod(json!({"volumes": volumes, "containers": []})), &[empty, text]);
}

#[test]
fn templates_are_looked_at_when_something_else_is_asked_for() {
    let set = |generation: i64| {
        let spec = json!({"topologySpreadConstraints": [{"topologyKey": "k"}], "containers": []});
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "generation": generation},
               "spec": {"template": {"spec": spec}}})
    };
    let text = "spec.template.spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching \
                no pod";
    check(set(1), &[text]);
    assert_eq!(warnings(&set(2), Some(&set(1))), [text]);
    assert_eq!(warnings(&set(1), Some(&set(1))), [""; 0]);
}

#[test]
fn addresses_should_be_written_as_everybody_reads_them() {
    let service = |ip: &str, range: &str| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {
            "type": "LoadBalancer", "loadBalancerIP": ip, "loadBalancerSourceRanges": [range]}})
    };
    check(service("192.0.2.1", "192.0.2.0/24"), &[]);
    check(
        service("192.0.2.010", "192.0.2.7/24"),
        &[
            "spec.loadBalancerIP: non-standard IP address \"192.0.2.010\" is invalid: use \"192.0.2.10\"",
            "spec.loadBalancerSourceRanges[0]: CIDR value \"192.0.2.7/24\" is ambiguous in this context (should be \
             \"192.0.2.0/24\" or \"192.0.2.7/32\"?)",
        ],
    );
    check(
        service("2001:DB8::1", "2001:db8:0::/64"),
        &[
            "spec.loadBalancerIP: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")",
            "spec.loadBalancerSourceRanges[0]: IPv6 CIDR value \"2001:db8:0::/64\" should be in RFC 5952 canonical format \
             (\"2001:db8::/64\")",
        ],
    );
    check(service("", "0.0.0.0/0"), &[]);
    check(service("", "::/0"), &[]);
}

#[test]
fn services_say_what_means_nothing_for_them() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {
        "type": "ClusterIP", "clusterIP": "None", "externalIPs": ["192.0.2.1"], "sessionAffinity": "ClientIP",
        "externalName": "x", "trafficDistribution": "PreferClose"}});
    check(
        service,
        &[
            "spec.externalIPs is ignored for headless services",
            "spec.SessionAffinity is ignored for headless services",
            "spec.externalName is ignored when spec.type is not \"ExternalName\"",
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
        ],
    );
}

#[test]
fn claims_and_volumes_are_told_what_has_had_its_time() {
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
        "spec": {"resources": {"requests": {"storage": "1500m"}}}});
    let text = "spec.resources.requests[storage]: fractional byte value \"1500m\" is invalid, must be an integer";
    check(claim, &[text]);
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"},
        "spec": {"storageos": {}, "persistentVolumeReclaimPolicy": "Recycle"}});
    check(
        volume,
        &[
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended \
             approach is to use dynamic provisioning.",
            "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
        ],
    );
}

#[test]
fn a_name_that_is_no_label_makes_no_good_hostname() {
    let named = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a.b"}, "spec": {}});
    let text = "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is \
                recommended: [must not contain dots]";
    check(named, &[text]);
}
