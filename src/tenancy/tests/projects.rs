//! Projects as Milo's clients make and delete them.

use super::*;
use crate::tenancy::projects;
use crate::tenancy::projects::PROJECTS;

const NAMESPACES: Resource = ("", "v1", "namespaces");

fn project(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "ownerRef": { "kind": "Organization", "name": "acme" } } })
}

fn tend(world: &World) -> CancellationToken {
    let stop = CancellationToken::new();
    tokio::spawn(departure::controller(&world.client).run(stop.clone()));
    tokio::spawn(projects::departure::controller(&world.client).run(stop.clone()));
    stop
}

#[tokio::test]
async fn a_project_is_ready_with_its_workspace_when_it_was_made() {
    let world = World::new().await;
    let at = world.put(PROJECTS, "root:default", None, project("one")).await;
    let made = world.client.get(&at).await.unwrap().unwrap();
    let ready: Vec<&Value> = made.items(&["status", "conditions"]).collect();
    assert_eq!((&ready[0]["type"], &ready[0]["status"]), (&json!("Ready"), &json!("True")));
    assert_eq!(made.text(&["metadata", "labels", "resourcemanager.miloapis.com/organization-name"]), "acme");
    let itself = world.client.get(&world.at(LOGICAL_CLUSTERS, "default:one", None, ITSELF)).await.unwrap().unwrap();
    assert_eq!(itself.text(&["spec", "owner", "uid"]), made.uid());
    assert_eq!(itself.text(&["spec", "owner", "resource"]), "projects");
    for namespace in ["default", "kube-system", "milo-system"] {
        let found = world.client.get(&world.at(NAMESPACES, "default:one", None, namespace)).await.unwrap();
        assert!(found.is_some(), "{namespace}");
    }
    let place = world.client.at(PROJECTS, &world.find("root:default").unwrap(), None).unwrap();
    world.make("root:default", "taken").await;
    assert!(world.client.create(&place, project("taken")).await.is_err(), "a workspace is called so already");
}

#[tokio::test]
async fn a_project_that_goes_takes_its_workspace_along_and_says_what_is_in_the_way() {
    let world = World::new().await;
    let at = world.put(PROJECTS, "root:default", None, project("one")).await;
    let id = world.find("default:one").unwrap();
    let held = json!({ "metadata": { "name": "held", "finalizers": ["example.com/waits"] } });
    let held = world.put(CONFIG_MAPS, "default:one", Some("default"), held).await;
    let stop = tend(&world);
    world.client.delete(&at, &DeleteOptions::default()).await.unwrap();
    let says = |object: Option<&Object>| {
        let mut conditions = object.into_iter().flat_map(|found| found.items(&["status", "conditions"]));
        let named = |message: &str| message.contains("default/held") && message.contains("example.com/waits");
        conditions.any(|found| found["type"] == "ResourceCleanup" && found["message"].as_str().is_some_and(named))
    };
    world.until(&at, says).await;
    let free = json!({ "metadata": { "finalizers": [] } });
    world.client.merge(&held, Part::Main, &free).await.unwrap();
    world.until(&at, |found| found.is_none()).await;
    assert_eq!(world.find("default:one"), None);
    assert_eq!(world.remains(&id), Vec::<String>::new());
    stop.cancel();
}
