//! Starts, validates and stops the server of a configuration.

use std::net::{SocketAddr, ToSocketAddrs};

use axum::Router;
use axum::routing::any;
use http::StatusCode;
use latimer_outbound::is_loopback_ip;
use latimer_runtime::DiscoveryHandle;
use latimer_server::{AgentRegistry, Keyring, RunningServer, Server};
use tokio::net::lookup_host;
use tokio::task::{JoinSet, spawn_blocking};
use tracing::warn;

use crate::agents::{MissingProgram, build_agents, missing_programs};
use crate::auth;
use crate::banner::Banner;
use crate::config::{Config, ServingMode};
use crate::error::StartError;
use crate::remote::build_unpublished_agents;
use crate::signing::{self, configured_keyring};
use crate::store;
use crate::unfinished::{NextStart, UnfinishedTasks};

/// A running daemon. [`shutdown`](Daemon::shutdown) lets running turns finish; dropping it stops
/// the server at once.
///
/// ```
/// use latimer_daemon::Daemon;
/// use latimer_daemon::config::{ConfigFile, FlagOverride, LoadRequest, LoadedConfig};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let flag = |option, key, value: &str| FlagOverride { option, key, value: value.into() };
/// let flags = vec![
///     flag("--listen", "listen", "127.0.0.1:0"),
///     flag("--store", "store.kind", "memory"),
/// ];
/// let request = LoadRequest { file: ConfigFile::None, flags, ..LoadRequest::default() };
/// let config = LoadedConfig::load(&request)?.config;
///
/// let daemon = Daemon::start(&config).await?;
/// assert_ne!(daemon.address().port(), 0);
/// assert_eq!(daemon.banner().agents[0].name, "echo");
/// daemon.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Daemon {
    running: RunningServer,
    banner: Banner,
    next_start: NextStart,
    /// Reloads signing keys until the daemon is dropped.
    _key_watcher: JoinSet<()>,
    /// Discovery of unpublished remote agents, until the daemon is dropped.
    _discovery_handles: Vec<DiscoveryHandle>,
}

impl Daemon {
    /// Opens the store, claims the unfinished tasks of ended processes, and listens.
    ///
    /// # Errors
    /// Fails if the configuration cannot be served, the store cannot be opened, or the address cannot be
    /// bound.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        require_auth_if_remote(config).await?;
        let key_files = config.signing.as_ref().map(signing::read_key_files).unwrap_or_default();
        let keyring = configured_keyring(config)?;
        let server = store::attach(build_server(config, keyring.clone())?, config)?;
        let unpublished = build_unpublished_agents(config)?;
        warn_about_missing_programs(config.clone()).await;
        let running = server.listen().await.map_err(StartError::Server)?;
        let banner = Banner::new(config, running.address(), running.recovered_tasks());
        let mut key_watcher = JoinSet::new();
        if let Some((keyring, signing)) = keyring.zip(config.signing.clone()) {
            let interval = signing::POLL_INTERVAL;
            key_watcher.spawn(signing::watch_keys(signing, keyring, key_files, interval));
        }
        let discovery_handles =
            unpublished.into_iter().map(|(name, it)| it.discover_in_background(name)).collect();
        Ok(Self {
            running,
            banner,
            next_start: NextStart::new(config),
            _key_watcher: key_watcher,
            _discovery_handles: discovery_handles,
        })
    }

    /// Returns the address that the daemon listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.running.address()
    }

    /// Returns a human-readable summary.
    #[must_use]
    pub fn banner(&self) -> &Banner {
        &self.banner
    }

    /// Returns what becomes of unfinished tasks when the daemon stops.
    #[must_use]
    pub fn unfinished_tasks(&self) -> UnfinishedTasks {
        UnfinishedTasks::new(self.running.handle(), self.next_start.clone())
    }

    /// Accepts no new work, waits up to the configured drain time for running turns, and stops.
    /// Returns the number of turns that were stopped because they did not end in time;
    /// [`UnfinishedTasks::outcome`] states what becomes of their tasks.
    pub async fn shutdown(self) -> usize {
        self.running.shutdown().await
    }
}

async fn warn_about_missing_programs(config: Config) {
    // It may run a shell. A panic of it would only lose the warnings.
    let missing = spawn_blocking(move || missing_programs(&config)).await.unwrap_or_default();
    for MissingProgram { agent, program } in missing {
        warn!(agent, program, "command not found");
    }
}

/// Fails if a configuration cannot be served, without opening the store or a socket. May resolve the
/// `listen` address, and reads the files of keys and certificates.
///
/// # Errors
/// Fails if [`Daemon::start`] would fail for a reason in the configuration.
pub async fn validate(config: &Config) -> Result<(), StartError> {
    require_auth_if_remote(config).await?;
    config.settings.check().map_err(StartError::Server)?;
    auth::authenticators(config)?;
    if let Some(tls) = &config.tls {
        tls.check().map_err(StartError::Server)?;
    }
    let registry =
        AgentRegistry::new(build_agents(config)?).map_err(|it| StartError::Server(it.into()))?;
    if let Some(primary) = &config.primary_agent {
        registry.with_primary(primary).map_err(|it| StartError::Server(it.into()))?;
    }
    build_unpublished_agents(config)?;
    configured_keyring(config)?;
    Ok(())
}

fn build_server(config: &Config, keyring: Option<Keyring>) -> Result<Server, StartError> {
    let mut server = Server::empty().bind(&config.listen).settings(config.settings.clone());
    for agent in build_agents(config)? {
        server = server.with_agent(agent);
    }
    if let Some(primary) = &config.primary_agent {
        server = server.primary(primary);
    }
    if let Some(authenticators) = auth::authenticators(config)? {
        server = server.authenticate(authenticators);
    }
    if let Some(tls) = &config.tls {
        server = server.tls(tls.clone());
    }
    if let Some(keyring) = keyring {
        server = server.with_keyring(keyring);
    }
    Ok(match config.serving {
        ServingMode::Enabled | ServingMode::Disabled => server,
        ServingMode::NotConfigured => {
            server.merge_routes(not_found_routes(&config.settings.listen_path))
        }
    })
}

/// Fails if the server would listen on a non-loopback address without authentication, or with
/// authentication and only public paths.
async fn require_auth_if_remote(config: &Config) -> Result<(), StartError> {
    let is_public = config.settings.public_paths.iter().any(|it| it == "/*");
    let requires_auth = config.requires_auth() && !is_public;
    if requires_auth || config.dangerously_allow_unauthenticated_remote {
        return Ok(());
    }
    let listen = || config.listen.clone();
    let address_error = |source| StartError::ResolveAddress { listen: listen(), source };
    let mut addresses = lookup_host(&config.listen).await.map_err(address_error)?;
    match addresses.all(|it| is_loopback_ip(it.ip())) {
        true => Ok(()),
        false => Err(StartError::UnauthenticatedRemote { listen: listen() }),
    }
}

/// Returns whether the server can be reached from this machine only.
pub(crate) fn is_loopback_only(config: &Config) -> bool {
    let addresses = config.listen.to_socket_addrs();
    addresses.is_ok_and(|mut all| all.all(|it| config.settings.is_loopback_only(it)))
}

/// Returns routes that respond with 404 to every A2A path.
fn not_found_routes(base: &str) -> Router {
    let base = base.trim_end_matches('/');
    let mut router = Router::new();
    let mut paths = vec!["/".to_owned()];
    for prefix in [base, "/v1", "/.well-known", "/api/a2a", "/agent"] {
        paths.extend([prefix.to_owned(), format!("{prefix}/{{*rest}}")]);
    }
    paths.extend(["lf.a2a.v1", "a2a.v1"].map(|it| format!("/{it}.A2AService/{{*rest}}")));
    paths.retain(|it| !it.is_empty());
    paths.sort();
    paths.dedup();
    for path in paths {
        router = router.route(&path, any(|| async { StatusCode::NOT_FOUND }));
    }
    router
}
