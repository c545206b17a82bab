//! What a hook answered, once it is known to be an answer to what it was asked.

use super::review::{Review, ReviewVersion};
use super::syntax;
use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine};
use openapi::{Problem, builtin};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// What a hook says to a request.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Verdict {
    pub(super) allowed: bool,
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: String,
    /// A `Status`: why it is not allowed.
    pub(super) status: Option<Map<String, Value>>,
    pub(super) warnings: Vec<String>,
    pub(super) annotations: BTreeMap<String, String>,
}

/// Why an answer is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It is not of the right type.
    Undecodable(String),
    /// It is, but does not go with the question.
    Invalid(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Mutating,
    Validating,
}

impl Review {
    /// Reads the answer to this question.
    pub(super) fn verdict(&self, answer: &Value, role: Role) -> Result<Verdict, Unusable> {
        let said = Said::read(answer)?;
        let found = said.found(self.version)?;
        let given = match answer.get("response") {
            _ if found == "Status" => None,
            None | Some(Value::Null) => None,
            Some(Value::Object(response)) => Some(Response::read(response)?),
            Some(other) => {
                let what = "struct field AdmissionReview.response of type v1.AdmissionResponse";
                return Err(Unusable::Undecodable(syntax::mismatch(other, what)));
            }
        };
        let expected = self.version.word();
        if found != expected {
            let from = if found == "Status" { "v1.Status".to_owned() } else { format!("{found}.AdmissionReview") };
            let text = format!("converting ({from}) to ({expected}.AdmissionReview): unknown conversion");
            return Err(Unusable::Undecodable(text));
        }
        let given = given.ok_or_else(|| invalid("webhook response was absent"))?;
        match self.version {
            ReviewVersion::V1 => {
                self.check_identity(&said, given.uid)?;
                given.verdict_v1(role)
            }
            ReviewVersion::V1Beta1 => Ok(given.verdict_v1beta1(role)),
        }
    }

    /// What version 1 is strict about.
    fn check_identity(&self, said: &Said<'_>, uid: &str) -> Result<(), Unusable> {
        if uid != self.uid {
            return Err(invalid(format!("expected response.uid={:?}, got {uid:?}", self.uid)));
        }
        let Said { api_version, kind } = said;
        if (*api_version, *kind) != ("admission.k8s.io/v1", "AdmissionReview") {
            let slash = if api_version.contains('/') { "" } else { "/" };
            let expected = "admission.k8s.io/v1, Kind=AdmissionReview";
            return Err(invalid(format!(
                "expected webhook response of {expected}, got {slash}{api_version}, Kind={kind}"
            )));
        }
        Ok(())
    }
}

/// What an answer says it is.
struct Said<'a> {
    api_version: &'a str,
    kind: &'a str,
}

impl<'a> Said<'a> {
    fn read(answer: &'a Value) -> Result<Self, Unusable> {
        let word = |field: &str| match answer.get(field) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(word)) => Ok(word.as_str()),
            Some(other) => {
                let text = syntax::mismatch(other, &format!("struct field .{field} of type string"));
                Err(Unusable::Undecodable(format!("couldn't get version/kind; json parse error: {text}")))
            }
        };
        Ok(Self { api_version: word("apiVersion")?, kind: word("kind")? })
    }

    /// The version of the review that it is, or `Status`. Whoever does not say is taken to have sent what he should.
    fn found(&self, expected: ReviewVersion) -> Result<&'static str, Unusable> {
        if self.api_version.matches('/').count() > 1 {
            return Err(Unusable::Undecodable(format!("unexpected GroupVersion string: {}", self.api_version)));
        }
        let default = format!("admission.k8s.io/{}", expected.word());
        let api_version = if self.api_version.is_empty() { &default } else { self.api_version };
        let kind = if self.kind.is_empty() { "AdmissionReview" } else { self.kind };
        match (api_version, kind) {
            ("admission.k8s.io/v1", "AdmissionReview") => Ok("v1"),
            ("admission.k8s.io/v1beta1", "AdmissionReview") => Ok("v1beta1"),
            ("v1", "Status") => Ok("Status"),
            _ => {
                let scheme = "pkg/runtime/scheme.go:111";
                let text = format!("no kind {kind:?} is registered for version {api_version:?} in scheme {scheme:?}");
                Err(Unusable::Undecodable(text))
            }
        }
    }
}

/// The fields of an answer, each of the right type.
struct Response<'a> {
    uid: &'a str,
    patch: Vec<u8>,
    patch_type: Option<&'a str>,
    rest: Verdict,
}

impl<'a> Response<'a> {
    fn read(response: &'a Map<String, Value>) -> Result<Self, Unusable> {
        let text = |field: &str, ty: &str| optional(response, field, ty, Value::as_str);
        let patch = decoded(text("patch", "[]uint8")?.unwrap_or_default())?;
        let status = optional(response, "status", "v1.Status", Value::as_object)?;
        check_status(response.get("status"))?;
        let warnings = optional(response, "warnings", "[]string", Value::as_array)?.into_iter().flatten();
        let annotations = optional(response, "auditAnnotations", "map[string]string", Value::as_object)?;
        let annotations = annotations.into_iter().flatten();
        let word = |value: &Value, field: &str| match value {
            Value::Null => Ok(String::new()),
            other => typed(other, field, "string", Value::as_str).map(str::to_owned),
        };
        let rest = Verdict {
            allowed: optional(response, "allowed", "bool", Value::as_bool)?.unwrap_or_default(),
            status: status.cloned(),
            warnings: warnings.map(|value| word(value, "warnings")).collect::<Result<_, _>>()?,
            annotations: annotations
                .map(|(key, value)| Ok((key.clone(), word(value, "auditAnnotations")?)))
                .collect::<Result<_, _>>()?,
            ..Verdict::default()
        };
        let uid = text("uid", "types.UID")?.unwrap_or_default();
        Ok(Self { uid, patch, patch_type: text("patchType", "v1.PatchType")?, rest })
    }

    fn verdict_v1(self, role: Role) -> Result<Verdict, Unusable> {
        let (patches, types) = (!self.patch.is_empty(), self.patch_type.is_some());
        let wrong = match role {
            Role::Validating if patches => "validating webhook may not return response.patch",
            Role::Validating if types => "validating webhook may not return response.patchType",
            Role::Mutating if patches && !types => "webhook returned response.patch but not response.patchType",
            Role::Mutating if types && !patches => "webhook returned response.patchType but not response.patch",
            Role::Mutating if self.patch_type == Some("") => "webhook returned invalid response.patchType of \"\"",
            _ => {
                let patch_type = self.patch_type.unwrap_or_default().to_owned();
                return Ok(Verdict { patch: self.patch, patch_type, ..self.rest });
            }
        };
        Err(invalid(wrong))
    }

    /// Version 1beta1 did not look at the type of a patch, nor at one where there should be none.
    fn verdict_v1beta1(self, role: Role) -> Verdict {
        if role == Role::Validating || self.patch.is_empty() {
            return self.rest;
        }
        Verdict { patch: self.patch, patch_type: "JSONPatch".to_owned(), ..self.rest }
    }
}

fn invalid(text: impl Into<String>) -> Unusable {
    Unusable::Invalid(text.into())
}

fn decoded(text: &str) -> Result<Vec<u8>, Unusable> {
    STANDARD.decode(text).map_err(|error| {
        let at = match error {
            DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => at,
            // Go counts whole groups of four.
            _ => text.len() / 4 * 4,
        };
        Unusable::Undecodable(format!("illegal base64 data at input byte {at}"))
    })
}

/// Complains of a `Status` as of any object, but from where it stands in the answer.
fn check_status(status: Option<&Value>) -> Result<(), Unusable> {
    let (Some(status), Some(ty)) = (status, builtin::kind_in("v1", "Status")) else { return Ok(()) };
    let wrong = openapi::check(status, ty).into_iter().find_map(|problem| match problem {
        Problem::WrongValue { message, .. } => Some(message),
        Problem::UnknownField { .. } => None,
    });
    match wrong {
        None => Ok(()),
        Some(message) => {
            let told = message.split_once("Go struct field ").and_then(|(before, rest)| {
                let (owner, field) = rest.split_once('.')?;
                Some(format!("{before}Go struct field {owner}.response.status.{field}"))
            });
            Err(Unusable::Undecodable(told.unwrap_or(message)))
        }
    }
}

fn optional<'a, T>(
    map: &'a Map<String, Value>,
    field: &str,
    ty: &str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, Unusable> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => typed(value, field, ty, read).map(Some),
    }
}

fn typed<'a, T>(value: &'a Value, field: &str, ty: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T, Unusable> {
    read(value).ok_or_else(|| {
        let what = format!("struct field AdmissionResponse.response.{field} of type {ty}");
        Unusable::Undecodable(syntax::mismatch(value, &what))
    })
}
