//! Objects as rows, for people.

use super::{IncludeObject, metadata};
use crate::catalog::ResourceDef;
use crate::print;
use openapi::scalar::time::Instant;
use serde_json::{Map, Value, json};

/// A table around rows.
pub(super) fn around(list_metadata: Value, columns: &[Value], rows: Vec<Value>) -> Value {
    json!({
        "kind": "Table", "apiVersion": metadata::API_VERSION, "metadata": list_metadata,
        "columnDefinitions": columns, "rows": rows,
    })
}

pub(super) fn columns(resource: &ResourceDef) -> Vec<Value> {
    if let Some(custom) = resource.custom() {
        return custom.schema.columns.definitions();
    }
    print::columns(&resource.group, &resource.kind).iter().map(print::Column::definition).collect()
}

pub(super) fn row(resource: &ResourceDef, object: &Value, include: IncludeObject, now: Instant) -> Value {
    let (group, version, kind) = (&*resource.group, &*resource.version, &*resource.kind);
    let cells = match resource.custom() {
        Some(custom) => custom.schema.columns.row(object, now),
        None => print::cells(group, version, kind, object, now),
    };
    let mut row = json!({ "cells": cells });
    if let Some(conditions) = print::conditions(group, kind, object) {
        row["conditions"] = conditions;
    }
    row["object"] = match include {
        IncludeObject::None => Value::Null,
        IncludeObject::Metadata => metadata::of_object(object),
        IncludeObject::Object => object.clone(),
    };
    row
}

/// A table of one row, with the metadata that a list of one would have.
pub(super) fn of_object(resource: &ResourceDef, object: &Value, include: IncludeObject, now: Instant) -> Value {
    around(list_metadata(object), &columns(resource), vec![row(resource, object, include, now)])
}

pub(super) fn list_metadata(object: &Value) -> Value {
    let mut told = Map::new();
    if let Some(revision) = object.pointer("/metadata/resourceVersion") {
        told.insert("resourceVersion".to_owned(), revision.clone());
    }
    Value::Object(told)
}
