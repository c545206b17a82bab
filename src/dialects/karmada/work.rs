//! What one cell should hold of one object, shown as Work.

use super::names;
use crate::apis;
use crate::apis::Kind;
use crate::apis::kinds::Health;
use serde_json::Value;
use serde_json::json;

/// What is known of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub cell: String,
    pub applied: bool,
    /// Why not.
    pub message: String,
    pub status: Option<Value>,
    pub health: Health,
    /// When `applied` last changed.
    pub since: String,
    pub suspended: bool,
    /// Nothing was sent yet, and nothing failed.
    pub pending: bool,
    /// Takes over what is in the cell already.
    pub adopts: bool,
    /// Stays when the object is deleted.
    pub preserved: bool,
    /// Of the object in the cell, and of the source when the cell last got it.
    pub generations: (i64, i64),
}

impl Report {
    /// An entry of a binding's `aggregatedStatus`.
    pub(super) fn aggregated(&self, kind: &Kind) -> Value {
        let health = if self.applied { self.health } else { Health::Unknown };
        let mut item = json!({"clusterName": self.cell, "health": health.name()});
        let fields = apis::map_mut(&mut item, &[]);
        // What is false is left out, as Karmada does.
        if self.applied {
            fields.insert("applied".to_owned(), true.into());
        } else if !self.message.is_empty() {
            fields.insert("appliedMessage".to_owned(), self.message.as_str().into());
        }
        fields.extend(self.reflected(kind).map(|status| ("status".to_owned(), status)));
        item
    }

    /// What the cell says, with what tells whether it speaks of the latest.
    fn reflected(&self, kind: &Kind) -> Option<Value> {
        let mut status = self.status.clone();
        if matches!(kind.name(), ("apps", "Deployment" | "StatefulSet" | "DaemonSet")) && self.applied {
            let fields = apis::map_mut(status.get_or_insert_with(|| json!({})), &[]);
            fields.insert("generation".to_owned(), self.generations.0.into());
            fields.insert("resourceTemplateGeneration".to_owned(), self.generations.1.into());
        }
        status
    }
}

/// `manifest` is what was rendered for the cell, `plural` the name of its resource.
pub fn work(object: &Value, manifest: &Value, plural: &str, report: &Report) -> Value {
    let meta = |key| apis::text(object, &["metadata", key]).unwrap_or_default();
    let kind = Kind::of(object);
    let binding = names::binding_name(&kind.kind, meta("name"));
    let mut annotations = if meta("namespace").is_empty() {
        json!({"clusterresourcebinding.karmada.io/name": binding})
    } else {
        json!({"resourcebinding.karmada.io/name": binding, "resourcebinding.karmada.io/namespace": meta("namespace")})
    };
    let resolution = if report.adopts { "overwrite" } else { "abort" };
    apis::map_mut(&mut annotations, &[]).insert("work.karmada.io/conflict-resolution".to_owned(), resolution.into());
    let mut spec = json!({"workload": {"manifests": [manifest]}});
    // No policy speaks of namespaces that go everywhere.
    if kind.name() != ("", "Namespace") {
        let said = [("suspendDispatching", report.suspended), ("preserveResourcesOnDeletion", report.preserved)];
        apis::map_mut(&mut spec, &[]).extend(said.map(|(key, said)| (key.to_owned(), said.into())));
    }
    json!({
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {
            "name": names::work_name(&kind.kind, meta("namespace"), meta("name")),
            "namespace": names::execution_namespace(&report.cell),
            "annotations": annotations,
            "labels": {"resourcebinding.karmada.io/permanent-id": meta("uid")},
        },
        "spec": spec,
        "status": status(manifest, plural, report),
    })
}

fn status(manifest: &Value, plural: &str, report: &Report) -> Value {
    let (applied, reason) = if report.applied { ("True", "AppliedSuccessful") } else { ("False", "AppliedFailed") };
    let message = if report.applied { "Manifest has been successfully applied" } else { report.message.as_str() };
    let (sent, why, how) = if report.suspended {
        ("False", "SuspendDispatching", "Work dispatching is in a suspended state.")
    } else {
        ("True", "Dispatching", "Work is being dispatched to member clusters.")
    };
    let condition = |kind: &str, status: &str, reason: &str, message: &str| json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": report.since});
    let dispatching = condition("Dispatching", sent, why, how);
    if report.pending {
        return json!({"conditions": [dispatching]});
    }
    let conditions = [dispatching, condition("Applied", applied, reason, message)];
    if !report.applied {
        return json!({"conditions": conditions});
    }
    let kind = Kind::of(manifest);
    let mut identifier = json!({"ordinal": 0, "version": kind.version(), "kind": kind.kind, "resource": plural});
    if !kind.group().is_empty() {
        apis::map_mut(&mut identifier, &[]).insert("group".to_owned(), kind.group().into());
    }
    for key in ["name", "namespace"] {
        let value = apis::at(manifest, &["metadata", key]).cloned();
        apis::map_mut(&mut identifier, &[]).extend(value.map(|value| (key.to_owned(), value)));
    }
    let mut manifest_status = json!({"identifier": identifier, "health": report.health.name()});
    let status = report.reflected(&kind).map(|status| ("status".to_owned(), status));
    apis::map_mut(&mut manifest_status, &[]).extend(status);
    json!({"conditions": conditions, "manifestStatuses": [manifest_status]})
}
