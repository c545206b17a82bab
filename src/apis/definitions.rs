//! The kinds in which decisions and their consequences are written down, as definitions of custom resources: where
//! objects were placed, and the copies of them that cells hold.

use serde_json::{Map, Value, json};

pub const GROUP: &str = "federation.hanse.dev";
pub const VERSION: &str = "v1alpha1";

/// Group, version and plural.
pub type Resource = (&'static str, &'static str, &'static str);

pub const CELLS: Resource = (GROUP, VERSION, "cells");
pub const RULES: Resource = (GROUP, VERSION, "federationrules");
pub const PLACEMENTS: Resource = (GROUP, VERSION, "placements");
pub const COPIES: Resource = (GROUP, VERSION, "copies");

/// Holds an object until nothing of it is left in any cell, and a cell until nothing of ours is left in it.
pub const CLEANUP: &str = "federation.hanse.dev/cleanup";

/// On a placement: it is decided anew, as if nothing had been decided before, once for each value.
pub const RESCHEDULE: &str = "federation.hanse.dev/reschedule";

/// On a placement: what stays for ever in cells that the object has left may go now.
pub const PURGE: &str = "federation.hanse.dev/purge-evicted";

/// The name of the record of an object's copy in a cell; each has the workspace that it is in.
pub fn copy_name(workspace: &str, source: &str, (home, cell): (&str, &str)) -> String {
    // A cell of another workspace may have the same name.
    if home == workspace {
        return format!("{source}.{cell}");
    }
    format!("{source}.{cell}.{:08x}", super::fnv::hash_32(home.as_bytes()))
}

/// The label of a copy that says which federation put it there; several may share a cell.
pub const OWNER: &str = "federation.hanse.dev/owner";

/// Every definition of this file.
pub fn all() -> Vec<Value> {
    vec![super::describe(placements()), super::describe(copies())]
}

/// What a definition is made of besides what all have in common.
struct Sketch {
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    spec: Value,
    status: Value,
    /// Name, type and path.
    columns: &'static [(&'static str, &'static str, &'static str)],
}

fn definition(sketch: Sketch) -> Value {
    let Sketch { plural, singular, kind, spec, status, columns } = sketch;
    let name = json!({ "type": "object", "properties": { "name": { "type": "string", "maxLength": 253 } } });
    let properties = json!({
        "apiVersion": { "type": "string" }, "kind": { "type": "string" }, "metadata": name,
        "spec": spec, "status": status,
    });
    let column = |(name, kind, path): &(&str, &str, &str)| json!({ "name": name, "type": kind, "jsonPath": path });
    let age = json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" });
    let columns: Vec<Value> = columns.iter().map(column).chain([age]).collect();
    let version = json!({
        "name": VERSION, "served": true, "storage": true, "additionalPrinterColumns": columns,
        "schema": { "openAPIV3Schema": { "type": "object", "properties": properties } },
    });
    let list_kind = format!("{kind}List");
    let names = json!({ "plural": plural, "singular": singular, "kind": kind, "listKind": list_kind,
        "categories": ["federation"] });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": { "group": GROUP, "scope": "Cluster", "names": names, "versions": [version] },
    })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn object(fields: &[(&str, Value)]) -> Value {
    let fields: Map<String, Value> = fields.iter().map(|(name, field)| ((*name).to_owned(), field.clone())).collect();
    json!({ "type": "object", "properties": fields })
}

fn texts(names: &[&str]) -> Value {
    object(&names.iter().map(|name| (*name, text())).collect::<Vec<_>>())
}

fn list(of: &Value) -> Value {
    json!({ "type": "array", "items": of })
}

fn open() -> Value {
    json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// The object that something is about, as it is known here.
fn source() -> Value {
    texts(&["apiVersion", "kind", "resource", "namespace", "name", "uid"])
}

/// A cell that an object is leaving.
fn eviction() -> Value {
    let mut fields = vec![("replicas", json!({ "type": "integer" })), ("graceSeconds", json!({ "type": "integer" }))];
    fields.extend(["workspace", "name", "reason", "purge", "since"].map(|name| (name, text())));
    fields.extend(["because", "before"].map(|name| (name, list(&text()))));
    fields.push(("carry", json!({ "type": "object", "additionalProperties": { "type": "string" } })));
    object(&fields)
}

/// Where one object goes; named after the UID of the object.
fn placements() -> Value {
    let cell = object(&[
        ("workspace", text()),
        ("name", text()),
        ("replicas", json!({ "type": "integer" })),
        ("because", list(&text())),
    ]);
    let group = texts(&["rule", "group"]);
    let spec = object(&[
        ("source", source()),
        ("cells", list(&cell)),
        ("groups", list(&group)),
        ("rules", list(&texts(&["workspace", "name"]))),
        ("terms", text()),
        ("rescheduled", text()),
        ("manner", texts(&["namespaces", "strangers", "status", "hold", "deletion"])),
        ("references", list(&texts(&["apiVersion", "kind", "resource", "namespace", "name"]))),
        ("evictions", list(&eviction())),
        ("minds", json!({ "type": "boolean" })),
    ]);
    let refusal = texts(&["cell", "rule", "reason"]);
    let status = object(&[
        ("where", text()),
        ("refused", list(&refusal)),
        ("refusals", json!({ "type": "integer" })),
        ("troubles", list(&texts(&["reason", "message"]))),
    ]);
    definition(Sketch {
        plural: PLACEMENTS.2,
        singular: "placement",
        kind: "Placement",
        spec,
        status,
        columns: &[
            ("Kind", "string", ".spec.source.kind"),
            ("Namespace", "string", ".spec.source.namespace"),
            ("Object", "string", ".spec.source.name"),
            ("Cells", "string", ".status.where"),
            ("Trouble", "string", ".status.troubles[0].reason"),
        ],
    })
}

/// One object in one cell: what is or may be there because of us, from before it is put there until it is gone.
fn copies() -> Value {
    let spec = object(&[
        ("cell", texts(&["workspace", "name", "uid"])),
        ("source", source()),
        ("object", texts(&["group", "version", "resource", "kind", "namespace", "name"])),
    ]);
    let number = json!({ "type": "integer" });
    let status = object(&[
        ("hash", text()),
        ("fields", text()),
        ("uid", text()),
        ("generation", number.clone()),
        ("cellGeneration", number),
        ("observed", open()),
        ("madeOf", text()),
        ("health", text()),
        ("healthSince", text()),
        ("applied", text()),
        ("reason", text()),
        ("message", text()),
        ("statusHash", text()),
        ("statusFields", text()),
        ("preserve", json!({ "type": "boolean" })),
        ("decided", json!({ "type": "integer" })),
    ]);
    definition(Sketch {
        plural: COPIES.2,
        singular: "copy",
        kind: "Copy",
        spec,
        status,
        columns: &[
            ("Cell", "string", ".spec.cell.name"),
            ("Kind", "string", ".spec.object.kind"),
            ("Namespace", "string", ".spec.object.namespace"),
            ("Object", "string", ".spec.object.name"),
            ("Applied", "string", ".status.applied"),
            ("Reason", "string", ".status.reason"),
        ],
    })
}
