//! The kinds that come with the server, as definitions of custom resources: cells, where objects were placed, and the
//! copies of them that cells hold.

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

/// Every definition of this file.
pub fn all() -> Vec<Value> {
    vec![cells(), rules(), placements(), copies()]
}

/// What a definition is made of besides what all have in common.
struct Sketch {
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    spec: Value,
    status: Value,
    /// Whether the status is written apart from the rest.
    status_apart: bool,
    /// Name, type and path.
    columns: &'static [(&'static str, &'static str, &'static str)],
}

fn definition(sketch: Sketch) -> Value {
    let Sketch { plural, singular, kind, spec, status, status_apart, columns } = sketch;
    let name = json!({ "type": "object", "properties": { "name": { "type": "string", "maxLength": 253 } } });
    let properties = json!({
        "apiVersion": { "type": "string" }, "kind": { "type": "string" }, "metadata": name,
        "spec": spec, "status": status,
    });
    let column = |(name, kind, path): &(&str, &str, &str)| json!({ "name": name, "type": kind, "jsonPath": path });
    let age = json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" });
    let columns: Vec<Value> = columns.iter().map(column).chain([age]).collect();
    let mut version = json!({
        "name": VERSION, "served": true, "storage": true, "additionalPrinterColumns": columns,
        "schema": { "openAPIV3Schema": { "type": "object", "properties": properties } },
    });
    if status_apart {
        version["subresources"] = json!({ "status": {} });
    }
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

fn conditions() -> Value {
    let condition = texts(&["type", "status", "reason", "message", "lastTransitionTime"]);
    list(&condition)
}

/// A place where objects can go. `spec` says how it is reached.
fn cells() -> Value {
    let taint = texts(&["key", "value", "effect"]);
    let spec = object(&[
        ("secretRef", texts(&["namespace", "name"])),
        ("workspace", text()),
        ("apiEndpoint", text()),
        ("region", text()),
        ("zones", list(&text())),
        ("provider", text()),
        ("taints", list(&taint)),
    ]);
    let resource = texts(&["name", "kind"]);
    let api = object(&[("groupVersion", text()), ("resources", list(&resource))]);
    let status = object(&[("conditions", conditions()), ("kubernetesVersion", text()), ("apiEnablements", list(&api))]);
    definition(Sketch {
        plural: CELLS.2,
        singular: "cell",
        kind: "Cell",
        spec,
        status,
        status_apart: true,
        columns: &[
            ("Version", "string", ".status.kubernetesVersion"),
            ("Region", "string", ".spec.region"),
            ("Ready", "string", ".status.conditions[?(@.type=='Ready')].status"),
        ],
    })
}

/// Interim.
fn rules() -> Value {
    definition(Sketch {
        plural: RULES.2,
        singular: "federationrule",
        kind: "FederationRule",
        spec: open(),
        status: open(),
        status_apart: true,
        columns: &[],
    })
}

/// The object that something is about, as it is known here.
fn source() -> Value {
    texts(&["apiVersion", "kind", "resource", "namespace", "name", "uid"])
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
    let spec = object(&[("source", source()), ("cells", list(&cell)), ("groups", list(&group)), ("terms", text())]);
    let refusal = texts(&["cell", "rule", "reason"]);
    let status = object(&[
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
        status_apart: false,
        columns: &[
            ("Kind", "string", ".spec.source.kind"),
            ("Namespace", "string", ".spec.source.namespace"),
            ("Object", "string", ".spec.source.name"),
            ("Cells", "string", ".spec.cells[*].name"),
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
        ("applied", text()),
        ("reason", text()),
        ("message", text()),
        ("preserve", json!({ "type": "boolean" })),
    ]);
    definition(Sketch {
        plural: COPIES.2,
        singular: "copy",
        kind: "Copy",
        spec,
        status,
        status_apart: false,
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
