//! Migrations of stored objects to another version.

use super::names;
use super::status::conditions;
use super::tree::{Errors, Node};

pub(super) fn migration(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let resource = object.at("spec").at("resource");
    let (name, group) = (resource.at("resource"), resource.at("group"));
    let wrong = names::dns1035_label(name.text());
    if name.is_empty() {
        errors.required(&name, "resource is required to be set");
    } else if !wrong.is_empty() {
        errors.invalid(&name, wrong.join(","));
    }
    let wrong = names::dns1123_subdomain(group.text());
    if !group.is_empty() && !wrong.is_empty() {
        errors.invalid(&group, wrong.join(","));
    }
}

pub(super) fn migration_update(errors: &mut Errors, new: &Node, old: &Node) {
    errors.immutable(&new.at("spec"), &old.at("spec"));
}

pub(super) fn migration_status(errors: &mut Errors, new: &Node, old: &Node) {
    let (now, before) = (new.at("status"), old.at("status"));
    let list = now.at("conditions");
    let shown = now.at("resourceVersion");
    let well_formed = shown.text().bytes().all(|digit| digit.is_ascii_digit()) && !shown.text().starts_with('0');
    if !shown.is_empty() && !well_formed {
        errors.invalid(&shown, format!("resource version is not well formed: {}", shown.text()));
    }
    conditions(errors, &list);
    let version = before.at("resourceVersion");
    if !version.is_empty() && !version.same(&now.at("resourceVersion")) {
        errors.invalid(&now.at("resourceVersion"), "field is immutable");
    }
    let is = |status: &Node, sort: &str| {
        status.at("conditions").items().any(|one| one.at("type").is(sort) && one.at("status").is("True"))
    };
    if is(&now, "Succeeded") && is(&now, "Failed") {
        errors.invalid(&list, "Both success and failed conditions cannot be true at the same time");
    }
    for (sort, word) in [("Succeeded", "Success"), ("Failed", "Failed")] {
        if is(&before, sort) && !is(&now, sort) {
            errors.invalid(&list, format!("{word} condition cannot be set to false once it is true"));
        }
    }
}
