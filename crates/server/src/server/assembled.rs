//! A server with its store, engine and cards, and without a socket.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use latimer_protocol::{Caller, Service};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::Server;
use super::backend::Backend;
use super::handle::{ServerHandle, ServerState};
use super::running::RunningServer;
use crate::address::{AddressResolver, Scheme};
use crate::agent::AgentRegistry;
use crate::binding::{Cards, Frontend, RouteTable, SupportServices, compiled_bindings};
use crate::error::{Error, Result};
use crate::listener::{Listener, ReloadingTls, RequestHandler, Tls, TlsFiles, mount_behind};
use crate::metrics::Metrics;
use crate::rate::CallLimiter;

/// A server without a socket: its agents run, and can be called through a router or in process.
///
/// Created by [`Server::assemble`], which recovers the tasks of an ended process. Dropping it stops
/// neither its agents nor its routers; [`ServerHandle::drain`] does.
///
/// An application with its own routes mounts the [router](Self::router), and drains the agents
/// before it ends:
///
/// ```
/// use std::time::Duration;
///
/// use axum::routing::get;
/// use latimer_server::Server;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> latimer_server::Result<()> {
/// let agents = Server::echo().assemble().await?;
/// let app = axum::Router::<()>::new()
///     .route("/about", get(async || "an application with an agent"))
///     .merge(agents.router());
/// // Serve `app`, and after its shutdown signal:
/// agents.handle().drain(Duration::from_secs(30)).await;
/// # drop(app);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AssembledServer {
    /// The frontend without a listen address.
    frontend: Arc<Frontend>,
    handle: ServerHandle,
    routes: Router,
    tls: Option<Tls>,
    recovered_tasks: u64,
}

/// TLS of a listener, and the files that it was loaded from.
pub(super) type LoadedTls = (ReloadingTls, TlsFiles);

impl AssembledServer {
    /// Assembles a server. If its listen address is known and only this machine can reach it,
    /// webhooks may call loopback addresses by default.
    pub(super) async fn new(server: Server, listen_address: Option<SocketAddr>) -> Result<Self> {
        server.settings.check()?;
        let registry = Arc::new(server.registry()?);
        let metrics = Metrics::default();
        let backend = Backend::new(&server, &registry, &metrics, listen_address)?;
        let frontend = Arc::new(server.frontend(&backend, registry, metrics)?);
        let recovered_tasks =
            backend.publish_and_recover(&frontend.registry, &frontend.metrics).await?;
        frontend.support_services.set_serving(true).await;
        let state = ServerState { frontend: Arc::clone(&frontend), engine: backend.engine };
        let Server { routes, tls, .. } = server;
        Ok(Self { frontend, handle: ServerHandle::new(state), routes, tls, recovered_tasks })
    }

    /// Returns the routes of the server, for an application that has its own listener.
    ///
    /// The application provides TLS and HTTP/2, and should mount the router at the root, where
    /// clients look for cards and gRPC. Anonymous callers are rate limited by the
    /// [`ConnectInfo`](axum::extract::ConnectInfo) of their requests.
    ///
    /// The server does not know which clients can reach the application, so it does not treat the
    /// router as restricted to loopback: without authentication the router serves neither metrics nor
    /// dead letters by default, and webhooks may call loopback addresses only if the settings allow it.
    pub fn router(&self) -> Router {
        warn_if_unsigned(&self.frontend);
        mount_behind(self.routes.clone(), Arc::clone(&self.frontend))
    }

    /// Returns the service that handles calls; see [`ServerHandle::service`].
    #[must_use]
    pub fn service(&self) -> Arc<dyn Service> {
        self.handle.service()
    }

    /// Returns a handle to the server.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        self.handle.clone()
    }

    /// Serves a bound socket until the returned server is shut down or dropped.
    ///
    /// Webhooks may call loopback addresses only if the settings allow it, because the listen address
    /// was unknown when the server was assembled. [`Server::serve`] allows them by default on
    /// loopback.
    ///
    /// # Errors
    /// Fails if the certificates cannot be loaded or the socket has no address.
    pub async fn serve(self, socket: TcpListener) -> Result<RunningServer> {
        let tls = load_tls(self.tls.as_ref())?;
        self.serve_with_tls(socket, tls)
    }

    /// Serves a socket with TLS that is already loaded.
    pub(super) fn serve_with_tls(
        self,
        socket: TcpListener,
        tls: Option<LoadedTls>,
    ) -> Result<RunningServer> {
        let address = local_address(&socket)?;
        let frontend = Arc::new(self.frontend.for_socket(address));
        warn_if_unsigned(&frontend);
        let handler = match self.routes.has_routes() {
            false => RequestHandler::Frontend(Arc::clone(&frontend)),
            true => RequestHandler::Router(mount_behind(self.routes, Arc::clone(&frontend))),
        };
        let (drain_token, abort_token) = (CancellationToken::new(), CancellationToken::new());
        let tasks = TaskTracker::new();
        let tls = tls.map(|(tls, files)| {
            tasks.spawn(tls.clone().reload_on_change(files, drain_token.clone()));
            tls
        });
        let listener = Listener {
            socket,
            handler,
            frontend: Arc::clone(&frontend),
            tls,
            limits: frontend.settings.http.clone(),
            metrics: frontend.metrics.clone(),
            drain_token: drain_token.clone(),
            abort_token: abort_token.clone(),
            tasks: tasks.clone(),
        };
        tasks.spawn(listener.serve());
        info!(%address, "listening");
        Ok(RunningServer {
            address,
            recovered_tasks: self.recovered_tasks,
            is_loopback_only: frontend.is_loopback_only,
            drain_timeout: frontend.settings.drain_timeout,
            handle: self.handle,
            drain_token,
            abort_token,
            tasks,
        })
    }
}

impl Server {
    /// Creates the frontend without a listen address.
    fn frontend(
        &self,
        backend: &Backend,
        registry: Arc<AgentRegistry>,
        metrics: Metrics,
    ) -> Result<Frontend> {
        let settings = self.settings.clone();
        let address_resolver = AddressResolver {
            public_url: settings.public_url.as_deref().map(str::parse).transpose()?,
            trusted_proxies: settings.trusted_proxies.clone(),
            listen_address: None,
            scheme: if self.tls.is_some() { Scheme::Https } else { Scheme::Http },
        };
        Ok(Frontend {
            service: backend.service.clone(),
            registry,
            dispatcher: backend.dispatcher.clone(),
            route_table: RouteTable::new(&settings, compiled_bindings()),
            cards: Arc::new(Cards::new(&settings)),
            host_allow_list: None,
            call_limiter: Arc::new(CallLimiter::new(&settings.rate)),
            address_resolver,
            metrics,
            readiness: backend.readiness.clone(),
            security: self.auth.as_ref().map(|it| it.security()).unwrap_or_default(),
            auth: self.auth.clone(),
            keyring: self.keyring.clone(),
            is_loopback_only: false,
            anonymous: Caller::anonymous(),
            support_services: SupportServices::new()
                .map_err(|error| Error::setting("grpc", error.to_string()))?,
            settings,
        })
    }
}

/// Loads the certificate files of a server that has TLS.
pub(super) fn load_tls(tls: Option<&Tls>) -> Result<Option<LoadedTls>> {
    tls.cloned().map(ReloadingTls::new).transpose()
}

/// Returns the address of a bound socket.
pub(super) fn local_address(socket: &TcpListener) -> Result<SocketAddr> {
    socket.local_addr().map_err(|source| Error::listen("a socket without an address", source))
}

fn warn_if_unsigned(frontend: &Frontend) {
    if frontend.keyring.is_some() && !frontend.address_resolver.has_authoritative() {
        warn!(
            "public_url is not set: only cards for the listen address or a loopback host are signed"
        );
    }
}
