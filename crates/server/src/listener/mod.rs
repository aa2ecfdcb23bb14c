//! Listener of the server: accepts connections for HTTP/1.1, HTTP/2 and gRPC on one port.
//!
//! | file | content |
//! | --- | --- |
//! | `client_stream` | TCP stream of a client that may close its direction early |
//! | `connection` | one connection: TLS handshake, HTTP, graceful close |
//! | `connections` | table of the open connections: limits, eviction of idle ones |
//! | `tls` | certificate files, reloaded when they change |
//! | `wake_gated` | future that is polled only after its waker fired |

mod client_stream;
mod connection;
mod connections;
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
use http::header::{CONNECTION, RETRY_AFTER};
use http::{HeaderValue, Request, Response, StatusCode, Version};
use hyper::rt::Executor;
use hyper_util::rt::TokioTimer;
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;
use tracing::{debug, warn};

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
use connections::{ConnectionEntry, ConnectionTable};

/// Delay after an accept that failed for a reason which affects all connections, for example because
/// too many files are open.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);
/// Interval between searches for idle connections while no connection can be accepted.
const ROOM_CHECK_INTERVAL: Duration = Duration::from_millis(100);
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

impl RequestHandler {
    /// Answers a probe, and rejects every other request because too many connections are open.
    async fn handle_probe(
        &self,
        request: Request<hyper::body::Incoming>,
        peer: SocketAddr,
    ) -> Response<Body> {
        let version = request.version();
        let is_probe = Frontend::is_probe_path(request.uri().path());
        let mut response = match is_probe {
            true => self.clone().handle(request, peer, None).await,
            false => {
                let mut response = Response::new(Body::from("too many connections are open"));
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
                response
            }
        };
        if version < Version::HTTP_2 {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
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
    /// Decides which addresses have a limit of connections.
    pub(crate) frontend: Arc<Frontend>,
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
    /// Accepts connections until `drain_token` is canceled. At a limit it closes connections that are
    /// idle; if none is idle and the reserve for probes is used up, it waits.
    pub(crate) async fn serve(self) {
        let limits = &self.limits;
        let table =
            ConnectionTable::new(limits.max_connections, limits.max_connections_per_address);
        let table = Arc::new(table);
        let builder = Arc::new(builder(&self.limits, &self.tasks));
        loop {
            let next = tokio::select! {
                () = self.drain_token.cancelled() => return,
                next = self.accept(&table) => next,
            };
            match next {
                Ok((stream, peer)) => self.admit(stream, peer, &table, &builder),
                Err(error) if is_connection_error(&error) => {
                    debug!(%error, "connection failed before it was accepted");
                }
                Err(error) => {
                    warn!(%error, "accepting a connection failed");
                    table.evict_idle();
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    async fn accept(&self, table: &ConnectionTable) -> io::Result<(TcpStream, SocketAddr)> {
        table.wait_for_room(ROOM_CHECK_INTERVAL).await;
        self.socket.accept().await
    }

    /// Serves a connection, or closes it if its address has too many.
    fn admit(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        table: &Arc<ConnectionTable>,
        builder: &Arc<Builder<TrackedExecutor>>,
    ) {
        // Hyper already writes responses in large chunks; Nagle's algorithm would only delay them.
        if let Err(error) = stream.set_nodelay(true) {
            return debug!(%error, "connection failed before it was served");
        }
        let (address, is_limited) = self.frontend.connection_address(peer.ip());
        match table.admit(address, is_limited) {
            Some(entry) => self.spawn_connection(stream, peer, entry, builder),
            None => debug!("connection closed because its address has too many"),
        }
    }

    fn spawn_connection(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        entry: ConnectionEntry,
        builder: &Arc<Builder<TrackedExecutor>>,
    ) {
        let connection_guard = self.metrics.count_connection();
        let connection = connection::Connection {
            stream,
            peer,
            entry,
            handler: self.handler.clone(),
            tls: self.tls.clone(),
            builder: builder.clone(),
            signals: connection::ConnectionSignals {
                drain_token: self.drain_token.clone(),
                abort_token: self.abort_token.clone(),
                first_request_timeout: self.limits.header_timeout,
                http2_idle_timeout: self.limits.http2_idle_timeout,
            },
        };
        self.tasks.spawn(async move {
            connection.serve().await;
            drop(connection_guard);
        });
    }
}

/// Returns whether a failed accept affects only the connection that was to be accepted. The next one
/// can be accepted at once.
fn is_connection_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::Interrupted
            | io::ErrorKind::NetworkDown
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::NotConnected
            // A firewall rejected the connection.
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::TimedOut
    ) || cfg!(target_os = "linux")
        && error.raw_os_error().is_some_and(|it| LINUX_CONNECTION_ERRORS.contains(&it))
}

/// Network errors of a connection that Linux reports by `accept`, and that have no kind: `ENONET`,
/// `EPROTO`, `ENOPROTOOPT`, `EOPNOTSUPP` and `EHOSTDOWN`.
const LINUX_CONNECTION_ERRORS: [i32; 5] = [64, 71, 92, 95, 112];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_accept_errors_of_the_process_pause_the_listener() {
        for kind in [io::ErrorKind::ConnectionAborted, io::ErrorKind::ConnectionReset] {
            assert!(is_connection_error(&io::Error::from(kind)), "{kind:?}");
        }
        if cfg!(target_os = "linux") {
            let protocol_error = io::Error::from_raw_os_error(71);
            assert!(is_connection_error(&protocol_error), "{protocol_error}");
        }
        // Too many open files, and out of memory.
        for code in [24, 12] {
            let error = io::Error::from_raw_os_error(code);
            assert!(!is_connection_error(&error), "{error}");
        }
    }
}
