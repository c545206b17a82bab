//! A whole server, and its workspaces as clients see them.

use apiserver::ambient::Ambient;
use hanse::config::{
    AggregatedFlags, AuditFlags, AuthenticationFlags, AuthorizationFlags, Config, KeyFlags, LimitFlags,
};
use hanse::fleet::api::{CellApi, CellError, CellPlace, CellResource, Over};
use hanse::fleet::{kubeconfig, remote};
use hanse::server::Server;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use storage::{Options, Place};
use tempfile::TempDir;

/// A condition that takes longer will not come true.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(25);

type Resource = (&'static str, &'static str, &'static str);

pub(crate) struct Stage {
    server: Server,
    kubeconfig: String,
    _dir: TempDir,
}

impl Stage {
    pub(crate) async fn start() -> Self {
        Self::with_hazards(false).await
    }

    /// A server on which policies of Karmada do harm where they do in Karmada, or do not.
    pub(crate) async fn with_hazards(karmada_hazards: bool) -> Self {
        let dir = TempDir::new().unwrap();
        let config = Config {
            place: Place::Memory,
            storage: Options::default(),
            data_dir: dir.path().to_owned(),
            listen: "127.0.0.1:0".parse().unwrap(),
            names: Vec::new(),
            authentication: AuthenticationFlags::default(),
            audit: AuditFlags::default(),
            keys: KeyFlags::default(),
            limits: LimitFlags::default(),
            authorization: AuthorizationFlags::default(),
            aggregated: AggregatedFlags::default(),
            karmada_hazards,
        };
        let server = Server::start(config).await.unwrap();
        let text = std::fs::read_to_string(server.kubeconfig()).unwrap();
        let kubeconfig = kubeconfig::flattened(&text, dir.path()).unwrap();
        Self { server, kubeconfig, _dir: dir }
    }

    pub(crate) async fn end(self) {
        self.server.stop().await;
    }

    pub(crate) fn api(&self, workspace: &str) -> Arc<dyn CellApi> {
        remote(&kubeconfig::in_workspace(&self.kubeconfig, workspace).unwrap()).unwrap()
    }

    /// What is behind a path of a workspace, and is an API itself.
    pub(crate) fn through(&self, workspace: &str, path: &str) -> Arc<dyn CellApi> {
        let text = kubeconfig::in_workspace(&self.kubeconfig, workspace).unwrap();
        let at = format!("/clusters/{workspace}");
        remote(&text.replace(&at, &format!("{at}{path}"))).unwrap()
    }

    pub(crate) async fn apply_to(api: &dyn CellApi, object: &Value) {
        api.apply(&place_of(object), object, Over::Anything).await.unwrap();
    }

    /// A workspace below the root.
    pub(crate) async fn workspace(&self, name: &str) {
        let made =
            json!({ "apiVersion": "tenancy.kcp.io/v1alpha1", "kind": "Workspace", "metadata": { "name": name } });
        self.apply("root", &made).await;
    }

    pub(crate) async fn apply(&self, workspace: &str, object: &Value) -> Value {
        let at = place_of(object);
        self.api(workspace)
            .apply(&at, object, Over::Anything)
            .await
            .unwrap_or_else(|error| panic!("{at}: {error}"))
            .object
    }

    pub(crate) async fn status(&self, workspace: &str, of: Resource, namespace: &str, name: &str, status: &Value) {
        let at = place(of, Some(namespace), name);
        let api = self.api(workspace);
        let there = api.get(&at).await.unwrap().unwrap();
        let object = json!({ "apiVersion": there["apiVersion"], "kind": there["kind"],
            "metadata": { "name": name, "namespace": namespace }, "status": status });
        api.apply_status(&at, &object).await.unwrap();
    }

    pub(crate) async fn merge(
        &self,
        workspace: &str,
        of: Resource,
        name: &str,
        patch: &Value,
    ) -> Result<Value, CellError> {
        self.api(workspace).merge(&place(of, Some("default"), name), patch).await
    }

    /// The same for what is in no namespace.
    pub(crate) async fn merge_outside(&self, workspace: &str, of: Resource, name: &str, patch: &Value) {
        self.api(workspace).merge(&place(of, None, name), patch).await.unwrap();
    }

    pub(crate) async fn get(
        &self,
        workspace: &str,
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<Value> {
        self.api(workspace).get(&place((group, version, plural), namespace, name)).await.unwrap()
    }

    /// Nothing, where the resource is not served.
    pub(crate) async fn list(
        &self,
        workspace: &str,
        group: &str,
        version: &str,
        plural: &str,
        kind: &str,
    ) -> Vec<Value> {
        let of = resource(group, version, plural, kind);
        match self.api(workspace).list(&of, "").await {
            Err(error) if error.code() == Some(404) => Vec::new(),
            listed => listed.unwrap().items,
        }
    }

    pub(crate) async fn delete(&self, workspace: &str, of: Resource, namespace: Option<&str>, name: &str) {
        let at = place(of, namespace, name);
        let api = self.api(workspace);
        let there = api.get(&at).await.unwrap().unwrap();
        api.delete(&at, there["metadata"]["uid"].as_str().unwrap()).await.unwrap();
    }

    /// Waits until there is an answer.
    pub(crate) async fn eventually<T>(&self, what: &str, look: impl AsyncFn(&Self) -> Option<T>) -> T {
        let mut ticks = tokio::time::interval(LOOK);
        let waiting = async {
            loop {
                ticks.tick().await;
                if let Some(found) = look(self).await {
                    return found;
                }
            }
        };
        match tokio::time::timeout(PATIENCE, waiting).await {
            Ok(found) => found,
            Err(_) => panic!("it never came true: {what}; {}", self.records().await),
        }
    }

    /// What is known of placements and copies, for whoever has to find out why.
    async fn records(&self) -> String {
        let mut told = format!("at {:?}", Ambient::real().now().seconds);
        for workspace in ["root", "root:alpha", "root:beta"] {
            for (plural, kind) in [("cells", "Cell"), ("placements", "Placement"), ("copies", "Copy")] {
                for mut object in self.list(workspace, "federation.hanse.dev", "v1alpha1", plural, kind).await {
                    object["metadata"]["managedFields"] = Value::Null;
                    object["status"]["apiEnablements"] = Value::Null;
                    told.push_str(&format!("\n{workspace} {object}"));
                }
            }
        }
        told
    }
}

pub(crate) fn resource(group: &str, version: &str, plural: &str, kind: &str) -> CellResource {
    let own = |text: &str| text.to_owned();
    CellResource { group: own(group), version: own(version), plural: own(plural), kind: own(kind), namespaced: true }
}

fn place((group, version, plural): Resource, namespace: Option<&str>, name: &str) -> CellPlace {
    let (resource, namespace) = (resource(group, version, plural, ""), namespace.map(str::to_owned));
    CellPlace { resource, namespace, name: name.to_owned() }
}

/// Plurals of these kinds are their lower case and an s, or end as policies do.
fn place_of(object: &Value) -> CellPlace {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (word(&object["apiVersion"]), word(&object["kind"]));
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let plural = kind.to_lowercase();
    let plural = plural.strip_suffix('y').map_or_else(|| format!("{plural}s"), |stem| format!("{stem}ies"));
    let resource = resource(group, version, &plural, &kind);
    let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
    CellPlace { resource, namespace, name: word(&object["metadata"]["name"]) }
}

/// A definition of a namespaced kind with a status that takes anything.
pub(crate) fn crd(group: &str, version: &str, kind: &str, plural: &str) -> Value {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "type": "object", "properties": { "spec": open, "status": open } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List") },
            "versions": [{ "name": version, "served": true, "storage": true, "subresources": { "status": {} },
                           "schema": { "openAPIV3Schema": schema } }],
        },
    })
}

pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}
