//! What a hook answered, once it is known to be an answer to what it was asked.

use super::review::{Review, ReviewVersion};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
        let (api_version, kind) = (word(answer, "apiVersion")?, word(answer, "kind")?);
        self.check_type(api_version, kind)?;
        let response = match answer.get("response") {
            None | Some(Value::Null) => return Err(invalid("webhook response was absent")),
            Some(response) => object(response, "response", "v1.AdmissionResponse")?,
        };
        let given = Response::read(response)?;
        match self.version {
            ReviewVersion::V1 => {
                self.check_identity(api_version, kind, given.uid)?;
                given.verdict_v1(role)
            }
            ReviewVersion::V1Beta1 => Ok(given.verdict_v1beta1(role)),
        }
    }

    /// Whoever does not say what he sends is taken to have sent what he should.
    fn check_type(&self, api_version: &str, kind: &str) -> Result<(), Unusable> {
        let expected = self.version.word();
        let other = if self.version == ReviewVersion::V1 { "v1beta1" } else { "v1" };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if kind.is_empty() || kind == "AdmissionReview" {
            match (group, version) {
                ("", "") | ("admission.k8s.io", "") => return Ok(()),
                ("admission.k8s.io", found) if found == expected => return Ok(()),
                ("admission.k8s.io", found) if found == other => {
                    let types = format!("converting ({other}.AdmissionReview) to ({expected}.AdmissionReview)");
                    return Err(Unusable::Undecodable(format!("{types}: unknown conversion")));
                }
                _ => {}
            }
        }
        Err(Unusable::Undecodable(format!("no kind {kind:?} is registered for version {api_version:?}")))
    }

    /// What version 1 is strict about.
    fn check_identity(&self, api_version: &str, kind: &str, uid: &str) -> Result<(), Unusable> {
        if uid != self.uid {
            return Err(invalid(format!("expected response.uid={:?}, got {uid:?}", self.uid)));
        }
        if (api_version, kind) != ("admission.k8s.io/v1", "AdmissionReview") {
            let slash = if api_version.contains('/') { "" } else { "/" };
            let found = format!("{slash}{api_version}, Kind={kind}");
            let expected = "admission.k8s.io/v1, Kind=AdmissionReview";
            return Err(invalid(format!("expected webhook response of {expected}, got {found}")));
        }
        Ok(())
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
        let text = |field: &str| optional(response, field, "string", Value::as_str);
        let patch = STANDARD.decode(text("patch")?.unwrap_or_default()).map_err(|error| {
            Unusable::Undecodable(match error {
                base64::DecodeError::InvalidByte(at, _) => format!("illegal base64 data at input byte {at}"),
                other => format!("illegal base64 data: {other}"),
            })
        })?;
        let status = optional(response, "status", "v1.Status", Value::as_object)?;
        let warnings = optional(response, "warnings", "[]string", Value::as_array)?.into_iter().flatten();
        let annotations = optional(response, "auditAnnotations", "map[string]string", Value::as_object)?;
        let texts = |value: &Value, field: &str| match value {
            Value::Null => Ok(String::new()),
            other => Ok(typed(other, field, "string", Value::as_str)?.to_owned()),
        };
        let rest = Verdict {
            allowed: optional(response, "allowed", "bool", Value::as_bool)?.unwrap_or_default(),
            status: status.cloned(),
            warnings: warnings.map(|value| texts(value, "warnings")).collect::<Result<_, Unusable>>()?,
            annotations: annotations
                .into_iter()
                .flatten()
                .map(|(key, value)| Ok((key.clone(), texts(value, "auditAnnotations")?)))
                .collect::<Result<_, Unusable>>()?,
            ..Verdict::default()
        };
        Ok(Self { uid: text("uid")?.unwrap_or_default(), patch, patch_type: text("patchType")?, rest })
    }

    fn verdict_v1(self, role: Role) -> Result<Verdict, Unusable> {
        let (patches, types) = (!self.patch.is_empty(), self.patch_type.is_some());
        match role {
            Role::Validating if patches => return Err(invalid("validating webhook may not return response.patch")),
            Role::Validating if types => return Err(invalid("validating webhook may not return response.patchType")),
            Role::Mutating if patches && !types => {
                return Err(invalid("webhook returned response.patch but not response.patchType"));
            }
            Role::Mutating if types && !patches => {
                return Err(invalid("webhook returned response.patchType but not response.patch"));
            }
            Role::Mutating if self.patch_type == Some("") => {
                return Err(invalid("webhook returned invalid response.patchType of \"\""));
            }
            _ => {}
        }
        let patch_type = self.patch_type.unwrap_or_default().to_owned();
        Ok(Verdict { patch: self.patch, patch_type, ..self.rest })
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

fn word<'a>(tree: &'a Value, field: &str) -> Result<&'a str, Unusable> {
    match tree.get(field) {
        None | Some(Value::Null) => Ok(""),
        Some(value) => value.as_str().ok_or_else(|| {
            let name = if field == "kind" { "Kind" } else { "APIVersion" };
            let found = go_word(value);
            let text = format!("json: cannot unmarshal {found} into Go struct field .{field} of type string");
            Unusable::Undecodable(format!("couldn't get version/kind; json parse error: {text} ({name})"))
        }),
    }
}

fn object<'a>(value: &'a Value, field: &str, ty: &str) -> Result<&'a Map<String, Value>, Unusable> {
    typed(value, field, ty, Value::as_object)
}

fn optional<'a, T>(
    map: &'a Map<String, Value>,
    field: &str,
    ty: &str,
    read: impl Fn(&'a Value) -> Option<T>,
) -> Result<Option<T>, Unusable> {
    match map.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => typed(value, &format!("response.{field}"), ty, read).map(Some),
    }
}

fn typed<'a, T>(value: &'a Value, field: &str, ty: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<T, Unusable> {
    read(value).ok_or_else(|| {
        let found = go_word(value);
        let text = format!("json: cannot unmarshal {found} into Go struct field AdmissionReview.{field} of type {ty}");
        Unusable::Undecodable(text)
    })
}

/// What Go calls a JSON value.
fn go_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
