//! A hub and its cells.

use crate::Plan;
use bench::client::Client;
use bench::disk::rss_bytes;
use bench::kubeconfig::Access;
use bench::peers::{Peer, Server};
use bench::table::Row;
use http::Method;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Clients that make things ready.
const CLIENTS: u64 = 16;
/// How often the hub is asked whether all cells are ready.
const ASK_EVERY: Duration = Duration::from_millis(100);
const READY_MAX: Duration = Duration::from_secs(300);

const NAMESPACE: &str = "bench-cells";
const CELLS: &str = "/apis/federation.hanse.dev/v1alpha1/cells";

/// Where everything that is measured is sent to, in hub and cells.
pub const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

pub struct Stage {
    /// As the rows of a table name it.
    pub name: String,
    pub hub: Access,
    pub cells: Vec<Access>,
    servers: Vec<Server>,
    /// Of a hub that was started by somebody else.
    processes: Vec<u32>,
}

impl Stage {
    /// Cells that are workspaces of another server.
    pub async fn of_workspaces(plan: &Plan, count: u64) -> Self {
        let hub = Server::start(Peer::Hanse, &plan.scratch, &plan.hanse).await;
        let other = Server::start(Peer::Hanse, &plan.scratch, &plan.hanse).await;
        let (cells, kubeconfigs) = workspaces(&other, count).await;
        join(&hub, &kubeconfigs, |_| json!({})).await;
        Self::with_policies(format!("{count} workspaces"), hub.access.clone(), cells, vec![hub, other]).await
    }

    pub async fn of_kubes(plan: &Plan, count: u64) -> Self {
        let hub = Server::start(Peer::Hanse, &plan.scratch, &plan.hanse).await;
        let mut servers = vec![hub];
        for _ in 0..count {
            servers.push(Server::start(Peer::Kube, &plan.scratch, &plan.hanse).await);
        }
        let kubeconfigs: Vec<String> = servers[1..].iter().map(|server| read(&server.data)).collect();
        join(&servers[0], &kubeconfigs, |_| json!({})).await;
        let cells = servers[1..].iter().map(|server| server.access.clone()).collect();
        Self::with_policies(format!("{count} kube-apiservers"), servers[0].access.clone(), cells, servers).await
    }

    /// A Karmada that runs already, with its members.
    pub async fn of_karmada(plan: &Plan) -> Self {
        let read = |path: &std::path::PathBuf| Access::read(path).expect("a kubeconfig");
        let mut all: Vec<Access> = plan.karmada.iter().map(read).collect();
        let hub = all.remove(0);
        let stage = Self::with_policies(format!("{} kube-apiservers", all.len()), hub, all, Vec::new()).await;
        Self { processes: plan.karmada_processes.clone(), ..stage }
    }

    /// Karmada's policies, so that its hub can be asked for the same.
    async fn with_policies(name: String, hub: Access, cells: Vec<Access>, servers: Vec<Server>) -> Self {
        let client = Client::open(&hub, 1).await.expect("a connection");
        let names: Vec<String> = (0..cells.len()).map(member).collect();
        let policies = "/apis/policy.karmada.io/v1alpha1/clusterpropagationpolicies";
        for policy in [policy("v1", "ConfigMap", &names, false), policy("apps/v1", "Deployment", &names, true)] {
            // A hub that was measured before has them already.
            let name = policy["metadata"]["name"].as_str().expect("a name");
            let path = format!("{policies}/{name}?fieldManager=bench&force=true");
            client.body(0, Method::PATCH, &path, policy.to_string()).await;
        }
        Self { name, hub, cells, servers, processes: Vec::new() }
    }

    /// Memory of the hub, as it is now.
    pub fn memory(&self) -> Vec<Row> {
        let ours = self.servers.first().map(|hub| hub.rss_bytes().0);
        let others = self.processes.iter().map(|id| rss_bytes(*id)).reduce(|sum, more| sum + more);
        let row = |bytes: f64| Row::less(format!("{}: RSS of the hub after all that", self.name), bytes / 1e6, "MB");
        ours.or(others).map(row).into_iter().collect()
    }
}

fn member(number: usize) -> String {
    format!("member{}", number + 1)
}

fn policy(api_version: &str, kind: &str, cells: &[String], divides: bool) -> Value {
    let mut placement = json!({ "clusterAffinity": { "clusterNames": cells } });
    if divides {
        let weight = |cell: &String| json!({ "targetCluster": { "clusterNames": [cell] }, "weight": 1 });
        let weights: Vec<Value> = cells.iter().map(weight).collect();
        placement["replicaScheduling"] = json!({
            "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
            "weightPreference": { "staticWeightList": weights },
        });
    }
    let labels = json!({ "matchLabels": { "bench": "yes" } });
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy",
        "metadata": { "name": format!("bench-{}", kind.to_lowercase()) },
        "spec": {
            "resourceSelectors": [{ "apiVersion": api_version, "kind": kind, "labelSelector": labels }],
            "placement": placement,
        },
    })
}

fn read(data: &Path) -> String {
    std::fs::read_to_string(data.join("admin.kubeconfig")).expect("a kubeconfig")
}

/// Makes workspaces; answers with how to get into each, and with the kubeconfigs that say the same.
pub async fn workspaces(server: &Server, count: u64) -> (Vec<Access>, Vec<String>) {
    let client = server.client(CLIENTS).await;
    let made = bench::hammer::each(CLIENTS, count, move |worker, number| {
        let client = client.clone();
        async move {
            let workspace = json!({
                "apiVersion": "tenancy.kcp.io/v1alpha1", "kind": "Workspace", "metadata": { "name": format!("cell-{number}") },
            });
            let all = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces";
            client.body(worker, Method::POST, all, workspace.to_string()).await;
        }
    });
    made.await;
    let base = Access { prefix: String::new(), ..server.access.clone() };
    let prefix = |number: u64| format!("/clusters/root:cell-{number}");
    let access = |number: u64| Access { prefix: prefix(number), ..base.clone() };
    let text = read(&server.data);
    let kubeconfig = |number: u64| elsewhere(&text, &format!("https://{}{}", base.authority, prefix(number)));
    ((0..count).map(access).collect(), (0..count).map(kubeconfig).collect())
}

/// The same kubeconfig for another place.
fn elsewhere(kubeconfig: &str, url: &str) -> String {
    let line = |line: &str| match line.split_once("server: ") {
        Some((before, _)) => format!("{before}server: {url}\n"),
        None => format!("{line}\n"),
    };
    kubeconfig.lines().map(line).collect()
}

/// Makes a cell of each kubeconfig, and waits until all are ready.
pub async fn join(hub: &Server, kubeconfigs: &[String], labels: impl Fn(usize) -> Value) {
    let client = hub.client(CLIENTS).await;
    let namespace = json!({ "metadata": { "name": NAMESPACE } });
    client.body(0, Method::POST, "/api/v1/namespaces", namespace.to_string()).await;
    for (number, kubeconfig) in kubeconfigs.iter().enumerate() {
        let name = member(number);
        let secret = json!({ "metadata": { "name": name }, "stringData": { "kubeconfig": kubeconfig } });
        let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        client.body(0, Method::POST, &secrets, secret.to_string()).await;
        let cell = json!({
            "apiVersion": "federation.hanse.dev/v1alpha1", "kind": "Cell",
            "metadata": { "name": name, "labels": labels(number) },
            "spec": { "secretRef": { "namespace": NAMESPACE, "name": name } },
        });
        client.body(0, Method::POST, CELLS, cell.to_string()).await;
    }
    let began = Instant::now();
    while ready(&client).await < kubeconfigs.len() {
        assert!(began.elapsed() < READY_MAX, "the cells did not become ready");
        tokio::time::sleep(ASK_EVERY).await;
    }
}

async fn ready(client: &Client) -> usize {
    let all: Value = serde_json::from_slice(&client.body(0, Method::GET, CELLS, String::new()).await).expect("JSON");
    let cells = all["items"].as_array().into_iter().flatten();
    let is_ready = |cell: &&Value| {
        let conditions = cell["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    };
    cells.filter(is_ready).count()
}
