//! The parts of a definition: names, versions, columns, subresources, selectable fields.

use std::collections::HashSet;

use super::super::tree::{Errors, Node};
use super::before::Before;
use super::schema::Versioned;
use super::{conversion, names as words, schema, shape};
use crate::structural::{Structural, Type};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const SELECTABLE_MAX: usize = 8;
const WARNING_BYTES_MAX: usize = 256;

/// What all versions have in common, said to stand beside them.
pub(super) struct Common<'a> {
    pub(super) schema: Option<Node<'a>>,
    subresources: Option<Node<'a>>,
    columns: Option<Node<'a>>,
    selectable: Option<Node<'a>>,
    /// Unknown fields are kept, as definitions could once ask for as a whole.
    preserves: bool,
}

impl<'a> Common<'a> {
    pub(super) fn of(spec: &Node<'a>) -> Self {
        let shared = |field: &'a str, place: &'a str| {
            let mut all = spec.at("versions").items().map(|version| version.at(field));
            let first = all.next()?;
            all.all(|other| first.same(&other)).then(|| first.placed_at(&spec.at(place)))
        };
        Self {
            schema: shared("schema", "validation"),
            subresources: shared("subresources", "subresources"),
            columns: shared("additionalPrinterColumns", "additionalPrinterColumns"),
            selectable: shared("selectableFields", "selectableFields"),
            preserves: spec.at("preserveUnknownFields").is_true(),
        }
    }
}

pub(super) fn spec(errors: &mut Errors, spec: &Node, before: &Before) {
    let common = Common::of(spec);
    group_and_scope(errors, spec);
    schemas_exist(errors, spec, &common, before);
    let preserve = spec.at("preserveUnknownFields");
    let has_defaults = spec.at("versions").items().any(|version| has_default(&version.at("schema")));
    if preserve.is_true() && has_defaults {
        errors.invalid_value(&preserve, true, "must be false in order to use defaults in the schema");
    }
    versions(errors, spec, &common, before);
    for name in ["plural", "singular", "kind", "listKind"].map(|name| spec.at("names").at(name)) {
        if name.is_empty() {
            errors.required(&name, "");
        }
    }
    names(errors, &spec.at("names"));
    beside_versions(errors, spec, &common, before);
    let strategy = spec.at("conversion").at("strategy");
    if preserve.is_true() && spec.at("conversion").exists() && !strategy.is("None") {
        errors.invalid(&strategy, "must be None if spec.preserveUnknownFields is true");
    }
    conversion::conversion(errors, &spec.at("conversion"), before);
}

fn has_default(schema: &Node) -> bool {
    let schema = schema.at("openAPIV3Schema");
    shape::any(schema.value(), &mut |schema| schema.get("default").is_some_and(|value| !value.is_null()))
}

fn group_and_scope(errors: &mut Errors, spec: &Node) {
    let group = spec.at("group");
    let wrong = words::dns1123_subdomain(group.text());
    if group.is_empty() {
        errors.required(&group, "");
    } else if !wrong.is_empty() {
        errors.invalid(&group, wrong.join(","));
    } else if !group.text().contains('.') {
        errors.invalid(&group, "should be a domain with at least one dot");
    }
    errors.one_of(&spec.at("scope"), &["Cluster", "Namespaced"]);
}

fn schemas_exist(errors: &mut Errors, spec: &Node, common: &Common, before: &Before) {
    let preserve = spec.at("preserveUnknownFields").is_true();
    let beside = common.schema.as_ref().is_some_and(|schema| schema.at("openAPIV3Schema").exists());
    if beside || (!before.all_had_schemas && preserve) {
        return;
    }
    for version in spec.at("versions").items() {
        let schema = version.at("schema").at("openAPIV3Schema");
        let missing = common.schema.is_some() || !schema.exists();
        if missing && before.all_had_schemas {
            errors.required(&schema, "");
        } else if missing && version.at("served").is_true() {
            errors.required(&schema, "because otherwise all fields are pruned");
        }
    }
}

fn versions(errors: &mut Errors, spec: &Node, common: &Common, before: &Before) {
    let all = spec.at("versions");
    let own_subresources = common.subresources.is_none();
    let mut seen = HashSet::new();
    let mut unique = true;
    for version in all.items() {
        let name = version.at("name");
        unique &= seen.insert(name.text());
        label(errors, &name, name.text());
        let subresources = match &common.subresources {
            Some(subresources) if !own_subresources => subresources.clone(),
            _ => version.at("subresources"),
        };
        self::version(errors, &version, common, subresources.at("status").exists(), before);
    }
    if !unique {
        errors.invalid(&all, "must contain unique version names");
    }
    if all.items().filter(|version| version.at("storage").is_true()).count() != 1 {
        errors.invalid(&all, "must have exactly one version marked as storage version");
    }
    if let Some(first) = all.items().next().map(|version| version.at("name")).filter(|name| !name.is_empty()) {
        label(errors, &first.placed_at(&spec.at("version")), first.text());
    }
}

fn label(errors: &mut Errors, at: &Node, text: &str) {
    let wrong = words::dns1035_label(text);
    if !wrong.is_empty() {
        errors.invalid_value(at, at.text(), wrong.join(","));
    }
}

fn version(errors: &mut Errors, version: &Node, common: &Common, has_status: bool, before: &Before) {
    deprecation(errors, version);
    let schema = version.at("schema");
    if common.schema.is_none() {
        schema::validation(
            errors,
            &schema,
            &Versioned { has_status, structural: before.structural || !common.preserves, before },
        );
    }
    if common.subresources.is_none() {
        subresources(errors, &version.at("subresources"));
    }
    if common.columns.is_none() {
        version.at("additionalPrinterColumns").items().for_each(|column| self::column(errors, &column));
    }
    let fields = version.at("selectableFields");
    if common.selectable.is_none() && !fields.is_empty() {
        let schema = schema.at("openAPIV3Schema");
        if common.schema.is_some() || !schema.exists() {
            let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
            return errors.invalid_value(&fields, "", detail);
        }
        let kept = before.too_many_selectable(version.at("name").text());
        selectable(errors, &fields, &schema, kept);
    }
}

fn deprecation(errors: &mut Errors, version: &Node) {
    let at = version.at("deprecationWarning");
    if !at.exists() {
        return;
    }
    if !version.at("deprecated").is_true() {
        return errors.invalid(&at, "can only be set for deprecated versions");
    }
    if at.len() > WARNING_BYTES_MAX {
        errors.invalid(&at, "must be <= 256 characters long");
    }
    if at.is_empty() {
        errors.invalid(&at, "must not be an empty string");
    }
    let hidden = at.text().char_indices().find(|(_, c)| c.is_control() || (c.is_whitespace() && *c != ' '));
    if let Some((index, _)) = hidden {
        let detail =
            format!("must only contain printable UTF-8 characters; non-printable character found at index {index}");
        errors.invalid(&at, detail);
    }
}

fn beside_versions(errors: &mut Errors, spec: &Node, common: &Common, before: &Before) {
    let any_status = spec.at("versions").items().any(|version| version.at("subresources").at("status").exists());
    if let Some(schema) = &common.schema {
        schema::validation(
            errors,
            schema,
            &Versioned { has_status: any_status, structural: before.structural || !common.preserves, before },
        );
    }
    if let Some(shared) = &common.subresources {
        subresources(errors, shared);
    }
    if let Some(columns) = &common.columns {
        columns.items().for_each(|column| self::column(errors, &column));
    }
    let Some(fields) = common.selectable.as_ref().filter(|fields| !fields.is_empty()) else { return };
    match common.schema.as_ref().filter(|schema| schema.exists()) {
        None => errors.invalid_value(fields, "", "may only be set when validations.schema is included"),
        Some(schema) => {
            selectable(errors, fields, &schema.at("openAPIV3Schema"), before.too_many_selectable(""));
        }
    }
}

/// Names, of what is asked for and of what was accepted. Absent ones are not looked at.
pub(super) fn names(errors: &mut Errors, names: &Node) {
    let mixed = "may have mixed case, but should otherwise match: ";
    for (name, is_mixed) in [("plural", false), ("singular", false), ("kind", true), ("listKind", true)] {
        let at = names.at(name);
        let wrong =
            if is_mixed { words::dns1035_label(&at.text().to_lowercase()) } else { words::dns1035_label(at.text()) };
        if !at.is_empty() && !wrong.is_empty() {
            errors.invalid(&at, format!("{}{}", if is_mixed { mixed } else { "" }, wrong.join(",")));
        }
    }
    names.at("shortNames").items().for_each(|name| label(errors, &name, name.text()));
    let (kind, list) = (names.at("kind"), names.at("listKind"));
    if !kind.is_empty() && kind.text() == list.text() {
        errors.invalid(&list, "kind and listKind may not be the same");
    }
    names.at("categories").items().for_each(|name| label(errors, &name, name.text()));
}

fn column(errors: &mut Errors, column: &Node) {
    let (ty, format, path) = (column.at("type"), column.at("format"), column.at("jsonPath").called("JSONPath"));
    if column.at("name").is_empty() {
        errors.required(&column.at("name"), "");
    }
    let one_of = format!("must be one of {}", COLUMN_TYPES.join(","));
    if ty.is_empty() {
        errors.required(&ty, &one_of);
    } else if !COLUMN_TYPES.contains(&ty.text()) {
        errors.invalid(&ty, one_of);
    }
    if !format.is_empty() && !COLUMN_FORMATS.contains(&format.text()) {
        errors.invalid(&format, format!("must be one of {}", COLUMN_FORMATS.join(",")));
    }
    if path.is_empty() {
        errors.required(&path, "");
    } else {
        simple_path(errors, &path);
    }
}

/// Whether the path is simple; it is not looked into further.
fn simple_path(errors: &mut Errors, at: &Node) -> bool {
    let simple = at.text().starts_with('.');
    if !simple {
        errors.invalid_value(at, at.text(), "must be a simple json path starting with .");
    }
    simple
}

fn subresources(errors: &mut Errors, subresources: &Node) {
    let scale = subresources.at("scale");
    if !scale.exists() {
        return;
    }
    let paths = [
        ("specReplicasPath", "scale.specReplicasPath", &[".spec."] as &[&str], ".spec"),
        ("statusReplicasPath", "scale.statusReplicasPath", &[".status."], ".status"),
        ("labelSelectorPath", "scale.labelSelectorPath", &[".spec.", ".status."], "either .spec or .status"),
    ];
    for (field, place, roots, words) in paths {
        let at = scale.at(field).placed_at(&subresources.at(place));
        if at.is_empty() {
            if field != "labelSelectorPath" {
                errors.required(&at, "");
            }
        } else if simple_path(errors, &at) && !roots.iter().any(|root| at.text().starts_with(root)) {
            errors.invalid_value(&at, at.text(), format!("should be a json path under {words}"));
        }
    }
}

fn selectable(errors: &mut Errors, fields: &Node, schema: &Node, may_be_many: bool) {
    let structural = Structural::read(schema.value());
    let mut unique = HashSet::new();
    for path in fields.items().map(|field| field.at("jsonPath")) {
        if path.is_empty() {
            errors.required(&path, "");
            continue;
        }
        let found = match structural.root().find(path.text(), false) {
            Ok(found) => found,
            Err(error) => {
                errors.invalid(&path, format!("is an invalid path: {error}"));
                continue;
            }
        };
        if found.first == "metadata" {
            errors.invalid(&path, "must not point to fields in metadata");
        }
        let ty = found.node.and_then(|node| node.ty());
        if !matches!(ty, Some(Type::String | Type::Boolean | Type::Integer)) {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                          formats are allowed.";
            errors.invalid(&path, detail);
        }
        if !unique.insert(found.path) {
            errors.duplicate(&path, path.text());
        }
    }
    if unique.len() > SELECTABLE_MAX && !may_be_many {
        errors.too_many_of(fields, unique.len(), SELECTABLE_MAX);
    }
}
