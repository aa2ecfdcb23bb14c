//! A server: agents, where their tasks are kept, and how they are reached.

#[cfg_attr(not(feature = "push"), path = "dispatcher/disabled.rs")]
mod dispatcher;
mod echo;
mod running;
mod signal;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use http::HeaderMap;
use latimer_protocol::swarm::Directive;
use latimer_protocol::{Caller, Service};
use latimer_store::{MemoryStore, TaskStore};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use dispatcher::DispatcherFactory;
pub use running::RunningServer;

use crate::address::{AddressResolver, Scheme};
use crate::agent::{Agent, AgentRegistry};
use crate::auth::{Authenticate, HeaderAuth};
use crate::binding::{Cards, Frontend, Readiness, RouteTable, SupportServices, compiled_bindings};
use crate::engine::{Activity, Engine, ids};
use crate::error::{Error, Result};
use crate::host::HostAllowList;
use crate::listener::{Listener, ReloadingTls, RequestHandler, Tls, mount_behind};
use crate::metrics::Metrics;
use crate::push::WebhookDispatcher;
use crate::rate::CallLimiter;
use crate::settings::Settings;
use crate::signing::Keyring;
use crate::swarm::Swarm;
use crate::turn::{AgentFailure, Turn};

/// A server that publishes agents.
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
    routes: Option<Router>,
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
    /// A server of one agent.
    pub fn new(agent: Agent) -> Self {
        Self::empty().with_agent(agent)
    }

    /// A server of one agent, which is a function.
    pub fn agent<F, R, E>(name: impl Into<Arc<str>>, function: F) -> Self
    where
        F: Fn(Turn) -> R + Send + Sync + 'static,
        R: Future<Output = std::result::Result<(), E>> + Send + 'static,
        E: Into<AgentFailure> + 'static,
    {
        Self::new(Agent::from_fn(name, function))
    }

    /// A server of one agent, which says what it is told.
    pub fn echo() -> Self {
        Self::new(echo::agent())
    }

    /// A server without agents yet. It still has a card, which says so.
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
            routes: None,
            swarm: None,
        }
    }

    /// Publishes one more agent. The first is the primary one, unless [`Server::primary`] says otherwise.
    pub fn with_agent(mut self, agent: Agent) -> Self {
        self.agents.push(agent);
        self
    }

    /// Says which agent is meant when none is named.
    pub fn primary(mut self, name: impl Into<String>) -> Self {
        self.primary = Some(name.into());
        self
    }

    /// Keeps tasks here and not in memory.
    pub fn store(self, store: impl TaskStore) -> Self {
        self.shared_store(Arc::new(store))
    }

    /// Keeps tasks in a store that others may have as well.
    pub fn shared_store(mut self, store: Arc<dyn TaskStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Has calls answered by this and not by the task engine. The agents are then only what the
    /// cards say, and whose tasks are whose is for the service to know.
    pub fn with_service(mut self, service: impl Service) -> Self {
        self.service = Some(Arc::new(service));
        self
    }

    /// Listens at this address: a host and a port. Port 0 is any free one.
    pub fn bind(mut self, address: impl fmt::Display) -> Self {
        self.listen_address = address.to_string();
        self
    }

    /// Sets everything that can be set, in place of what was set before.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Serves A2A under this path.
    pub fn listen_path(mut self, path: impl Into<String>) -> Self {
        self.settings.listen_path = path.into();
        self
    }

    /// Says what callers reach the server under.
    pub fn public_url(mut self, url: impl Into<String>) -> Self {
        self.settings.public_url = Some(url.into());
        self
    }

    /// Knows callers by their headers; whoever is not known is refused.
    pub fn authenticate_with(
        self,
        extractor: impl Fn(&HeaderMap) -> Option<Caller> + Send + Sync + 'static,
    ) -> Self {
        self.authenticate(HeaderAuth(extractor))
    }

    /// Knows callers in any other way.
    pub fn authenticate(mut self, authenticate: impl Authenticate) -> Self {
        self.auth = Some(Arc::new(authenticate));
        self
    }

    /// Signs cards and what webhooks are told, and publishes the keys that prove it at `/.well-known/jwks.json`.
    ///
    /// A card is signed where its addresses are the server's own for certain: with
    /// [`Server::public_url`], and on this machine. What a caller says in its `Host` header, or a proxy
    /// for it, is repeated in its card, and not signed.
    #[cfg(feature = "signing")]
    pub fn with_keyring(mut self, keyring: Keyring) -> Self {
        self.keyring = Some(keyring);
        self
    }

    /// Listens with TLS and nothing else. A router is served by somebody else, who has their own.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Takes messages with a `swarmKind` in their metadata for directives, whichever agent they are
    /// sent to, and hands them to this and not to the agent. Without it they are messages like others.
    ///
    /// Only callers who are known may give directives; those of others, and of unknown kinds, are
    /// rejected. A question that the handler asks is answered by another directive: an answer without
    /// a `swarmKind` goes to the agent.
    pub fn register_swarm_handler<F, R, E>(mut self, handler: F) -> Self
    where
        F: Fn(Directive, Turn) -> R + Send + Sync + 'static,
        R: Future<Output = std::result::Result<(), E>> + Send + 'static,
        E: Into<AgentFailure> + 'static,
    {
        self.swarm = Some(Swarm::new(handler));
        self
    }

    /// Serves more routes, which go before its own; what they do not take is the server's. Their
    /// fallbacks are not used.
    pub fn merge_routes(mut self, routes: Router) -> Self {
        self.routes = Some(match self.routes.take() {
            Some(existing) => existing.merge(routes),
            None => routes,
        });
        self
    }

    /// Everything as a router, to be served by somebody else. gRPC needs HTTP/2 and the root. Who can
    /// reach it is not known here, so that what is for this machine alone is not served.
    ///
    /// # Errors
    /// When agents or settings make no sense, or the store is not usable.
    pub async fn router(mut self) -> Result<Router> {
        let routes = self.routes.take().unwrap_or_default();
        let AssembledServer { frontend, .. } = self.assemble(None).await?;
        Ok(mount_behind(routes, frontend))
    }

    /// Begins to listen, and returns what stops it.
    ///
    /// # Errors
    /// When agents or settings make no sense, certificates or the store are not usable, or the
    /// address cannot be listened at.
    pub async fn listen(mut self) -> Result<RunningServer> {
        let loaded_tls = self.tls.clone().map(ReloadingTls::new).transpose()?;
        let listen_error = |source| Error::listen(&self.listen_address, source);
        let socket = TcpListener::bind(&self.listen_address).await.map_err(listen_error)?;
        let address = socket.local_addr().map_err(listen_error)?;
        let routes = self.routes.take();
        let settings = self.settings.clone();
        let AssembledServer { frontend, engine, recovered_tasks } =
            self.assemble(Some(address)).await?;
        let handler = match routes {
            None => RequestHandler::Frontend(frontend.clone()),
            Some(routes) => RequestHandler::Router(mount_behind(routes, frontend.clone())),
        };
        let (drain_token, abort_token) = (CancellationToken::new(), CancellationToken::new());
        let tasks = TaskTracker::new();
        let tls = loaded_tls.map(|(tls, files)| {
            tasks.spawn(tls.clone().reload_on_change(files, drain_token.clone()));
            tls
        });
        let listener = Listener {
            socket,
            handler,
            tls,
            limits: settings.http,
            metrics: frontend.metrics.clone(),
            drain_token: drain_token.clone(),
            abort_token: abort_token.clone(),
            tasks: tasks.clone(),
        };
        tasks.spawn(listener.serve());
        info!(%address, "listening");
        let drain_timeout = settings.drain_timeout;
        Ok(RunningServer {
            address,
            recovered_tasks,
            frontend,
            engine,
            drain_timeout,
            drain_token,
            abort_token,
            tasks,
        })
    }

    /// Listens until the process is told to stop, by ctrl-c or TERM; then finishes what it is at.
    ///
    /// # Errors
    /// Whatever [`Server::listen`] fails with.
    pub async fn run(self) -> Result<()> {
        let requires_auth = self.auth.is_some();
        let running = self.listen().await?;
        if !requires_auth && !running.frontend.is_loopback_only {
            warn!(
                address = %running.address(),
                "ANYBODY WHO REACHES THIS ADDRESS CAN CALL THE AGENTS: nobody is asked who they are"
            );
        }
        signal::shutdown_signal().await;
        info!("stopping");
        running.shutdown().await;
        Ok(())
    }

    fn is_loopback_only(&self, listen_address: Option<SocketAddr>) -> bool {
        listen_address.is_some_and(|it| self.settings.is_loopback_only(it))
    }

    async fn assemble(self, listen_address: Option<SocketAddr>) -> Result<AssembledServer> {
        self.settings.check()?;
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
        let registry = Arc::new(registry);
        let metrics = Metrics::default();
        let backend = match self.service.clone() {
            Some(service) => {
                Backend { service, engine: None, dispatcher: None, readiness: Readiness::default() }
            }
            None => {
                let store = self.store.clone().unwrap_or_else(|| Arc::new(MemoryStore::default()));
                let dispatcher = self.make_dispatcher(&store, &metrics, listen_address)?;
                let limits = self.settings.limits.clone();
                Backend::for_engine(Engine::new(registry.clone(), store, limits), dispatcher)
            }
        };
        for agent in registry.iter() {
            agent.executor().on_publish(agent.card_handle());
        }
        metrics.watch_agent_health(&registry);
        let mut recovered_tasks = 0;
        if let Some(engine) = &backend.engine {
            recovered_tasks = engine.recover().await.map_err(Error::Store)?;
            register_gauges(engine, &metrics);
        }
        if let Some(dispatcher) = backend.dispatcher.clone() {
            let help = "Webhooks that have something to do, now or later";
            metrics.register_gauge("webhooks", help, move || dispatcher.active_count());
        }
        let address_resolver = AddressResolver {
            public_url: self.settings.public_url.as_deref().map(str::parse).transpose()?,
            trusted_proxies: self.settings.trusted_proxies.clone(),
            listen_address,
            scheme: if self.tls.is_some() { Scheme::Https } else { Scheme::Http },
        };
        if self.keyring.is_some() && !address_resolver.has_authoritative() {
            warn!(
                "CARDS ARE SIGNED ON THIS MACHINE ONLY: set public_url to sign them for everybody"
            );
        }
        let is_loopback_only = self.is_loopback_only(listen_address);
        let support_services =
            SupportServices::new().map_err(|error| Error::setting("grpc", error.to_string()))?;
        support_services.set_serving(true).await;
        let frontend = Frontend {
            service: backend.service,
            registry,
            dispatcher: backend.dispatcher,
            route_table: RouteTable::new(&self.settings, compiled_bindings()),
            cards: Cards::new(&self.settings),
            host_allow_list: HostAllowList::new(
                &self.settings,
                address_resolver.public_url.as_ref(),
                listen_address,
            ),
            call_limiter: CallLimiter::new(&self.settings.rate),
            address_resolver,
            metrics,
            readiness: backend.readiness,
            security: self.auth.as_ref().map(|it| it.security()).unwrap_or_default(),
            auth: self.auth,
            keyring: self.keyring,
            is_loopback_only,
            anonymous: Caller::anonymous(),
            support_services,
            settings: self.settings,
        };
        Ok(AssembledServer {
            frontend: Arc::new(frontend),
            engine: backend.engine,
            recovered_tasks,
        })
    }
}

/// Everything but the sockets.
struct AssembledServer {
    frontend: Arc<Frontend>,
    engine: Option<Engine>,
    recovered_tasks: u64,
}

/// What answers calls.
struct Backend {
    service: Arc<dyn Service>,
    engine: Option<Engine>,
    dispatcher: Option<WebhookDispatcher>,
    readiness: Readiness,
}

impl Backend {
    fn for_engine(mut engine: Engine, dispatcher: Option<WebhookDispatcher>) -> Self {
        if let Some(dispatcher) = &dispatcher {
            engine = engine.with_dispatcher(dispatcher.clone());
        }
        let store = engine.store().clone();
        let readiness = Readiness::with_store(move || {
            let store = store.clone();
            // Nobody has such a task; only whether the store answers is of interest.
            async move { store.find_agents("", &ids::task()).await.is_ok() }
        });
        Self { service: Arc::new(engine.clone()), engine: Some(engine), dispatcher, readiness }
    }
}

/// Shows how much is going on.
fn register_gauges(engine: &Engine, metrics: &Metrics) {
    type ReadActivity = fn(Activity) -> usize;
    let gauges: [(&str, &str, ReadActivity); 3] = [
        ("live_tasks", "Tasks that somebody works on or watches", |it| it.live_tasks),
        ("turns", "Turns that agents are at", |it| it.turns),
        ("streams", "Streams of events that are open", |it| it.streams),
    ];
    for (name, help, read) in gauges {
        let engine = engine.clone();
        metrics.register_gauge(name, help, move || read(engine.activity()));
    }
}

/// Better told now than with every card.
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
