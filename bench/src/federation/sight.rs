//! What can be seen of a collection by a watch: what is there, how it is, and since when.

use bench::client::Client;
use bench::kubeconfig::Access;
use http::Method;
use http_body_util::BodyExt;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What takes longer does not work.
const PATIENCE: Duration = Duration::from_secs(600);

/// What objects of a measurement are labelled with, here and in cells.
pub const LABEL: &str = "bench%3Dyes";

#[derive(Deserialize)]
struct Event {
    r#type: String,
    object: Found,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Found {
    metadata: Named,
    spec: Numbers,
    status: Numbers,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
    annotations: HashMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Numbers {
    replicas: i64,
    ready_replicas: i64,
}

/// An object as it was seen last.
#[derive(Clone, Debug)]
pub struct Seen {
    pub at: Instant,
    pub is_there: bool,
    pub replicas: i64,
    pub ready: i64,
    /// What an annotation of the measurement says.
    pub mark: String,
}

type Objects = Arc<Mutex<HashMap<String, Seen>>>;

/// A collection that is watched until this is dropped.
pub struct Sight {
    objects: Objects,
    changes: watch::Receiver<u64>,
    watching: JoinHandle<()>,
}

impl Sight {
    /// Returns when the watch has begun.
    pub async fn of(access: &Access, collection: &str) -> Self {
        let client = Client::open(access, 1).await.expect("a connection");
        let path = format!("{collection}?watch=1&timeoutSeconds=3600&labelSelector={LABEL}");
        let mut answer = client.send(0, Method::GET, &path, String::new()).await.expect("an answer");
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let objects = Objects::default();
        let (told, changes) = watch::channel(0);
        let seen = objects.clone();
        let watching = tokio::spawn(async move {
            let mut line = Vec::new();
            while let Some(Ok(frame)) = answer.frame().await {
                for byte in frame.data_ref().into_iter().flatten() {
                    line.push(*byte);
                    if *byte == b'\n' {
                        take(&seen, &line);
                        line.clear();
                    }
                }
                told.send_modify(|count| *count += 1);
            }
        });
        Self { objects, changes, watching }
    }

    /// How many objects are as they should be.
    pub fn number(&self, fits: impl Fn(&str, &Seen) -> bool) -> u64 {
        self.objects.lock().expect("no panic").iter().filter(|(name, seen)| fits(name, seen)).count() as u64
    }

    /// When an object came to be as it should be.
    pub async fn when(&self, name: &str, fits: impl Fn(&Seen) -> bool) -> Instant {
        let find = || self.objects.lock().expect("no panic").get(name).filter(|seen| fits(seen)).map(|seen| seen.at);
        self.until(name, find).await
    }

    /// When so many objects are as they should be.
    pub async fn all(&self, count: u64, fits: impl Fn(&str, &Seen) -> bool) -> Instant {
        let find = || (self.number(&fits) >= count).then(Instant::now);
        self.until("all of them", find).await
    }

    async fn until<T>(&self, what: &str, find: impl Fn() -> Option<T>) -> T {
        let mut changes = self.changes.clone();
        let waiting = async {
            loop {
                changes.borrow_and_update();
                if let Some(found) = find() {
                    return found;
                }
                changes.changed().await.expect("the watch goes on");
            }
        };
        let found = tokio::time::timeout(PATIENCE, waiting).await;
        found.unwrap_or_else(|_| panic!("{what} did not come to be as it should"))
    }
}

impl Drop for Sight {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

fn take(objects: &Objects, line: &[u8]) {
    let event: Event = serde_json::from_slice(line).expect("an event");
    let Found { mut metadata, spec, status } = event.object;
    let seen = Seen {
        at: Instant::now(),
        is_there: event.r#type != "DELETED",
        replicas: spec.replicas,
        ready: status.ready_replicas,
        mark: metadata.annotations.remove("mark").unwrap_or_default(),
    };
    let mut objects = objects.lock().expect("no panic");
    match objects.get_mut(&metadata.name) {
        // What is seen again is there since it was seen first.
        Some(before) if same(before, &seen) => {}
        Some(before) => *before = seen,
        None => drop(objects.insert(metadata.name, seen)),
    }
}

fn same(one: &Seen, other: &Seen) -> bool {
    let facts = |seen: &Seen| (seen.is_there, seen.replicas, seen.ready, seen.mark.clone());
    facts(one) == facts(other)
}
