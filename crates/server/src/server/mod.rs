//! Configuration of a server, and its two later stages.
//!
//! A [`Server`] is configured; an [`AssembledServer`] has a store, an engine and cards; a
//! [`RunningServer`] serves a socket. A [`ServerHandle`] controls the last two.

mod assembled;
mod backend;
#[cfg_attr(not(feature = "push"), path = "dispatcher/disabled.rs")]
mod dispatcher;
mod echo;
mod handle;
mod running;
mod signal;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use http::HeaderMap;
use latimer_protocol::swarm::Directive;
use latimer_protocol::{Caller, Service};
use latimer_store::TaskStore;
use tokio::net::TcpListener;
use tracing::{info, warn};

use assembled::{LoadedTls, load_tls, local_address};
use dispatcher::DispatcherFactory;

pub use assembled::AssembledServer;
pub use handle::ServerHandle;
pub use running::RunningServer;

use crate::agent::{Agent, AgentRegistry};
use crate::auth::{Authenticate, HeaderAuth};
use crate::error::{Error, Result};
use crate::listener::Tls;
use crate::settings::Settings;
use crate::signing::Keyring;
use crate::swarm::Swarm;
use crate::turn::{AgentFailure, Turn};

/// Configuration of a server that publishes agents.
///
/// ```no_run
/// use latimer_server::{Server, Turn};
///
/// #[tokio::main]
/// async fn main() -> latimer_server::Result<()> {
///     Server::agent("shouter", |turn: Turn| async move {
///         turn.progress("thinking").await?;
///         turn.reply(turn.text().to_uppercase()).await
///     })
///     .bind("127.0.0.1:8080")
///     .run()
///     .await
/// }
/// ```
#[must_use = "a server does nothing until it is run"]
#[derive(Clone)]
pub struct Server {
    agents: Vec<Agent>,
    primary: Option<String>,
    listen_address: String,
    settings: Settings,
    store: Option<Arc<dyn TaskStore>>,
    service: Option<Arc<dyn Service>>,
    auth: Option<Arc<dyn Authenticate>>,
    dispatcher: Option<DispatcherFactory>,
    keyring: Option<Keyring>,
    tls: Option<Tls>,
    routes: Router,
    swarm: Option<Swarm>,
}

impl fmt::Debug for Server {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Server")
            .field("agents", &self.agents)
            .field("address", &self.listen_address)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Creates a server with one agent.
    pub fn new(agent: Agent) -> Self {
        Self::empty().with_agent(agent)
    }

    /// Creates a server with one agent, whose executor is a function.
    pub fn agent<F, R, E>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        F: Fn(Turn) -> R + Send + Sync + 'static,
        R: Future<Output = std::result::Result<(), E>> + Send + 'static,
        E: Into<AgentFailure> + 'static,
    {
        Self::new(Agent::from_fn(name, function))
    }

    /// Creates a server with one agent, which replies with the text of each message.
    pub fn echo() -> Self {
        Self::new(echo::agent())
    }

    /// Creates a server without agents. Its card states that it has none.
    pub fn empty() -> Self {
        Self {
            agents: Vec::new(),
            primary: None,
            listen_address: "127.0.0.1:8080".to_owned(),
            settings: Settings::default(),
            store: None,
            service: None,
            auth: None,
            dispatcher: None,
            keyring: None,
            tls: None,
            routes: Router::new(),
            swarm: None,
        }
    }

    /// Adds an agent. The first one is the primary agent unless [`Server::primary`] names another.
    pub fn with_agent(mut self, agent: Agent) -> Self {
        self.agents.push(agent);
        self
    }

    /// Sets the primary agent, which handles calls that name no agent.
    pub fn primary(mut self, name: impl Into<String>) -> Self {
        self.primary = Some(name.into());
        self
    }

    /// Sets the store of tasks. The default is a [`MemoryStore`](latimer_store::MemoryStore).
    pub fn store(self, store: impl TaskStore) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Sets a store of tasks that the application also accesses itself.
    pub fn shared_store(mut self, store: Arc<dyn TaskStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets a service that handles calls in place of the task engine. The agents then only determine
    /// the cards, and the service must isolate the tasks of different callers from each other.
    pub fn with_service(mut self, service: impl Service) -> Self {
        self.service = Some(Arc::new(service));
        self
    }

    /// Sets the address to listen on: a host and a port. Port 0 selects a free port. The default is
    /// `127.0.0.1:8080`.
    pub fn bind(mut self, address: impl fmt::Display) -> Self {
        self.listen_address = address.to_string();
        self
    }

    /// Replaces all settings, including those of methods that were called before.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the path below which A2A is served.
    pub fn listen_path(mut self, path: impl Into<String>) -> Self {
        self.settings.listen_path = path.into();
        self
    }

    /// Sets the URL under which clients reach the server; it is written into cards.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.settings.public_url = Some(url.into());
        self
    }

    /// Sets a function that authenticates callers by the headers of their requests. A request for
    /// which it returns `None` is unauthenticated: it is rejected except on public paths.
    pub fn authenticate_with(
        self,
        extractor: impl Fn(&HeaderMap) -> Option<Caller> + Send + Sync + 'static,
    ) -> Self {
        self.authenticate(HeaderAuth(extractor))
    }

    /// Sets the method that authenticates callers. Several methods are combined with
    /// [`AnyOf`](crate::AnyOf).
    pub fn authenticate(mut self, authenticate: impl Authenticate) -> Self {
        self.auth = Some(Arc::new(authenticate));
        self
    }

    /// Sets the keys that sign cards and webhook deliveries. The server publishes the public keys at
    /// `/.well-known/jwks.json`.
    ///
    /// A card is signed only if its URLs are known to be those of the server: the
    /// [public URL](Server::public_url), a loopback host or the listen address. A card with another
    /// host from the `Host` header, or with a host that a proxy forwarded, is not signed.
    #[cfg(feature = "signing")]
    pub fn with_keyring(mut self, keyring: Keyring) -> Self {
        self.keyring = Some(keyring);
        self
    }

    /// Sets the TLS files. The server then accepts only TLS connections on its sockets. Its
    /// [router](Server::router) is not affected.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Sets the handler of directives: messages with a `swarmKind` in their metadata. The handler
    /// receives them in place of the agent that they are sent to. Without a handler they are ordinary
    /// messages.
    ///
    /// Directives of anonymous callers and of unknown kinds are rejected. If the handler requires
    /// input, another directive answers it: a message without a `swarmKind` goes to the agent.
    pub fn register_swarm_handler<F, R, E>(mut self, handler: F) -> Self
    where
        F: Fn(Directive, Turn) -> R + Send + Sync + 'static,
        R: Future<Output = std::result::Result<(), E>> + Send + 'static,
        E: Into<AgentFailure> + 'static,
    {
        self.swarm = Some(Swarm::new(handler));
        self
    }

    /// Adds routes that take precedence over those of the server. Requests that they do not match go
    /// to the server; their fallbacks are not used.
    pub fn merge_routes(mut self, routes: Router) -> Self {
        self.routes = self.routes.merge(routes);
        self
    }

    /// Creates the store, the engine and the cards, and recovers the tasks of an ended process. No
    /// socket is opened.
    ///
    /// # Errors
    /// Fails if the agents or settings are invalid, or if the store cannot be used.
    pub async fn assemble(self) -> Result<AssembledServer> {
        AssembledServer::new(self, None).await
    }

    /// Assembles the server and returns its [router](AssembledServer::router).
    ///
    /// # Errors
    /// Fails as [`Server::assemble`] does.
    pub async fn router(self) -> Result<Router> {
        Ok(self.assemble().await?.router())
    }

    /// Binds the address and serves it until the returned server is shut down or dropped.
    ///
    /// # Errors
    /// Fails as [`Server::serve`] does, and with [`Error::Listen`] if the address cannot be bound.
    pub async fn listen(self) -> Result<RunningServer> {
        // Before the address is bound, so that invalid certificates leave it free.
        let tls = load_tls(self.tls.as_ref())?;
        let listen_error = |source| Error::listen(&self.listen_address, source);
        let socket = TcpListener::bind(&self.listen_address).await.map_err(listen_error)?;
        self.serve_with_tls(socket, tls).await
    }

    /// Assembles the server and serves a bound socket until the returned server is shut down or
    /// dropped. [`Server::bind`] is ignored.
    ///
    /// # Errors
    /// Fails if the agents or settings are invalid, the certificates or the store cannot be used, or
    /// the socket has no address.
    pub async fn serve(self, socket: TcpListener) -> Result<RunningServer> {
        let tls = load_tls(self.tls.as_ref())?;
        self.serve_with_tls(socket, tls).await
    }

    async fn serve_with_tls(
        self,
        socket: TcpListener,
        tls: Option<LoadedTls>,
    ) -> Result<RunningServer> {
        let address = local_address(&socket)?;
        AssembledServer::new(self, Some(address)).await?.serve_with_tls(socket, tls)
    }

    /// Serves until the process receives SIGINT or SIGTERM, and then shuts down.
    ///
    /// # Errors
    /// Fails as [`Server::listen`] does.
    pub async fn run(self) -> Result<()> {
        let requires_auth = self.auth.is_some();
        let running = self.listen().await?;
        if !requires_auth && !running.is_loopback_only {
            warn!(
                address = %running.address(),
                "listening on a non-loopback address without authentication: every client can call the agents"
            );
        }
        signal::shutdown_signal().await;
        info!("shutdown signal received");
        running.shutdown().await;
        Ok(())
    }

    /// Creates the registry of the agents, and checks that their cards can be signed.
    fn registry(&self) -> Result<AgentRegistry> {
        let with_swarm = |agent: Agent| match &self.swarm {
            Some(swarm) => agent.with_swarm(swarm),
            None => agent,
        };
        let mut registry = AgentRegistry::new(self.agents.iter().cloned().map(with_swarm))?;
        if let Some(primary) = &self.primary {
            registry = registry.with_primary(primary)?;
        }
        if let Some(keyring) = &self.keyring {
            check_signing(keyring, &registry)?;
        }
        Ok(registry)
    }
}

/// Signs each card once, so that a card that cannot be signed fails the start.
fn check_signing(keyring: &Keyring, registry: &AgentRegistry) -> Result<()> {
    for agent in registry.iter() {
        let public_card = agent.card();
        for card in [Some(&*public_card), agent.extended_card()].into_iter().flatten() {
            let result = keyring.sign(&mut card.clone(), String::new());
            let problem = |error| format!("the card of {:?}: {error}", agent.name());
            result.map_err(|error| Error::setting("signing", problem(error)))?;
        }
    }
    Ok(())
}
