//! `DefaultStorageClass`: a claim that asks for no class gets the one that is everybody's.

use super::Attempt;
use crate::error::ApiError;
use crate::object::Object;
use std::cmp::Reverse;

const ASKED: &str = "volume.beta.kubernetes.io/storage-class";
const DEFAULT: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

pub(super) fn choose(claim: &mut Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let asked = claim.annotation(ASKED).is_some() || claim.pointer(&["spec", "storageClassName"]).is_some();
    if !attempt.makes("", "persistentvolumeclaims") || asked {
        return Ok(());
    }
    let classes = attempt.look.all(("storage.k8s.io", "storageclasses"), "")?;
    if let Some(class) = newest(&classes, &DEFAULT) {
        claim.spec_mut().insert("storageClassName".to_owned(), class.name().into());
    }
    Ok(())
}

/// Of several classes that are marked as everybody's, the newest.
pub(super) fn newest<'a>(classes: &'a [Object], marks: &[&str]) -> Option<&'a Object> {
    let marked = classes.iter().filter(|class| marks.iter().any(|mark| class.annotation(mark) == Some("true")));
    // Times of this form sort as text.
    marked.min_by_key(|class| (Reverse(class.text(&["metadata", "creationTimestamp"])), class.name()))
}
