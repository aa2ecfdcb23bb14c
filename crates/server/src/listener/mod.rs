//! Listener of the server: accepts connections for HTTP/1.1, HTTP/2 and gRPC on one port.
//!
//! | file | content |
//! | --- | --- |
//! | `client_stream` | TCP stream of a client that may close its direction early |
//! | `connection` | one connection: TLS handshake, HTTP, graceful close |
//! | `tls` | certificate files, reloaded when they change |
//! | `wake_gated` | future that is polled only after its waker fired |

mod client_stream;
mod connection;
#[cfg_attr(not(feature = "tls"), path = "tls/disabled.rs")]
mod tls;
mod wake_gated;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::IntoResponse as _;
use http::{Request, Response, StatusCode};
use hyper::rt::Executor;
use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;
use tracing::warn;

#[cfg(feature = "tls")]
pub use tls::ClientCertificateMode;
#[cfg(feature = "tls")]
pub use tls::Tls;
#[cfg(not(feature = "tls"))]
pub(crate) use tls::Tls;
pub(crate) use tls::{ReloadingTls, TlsFiles};

use crate::auth::ClientCertificate;
use crate::binding::{Body, Frontend, RequestBody};
use crate::metrics::Metrics;
use crate::settings::HttpLimits;

/// Delay after a failed accept, which happens for example when too many files are open.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// Interval between pings to an HTTP/2 client.
const HTTP2_PING_INTERVAL: Duration = Duration::from_secs(30);
/// Time that an HTTP/2 client has to acknowledge a ping.
const HTTP2_PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Default limit of hyper. With it, hyper parses headers without allocating.
const HYPER_DEFAULT_HEADERS: usize = 100;
/// Minimum read buffer that hyper accepts.
const MIN_BUFFER_BYTES: usize = 8192;

/// Handler of all requests of a listener.
#[derive(Clone, Debug)]
pub(crate) enum RequestHandler {
    /// The frontend alone.
    Frontend(Arc<Frontend>),
    /// The embedder's routes, with the frontend as their fallback.
    Router(Router),
}

impl RequestHandler {
    async fn handle(
        mut self,
        mut request: Request<hyper::body::Incoming>,
        peer: SocketAddr,
        certificate: Option<ClientCertificate>,
    ) -> Response<Body> {
        if let Some(certificate) = certificate {
            request.extensions_mut().insert(certificate);
        }
        match &mut self {
            Self::Frontend(frontend) => frontend.handle(request, Some(peer)).await,
            Self::Router(router) => {
                let mut request = request.map(axum::body::Body::new);
                request.extensions_mut().insert(ConnectInfo(peer));
                match router.call(request).await {
                    Ok(response) => response.map(Body::Other),
                    Err(never) => match never {},
                }
            }
        }
    }
}

/// Makes the frontend the fallback of the embedder's routes, for paths that they do not have and
/// for methods that they do not accept. The frontend's checks of host and origin apply to all
/// routes.
pub(crate) fn mount_behind(mut routes: Router, frontend: Arc<Frontend>) -> Router {
    if routes.has_routes() {
        routes = routes.route_layer(from_fn_with_state(frontend.clone(), check_host_and_origin));
    }
    let service = FrontendService(frontend);
    let fallback = service.clone();
    let method_fallback = move |request: Request<axum::body::Body>| {
        let service = fallback.clone();
        async move { service.handle(request).await }
    };
    routes.method_not_allowed_fallback(method_fallback).fallback_service(service)
}

async fn check_host_and_origin(
    State(frontend): State<Arc<Frontend>>,
    request: Request<axum::body::Body>,
    next: Next,
) -> Response<axum::body::Body> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|it| it.0);
    let (head, body) = request.into_parts();
    let check = frontend.check_host(&head, peer).and_then(|()| frontend.check_origin(&head, peer));
    match check {
        Ok(()) => next.run(Request::from_parts(head, body)).await,
        Err(error) => {
            let mut response = (StatusCode::FORBIDDEN, error.to_string()).into_response();
            RequestBody::new(body).finish(&head, response.headers_mut()).await;
            response
        }
    }
}

/// The frontend as a Tower service.
#[derive(Clone, Debug)]
struct FrontendService(Arc<Frontend>);

impl FrontendService {
    async fn handle(self, request: Request<axum::body::Body>) -> Response<axum::body::Body> {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|it| it.0);
        self.0.handle(request, peer).await.map(axum::body::Body::new)
    }
}

impl Service<Request<axum::body::Body>> for FrontendService {
    type Response = Response<axum::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<axum::body::Body>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.handle(request).await) })
    }
}

/// Accepts connections on a socket and serves them.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) handler: RequestHandler,
    /// `None` serves plain HTTP.
    pub(crate) tls: Option<ReloadingTls>,
    pub(crate) limits: HttpLimits,
    pub(crate) metrics: Metrics,
    /// Stops accepting, and closes each connection after its current calls.
    pub(crate) drain_token: CancellationToken,
    /// Aborts all connections.
    pub(crate) abort_token: CancellationToken,
    /// The Tokio tasks of all connections.
    pub(crate) tasks: TaskTracker,
}

impl Listener {
    /// Accepts connections until `drain_token` is canceled. Waits while the maximum number of
    /// connections is open.
    pub(crate) async fn serve(self) {
        let connection_permits =
            Arc::new(Semaphore::new(self.limits.max_connections.min(Semaphore::MAX_PERMITS)));
        let builder = Arc::new(builder(&self.limits, &self.tasks));
        loop {
            let next = tokio::select! {
                () = self.drain_token.cancelled() => return,
                next = self.accept(&connection_permits) => next,
            };
            match next {
                Ok((stream, peer, permit)) => self.spawn_connection(stream, peer, permit, &builder),
                Err(error) => {
                    warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    async fn accept(
        &self,
        connection_permits: &Arc<Semaphore>,
    ) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        let permit = connection_permits.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (stream, peer) = self.socket.accept().await?;
        // Hyper already writes responses in large chunks; Nagle's algorithm would only delay them.
        stream.set_nodelay(true)?;
        Ok((stream, peer, permit))
    }

    fn spawn_connection(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        permit: OwnedSemaphorePermit,
        builder: &Arc<Builder<TrackedExecutor>>,
    ) {
        let connection_guard = self.metrics.count_connection();
        let connection = connection::Connection {
            stream,
            peer,
            handler: self.handler.clone(),
            tls: self.tls.clone(),
            builder: builder.clone(),
            signals: connection::ConnectionSignals {
                drain_token: self.drain_token.clone(),
                abort_token: self.abort_token.clone(),
                first_request_timeout: self.limits.header_timeout,
            },
        };
        self.tasks.spawn(async move {
            connection.serve().await;
            drop((connection_guard, permit));
        });
    }
}

/// Spawns the tasks of HTTP/2 connections on the tracker of the listener.
#[derive(Clone, Debug)]
struct TrackedExecutor(TaskTracker);

impl<F> Executor<F> for TrackedExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}

fn builder(limits: &HttpLimits, tasks: &TaskTracker) -> Builder<TrackedExecutor> {
    let mut builder = Builder::new(TrackedExecutor(tasks.clone()));
    let mut http1 = builder.http1();
    http1
        .timer(TokioTimer::new())
        .half_close(true)
        .header_read_timeout(limits.header_timeout)
        .max_buf_size(limits.max_header_bytes.max(MIN_BUFFER_BYTES));
    if limits.max_headers != HYPER_DEFAULT_HEADERS {
        http1.max_headers(limits.max_headers);
    }
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.max_calls_per_connection)
        .max_header_list_size(u32::try_from(limits.max_header_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(HTTP2_PING_INTERVAL)
        .keep_alive_timeout(HTTP2_PING_TIMEOUT);
    builder
}
