//! Which form the client wants an answer in, and which form it sent.

use crate::error::ApiError;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

impl Encoding {
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    fn named(media_type: &str) -> Option<Self> {
        match media_type {
            "application/json" | "application/*" | "*/*" => Some(Self::Json),
            "application/yaml" => Some(Self::Yaml),
            "application/vnd.kubernetes.protobuf" => Some(Self::Protobuf),
            _ => None,
        }
    }

    /// The form of a request's body. No word about it means JSON.
    pub fn of_body(content_type: Option<&str>) -> Result<Self, ApiError> {
        let named = content_type.map(bare).filter(|name| !name.is_empty()).unwrap_or("application/json");
        Self::named(named).ok_or_else(|| ApiError::unsupported_media_type(&ACCEPTED))
    }
}

const ACCEPTED: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// How much of an object the client wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    Whole,
    Table,
    Metadata,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    pub encoding: Encoding,
    pub shape: Shape,
}

impl Form {
    pub const JSON: Self = Self { encoding: Encoding::Json, shape: Shape::Whole };
}

/// What can be offered for a request.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    pub tables: bool,
    pub metadata: bool,
    /// Custom kinds have no protobuf form; their metadata has one.
    pub protobuf: bool,
    pub yaml: bool,
}

impl Offer {
    pub const OBJECTS: Self = Self { tables: true, metadata: true, protobuf: true, yaml: true };
    pub const PLAIN: Self = Self { tables: false, metadata: false, ..Self::OBJECTS };
    /// One event after the other: YAML has no form for that.
    pub const STREAM: Self = Self { yaml: false, ..Self::OBJECTS };

    /// The first clause of an `Accept` header, best quality first, that can be served.
    pub fn choose(self, accept: Option<&str>) -> Result<Form, ApiError> {
        let Some(accept) = accept.filter(|text| !text.trim().is_empty()) else { return Ok(Form::JSON) };
        let mut clauses: Vec<Clause<'_>> = accept.split(',').map(Clause::parse).collect();
        clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
        let chosen = clauses.iter().find_map(|clause| self.serve(clause));
        chosen.ok_or_else(|| ApiError::not_acceptable(&ACCEPTED))
    }

    fn serve(self, clause: &Clause<'_>) -> Option<Form> {
        let encoding = Encoding::named(clause.name).filter(|found| self.yaml || *found != Encoding::Yaml)?;
        let shape = match clause.parameter("as") {
            None => Shape::Whole,
            Some(_) if clause.parameter("g") != Some("meta.k8s.io") => return None,
            Some(_) if !matches!(clause.parameter("v"), Some("v1" | "v1beta1")) => return None,
            Some("Table") if self.tables && encoding != Encoding::Protobuf => Shape::Table,
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") if self.metadata => Shape::Metadata,
            Some(_) => return None,
        };
        let possible = encoding != Encoding::Protobuf || self.protobuf || shape == Shape::Metadata;
        possible.then_some(Form { encoding, shape })
    }
}

/// One alternative of an `Accept` header.
#[derive(Debug)]
pub(crate) struct Clause<'a> {
    pub(crate) name: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl<'a> Clause<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
        let quality = parameters.iter().find(|(key, _)| *key == "q").and_then(|(_, text)| text.parse().ok());
        Self { name, parameters, quality: quality.unwrap_or(1.0) }
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }
}

/// A media type without its parameters.
pub fn bare(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(offer: Offer, accept: &str, expected: Option<(Encoding, Shape)>) {
        let form = offer.choose(Some(accept)).ok().map(|form| (form.encoding, form.shape));
        assert_eq!(form, expected, "{accept}");
    }

    #[test]
    fn the_first_form_that_can_be_served_is_chosen() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        check(Offer::OBJECTS, table, Some((Encoding::Json, Shape::Table)));
        check(Offer::PLAIN, table, Some((Encoding::Json, Shape::Whole)));
        check(Offer::PLAIN, "application/json;as=Table;v=v1;g=meta.k8s.io", None);
        check(
            Offer::OBJECTS,
            "application/vnd.kubernetes.protobuf,application/json",
            Some((Encoding::Protobuf, Shape::Whole)),
        );
        let custom = Offer { protobuf: false, ..Offer::OBJECTS };
        check(custom, "application/vnd.kubernetes.protobuf,application/json", Some((Encoding::Json, Shape::Whole)));
        check(custom, "application/vnd.kubernetes.protobuf", None);
        let partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        check(custom, partial, Some((Encoding::Protobuf, Shape::Metadata)));
    }

    #[test]
    fn what_nobody_speaks_is_refused_and_anything_is_json() {
        check(Offer::OBJECTS, "*/*", Some((Encoding::Json, Shape::Whole)));
        check(Offer::OBJECTS, "text/html;q=0.9, application/yaml;q=0.8", Some((Encoding::Yaml, Shape::Whole)));
        check(Offer::OBJECTS, "application/cbor", None);
        assert_eq!(Encoding::of_body(Some("application/json; charset=utf-8")), Ok(Encoding::Json));
        assert_eq!(Encoding::of_body(None), Ok(Encoding::Json));
        assert_eq!(Encoding::of_body(Some("application/cbor")).unwrap_err().code(), 415);
    }
}
