//! What is wrong with one field of an object, in the words of a Kubernetes API server.

use std::fmt;

use serde_json::Value;

use crate::check::quote;

/// One reason to refuse an object, and the field that gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    pub wrong: Wrong,
    /// `spec.template.spec.containers[0].name`, `metadata.labels`, `data[key]`.
    pub field: String,
    /// What stood there, as Go prints it; `None` where the text does not repeat it.
    pub value: Option<String>,
    pub detail: String,
}

/// In which way a field is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooMany,
    Internal,
    TypeInvalid,
}

impl Wrong {
    /// The reason of a cause in a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// In which way, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }
}

impl FieldError {
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { wrong: Wrong::Required, field: field.into(), value: None, detail: detail.into() }
    }

    pub fn invalid(field: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { wrong: Wrong::Invalid, field: field.into(), value: Some(shown(&value.into())), detail: detail.into() }
    }

    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { wrong: Wrong::Forbidden, field: field.into(), value: None, detail: detail.into() }
    }

    pub fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { wrong: Wrong::Duplicate, field: field.into(), value: Some(shown(&value.into())), detail: String::new() }
    }

    pub fn not_found(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { wrong: Wrong::NotFound, field: field.into(), value: Some(shown(&value.into())), detail: String::new() }
    }

    pub fn too_long(field: impl Into<String>, bytes_max: usize) -> Self {
        let detail = format!("may not be more than {bytes_max} byte{}", if bytes_max == 1 { "" } else { "s" });
        Self { wrong: Wrong::TooLong, field: field.into(), value: None, detail }
    }

    /// Supported values are told in the order given.
    pub fn not_supported(field: impl Into<String>, value: impl Into<Value>, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|word| quote(word)).collect();
        let detail = format!("supported values: {}", quoted.join(", "));
        Self { wrong: Wrong::NotSupported, field: field.into(), value: Some(shown(&value.into())), detail }
    }

    /// The text without the field: the message of a cause.
    pub fn body(&self) -> String {
        let mut text = self.wrong.words().to_owned();
        if let Some(value) = &self.value {
            text = format!("{text}: {value}");
        }
        if !self.detail.is_empty() {
            text = format!("{text}: {}", self.detail);
        }
        text
    }
}

/// A value as Go prints it: a text quoted, anything else as JSON, in which Go escapes what HTML would read as its own.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        _ => value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"),
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_a_kubernetes_api_server() {
        let text = |error: FieldError| error.to_string();
        assert_eq!(
            text(FieldError::required("metadata.name", "name or generateName is required")),
            "metadata.name: Required value: name or generateName is required"
        );
        assert_eq!(
            text(FieldError::invalid("spec.replicas", -1, "must be greater than or equal to 0")),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
        );
        assert_eq!(
            text(FieldError::not_supported("spec.type", "Odd", &["ClusterIP", "NodePort"])),
            "spec.type: Unsupported value: \"Odd\": supported values: \"ClusterIP\", \"NodePort\""
        );
        assert_eq!(
            text(FieldError::duplicate("spec.ports[1].name", "a")),
            "spec.ports[1].name: Duplicate value: \"a\""
        );
    }
}
