//! Workspaces, each with a user who may do everything there and is nobody elsewhere.

use bench::client::Client;
use bench::kubeconfig::Access;
use bench::peers::Server;
use bench::text;
use http::{Method, StatusCode};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub const COLLECTION: &str = "/api/v1/namespaces/default/configmaps";

const DATA_BYTES: usize = 1024;

/// How often a workspace that begins is asked whether it has.
const ASK_EVERY: Duration = Duration::from_millis(20);
const TRIES_MAX: u32 = 1_000;

pub struct Tenant {
    pub access: Access,
    pub kubeconfig: PathBuf,
}

impl Tenant {
    pub async fn make(admin: &Client, server: &Server, hanse: &Path, name: &str) -> Self {
        let workspaces = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces";
        let workspace =
            format!(r#"{{"apiVersion":"tenancy.kcp.io/v1alpha1","kind":"Workspace","metadata":{{"name":"{name}"}}}}"#);
        admin.body(0, Method::POST, workspaces, workspace).await;
        let inside = format!("/clusters/root:{name}");
        let begun = format!("{inside}/api/v1/namespaces/default");
        for tries in 0.. {
            if matches!(admin.status(&begun).await, Ok(StatusCode::OK)) {
                break;
            }
            assert!(tries < TRIES_MAX, "{name} did not begin");
            tokio::time::sleep(ASK_EVERY).await;
        }
        let bindings = format!("{inside}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings");
        let role = r#"{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"}"#;
        let user = format!(r#"[{{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"{name}"}}]"#);
        let binding = format!(r#"{{"metadata":{{"name":"{name}"}},"roleRef":{role},"subjects":{user}}}"#);
        admin.body(0, Method::POST, &bindings, binding).await;
        let kubeconfig = server.data.with_file_name(format!("{name}.kubeconfig"));
        let made = Command::new(hanse)
            .args(["kubeconfig", "create", "--user", name, "--workspace", &format!("root:{name}"), "--data-dir"])
            .arg(&server.data)
            .arg("--to")
            .arg(&kubeconfig)
            .status()
            .expect("hanse runs");
        assert!(made.success(), "a kubeconfig for {name}");
        Self { access: Access::read(&kubeconfig).expect("a kubeconfig"), kubeconfig }
    }
}

pub fn object(name: &str) -> String {
    let data = text::cut(name.len() as u64, DATA_BYTES);
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"text":"{data}"}}}}"#)
}
