//! `ServiceAccount`: every pod has an account that exists, and its containers find a token of it.

use super::Attempt;
use crate::error::ApiError;
use crate::object::{Object, list};
use serde_json::{Value, json};

const DEFAULT: &str = "default";
const VOLUME_PREFIX: &str = "kube-api-access-";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// An hour, and seven seconds by which a token of this origin is told from others.
const TOKEN_SECS: i64 = 3607;
const MIRROR: &str = "kubernetes.io/config.mirror";
const ENFORCED: &str = "kubernetes.io/enforce-mountable-secrets";
const CONTAINERS: [&str; 2] = ["initContainers", "containers"];

pub(super) fn give_account(pod: &mut Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    if !attempt.makes("", "pods") {
        return Ok(());
    }
    if pod.annotation(MIRROR).is_some() {
        return check_mirror(pod, attempt);
    }
    if pod.text(&["spec", "serviceAccountName"]).is_empty() {
        let spec = pod.spec_mut();
        spec.insert("serviceAccountName".to_owned(), DEFAULT.into());
        spec.insert("serviceAccount".to_owned(), DEFAULT.into());
    }
    let account = account_of(pod, attempt)?;
    let wanted = |object: &Object, path: &[&str]| object.pointer(path).and_then(Value::as_bool);
    let own = wanted(pod, &["spec", "automountServiceAccountToken"]);
    if own.or_else(|| wanted(&account, &["automountServiceAccountToken"])).unwrap_or(true) {
        mount_token(pod, attempt);
    }
    if pod.items(&["spec", "imagePullSecrets"]).next().is_none() {
        let names = account.items(&["imagePullSecrets"]).map(|secret| json!({ "name": secret["name"] })).collect();
        pod.spec_mut().insert("imagePullSecrets".to_owned(), Value::Array(names));
    }
    Ok(())
}

fn account_of(pod: &Object, attempt: &Attempt<'_>) -> Result<Object, ApiError> {
    let (namespace, name) = (pod.namespace(), pod.text(&["spec", "serviceAccountName"]));
    attempt.look.one(("", "serviceaccounts"), namespace, name)?.ok_or_else(|| {
        let why = format!("error looking up service account {namespace}/{name}: serviceaccount {name:?} not found");
        attempt.forbidden(pod, &why)
    })
}

/// What a node runs by itself is no user of the API.
fn check_mirror(pod: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    if !pod.text(&["spec", "serviceAccountName"]).is_empty() {
        return Err(attempt.forbidden(pod, "a mirror pod may not reference service accounts"));
    }
    let volumes = || pod.items(&["spec", "volumes"]);
    if volumes().any(|volume| volume.get("secret").is_some()) || secrets_of_containers(pod).next().is_some() {
        return Err(attempt.forbidden(pod, "a mirror pod may not reference secrets"));
    }
    let mut sources = volumes().filter_map(|volume| volume.pointer("/projected/sources")?.as_array()).flatten();
    if sources.any(|source| source.get("serviceAccountToken").is_some()) {
        return Err(attempt.forbidden(pod, "a mirror pod may not use ServiceAccountToken volume projections"));
    }
    Ok(())
}

fn mount_token(pod: &mut Object, attempt: &Attempt<'_>) {
    let names = pod.items(&["spec", "volumes"]).filter_map(|volume| volume["name"].as_str());
    let present = names.into_iter().find(|name| name.starts_with(VOLUME_PREFIX)).map(str::to_owned);
    let volume = present.clone().unwrap_or_else(|| VOLUME_PREFIX.to_owned() + &attempt.ambient.suffix());
    let mount = json!({ "name": volume, "readOnly": true, "mountPath": MOUNT_PATH });
    let spec = pod.spec_mut();
    let mut needed = false;
    for containers in CONTAINERS {
        let Some(Value::Array(containers)) = spec.get_mut(containers) else { continue };
        for container in containers.iter_mut().filter_map(Value::as_object_mut) {
            let mounts = list(container, "volumeMounts");
            if mounts.iter().all(|mount| mount["mountPath"] != MOUNT_PATH) {
                mounts.push(mount.clone());
                needed = true;
            }
        }
    }
    if needed && present.is_none() {
        list(spec, "volumes").push(json!({ "name": volume, "projected": token_volume() }));
    }
}

fn token_volume() -> Value {
    let namespace =
        json!({ "path": "namespace", "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.namespace" } });
    json!({
        "defaultMode": 0o644,
        "sources": [
            { "serviceAccountToken": { "path": "token", "expirationSeconds": TOKEN_SECS } },
            { "configMap": { "name": "kube-root-ca.crt", "items": [{ "key": "ca.crt", "path": "ca.crt" }] } },
            { "downwardAPI": { "items": [namespace] } },
        ],
    })
}

/// An account may be marked so that its pods use no secret that it does not list.
pub(super) fn check_secrets(pod: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    if !attempt.makes("", "pods") || pod.annotation(MIRROR).is_some() {
        return Ok(());
    }
    let account = account_of(pod, attempt)?;
    let enforced = matches!(account.annotation(ENFORCED), Some("1" | "t" | "T" | "true" | "TRUE" | "True"));
    if !enforced {
        return Ok(());
    }
    let name = account.name();
    let listed = |list: &str, secret: &str| account.items(&[list]).any(|item| item["name"] == secret);
    for volume in pod.items(&["spec", "volumes"]) {
        let secret = volume.pointer("/secret/secretName").and_then(Value::as_str);
        if let Some(secret) = secret.filter(|secret| !listed("secrets", secret)) {
            let why = format!(
                "volume with secret.secretName={secret:?} is not allowed because service account {name} does not \
                 reference that secret"
            );
            return Err(attempt.forbidden(pod, &why));
        }
    }
    if let Some((user, secret)) = secrets_of_containers(pod).find(|(_, secret)| !listed("secrets", secret)) {
        let why = format!(
            "{user} referencing secret.secretName={secret:?} is not allowed because service account {name} does not \
             reference that secret"
        );
        return Err(attempt.forbidden(pod, &why));
    }
    for (at, secret) in pod.items(&["spec", "imagePullSecrets"]).enumerate() {
        let secret = secret["name"].as_str().unwrap_or_default();
        if !listed("imagePullSecrets", secret) {
            let why = format!(
                "imagePullSecrets[{at}].name={secret:?} is not allowed because service account {name} does not \
                 reference that imagePullSecret"
            );
            return Err(attempt.forbidden(pod, &why));
        }
    }
    Ok(())
}

/// Who uses a secret for its environment, and which.
fn secrets_of_containers(pod: &Object) -> impl Iterator<Item = (String, &str)> {
    let named = [("init container", "initContainers"), ("container", "containers")].into_iter();
    let containers = named.flat_map(|(kind, list)| pod.items(&["spec", list]).map(move |item| (kind, item)));
    containers.flat_map(|(kind, container)| {
        let name = container["name"].as_str().unwrap_or_default();
        let items = |list: &str| container.get(list).and_then(Value::as_array).into_iter().flatten();
        let variables = items("env").filter_map(move |variable| {
            let secret = variable.pointer("/valueFrom/secretKeyRef/name")?.as_str()?;
            let variable = variable["name"].as_str().unwrap_or_default();
            Some((format!("{kind} {name} with envVar {variable}"), secret))
        });
        let sources = items("envFrom").filter_map(move |source| {
            Some((format!("{kind} {name} with envFrom"), source.pointer("/secretRef/name")?.as_str()?))
        });
        variables.chain(sources)
    })
}
