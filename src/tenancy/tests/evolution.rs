//! Shared kinds that change: versions that are converted by rules, schemas that take each other's place, and what is told
//! beforehand.

use super::isolation::House;
use super::sharing::{binding, export};
use crate::tenancy::bindings;
use apiserver::auth::User;
use apiserver::object::Object;
use apiserver::pipeline::Peer;
use apiserver::strategy::Part;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const SCHEMAS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha1", "apiresourceschemas");
const CONVERSIONS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha1", "apiconversions");
const EXPORTS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha2", "apiexports");
const BINDINGS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha2", "apibindings");
const BOBS: &str = "root:ann-b";

/// Cowboys in two versions: names are in one field, and then in two.
fn schema(prefix: &str, stored: &str) -> Value {
    let text = json!({ "type": "string", "maxLength": 64 });
    let shape = |fields: Value| json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": fields } } });
    let name = json!({ "type": "object", "properties": { "first": text, "last": text } });
    let one = shape(json!({ "name": text, "age": text }));
    let two = shape(json!({ "name": name, "age": { "type": "integer" }, "hat": text }));
    let version =
        |name: &str, shape: Value| json!({ "name": name, "served": true, "storage": name == stored, "schema": shape });
    let names = json!({ "plural": "cowboys", "singular": "cowboy", "kind": "Cowboy", "listKind": "CowboyList" });
    let spec = json!({ "group": "wildwest.dev", "names": names, "scope": "Namespaced",
        "versions": [version("v1", one), version("v2", two)], "conversion": { "strategy": "None" } });
    json!({ "metadata": { "name": format!("{prefix}.cowboys.wildwest.dev") }, "spec": spec })
}

fn conversion(prefix: &str) -> Value {
    let there = json!([
        { "field": ".spec.name", "destination": ".spec.name.first", "transformation": "self.split(' ')[0]" },
        { "field": ".spec.name", "destination": ".spec.name.last",
            "transformation": "self.contains(' ') ? self.substring(self.indexOf(' ') + 1) : ''" },
        { "field": ".spec.age", "destination": ".spec.age", "transformation": "int(self)" },
    ]);
    let back = json!([
        { "field": ".spec.name", "destination": ".spec.name", "transformation": "(self.first + ' ' + self.last).trim()" },
        { "field": ".spec.age", "destination": ".spec.age", "transformation": "string(self)" },
    ]);
    let conversions = json!([{ "from": "v1", "to": "v2", "rules": there },
        { "from": "v2", "to": "v1", "rules": back, "preserve": [".spec.hat"] }]);
    json!({ "metadata": { "name": format!("{prefix}.cowboys.wildwest.dev") }, "spec": { "conversions": conversions } })
}

fn cowboy(version: &str, name: &str, spec: Value) -> Value {
    json!({ "apiVersion": format!("wildwest.dev/{version}"), "kind": "Cowboy", "metadata": { "name": name }, "spec": spec })
}

fn cowboys(version: &str) -> String {
    format!("/clusters/{BOBS}/apis/wildwest.dev/{version}/namespaces/default/cowboys")
}

impl House {
    /// Ann offers cowboys in two versions, and Bob takes them.
    async fn two_versions(&self) {
        self.put(SCHEMAS, "root:ann", None, schema("one", "v1")).await;
        self.put(CONVERSIONS, "root:ann", None, conversion("one")).await;
        self.put(EXPORTS, "root:ann", None, export("cowboys", "one")).await;
        self.put(BINDINGS, BOBS, None, binding("cowboys", "root:ann", "cowboys")).await;
    }

    async fn bob(&self, line: &str, body: Value) -> Value {
        let (code, text) = self.asked("bob", line, body).await;
        assert!((200..300).contains(&code), "{line}: {text}");
        serde_json::from_str(text.trim_start_matches("None")).unwrap()
    }

    /// The binding of Bob, once it is so.
    async fn bound(&self, is_so: impl Fn(&Object) -> bool) -> Object {
        let at = self.client.at(BINDINGS, &self.find(BOBS), None).unwrap().object("cowboys");
        let mut follow = self.client.follow(at.resource()).unwrap();
        let watch = async {
            loop {
                let found = self.client.get(&at).await.unwrap().unwrap();
                if is_so(&found) {
                    return found;
                }
                follow.next().await.unwrap();
            }
        };
        tokio::time::timeout(super::PATIENCE, watch).await.expect("the binding never became so")
    }

    async fn offer(&self, prefix: &str) {
        let at = self.client.at(EXPORTS, &self.find("root:ann"), None).unwrap().object("cowboys");
        let spec = json!({ "spec": export("cowboys", prefix)["spec"] });
        self.client.merge(&at, Part::Main, &spec).await.unwrap();
    }

    /// What Ann is told who asks what a write would do.
    async fn foretold(&self, line: &str, body: Value) -> Vec<String> {
        let ann = Peer::user(User::authenticated("ann", Vec::new()));
        let patch = [("content-type", "application/merge-patch+json")];
        let headers: &[_] = if line.starts_with("PATCH") { &patch } else { &[] };
        let (code, warnings) = self.warned(ann, &format!("{line}?dryRun=All"), headers, &body).await;
        assert!((200..300).contains(&code), "{line}: {code}");
        warnings
    }
}

#[tokio::test]
async fn a_bound_kind_is_converted_by_rules_in_every_version_that_is_served() {
    let house = House::new().await;
    house.two_versions().await;
    house
        .bob(&format!("POST {}", cowboys("v1")), cowboy("v1", "john", json!({ "name": "John Wayne", "age": "72" })))
        .await;
    let john = house.bob(&format!("GET {}/john", cowboys("v2")), Value::Null).await;
    assert_eq!(john["apiVersion"], "wildwest.dev/v2");
    assert_eq!(john["spec"], json!({ "name": { "first": "John", "last": "Wayne" }, "age": 72 }));
    // What only the newer version knows survives in the older one, and whatever is changed there.
    let calamity = json!({ "name": { "first": "Calamity", "last": "Jane" }, "age": 51, "hat": "brown" });
    let made = house.bob(&format!("POST {}", cowboys("v2")), cowboy("v2", "jane", calamity.clone())).await;
    assert_eq!(made["spec"], calamity);
    let mut old = house.bob(&format!("GET {}/jane", cowboys("v1")), Value::Null).await;
    assert_eq!(old["spec"], json!({ "name": "Calamity Jane", "age": "51" }));
    old["spec"]["age"] = json!("52");
    house.bob(&format!("PUT {}/jane", cowboys("v1")), old.clone()).await;
    let now = house.bob(&format!("GET {}/jane", cowboys("v2")), Value::Null).await;
    assert_eq!((&now["spec"]["age"], &now["spec"]["hat"]), (&json!(52), &json!("brown")));
    // Also by those who do not know of the annotation that it is kept in.
    let version =
        house.bob(&format!("GET {}/jane", cowboys("v1")), Value::Null).await["metadata"]["resourceVersion"].clone();
    let bare = json!({ "apiVersion": "wildwest.dev/v1", "kind": "Cowboy",
        "metadata": { "name": "jane", "resourceVersion": version },
        "spec": { "name": "Calamity Jane", "age": "53" } });
    house.bob(&format!("PUT {}/jane", cowboys("v1")), bare).await;
    let now = house.bob(&format!("GET {}/jane", cowboys("v2")), Value::Null).await;
    assert_eq!((&now["spec"]["age"], &now["spec"]["hat"]), (&json!(53), &json!("brown")));
    let all = house.bob(&format!("GET {}", cowboys("v2")), Value::Null).await;
    let ages: Vec<&Value> = all["items"].as_array().unwrap().iter().map(|one| &one["spec"]["age"]).collect();
    assert_eq!(ages, [&json!(53), &json!(72)]);
    let watched = house.asked("bob", &format!("GET {}?watch=true", cowboys("v2")), Value::Null).await.1;
    assert!(watched.contains("\"first\":\"John\"") && !watched.contains("wildwest.dev/v1\",\"kind\""), "{watched}");
}

#[tokio::test]
async fn the_window_of_an_exporter_shows_every_version_too() {
    let house = House::new().await;
    house.two_versions().await;
    house.bob(&format!("POST {}", cowboys("v1")), cowboy("v1", "john", json!({ "name": "John Wayne" }))).await;
    let home = house.find("root:ann");
    for onto in ["*", BOBS] {
        let list = format!("GET /services/apiexport/{home}/cowboys/clusters/{onto}/apis/wildwest.dev/v2/cowboys");
        let (code, text) = house.asked("ann", &list, Value::Null).await;
        assert!(code == 200 && text.contains("\"last\":\"Wayne\""), "{onto}: {text}");
    }
    let theirs =
        format!("/services/apiexport/{home}/cowboys/clusters/{BOBS}/apis/wildwest.dev/v2/namespaces/default/cowboys");
    let bill = cowboy("v2", "bill", json!({ "name": { "first": "Buffalo", "last": "Bill" } }));
    house.is(&house.asked("ann", &format!("POST {theirs}"), bill).await, 201);
    let bill = house.bob(&format!("GET {}/bill", cowboys("v1")), Value::Null).await;
    assert_eq!(bill["spec"]["name"], "Buffalo Bill");
}

#[tokio::test]
async fn nobody_writes_what_could_not_be_read_in_another_version() {
    let house = House::new().await;
    house.two_versions().await;
    let odd = cowboy("v1", "odd", json!({ "age": "old" }));
    let (code, text) = house.asked("bob", &format!("POST {}", cowboys("v1")), odd).await;
    assert_eq!(code, 422, "{text}");
    assert!(text.contains("spec.age") && text.contains("cannot be converted to wildwest.dev/v2"), "{text}");
    house.bob(&format!("POST {}", cowboys("v1")), cowboy("v1", "fine", json!({ "age": "1" }))).await;
    // Rules can be changed under objects: those who need the rule are told, and nobody else is.
    let stop = CancellationToken::new();
    let running = tokio::spawn(bindings::controller(&house.client).run(stop.clone()));
    let mut harsh = conversion("one");
    harsh["spec"]["conversions"][0]["rules"][2]["transformation"] = json!("int(self + 'x')");
    let converted =
        |binding: &Object| binding.annotation("internal.apis.kcp.io/conversions").unwrap_or_default().to_owned();
    let before = converted(&house.bound(|_| true).await);
    let at = house.client.at(CONVERSIONS, &house.find("root:ann"), None).unwrap();
    let at = at.object("one.cowboys.wildwest.dev");
    house.client.merge(&at, Part::Main, &json!({ "spec": harsh["spec"] })).await.unwrap();
    house.bound(|binding| converted(binding) != before).await;
    let (code, text) = house.asked("bob", &format!("GET {}/fine", cowboys("v2")), Value::Null).await;
    assert!(code == 500 && text.contains("Cowboy \\\"fine\\\" cannot be converted from wildwest.dev/v1"), "{text}");
    house.bob(&format!("GET {}/fine", cowboys("v1")), Value::Null).await;
    // It can still be changed and deleted where it is readable.
    let label = house.bob(&format!("GET {}/fine", cowboys("v1")), Value::Null).await;
    house.bob(&format!("PUT {}/fine", cowboys("v1")), label).await;
    house.bob(&format!("DELETE {}/fine", cowboys("v1")), Value::Null).await;
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn rules_are_checked_when_they_are_written() {
    let house = House::new().await;
    house.put(SCHEMAS, "root:ann", None, schema("one", "v1")).await;
    let place = "/clusters/root:ann/apis/apis.kcp.io/v1alpha1/apiconversions";
    let mut wrong = conversion("one");
    wrong["apiVersion"] = json!("apis.kcp.io/v1alpha1");
    wrong["kind"] = json!("APIConversion");
    wrong["spec"]["conversions"][0]["rules"][0]["transformation"] = json!("self + 1");
    let (code, text) = house.asked("ann", &format!("POST {place}"), wrong.clone()).await;
    assert!(code == 422 && text.contains("spec.conversions[0].rules[0].transformation"), "{text}");
    wrong["metadata"]["name"] = json!("two.cowboys.wildwest.dev");
    let (code, text) = house.asked("ann", &format!("POST {place}"), wrong).await;
    assert!(code == 422 && text.contains("there is no APIResourceSchema of this name"), "{text}");
}

#[tokio::test]
async fn what_was_stored_before_a_schema_was_replaced_is_converted_when_it_is_read() {
    let house = House::new().await;
    house.two_versions().await;
    house
        .bob(&format!("POST {}", cowboys("v1")), cowboy("v1", "john", json!({ "name": "John Wayne", "age": "72" })))
        .await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(bindings::controller(&house.client).run(stop.clone()));
    // Without rules the versions would not be converted any more: nobody follows there.
    house.put(SCHEMAS, "root:ann", None, schema("two", "v2")).await;
    house.offer("two").await;
    let told = |binding: &Object| {
        let found = binding.items(&["status", "conditions"]).find(|found| found["type"] == "BindingUpToDate").cloned();
        found.and_then(|found| found["message"].as_str().map(str::to_owned)).unwrap_or_default()
    };
    house.bound(|binding| told(binding).contains("there is no APIConversion \"two.cowboys.wildwest.dev\"")).await;
    house.put(CONVERSIONS, "root:ann", None, conversion("two")).await;
    let name =
        |binding: &Object| binding.items(&["status", "boundResources"]).next().unwrap()["schema"]["name"].clone();
    let moved = house.bound(|binding| name(binding) == "two.cowboys.wildwest.dev").await;
    assert_eq!(moved.items(&["status", "boundResources"]).next().unwrap()["storageVersions"], json!(["v1", "v2"]));
    for (version, spec) in [
        ("v2", json!({ "name": { "first": "John", "last": "Wayne" }, "age": 72 })),
        ("v1", json!({ "name": "John Wayne", "age": "72" })),
    ] {
        let john = house.bob(&format!("GET {}/john", cowboys(version)), Value::Null).await;
        assert_eq!(john["spec"], spec, "{version}");
    }
    // Whoever took the rules keeps them, whatever becomes of those who gave them.
    let at = house.client.at(CONVERSIONS, &house.find("root:ann"), None).unwrap();
    house.client.delete(&at.object("two.cowboys.wildwest.dev"), &Default::default()).await.unwrap();
    house.offer("two").await;
    let john = house.bob(&format!("GET {}/john", cowboys("v2")), Value::Null).await;
    assert_eq!(john["spec"]["name"]["last"], "Wayne");
    let home = house.find("root:ann");
    let seen = format!("GET /services/apiexport/{home}/cowboys/clusters/*/apis/wildwest.dev/v2/cowboys");
    let (code, text) = house.asked("ann", &seen, Value::Null).await;
    assert!(code == 200 && text.contains("\"last\":\"Wayne\""), "{text}");
    stop.cancel();
    running.await.unwrap();
}

/// The schema with versions that are changed: what becomes of each, by its name.
fn changed(prefix: &str, stored: &str, change: impl Fn(&str, &mut Value) -> bool) -> Value {
    let mut schema = schema(prefix, stored);
    let versions = schema["spec"]["versions"].as_array_mut().unwrap();
    versions.retain_mut(|version| {
        let name = version["name"].as_str().unwrap().to_owned();
        change(&name, version)
    });
    schema
}

#[tokio::test]
async fn a_version_goes_once_it_was_deprecated_and_nothing_is_stored_in_it() {
    let house = House::new().await;
    house.two_versions().await;
    for number in 0..40 {
        let spec = json!({ "name": "John Wayne", "age": number.to_string() });
        house.bob(&format!("POST {}", cowboys("v1")), cowboy("v1", &format!("john-{number}"), spec)).await;
    }
    let stop = CancellationToken::new();
    let running = tokio::spawn(bindings::controller(&house.client).run(stop.clone()));
    let only_v2 = |name: &str, _: &mut Value| name == "v2";
    house.put(SCHEMAS, "root:ann", None, changed("sudden", "v2", only_v2)).await;
    house.offer("sudden").await;
    let told = |binding: &Object| {
        let found = binding.items(&["status", "conditions"]).find(|found| found["type"] == "BindingUpToDate").cloned();
        found.and_then(|found| found["message"].as_str().map(str::to_owned)).unwrap_or_default()
    };
    let sudden = house.bound(|binding| told(binding).contains("was not deprecated before")).await;
    assert!(told(&sudden).contains("objects are stored in version v1"), "{}", told(&sudden));
    // As its users are told of in time: first it is deprecated, and no longer what is stored.
    let old = changed("two", "v2", |name, version| {
        version["deprecated"] = json!(name == "v1");
        true
    });
    house.put(SCHEMAS, "root:ann", None, old).await;
    house.put(CONVERSIONS, "root:ann", None, conversion("two")).await;
    house.offer("two").await;
    let stored =
        |binding: &Object| binding.items(&["status", "boundResources"]).next().unwrap()["storageVersions"].to_string();
    house.bound(|binding| stored(binding) == r#"["v1","v2"]"#).await;
    let bob = Peer::user(User::authenticated("bob", Vec::new()));
    let (code, warned) = house.warned(bob, &format!("GET {}/john-7", cowboys("v1")), &[], &Value::Null).await;
    assert!(code == 200 && warned[0].contains("wildwest.dev/v1 Cowboy is deprecated"), "{warned:?}");
    // And then it goes.
    house.put(SCHEMAS, "root:ann", None, changed("three", "v2", only_v2)).await;
    house.offer("three").await;
    let name =
        |binding: &Object| binding.items(&["status", "boundResources"]).next().unwrap()["schema"]["name"].clone();
    let moved = house.bound(|binding| name(binding) == "three.cowboys.wildwest.dev" && told(binding).is_empty()).await;
    assert_eq!(stored(&moved), r#"["v2"]"#);
    assert_eq!(house.asked("bob", &format!("GET {}", cowboys("v1")), Value::Null).await.0, 404);
    let all = house.bob(&format!("GET {}", cowboys("v2")), Value::Null).await;
    assert_eq!(all["items"].as_array().unwrap().len(), 40);
    let mut john = house.bob(&format!("GET {}/john-7", cowboys("v2")), Value::Null).await;
    assert_eq!(john["spec"], json!({ "name": { "first": "John", "last": "Wayne" }, "age": 7 }));
    john["spec"]["hat"] = json!("white");
    let john = house.bob(&format!("PUT {}/john-7", cowboys("v2")), john).await;
    assert_eq!((&john["spec"]["hat"], &john["apiVersion"]), (&json!("white"), &json!("wildwest.dev/v2")));
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn a_version_that_goes_at_once_goes_when_what_is_stored_has_been_written_again() {
    let house = House::new().await;
    house.two_versions().await;
    house.bob(&format!("POST {}", cowboys("v1")), cowboy("v1", "john", json!({ "name": "John Wayne" }))).await;
    let old = changed("two", "v2", |name, version| {
        version["deprecated"] = json!(name == "v1");
        true
    });
    house.put(SCHEMAS, "root:ann", None, old).await;
    house.put(CONVERSIONS, "root:ann", None, conversion("two")).await;
    house.offer("two").await;
    // Nobody looked while two schemas took each other's place; what is bound follows to one after the other.
    let at = house.client.at(BINDINGS, &house.find(BOBS), None).unwrap().object("cowboys");
    house.client.merge(&at, Part::Main, &json!({})).await.unwrap();
    house.put(SCHEMAS, "root:ann", None, changed("three", "v2", |name, _| name == "v2")).await;
    house.offer("three").await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(bindings::controller(&house.client).run(stop.clone()));
    let name =
        |binding: &Object| binding.items(&["status", "boundResources"]).next().unwrap()["schema"]["name"].clone();
    house.bound(|binding| name(binding) == "three.cowboys.wildwest.dev").await;
    let john = house.bob(&format!("GET {}/john", cowboys("v2")), Value::Null).await;
    assert_eq!(john["spec"]["name"]["last"], "Wayne");
    stop.cancel();
    running.await.unwrap();
}

fn narrower(prefix: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut narrower = super::sharing::schema(prefix, &["v1alpha1"]);
    change(&mut narrower["spec"]["versions"][0]["schema"]["properties"]["spec"]);
    narrower["apiVersion"] = json!("apis.kcp.io/v1alpha1");
    narrower["kind"] = json!("APIResourceSchema");
    narrower
}

#[tokio::test]
async fn whoever_asks_is_told_what_a_change_would_break() {
    let house = House::new().await;
    let export_at = "/clusters/root:ann/apis/apis.kcp.io/v1alpha2/apiexports/cowboys";
    house.share(json!({})).await;
    let short = narrower("short", |spec| spec["properties"]["intent"]["maxLength"] = json!(3));
    let odd = narrower("odd", |spec| {
        spec["properties"]["intent"] = json!({ "type": "integer" });
        spec["properties"].as_object_mut().unwrap().remove("hat");
        spec["properties"]["boots"] = json!({ "type": "string" });
        spec["required"] = json!(["boots"]);
    });
    for schema in [short.clone(), odd] {
        house.put(SCHEMAS, "root:ann", None, schema).await;
    }
    let moved = |prefix: &str| json!({ "spec": export("cowboys", prefix)["spec"] });
    let told = house.foretold(&format!("PATCH {export_at}"), moved("short")).await;
    assert_eq!(told, ["nobody has bound APIExport \"cowboys\""]);
    house.take(BOBS, json!([])).await;
    for (name, intent) in [("john", "ride"), ("jane", "nap")] {
        let cowboy = cowboy("v1alpha1", name, json!({ "intent": intent }));
        house.bob(&format!("POST {}", cowboys("v1alpha1")), cowboy).await;
    }
    let told = house.foretold(&format!("PATCH {export_at}"), moved("short")).await;
    let would = [
        "1 of 1 binding would follow to short.cowboys.wildwest.dev",
        "cowboys.wildwest.dev would accept less: v1alpha1: spec.intent: maxLength is 20 and would be 3",
        "cowboys.wildwest.dev: 1 of 2 stored objects, in 1 workspace, would not: spec.intent: Too long (1)",
    ];
    assert_eq!(told, would);
    let told = house.foretold(&format!("PATCH {export_at}"), moved("odd")).await;
    let broken = "1 of 1 binding would stay as it is: APIResourceSchema \"odd.cowboys.wildwest.dev\" would break what is \
                  bound: v1alpha1: spec.hat is gone; v1alpha1: spec.intent is of type string and would be of type \
                  integer; v1alpha1: spec.boots would be required";
    assert_eq!(told, [broken]);
    let none = house.foretold(&format!("PATCH {export_at}"), json!({ "spec": { "resources": [] } })).await;
    assert_eq!(none, ["cowboys.wildwest.dev would not be offered any more: 1 binding keeps what was bound"]);
    // The same is told of a schema that is not there yet, and nothing has happened.
    let mut next = short;
    next["metadata"]["name"] = json!("next.cowboys.wildwest.dev");
    let place = "/clusters/root:ann/apis/apis.kcp.io/v1alpha1/apiresourceschemas";
    let told = house.foretold(&format!("POST {place}"), next).await;
    assert_eq!(told, would.map(|line| line.replace("short.", "next.")));
    let bound = house.bound(|_| true).await;
    assert_eq!(
        bound.items(&["status", "boundResources"]).next().unwrap()["schema"]["name"],
        "today.cowboys.wildwest.dev"
    );
}

#[tokio::test]
async fn whoever_asks_is_told_what_rules_could_not_convert() {
    let house = House::new().await;
    house.two_versions().await;
    house.bob(&format!("POST {}", cowboys("v1")), cowboy("v1", "john", json!({ "age": "72" }))).await;
    let mut harsh = conversion("one");
    harsh["spec"]["conversions"][0]["rules"][2]["transformation"] = json!("int(self + 'x')");
    let at = "/clusters/root:ann/apis/apis.kcp.io/v1alpha1/apiconversions/one.cowboys.wildwest.dev";
    let told = house.foretold(&format!("PATCH {at}"), json!({ "spec": harsh["spec"] })).await;
    let last = told.last().map(String::as_str);
    let expected = "cowboys.wildwest.dev: 1 of 1 stored object, in 1 workspace, would not: spec.age could not be converted to v2 (1)";
    assert_eq!(last, Some(expected), "{told:?}");
}
