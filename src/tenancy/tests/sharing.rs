//! APIs that one workspace offers and others take.

use super::World;
use crate::tenancy::bindings;
use apiserver::auth::User;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use apiserver::place::Collection;
use apiserver::strategy::Part;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

const SCHEMAS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha1", "apiresourceschemas");
pub(super) const EXPORTS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha2", "apiexports");
pub(super) const BINDINGS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha2", "apibindings");
const OLD_EXPORTS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha1", "apiexports");
const OLD_BINDINGS: (&str, &str, &str) = ("apis.kcp.io", "v1alpha1", "apibindings");

pub(super) fn schema(prefix: &str, versions: &[&str]) -> Value {
    let field = json!({ "type": "string", "maxLength": 20 });
    let spec =
        json!({ "type": "object", "properties": { "intent": field, "hat": { "type": "string", "default": "black" } } });
    let shape = json!({ "type": "object", "properties": { "spec": spec, "status": { "type": "object",
        "x-kubernetes-preserve-unknown-fields": true } } });
    let version = |(at, name): (usize, &&str)| json!({ "name": name, "served": true, "storage": at == 0, "schema": shape, "subresources": { "status": {} } });
    let versions: Vec<Value> = versions.iter().enumerate().map(version).collect();
    let names = json!({ "plural": "cowboys", "singular": "cowboy", "kind": "Cowboy", "listKind": "CowboyList" });
    let mut spec = json!({ "group": "wildwest.dev", "names": names, "scope": "Namespaced", "versions": versions });
    if versions.len() > 1 {
        spec["conversion"] = json!({ "strategy": "None" });
    }
    json!({ "metadata": { "name": format!("{prefix}.cowboys.wildwest.dev") }, "spec": spec })
}

pub(super) fn export(name: &str, schema: &str) -> Value {
    let resource =
        json!({ "name": "cowboys", "group": "wildwest.dev", "schema": format!("{schema}.cowboys.wildwest.dev") });
    json!({ "metadata": { "name": name }, "spec": { "resources": [resource] } })
}

pub(super) fn binding(name: &str, path: &str, export: &str) -> Value {
    let reference = json!({ "export": { "path": path, "name": export } });
    json!({ "metadata": { "name": name }, "spec": { "reference": reference } })
}

impl World {
    /// A workspace that offers cowboys.
    pub(super) async fn provider(&self, name: &str) -> Object {
        self.make("root", name).await;
        let path = format!("root:{name}");
        self.put(SCHEMAS, &path, None, schema("today", &["v1alpha1"])).await;
        let at = self.put(EXPORTS, &path, None, export("cowboys", "today")).await;
        self.client.get(&at).await.unwrap().unwrap()
    }

    pub(super) async fn bind(&self, path: &str, name: &str, from: &str) -> Object {
        let at = self.put(BINDINGS, path, None, binding(name, from, "cowboys")).await;
        self.client.get(&at).await.unwrap().unwrap()
    }

    /// Cowboys, as a workspace has them.
    pub(super) fn cowboys(&self, path: &str) -> Option<Collection> {
        let workspace = self.find(path).unwrap();
        let catalog = self.client.catalog(&workspace).unwrap();
        let resource = catalog.find("wildwest.dev", "v1alpha1", "cowboys")?.clone();
        Some(Collection { resource, workspace, namespace: Some("default".to_owned()) })
    }

    pub(super) async fn cowboy(&self, path: &str, name: &str) -> Result<Object, ApiError> {
        let place = self.cowboys(path).expect("cowboys are served");
        self.client.create(&place, json!({ "metadata": { "name": name }, "spec": { "intent": "ride" } })).await
    }

    async fn names(&self, path: &str) -> Vec<String> {
        let all = self.client.list(&self.cowboys(path).expect("cowboys are served")).await.unwrap();
        all.iter().map(|object| object.name().to_owned()).collect()
    }
}

fn condition(object: &Object, name: &str) -> String {
    let found = object.items(&["status", "conditions"]).find(|found| found["type"] == name);
    let found = found.unwrap_or_else(|| panic!("{name} is not said: {object:?}"));
    if found["status"] == "True" { "True".to_owned() } else { found["message"].as_str().unwrap().to_owned() }
}

#[tokio::test]
async fn what_is_bound_can_be_used_with_the_next_request() {
    let world = World::new().await;
    let export = world.provider("wild").await;
    let identity = export.text(&["status", "identityHash"]).to_owned();
    assert_eq!((identity.len(), condition(&export, "IdentityValid").as_str()), (64, "True"));
    assert_eq!(export.annotation("kcp.io/path"), Some("root:wild"));
    let slice = world.at(("apis.kcp.io", "v1alpha1", "apiexportendpointslices"), "root:wild", None, "cowboys");
    let slice = world.client.get(&slice).await.unwrap().unwrap();
    let id = world.find("root:wild").unwrap();
    assert_eq!(
        slice.pointer(&["status", "endpoints"]),
        Some(&json!([{ "url": format!("https://hanse/services/apiexport/{id}/cowboys") }]))
    );
    for consumer in ["a", "b"] {
        world.make("root", consumer).await;
    }
    assert!(world.cowboys("root:a").is_none());
    let bound = world.bind("root:a", "cowboys", "root:wild").await;
    assert_eq!((bound.text(&["status", "phase"]), condition(&bound, "Ready").as_str()), ("Bound", "True"));
    assert_eq!(bound.text(&["status", "apiExportClusterName"]), id.as_str());
    let first = bound.items(&["status", "boundResources"]).next().unwrap();
    assert_eq!(
        (first["schema"]["identityHash"].as_str(), &first["storageVersions"]),
        (Some(&*identity), &json!(["v1alpha1"]))
    );
    let john = world.cowboy("root:a", "john").await.unwrap();
    assert_eq!(john.text(&["spec", "hat"]), "black");
    assert_eq!(john.annotation("kcp.io/cluster"), Some(world.find("root:a").unwrap().as_str()));
    let place = world.cowboys("root:a").unwrap();
    let refused =
        world.client.create(&place, json!({ "metadata": { "name": "x" }, "spec": { "intent": "x".repeat(21) } }));
    assert_eq!(refused.await.unwrap_err().code(), 422);
    let status = json!({ "status": { "seen": true } });
    let changed = world.client.merge(&place.object("john"), Part::Status, &status).await.unwrap();
    assert_eq!(changed.pointer(&["status", "seen"]), Some(&json!(true)));
    // Nobody else has them, and whoever takes them has none of others.
    assert!(world.cowboys("root:b").is_none() && world.cowboys("root:wild").is_none());
    world.bind("root:b", "cowboys", "root:wild").await;
    assert!(world.names("root:b").await.is_empty());
    let catalog = |path: &str| world.client.catalog(&world.find(path).unwrap()).unwrap();
    assert!(Arc::ptr_eq(&catalog("root:a"), &catalog("root:b")), "what is shared is described once");
}

#[tokio::test]
async fn kinds_of_two_exports_never_mix() {
    let world = World::new().await;
    world.provider("north").await;
    world.provider("south").await;
    world.make("root", "a").await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(bindings::controller(&world.client).run(stop.clone()));
    world.bind("root:a", "first", "root:north").await;
    world.cowboy("root:a", "john").await.unwrap();
    let second = world.bind("root:a", "second", "root:south").await;
    assert_eq!(second.text(&["status", "phase"]), "Binding");
    let told = condition(&second, "InitialBindingCompleted");
    assert!(told.contains("naming conflict with APIBinding \"first\": spec.names.plural=cowboys"), "{told}");
    assert_eq!(world.names("root:a").await, ["john"]);
    // The one that waited gets its turn when the other goes, and finds nothing of it.
    let at = world.at(BINDINGS, "root:a", None, "first");
    world.client.delete(&at, &DeleteOptions::default()).await.unwrap();
    let second = world.at(BINDINGS, "root:a", None, "second");
    world.until(&second, |found| found.unwrap().text(&["status", "phase"]) == "Bound").await;
    assert!(world.names("root:a").await.is_empty());
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn a_binding_that_goes_takes_its_objects_along_and_says_what_is_in_the_way() {
    let world = World::new().await;
    world.provider("wild").await;
    world.make("root", "a").await;
    world.bind("root:a", "cowboys", "root:wild").await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(bindings::controller(&world.client).run(stop.clone()));
    for name in ["john", "jane"] {
        world.cowboy("root:a", name).await.unwrap();
    }
    let jane = world.cowboys("root:a").unwrap().object("jane");
    let held = json!({ "metadata": { "finalizers": ["example.com/never"] } });
    world.client.merge(&jane, Part::Main, &held).await.unwrap();
    let at = world.at(BINDINGS, "root:a", None, "cowboys");
    world.client.delete(&at, &DeleteOptions::default()).await.unwrap();
    let told = |found: Option<&Object>| {
        found.unwrap().items(&["status", "conditions"]).any(|condition| {
            let message = condition["message"].as_str().unwrap_or_default();
            message.contains("cowboys.wildwest.dev default/jane (example.com/never)")
        })
    };
    world.until(&at, told).await;
    let refused = world.cowboy("root:a", "late").await.unwrap_err();
    assert_eq!(refused.code(), 403, "{refused}");
    world.client.merge(&jane, Part::Main, &json!({ "metadata": { "finalizers": null } })).await.unwrap();
    world.until(&at, |found| found.is_none()).await;
    assert!(world.cowboys("root:a").is_none());
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn whoever_may_not_bind_is_not_told_whether_there_is_anything() {
    let world = World::new().await;
    world.provider("wild").await;
    world.make("root", "a").await;
    let ada = Client::as_user(world.resources.clone(), Arc::new(User::authenticated("ada", Vec::new())));
    let roles = ("rbac.authorization.k8s.io", "v1", "clusterroles");
    let role_bindings = ("rbac.authorization.k8s.io", "v1", "clusterrolebindings");
    let bind_role = |role: &str| {
        json!({ "metadata": { "name": role }, "subjects": [{ "apiGroup": roles.0, "kind": "User", "name": "ada" }],
            "roleRef": { "apiGroup": roles.0, "kind": "ClusterRole", "name": role } })
    };
    world.put(role_bindings, "root:a", None, bind_role("cluster-admin")).await;
    let place = world.client.at(BINDINGS, &world.find("root:a").unwrap(), None).unwrap();
    let tried = async |path: &str, name: &str| ada.create(&place, binding("b", path, name)).await;
    let mut told = Vec::new();
    for (path, name) in [("root:wild", "cowboys"), ("root:wild", "nothing"), ("root:nowhere", "cowboys")] {
        let refused = tried(path, name).await.unwrap_err();
        assert_eq!(refused.code(), 403);
        told.push(refused.message().replace(&format!("{path}:{name}"), "it"));
    }
    assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
    let rule = json!({ "apiGroups": ["apis.kcp.io"], "resources": ["apiexports"], "resourceNames": ["cowboys"], "verbs": ["bind"] });
    world.put(roles, "root:wild", None, json!({ "metadata": { "name": "bind" }, "rules": [rule] })).await;
    world.put(role_bindings, "root:wild", None, bind_role("bind")).await;
    let bound = tried("root:wild", "cowboys").await.unwrap();
    assert_eq!(bound.text(&["status", "phase"]), "Bound");
    // What a binding says of itself is not its author's to say.
    let forged = json!({ "status": { "boundResources": [] } });
    let refused = ada.merge(&place.object("b"), Part::Status, &forged).await.unwrap_err();
    assert_eq!(refused.code(), 403, "{refused}");
}

#[tokio::test]
async fn the_older_version_says_the_same() {
    let world = World::new().await;
    world.make("root", "wild").await;
    world.make("root", "a").await;
    world.put(SCHEMAS, "root:wild", None, schema("today", &["v1alpha1"])).await;
    let spec = json!({ "latestResourceSchemas": ["today.cowboys.wildwest.dev"],
        "permissionClaims": [{ "group": "", "resource": "configmaps", "all": true }] });
    let old =
        world.put(OLD_EXPORTS, "root:wild", None, json!({ "metadata": { "name": "cowboys" }, "spec": spec })).await;
    let shown = world.client.get(&old).await.unwrap().unwrap();
    assert_eq!(shown.pointer(&["spec", "latestResourceSchemas"]), Some(&spec["latestResourceSchemas"]));
    assert!(!shown.text(&["status", "identityHash"]).is_empty());
    let new = world.client.get(&world.at(EXPORTS, "root:wild", None, "cowboys")).await.unwrap().unwrap();
    assert_eq!(
        new.pointer(&["spec", "permissionClaims"]),
        Some(&json!([{ "group": "", "resource": "configmaps", "identityHash": "", "verbs": ["*"] }]))
    );
    let mut accepted = binding("cowboys", "root:wild", "cowboys");
    accepted["spec"]["permissionClaims"] =
        json!([{ "group": "", "resource": "configmaps", "all": true, "state": "Accepted" }]);
    let at = world.put(OLD_BINDINGS, "root:a", None, accepted).await;
    let shown = world.client.get(&at).await.unwrap().unwrap();
    assert_eq!(
        (shown.text(&["status", "phase"]), condition(&shown, "PermissionClaimsValid").as_str()),
        ("Bound", "True")
    );
    let new = world.client.get(&world.at(BINDINGS, "root:a", None, "cowboys")).await.unwrap().unwrap();
    let applied = new.items(&["status", "appliedPermissionClaims"]).next().unwrap();
    assert_eq!((&applied["verbs"], &applied["selector"]), (&json!(["*"]), &json!({ "matchAll": true })));
}

#[tokio::test]
async fn a_schema_is_checked_like_a_definition_and_stays_as_it_is() {
    let world = World::new().await;
    world.make("root", "wild").await;
    let place = world.client.at(SCHEMAS, &world.find("root:wild").unwrap(), None).unwrap();
    let mut shapeless = schema("today", &["v1alpha1"]);
    shapeless["spec"]["versions"][0]["schema"] = json!({ "type": "object", "properties": { "spec": {} } });
    let refused = world.client.create(&place, shapeless).await.unwrap_err();
    assert!(refused.message().contains("spec.versions[0].schema.properties[spec].type"), "{refused}");
    let mut misnamed = schema("today", &["v1alpha1"]);
    misnamed["metadata"]["name"] = json!("cowboys.wildwest.dev");
    assert_eq!(world.client.create(&place, misnamed).await.unwrap_err().code(), 422);
    world.client.create(&place, schema("today", &["v1alpha1"])).await.unwrap();
    let change = json!({ "spec": { "scope": "Cluster" } });
    let at = place.object("today.cowboys.wildwest.dev");
    let refused = world.client.merge(&at, Part::Main, &change).await.unwrap_err();
    assert!(refused.message().contains("spec is immutable"), "{refused}");
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    world.client.merge(&at, Part::Main, &label).await.unwrap();
}

#[tokio::test]
async fn bindings_follow_an_export_to_a_schema_that_breaks_nothing() {
    let world = World::new().await;
    world.provider("wild").await;
    world.make("root", "a").await;
    world.bind("root:a", "cowboys", "root:wild").await;
    world.cowboy("root:a", "john").await.unwrap();
    let stop = CancellationToken::new();
    let running = tokio::spawn(bindings::controller(&world.client).run(stop.clone()));
    for (prefix, versions) in [("next", &["v1beta1", "v1alpha1"][..]), ("bad", &["v2"])] {
        world.put(SCHEMAS, "root:wild", None, schema(prefix, versions)).await;
    }
    let at = world.at(EXPORTS, "root:wild", None, "cowboys");
    let binding = world.at(BINDINGS, "root:a", None, "cowboys");
    let moved = |schema: &str| json!({ "spec": export("cowboys", schema)["spec"] });
    world.client.merge(&at, Part::Main, &moved("next")).await.unwrap();
    let name = |found: Option<&Object>| {
        found.unwrap().items(&["status", "boundResources"]).next().unwrap()["schema"]["name"].clone()
    };
    world.until(&binding, |found| name(found) == "next.cowboys.wildwest.dev").await;
    let john = world.client.get(&world.cowboys("root:a").unwrap().object("john")).await.unwrap().unwrap();
    assert_eq!(john.text(&["spec", "intent"]), "ride");
    let catalog = world.client.catalog(&world.find("root:a").unwrap()).unwrap();
    assert!(catalog.find("wildwest.dev", "v1beta1", "cowboys").is_some());
    world.client.merge(&at, Part::Main, &moved("bad")).await.unwrap();
    world
        .until(&binding, |found| condition(found.unwrap(), "BindingUpToDate").contains("v1alpha1 is no longer served"))
        .await;
    let kept = world.client.get(&binding).await.unwrap();
    assert_eq!(name(kept.as_ref()), "next.cowboys.wildwest.dev");
    assert_eq!(condition(kept.as_ref().unwrap(), "Ready"), "True");
    // Whoever offered it may go: what was taken stays.
    world.client.delete(&at, &DeleteOptions::default()).await.unwrap();
    world.until(&binding, |found| condition(found.unwrap(), "APIExportValid").contains("not found")).await;
    world.cowboy("root:a", "jane").await.unwrap();
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn a_definition_does_not_get_a_name_that_is_bound() {
    let world = World::new().await;
    world.provider("wild").await;
    world.make("root", "a").await;
    world.bind("root:a", "cowboys", "root:wild").await;
    let names = json!({ "plural": "cowboys", "singular": "cowboy", "kind": "Cowboy", "listKind": "CowboyList" });
    let shape = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": shape } });
    let spec = json!({ "group": "wildwest.dev", "names": names, "scope": "Namespaced", "versions": [version] });
    let definitions = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let made = json!({ "metadata": { "name": "cowboys.wildwest.dev" }, "spec": spec });
    let at = world.put(definitions, "root:a", None, made).await;
    let made = world.client.get(&at).await.unwrap().unwrap();
    assert!(condition(&made, "NamesAccepted").contains("already in use"));
    assert!(world.cowboys("root:a").is_some());
}
