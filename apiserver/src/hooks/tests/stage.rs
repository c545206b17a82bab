//! A request in one line, hooks in another, and what came of it.

use crate::ambient::Ambient;
use crate::auth::User;
use crate::catalog::Catalog;
use crate::error::ApiError;
use crate::hooks::call::{CallError, CallWebhook};
use crate::hooks::{Again, Ask, Changed, Conditions, Endpoint, Hooks, Later, Operation, Told, Unevaluated};
use crate::object::Object;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use expression::kubernetes::{Attributes, Authorizer, Decision};
use openapi::scalar::time::Instant;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What a hook at a path answers to a review.
pub(crate) type Script = fn(&str, &Value) -> Result<Value, CallError>;

/// A request, and the world that it meets.
pub(crate) struct Scene {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) operation: Operation,
    pub(crate) resource: (String, String, String),
    pub(crate) subresource: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
    pub(crate) object: Option<Value>,
    pub(crate) old: Option<Value>,
    pub(crate) options: Value,
    pub(crate) dry_run: bool,
    pub(crate) script: Script,
    pub(crate) conditions: Box<dyn Conditions>,
    pub(crate) readmit: fn(&mut Object) -> Result<(), ApiError>,
}

/// What came of it: whom the hooks were, in the order in which they were asked, and what they were sent.
pub(crate) struct Played<T> {
    pub(crate) asked: Vec<String>,
    pub(crate) reviews: Vec<Value>,
    pub(crate) result: Result<T, ApiError>,
}

impl<T> Played<T> {
    /// Code and message of a refusal.
    #[track_caller]
    pub(crate) fn refused(self) -> (u16, String) {
        let Err(error) = self.result else { panic!("it was not refused") };
        (error.code(), error.message().to_owned())
    }
}

/// `CREATE apps/v1/deployments/scale n/web`: operation, resource, subresource, namespace and name.
pub(crate) fn scene(line: &str) -> Scene {
    scene_in(Arc::new(Catalog::builtin()), line)
}

/// The same where other resources are served as well.
pub(crate) fn scene_in(catalog: Arc<Catalog>, line: &str) -> Scene {
    let words: Vec<&str> = line.split(' ').collect();
    let operation = match words[0] {
        "CREATE" => Operation::Create,
        "UPDATE" => Operation::Update,
        "DELETE" => Operation::Delete,
        _ => Operation::Connect,
    };
    let mut parts: Vec<&str> = words[1].split('/').collect();
    if parts[0] == "v1" {
        parts.insert(0, "");
    }
    let (namespace, name) = match words[2].split_once('/') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name.to_owned()),
        None => (None, words[2].to_owned()),
    };
    let resource = catalog.find(parts[0], parts[1], parts[2]).unwrap_or_else(|| panic!("{line}: no such resource"));
    let mut object = json!({
        "apiVersion": resource.api_version(), "kind": resource.kind, "metadata": { "name": name, "labels": { "a": "1" } },
    });
    if let Some(namespace) = &namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    let (makes, goes) = (operation == Operation::Create, operation == Operation::Delete);
    Scene {
        catalog: catalog.clone(),
        operation,
        resource: (parts[0].to_owned(), parts[1].to_owned(), parts[2].to_owned()),
        subresource: parts.get(3).copied().unwrap_or_default().to_owned(),
        namespace,
        name,
        old: (!makes).then(|| object.clone()),
        object: (!goes).then_some(object),
        options: json!({ "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" }),
        dry_run: false,
        script: by_path,
        conditions: Box::new(Unevaluated),
        readmit: |_| Ok(()),
    }
}

impl Scene {
    pub(crate) async fn mutate(&self, hooks: &[Value]) -> Played<Changed> {
        self.mutate_by(&configurations(hooks)).await
    }

    pub(crate) async fn mutate_by(&self, configurations: &[Object]) -> Played<Changed> {
        let (caller, object) = (Caller::new(self.script), self.object.clone().map(object));
        let hooks = Hooks::compile(configurations, &[], &*self.conditions);
        let result = self.play(&caller, async |ask| mutated(&hooks, ask, object).await).await;
        caller.played(result)
    }

    pub(crate) async fn validate(&self, hooks: &[Value]) -> Played<Told> {
        let (caller, object) = (Caller::new(self.script), self.object.clone().map(object));
        let hooks = Hooks::compile(&[], &configurations(hooks), &*self.conditions);
        let result = self.play(&caller, async |ask| hooks.validate(ask, object.as_ref()).await).await;
        caller.played(result)
    }

    pub(crate) async fn play<T>(&self, caller: &dyn CallWebhook, work: impl AsyncFnOnce(&Ask<'_>) -> T) -> T {
        let catalog = &*self.catalog;
        let (group, version, plural) = &self.resource;
        let count = AtomicU64::new(1);
        let ambient = Ambient::new(
            || Instant { seconds: 0, nanos: 0 },
            move || u128::from(count.fetch_add(1, Ordering::Relaxed)),
        );
        let user = User { uid: "7".to_owned(), ..User::authenticated("ann", vec!["dev".to_owned()]) };
        let old = self.old.clone().map(object);
        let labels = |namespace: &str| match namespace {
            "gone" => Err(ApiError::not_found(catalog.find("", "v1", "namespaces").unwrap(), "gone")),
            "broken" => Err(ApiError::unavailable("no store")),
            other => Ok(json!({ "in": other }).as_object().cloned().unwrap_or_default()),
        };
        let ask = Ask {
            resource: catalog.find(group, version, plural).unwrap(),
            subresource: &self.subresource,
            namespace: self.namespace.as_deref(),
            name: &self.name,
            operation: self.operation,
            old: old.as_ref(),
            options: &self.options,
            user: &user,
            dry_run: self.dry_run,
            deadline: None,
            ambient: &ambient,
            namespace_labels: &labels,
            versions: catalog,
            readmit: Some(&self.readmit),
            caller,
            answering: &|_| Arc::new(Never),
        };
        work(&ask).await
    }
}

/// Nobody may do anything.
#[derive(Debug)]
struct Never;

impl Authorizer for Never {
    fn authorize(&self, _: &Attributes) -> Decision {
        Decision::default()
    }
}

pub(crate) fn object(tree: Value) -> Object {
    Object::try_from(tree).unwrap()
}

/// A webhook that wants everything and is found at `https://hook/<path>`, where its author says nothing else.
pub(crate) fn hook(path: &str, more: Value) -> Value {
    let mut hook = json!({
        "name": format!("{path}.example.com"),
        "clientConfig": { "url": format!("https://hook/{path}") },
        "rules": [{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "scope": "*" }],
        "failurePolicy": "Fail", "matchPolicy": "Equivalent", "sideEffects": "None", "timeoutSeconds": 10,
        "namespaceSelector": {}, "objectSelector": {}, "admissionReviewVersions": ["v1"],
        "reinvocationPolicy": "Never",
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        hook[field] = value.clone();
    }
    hook
}

/// Each webhook in a configuration of its own, in the order in which they are given.
fn configurations(hooks: &[Value]) -> Vec<Object> {
    let of =
        |(nth, hook): (usize, &Value)| object(json!({ "metadata": { "name": format!("c{nth}") }, "webhooks": [hook] }));
    // The order in which they are handed in does not matter.
    hooks.iter().enumerate().map(of).rev().collect()
}

type Answering = dyn Fn(&str, &Value) -> Result<Value, CallError> + Send + Sync;

/// Answers by a script, and remembers the questions.
pub(crate) struct Caller {
    script: Box<Answering>,
    asked: Mutex<Vec<(String, Value)>>,
}

impl Caller {
    pub(crate) fn new(script: impl Fn(&str, &Value) -> Result<Value, CallError> + Send + Sync + 'static) -> Self {
        Self { script: Box::new(script), asked: Mutex::default() }
    }

    fn played<T>(self, result: Result<T, ApiError>) -> Played<T> {
        let (asked, reviews) = self.asked.into_inner().into_iter().unzip();
        Played { asked, reviews, result }
    }
}

impl CallWebhook for Caller {
    fn call<'a>(&'a self, to: &'a Endpoint, body: Bytes, _: Duration) -> Later<'a, Result<Value, CallError>> {
        let review: Value = serde_json::from_slice(&body).unwrap();
        let path = to.path.trim_start_matches('/').to_owned();
        let answer = (self.script)(&path, &review);
        self.asked.lock().push((path, review));
        Box::pin(std::future::ready(answer))
    }
}

/// What hooks make of an object when nobody else changes it.
pub(crate) async fn mutated(hooks: &Hooks, ask: &Ask<'_>, object: Option<Object>) -> Result<Changed, ApiError> {
    let mut again = Again::default();
    let first = hooks.round(ask, object, &mut again).await?;
    if !first.was_changed {
        return Ok(first);
    }
    let mut object = first.object.unwrap();
    ask.readmit.unwrap()(&mut object)?;
    let second = hooks.round(ask, Some(object), &mut again).await;
    let mut second = second.map_err(|error| error.with_warnings(first.told.warnings.clone()))?;
    let told = std::mem::replace(&mut second.told, first.told);
    second.told.add(told);
    Ok(Changed { was_changed: true, ..second })
}

/// An answer that belongs to the review.
pub(crate) fn answer(review: &Value, mut response: Value) -> Value {
    response["uid"] = review["request"]["uid"].clone();
    json!({ "kind": "AdmissionReview", "apiVersion": review["apiVersion"], "response": response })
}

pub(crate) fn patch(review: &Value, operations: Value) -> Value {
    let patch = STANDARD.encode(operations.to_string());
    answer(review, json!({ "allowed": true, "patchType": "JSONPatch", "patch": patch }))
}

/// Paths that say what is answered.
pub(crate) fn by_path(path: &str, review: &Value) -> Result<Value, CallError> {
    Ok(match path.split_once('-').unwrap_or((path, "")) {
        ("allow", _) => answer(review, json!({ "allowed": true })),
        ("deny", "") => answer(review, json!({ "allowed": false })),
        ("deny", why) => answer(review, json!({ "allowed": false, "status": { "code": 403, "message": why } })),
        ("warn", text) => answer(review, json!({ "allowed": true, "warnings": [text, ""] })),
        ("warned", text) => answer(review, json!({ "allowed": false, "warnings": [text] })),
        ("label", name) => {
            let operation = json!({ "op": "add", "path": format!("/metadata/labels/{name}"), "value": "yes" });
            patch(review, json!([operation]))
        }
        ("unlabel", name) => patch(review, json!([{ "op": "remove", "path": format!("/metadata/labels/{name}") }])),
        ("nothing", _) => patch(review, json!([])),
        ("same", _) => patch(review, json!([{ "op": "replace", "path": "/metadata/labels/a", "value": "1" }])),
        ("broken", _) => return Err(CallError::Failed("it is broken".to_owned())),
        _ => return Err(CallError::Unprepared(format!("nobody is at {path}"))),
    })
}
