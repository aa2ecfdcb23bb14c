//! A daemon: everything that a configuration names, running.

use std::net::SocketAddr;

use axum::Router;
use axum::routing::any;
use http::StatusCode;
use latimer_runtime::DiscoveryHandle;
use latimer_server::{AgentRegistry, Keyring, RunningServer, Server};
use tokio::net::lookup_host;
use tokio::task::JoinHandle;

use crate::agents::agents;
use crate::auth;
use crate::banner::Banner;
use crate::config::{Config, Serving};
use crate::error::StartError;
use crate::remote::external;
use crate::signing::{self, keyring};
use crate::store;

/// A daemon that runs until it is shut down, or dropped: then it stops at once.
#[derive(Debug)]
pub struct Daemon {
    running: RunningServer,
    banner: Banner,
    /// Goes on as long as the daemon does.
    _keys: Option<Following>,
    /// The same for those who look for agents elsewhere.
    _lookouts: Vec<DiscoveryHandle>,
}

/// Something that goes on until this is dropped.
#[derive(Debug)]
struct Following(JoinHandle<()>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Daemon {
    /// Opens the store, takes over what a former process left, and begins to listen.
    ///
    /// # Errors
    /// When the configuration cannot be served, the store cannot be opened, or the address cannot be
    /// listened at.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        protect(config).await?;
        let seen = config.signing.as_ref().map(signing::texts).unwrap_or_default();
        let keyring = keyring(config)?;
        let server = store::attach(server(config, keyring.clone())?, config)?;
        let external = external(config)?;
        let running = server.listen().await.map_err(StartError::Server)?;
        let banner = Banner::new(config, running.address(), running.recovered_tasks());
        let keys = keyring.zip(config.signing.clone()).map(|(keyring, signing)| {
            Following(tokio::spawn(signing::follow(signing, keyring, seen, signing::EVERY)))
        });
        let lookouts =
            external.into_iter().map(|(name, it)| it.discover_in_background(name)).collect();
        Ok(Self { running, banner, _keys: keys, _lookouts: lookouts })
    }

    /// The address it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.running.address()
    }

    /// What it serves, for people.
    #[must_use]
    pub fn banner(&self) -> &Banner {
        &self.banner
    }

    /// Takes no new work, lets what is going on end, and stops. What does not end in time goes on
    /// when the next daemon starts.
    pub async fn shutdown(self) {
        self.running.shutdown().await;
    }
}

/// Says whether a configuration can be served, without opening or listening to anything.
///
/// # Errors
/// When it cannot.
pub async fn check(config: &Config) -> Result<(), StartError> {
    protect(config).await?;
    config.settings.check().map_err(StartError::Server)?;
    auth::methods(config)?;
    if let Some(tls) = &config.tls {
        tls.check().map_err(StartError::Server)?;
    }
    let registry =
        AgentRegistry::new(agents(config)?).map_err(|it| StartError::Server(it.into()))?;
    if let Some(primary) = &config.primary_agent {
        registry.with_primary(primary).map_err(|it| StartError::Server(it.into()))?;
    }
    external(config)?;
    keyring(config)?;
    Ok(())
}

fn server(config: &Config, keyring: Option<Keyring>) -> Result<Server, StartError> {
    let mut server = Server::empty().bind(&config.listen).settings(config.settings.clone());
    for agent in agents(config)? {
        server = server.with_agent(agent);
    }
    if let Some(primary) = &config.primary_agent {
        server = server.primary(primary);
    }
    if let Some(methods) = auth::methods(config)? {
        server = server.authenticate(methods);
    }
    if let Some(tls) = &config.tls {
        server = server.tls(tls.clone());
    }
    if let Some(keyring) = keyring {
        server = server.with_keyring(keyring);
    }
    Ok(match config.serving {
        Serving::On | Serving::Disabled => server,
        Serving::Absent => server.merge_routes(nothing(&config.settings.listen_path)),
    })
}

/// Whoever can reach the agents from elsewhere has to say who they are.
async fn protect(config: &Config) -> Result<(), StartError> {
    if config.is_guarded() || config.dangerously_allow_unauthenticated_remote {
        return Ok(());
    }
    let listen = || config.listen.clone();
    let failed = |source| StartError::Address { listen: listen(), source };
    let mut addresses = lookup_host(&config.listen).await.map_err(failed)?;
    match addresses.all(|it| it.ip().to_canonical().is_loopback()) {
        true => Ok(()),
        false => Err(StartError::Unprotected { listen: listen() }),
    }
}

/// Everywhere that A2A would be, nothing.
fn nothing(base: &str) -> Router {
    let base = base.trim_end_matches('/');
    let mut router = Router::new();
    let mut paths = vec!["/".to_owned()];
    for below in [base, "/v1", "/.well-known", "/api/a2a", "/agent"] {
        paths.extend([below.to_owned(), format!("{below}/{{*rest}}")]);
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
