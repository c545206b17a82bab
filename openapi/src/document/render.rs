//! Paths and schemas put together as documents of either version of OpenAPI.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::described::{Described, Exchange, Kind, Schema};
use super::operations::{self, Answer, Operation, Path};
use super::parameters::{Parameter, Place};
use super::schemas::{Dialect, Schemas, group_version_kind, object};

const TITLE: &str = "Kubernetes";
const SECURITY: &str = "BearerToken";

pub(super) fn v3(api_version: &str, described: &[Described<'_>]) -> Value {
    let Kind { group, version, .. } = Kind::of(api_version, "");
    let mut paths: Vec<Path<'_>> = described.iter().flat_map(operations::paths).collect();
    if !are_custom(described) {
        paths.insert(0, operations::resources(group, version));
    }
    let components =
        object([("schemas", all_schemas(described, Dialect::V3, &[api_version])), ("securitySchemes", security())]);
    object([
        ("openapi", "3.0.0".into()),
        ("info", info()),
        ("paths", all_paths(&paths, Dialect::V3)),
        ("components", components),
    ])
}

pub(super) fn v2(described: &[Described<'_>]) -> Value {
    let group_versions: BTreeSet<(&str, &str)> =
        described.iter().map(|described| (described.kind.group, described.kind.version)).collect();
    let mut paths: Vec<Path<'_>> =
        group_versions.iter().map(|(group, version)| operations::resources(group, version)).collect();
    paths.extend(described.iter().flat_map(operations::paths));
    let api_versions: Vec<String> = group_versions.iter().map(|(group, version)| join(group, version)).collect();
    let api_versions: Vec<&str> = api_versions.iter().map(String::as_str).collect();
    object([
        ("swagger", "2.0".into()),
        ("info", info()),
        ("paths", all_paths(&paths, Dialect::V2)),
        ("definitions", all_schemas(described, Dialect::V2, &api_versions)),
        ("securityDefinitions", security()),
        ("security", json!([{SECURITY: []}])),
    ])
}

/// Of custom resources only themselves are described.
fn are_custom(described: &[Described<'_>]) -> bool {
    !described.is_empty() && described.iter().all(|described| !described.builtin)
}

fn join(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn info() -> Value {
    json!({"title": TITLE, "version": "unversioned"})
}

fn security() -> Value {
    json!({SECURITY: {"type": "apiKey", "in": "header", "name": "authorization", "description": "a bearer token"}})
}

fn all_schemas(described: &[Described<'_>], dialect: Dialect, api_versions: &[&str]) -> Value {
    let mut schemas = Schemas::new(dialect, api_versions);
    if dialect == Dialect::V2 || !are_custom(described) {
        schemas.add_shared("APIResourceList");
    }
    for described in described {
        let has = |verb| described.verbs.contains(&verb);
        schemas.add(&described.schema);
        if has("list") {
            add_list(&mut schemas, described);
        }
        if has("patch") {
            schemas.add_patch();
        }
        if has("delete") {
            schemas.add_shared("DeleteOptions");
            schemas.add_shared("Status");
        }
        if has("watch") && described.builtin {
            schemas.add_shared("WatchEvent");
        }
        for part in &described.subresources {
            if let Exchange::Objects(schema) = &part.exchange {
                schemas.add(schema);
            }
        }
    }
    schemas.finish().into()
}

fn all_paths(paths: &[Path<'_>], dialect: Dialect) -> Value {
    paths.iter().map(|path| (path.url.clone(), one_path(path, dialect))).collect::<Map<_, _>>().into()
}

fn one_path(path: &Path<'_>, dialect: Dialect) -> Value {
    let mut item = Map::new();
    if !path.shared.is_empty() {
        item.insert("parameters".to_owned(), path.shared.iter().map(|shared| parameter(shared, dialect)).collect());
    }
    for operation in &path.operations {
        let mut rendered = common(operation, dialect);
        match dialect {
            Dialect::V2 => of_v2(operation, &mut rendered),
            Dialect::V3 => of_v3(operation, &mut rendered),
        }
        item.insert(operation.method.to_owned(), rendered.into());
    }
    item.into()
}

fn parameter(parameter: &Parameter, dialect: Dialect) -> Value {
    let place = match parameter.place {
        Place::Path => "path",
        Place::Query => "query",
    };
    let mut rendered = object([("name", parameter.name.into()), ("in", place.into())]);
    if !parameter.description.is_empty() {
        rendered["description"] = (*parameter.description).into();
    }
    if parameter.place == Place::Path {
        rendered["required"] = true.into();
    }
    match dialect {
        Dialect::V2 => {
            rendered["type"] = parameter.word.into();
            rendered["uniqueItems"] = true.into();
        }
        Dialect::V3 => {
            rendered["schema"] = object([("type", parameter.word.into()), ("uniqueItems", true.into())]);
        }
    }
    rendered
}

fn common(operation: &Operation<'_>, dialect: Dialect) -> Map<String, Value> {
    let mut rendered = Map::new();
    let mut say = |name: &str, value: Value| rendered.insert(name.to_owned(), value);
    say("operationId", operation.id.as_str().into());
    say("description", operation.description.as_str().into());
    say("tags", json!([operation.tag]));
    if let Some(action) = operation.action {
        say("x-kubernetes-action", action.into());
    }
    if let Some(kind) = operation.kind {
        say("x-kubernetes-group-version-kind", group_version_kind(kind));
    }
    if !operation.parameters.is_empty() {
        say("parameters", operation.parameters.iter().map(|one| parameter(one, dialect)).collect());
    }
    rendered
}

fn of_v3(operation: &Operation<'_>, rendered: &mut Map<String, Value>) {
    if let Some(body) = &operation.body {
        let schema = Dialect::V3.reference(&body.schema);
        let mut request = object([("content", content(operation.consumes, &schema))]);
        if body.required {
            request["required"] = true.into();
        }
        rendered.insert("requestBody".to_owned(), request);
    }
    let content = content(operation.produces, &answer(&operation.answer, Dialect::V3));
    let responses = responses(operation, |response| response["content"] = content.clone());
    rendered.insert("responses".to_owned(), responses);
}

fn of_v2(operation: &Operation<'_>, rendered: &mut Map<String, Value>) {
    if let Some(body) = &operation.body {
        let mut parameter = json!({"name": "body", "in": "body", "schema": Dialect::V2.reference(&body.schema)});
        if body.required {
            parameter["required"] = true.into();
        }
        match rendered.get_mut("parameters") {
            Some(Value::Array(parameters)) => parameters.insert(0, parameter),
            _ => drop(rendered.insert("parameters".to_owned(), json!([parameter]))),
        }
    }
    rendered.insert("consumes".to_owned(), json!(operation.consumes));
    rendered.insert("produces".to_owned(), json!(operation.produces));
    rendered.insert("schemes".to_owned(), json!(["https"]));
    let schema = answer(&operation.answer, Dialect::V2);
    rendered.insert("responses".to_owned(), responses(operation, |response| response["schema"] = schema.clone()));
}

fn content(types: &[&str], schema: &Value) -> Value {
    types.iter().map(|name| ((*name).to_owned(), object([("schema", schema.clone())]))).collect::<Map<_, _>>().into()
}

fn answer(answer: &Answer, dialect: Dialect) -> Value {
    match answer {
        Answer::Schema(name) => dialect.reference(name),
        Answer::Text => json!({"type": "string"}),
    }
}

fn responses(operation: &Operation<'_>, with_answer: impl Fn(&mut Value)) -> Value {
    let mut responses = Map::new();
    for code in operation.codes {
        let meaning = match code {
            201 => "Created",
            202 => "Accepted",
            _ => "OK",
        };
        let mut response = json!({"description": meaning});
        with_answer(&mut response);
        responses.insert(code.to_string(), response);
    }
    responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
    responses.into()
}

fn add_list(schemas: &mut Schemas<'_>, described: &Described<'_>) {
    let Kind { group, version, kind } = described.kind;
    match described.schema {
        Schema::Type(_) => schemas.add_named(&join(group, version), &format!("{kind}List")),
        Schema::Inline { name, value } => {
            let selectable = value.get("x-kubernetes-selectable-fields");
            schemas.add_inline_list(name, described.kind, described.plural, selectable);
        }
    }
}
