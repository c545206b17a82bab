//! admissionregistration.k8s.io: webhooks, and policies with their bindings.

use serde_json::Value;

use super::column::{AGE, Column, NAME, integer, text};
use super::look::Look;
use super::subject::Subject;
use super::words::{UNSET, join, texts};
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[
    Printer { kind: "MutatingWebhookConfiguration", columns: WEBHOOKS, row: webhooks },
    Printer { kind: "ValidatingWebhookConfiguration", columns: WEBHOOKS, row: webhooks },
    Printer {
        kind: "ValidatingAdmissionPolicy",
        columns: &[
            NAME,
            integer(
                "Validations",
                "Validations indicates the number of validation rules defined in this configuration",
            ),
            PARAM_KIND,
            AGE,
        ],
        row: |it| row![it.name(), it.count("spec.validations"), param_kind(it), it.age()],
    },
    Printer {
        kind: "MutatingAdmissionPolicy",
        columns: &[
            NAME,
            integer("Mutations", "Mutation indicates the number of mutations rules defined in this configuration"),
            PARAM_KIND,
            AGE,
        ],
        row: |it| row![it.name(), it.count("spec.mutations"), param_kind(it), it.age()],
    },
    Printer { kind: "ValidatingAdmissionPolicyBinding", columns: BINDING, row: binding },
    Printer { kind: "MutatingAdmissionPolicyBinding", columns: BINDING, row: binding },
];

const WEBHOOKS: &[Column] =
    &[NAME, integer("Webhooks", "Webhooks indicates the number of webhooks registered in this configuration"), AGE];

const PARAM_KIND: Column =
    text("ParamKind", "ParamKind specifies the kind of resources used to parameterize this policy");

const BINDING: &[Column] = &[
    NAME,
    text("PolicyName", "PolicyName indicates the policy definition which the policy binding binded to"),
    text("ParamRef", "ParamRef indicates the param resource which sets the configuration param"),
    AGE,
];

fn webhooks(it: &Subject<'_>) -> Vec<Value> {
    row![it.name(), it.count("webhooks"), it.age()]
}

fn param_kind(policy: &Value) -> String {
    match policy.at("spec.paramKind") {
        Some(kind) => format!("{}/{}", kind.text("apiVersion"), kind.text("kind")),
        None => UNSET.to_owned(),
    }
}

fn binding(it: &Subject<'_>) -> Vec<Value> {
    let param = it.at("spec.paramRef").and_then(param_ref).unwrap_or_else(|| UNSET.to_owned());
    row![it.name(), it.text("spec.policyName"), param, it.age()]
}

fn param_ref(param: &Value) -> Option<String> {
    match (param.text("namespace"), param.text("name")) {
        (_, "") => param.at("selector").map(go_selector),
        ("", name) => Some(format!("*/{name}")),
        (namespace, name) => Some(format!("{namespace}/{name}")),
    }
}

/// A selector as Go shows the struct: Kubernetes puts it so into the row.
fn go_selector(selector: &Value) -> String {
    let labels = selector.map("matchLabels").into_iter().flatten();
    let labels: String = labels.map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or(""))).collect();
    let expression = |expression: &Value| {
        let values = join(texts(expression.list("values")), " ");
        let (key, operator) = (expression.text("key"), expression.text("operator"));
        format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
    };
    let expressions: String = selector.list("matchExpressions").iter().map(expression).collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
