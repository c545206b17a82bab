//! What a watcher reads: one event after the other.

use super::{IncludeObject, metadata, objects, table, text};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::media::{Encoding, Form, Shape};
use crate::resources::Event;
use bytes::{BufMut, Bytes, BytesMut};
use openapi::protobuf;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};
use std::sync::Arc;
use storage::Revision;

/// Writes the events of one watch.
#[derive(Debug)]
pub struct Events {
    resource: Arc<ResourceDef>,
    form: Form,
    include: IncludeObject,
    /// The columns of a table are told once.
    columns_told: bool,
}

/// The mark of the bookmark that ends the initial events.
const INITIAL_END: &str = "k8s.io/initial-events-end";

impl Events {
    pub fn new(resource: Arc<ResourceDef>, form: Form, include: IncludeObject) -> Self {
        Self { resource, form, include, columns_told: false }
    }

    pub fn content_type(&self) -> &'static str {
        match self.form.encoding {
            Encoding::Json | Encoding::Yaml => "application/json",
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }

    /// Writes an event after whatever is in `out`.
    pub fn write(&mut self, event: &Event, now: Instant, out: &mut BytesMut) -> Result<(), ApiError> {
        match event {
            Event::Object { kind, bytes, .. } => {
                let object = self.object(bytes, now)?;
                self.frame(kind.word(), &object, out);
            }
            Event::Bookmark { revision, initial_end } => {
                let object = self.bookmark(*revision, *initial_end)?;
                self.frame("BOOKMARK", &object, out);
            }
        }
        Ok(())
    }

    /// Writes the event that ends a watch which cannot go on.
    pub fn write_error(&self, error: &ApiError, out: &mut BytesMut) {
        let (status, _) = objects::status(error, self.form.encoding);
        self.frame("ERROR", &status, out);
    }

    fn object(&mut self, bytes: &Bytes, now: Instant) -> Result<Bytes, ApiError> {
        if self.form.shape == Shape::Table {
            let object = objects::parse(bytes)?;
            let row = table::row(&self.resource, &object, self.include, now);
            return Ok(self.table(table::list_metadata(&object), row));
        }
        objects::object(&self.resource, bytes, self.form, self.include, now)
    }

    fn table(&mut self, list_metadata: Value, row: Value) -> Bytes {
        let columns = if self.columns_told { Vec::new() } else { table::columns(&self.resource) };
        self.columns_told = true;
        let mut table = table::around(list_metadata, &columns, vec![row]);
        if columns.is_empty() {
            table["columnDefinitions"] = Value::Null;
        }
        text(&table, self.form.encoding).into()
    }

    fn bookmark(&mut self, revision: Revision, initial_end: bool) -> Result<Bytes, ApiError> {
        let mut told = json!({ "resourceVersion": revision.to_string() });
        if initial_end {
            told["annotations"] = json!({ INITIAL_END: "true" });
        }
        let mut object = json!({
            "kind": self.resource.kind, "apiVersion": self.resource.api_version(), "metadata": told,
        });
        match self.form.shape {
            Shape::Whole => {}
            Shape::Metadata => object = metadata::of_object(&object),
            Shape::Table => {
                let empty = json!({ "cells": empty_cells(&self.resource), "object": metadata::of_object(&object) });
                return Ok(self.table(table::list_metadata(&object), empty));
            }
        }
        objects::tree(&object, self.form.encoding)
    }

    fn frame(&self, word: &str, object: &[u8], out: &mut BytesMut) {
        match self.form.encoding {
            Encoding::Protobuf => {
                let event = protobuf::encode_watch_event(word, object);
                out.put_u32(u32::try_from(event.len()).unwrap_or(u32::MAX));
                out.put_slice(&event);
            }
            Encoding::Json | Encoding::Yaml => json_frame(word, object, out),
        }
    }
}

fn json_frame(word: &str, object: &[u8], out: &mut BytesMut) {
    out.reserve(object.len() + 32);
    out.put_slice(b"{\"type\":\"");
    out.put_slice(word.as_bytes());
    out.put_slice(b"\",\"object\":");
    out.put_slice(object);
    out.put_slice(b"}\n");
}

fn empty_cells(resource: &ResourceDef) -> Vec<Value> {
    table::columns(resource).iter().map(|_| Value::Null).collect()
}
