//! What a server or its controllers put into an object, and what would be wrong in another server.

use crate::apis;
use crate::apis::Kind;
use serde_json::Value;

/// What every server writes for itself.
const OF_THE_SERVER: [&str; 10] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "uid",
];

/// Leaves what the author of the object said.
pub fn strip(object: &mut Value) {
    // Only the server's notes tell a port that somebody asked for from one that it gave out itself.
    if Kind::of(object).name() == ("", "Service") {
        node_ports(object);
    }
    strip_server(object);
    apis::remove(object, &["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"]);
    match Kind::of(object).name() {
        ("", "Service") => service(object),
        ("", "ServiceAccount") => service_account(object),
        ("", "Secret") => secret(object),
        ("", "PersistentVolumeClaim") => claim(object),
        ("", "PersistentVolume") => drop_all(object, &[&["spec", "claimRef"]]),
        ("", "Namespace") => drop_all(object, &[&["spec"]]),
        ("", "Pod") => drop_all(object, &[&["spec", "nodeName"]]),
        ("apps", "Deployment") => deployment(object),
        ("batch", "Job") => job(object),
        _ => {}
    }
    drop_if_empty(object, &["metadata", "annotations"]);
    drop_if_empty(object, &["metadata", "labels"]);
}

/// Takes away what every server writes for itself, whatever the kind.
pub fn strip_server(object: &mut Value) {
    for field in OF_THE_SERVER {
        apis::remove(object, &["metadata", field]);
    }
    apis::remove(object, &["metadata", "selfLink"]);
    apis::remove(object, &["status"]);
}

fn drop_all(object: &mut Value, places: &[&[&str]]) {
    for place in places {
        apis::remove(object, place);
    }
}

fn drop_if_empty(object: &mut Value, place: &[&str]) {
    if apis::map(object, place).is_some_and(serde_json::Map::is_empty) {
        apis::remove(object, place);
    }
}

/// Addresses and ports are given out by each cell; `None` is a wish, not an address.
fn service(object: &mut Value) {
    if apis::text(object, &["spec", "clusterIP"]) != Some("None") {
        drop_all(object, &[&["spec", "clusterIP"], &["spec", "clusterIPs"]]);
    }
    drop_all(object, &[&["spec", "healthCheckNodePort"]]);
}

/// Leaves those that somebody asked for.
fn node_ports(object: &mut Value) {
    let notes = apis::list(object, &["metadata", "managedFields"]);
    let noted: Vec<Value> = notes.iter().filter_map(|note| note.pointer("/fieldsV1/f:spec/f:ports").cloned()).collect();
    let ports = object.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
        let number = port.get("port").and_then(Value::as_i64).unwrap_or_default();
        let key = format!(r#"k:{{"port":{number},"protocol":"{protocol}"}}"#);
        let asked_for = |ports: &Value| ports.get(&key).is_some_and(|port| port.get("f:nodePort").is_some());
        if !noted.iter().any(asked_for) {
            port.remove("nodePort");
        }
    }
}

fn service_account(object: &mut Value) {
    let token = format!("{}-token-", apis::text(object, &["metadata", "name"]).unwrap_or_default());
    let Some(secrets) = object.get_mut("secrets").and_then(Value::as_array_mut) else { return };
    secrets.retain(|secret| !apis::text(secret, &["name"]).unwrap_or_default().starts_with(&token));
    if secrets.is_empty() {
        apis::remove(object, &["secrets"]);
    }
}

fn secret(object: &mut Value) {
    if apis::text(object, &["type"]) == Some("kubernetes.io/service-account-token") {
        drop_all(object, &[&["data"], &["metadata", "annotations", "kubernetes.io/service-account.uid"]]);
    }
}

/// What binds a claim to a volume and a node of one cell.
const OF_A_BINDING: [&str; 5] = [
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/selected-node",
    "volume.kubernetes.io/storage-provisioner",
];

fn claim(object: &mut Value) {
    apis::remove(object, &["spec", "volumeName"]);
    for annotation in OF_A_BINDING {
        apis::remove(object, &["metadata", "annotations", annotation]);
    }
}

fn deployment(object: &mut Value) {
    for annotation in ["deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"] {
        apis::remove(object, &["metadata", "annotations", annotation]);
    }
}

/// The labels by which a server's controllers know the pods of a job.
const OF_A_JOB: [&str; 4] =
    ["batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"];

fn job(object: &mut Value) {
    // A job that a cell removes when it is done would be made again and run again.
    apis::remove(object, &["spec", "ttlSecondsAfterFinished"]);
    if object.pointer("/spec/manualSelector").and_then(Value::as_bool) == Some(true) {
        return;
    }
    apis::remove(object, &["spec", "selector"]);
    for label in OF_A_JOB {
        apis::remove(object, &["spec", "template", "metadata", "labels", label]);
    }
    drop_if_empty(object, &["spec", "template", "metadata", "labels"]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(mut object: Value, expect: Value) {
        strip(&mut object);
        assert_eq!(object, expect);
    }

    #[test]
    fn what_a_server_wrote_does_not_travel() {
        let full = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}, "status": {"x": 1}, "metadata": {
            "name": "c", "namespace": "n", "uid": "u", "resourceVersion": "9", "generation": 3, "finalizers": ["f"],
            "creationTimestamp": "t", "managedFields": [{}], "ownerReferences": [{}], "labels": {"l": "1"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}});
        let lean = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
            "metadata": {"name": "c", "namespace": "n", "labels": {"l": "1"}}});
        check(full, lean);
    }

    #[test]
    fn what_a_cell_gives_out_does_not_travel() {
        let service = |spec: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": spec});
        check(
            service(json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "healthCheckNodePort": 3,
                "ports": [{"port": 80, "nodePort": 30080}]})),
            service(json!({"ports": [{"port": 80}]})),
        );
        check(service(json!({"clusterIP": "None"})), service(json!({"clusterIP": "None"})));
        let ports = json!([{"port": 80, "nodePort": 30080}, {"port": 81, "protocol": "UDP", "nodePort": 30081}]);
        let mut noted = service(json!({"ports": ports}));
        let fields = json!({"f:spec": {"f:ports": {r#"k:{"port":80,"protocol":"TCP"}"#: {"f:port": {}},
            r#"k:{"port":81,"protocol":"UDP"}"#: {"f:nodePort": {}}}}});
        noted["metadata"]["managedFields"] = json!([{"manager": "kubectl", "fieldsV1": fields}]);
        let asked_for = json!([{"port": 80}, {"port": 81, "protocol": "UDP", "nodePort": 30081}]);
        check(noted, service(json!({"ports": asked_for})));
        let claim = |spec: Value, annotations: Value| json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": annotations, "spec": spec});
        check(
            claim(json!({"volumeName": "pv"}), json!({"annotations": {"volume.kubernetes.io/selected-node": "n1"}})),
            claim(json!({}), json!({})),
        );
        check(
            json!({"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "a"},
                "secrets": [{"name": "a-token-x"}, {"name": "mine"}]}),
            json!({"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "a"}, "secrets": [{"name": "mine"}]}),
        );
    }

    #[test]
    fn a_job_is_known_by_labels_of_its_cell_unless_it_brings_its_own() {
        let job = |spec: Value| json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": spec});
        let labels = json!({"metadata": {"labels": {"controller-uid": "u", "job-name": "j", "app": "a"}}});
        let selector = json!({"matchLabels": {"controller-uid": "u"}});
        check(
            job(json!({"selector": selector, "template": labels, "ttlSecondsAfterFinished": 5})),
            job(json!({"template": {"metadata": {"labels": {"app": "a"}}}})),
        );
        let own = json!({"manualSelector": true, "selector": selector, "template": labels});
        check(job(own.clone()), job(own));
    }
}
