//! Documents as clients read them. What they hold, field by field, is compared in `tests/go`.

use serde_json::{Value, json};

use super::*;

fn document(api_version: &str) -> Value {
    serde_json::from_slice(&v3(api_version).unwrap()).unwrap()
}

/// The value at a JSON pointer.
fn check(document: &Value, pointer: &str, expected: Value) {
    assert_eq!(document.pointer(pointer), Some(&expected), "{pointer}");
}

fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let of = |(url, path)| {
        let methods = Value::as_object(path).unwrap().iter().filter(|(name, _)| *name != "parameters");
        methods.map(move |(method, operation)| (String::as_str(url), method.as_str(), operation))
    };
    paths.iter().flat_map(of).collect()
}

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("$ref").and_then(Value::as_str));
            map.values().for_each(|inner| references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[test]
fn every_builtin_resource_is_described() {
    let described: usize = v3_paths().into_iter().map(|at| described::builtin(at).len()).sum();
    assert_eq!(described, table().resources.len());
    assert_eq!(v3("no.such.group/v1"), None);
}

#[test]
fn every_reference_leads_to_a_schema_of_the_document() {
    let check = |document: &Value, place: &str| {
        let mut found = Vec::new();
        references(document, &mut found);
        for reference in found {
            assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{place}: {reference}");
        }
    };
    v3_paths().into_iter().for_each(|at| check(&document(at), at));
    check(&v2_tree(), "v2");
}

/// kubectl asks every PATCH operation whether its server knows field validation, and which patches it takes.
#[test]
fn patch_operations_say_what_kubectl_asks() {
    let mut seen = 0;
    for at in v3_paths() {
        let document = document(at);
        for (url, _, operation) in operations(&document)
            .into_iter()
            .filter(|(_, method, operation)| *method == "patch" && operation["x-kubernetes-action"] == "patch")
        {
            let parameters = operation["parameters"].as_array().unwrap();
            let names: Vec<&str> = parameters.iter().map(|parameter| parameter["name"].as_str().unwrap()).collect();
            assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"], "{url}");
            assert!(operation["x-kubernetes-group-version-kind"]["kind"].is_string(), "{url}");
            let content = operation["requestBody"]["content"].as_object().unwrap();
            assert!(content.contains_key("application/strategic-merge-patch+json"), "{url}");
            seen += 1;
        }
    }
    assert!(seen > 80, "{seen}");
}

#[test]
fn schemas_say_how_lists_merge_and_what_is_left_out_means() {
    let document = document("apps/v1");
    let of = |ty: &str| format!("/components/schemas/io.k8s.api.core.v1.{ty}/properties");
    let containers = of("PodSpec") + "/containers";
    check(&document, &format!("{containers}/x-kubernetes-list-type"), json!("map"));
    check(&document, &format!("{containers}/x-kubernetes-list-map-keys"), json!(["name"]));
    check(&document, &format!("{containers}/x-kubernetes-patch-merge-key"), json!("name"));
    check(&document, &(of("ContainerPort") + "/protocol/default"), json!("TCP"));
    check(&document, &(of("ContainerPort") + "/protocol/enum"), json!(["SCTP", "TCP", "UDP"]));
    let kinds = json!([{"group": "apps", "version": "v1", "kind": "Deployment"}]);
    check(&document, "/components/schemas/io.k8s.api.apps.v1.Deployment/x-kubernetes-group-version-kind", kinds);
}

/// `kubectl explain` shows them.
#[test]
fn types_and_their_fields_are_explained() {
    let is_said = |schema: &Value| schema["description"].is_string();
    // Their definitions say nothing either.
    let silent = |ty: &str, field: &str| match ty.rsplit('.').next().unwrap() {
        "JSONSchemaProps" | "ExternalDocumentation" | "WatchEvent" | "GroupResource" => true,
        "CertificateSigningRequest" => field == "metadata",
        _ => false,
    };
    for at in v3_paths() {
        for (name, schema) in document(at)["components"]["schemas"].as_object().unwrap() {
            assert!(is_said(schema), "{name}");
            for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
                assert!(is_said(schema) || silent(name, field), "{name}.{field}");
            }
        }
    }
}

#[test]
fn a_document_is_the_same_bytes_each_time() {
    assert_eq!(v3("batch/v1"), v3("batch/v1"));
    assert_eq!(v2(), v2());
}

fn widget(schema: &Value) -> Described<'_> {
    let kind = Kind::of("shop.example.com/v1", "Widget");
    let schema = Schema::Inline { name: "com.example.shop.v1.Widget", value: schema };
    Described {
        kind,
        plural: "widgets",
        namespaced: true,
        verbs: vec!["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        schema,
        builtin: false,
        returned_when_deleted: false,
        subresources: vec![Part {
            name: "status",
            kind,
            verbs: vec!["get", "patch", "update"],
            exchange: Exchange::Objects(schema),
        }],
    }
}

fn widget_schema() -> Value {
    let meta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    json!({"type": "object", "required": ["spec", "note"], "properties": {
        "metadata": {"allOf": [{"$ref": meta}], "description": "who it is"},
        "note": {"type": "string", "nullable": true},
        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "sizes": {"type": "array", "items": {"type": "integer", "anyOf": [{"minimum": 1}], "default": 2}},
    }})
}

#[test]
fn custom_resources_are_documented_the_same_way() {
    let schema = widget_schema();
    let document = v3_of("shop.example.com/v1", &[widget(&schema)]);
    check(&document, "/components/schemas/com.example.shop.v1.Widget", schema);
    let items = json!({"$ref": "#/components/schemas/com.example.shop.v1.Widget"});
    let list = "/components/schemas/com.example.shop.v1.WidgetList/properties";
    check(&document, &format!("{list}/items/items"), items);
    let conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
    let metadata = json!({
        "allOf": [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"}],
        "description": format!("Standard list metadata. More info: {conventions}#types-kinds"),
    });
    check(&document, &format!("{list}/metadata"), metadata);
    let description = json!(format!("List of widgets. More info: {conventions}"));
    check(&document, &format!("{list}/items/description"), description);
    let item = "/paths/~1apis~1shop.example.com~1v1~1namespaces~1{namespace}~1widgets~1{name}";
    check(&document, &format!("{item}/patch/operationId"), json!("patchShopExampleComV1NamespacedWidget"));
    let patches = document.pointer(&format!("{item}/patch/requestBody/content")).unwrap().as_object().unwrap();
    assert!(!patches.contains_key("application/strategic-merge-patch+json"));
    assert!(document.pointer(&format!("{item}~1status/put")).is_some());
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.iter().all(|reference| document.pointer(reference.trim_start_matches('#')).is_some()));
}

#[test]
fn custom_resources_are_reduced_to_what_version_2_can_say() {
    let schema = widget_schema();
    let document = v2_of(&[widget(&schema)]);
    let meta = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let reduced = json!({"type": "object", "required": ["spec"], "properties": {
        "metadata": {"$ref": meta, "description": "who it is"},
        "note": {},
        "spec": {"x-kubernetes-preserve-unknown-fields": true},
        "sizes": {"type": "array", "items": {"type": "integer"}},
    }});
    check(&document, "/definitions/com.example.shop.v1.Widget", reduced);
    check(&document, "/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta/type", json!("object"));
}

#[test]
fn version_2_has_a_protobuf_form() {
    let check = |document: Value, expected: &[u8]| assert_eq!(v2_protobuf(&document), expected, "{document}");
    check(json!({"swagger": "2.0"}), b"\x0a\x032.0");
    check(json!({"info": {"title": "a", "version": "b"}, "unknown": 1}), b"\x12\x06\x0a\x01a\x12\x01b");
    check(json!({"x-a": [1]}), b"\x82\x01\x0c\x0a\x03x-a\x12\x05\x12\x03[1]");
    let definitions = json!({"definitions": {"A": {"type": "string"}}});
    check(definitions, b"\x4a\x12\x0a\x10\x0a\x01A\x12\x0b\xb2\x01\x08\x0a\x06string");
    check(json!({"security": [{"B": []}]}), b"\x62\x07\x0a\x05\x0a\x01B\x12\x00");
    check(json!({"swagger": 2, "paths": []}), b"\x42\x00");
}
