//! One object, or one answer.

use super::{IncludeObject, metadata, table, text};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::media::{Encoding, Form, Shape};
use bytes::Bytes;
use openapi::protobuf;
use openapi::scalar::time::Instant;
use serde_json::Value;

/// A stored object in the form that was asked for. JSON is what is stored, and costs nothing.
pub fn object(
    resource: &ResourceDef,
    bytes: &Bytes,
    form: Form,
    include: IncludeObject,
    now: Instant,
) -> Result<Bytes, ApiError> {
    match form {
        Form { encoding: Encoding::Json, shape: Shape::Whole } => Ok(bytes.clone()),
        Form { encoding, shape: Shape::Whole } => tree(&parse(bytes)?, encoding),
        Form { encoding, shape: Shape::Metadata } => tree(&metadata::of_object(&parse(bytes)?), encoding),
        Form { encoding, shape: Shape::Table } => {
            tree(&table::of_object(resource, &parse(bytes)?, include, now), encoding)
        }
    }
}

/// An answer that was never stored.
pub fn tree(tree: &Value, encoding: Encoding) -> Result<Bytes, ApiError> {
    if encoding != Encoding::Protobuf {
        return Ok(text(tree, encoding).into());
    }
    protobuf::encode(tree).map(Bytes::from).map_err(|error| ApiError::internal(error.to_string()))
}

/// A refusal, in the client's encoding; JSON if nothing else works.
pub fn status(error: &ApiError, encoding: Encoding) -> (Bytes, Encoding) {
    let told = error.status();
    match tree(&told, encoding) {
        Ok(bytes) => (bytes, encoding),
        Err(_) => (text(&told, Encoding::Json).into(), Encoding::Json),
    }
}

pub(super) fn parse(bytes: &Bytes) -> Result<Value, ApiError> {
    serde_json::from_slice(bytes).map_err(|error| ApiError::internal(error.to_string()))
}
