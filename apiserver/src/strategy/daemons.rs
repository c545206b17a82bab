//! Daemon sets: the number of their template, which older clients look for in an annotation.

use crate::object::Object;

const ANNOTATION: &str = "deprecated.daemonset.template.generation";

fn number(set: &Object) -> i64 {
    set.annotation(ANNOTATION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Whoever writes a daemon set writes its number.
pub(super) fn settle(set: &mut Object) {
    let number = number(set);
    set.set_annotation(ANNOTATION, &number.to_string());
}

pub(super) fn keep_number(new: &mut Object, old: &Object) {
    new.set_annotation(ANNOTATION, &number(old).to_string());
}

pub(super) fn prepare_create(set: &mut Object) {
    let number = number(set).max(1);
    set.set_annotation(ANNOTATION, &number.to_string());
}

pub(super) fn prepare_update(new: &mut Object, old: &Object) {
    let template = ["spec", "template"];
    let changed = new.pointer(&template) != old.pointer(&template);
    let number = number(old).saturating_add(changed.into());
    new.set_annotation(ANNOTATION, &number.to_string());
}
