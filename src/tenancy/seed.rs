//! What the first workspace begins with: itself, the types that workspaces can be of, and the one that plain clients
//! are in.

use super::words::{CLUSTER, HOME, ITSELF, LOGICAL_CLUSTERS, PATH, PHASE_LABEL, ROOT, TYPE, TYPES, USERS, WORKSPACES};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::place::Workspace;
use apiserver::strategy::Part;
use serde_json::{Value, json};

/// Makes what is missing, and leaves alone what is there but for where the server is.
pub async fn seed(client: &Client, url: &str) -> Result<(), ApiError> {
    let root = Workspace::new(ROOT);
    itself(client, &root, (ROOT, "root:root"), url).await?;
    itself(client, &Workspace::new(USERS), (USERS, "root:universal"), url).await?;
    let types = client.at(TYPES, &root, None)?;
    for (name, spec) in types_of_kcp() {
        client
            .ensure(&types, json!({ "metadata": { "name": name, "annotations": { PATH: ROOT } }, "spec": spec }))
            .await?;
    }
    policy(client, &root).await?;
    shard(client, &root, url).await?;
    home(client, &root, url).await
}

/// The types that kcp's users know, and our own.
fn types_of_kcp() -> [(&'static str, Value); 6] {
    let one = |name: &str| json!({ "name": name, "path": ROOT });
    [
        ("root", json!({ "defaultChildWorkspaceType": one("organization") })),
        (
            "organization",
            json!({
                "defaultChildWorkspaceType": one("universal"), "limitAllowedParents": { "types": [one("root")] },
                "extend": { "with": [one("universal")] },
            }),
        ),
        (
            "team",
            json!({
                "defaultChildWorkspaceType": one("universal"), "extend": { "with": [one("universal")] },
                "limitAllowedParents": { "types": [one("organization"), one("team")] },
            }),
        ),
        ("universal", json!({ "defaultChildWorkspaceType": one("universal") })),
        ("home", json!({ "extend": { "with": [one("universal")] }, "defaultChildWorkspaceType": one("universal") })),
        ("project", json!({ "extend": { "with": [one("universal")] } })),
    ]
}

/// What everybody may do in the root who has shown who they are: enter it, look around, and use what is there for all.
async fn policy(client: &Client, root: &Workspace) -> Result<(), ApiError> {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let types = ["universal", "organization", "team", "project"];
    let used = json!({ "apiGroups": [TYPES.0], "resources": [TYPES.2], "resourceNames": types, "verbs": ["use"] });
    let roles = client.at((GROUP, "v1", "clusterroles"), root, None)?;
    let role = json!({ "metadata": { "name": "system:kcp:universal-workspacetype-use" }, "rules": [used] });
    client.ensure(&roles, role).await?;
    let bindings = client.at((GROUP, "v1", "clusterrolebindings"), root, None)?;
    for (name, role) in [
        ("system:kcp:tenancy:authenticated:access", "system:kcp:workspace:access"),
        ("system:kcp:authenticated:tenancy:reader", "system:kcp:tenancy:reader"),
        ("system:kcp:authenticated:universal-workspacetype-use", "system:kcp:universal-workspacetype-use"),
    ] {
        let everybody = json!({ "apiGroup": GROUP, "kind": "Group", "name": "system:authenticated" });
        let role = json!({ "apiGroup": GROUP, "kind": "ClusterRole", "name": role });
        let binding = json!({ "metadata": { "name": name }, "roleRef": role, "subjects": [everybody] });
        client.ensure(&bindings, binding).await?;
    }
    Ok(())
}

/// What a workspace that nobody made says of itself.
async fn itself(client: &Client, at: &Workspace, (path, of): (&str, &str), url: &str) -> Result<(), ApiError> {
    let clusters = client.at(LOGICAL_CLUSTERS, at, None)?;
    let annotations = json!({ PATH: path, CLUSTER: at.as_str(), TYPE: of });
    let metadata = json!({ "name": ITSELF, "annotations": annotations, "labels": { PHASE_LABEL: "Ready" } });
    client.ensure(&clusters, json!({ "metadata": metadata, "spec": {} })).await?;
    let ready = json!({ "status": { "phase": "Ready", "URL": format!("{url}/clusters/{path}") } });
    client.merge(&clusters.object(ITSELF), Part::Status, &ready).await.map(drop)
}

/// The one server there is.
async fn shard(client: &Client, root: &Workspace, url: &str) -> Result<(), ApiError> {
    let shards = client.at(("core.kcp.io", "v1alpha1", "shards"), root, None)?;
    let spec = json!({ "baseURL": url, "externalURL": url, "virtualWorkspaceURL": url });
    client
        .ensure(&shards, json!({ "metadata": { "name": "root", "labels": { "name": "root" } }, "spec": spec }))
        .await?;
    // The server may listen elsewhere than the last time.
    client.merge(&shards.object("root"), Part::Main, &json!({ "spec": spec })).await.map(drop)
}

/// The workspace of those who name none. It is the one workspace whose id is chosen.
async fn home(client: &Client, root: &Workspace, url: &str) -> Result<(), ApiError> {
    let workspaces = client.at(WORKSPACES, root, None)?;
    let spec = json!({ "type": { "name": "project", "path": ROOT }, "cluster": HOME });
    client.ensure(&workspaces, json!({ "metadata": { "name": HOME }, "spec": spec })).await?;
    let moved = json!({ "spec": { "URL": format!("{url}/clusters/{ROOT}:{HOME}") } });
    client.merge(&workspaces.object(HOME), Part::Main, &moved).await.map(drop)
}
