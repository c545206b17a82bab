//! Environment variables of a container, and where their values come from.

use std::collections::HashMap;

use super::Pod;
use super::volumes::{local_path, no_backsteps};
use crate::validation::amount;
use crate::validation::names;
use crate::validation::tree::{Errors, Node};

const ENV_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
/// Fields that a pod has and nobody may ask for.
const OTHER_FIELDS: [&str; 3] = ["spec.restartPolicy", "spec.schedulerName", "status.phase"];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];
const BYTE_DIVISORS: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

pub(super) fn env(errors: &mut Errors, list: &Node) {
    for variable in list.items() {
        let name = variable.at("name");
        if name.is_empty() {
            errors.required(&name, "");
        } else {
            errors.refuse(&name, names::env_name(name.text()));
        }
        if variable.at("valueFrom").exists() {
            value_from(errors, &variable);
        }
    }
}

fn value_from(errors: &mut Errors, variable: &Node) {
    let from = variable.at("valueFrom");
    let mut sources = 0;
    type Check = fn(&mut Errors, &Node);
    let checks: [(&str, Check); 5] = [
        ("fieldRef", |errors, at| field(errors, at, &ENV_FIELDS)),
        ("resourceFieldRef", |errors, at| resource(errors, at, false)),
        ("configMapKeyRef", key_of),
        ("secretKeyRef", key_of),
        ("fileKeyRef", file_key),
    ];
    for (name, check) in checks {
        if from.at(name).exists() {
            sources += 1;
            check(errors, &from.at(name));
        }
    }
    if sources == 0 {
        let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or \
                      `fileKeyRef`";
        errors.invalid_value(&from, "", detail);
    } else if !variable.at("value").is_empty() {
        errors.invalid_value(&from, "", "may not be specified when `value` is not empty");
    } else if sources > 1 {
        errors.invalid_value(&from, "", "may not have more than one field specified at a time");
    }
}

/// A field of the pod, in a volume's file.
pub(super) fn file_field(errors: &mut Errors, at: &Node) {
    field(errors, at, &FILE_FIELDS);
}

fn field(errors: &mut Errors, at: &Node, known: &[&str]) {
    let (version, path) = (at.at("apiVersion"), at.at("fieldPath"));
    if let Some(missing) = [&version, &path].into_iter().find(|node| node.is_empty()) {
        return errors.required(missing, "");
    }
    let text = path.text();
    let subscript = text.strip_suffix("']").and_then(|text| text.split_once("['"));
    let convertible = match subscript {
        Some((head, _)) => ["metadata.annotations", "metadata.labels"].contains(&head),
        None => ENV_FIELDS.contains(&text) || FILE_FIELDS.contains(&text) || OTHER_FIELDS.contains(&text),
    };
    if !version.is("v1") {
        let detail = format!("error converting fieldPath: unsupported pod version: {}", version.text());
        return errors.invalid(&path, detail);
    }
    if !convertible {
        let detail = match subscript {
            Some(_) => format!("error converting fieldPath: field label does not support subscript: {text}"),
            None => format!("error converting fieldPath: field label not supported: {text}"),
        };
        return errors.invalid(&path, detail);
    }
    match subscript {
        Some((head, key)) => {
            let key = if head == "metadata.annotations" { key.to_lowercase() } else { key.to_owned() };
            for message in names::qualified_name(&key) {
                errors.invalid_value(at, key.as_str(), message);
            }
        }
        None if !known.contains(&text) => errors.unsupported(&path, known),
        None => {}
    }
}

/// A resource of a container: of one that is named, in a volume.
pub(super) fn resource(errors: &mut Errors, at: &Node, in_volume: bool) {
    let (container, name) = (at.at("containerName"), at.at("resource"));
    let huge = ["requests.hugepages-", "limits.hugepages-"].iter().any(|prefix| name.text().starts_with(prefix));
    if in_volume && container.is_empty() {
        errors.required(&container, "");
    } else if name.is_empty() {
        errors.required(&name, "");
    } else if !RESOURCES.contains(&name.text()) && !huge {
        errors.unsupported(&name, &RESOURCES);
    }
    divisor(errors, at, huge);
}

fn divisor(errors: &mut Errors, at: &Node, huge: bool) {
    let (divisor, name) = (at.at("divisor"), at.at("resource").text());
    if amount::nanos(divisor.value()) == 0 {
        return;
    }
    let kind = match name {
        "limits.cpu" | "requests.cpu" => "cpu",
        "limits.memory" | "requests.memory" => "memory",
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => "local ephemeral storage",
        _ if huge => "hugepages",
        _ => return,
    };
    let text = amount::text(divisor.value());
    let (known, words) = if kind == "cpu" {
        (["1", "1m"].contains(&text.as_str()), "1m and 1".to_owned())
    } else {
        (BYTE_DIVISORS.contains(&text.as_str()), BYTE_DIVISORS.join(", "))
    };
    if !known {
        let detail = format!("only divisor's values {words} are supported with the {kind} resource");
        errors.invalid_value(&divisor, name, detail);
    }
}

fn key_of(errors: &mut Errors, at: &Node) {
    let (name, key) = (at.at("name"), at.at("key"));
    errors.refuse(&name, names::dns1123_subdomain(name.text()));
    if key.is_empty() {
        errors.required(&key, "");
    } else {
        errors.refuse(&key, names::config_key(key.text()));
    }
}

fn file_key(errors: &mut Errors, at: &Node) {
    type Rule = fn(&mut Errors, &Node);
    let rules: [(&str, Rule); 3] = [
        ("key", |errors, at| errors.refuse(at, names::env_name(at.text()))),
        ("volumeName", |errors, at| errors.refuse(at, names::dns1123_label(at.text()))),
        ("path", no_backsteps),
    ];
    for (name, rule) in rules {
        let value = at.at(name);
        if value.is_empty() { errors.required(&value, "") } else { rule(errors, &value) }
    }
}

pub(super) fn env_from(errors: &mut Errors, list: &Node) {
    for source in list.items() {
        let prefix = source.at("prefix");
        if !prefix.is_empty() {
            errors.refuse(&prefix, names::env_name(prefix.text()));
        }
        let given = ["configMapRef", "secretRef"].map(|name| source.at(name));
        for reference in given.iter().filter(|reference| reference.exists()) {
            let name = reference.at("name");
            if name.is_empty() {
                errors.required(&name, "");
            } else {
                errors.refuse(&name, names::NameRule::Subdomain.check(name.text(), true));
            }
        }
        match given.iter().filter(|reference| reference.exists()).count() {
            0 => errors.invalid_value(list, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => errors.invalid_value(list, "", "may not have more than one field specified at a time"),
        }
    }
}

/// A file of variables can only be read from an empty directory of the pod.
pub(super) fn file_volumes(errors: &mut Errors, pod: &Pod) {
    let volumes = pod.spec.at("volumes");
    let volumes: HashMap<&str, Node> = volumes.items().map(|volume| (volume.at("name").text(), volume)).collect();
    for variable in pod.containers().flat_map(|container| container.at("env").items()) {
        let reference = variable.at("valueFrom").at("fileKeyRef");
        let name = reference.at("volumeName");
        if !reference.exists() {
            continue;
        }
        match volumes.get(name.text()) {
            None => errors.not_found(&name),
            Some(volume) if volume.at("emptyDir").exists() => {}
            Some(_) => errors.invalid_value(&name, name.text(), "referenced volume must be of type emptyDir"),
        }
    }
}

/// A file of a downward API volume. Errors name the volume, not the file.
pub(super) fn downward_file(errors: &mut Errors, at: &Node, file: &Node) {
    let path = file.at("path").placed_at(&at.at("path"));
    if path.is_empty() {
        errors.required(&path, "");
    }
    local_path(errors, &path);
    let (field, resource) = (file.at("fieldRef"), file.at("resourceFieldRef"));
    if field.exists() {
        file_field(errors, &field.placed_at(&at.at("fieldRef")));
        if resource.exists() {
            errors.invalid_value(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
        }
    } else if resource.exists() {
        self::resource(errors, &resource.placed_at(&at.at("resourceFieldRef")), true);
    } else {
        errors.required(at, "one of fieldRef and resourceFieldRef is required");
    }
    super::volumes::file_mode(errors, &file.at("mode").placed_at(&at.at("mode")));
}
