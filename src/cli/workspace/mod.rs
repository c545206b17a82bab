//! `hanse workspace`: a workspace goes into a file, and comes out of it on the same server or on another.

mod file;
mod moving;

use super::cell::{self, ServerFlags, hub, said_by_server};
use super::output::Form;
use super::{answer, progress};
use crate::fleet::api::CellError;
use crate::fleet::{Line, kubeconfig};
use bytes::Bytes;
use clap::{Args, Subcommand};
use file::{FileError, Header, Record, Writer};
use http::Method;
use indicatif::ProgressBar;
use moving::Move;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Export a workspace to a file
    ///
    /// The server keeps running: the file holds the workspace as it was at one moment. Needs an administrator's kubeconfig
    /// (group system:masters). The file contains the Secrets of the workspace.
    Export(Export),
    /// Create a workspace from an exported file
    ///
    /// A damaged file is refused before anything is created. The workspace stays inactive until it is complete; if the
    /// import fails, it can be deleted.
    Import(Import),
}

#[derive(Args, Debug)]
pub(super) struct Export {
    /// The workspace to export, a path such as root:team
    #[arg(value_name = "PATH")]
    path: String,
    /// The file to write, which must not exist yet
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Include all workspaces below it
    #[arg(long)]
    children: bool,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    hub: ServerFlags,
}

#[derive(Args, Debug)]
pub(super) struct Import {
    /// The path of the new workspace, such as root:team
    #[arg(value_name = "PATH")]
    path: String,
    /// The file to read
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// Keep the IDs of the exported workspaces, which must not be in use
    #[arg(long)]
    same_identity: bool,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    hub: ServerFlags,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Flags(#[from] cell::Error),
    #[error(transparent)]
    Kubeconfig(#[from] kubeconfig::KubeconfigError),
    #[error("{path}: {why}")]
    Server { path: String, why: String },
    #[error("{}", file.display())]
    File { file: PathBuf, source: FileError },
    #[error("{} already exists; choose another name", .0.display())]
    Exists(PathBuf),
    #[error("{0:?} is not the path of a workspace below another, such as root:team")]
    Path(String),
    #[error("the file holds no workspace")]
    Empty,
    #[error("cannot read the server's answer: {0}")]
    Answer(#[from] serde_json::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Reading(#[from] FileError),
}

pub(super) fn run(command: Command) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match command {
            Command::Export(flags) => export(&flags).await,
            Command::Import(flags) => import(&flags).await,
        }
    })
}

/// A server, asked about one workspace at a time.
struct Hub {
    line: Line,
}

impl Hub {
    fn new(flags: &ServerFlags) -> Result<Self, Error> {
        let line = Line::new(&kubeconfig::of_server(&hub::of_server(flags)?)?);
        Ok(Self { line: line.map_err(cell::Error::Hub)? })
    }

    async fn ask(&self, workspace: &str, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Error> {
        let failed = |error: CellError| Error::Server { path: workspace.to_owned(), why: said_by_server(&error) };
        let sort = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let path = format!("/clusters/{workspace}{path}");
        Ok(serde_json::from_slice(&self.line.ask(method, &path, sort, body).await.map_err(failed)?)?)
    }
}

const CLUSTER: &str = "/apis/core.kcp.io/v1alpha1/logicalclusters/cluster";
const WORKSPACES: &str = "/apis/tenancy.kcp.io/v1alpha1/workspaces";

async fn export(flags: &Export) -> Result<(), Error> {
    if flags.to.exists() {
        return Err(Error::Exists(flags.to.clone()));
    }
    let unfinished = flags.to.with_extension("unfinished");
    let written = write(flags, &unfinished).await;
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    let (workspaces, objects) = written?;
    std::fs::rename(&unfinished, &flags.to)?;
    let parent = flags.to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()?;
    let file = flags.to.display().to_string();
    let person = || format!("{file}: {}\n", counted(workspaces, objects));
    let program = || json!({ "file": file, "workspaces": workspaces, "objects": objects });
    Ok(answer(&flags.form.write(person, program))?)
}

async fn write(flags: &Export, to: &Path) -> Result<(usize, usize), Error> {
    let hub = Hub::new(&flags.hub)?;
    // Only for its owner: there are secrets in it.
    let file = File::options().write(true).create_new(true).mode(0o600).open(to)?;
    let bar = progress::bytes("exporting", None);
    let mut writer = Writer::new(BufWriter::new(file))?;
    let mut waiting = vec![flags.path.clone()];
    let (mut workspaces, mut objects) = (0, 0);
    while let Some(path) = waiting.pop() {
        let itself = hub.ask(&path, Method::GET, CLUSTER, None).await?;
        writer.write(&Record::Workspace(header(&path, &itself)))?;
        workspaces += 1;
        let mut next = String::new();
        loop {
            let page = hub.ask(&path, Method::GET, &format!("/debug/content{next}"), None).await?;
            let entries = page["entries"].as_array().cloned().unwrap_or_default();
            objects += entries.len();
            if flags.children {
                waiting.extend(children(&entries).map(|name| format!("{path}:{name}")));
            }
            let going_on = page["next"].as_str().map(|after| (page["revision"].clone(), after.to_owned()));
            bar.inc(writer.write(&Record::Page(page))? as u64);
            let Some((revision, after)) = going_on else { break };
            next = format!("?revision={revision}&continue={after}");
        }
    }
    let file = writer.finish()?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.sync_all()?;
    bar.finish_and_clear();
    Ok((workspaces, objects))
}

fn counted(workspaces: usize, objects: usize) -> String {
    format!("{}, {objects} objects", counted_workspaces(workspaces))
}

fn counted_workspaces(number: usize) -> String {
    format!("{number} workspace{}", if number == 1 { "" } else { "s" })
}

/// The names of the workspaces in one.
fn children(entries: &[Value]) -> impl Iterator<Item = String> {
    // Behind one that is mounted there is nothing of its own.
    let is_one = |entry: &&Value| moving::is_workspace(entry) && entry["object"]["spec"]["mount"].is_null();
    entries.iter().filter(is_one).filter_map(|entry| entry["at"][4].as_str().map(str::to_owned))
}

fn header(path: &str, itself: &Value) -> Header {
    let annotation = |name: &str| itself["metadata"]["annotations"][name].as_str().unwrap_or_default().to_owned();
    let of = annotation("internal.tenancy.kcp.io/type");
    let (at, name) = of.rsplit_once(':').unwrap_or(("root", "universal"));
    let of = json!({ "name": name, "path": at });
    let project = itself["spec"]["owner"]["resource"] == "projects";
    let labels = match project {
        true => json!({ "resourcemanager.miloapis.com/project-name": itself["spec"]["owner"]["name"] }),
        false => json!({}),
    };
    Header { path: path.to_owned(), id: annotation("kcp.io/cluster"), of, labels }
}

async fn import(flags: &Import) -> Result<(), Error> {
    let failed = |source| Error::File { file: flags.from.clone(), source };
    let open = || File::open(&flags.from).map(BufReader::new).map_err(|error| failed(error.into()));
    let mut headers = Vec::new();
    // All of it is read before anything is made of it.
    file::read(open()?, |record| {
        if let Record::Workspace(header) = record {
            headers.push(header);
        }
        Ok(())
    })
    .map_err(failed)?;
    let hub = Hub::new(&flags.hub)?;
    let shown = progress::spinner(&format!("creating {}", counted_workspaces(headers.len())));
    let moves = make(&hub, flags, &headers).await?;
    for one in &moves {
        rest(&hub, one, Some("true")).await?;
    }
    shown.finish_and_clear();
    let bar = progress::bytes("importing", Some(std::fs::metadata(&flags.from)?.len()));
    let objects = fill(&hub, open()?, &moves, &bar).await?;
    bar.finish_and_clear();
    let shown = progress::spinner("");
    for (nth, one) in moves.iter().enumerate() {
        shown.set_message(format!("activating workspace {} of {}", nth + 1, moves.len()));
        rest(&hub, one, None).await?;
    }
    let missing = look_again(&hub, &moves, &shown).await?;
    shown.finish_and_clear();
    let lines = || missing.iter().map(|line| format!("{line}\n")).collect::<String>();
    let person = || format!("{}: {}\n{}", flags.path, counted(moves.len(), objects), lines());
    let program = || json!({ "path": flags.path, "workspaces": moves.len(), "objects": objects, "missing": missing });
    Ok(answer(&flags.form.write(person, program))?)
}

/// What says where the server is, or what is there of what others offer, is true of another server. Each of these is
/// completed by whoever writes it: a change of nothing is enough. Bindings come last, for they refer to the others.
const SAID_BY_SERVER: [&str; 3] = [
    "/apis/tenancy.kcp.io/v1alpha1/workspacetypes",
    "/apis/apis.kcp.io/v1alpha1/apiexportendpointslices",
    "/apis/apis.kcp.io/v1alpha2/apibindings",
];

/// Has the server say it anew. Returns what is missing here, a line for each.
async fn look_again(hub: &Hub, moves: &[Move], shown: &ProgressBar) -> Result<Vec<String>, Error> {
    let mut missing = Vec::new();
    for kind in SAID_BY_SERVER {
        for (nth, one) in moves.iter().enumerate() {
            let kind_of = kind.rsplit('/').next().unwrap_or_default();
            shown.set_message(format!("checking {kind_of} of workspace {} of {}", nth + 1, moves.len()));
            let list = hub.ask(&one.new_id, Method::GET, kind, None).await?;
            for name in
                list["items"].as_array().into_iter().flatten().filter_map(|item| item["metadata"]["name"].as_str())
            {
                let now = hub.ask(&one.new_id, Method::PATCH, &format!("{kind}/{name}"), Some(&json!({}))).await?;
                if let Some(why) = moving::not_found(&now) {
                    missing.push(format!("{}: APIBinding {name:?}: {why}", one.new_path));
                }
            }
        }
    }
    Ok(missing)
}

/// Makes the workspaces, the outer ones first, with nothing in them.
async fn make(hub: &Hub, flags: &Import, headers: &[Header]) -> Result<Vec<Move>, Error> {
    let top = headers.first().ok_or(Error::Empty)?;
    let mut moves = Vec::new();
    for header in headers {
        let path = moving::new_path(&header.path, &top.path, &flags.path);
        let (parent, name) = path.rsplit_once(':').ok_or_else(|| Error::Path(path.clone()))?;
        let mut of = header.of.clone();
        if let Some(inside) = of["path"].as_str().filter(|at| at.starts_with(&*top.path)) {
            of["path"] = moving::new_path(inside, &top.path, &flags.path).into();
        }
        let mut spec = json!({ "type": of });
        if flags.same_identity {
            spec["cluster"] = json!(header.id);
        }
        let workspace = json!({
            "apiVersion": "tenancy.kcp.io/v1alpha1", "kind": "Workspace", "spec": spec,
            "metadata": { "name": name, "labels": header.labels },
        });
        let made = hub.ask(parent, Method::POST, WORKSPACES, Some(&workspace)).await?;
        let new_id = made["spec"]["cluster"].as_str().unwrap_or_default().to_owned();
        moves.push(Move { old_id: header.id.clone(), new_id, old_path: header.path.clone(), new_path: path });
    }
    Ok(moves)
}

/// Nobody does anything in a workspace that is being filled.
async fn rest(hub: &Hub, one: &Move, inactive: Option<&str>) -> Result<(), Error> {
    let patch = json!({ "metadata": { "annotations": { "core.kcp.io/inactive": inactive } } });
    hub.ask(&one.new_id, Method::PATCH, CLUSTER, Some(&patch)).await.map(drop)
}

async fn fill(hub: &Hub, from: BufReader<File>, moves: &[Move], bar: &ProgressBar) -> Result<usize, Error> {
    let (send, mut receive) = tokio::sync::mpsc::channel(1);
    let reading = tokio::task::spawn_blocking(move || {
        file::read(from, |record| send.blocking_send(record).map_err(|_| FileError::Short))
    });
    let (mut at, mut objects) = (None, 0);
    while let Some(record) = receive.recv().await {
        match record {
            Record::Workspace(header) => at = moves.iter().find(|one| one.old_path == header.path),
            Record::Page(page) => {
                let Some(own) = at else { continue };
                bar.inc(page.to_string().len() as u64);
                let Some(page) = moving::moved(page, own, moves) else { continue };
                objects += page["entries"].as_array().map_or(0, Vec::len);
                hub.ask(&own.new_id, Method::POST, "/debug/content", Some(&page)).await?;
            }
        }
    }
    reading.await.map_err(std::io::Error::other)??;
    Ok(objects)
}
