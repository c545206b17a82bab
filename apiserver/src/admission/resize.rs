//! `PersistentVolumeClaimResize`: a claim grows only where its class can make it.

use super::Attempt;
use crate::amount::Amount;
use crate::error::ApiError;
use crate::object::Object;
use crate::strategy::Part;
use serde_json::Value;

pub(super) fn check(claim: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let Some(old) = attempt.old else { return Ok(()) };
    if !attempt.is_about("", "persistentvolumeclaims") || attempt.part != Part::Main || size(claim) <= size(old) {
        return Ok(());
    }
    if old.text(&["status", "phase"]) != "Bound" {
        return Err(attempt.forbidden(claim, "Only bound persistent volume claims can be expanded"));
    }
    let name = class_of(claim);
    let class = match name {
        "" => None,
        name => attempt.look.one(("storage.k8s.io", "storageclasses"), "", name)?,
    };
    let grows = class.is_some_and(|class| class.get("allowVolumeExpansion") == Some(&Value::Bool(true)));
    if name != class_of(old) || !grows {
        let why = "only dynamically provisioned pvc can be resized and \
                   the storageclass that provisions the pvc must support resize";
        return Err(attempt.forbidden(claim, why));
    }
    Ok(())
}

fn size(claim: &Object) -> Amount {
    claim.pointer(&["spec", "resources", "requests", "storage"]).map_or(Amount::ZERO, Amount::of)
}

pub(super) fn class_of(claim: &Object) -> &str {
    let annotated = claim.annotation("volume.beta.kubernetes.io/storage-class");
    annotated.unwrap_or_else(|| claim.text(&["spec", "storageClassName"]))
}
