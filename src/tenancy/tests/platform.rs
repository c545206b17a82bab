//! Kinds that are defined where projects are made, and served in every project.

use super::*;
use crate::tenancy::projects::{self, PROJECTS};
use crate::upkeep;
use apiserver::keyspace::{self, Mark};

const DEFINITIONS: Resource = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");
const PLATFORM: &str = "root:default";

pub(super) fn definition(plural: &str, kind: &str, required: &str) -> Value {
    let spec = json!({ "type": "object", "required": [required], "properties": { "size": { "type": "integer" }, "color": { "type": "string" } } });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
    let names =
        json!({ "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List") });
    let spec = json!({ "group": "example.com", "names": names, "scope": "Namespaced", "versions": [version] });
    json!({ "metadata": { "name": format!("{plural}.example.com") }, "spec": spec })
}

fn widget(name: &str, spec: Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Widget", "metadata": { "name": name }, "spec": spec })
}

impl World {
    async fn project(&self, name: &str) -> Workspace {
        self.put(PROJECTS, PLATFORM, None, json!({ "metadata": { "name": name } })).await;
        self.find(&format!("default:{name}")).unwrap()
    }

    fn widgets(&self, workspace: &Workspace) -> Option<Collection> {
        let resource = self.client.catalog(workspace).unwrap().find("example.com", "v1", "widgets")?.clone();
        Some(Collection { resource, workspace: workspace.clone(), namespace: Some("default".to_owned()) })
    }

    async fn accepted(&self, path: &str, name: &str, expected: bool) {
        let expected = if expected { "True" } else { "False" };
        self.until(&self.at(DEFINITIONS, path, None, name), |found| {
            let mut conditions = found.into_iter().flat_map(|found| found.items(&["status", "conditions"]));
            conditions.any(|found| found["type"] == "NamesAccepted" && found["status"] == expected)
        })
        .await;
    }
}

#[tokio::test]
async fn what_the_platform_defines_every_project_serves_with_objects_of_its_own() {
    let world = World::new().await;
    let before = world.project("before").await;
    let other = world.make(ROOT, "acme").await;
    world.put(DEFINITIONS, PLATFORM, None, definition("widgets", "Widget", "size")).await;
    let after = world.project("after").await;
    for project in [&before, &after] {
        let place = world.widgets(project).unwrap();
        world.client.create(&place, widget("w", json!({ "size": 1 }))).await.unwrap();
        let refused = world.client.create(&place, widget("x", json!({ "color": "red" }))).await.unwrap_err();
        assert_eq!(refused.code(), 422, "{refused}");
        assert_eq!(world.client.list(&place).await.unwrap().len(), 1);
    }
    assert_eq!(world.client.list(&world.widgets(&Workspace::new(HOME)).unwrap()).await.unwrap().len(), 0);
    assert!(world.widgets(&Workspace::new(other.text(&["spec", "cluster"]))).is_none(), "it is no project");
    let marked = |workspace: &Workspace| {
        let mark = keyspace::mark(workspace, Mark::Definitions).unwrap();
        world.store.recent().get(mark.as_bytes()).unwrap().is_some()
    };
    assert!(!marked(&before) && !marked(&after), "nothing is kept of it in a project");
    let catalogs = [&before, &after].map(|project| world.client.catalog(project).unwrap());
    assert!(Arc::ptr_eq(&catalogs[0], &catalogs[1]), "projects that add nothing have one catalog");
}

#[tokio::test]
async fn a_changed_definition_counts_in_every_project_at_once() {
    let world = World::new().await;
    let project = world.project("one").await;
    let at = world.put(DEFINITIONS, PLATFORM, None, definition("widgets", "Widget", "size")).await;
    let known_before = world.widgets(&project).unwrap();
    let next = definition("widgets", "Widget", "color");
    world.client.merge(&at, Part::Main, &json!({ "spec": next["spec"] })).await.unwrap();
    // Whoever found the old one before is held to the new one.
    let refused = world.client.create(&known_before, widget("w", json!({ "size": 1 }))).await.unwrap_err();
    assert!(["Conflict", "Invalid"].contains(&refused.reason()), "{refused}");
    let place = world.widgets(&project).unwrap();
    world.client.create(&place, widget("w", json!({ "color": "red" }))).await.unwrap();
}

#[tokio::test]
async fn what_a_project_had_before_stays_its_own_and_a_name_that_is_lent_is_taken() {
    let world = World::new().await;
    let stop = CancellationToken::new();
    tokio::spawn(upkeep::definitions::controller(&world.client).run(stop.clone()));
    let (first, late) = (world.project("first").await, world.project("late").await);
    let own = world.put(DEFINITIONS, "default:first", None, definition("widgets", "Widget", "color")).await;
    world.client.create(&world.widgets(&first).unwrap(), widget("own", json!({ "color": "red" }))).await.unwrap();
    let platforms = world.put(DEFINITIONS, PLATFORM, None, definition("widgets", "Widget", "size")).await;
    let names = |found: Vec<Object>| found.iter().map(|found| found.name().to_owned()).collect::<Vec<_>>();
    let found = world.client.list(&world.widgets(&first).unwrap()).await.unwrap();
    assert_eq!(names(found), ["own"]);
    world.put(DEFINITIONS, "default:late", None, definition("widgets", "Widget", "color")).await;
    world.accepted("default:late", "widgets.example.com", false).await;
    world.client.create(&world.widgets(&late).unwrap(), widget("lent", json!({ "size": 1 }))).await.unwrap();
    // Its own goes with its objects, and the platform's takes its place, with none.
    world.client.delete(&own, &DeleteOptions::default()).await.unwrap();
    world.until(&own, |found| found.is_none()).await;
    let place = world.widgets(&first).unwrap();
    assert!(world.client.list(&place).await.unwrap().is_empty());
    world.client.create(&place, widget("lent", json!({ "size": 1 }))).await.unwrap();
    // The platform's goes with the objects of all projects, and leaves its name to who waits for it.
    world.client.delete(&platforms, &DeleteOptions::default()).await.unwrap();
    world.until(&platforms, |found| found.is_none()).await;
    assert!(world.widgets(&first).is_none());
    assert_eq!(world.store.recent().scan(keyspace::named("example.com", "widgets").unwrap()).count(), 0);
    world.accepted("default:late", "widgets.example.com", true).await;
    world.client.create(&world.widgets(&late).unwrap(), widget("own", json!({ "color": "red" }))).await.unwrap();
    stop.cancel();
}

#[tokio::test]
async fn a_definition_waits_for_objects_that_a_project_does_not_let_go() {
    let world = World::new().await;
    let stop = CancellationToken::new();
    tokio::spawn(upkeep::definitions::controller(&world.client).run(stop.clone()));
    let project = world.project("one").await;
    let at = world.put(DEFINITIONS, PLATFORM, None, definition("widgets", "Widget", "size")).await;
    let place = world.widgets(&project).unwrap();
    let mut held = widget("held", json!({ "size": 1 }));
    held["metadata"]["finalizers"] = json!(["example.com/waits"]);
    world.client.create(&place, held).await.unwrap();
    world.client.delete(&at, &DeleteOptions::default()).await.unwrap();
    world.until(&place.object("held"), |found| found.is_some_and(Object::is_deleting)).await;
    let place = world.widgets(&project).unwrap();
    let refused = world.client.create(&place, widget("new", json!({ "size": 1 }))).await.unwrap_err();
    assert!(refused.to_string().contains("definition is terminating"), "{refused}");
    assert!(world.client.get(&at).await.unwrap().is_some());
    world.client.merge(&place.object("held"), Part::Main, &json!({ "metadata": { "finalizers": [] } })).await.unwrap();
    world.until(&at, |found| found.is_none()).await;
    stop.cancel();
}

#[tokio::test]
async fn a_project_that_goes_takes_its_objects_of_lent_kinds_along_and_no_others() {
    let world = World::new().await;
    let stop = CancellationToken::new();
    tokio::spawn(departure::controller(&world.client).run(stop.clone()));
    tokio::spawn(projects::departure::controller(&world.client).run(stop.clone()));
    world.put(DEFINITIONS, PLATFORM, None, definition("widgets", "Widget", "size")).await;
    let (going, staying) = (world.project("going").await, world.project("staying").await);
    for project in [&going, &staying] {
        world.client.create(&world.widgets(project).unwrap(), widget("w", json!({ "size": 1 }))).await.unwrap();
    }
    let at = world.at(PROJECTS, PLATFORM, None, "going");
    world.client.delete(&at, &DeleteOptions::default()).await.unwrap();
    world.until(&at, |found| found.is_none()).await;
    let left = world.store.recent().scan(keyspace::named("example.com", "widgets").unwrap());
    let left: Vec<String> = left.map(|entry| entry.unwrap().key.to_string()).collect();
    assert_eq!(left, [format!("example.com/widgets/default/{staying}/default/w")]);
    stop.cancel();
}

#[tokio::test]
async fn a_project_lends_nothing_to_projects_in_it() {
    let world = World::new().await;
    world.project("outer").await;
    world.put(PROJECTS, "default:outer", None, json!({ "metadata": { "name": "inner" } })).await;
    let inner = world.find("default:outer:inner").unwrap();
    world.put(DEFINITIONS, PLATFORM, None, definition("widgets", "Widget", "size")).await;
    world.put(DEFINITIONS, "default:outer", None, definition("gadgets", "Gadget", "size")).await;
    let groups = world.client.catalog(&inner).unwrap();
    assert!(groups.group("example.com").is_none());
}

#[tokio::test]
async fn those_of_all_projects_are_seen_by_the_id_of_the_platform() {
    let world = World::new().await;
    world.put(DEFINITIONS, PLATFORM, None, definition("widgets", "Widget", "size")).await;
    for name in ["one", "two"] {
        let project = world.project(name).await;
        world.client.create(&world.widgets(&project).unwrap(), widget(name, json!({ "size": 1 }))).await.unwrap();
    }
    let (window, rest) = world.finder.window("/clusters/*/apis/example.com/v1/widgets:default").unwrap();
    assert_eq!(rest, "/apis/example.com/v1/widgets");
    let resource = window.unwrap().catalog.find("example.com", "v1", "widgets").unwrap().clone();
    assert_eq!(world.client.scan_everywhere(&resource).count(), 2);
    let (window, _) = world.finder.window("/clusters/*/apis/example.com/v1/widgets:nobody").unwrap();
    assert!(window.unwrap().catalog.find("example.com", "v1", "widgets").is_none());
}
