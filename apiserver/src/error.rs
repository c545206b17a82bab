//! What went wrong, as a client is told it: the one place where errors become a `Status`.

use crate::catalog::ResourceDef;
use crate::keyspace::Unnameable;
use crate::managed_fields::{self, Conflicts};
use crate::place::ObjectRef;
use openapi::FieldError;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt;
use storage::{BackendError, CommitError, ReadError, Revision};

/// A refusal. Everything of it is meant for the client; what is not is logged where it happened.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError(Box<Refusal>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Refusal {
    code: u16,
    reason: Cow<'static, str>,
    message: String,
    group: String,
    kind: String,
    name: String,
    uid: String,
    causes: Vec<Cause>,
    retry_after_secs: u32,
    /// Where an expired list goes on.
    resume: Option<String>,
    /// What its author should be told besides.
    warnings: Vec<String>,
    /// Nothing is known of what it is about, and its details say so by being empty.
    nameless: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Cause {
    reason: Cow<'static, str>,
    message: String,
    field: String,
}

impl ApiError {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self(Box::new(Refusal { code, reason: reason.into(), message: message.into(), ..Refusal::default() }))
    }

    fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        (self.0.group, self.0.kind, self.0.name) = (group.to_owned(), kind.to_owned(), name.to_owned());
        self
    }

    fn nameless(mut self) -> Self {
        self.0.nameless = true;
        self
    }

    fn because(mut self, reason: &'static str, message: impl Into<String>, field: &str) -> Self {
        self.0.causes.push(Cause { reason: reason.into(), message: message.into(), field: field.to_owned() });
        self
    }

    pub fn not_found(resource: &ResourceDef, name: &str) -> Self {
        let message = format!("{} {name:?} not found", resource.qualified());
        Self::new(404, "NotFound", message).about(&resource.group, &resource.plural, name)
    }

    /// Nothing is served at this path.
    pub fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").nameless()
    }

    pub fn already_exists(resource: &ResourceDef, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", resource.qualified());
        Self::new(409, "AlreadyExists", message).about(&resource.group, &resource.plural, name)
    }

    /// The same, when the object of that name is on its way out.
    pub fn while_deleted(mut self) -> Self {
        self.0.message = format!("object is being deleted: {}", self.0.message);
        self
    }

    /// The same, when the name was not its author's: another try may find a free one.
    pub fn after_generated_name(mut self) -> Self {
        self.0.message =
            format!("{}, the server was not able to generate a unique name for the object", self.0.message);
        self.0.retry_after_secs = 1;
        self
    }

    /// Others own what would change.
    pub fn apply_conflict(conflicts: &Conflicts) -> Self {
        let error = Self::new(409, "Conflict", &*conflicts.message);
        let told = |error: Self, cause: &managed_fields::Cause| {
            error.because("FieldManagerConflict", &*cause.message, &cause.field)
        };
        conflicts.causes.iter().fold(error, told)
    }

    /// An applied object that is not of its type. Kubernetes answers 500, though the client erred.
    pub fn untyped(message: impl Into<String>) -> Self {
        Self::new(422, "Invalid", message)
    }

    pub fn conflict(resource: &ResourceDef, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.qualified());
        Self::new(409, "Conflict", message).about(&resource.group, &resource.plural, name)
    }

    /// A pod that cannot be given a node.
    pub fn unbindable(name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on pods/binding {name:?}: {why}");
        Self::new(409, "Conflict", message).about("", "pods/binding", name)
    }

    /// Nobody can say what the object should look like.
    pub fn redefined() -> Self {
        Self::unavailable("the definition of the object changes all the time")
    }

    /// The object is not the one the client has seen.
    pub fn modified(at: &ObjectRef) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(at.resource(), &at.name, why)
    }

    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let mut told: Vec<String> = Vec::with_capacity(errors.len());
        for error in errors {
            let text = error.to_string();
            if !told.contains(&text) {
                told.push(text);
            }
        }
        let told = if let [one] = &*told { one.clone() } else { format!("[{}]", told.join(", ")) };
        let message = format!("{qualified} {name:?} is invalid: {told}");
        let error = Self::new(422, "Invalid", message).about(group, kind, name);
        errors.iter().fold(error, |told, error| told.because(error.wrong.reason(), error.body(), &error.field))
    }

    /// A patch that does not fit the object.
    pub fn unprocessable(resource: &ResourceDef, name: &str, why: &str) -> Self {
        let message = format!("the server rejected our request due to an error in our request: {why}");
        Self::new(422, "Invalid", message).about(&resource.group, &resource.plural, name)
    }

    /// What a patch has made of an object cannot be read. Nothing says of which kind it is.
    pub fn invalid_patch(shown: &str, why: String) -> Self {
        Self::invalid("", "", "", &[FieldError::invalid("patch", shown, why)])
    }

    /// Options of a request that do not go together.
    pub fn invalid_options(kind: &str, errors: &[FieldError]) -> Self {
        Self::invalid("meta.k8s.io", kind, "", errors)
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    pub fn unauthorized() -> Self {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    pub fn forbidden(resource: &ResourceDef, name: &str, why: &str) -> Self {
        let qualified = resource.qualified();
        let message = if name.is_empty() {
            format!("{qualified} is forbidden: {why}")
        } else {
            format!("{qualified} {name:?} is forbidden: {why}")
        };
        Self::new(403, "Forbidden", message).about(&resource.group, &resource.plural, name)
    }

    /// The user may not do it. Nothing is known of what it is about but what the request said.
    pub fn forbidden_request(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let qualified = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
        let message = match (&*qualified, name) {
            ("", "") => format!("forbidden: {why}"),
            (_, "") => format!("{qualified} is forbidden: {why}"),
            _ => format!("{qualified} {name:?} is forbidden: {why}"),
        };
        Self::new(403, "Forbidden", message).about(group, resource, name).nameless()
    }

    pub fn forbidden_path(path: &str, why: &str) -> Self {
        Self::new(403, "Forbidden", format!("forbidden: {why} path {path:?}"))
    }

    /// The same for a reason that clients know by its name.
    pub fn forbidden_because(resource: &ResourceDef, name: &str, why: &str, cause: &'static str) -> Self {
        Self::forbidden(resource, name, why).because(cause, why, "")
    }

    pub fn namespace_terminating(resource: &ResourceDef, name: &str, namespace: &str) -> Self {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        Self::forbidden(resource, name, &why).because(
            "NamespaceTerminating",
            format!("namespace {namespace} is being terminated"),
            "metadata.namespace",
        )
    }

    pub fn method_not_supported(resource: &ResourceDef, verb: &str) -> Self {
        let message = format!("{verb} is not supported on resources of kind {:?}", resource.qualified());
        Self::new(405, "MethodNotAllowed", message).about(&resource.group, &resource.plural, "")
    }

    /// What is possible in one workspace is not in all of them at once.
    pub fn not_supported_everywhere(resource: &ResourceDef, verb: &str) -> Self {
        let mut refused = Self::method_not_supported(resource, verb);
        refused.0.message.push_str(" in the `*` logical cluster");
        refused
    }

    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(405, "MethodNotAllowed", message).nameless()
    }

    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!("only the following media types are accepted: {}", accepted.join(", "));
        Self::new(406, "NotAcceptable", message)
    }

    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let accepted = accepted.join(", ");
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {accepted}");
        Self::new(415, "UnsupportedMediaType", message)
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, "RequestEntityTooLarge", message)
    }

    pub fn url_too_long(message: impl Into<String>) -> Self {
        Self::new(414, "RequestURITooLong", message)
    }

    pub fn headers_too_large(message: impl Into<String>) -> Self {
        Self::new(431, "RequestHeaderFieldsTooLarge", message)
    }

    pub fn too_many_requests() -> Self {
        let message = "too many requests, please try again later";
        let mut error = Self::new(429, "TooManyRequests", message);
        error.0.retry_after_secs = 1;
        error
    }

    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// What came after this revision is no longer known.
    pub fn too_old_to_watch(asked: Revision, oldest: Revision) -> Self {
        Self::expired(format!("too old resource version: {asked} ({oldest})"))
    }

    /// A list whose pages can no longer be of one revision; `resume` goes on at the newest.
    pub fn continue_expired(resume: String) -> Self {
        let message = "The provided continue parameter is too old to display a consistent list result. You can start \
                       a new list without the continue parameter, or use the continue token in this response to \
                       retrieve the remainder of the results. Continuing with the provided token results in an \
                       inconsistent list - objects that were created, modified, or deleted between the time the first \
                       chunk was returned and now may show up in the list.";
        let mut error = Self::expired(message);
        error.0.resume = Some(resume);
        error
    }

    /// The client has seen more than this server, or made the number up.
    pub fn revision_too_large(asked: Revision, newest: Revision) -> Self {
        let told = "Too large resource version";
        let message = format!("Timeout: {told}: {asked}, current: {newest}");
        let mut error = Self::new(504, "Timeout", message).because("ResourceVersionTooLarge", told, "");
        error.0.retry_after_secs = 1;
        error
    }

    pub fn timeout(message: impl Into<String>) -> Self {
        Self::new(504, "Timeout", format!("Timeout: {}", message.into()))
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, "ServiceUnavailable", message)
    }

    /// Somebody behind this server did what it must not.
    pub fn bad_gateway(message: impl Into<String>) -> Self {
        Self::new(502, "InternalError", message)
    }

    /// A request that this server has sent on came back to it.
    pub fn loop_detected() -> Self {
        Self::new(508, "InternalError", "the request came back to the server that sent it on")
    }

    pub fn internal(message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(500, "InternalError", format!("Internal error occurred: {message}")).because("", message, "")
    }

    /// Kubernetes refuses this without a reason.
    pub fn revision_on_create() -> Self {
        Self::unexplained("resourceVersion should not be set on objects to be created")
    }

    /// A refusal that Kubernetes has no reason for.
    pub fn unexplained(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// A webhook does not want it, and says why in a `Status` of its own. Nothing below 400 is a refusal.
    pub fn denied_by_webhook(webhook: &str, status: Map<String, Value>) -> Self {
        let status = Value::Object(status);
        let (reason, said) = (text(&status, "reason"), text(&status, "message"));
        let denied = format!("admission webhook {webhook:?} denied the request");
        let message = match if said.is_empty() { &reason } else { &said } {
            why if why.is_empty() => format!("{denied} without explanation"),
            why => format!("{denied}: {why}"),
        };
        let code = status["code"].as_i64().unwrap_or_default().max(400);
        let details = &status["details"];
        let cause = |cause: &Value| Cause {
            reason: text(cause, "reason").into(),
            message: text(cause, "message"),
            field: text(cause, "field"),
        };
        Self(Box::new(Refusal {
            // There are no codes of four digits in HTTP.
            code: u16::try_from(code).ok().filter(|code| *code < 1000).unwrap_or(500),
            reason: reason.into(),
            message,
            group: text(details, "group"),
            kind: text(details, "kind"),
            name: text(details, "name"),
            uid: text(details, "uid"),
            causes: details["causes"].as_array().into_iter().flatten().map(cause).collect(),
            retry_after_secs: details["retryAfterSeconds"].as_u64().and_then(|secs| secs.try_into().ok()).unwrap_or(0),
            ..Refusal::default()
        }))
    }

    /// A policy does not want it. The code is that of the reason.
    pub fn denied_by_policy(resource: &ResourceDef, name: &str, message: &str, reason: &'static str) -> Self {
        let mut error = Self::forbidden(resource, name, message).because("", message, "");
        error.0.code = match reason {
            "Forbidden" => 403,
            "Unauthorized" => 401,
            "RequestEntityTooLarge" => 413,
            _ => 422,
        };
        error.0.reason = reason.into();
        error
    }

    /// Policies could not change it as they should. The first of the causes is the message; the code is always the same.
    pub fn unchanged_by_policies(resource: &ResourceDef, name: &str, reason: &'static str, causes: &[String]) -> Self {
        let mut error = Self::new(403, reason, causes.first().cloned().unwrap_or_default());
        error = error.about(&resource.group, &resource.plural, name);
        causes.iter().fold(error, |error, cause| error.because("", cause, ""))
    }

    /// The same, with what its author should be told besides.
    #[must_use]
    pub fn with_warnings(mut self, mut warnings: Vec<String>) -> Self {
        warnings.append(&mut self.0.warnings);
        self.0.warnings = warnings;
        self
    }

    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    pub fn code(&self) -> u16 {
        self.0.code
    }

    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn retry_after_secs(&self) -> Option<u32> {
        Some(self.0.retry_after_secs).filter(|secs| *secs > 0)
    }

    /// The `Status` object that tells it.
    pub fn status(&self) -> Value {
        let refusal = &*self.0;
        let mut metadata = Map::new();
        if let Some(resume) = &refusal.resume {
            metadata.insert("continue".to_owned(), json!(resume));
        }
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure",
            "message": refusal.message, "code": refusal.code,
        });
        if !refusal.reason.is_empty() {
            status["reason"] = json!(refusal.reason);
        }
        if let Some(details) = refusal.details() {
            status["details"] = Value::Object(details);
        }
        status
    }
}

impl Refusal {
    fn details(&self) -> Option<Map<String, Value>> {
        let mut details = Map::new();
        let words = [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)];
        for (key, word) in words.into_iter().filter(|(_, word)| !word.is_empty()) {
            details.insert(key.to_owned(), json!(word));
        }
        if !self.causes.is_empty() {
            details.insert("causes".to_owned(), self.causes.iter().map(Cause::told).collect());
        }
        if self.retry_after_secs > 0 {
            details.insert("retryAfterSeconds".to_owned(), json!(self.retry_after_secs));
        }
        (self.nameless || !details.is_empty()).then_some(details)
    }
}

impl Cause {
    fn told(&self) -> Value {
        let mut cause = json!({ "message": self.message });
        for (key, word) in [("reason", &*self.reason), ("field", &self.field)] {
            if !word.is_empty() {
                cause[key] = json!(word);
            }
        }
        cause
    }
}

fn text(tree: &Value, field: &str) -> String {
    tree[field].as_str().unwrap_or_default().to_owned()
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for ApiError {}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Compacted { .. } => Self::expired("The resourceVersion for the provided list is too old."),
            ReadError::Future { asked, newest } => Self::revision_too_large(asked, newest),
            ReadError::Closed => Self::unavailable("the server is shutting down"),
            ReadError::Unavailable(why) => Self::unavailable(why),
        }
    }
}

impl From<CommitError> for ApiError {
    /// What is left after the caller has dealt with conflicts.
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Conflict { .. } => Self::internal("a concurrent change was not resolved"),
            CommitError::Invalid(storage::Invalid::ValueTooLarge { max, .. }) => {
                Self::too_large(format!("Request entity too large: limit is {max}"))
            }
            CommitError::Invalid(invalid) => Self::bad_request(invalid.to_string()),
            CommitError::Unavailable(why) => {
                tracing::warn!(error = &*why as &dyn std::error::Error, "a write was refused");
                Self::unavailable(format!("the store cannot write at the moment{}", no_space(&why)))
            }
            CommitError::Uncertain(why) => {
                tracing::error!(error = &*why as &dyn std::error::Error, "a write has an unknown outcome");
                Self::timeout(format!(
                    "the write may or may not have happened; read before trying again{}",
                    no_space(&why)
                ))
            }
            CommitError::Closed => Self::unavailable("the server is shutting down"),
        }
    }
}

/// Of all that can happen to a store, this is what somebody who writes can do something about, or knows who can.
fn no_space(why: &BackendError) -> &'static str {
    if let BackendError::DiskFull { .. } = why { ": no space is left for the store" } else { "" }
}

impl From<Unnameable> for ApiError {
    fn from(error: Unnameable) -> Self {
        Self::bad_request(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn who_writes_is_told_that_no_space_is_left_and_nothing_else_of_the_disk() {
        let full = || BackendError::DiskFull { path: "/var/lib/x".into() }.into();
        for error in [CommitError::Unavailable(full()), CommitError::Uncertain(full())] {
            let told = ApiError::from(error).status()["message"].as_str().unwrap().to_owned();
            assert!(told.ends_with(": no space is left for the store") && !told.contains("/var"), "{told}");
        }
        let other = BackendError::Io { path: "/var/lib/x".into(), what: "on fire".to_owned() };
        let told = ApiError::from(CommitError::Unavailable(other.into())).status();
        assert_eq!(told["message"], "the store cannot write at the moment");
    }

    #[test]
    fn a_refusal_is_told_as_kubernetes_tells_it() {
        let catalog = Catalog::builtin();
        let deployments = catalog.find("apps", "v1", "deployments").unwrap();
        assert_eq!(
            ApiError::not_found(deployments, "web").status(),
            json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound",
                "message": "deployments.apps \"web\" not found", "code": 404,
                "details": { "name": "web", "group": "apps", "kind": "deployments" },
            })
        );
    }

    #[test]
    fn details_are_empty_where_nothing_is_known() {
        assert_eq!(ApiError::no_such_path().status()["details"], json!({}));
        assert_eq!(ApiError::method_not_allowed().status()["details"], json!({}));
        assert_eq!(ApiError::bad_request("no").status().get("details"), None);
    }

    #[test]
    fn invalid_objects_have_one_cause_for_each_field() {
        let errors = [FieldError::required("metadata.name", "say it"), FieldError::forbidden("spec", "no")];
        let status = ApiError::invalid("apps", "Deployment", "", &errors).status();
        assert_eq!(
            status["message"],
            "Deployment.apps \"\" is invalid: [metadata.name: Required value: say it, spec: Forbidden: no]"
        );
        assert_eq!(
            status["details"]["causes"][1],
            json!({ "reason": "FieldValueForbidden", "message": "Forbidden: no", "field": "spec" })
        );
    }
}
