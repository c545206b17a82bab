//! Policies in few words, and a workspace that they look at.

use crate::catalog::Catalog;
use crate::error::ApiError;
use crate::hooks::tests::stage::{Caller, Scene, by_path, object};
use crate::hooks::{Again, Ask, Changed, Told};
use crate::object::Object;
use crate::policy::{ParamKind, Policies, PolicyLook, PolicyObjects};
use crate::selector::LabelSelector;
use expression::kubernetes::{Attributes, Authorizer, Decision};
use futures_util::FutureExt;
use serde_json::{Value, json};
use std::sync::Arc;

/// Has the namespaces that hooks are told of, three ConfigMaps in `n` and one in `other`, and cluster-wide classes.
pub(super) struct Workspace;

fn settings(namespace: &str, name: &str, labels: Value, max: &str) -> Object {
    object(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": namespace, "labels": labels }, "data": { "max": max },
    }))
}

impl Workspace {
    fn all(kind: &ParamKind, namespace: Option<&str>) -> Vec<Object> {
        let all = match kind.kind.as_str() {
            "ConfigMap" => vec![
                settings("n", "low", json!({ "size": "small" }), "1"),
                settings("n", "lower", json!({ "size": "small" }), "0"),
                settings("n", "high", json!({}), "100"),
                settings("other", "low", json!({}), "50"),
            ],
            "PriorityClass" => vec![object(json!({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": "low" },
                "data": { "max": "1" },
            }))],
            _ => Vec::new(),
        };
        all.into_iter().filter(|one| one.namespace() == namespace.unwrap_or_default()).collect()
    }
}

impl PolicyLook for Workspace {
    fn namespace(&self, name: &str) -> Result<Object, ApiError> {
        match name {
            "gone" => Err(ApiError::not_found(Catalog::builtin().find("", "v1", "namespaces").unwrap(), "gone")),
            name => Ok(object(json!({
                "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": { "in": name } },
            }))),
        }
    }

    fn is_namespaced(&self, kind: &ParamKind) -> Option<bool> {
        Catalog::builtin().of_kind(&kind.api_version, &kind.kind).map(|resource| resource.namespaced)
    }

    fn param(&self, kind: &ParamKind, namespace: Option<&str>, name: &str) -> Result<Option<Object>, ApiError> {
        Ok(Self::all(kind, namespace).into_iter().find(|one| one.name() == name))
    }

    fn params(&self, kind: &ParamKind, within: Option<&str>, by: &LabelSelector) -> Result<Vec<Object>, ApiError> {
        Ok(Self::all(kind, within).into_iter().filter(|one| by.matches(one.labels())).collect())
    }
}

fn with(mut tree: Value, more: &Value) -> Value {
    for (field, value) in more.as_object().into_iter().flatten() {
        tree[field] = value.clone();
    }
    tree
}

/// Means everything, where its author says nothing else.
pub(super) fn everything() -> Value {
    json!({
        "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {},
        "resourceRules": [
            { "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*", "*/*"], "scope": "*" },
        ],
    })
}

/// A policy with a binding of its own, whose parts are under `binding`.
pub(super) fn policy(name: &str, spec: Value) -> Value {
    let base = json!({ "failurePolicy": "Fail", "matchConstraints": everything(), "reinvocationPolicy": "Never" });
    json!({ "metadata": { "name": name }, "spec": with(base, &spec) })
}

fn binding(policy: &Value) -> Value {
    let name = policy["metadata"]["name"].as_str().unwrap_or_default();
    let base = json!({ "policyName": name, "validationActions": ["Deny"] });
    json!({ "metadata": { "name": format!("{name}-binding") }, "spec": with(base, &policy["spec"]["binding"]) })
}

fn objects(trees: impl Iterator<Item = Value>) -> Vec<Object> {
    trees.map(object).collect()
}

pub(super) fn validating(policies: &[Value]) -> Policies {
    // The order in which they are handed in does not matter.
    let (policies, bindings) = (objects(policies.iter().rev().cloned()), objects(policies.iter().map(binding)));
    let sets = PolicyObjects { validating: &policies, validating_bindings: &bindings, ..PolicyObjects::default() };
    Policies::compile(&sets)
}

pub(super) fn mutating(policies: &[Value]) -> Policies {
    let (policies, bindings) = (objects(policies.iter().rev().cloned()), objects(policies.iter().map(binding)));
    let sets = PolicyObjects { mutating: &policies, mutating_bindings: &bindings, ..PolicyObjects::default() };
    Policies::compile(&sets)
}

/// Runs something that never waits on the request of a scene.
pub(super) fn play<T>(scene: &Scene, work: impl FnOnce(&Ask<'_>) -> T) -> T {
    scene.play(&Caller::new(by_path), async |ask| work(ask)).now_or_never().unwrap()
}

/// Users may do everything, service accounts nothing.
#[derive(Debug)]
struct Users;

impl Authorizer for Users {
    fn authorize(&self, attributes: &Attributes) -> Decision {
        Decision { allowed: attributes.service_account.is_none(), ..Decision::default() }
    }
}

pub(super) fn validate(scene: &Scene, policies: &[Value]) -> Result<Told, ApiError> {
    let (policies, seen) = (validating(policies), scene.object.clone().map(object));
    play(scene, |ask| policies.validate(&Ask { answering: &|_| Arc::new(Users), ..*ask }, &Workspace, seen.as_ref()))
}

pub(super) fn mutate(scene: &Scene, policies: &[Value]) -> Result<Changed, ApiError> {
    let (policies, seen) = (mutating(policies), object(scene.object.clone().unwrap()));
    play(scene, |ask| {
        let ask = &Ask { answering: &|_| Arc::new(Users), ..*ask };
        let mut again = Again::default();
        let first = policies.round(ask, &Workspace, seen, &mut again)?;
        if !first.was_changed {
            return Ok(first);
        }
        let mut object = first.object.unwrap();
        ask.readmit.unwrap()(&mut object)?;
        let second = policies.round(ask, &Workspace, object, &mut again)?;
        Ok(Changed { was_changed: true, ..second })
    })
}
