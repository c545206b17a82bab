//! `StorageObjectInUseProtection`: storage is not gone while somebody uses it.

use super::Attempt;
use crate::error::ApiError;
use crate::object::Object;

pub(super) fn protect(object: &mut Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let finalizer = match (&*attempt.resource.group, &*attempt.resource.plural) {
        ("", "persistentvolumes") => "kubernetes.io/pv-protection",
        ("", "persistentvolumeclaims") => "kubernetes.io/pvc-protection",
        ("storage.k8s.io", "volumeattributesclasses") => "kubernetes.io/vac-protection",
        _ => return Ok(()),
    };
    if attempt.old.is_none() && !object.finalizers().any(|found| found == finalizer) {
        let mut finalizers: Vec<String> = object.finalizers().map(str::to_owned).collect();
        finalizers.push(finalizer.to_owned());
        object.set_finalizers(finalizers);
    }
    Ok(())
}
