//! What FederationRules and Cells look like.

use crate::apis;
use crate::dialects::karmada::definitions::override_rule;
use crate::dialects::schema::Defined;
use crate::dialects::schema::at_least;
use crate::dialects::schema::conditions;
use crate::dialects::schema::definition;
use crate::dialects::schema::flag;
use crate::dialects::schema::label_selector;
use crate::dialects::schema::list;
use crate::dialects::schema::object;
use crate::dialects::schema::one_of;
use crate::dialects::schema::or_else;
use crate::dialects::schema::quantities;
use crate::dialects::schema::requirement;
use crate::dialects::schema::taint;
use crate::dialects::schema::text;
use crate::dialects::schema::texts;
use crate::dialects::schema::toleration;
use crate::dialects::schema::whole;
use serde_json::Value;
use serde_json::json;

pub const GROUP: &str = "federation.hanse.dev";

/// Both of them.
pub fn definitions() -> Vec<Value> {
    vec![apis::describe(cell()), apis::describe(rule())]
}

fn cell() -> Value {
    definition(&Defined {
        group: GROUP,
        versions: &["v1alpha1"],
        kind: "Cell",
        plural: "cells",
        short: &[],
        categories: &["federation"],
        namespaced: false,
        spec: cell_spec(),
        status: Some(cell_status()),
        columns: &[
            ("Region", "string", ".spec.region"),
            ("Mode", "string", ".spec.mode"),
            ("Ready", "string", r#".status.conditions[?(@.type=="Ready")].status"#),
            ("Version", "string", ".status.kubernetesVersion"),
        ],
    })
}

fn cell_spec() -> Value {
    object(&[
        ("mode", or_else(one_of(&["Push", "Pull"]), json!("Push"))),
        ("apiEndpoint", text()),
        ("secretRef", object(&[("namespace", text()), ("name!", text())])),
        ("workspace", text()),
        ("insecureSkipTLSVerification", flag()),
        ("proxyURL", text()),
        ("provider", text()),
        ("region", text()),
        ("zones", texts()),
        ("taints", list(taint())),
    ])
}

fn cell_status() -> Value {
    let resource = object(&[("name!", text()), ("kind!", text())]);
    object(&[
        ("conditions", conditions()),
        ("kubernetesVersion", text()),
        ("apiEnablements", list(object(&[("groupVersion!", text()), ("resources", list(resource))]))),
        ("nodeSummary", object(&[("totalNum", whole()), ("readyNum", whole())])),
        (
            "resourceSummary",
            object(&[("allocatable", quantities()), ("allocated", quantities()), ("allocating", quantities())]),
        ),
    ])
}

fn rule() -> Value {
    definition(&Defined {
        group: GROUP,
        versions: &["v1alpha1"],
        kind: "FederationRule",
        plural: "federationrules",
        short: &["frule"],
        categories: &["federation"],
        namespaced: false,
        spec: rule_spec(),
        status: Some(object(&[("conditions", conditions()), ("objects", whole()), ("unplaced", whole())])),
        columns: &[
            ("Objects", "integer", ".status.objects"),
            ("Unplaced", "integer", ".status.unplaced"),
            ("Ready", "string", r#".status.conditions[?(@.type=="Ready")].status"#),
        ],
    })
}

fn affinity_fields() -> Vec<(&'static str, Value)> {
    vec![
        ("labelSelector", label_selector()),
        ("fieldSelector", object(&[("matchExpressions", list(requirement()))])),
        ("names", texts()),
        ("exclude", texts()),
    ]
}

fn rule_spec() -> Value {
    let selected = object(&[
        ("apiVersion!", text()),
        ("kind!", text()),
        ("namespace", text()),
        ("name", text()),
        ("labelSelector", label_selector()),
    ]);
    let mut objects = list(selected);
    objects["minItems"] = 1.into();
    let upsynced = object(&[("apiVersion!", text()), ("kind!", text()), ("labelSelector", label_selector())]);
    object(&[
        ("objects!", objects),
        ("workspaces", texts()),
        ("cells", cells()),
        ("replicas", replicas()),
        ("follow", flag()),
        ("overrides", list(override_rule())),
        ("retain", texts()),
        ("status", object(&[("up", one_of(&["Merged", "Off"])), ("sum", texts()), ("down", flag())])),
        ("upsync", list(upsynced)),
        ("namespaces", one_of(&["ByUid", "Same"])),
        ("strangers", one_of(&["Leave", "Adopt"])),
        ("suspend", object(&[("everywhere", flag()), ("cells", texts())])),
        ("preserveOnDeletion", flag()),
        ("nothingFits", or_else(one_of(&["Keep", "Withdraw"]), json!("Keep"))),
    ])
}

fn cells() -> Value {
    let mut group = affinity_fields();
    group.extend([("name!", text()), ("overflow", list(object(&affinity_fields())))]);
    let join = object(&[
        ("objectLabel", text()),
        ("objectAnnotation", text()),
        ("objectField", text()),
        ("cellLabel", text()),
        ("cellLabelPrefix", text()),
        ("says", text()),
        ("optional", flag()),
    ]);
    let spread = object(&[
        ("by", one_of(&["cell", "region", "zone", "provider"])),
        ("label", text()),
        ("min", at_least(1)),
        ("max", at_least(1)),
    ]);
    let mut fields = affinity_fields();
    fields.extend([
        ("groups", list(object(&group))),
        ("joins", list(join)),
        ("tolerations", list(toleration())),
        ("spread", list(spread)),
        ("pick", at_least(1)),
    ]);
    object(&fields)
}

fn replicas() -> Value {
    let mut weight = affinity_fields();
    weight.push(("weight!", at_least(1)));
    let preference = object(&[("cell", text()), ("min", at_least(0)), ("max", at_least(0)), ("weight", at_least(0))]);
    object(&[
        ("divide!", one_of(&["Duplicated", "Weighted", "Available", "Aggregated", "Preferred"])),
        ("weights", list(object(&weight))),
        ("preferences", list(preference)),
        ("rebalance", flag()),
    ])
}
