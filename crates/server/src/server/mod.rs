//! A server: agents, where their tasks are kept, and how they are reached.

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

pub use running::Running;

use crate::address::{Addresses, Scheme};
use crate::agent::{Agent, Registry};
use crate::auth::{Authenticate, Extractor};
use crate::binding::{Cards, Front, Helpers, Places, Readiness};
use crate::engine::{Activity, Engine, ids};
use crate::error::{Error, Result};
use crate::host::Hosts;
use crate::listener::{Entry, Listener, Secure, Tls, behind};
use crate::metrics::Metrics;
use crate::push::Courier;
use crate::rate::Rates;
use crate::settings::Settings;
use crate::signing::Keyring;
use crate::swarm::Swarm;
use crate::turn::{Failure, Turn};

/// A server that publishes agents.
///
/// ```no_run
/// use latimer_server::{Server, Turn};
///
/// #[tokio::main]
/// async fn main() -> latimer_server::Result<()> {
///     Server::agent("shouter", |turn: Turn| async move {
///         turn.status("thinking").await?;
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
    address: String,
    settings: Settings,
    store: Option<Arc<dyn TaskStore>>,
    service: Option<Arc<dyn Service>>,
    auth: Option<Arc<dyn Authenticate>>,
    courier: Option<MakeCourier>,
    keyring: Option<Keyring>,
    tls: Option<Tls>,
    routes: Option<Router>,
    swarm: Option<Swarm>,
}

/// Makes a courier for a store.
type MakeCourier = Arc<dyn Fn(Arc<dyn TaskStore>) -> Courier + Send + Sync>;

impl fmt::Debug for Server {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Server")
            .field("agents", &self.agents)
            .field("address", &self.address)
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
        E: Into<Failure> + 'static,
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
            address: "127.0.0.1:8080".to_owned(),
            settings: Settings::default(),
            store: None,
            service: None,
            auth: None,
            courier: None,
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
    pub fn answered_by(mut self, service: impl Service) -> Self {
        self.service = Some(Arc::new(service));
        self
    }

    /// Listens at this address: a host and a port. Port 0 is any free one.
    pub fn bind(mut self, address: impl fmt::Display) -> Self {
        self.address = address.to_string();
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
    pub fn auth(
        self,
        extractor: impl Fn(&HeaderMap) -> Option<Caller> + Send + Sync + 'static,
    ) -> Self {
        self.authenticate(Extractor(extractor))
    }

    /// Knows callers in any other way.
    pub fn authenticate(mut self, authenticate: impl Authenticate) -> Self {
        self.auth = Some(Arc::new(authenticate));
        self
    }

    /// Tells webhooks about tasks by a courier of one's own, made for the store of the server.
    pub fn courier(
        mut self,
        make: impl Fn(Arc<dyn TaskStore>) -> Courier + Send + Sync + 'static,
    ) -> Self {
        self.courier = Some(Arc::new(make));
        self
    }

    /// Signs cards and what webhooks are told, and publishes the keys that prove it at `/.well-known/jwks.json`.
    ///
    /// A card is signed where its addresses are the server's own for certain: with
    /// [`Server::public_url`], and on this machine. What a caller says in its `Host` header, or a proxy
    /// for it, is repeated in its card, and not signed.
    pub fn signing(mut self, keyring: Keyring) -> Self {
        self.keyring = Some(keyring);
        self
    }

    /// Listens with TLS and nothing else. A router is served by somebody else, who has their own.
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
        E: Into<Failure> + 'static,
    {
        self.swarm = Some(Swarm::new(handler));
        self
    }

    /// Serves more routes, which go before its own; what they do not take is the server's. Their
    /// fallbacks are not used.
    pub fn routes(mut self, routes: Router) -> Self {
        self.routes = Some(match self.routes.take() {
            Some(others) => others.merge(routes),
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
        let Ready { front, .. } = self.front(None).await?;
        Ok(behind(routes, front))
    }

    /// Begins to listen, and returns what stops it.
    ///
    /// # Errors
    /// When agents or settings make no sense, certificates or the store are not usable, or the
    /// address cannot be listened at.
    pub async fn listen(mut self) -> Result<Running> {
        let secured = self.tls.clone().map(Secure::new).transpose()?;
        let failed = |source| Error::listen(&self.address, source);
        let socket = TcpListener::bind(&self.address).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let routes = self.routes.take();
        let settings = self.settings.clone();
        let Ready { front, engine, recovered } = self.front(Some(address)).await?;
        let entry = match routes {
            None => Entry::Front(front.clone()),
            Some(routes) => Entry::Router(behind(routes, front.clone())),
        };
        let (leaving, gone) = (CancellationToken::new(), CancellationToken::new());
        let tasks = TaskTracker::new();
        let secure = secured.map(|(secure, files)| {
            tasks.spawn(secure.clone().follow(files, leaving.clone()));
            secure
        });
        let listener = Listener {
            socket,
            entry,
            secure,
            limits: settings.http,
            metrics: front.metrics.clone(),
            leaving: leaving.clone(),
            gone: gone.clone(),
            tasks: tasks.clone(),
        };
        tasks.spawn(listener.serve());
        info!(%address, "listening");
        let drain = settings.drain;
        Ok(Running { address, recovered, front, engine, drain, leaving, gone, tasks })
    }

    /// Listens until the process is told to stop, by ctrl-c or TERM; then finishes what it is at.
    ///
    /// # Errors
    /// Whatever [`Server::listen`] fails with.
    pub async fn run(self) -> Result<()> {
        let known = self.auth.is_some();
        let running = self.listen().await?;
        if !known && !running.front.local {
            warn!(
                address = %running.address(),
                "ANYBODY WHO REACHES THIS ADDRESS CAN CALL THE AGENTS: nobody is asked who they are"
            );
        }
        signal::told_to_stop().await;
        info!("stopping");
        running.shutdown().await;
        Ok(())
    }

    /// Who tells webhooks about tasks, if anybody does.
    fn make_courier(
        &self,
        store: &Arc<dyn TaskStore>,
        metrics: &Metrics,
        local: Option<SocketAddr>,
    ) -> Result<Option<Courier>> {
        let Settings { push, public_url, .. } = &self.settings;
        if !push.enabled {
            return Ok(None);
        }
        let courier = match &self.courier {
            Some(make) => make(Arc::clone(store)),
            None => Courier::new(Arc::clone(store), push.clone(), self.is_private(local))
                .map_err(|it| Error::setting("push", it.to_string()))?,
        };
        let here = || {
            let scheme = if self.tls.is_some() { "https" } else { "http" };
            local.map_or_else(|| "latimer".to_owned(), |it| format!("{scheme}://{it}"))
        };
        let courier = courier.counting(metrics.deliveries());
        Ok(Some(match self.keyring.clone() {
            Some(keyring) => courier.signed_by(keyring, public_url.clone().unwrap_or_else(here)),
            None => courier,
        }))
    }

    fn is_private(&self, local: Option<SocketAddr>) -> bool {
        local.is_some_and(|it| self.settings.is_private(it))
    }

    async fn front(self, local: Option<SocketAddr>) -> Result<Ready> {
        self.settings.check()?;
        let divert = |agent: Agent| match &self.swarm {
            Some(swarm) => agent.behind(swarm),
            None => agent,
        };
        let mut registry = Registry::new(self.agents.iter().cloned().map(divert))?;
        if let Some(primary) = &self.primary {
            registry = registry.with_primary(primary)?;
        }
        if let Some(keyring) = &self.keyring {
            check_signing(keyring, &registry)?;
        }
        let registry = Arc::new(registry);
        let metrics = Metrics::default();
        let behind = match self.service.clone() {
            Some(service) => {
                Behind { service, engine: None, courier: None, readiness: Readiness::default() }
            }
            None => {
                let store = self.store.clone().unwrap_or_else(|| Arc::new(MemoryStore::default()));
                let courier = self.make_courier(&store, &metrics, local)?;
                let limits = self.settings.limits.clone();
                Behind::engine(Engine::new(registry.clone(), store, limits), courier)
            }
        };
        for agent in registry.iter() {
            agent.executor().publish(agent.placard());
        }
        metrics.look_after(&registry);
        let mut recovered = 0;
        if let Some(engine) = &behind.engine {
            recovered = engine.recover().await.map_err(Error::Store)?;
            show(engine, &metrics);
        }
        if let Some(courier) = behind.courier.clone() {
            let help = "Webhooks that have something to do, now or later";
            metrics.show("webhooks", help, move || courier.active());
        }
        let addresses = Addresses {
            public: self.settings.public_url.as_deref().map(str::parse).transpose()?,
            proxies: self.settings.trusted_proxies.clone(),
            local,
            scheme: if self.tls.is_some() { Scheme::Https } else { Scheme::Http },
        };
        if self.keyring.is_some() && !addresses.are_known() {
            warn!(
                "CARDS ARE SIGNED ON THIS MACHINE ONLY: set public_url to sign them for everybody"
            );
        }
        let private = self.is_private(local);
        let helpers = Helpers::new().map_err(|error| Error::setting("grpc", error.to_string()))?;
        helpers.serve(true).await;
        let front = Front {
            service: behind.service,
            registry,
            courier: behind.courier,
            places: Places::new(&self.settings),
            cards: Cards::new(&self.settings),
            hosts: Hosts::new(&self.settings, addresses.public.as_ref(), local),
            rates: Rates::new(&self.settings.rate),
            addresses,
            metrics,
            readiness: behind.readiness,
            security: self.auth.as_ref().map(|it| it.security()).unwrap_or_default(),
            auth: self.auth,
            keyring: self.keyring,
            local: private,
            anonymous: Caller::anonymous(),
            helpers,
            settings: self.settings,
        };
        Ok(Ready { front: Arc::new(front), engine: behind.engine, recovered })
    }
}

/// Everything but the sockets.
struct Ready {
    front: Arc<Front>,
    engine: Option<Engine>,
    recovered: u64,
}

/// What answers calls.
struct Behind {
    service: Arc<dyn Service>,
    engine: Option<Engine>,
    courier: Option<Courier>,
    readiness: Readiness,
}

impl Behind {
    fn engine(mut engine: Engine, courier: Option<Courier>) -> Self {
        if let Some(courier) = &courier {
            engine = engine.with_courier(courier.clone());
        }
        let store = engine.store().clone();
        let readiness = Readiness::with_store(move || {
            let store = store.clone();
            // Nobody has such a task; only whether the store answers is of interest.
            async move { store.find_agents("", &ids::task()).await.is_ok() }
        });
        Self { service: Arc::new(engine.clone()), engine: Some(engine), courier, readiness }
    }
}

/// Shows how much is going on.
fn show(engine: &Engine, metrics: &Metrics) {
    type Number = fn(Activity) -> usize;
    let numbers: [(&str, &str, Number); 3] = [
        ("live_tasks", "Tasks that somebody works on or watches", |it| it.live_tasks),
        ("turns", "Turns that agents are at", |it| it.turns),
        ("streams", "Streams of events that are open", |it| it.streams),
    ];
    for (name, help, number) in numbers {
        let engine = engine.clone();
        metrics.show(name, help, move || number(engine.activity()));
    }
}

/// Better told now than with every card.
fn check_signing(keyring: &Keyring, registry: &Registry) -> Result<()> {
    for agent in registry.iter() {
        let shown = agent.card();
        for card in [Some(&*shown), agent.extended_card()].into_iter().flatten() {
            let signed = keyring.sign(&mut card.clone(), String::new());
            let problem = |error| format!("the card of {:?}: {error}", agent.name());
            signed.map_err(|error| Error::setting("signing", problem(error)))?;
        }
    }
    Ok(())
}
