//! Jobs: a selector of their own, so that no two jobs count the same pods.

use crate::object::{Object, child};
use crate::options::DeleteOptions;
use serde_json::Value;

const LABELS: [(&str, &str); 4] = [
    ("batch.kubernetes.io/controller-uid", "uid"),
    ("batch.kubernetes.io/job-name", "name"),
    ("controller-uid", "uid"),
    ("job-name", "name"),
];

/// The pods of a job outlive it unless somebody says otherwise, which surprises most.
pub(super) fn warnings_of_delete(options: &DeleteOptions) -> Vec<String> {
    if options.propagation.is_some() || options.orphan_dependents.is_some() {
        return Vec::new();
    }
    let told = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
                them or set propagationPolicy=Orphan to suppress this warning";
    vec![told.to_owned()]
}

pub(super) fn prepare_create(object: &mut Object) {
    if object.pointer(&["spec", "manualSelector"]).and_then(Value::as_bool).unwrap_or(false) {
        return;
    }
    let (uid, name) = (object.uid().to_owned(), object.name().to_owned());
    let spec = object.spec_mut();
    let labels = child(child(child(spec, "template"), "metadata"), "labels");
    for (label, what) in LABELS {
        let value = if what == "uid" { &uid } else { &name };
        labels.entry(label).or_insert_with(|| value.as_str().into());
    }
    child(child(spec, "selector"), "matchLabels").entry(LABELS[0].0).or_insert_with(|| uid.into());
}
