//! What this crate makes of expressions, compared with what Kubernetes makes of them. The files are in `vectors/`.

#![cfg(test)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use expression::kubernetes::{self, Attributes, Authorizer, Decision};
use expression::{Budget, CompileError, Declared, Environment, Error, Identity, Input, Type, Value};
use serde_json::{Value as Json, json};

fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    fs::read_to_string(path).unwrap()
}

/// A declaration out of a schema, and the type that Kubernetes declares for it.
fn declare(schema: &Json, ty: &Json) -> Declared {
    let max = ty["max"].as_u64().unwrap();
    let declared = match ty["type"].as_str().unwrap() {
        "dyn" => Declared::int_or_string(),
        "bool" => Declared::bool(),
        "int" => Declared::int(),
        "double" => Declared::double(),
        "string" => Declared::string(),
        "bytes" => Declared::bytes(),
        "google.protobuf.Duration" => Declared::duration(),
        "google.protobuf.Timestamp" if schema["format"] == "date" => Declared::date(),
        "google.protobuf.Timestamp" => Declared::date_time(),
        "list" => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten();
            let identity = match schema["x-kubernetes-list-type"].as_str() {
                Some("set") => Identity::Set,
                Some("map") => Identity::Keys(keys.map(|key| key.as_str().unwrap().into()).collect()),
                _ => Identity::Order,
            };
            Declared::list(declare(&schema["items"], &ty["items"]), identity)
        }
        "map" => Declared::map(declare(&schema["additionalProperties"], &ty["values"])),
        "object" => {
            let fields = ty["fields"].as_object().unwrap().iter().map(|(name, ty)| {
                let key = expression::unescape(name).unwrap();
                let field = declare(&schema["properties"][&key], ty);
                (key, field)
            });
            Declared::object(ty["name"].as_str().unwrap(), fields)
        }
        other => panic!("{other}"),
    };
    let declared = declared.at_most(max);
    if schema["nullable"] == true { declared.or_null() } else { declared }
}

/// A value as the vectors write it.
fn describe(value: &Value<'_>) -> Json {
    match value {
        Value::Null => json!({"null": null}),
        Value::Bool(value) => json!({"bool": value}),
        Value::Int(value) => json!({"int": value}),
        Value::Uint(value) => json!({"uint": value}),
        Value::Double(value) => json!({"double": value.to_string()}),
        Value::String(text) => json!({"string": **text}),
        Value::Bytes(_) => json!({"bytes": value.to_json().unwrap()}),
        Value::Duration(value) => json!({"duration": expression::format_duration(*value)}),
        Value::Timestamp(value) => json!({"timestamp": expression::format_timestamp(value)}),
        Value::List(list) => json!({"list": list.iter().map(|value| describe(&value.unwrap())).collect::<Vec<_>>()}),
        Value::Map(map) => {
            let entries = map.entries().unwrap();
            json!({"map": entries.iter().map(|(key, value)| [describe(key), describe(value)]).collect::<Vec<_>>()})
        }
        Value::Optional(None) => json!({"optional": null}),
        Value::Optional(Some(inner)) => json!({"optional": describe(inner)}),
        Value::Type(ty) => json!({"type": ty.name()}),
        Value::Opaque(opaque) => json!({opaque.ty().name(): opaque.to_json()}),
    }
}

/// Whether two answers agree. Opaque values need only be of one type if they have no text.
fn same(expected: &Json, found: &Json) -> bool {
    match (expected, found) {
        (Json::Object(expected), Json::Object(found)) if expected.len() == found.len() => {
            let agree = |(name, value): (&String, &Json)| {
                let silent = name.starts_with("kubernetes.") && value.is_null();
                let number = |value: &Json| value.as_str()?.parse::<f64>().ok().map(f64::to_bits);
                expected.get(name).is_some_and(|expected| match &**name {
                    "double" => number(expected) == number(value),
                    _ => silent || same(expected, value),
                })
            };
            found.iter().all(agree)
        }
        (Json::Array(expected), Json::Array(found)) if expected.len() == found.len() => {
            expected.iter().zip(found).all(|(expected, found)| same(expected, found))
        }
        _ => expected == found,
    }
}

struct World {
    on: BTreeMap<String, Json>,
}

impl World {
    fn read() -> World {
        World { on: serde_json::from_str(&file("schemas.json")).unwrap() }
    }

    fn environment(&self, on: &str, ty: &str) -> Environment {
        let on = &self.on[on];
        let declared = declare(&on["schema"], &on[ty]);
        let old = if on["optionalOldSelf"] == true { Declared::optional(declared.clone()) } else { declared.clone() };
        let environment = libraries(Environment::new()).variable("self", declared).variable("oldSelf", old);
        environment
            .variable("authorizer", Declared::given(Type::object("kubernetes.authorization.Authorizer")))
            .variable(
                "authorizer.requestResource",
                Declared::given(Type::object("kubernetes.authorization.ResourceCheck")),
            )
    }
}

fn libraries(environment: Environment) -> Environment {
    kubernetes::libraries().into_iter().fold(environment, Environment::with).with(kubernetes::json_patch())
}

/// Allows what only reads, and tells what it was asked.
#[derive(Debug)]
struct Parrot;

impl Authorizer for Parrot {
    fn authorize(&self, a: &Attributes) -> Decision {
        let account = a.service_account.as_ref();
        let user =
            account.map_or("ann".to_owned(), |(namespace, name)| format!("system:serviceaccount:{namespace}:{name}"));
        let reason = format!(
            "user={user} verb={} path={} group={} resource={}/{} object={}/{}",
            a.verb, a.path, a.group, a.resource, a.subresource, a.namespace, a.name
        );
        let error = (a.verb == "fail").then(|| "the authorizer is away".to_owned());
        Decision { allowed: ["get", "list", "watch"].contains(&&*a.verb), reason, error }
    }
}

fn request() -> Attributes {
    Attributes {
        group: "apps".to_owned(),
        resource: "deployments".to_owned(),
        subresource: "scale".to_owned(),
        namespace: "shop".to_owned(),
        name: "web".to_owned(),
        ..Attributes::default()
    }
}

/// Quantities and versions have no text of their own, but can be compared with what others make of theirs.
fn compared(case: &Json) -> Option<String> {
    let expression = &case["expression"].as_str().unwrap();
    let with = |parse: &str, text: &Json| Some(format!("{parse}({text}).compareTo({expression})"));
    match (&case["value"]["kubernetes.Quantity"], &case["value"]["kubernetes.Semver"]) {
        (Json::Null, Json::Null) => None,
        (Json::Null, version) => with("semver", version),
        (quantity, _) => with("quantity", quantity),
    }
}

/// What this crate makes of an expression, in the form of the vectors.
fn answer(world: &World, environments: &mut BTreeMap<String, [Environment; 2]>, case: &Json) -> Json {
    let on = case["on"].as_str().unwrap();
    let [limited, unlimited] = environments
        .entry(on.to_owned())
        .or_insert_with(|| [world.environment(on, "type"), world.environment(on, "unlimitedType")]);
    let text = case["expression"].as_str().unwrap();
    let mut out = json!({"on": on, "expression": text});
    let program = match limited.compile(text, &Type::Dyn) {
        Ok(program) => program,
        Err(CompileError::Program(error)) => {
            out["type"] = case["type"].clone();
            out["estimate"] = case["estimate"].clone();
            out["unlimited"] = case["unlimited"].clone();
            out["program"] = json!(error.to_string());
            return out;
        }
        Err(error) => {
            out["issues"] = json!(error.to_string());
            return out;
        }
    };
    let cost = program.estimate();
    out["type"] = json!(program.ty().to_string());
    out["estimate"] = json!([cost.min, cost.max]);
    let cost = unlimited.compile(text, &Type::Dyn).unwrap().estimate();
    out["unlimited"] = json!([cost.min, cost.max]);
    let data = &world.on[on];
    let mut inputs = vec![("self", Input::Json(&data["self"]))];
    if let Some(old) = data.get("oldSelf") {
        inputs.push(("oldSelf", Input::Json(old)));
    }
    inputs.push(("authorizer", Input::Value(kubernetes::authorizer(Arc::new(Parrot)))));
    inputs
        .push(("authorizer.requestResource", Input::Value(kubernetes::request_resource(Arc::new(Parrot), request()))));
    let mut budget = Budget::from(1_000_000);
    match program.run(&inputs, &mut budget) {
        Ok(value) => out["value"] = describe(&value),
        Err(error) => out["error"] = json!(error.to_string()),
    }
    out["cost"] = json!(1_000_000 - budget.cost);
    if let Some(comparison) = compared(case) {
        let program = limited.compile(&comparison, &Type::Int).unwrap();
        let order = program.run(&inputs, &mut Budget::from(1_000_000)).unwrap();
        assert_eq!(order.as_int(), Some(0), "{comparison}");
    }
    out
}

/// Where the answers differ for a reason, and should.
fn is_known(expected: &Json) -> bool {
    let text = expected["expression"].as_str().unwrap();
    let error = expected["error"].as_str().unwrap_or_default();
    // Go shows fields that no expression can name.
    (text == "self" && expected["on"] == "object")
        // Go trips over itself: keys of sortBy that cannot be computed are not a list.
        || error.starts_with("internal error: interface conversion")
}

fn differences(topic: &str) -> (usize, Vec<String>) {
    let world = World::read();
    let mut environments = BTreeMap::new();
    let text = file(&format!("{topic}.jsonl"));
    let (mut count, mut wrong) = (0, Vec::new());
    for line in text.lines() {
        let expected: Json = serde_json::from_str(line).unwrap();
        let found = answer(&world, &mut environments, &expected);
        count += 1;
        if is_known(&expected) {
            continue;
        }
        let keys = ["issues", "type", "estimate", "unlimited", "program", "value", "error", "cost"];
        for key in keys {
            if found.get("issues").is_some() && key != "issues" {
                continue;
            }
            // Go counts what it could not afford.
            if key == "cost" && expected["cost"].as_u64() > Some(1_000_000) && found["cost"] == 1_000_000 {
                continue;
            }
            if !same(&expected[key], &found[key]) {
                wrong.push(format!(
                    "{} [{}] {key}:\n  expected {}\n  found    {}",
                    expected["expression"], expected["on"], expected[key], found[key]
                ));
            }
        }
    }
    (count, wrong)
}

fn check(topic: &str) {
    let (count, wrong) = differences(topic);
    assert!(wrong.is_empty(), "{topic}: {} of {count}\n{}", wrong.len(), wrong.join("\n"));
}

macro_rules! topics {
    ($($topic:ident)*) => {
        $(#[test]
        fn $topic() {
            check(stringify!($topic));
        })*
    };
}

topics!(
    access authorizer comprehensions format functions jsonpatch lists net operators quantity random regex semver strings
    syntax texts url
);

#[test]
fn a_spent_budget_is_told() {
    let environment = Environment::new();
    let program = environment.compile("[1, 2, 3].all(x, [1, 2, 3].all(y, x + y > 0))", &Type::Bool).unwrap();
    assert_eq!(program.run(&[], &mut Budget::from(20)).unwrap_err(), Error::Cost);
}
