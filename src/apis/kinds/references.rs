//! What an object needs in the same cell: the configuration, secrets, volumes and accounts of its pods.

use crate::apis;
use crate::apis::Kind;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeSet;

/// Another object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    pub kind: Kind,
    pub name: String,
    /// `None` for the namespace of whoever refers to it.
    pub namespace: Option<String>,
}

impl Reference {
    fn core(kind: &str, name: &str) -> Self {
        Self { kind: Kind::new("v1", kind), name: name.to_owned(), namespace: None }
    }
}

/// In order, each once.
pub fn references(object: &Value) -> BTreeSet<Reference> {
    let mut found = BTreeSet::new();
    if let Some(template) = super::pod_template(object) {
        found = of_template(template);
    }
    match Kind::of(object).name() {
        ("networking.k8s.io", "Ingress") => {
            for tls in apis::list(object, &["spec", "tls"]) {
                add(&mut found, "Secret", apis::text(tls, &["secretName"]));
            }
        }
        ("multicluster.x-k8s.io", "ServiceImport") => {
            let name = apis::text(object, &["metadata", "name"]).unwrap_or_default();
            add(&mut found, "Service", Some(&format!("derived-{name}")));
        }
        // The claims of a stateful set are made in the cell.
        ("apps", "StatefulSet") => {
            let templates = apis::list(object, &["spec", "volumeClaimTemplates"]);
            let made = templates.iter().filter_map(|template| apis::text(template, &["metadata", "name"]));
            for name in made {
                found.remove(&Reference::core("PersistentVolumeClaim", name));
            }
        }
        _ => {}
    }
    found
}

/// What the pods of a template need.
pub fn of_template(template: &Value) -> BTreeSet<Reference> {
    let mut found = BTreeSet::new();
    of_pod(template.get("spec").unwrap_or(&Value::Null), &mut found);
    found
}

fn add(found: &mut BTreeSet<Reference>, kind: &str, name: Option<&str>) {
    found.extend(name.filter(|name| !name.is_empty()).map(|name| Reference::core(kind, name)));
}

fn of_pod(spec: &Value, found: &mut BTreeSet<Reference>) {
    // Every namespace has a default account of its own.
    add(found, "ServiceAccount", apis::text(spec, &["serviceAccountName"]).filter(|name| *name != "default"));
    for secret in apis::list(spec, &["imagePullSecrets"]) {
        add(found, "Secret", apis::text(secret, &["name"]));
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for container in apis::list(spec, &[list]) {
            of_container(container, found);
        }
    }
    for volume in apis::list(spec, &["volumes"]) {
        of_volume(volume, found);
    }
}

fn of_container(container: &Value, found: &mut BTreeSet<Reference>) {
    for source in apis::list(container, &["envFrom"]) {
        add(found, "ConfigMap", apis::text(source, &["configMapRef", "name"]));
        add(found, "Secret", apis::text(source, &["secretRef", "name"]));
    }
    for variable in apis::list(container, &["env"]) {
        add(found, "ConfigMap", apis::text(variable, &["valueFrom", "configMapKeyRef", "name"]));
        add(found, "Secret", apis::text(variable, &["valueFrom", "secretKeyRef", "name"]));
    }
}

/// Where the volumes of each sort name a secret.
const SECRETS: [&[&str]; 10] = [
    &["secret", "secretName"],
    &["azureFile", "secretName"],
    &["cephfs", "secretRef", "name"],
    &["cinder", "secretRef", "name"],
    &["csi", "nodePublishSecretRef", "name"],
    &["flexVolume", "secretRef", "name"],
    &["iscsi", "secretRef", "name"],
    &["rbd", "secretRef", "name"],
    &["scaleIO", "secretRef", "name"],
    &["storageos", "secretRef", "name"],
];

fn of_volume(volume: &Value, found: &mut BTreeSet<Reference>) {
    add(found, "ConfigMap", apis::text(volume, &["configMap", "name"]));
    add(found, "PersistentVolumeClaim", apis::text(volume, &["persistentVolumeClaim", "claimName"]));
    for place in SECRETS {
        add(found, "Secret", apis::text(volume, place));
    }
    for source in apis::list(volume, &["projected", "sources"]) {
        add(found, "ConfigMap", apis::text(source, &["configMap", "name"]));
        add(found, "Secret", apis::text(source, &["secret", "name"]));
    }
}

impl Reference {
    /// As Karmada writes it; `namespace` is that of whoever refers to it.
    pub fn to_value(&self, namespace: &str) -> Value {
        let namespace = self.namespace.as_deref().unwrap_or(namespace);
        json!({"apiVersion": self.kind.api_version, "kind": self.kind.kind, "namespace": namespace, "name": self.name})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(object: Value, expect: &[&str]) {
        let found: Vec<String> =
            references(&object).iter().map(|reference| format!("{}/{}", reference.kind.kind, reference.name)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn whatever_a_pod_mounts_reads_or_runs_as_is_found() {
        let pod = json!({
            "serviceAccountName": "robot",
            "imagePullSecrets": [{"name": "pull"}],
            "initContainers": [{"envFrom": [{"secretRef": {"name": "init"}}]}],
            "containers": [{"env": [
                {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "env", "key": "k"}}},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "env", "key": "k"}}}]}],
            "volumes": [{"configMap": {"name": "files"}}, {"secret": {"secretName": "keys"}},
                {"persistentVolumeClaim": {"claimName": "disk"}},
                {"projected": {"sources": [{"configMap": {"name": "both"}}, {"secret": {"name": "both"}}]}}]
        });
        let expect = [
            "ConfigMap/both",
            "ConfigMap/env",
            "ConfigMap/files",
            "PersistentVolumeClaim/disk",
            "Secret/both",
            "Secret/env",
            "Secret/init",
            "Secret/keys",
            "Secret/pull",
            "ServiceAccount/robot",
        ];
        for (api_version, kind) in [("apps/v1", "Deployment"), ("batch/v1", "Job"), ("apps/v1", "DaemonSet")] {
            check(json!({"apiVersion": api_version, "kind": kind, "spec": {"template": {"spec": pod}}}), &expect);
        }
        check(json!({"apiVersion": "v1", "kind": "Pod", "spec": pod}), &expect);
        let template = json!({"spec": {"template": {"spec": pod}}});
        check(json!({"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"jobTemplate": template}}), &expect);
    }

    #[test]
    fn what_every_namespace_has_or_the_cell_makes_is_not_needed() {
        let spec =
            json!({"serviceAccountName": "default", "volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]});
        let claims = json!([{"metadata": {"name": "data"}}]);
        check(
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
            "spec": {"volumeClaimTemplates": claims, "template": {"spec": spec}}}),
            &[],
        );
        check(json!({"apiVersion": "v1", "kind": "ConfigMap"}), &[]);
    }

    #[test]
    fn an_ingress_needs_its_certificates() {
        let spec = json!({"tls": [{"secretName": "cert"}], "rules": [{"host": "h"}]});
        check(json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": spec}), &["Secret/cert"]);
    }
}
