//! The hallway: the only place that constructs subsystems and introduces them to each other.

mod standing;

use crate::aggregation::{self, Front};
use crate::apis;
use crate::bootstrap::{self, bootstrap};
use crate::config::{AuthenticationError, AuthorizationError, Config, FileError, KeyFlags, Reload, Vouching};
use crate::credentials::{self, Authorities, Credentials, CredentialsError, SERVICE_ADDRESS, TokenKeys};
use crate::definitions;
use crate::demonstration::{self, Scale, Shown};
use crate::dialects::karmada::Compat;
use crate::dialects::{Book, karmada, native};
use crate::fleet::{self, Connector, Doors, Ledger};
use crate::interpreter::Scripts;
use crate::scheduler::controller::{self as scheduler, Rulebook};
use crate::syncer::run as syncer;
use crate::tenancy::{
    Finder, HOME, ROOT, Tenancy, address, bindings, copies, departure, lasting, mounts, projects, rest, seed,
};
use crate::upkeep::{self, Pace, Signing, Upkeep};
use apiserver::ambient::Ambient;
use apiserver::api::Api;
use apiserver::auth::{Elsewhere, TokenIssuer};
use apiserver::authn::Authentication;
use apiserver::catalog::{Catalog, Group};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::pipeline::{Pipeline, pipeline};
use apiserver::place::Workspace;
use apiserver::resources::Resources;
use apiserver::serve;
use serde_json::{Value, json};
use standing::Follower;
use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use storage::{OpenError, Options, Place, Seal, Stats, Store};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// An address that is on no machine's own network: it is reserved for documentation.
const ELSEWHERE: &str = "192.0.2.1:9";

/// How soon a change of who is trusted counts.
const READ_AGAIN: Duration = Duration::from_secs(5);

/// A running server.
#[derive(Debug)]
pub struct Server {
    store: Store,
    api: Api,
    resources: Resources,
    address: SocketAddr,
    kubeconfig: PathBuf,
    stop: CancellationToken,
    serving: JoinHandle<()>,
    upkeep: Upkeep,
    /// Who sees workspaces off, and who looks after API servers behind this one.
    tending: TaskTracker,
    federation: TaskTracker,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot start the server{}", otherwise(.0))]
    Storage(#[from] OpenError),
    #[error("opening the store was interrupted")]
    Interrupted(#[from] tokio::task::JoinError),
    #[error("cannot listen on {address}: {why}{}", instead(why))]
    Listen { address: SocketAddr, why: io::Error },
    #[error("cannot set up the server's certificates and keys")]
    Credentials(#[from] CredentialsError),
    #[error("cannot set up the audit log")]
    Audit(#[from] FileError),
    #[error("invalid authentication settings")]
    Authentication(#[from] AuthenticationError),
    #[error("invalid authorization settings")]
    Authorization(#[from] AuthorizationError),
    #[error("cannot query the host: {0}")]
    Host(String),
    #[error("cannot set up encryption at rest")]
    Encryption(#[source] FileError),
    #[error("cannot connect to the host")]
    NoHost(#[source] FileError),
    #[error("cannot create the initial objects")]
    Bootstrap(#[from] ApiError),
}

/// What somebody can do about an address that cannot be had.
fn instead(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::AddrInUse => {
            "; is another server running? `--listen 127.0.0.1:0` picks a free port; a second server needs its own --data-dir"
        }
        io::ErrorKind::PermissionDenied => "; ports below 1024 need root: try `--listen ADDRESS:6443`",
        io::ErrorKind::AddrNotAvailable => "; this machine does not have that address: try `--listen 127.0.0.1:6443`",
        _ => "",
    }
}

/// The flags that open a store which these did not.
fn otherwise(error: &OpenError) -> String {
    match error {
        OpenError::OtherBackend { found, .. } => format!(" without --storage {found}"),
        OpenError::InUse { .. } => " with this --data-dir".to_owned(),
        _ => String::new(),
    }
}

impl Server {
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let (limits, listen) = (config.limits.clone(), config.listen);
        let compat = if config.karmada_hazards { Compat::Karmada118 } else { Compat::Mended };
        let Config { place, storage, data_dir, names, authentication, authorization, aggregated, audit, keys, .. } =
            config;
        let stop = CancellationToken::new();
        let (vouching, audit) = (authentication.read()?, audit.read()?);
        let standing = aggregated.read().map_err(StartError::NoHost)?;
        let deciders = authorization.read(standing.as_ref())?.map(|all| Arc::new(all) as Arc<dyn Elsewhere>);
        let listener = serve::bind(listen).await.map_err(|why| StartError::Listen { address: listen, why })?;
        let address = listener.local_addr().map_err(|why| StartError::Listen { address: listen, why })?;
        let store = open_store(place, storage, &keys, &stop).await?;
        let ambient = Ambient::real();
        let others = Authorities {
            clients: vouching.client_authorities.as_deref(),
            proxies: vouching.proxy_authorities.as_deref(),
            host_clients: None,
        };
        let credentials = Credentials::open(&data_dir, &names, others, &ambient)?;
        let (signing, accepted) = (&keys.service_account_signing_key_file, &keys.service_account_key_files);
        let token_keys = TokenKeys::new(&data_dir, signing.clone(), accepted.clone());
        credentials.tokens.use_keys(token_keys.read()?);
        vouching.authentication.revoke(keys.revoked()?);
        let front = Front::open(&data_dir, &credentials.ca_pem, ambient.clone()).map_err(CredentialsError::from)?;
        let catalog = Arc::new(catalog());
        let url = credentials::url(address);
        let tenancy = Arc::new(Tenancy::new(url.clone(), bootstrap::rules()).checking(karmada::customization::check));
        let resources = Resources::consulting(store.clone(), catalog, ambient, tenancy, deciders);
        resources.limit_workspaces(limits.room());
        let finder = Finder::new(Client::as_system(resources.clone(), "tenancy"));
        let Vouching { authentication, reload, client_authorities: clients, proxy_authorities: proxies } = vouching;
        let host = standing.as_ref().map(|standing| standing::host(standing, offered_groups()));
        let authentication = Arc::new(authentication.behind(host));
        let tokens = credentials.tokens.clone();
        let api = Api::new(resources.clone(), Arc::new(finder), tokens, authentication.clone(), audit, version());
        let client = Client::as_system(resources.clone(), "bootstrap");
        seed::seed(&client, &url).await?;
        for workspace in [ROOT, HOME].map(Workspace::new) {
            bootstrap(&client, &workspace, advertised(address)).await?;
            front.publish(&client, &workspace).await?;
        }
        let kubeconfig = credentials.write_kubeconfig(address)?;
        let client = Client::as_system(resources.clone(), "upkeep");
        let served = (&*credentials.ca_pem, &[ROOT, HOME].map(Workspace::new)[..]);
        let upkeep = upkeep::start(&client, Some(&api.relay), served, Pace::default(), &stop);
        let signing = Signing { authority: credentials.authority.clone(), lasts_max: keys.cluster_signing_duration };
        upkeep.sign(&client, signing, &stop);
        let tending = tend(&api, url, aggregate(&resources, &api, front, &stop), &stop);
        if let Some(standing) = standing {
            let (authentication, trust) = (authentication.clone(), credentials.trust.clone());
            Follower { standing, authentication, trust, clients, proxies }.start(&stop).await?;
        }
        let renewing = credentials.renewal.clone().keep(address, resources.ambient().clone(), stop.clone());
        tokio::spawn(renewing);
        tokio::spawn(keep_token_keys(token_keys, credentials.tokens.clone(), stop.clone()));
        if keys.revoked_identities.is_some() {
            tokio::spawn(keep_revoked(keys, authentication.clone(), stop.clone()));
        }
        if reload.is_needed() {
            // It ends with the server, and holds nothing that would have to be let go.
            tokio::spawn(keep_trust(reload, authentication, stop.clone()));
        }
        let pipeline = pipeline(api.clone(), limits.requests());
        let federation = federate(&api, &pipeline, compat, &stop).await?;
        let peers = (credentials.recognise, limits.patience());
        let serving = tokio::spawn(serve::serve(listener, credentials.tls, peers, pipeline, stop.clone()));
        Ok(Self { store, api, resources, address, kubeconfig, stop, serving, upkeep, tending, federation })
    }

    pub fn stats(&self) -> Stats {
        self.store.stats()
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How an administrator reaches it.
    pub fn kubeconfig(&self) -> &PathBuf {
        &self.kubeconfig
    }

    /// Makes cells to try things on, and lets them live for as long as the server does.
    pub async fn demonstrate(&self, scale: Scale) -> Result<Shown, StartError> {
        let client = Client::as_system(self.resources.clone(), "demonstration");
        let shown = demonstration::prepare(&client, scale).await?;
        self.federation.spawn(demonstration::controller(&client, shown.ids.clone()).run(self.stop.clone()));
        Ok(shown)
    }

    /// Takes no more, finishes what was accepted, ends watches, and lets go of the data.
    pub async fn stop(self) {
        self.api.drain();
        self.api.stop();
        self.stop.cancel();
        // It ends by itself; a panic in it has been told.
        let _ = self.serving.await;
        self.tending.wait().await;
        self.upkeep.stopped().await;
        self.federation.wait().await;
        self.store.close().await;
    }
}

/// Starts what looks after workspaces, and what looks after the API servers behind this one.
fn tend(
    api: &Api,
    url: String,
    aggregating: impl Future<Output = ()> + Send + 'static,
    stop: &CancellationToken,
) -> TaskTracker {
    let tending = TaskTracker::new();
    let client = Client::as_system(api.resources.clone(), "tenancy");
    tending.spawn(address::refresh(client.clone(), url, stop.clone()));
    tending.spawn(departure::controller(&client).run(stop.clone()));
    tending.spawn(bindings::controller(&client).run(stop.clone()));
    tending.spawn(lasting::controller(&client).run(stop.clone()));
    tending.spawn(copies::controller(&client, copies::AGE).run(stop.clone()));
    tending.spawn(mounts::controller(&client).run(stop.clone()));
    tending.spawn(projects::departure::controller(&client).run(stop.clone()));
    tending.spawn(projects::suspension::controller(&client).run(stop.clone()));
    tending.spawn(rest::controller(&client, api).run(stop.clone()));
    tending.spawn(aggregating);
    tending.close();
    tending
}

/// Opens the store with the keys of what is sealed in it, and follows those.
async fn open_store(
    place: Place,
    options: Options,
    keys: &KeyFlags,
    stop: &CancellationToken,
) -> Result<Store, StartError> {
    let seal = Seal::new(keys.ring().map_err(StartError::Encryption)?);
    let options = Options { seal: seal.clone(), ..options };
    // Reads and checks everything that is stored: too long to do on the runtime's own threads.
    let store = tokio::task::spawn_blocking(move || Store::open(&place, options)).await??;
    if keys.encryption_provider_config.is_some() {
        tokio::spawn(keep_seal(keys.clone(), seal, stop.clone()));
    }
    Ok(store)
}

/// The kinds that every workspace has: Kubernetes' and our own.
fn catalog() -> Catalog {
    definitions::catalog(own_definitions())
}

/// The definitions of our own kinds, and of those that come from kcp and Karmada.
pub fn own_definitions() -> impl Iterator<Item = Object> {
    let ours = [native::definitions::definitions(), karmada::definitions::definitions(), apis::definitions::all()];
    let ours = ours.into_iter().flatten().filter_map(|definition| Object::try_from(definition).ok());
    definitions::definitions().chain(ours)
}

/// The groups of our own kinds with their versions, the preferred one first: what a host is offered.
pub fn offered() -> Vec<(String, Vec<String>)> {
    let own: BTreeSet<String> = own_definitions().map(|found| found.text(&["spec", "group"]).to_owned()).collect();
    let catalog = catalog();
    let groups = catalog.groups().iter().filter(|group| own.contains(&group.name));
    let versions = |group: &Group| group.versions.iter().map(|version| version.name.clone()).collect();
    groups.map(|group| (group.name.clone(), versions(group))).collect()
}

fn offered_groups() -> Vec<String> {
    offered().into_iter().map(|(group, _)| group).collect()
}

/// Lets API servers behind this one recognise it, and looks after them.
fn aggregate(
    resources: &Resources,
    api: &Api,
    front: Front,
    stop: &CancellationToken,
) -> impl Future<Output = ()> + use<> {
    let front = Arc::new(front);
    api.relay.present(front.clone());
    let client = Client::as_system(resources.clone(), "aggregation");
    aggregation::controller(&client, &api.relay, &front).run(stop.clone())
}

/// Starts what places objects in cells and keeps them there.
async fn federate(
    api: &Api,
    pipeline: &Pipeline,
    compat: Compat,
    stop: &CancellationToken,
) -> Result<TaskTracker, StartError> {
    let resources = &api.resources;
    let client = |name: &str| Client::as_system(resources.clone(), name);
    let tasks = TaskTracker::new();
    let finder = Finder::new(client("tenancy"));
    let ambient = resources.ambient().clone();
    let scripts = Scripts::new(Arc::new(move || ambient.now()));
    let rules = Arc::new(Book::new(Box::new(move |workspace| finder.path_of(workspace)), scripts, compat));
    let book: Arc<dyn Rulebook> = rules.clone();
    let ledger = Arc::new(Ledger::default());
    let connector = Arc::new(Connector { pipeline: pipeline.clone(), documents: Arc::default() });
    let fleet = fleet::start(&client("fleet"), connector, (&ledger, fleet::Pace::default()), &tasks, stop);
    api.lead(Arc::new(Doors { client: client("fleet"), fleet: fleet.clone() }));
    let hub = identity(&client("fleet")).await?;
    scheduler::start(&client("scheduler"), &hub, &book, &tasks, stop);
    tasks.spawn(karmada::rebalancer::controller(&client("rebalancer")).run(stop.clone()));
    resources.compute(Arc::new(karmada::Views { client: client("views"), book: rules, hub: hub.clone() }));
    syncer::start(&client("syncer"), &hub, &book, (&fleet, &ledger), &tasks, stop);
    tasks.close();
    Ok(tasks)
}

/// What tells this server from others in the same cells: it lasts as long as the store does.
async fn identity(client: &Client) -> Result<String, StartError> {
    let namespaces = client.at(("", "v1", "namespaces"), &Workspace::new(ROOT), None)?;
    let system = client.get(&namespaces.object("kube-system")).await?;
    Ok(system.map(|namespace| namespace.uid().to_owned()).unwrap_or_default())
}

/// Where others find this server: endpoints may not name a loopback address, nor "any".
fn advertised(listening: SocketAddr) -> SocketAddr {
    if !listening.ip().is_loopback() && !listening.ip().is_unspecified() {
        return listening;
    }
    // Nothing is sent: the system only says which of its addresses it would send from.
    let route = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect(ELSEWHERE)?;
        socket.local_addr()
    });
    let ip = route.map(|local| local.ip()).ok().filter(|ip| !ip.is_loopback() && !ip.is_unspecified());
    SocketAddr::new(ip.unwrap_or(SERVICE_ADDRESS), listening.port())
}

/// Whoever is trusted is read again when the file that says so has changed.
async fn keep_trust(reload: Reload, authentication: Arc<Authentication>, stop: CancellationToken) {
    let changed = || match reload.read() {
        Ok((trusted, _)) => authentication.trust(trusted),
        // Better an old configuration than none.
        Err(error) => tracing::warn!(%error, "what was trusted before is trusted still"),
    };
    on_change(|| reload.text(), changed, stop).await;
}

/// The same for whoever is trusted no more.
async fn keep_revoked(keys: KeyFlags, authentication: Arc<Authentication>, stop: CancellationToken) {
    let changed = || match keys.revoked() {
        Ok(revoked) => authentication.revoke(revoked),
        Err(error) => tracing::warn!(%error, "who was revoked before is revoked still"),
    };
    on_change(|| keys.revoked_text(), changed, stop).await;
}

/// The same for what seals and opens what is stored.
async fn keep_seal(keys: KeyFlags, seal: Seal, stop: CancellationToken) {
    let changed = || match keys.ring() {
        Ok(ring) => seal.use_ring(ring),
        Err(error) => tracing::warn!(%error, "what is written is sealed as before"),
    };
    on_change(|| keys.ring_text(), changed, stop).await;
}

/// The same for the keys of tokens.
async fn keep_token_keys(keys: TokenKeys, tokens: TokenIssuer, stop: CancellationToken) {
    let changed = || match keys.read() {
        Ok(read) => tokens.use_keys(read),
        Err(error) => tracing::warn!(%error, "tokens are signed and accepted as before"),
    };
    on_change(|| Some(keys.stamp()), changed, stop).await;
}

/// Calls `act` whenever `look` has something else to say, until it is stopped.
async fn on_change(look: impl Fn() -> Option<String>, act: impl Fn(), stop: CancellationToken) {
    let mut known = look();
    let mut ticks = tokio::time::interval(READ_AGAIN);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let now = look();
        if now != known {
            known = now;
            act();
        }
    }
}

/// The Kubernetes whose API this is, and what serves it.
fn version() -> Value {
    json!({
        "major": "1", "minor": "37",
        "gitVersion": concat!("v1.37.1+hanse.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none", "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}
