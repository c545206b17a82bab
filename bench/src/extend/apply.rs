//! Server-side apply: each client applies a Deployment of its own, over and over, and something changes every time.

use crate::Plan;
use bench::hammer::hammer;
use bench::peers::Server;
use bench::table::Row;
use http::Method;
use serde_json::json;

const CLIENTS: u64 = 32;

fn deployment(name: &str, round: u64) -> String {
    let env: Vec<_> = (0..10).map(|nth| json!({ "name": format!("VARIABLE_{nth}"), "value": "text" })).collect();
    let container = json!({
        "name": "web", "image": format!("registry.example.com/web:{round}"), "env": env,
        "ports": [{ "containerPort": 80, "name": "http" }, { "containerPort": 443, "name": "https" }],
        "resources": { "requests": { "cpu": "100m", "memory": "64Mi" } },
    });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name, "labels": { "app": name } },
        "spec": {
            "replicas": round % 10, "selector": { "matchLabels": { "app": name } },
            "template": { "metadata": { "labels": { "app": name } }, "spec": { "containers": [container] } },
        },
    })
    .to_string()
}

pub async fn applies(plan: &Plan, server: &Server) -> Vec<Row> {
    let client = server.client(CLIENTS).await;
    let run = async |seconds, first: u64| {
        let client = client.clone();
        hammer(CLIENTS, seconds, move |worker, round| {
            let client = client.clone();
            async move {
                let name = format!("web-{worker}");
                let path = format!("/apis/apps/v1/namespaces/bench/deployments/{name}?fieldManager=bench&force=true");
                client.body(worker, Method::PATCH, &path, deployment(&name, first + round)).await;
            }
        })
        .await
    };
    run(plan.warm_up_seconds, 0).await;
    run(plan.seconds, 1 << 20).await.rows(&format!("applies of a Deployment, {CLIENTS} clients"))
}
