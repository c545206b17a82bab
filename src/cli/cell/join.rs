//! `hanse cell join`: writes down how a cell is reached, and waits until it answers.

use super::hub;
use super::{Error, HubFlags};
use crate::cli::{answer, progress};
use crate::fleet::api::{CellApi, CellPlace, Over};
use crate::fleet::{IDENTITY, KUBECONFIG_KEY, kubeconfig, remote};
use clap::Args;
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The namespace that keeps how cells are reached.
const NAMESPACE: &str = "hanse-cells";

const ASK_AGAIN: Duration = Duration::from_millis(200);

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    /// The name of the cell
    name: String,
    /// The kubeconfig with which the server reaches the cluster; it must hold a token or a client certificate
    #[arg(long, value_name = "FILE", required_unless_present = "cell_workspace")]
    cell_kubeconfig: Option<PathBuf>,
    /// The context of that kubeconfig to use [default: its current one]
    #[arg(long, value_name = "NAME", requires = "cell_kubeconfig")]
    cell_context: Option<String>,
    /// Use a workspace of the server as the cell, a path such as root:team
    #[arg(long, value_name = "PATH", conflicts_with = "cell_kubeconfig")]
    cell_workspace: Option<String>,
    /// A label of the cell, for rules to select it by; can be repeated
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// The region the cell is in
    #[arg(long)]
    region: Option<String>,
    /// The provider that runs the cell
    #[arg(long)]
    provider: Option<String>,
    /// A zone of the cell; can be repeated
    #[arg(long = "zone", value_name = "ZONE")]
    zones: Vec<String>,
    /// How long to wait until the cell is ready
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
    #[command(flatten)]
    hub: HubFlags,
}

pub(super) async fn run(flags: &Flags) -> Result<(), Error> {
    let hub = hub::connect(&flags.hub)?;
    let labels = labels(&flags.labels)?;
    let way = match (&flags.cell_kubeconfig, &flags.cell_workspace) {
        (Some(path), _) => Way::of_kubeconfig(&flags.name, path, flags.cell_context.as_deref()).await?,
        (None, workspace) => Way::of_workspace(workspace.as_deref().unwrap_or_default()),
    };
    let cells = hub.list(&hub::cells(), "").await.map_err(Error::Hub)?.items;
    check(&flags.name, &way.identity, &cells)?;
    let access = way.keep(&*hub, &flags.name).await?;
    let told = way.identity.iter().filter(|_| flags.cell_kubeconfig.is_some());
    let annotations: Map<String, Value> = told.map(|identity| (IDENTITY.to_owned(), json!(identity))).collect();
    let cell = json!({
        "apiVersion": "federation.hanse.dev/v1alpha1", "kind": "Cell",
        "metadata": { "name": flags.name, "labels": labels, "annotations": annotations },
        "spec": spec(flags, access),
    });
    let made = hub.apply(&hub::cell(&flags.name), &cell, Over::Anything).await.map_err(Error::Hub)?;
    if flags.cell_kubeconfig.is_some() {
        belong(&*hub, &flags.name, &made.object).await?;
    }
    let waiting = progress::spinner(&format!("waiting for cell {} to be ready", flags.name));
    let ready = wait(&hub, flags, &waiting).await;
    waiting.finish_and_clear();
    let ready = ready?;
    let version = ready["status"]["kubernetesVersion"].as_str().unwrap_or_default();
    Ok(answer(&format!("cell {} joined and ready, {version}\n", flags.name))?)
}

fn spec(flags: &Flags, access: Value) -> Value {
    let mut spec = access;
    for (key, value) in [("region", &flags.region), ("provider", &flags.provider)] {
        if let Some(value) = value {
            spec[key] = json!(value);
        }
    }
    if !flags.zones.is_empty() {
        spec["zones"] = json!(flags.zones);
    }
    spec
}

fn labels(given: &[String]) -> Result<Map<String, Value>, Error> {
    let label = |text: &String| match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), json!(value))),
        _ => Err(Error::Label(text.clone())),
    };
    given.iter().map(label).collect()
}

/// How a cell is reached, and which one it is then.
struct Way {
    to: To,
    /// Nothing, if the cell does not tell.
    identity: Option<String>,
}

enum To {
    Workspace(String),
    /// A kubeconfig with everything in it.
    Cell(String),
}

impl Way {
    fn of_workspace(workspace: &str) -> Self {
        Self { to: To::Workspace(workspace.to_owned()), identity: Some(workspace.to_owned()) }
    }

    /// Once it is known to lead somewhere.
    async fn of_kubeconfig(name: &str, path: &Path, context: Option<&str>) -> Result<Self, Error> {
        let dir = path.parent().unwrap_or(Path::new("."));
        let unusable = |source| Error::Kubeconfig { path: path.to_owned(), source };
        let mut text = hub::read(path)?;
        if let Some(context) = context {
            text = kubeconfig::in_context(&text, context).map_err(unusable)?;
        }
        let flat = kubeconfig::flattened(&text, dir).map_err(unusable)?;
        let in_context = context.map(|context| format!(" --context {context}")).unwrap_or_default();
        let way = format!("--kubeconfig {}{in_context}", path.display());
        let wrong = |why| Error::Cell { name: name.to_owned(), way: way.clone(), why };
        let cell = remote(&flat).map_err(wrong)?;
        cell.ready().await.map_err(wrong)?;
        // Whoever may not look at it joins all the same.
        let system = cell.get(&hub::namespace("kube-system")).await.ok().flatten().unwrap_or_default();
        Ok(Self { to: To::Cell(flat), identity: system["metadata"]["uid"].as_str().map(str::to_owned) })
    }

    /// Puts the kubeconfig where the server finds it.
    async fn keep(&self, hub: &dyn CellApi, name: &str) -> Result<Value, Error> {
        let flat = match &self.to {
            To::Workspace(workspace) => return Ok(json!({ "workspace": workspace })),
            To::Cell(flat) => flat,
        };
        let made = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
        hub.apply(&hub::namespace(NAMESPACE), &made, Over::Anything).await.map_err(Error::Hub)?;
        hub.apply(&secret(name), &kept(name, flat), Over::Anything).await.map_err(Error::Hub)?;
        Ok(json!({ "secretRef": { "namespace": NAMESPACE, "name": name } }))
    }
}

/// Refuses what would make two cells of one, or put one in the place of another. The same cell may join again: that is how
/// it gets a new kubeconfig.
fn check(name: &str, identity: &Option<String>, cells: &[Value]) -> Result<(), Error> {
    let Some(identity) = identity else { return Ok(()) };
    for cell in cells {
        let meta = &cell["metadata"];
        let other = meta["name"].as_str().unwrap_or_default();
        let workspace = cell["spec"]["workspace"].as_str();
        let known = workspace.or(meta["annotations"][IDENTITY].as_str());
        if other == name && known.is_some_and(|known| known != identity) {
            return Err(Error::Taken(name.to_owned()));
        }
        if other != name && known == Some(identity) {
            return Err(Error::Joined { name: name.to_owned(), as_cell: other.to_owned() });
        }
    }
    Ok(())
}

fn secret(name: &str) -> CellPlace {
    hub::secret(NAMESPACE, name)
}

fn kept(name: &str, flat: &str) -> Value {
    let metadata = json!({ "name": name, "namespace": NAMESPACE });
    json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": { KUBECONFIG_KEY: flat } })
}

/// The secret goes when the cell does.
async fn belong(hub: &dyn CellApi, name: &str, cell: &Value) -> Result<(), Error> {
    let owner = json!([{
        "apiVersion": cell["apiVersion"], "kind": cell["kind"],
        "name": cell["metadata"]["name"], "uid": cell["metadata"]["uid"],
    }]);
    let patch = json!({ "metadata": { "ownerReferences": owner } });
    hub.merge(&secret(name), &patch).await.map_err(Error::Hub).map(drop)
}

async fn wait(hub: &Arc<dyn CellApi>, flags: &Flags, shown: &ProgressBar) -> Result<Value, Error> {
    let place = hub::cell(&flags.name);
    let mut why = String::new();
    let ready = async {
        loop {
            let cell = hub.get(&place).await.map_err(Error::Hub)?.unwrap_or_default();
            if hub::is_ready(&cell) {
                return Ok(cell);
            }
            why = hub::why_not(&cell);
            shown.set_message(format!("waiting for cell {} to be ready: {why}", flags.name));
            tokio::time::sleep(ASK_AGAIN).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(flags.wait), ready).await;
    in_time.unwrap_or_else(|_| Err(Error::NotReady { name: flags.name.clone(), seconds: flags.wait, why }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cell_joins_once_and_no_other_takes_its_place() {
        let cell = |name: &str, identity: Value| json!({ "metadata": { "name": name, "annotations": { IDENTITY: identity } } });
        let own = json!({ "metadata": { "name": "own" }, "spec": { "workspace": "root:own" } });
        let cells = [cell("ams", json!("1")), cell("old", Value::Null), own];
        let told = |name: &str, identity: Option<&str>| {
            check(name, &identity.map(str::to_owned), &cells).err().map(|error| error.to_string())
        };
        assert_eq!(told("dfw", Some("2")), None, "another one");
        assert_eq!(told("ams", Some("1")), None, "with a new kubeconfig");
        assert_eq!(told("old", Some("2")), None, "nobody knows which it was");
        assert_eq!(told("ams", None), None, "it does not tell");
        assert!(told("ams", Some("2")).unwrap().contains("hanse cell leave ams"));
        assert!(told("nrt", Some("1")).unwrap().contains("this cluster is already cell ams"));
        assert!(told("nrt", Some("root:own")).unwrap().contains("this cluster is already cell own"));
        assert!(told("own", Some("root:other")).unwrap().contains("hanse cell leave own"));
    }
}
