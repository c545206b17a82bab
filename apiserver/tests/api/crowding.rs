//! Many writers at once: nothing is given twice, nothing is lost, nothing is overdrawn.

use apiserver::ambient::Ambient;
use apiserver::catalog::Catalog;
use apiserver::client::Client;
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use apiserver::place::{Collection, Workspace};
use apiserver::resources::Resources;
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use storage::{Options, Place, Store};

const WRITERS: usize = 40;

struct World {
    client: Client,
}

impl World {
    async fn new() -> Self {
        let store = Store::open(&Place::Memory, Options::default()).unwrap();
        let client = Client::as_system(Resources::new(store, Arc::new(Catalog::builtin()), Ambient::real()), "test");
        let world = Self { client };
        for workspace in ["w", "v"] {
            let namespaces = world.at(workspace, "namespaces", None);
            world.client.create(&namespaces, json!({ "metadata": { "name": "n" } })).await.unwrap();
        }
        world
    }

    fn at(&self, workspace: &str, plural: &str, namespace: Option<&str>) -> Collection {
        let group = if plural == "ipaddresses" { "networking.k8s.io" } else { "" };
        self.client.at((group, "v1", plural), &Workspace::new(workspace), namespace).unwrap()
    }

    /// Makes as many objects at the same time; what became of those that were made, and why the others were not.
    async fn make(&self, at: &Collection, object: impl Fn(usize) -> Value) -> (Vec<Object>, Vec<String>) {
        let all = join_all((0..WRITERS).map(|number| self.client.create(at, object(number)))).await;
        let (made, refused): (Vec<_>, Vec<_>) = all.into_iter().partition(Result::is_ok);
        let why = refused.into_iter().filter_map(|outcome| outcome.err().map(|error| error.message().to_owned()));
        (made.into_iter().flatten().collect(), why.collect())
    }
}

fn service(number: usize, spec: Value) -> Value {
    json!({ "metadata": { "name": format!("s{number}") }, "spec": spec })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_two_services_get_the_same() {
    let world = World::new().await;
    let services = world.at("w", "services", Some("n"));
    let spec = json!({ "type": "NodePort", "ports": [{ "port": 80 }] });
    let (made, refused) = world.make(&services, |number| service(number, spec.clone())).await;
    assert_eq!(refused, Vec::<String>::new());
    let addresses: BTreeSet<String> = made.iter().map(|made| made.text(&["spec", "clusterIP"]).to_owned()).collect();
    let ports: BTreeSet<i64> =
        made.iter().filter_map(|made| made.items(&["spec", "ports"]).next()?["nodePort"].as_i64()).collect();
    assert_eq!((addresses.len(), ports.len()), (WRITERS, WRITERS));
    let kept = world.client.list(&world.at("w", "ipaddresses", None)).await.unwrap();
    assert_eq!(kept.iter().map(|address| address.name().to_owned()).collect::<BTreeSet<_>>(), addresses);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_many_ask_for_one_gets_and_gives_back() {
    let world = World::new().await;
    let services = world.at("w", "services", Some("n"));
    for spec in [
        json!({ "clusterIP": "10.0.0.9", "ports": [{ "port": 80 }] }),
        json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": 30_007 }] }),
    ] {
        let (made, refused) = world.make(&services, |number| service(number, spec.clone())).await;
        assert_eq!((made.len(), refused.len()), (1, WRITERS - 1));
        assert!(refused.iter().all(|why| why.contains("is already allocated")), "{refused:?}");
        let other = world.at("v", "services", Some("n"));
        world.client.create(&other, service(0, spec.clone())).await.expect("another workspace has its own");
        let one = services.object(made[0].name());
        world.client.delete(&one, &DeleteOptions::default()).await.unwrap();
        world.client.create(&services, service(WRITERS, spec.clone())).await.expect("it was given back");
        world.client.delete(&services.object(&format!("s{WRITERS}")), &DeleteOptions::default()).await.unwrap();
        world.client.delete(&other.object("s0"), &DeleteOptions::default()).await.unwrap();
    }
    assert!(world.client.list(&world.at("w", "ipaddresses", None)).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_overdraws_a_quota() {
    let world = World::new().await;
    let quotas = world.at("w", "resourcequotas", Some("n"));
    let spec = json!({ "hard": { "count/configmaps": "7" } });
    world.client.create(&quotas, json!({ "metadata": { "name": "q" }, "spec": spec })).await.unwrap();
    let maps = world.at("w", "configmaps", Some("n"));
    let (made, refused) = world.make(&maps, |number| json!({ "metadata": { "name": format!("m{number}") } })).await;
    assert_eq!((made.len(), refused.len()), (7, WRITERS - 7));
    let full =
        "exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=7, limited: count/configmaps=7";
    assert!(refused.iter().all(|why| why.ends_with(full)), "{refused:?}");
    let quota = world.client.get(&quotas.object("q")).await.unwrap().unwrap();
    assert_eq!(
        quota.get("status"),
        Some(&json!({ "hard": { "count/configmaps": "7" }, "used": { "count/configmaps": "7" } }))
    );
}
