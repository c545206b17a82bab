//! Workspaces on a server in memory. Tests wait by watching until something is so.

mod content;
mod copies;
mod everywhere;
mod evolution;
mod homes;
mod isolation;
mod lasting;
mod mounts;
mod platform;
mod projects;
mod rest;
mod room;
mod sharing;
mod windows;

use super::reach::CELLS;
use super::words::{ITSELF, LOGICAL_CLUSTERS, TYPES, WORKSPACES};
use super::{Finder, HOME, ROOT, Tenancy, departure, seed};
use crate::definitions::{catalog, definitions};
use apiserver::ambient::Ambient;
use apiserver::api::FindWorkspace;
use apiserver::auth::{MASTERS, User};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use apiserver::place::{Collection, ObjectRef, Workspace};
use apiserver::resources::Resources;
use apiserver::strategy::Part;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use storage::{Options, Place, Store};
use tokio_util::sync::CancellationToken;

type Resource = (&'static str, &'static str, &'static str);
const CONFIG_MAPS: Resource = ("", "v1", "configmaps");

/// A condition that takes longer will not come true.
const PATIENCE: Duration = Duration::from_secs(30);

struct World {
    store: Store,
    client: Client,
    resources: Resources,
    finder: Finder,
}

impl World {
    async fn new() -> Self {
        let counted = Options { share_of: Some(keyspace::owner), ..Options::default() };
        let store = Store::open(&Place::Memory, counted).unwrap();
        let ours = crate::dialects::native::definitions::definitions()
            .into_iter()
            .map(|definition| Object::try_from(definition).unwrap());
        let catalog = Arc::new(catalog(definitions().chain(ours)));
        let tenancy = Arc::new(Tenancy::new("https://hanse".to_owned(), crate::bootstrap::rules()));
        let resources = Resources::attended(store.clone(), catalog, Ambient::real(), tenancy);
        let client = Client::as_system(resources.clone(), "tenancy");
        seed::seed(&client, "https://hanse").await.unwrap();
        Self { store, finder: Finder::new(client.clone()), client, resources }
    }

    fn find(&self, path: &str) -> Option<Workspace> {
        self.finder.find(Some(path))
    }

    fn at(&self, resource: Resource, path: &str, namespace: Option<&str>, name: &str) -> ObjectRef {
        self.client.at(resource, &self.find(path).unwrap(), namespace).unwrap().object(name)
    }

    async fn try_make(&self, parent: &str, name: &str, spec: Value) -> Result<Object, ApiError> {
        let place = self.client.at(WORKSPACES, &self.find(parent).unwrap(), None).unwrap();
        self.client.create(&place, json!({ "metadata": { "name": name }, "spec": spec })).await
    }

    async fn make(&self, parent: &str, name: &str) -> Object {
        self.try_make(parent, name, json!({})).await.unwrap()
    }

    async fn put(&self, resource: Resource, path: &str, namespace: Option<&str>, object: Value) -> ObjectRef {
        let place = self.client.at(resource, &self.find(path).unwrap(), namespace).unwrap();
        let made = self.client.create(&place, object).await.unwrap();
        place.object(made.name())
    }

    async fn until(&self, at: &ObjectRef, is_so: impl Fn(Option<&Object>) -> bool) {
        let mut follow = self.client.follow(at.resource()).unwrap();
        let watch = async {
            while !is_so(self.client.get(at).await.unwrap().as_ref()) {
                follow.next().await.unwrap();
            }
        };
        assert!(tokio::time::timeout(PATIENCE, watch).await.is_ok(), "{} never became so", at.name);
    }

    /// Whether anything at all is kept of a workspace.
    fn remains(&self, id: &Workspace) -> Vec<String> {
        let catalog = self.client.catalog(id).unwrap();
        let mut found = Vec::new();
        for resource in catalog.stored() {
            let keys = self.client.scan_everywhere(resource).map(|entry| entry.unwrap().key.to_string());
            found.extend(keys.filter(|key| key.split('/').nth(3) == Some(id.as_str())));
        }
        let internals = self.client.scan_internals(id).unwrap().into_iter().flatten();
        found.extend(internals.map(|entry| entry.unwrap().key.to_string()));
        found
    }
}

#[tokio::test]
async fn a_workspace_is_ready_and_has_everything_in_it_when_it_was_made() {
    let world = World::new().await;
    let made = world.make(ROOT, "acme").await;
    assert_eq!((made.text(&["status", "phase"]), made.text(&["spec", "type", "name"])), ("Ready", "organization"));
    assert_eq!(made.text(&["spec", "URL"]), "https://hanse/clusters/root:acme");
    let id = made.text(&["spec", "cluster"]);
    assert_eq!(id.len(), 16);
    let found = world.find("root:acme").unwrap();
    assert_eq!((found.as_str(), world.find(id)), (id, Some(found.clone())));
    let itself = world.client.get(&world.at(LOGICAL_CLUSTERS, "root:acme", None, ITSELF)).await.unwrap().unwrap();
    assert_eq!(itself.annotation("kcp.io/path"), Some("root:acme"));
    assert_eq!(itself.text(&["spec", "owner", "uid"]), made.uid());
    assert_eq!(itself.text(&["spec", "createdBy", "username"]), "system:hanse:tenancy");
    for namespace in ["default", "kube-system"] {
        let at = world.at(("", "v1", "namespaces"), "root:acme", None, namespace);
        assert_eq!(world.client.get(&at).await.unwrap().unwrap().text(&["status", "phase"]), "Active");
    }
    let at = world.at(("rbac.authorization.k8s.io", "v1", "clusterrolebindings"), "root:acme", None, "workspace-admin");
    assert!(world.client.get(&at).await.unwrap().is_none(), "a part of the server is nobody's administrator");
}

#[tokio::test]
async fn a_workspace_is_found_by_its_path_its_id_and_below_any_other() {
    let world = World::new().await;
    let acme = world.make(ROOT, "acme").await;
    let team = world.make("root:acme", "team").await;
    let id = |workspace: &Object| Some(Workspace::new(workspace.text(&["spec", "cluster"])));
    assert_eq!(world.find("root:acme:team"), id(&team));
    assert_eq!(world.find(&format!("{}:team", acme.text(&["spec", "cluster"]))), id(&team));
    assert_eq!(team.text(&["spec", "type", "name"]), "universal");
    assert_eq!(world.finder.find(None), Some(Workspace::new(HOME)));
    assert_eq!(world.find("root:default"), Some(Workspace::new(HOME)));
    assert_eq!(world.find("root%3Aacme%3ateam"), id(&team));
    for unknown in ["root:team", "acme", "root:acme:team:x", "root:acme/team", "root:acm%65", "*", ""] {
        assert_eq!(world.find(unknown), None, "{unknown}");
    }
}

#[tokio::test]
async fn whoever_makes_a_workspace_may_do_everything_in_it_and_nobody_else_anything() {
    let world = World::new().await;
    let maker = User::authenticated("ada", vec![MASTERS.to_owned()]);
    let ada = Client::as_user(world.resources.clone(), Arc::new(maker));
    let place = ada.at(WORKSPACES, &world.find(ROOT).unwrap(), None).unwrap();
    ada.create(&place, json!({ "metadata": { "name": "adas" } })).await.unwrap();
    world.make(ROOT, "other").await;
    let may = async |name: &str, path: &str| {
        let somebody = Client::as_user(world.resources.clone(), Arc::new(User::authenticated(name, Vec::new())));
        let secrets = somebody.at(("", "v1", "secrets"), &world.find(path).unwrap(), Some("default")).unwrap();
        somebody.list(&secrets).await.is_ok()
    };
    assert!(may("ada", "root:adas").await);
    for (name, path) in [("ada", "root:other"), ("ada", ROOT), ("eve", "root:adas"), ("ada", "root:default")] {
        assert!(!may(name, path).await, "{name} in {path}");
    }
}

#[tokio::test]
async fn nobody_names_a_workspace_as_a_cell_who_could_not_do_everything_there() {
    let world = World::new().await;
    for (maker, name) in [("ada", "adas"), ("bob", "bobs")] {
        let maker = User::authenticated(maker, vec![MASTERS.to_owned()]);
        let maker = Client::as_user(world.resources.clone(), Arc::new(maker));
        let place = maker.at(WORKSPACES, &world.find(ROOT).unwrap(), None).unwrap();
        maker.create(&place, json!({ "metadata": { "name": name } })).await.unwrap();
    }
    let ada = Client::as_user(world.resources.clone(), Arc::new(User::authenticated("ada", Vec::new())));
    let cells = ada.at(CELLS, &world.find("root:adas").unwrap(), None).unwrap();
    let cell = |name: &str, at: &str| json!({ "metadata": { "name": name }, "spec": { "workspace": at } });
    for at in ["root:bobs", "root", "root:nowhere", "root:default"] {
        let refused = ada.create(&cells, cell("theirs", at)).await.unwrap_err();
        assert!(refused.code() == 403 && refused.message().contains("may not do everything"), "{at}: {refused}");
    }
    ada.create(&cells, cell("own", "root:adas")).await.unwrap();
    let moved = json!({ "spec": { "workspace": "root:bobs" } });
    assert_eq!(ada.merge(&cells.object("own"), Part::Main, &moved).await.unwrap_err().code(), 403);
    ada.merge(&cells.object("own"), Part::Main, &json!({ "spec": { "region": "here" } })).await.unwrap();
}

#[tokio::test]
async fn a_second_start_finds_what_the_first_one_made() {
    let world = World::new().await;
    let before = world.client.get(&world.at(WORKSPACES, ROOT, None, HOME)).await.unwrap().unwrap();
    seed::seed(&world.client, "https://elsewhere").await.unwrap();
    let after = world.client.get(&world.at(WORKSPACES, ROOT, None, HOME)).await.unwrap().unwrap();
    assert_eq!(before.uid(), after.uid());
    assert_eq!(after.text(&["spec", "URL"]), "https://elsewhere/clusters/root:default");
}

#[tokio::test]
async fn a_server_that_moved_says_everywhere_where_it_is_now() {
    let world = World::new().await;
    world.make(ROOT, "acme").await;
    world.provider("wild").await;
    let kinds = [
        (WORKSPACES, ROOT, "acme", "clusters/root:acme"),
        (LOGICAL_CLUSTERS, "root:acme", ITSELF, "clusters/root:acme"),
        (TYPES, ROOT, "team", "services/initializingworkspaces/root:team"),
        (("apis.kcp.io", "v1alpha1", "apiexportendpointslices"), "root:wild", "cowboys", "services/apiexport/"),
    ];
    // Only whoever starts knows the address; objects of kinds that are looked after are completed with it.
    let tenancy = Arc::new(Tenancy::new("https://elsewhere:1".to_owned(), crate::bootstrap::rules()));
    let catalog = world.resources.builtin().clone();
    let moved = Resources::attended(world.store.clone(), catalog, Ambient::real(), tenancy);
    let client = Client::as_system(moved, "tenancy");
    super::address::refresh(client, "https://elsewhere:1".to_owned(), CancellationToken::new()).await;
    for (kind, path, name, rest) in kinds {
        let text = Value::from(world.client.get(&world.at(kind, path, None, name)).await.unwrap().unwrap()).to_string();
        assert!(text.contains(&format!("https://elsewhere:1/{rest}")) && !text.contains("https://hanse/"), "{text}");
    }
}

#[tokio::test]
async fn a_type_decides_where_a_workspace_can_be_and_what_is_asked_of_it_first() {
    let world = World::new().await;
    world.make(ROOT, "acme").await;
    let typed = |name: &str| json!({ "type": { "name": name } });
    let refused = world.try_make("root:acme", "sub", typed("organization")).await.unwrap_err();
    assert!(refused.message().contains("cannot be created in a workspace of type root:organization"), "{refused}");
    let refused = world.try_make("root:acme", "sub", typed("unheard-of")).await.unwrap_err();
    assert!(refused.message().contains("workspace type unheard-of does not exist"), "{refused}");
    // A type of a workspace is found from everywhere below it.
    let special = json!({
        "metadata": { "name": "special" },
        "spec": {
            "initializer": true, "extend": { "with": [{ "name": "universal", "path": "root" }] },
            "additionalWorkspaceLabels": { "tier": "gold" }, "limitAllowedChildren": { "none": true },
        },
    });
    world.put(TYPES, "root:acme", None, special).await;
    let team = world.try_make("root:acme", "team", typed("team")).await.unwrap();
    assert_eq!(team.text(&["spec", "type", "path"]), "root");
    let made = world.try_make("root:acme:team", "s", typed("special")).await.unwrap();
    assert_eq!(made.text(&["spec", "type", "path"]), "root:acme");
    assert_eq!(
        (made.text(&["status", "phase"]), made.labels().unwrap()["tier"].as_str()),
        ("Initializing", Some("gold"))
    );
    assert_eq!(
        made.pointer(&["status", "initializers"]),
        Some(&json!([format!("{}:special", world.find("root:acme").unwrap())]))
    );
    let refused = world.try_make("root:acme:team:s", "x", typed("universal")).await.unwrap_err();
    assert!(refused.message().contains("does not allow children"), "{refused}");
}

#[tokio::test]
async fn a_type_says_that_it_can_be_used_and_where_workspaces_wait_for_it() {
    let world = World::new().await;
    world.make(ROOT, "acme").await;
    let special = json!({ "metadata": { "name": "special" }, "spec": { "initializer": true } });
    world.put(TYPES, "root:acme", None, special).await;
    for (path, name) in [(ROOT, "team"), ("root:acme", "special")] {
        let of = world.client.get(&world.at(TYPES, path, None, name)).await.unwrap().unwrap();
        let conditions: Vec<_> = of.items(&["status", "conditions"]).map(|of| (&of["type"], &of["status"])).collect();
        assert_eq!(json!(conditions), json!([["Ready", "True"], ["VirtualWorkspaceURLsReady", "True"]]));
        assert_eq!(of.annotation("kcp.io/path"), Some(path));
        let id = world.find(path).unwrap();
        assert_eq!(of.annotation("kcp.io/cluster"), Some(id.as_str()));
        let url = |stage: &str| json!({ "type": stage, "url": format!("https://hanse/services/{stage}workspaces/{id}:{name}") });
        let seen = json!([url("initializing"), url("terminating")]);
        assert_eq!(of.pointer(&["status", "virtualWorkspaces"]), Some(&seen));
    }
}

#[tokio::test]
async fn names_that_no_path_could_have_are_refused() {
    let world = World::new().await;
    for name in ["a.b", &"x".repeat(64)] {
        assert_eq!(world.try_make(ROOT, name, json!({})).await.unwrap_err().code(), 422, "{name}");
    }
    let longest = "x".repeat(63);
    world.make(ROOT, &longest).await;
    assert!(world.find(&format!("root:{longest}")).is_some());
}

#[tokio::test]
async fn a_workspace_that_goes_takes_everything_along() {
    let world = World::new().await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(departure::controller(&world.client).run(stop.clone()));
    world.make(ROOT, "acme").await;
    world.make("root:acme", "team").await;
    let (acme, team) = (world.find("root:acme").unwrap(), world.find("root:acme:team").unwrap());
    for number in 0..250 {
        let object = json!({ "metadata": { "name": format!("c{number}") } });
        world.put(CONFIG_MAPS, "root:acme:team", Some("default"), object).await;
    }
    let at = world.at(WORKSPACES, ROOT, None, "acme");
    world.client.delete(&at, &DeleteOptions::default()).await.unwrap();
    world.until(&at, |found| found.is_none()).await;
    assert_eq!((world.find("root:acme"), world.find(acme.as_str()), world.find(team.as_str())), (None, None, None));
    assert_eq!(world.remains(&acme), Vec::<String>::new());
    assert_eq!(world.remains(&team), Vec::<String>::new());
    assert!(world.find("root:default").is_some());
    stop.cancel();
    running.await.unwrap();
}

#[tokio::test]
async fn a_workspace_that_cannot_go_says_what_is_in_the_way() {
    let world = World::new().await;
    let stop = CancellationToken::new();
    let running = tokio::spawn(departure::controller(&world.client).run(stop.clone()));
    world.make(ROOT, "acme").await;
    world.make("root:acme", "team").await;
    let stuck = json!({ "metadata": { "name": "stuck", "finalizers": ["example.com/never"] } });
    let stuck = world.put(CONFIG_MAPS, "root:acme:team", Some("default"), stuck).await;
    let at = world.at(WORKSPACES, ROOT, None, "acme");
    world.client.delete(&at, &DeleteOptions::default()).await.unwrap();
    let told = |found: Option<&Object>| {
        let mut conditions = found.unwrap().items(&["status", "conditions"]);
        conditions.any(|condition| {
            let message = condition["message"].as_str().unwrap_or_default();
            message.contains("workspaces.tenancy.kcp.io team (core.kcp.io/logicalcluster: ")
                && message.contains("configmaps default/stuck (example.com/never)")
        })
    };
    world.until(&at, told).await;
    // It is still there for those who have to tidy up, and takes nothing new.
    assert!(world.client.get(&stuck).await.unwrap().unwrap().is_deleting());
    assert!(world.try_make("root:acme", "late", json!({})).await.is_err());
    world.client.merge(&stuck, Part::Main, &json!({ "metadata": { "finalizers": null } })).await.unwrap();
    world.until(&at, |found| found.is_none()).await;
    stop.cancel();
    running.await.unwrap();
}
