//! Sockets: one port for HTTP/1.1, HTTP/2 and gRPC.

mod aside;
mod connection;
mod tls;

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

pub(crate) use tls::Secure;
pub use tls::{ClientCertificates, Tls};

use crate::auth::ClientCertificate;
use crate::binding::{Body, Front};
use crate::metrics::Metrics;
use crate::settings::HttpLimits;

/// How long to wait when nothing can be accepted, because too many files are open for example.
const PAUSE: Duration = Duration::from_millis(100);
/// How often a silent peer of HTTP/2 is asked whether it is there, and how long it has to say so.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(20);
/// What hyper has room for without asking the allocator.
const USUAL_HEADERS: usize = 100;
/// What hyper needs at least.
const LEAST_BUFFER: usize = 8192;

/// Who answers requests: our own front alone, or behind somebody's routes.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Front(Arc<Front>),
    Router(Router),
}

impl Entry {
    async fn answer(
        mut self,
        mut request: Request<hyper::body::Incoming>,
        peer: SocketAddr,
        certificate: Option<ClientCertificate>,
    ) -> Response<Body> {
        if let Some(certificate) = certificate {
            request.extensions_mut().insert(certificate);
        }
        match &mut self {
            Self::Front(front) => front.answer(request, Some(peer)).await,
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

/// Puts the front behind somebody's routes: it takes the paths that they do not have, and of those
/// that both have the methods that they do not take. Pages that pretend to be on this machine are
/// refused by all of them.
pub(crate) fn behind(mut routes: Router, front: Arc<Front>) -> Router {
    if routes.has_routes() {
        routes = routes.route_layer(from_fn_with_state(front.clone(), only_welcome));
    }
    let door = Door(front);
    let other = door.clone();
    let methods = move |request: Request<axum::body::Body>| {
        let door = other.clone();
        async move { door.answer(request).await }
    };
    routes.method_not_allowed_fallback(methods).fallback_service(door)
}

async fn only_welcome(
    State(front): State<Arc<Front>>,
    request: Request<axum::body::Body>,
    next: Next,
) -> Response<axum::body::Body> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|it| it.0);
    let (head, body) = request.into_parts();
    let welcome = front.check_host(&head, peer).and_then(|()| front.check_origin(&head, peer));
    match welcome {
        Ok(()) => next.run(Request::from_parts(head, body)).await,
        Err(error) => (StatusCode::FORBIDDEN, error.to_string()).into_response(),
    }
}

/// The front as a service, for routers.
#[derive(Clone, Debug)]
struct Door(Arc<Front>);

impl Door {
    async fn answer(self, request: Request<axum::body::Body>) -> Response<axum::body::Body> {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|it| it.0);
        self.0.answer(request, peer).await.map(axum::body::Body::new)
    }
}

impl Service<Request<axum::body::Body>> for Door {
    type Response = Response<axum::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<axum::body::Body>) -> Self::Future {
        let door = self.clone();
        Box::pin(async move { Ok(door.answer(request).await) })
    }
}

/// Accepts connections and serves them.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: TcpListener,
    pub(crate) entry: Entry,
    /// What connections are secured with, if they are.
    pub(crate) secure: Option<Secure>,
    pub(crate) limits: HttpLimits,
    pub(crate) metrics: Metrics,
    /// Nothing new is accepted any more, and connections end with the calls they are at.
    pub(crate) leaving: CancellationToken,
    /// Connections end now.
    pub(crate) gone: CancellationToken,
    /// Everything that runs for a connection.
    pub(crate) tasks: TaskTracker,
}

impl Listener {
    /// Accepts connections until it is told to leave.
    pub(crate) async fn serve(self) {
        let room = Arc::new(Semaphore::new(self.limits.connections.min(Semaphore::MAX_PERMITS)));
        let builder = Arc::new(builder(&self.limits, &self.tasks));
        loop {
            let next = tokio::select! {
                () = self.leaving.cancelled() => return,
                next = self.accept(&room) => next,
            };
            match next {
                Ok((stream, peer, place)) => self.begin(stream, peer, place, &builder),
                Err(error) => {
                    warn!(%error, "cannot accept connections");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn accept(
        &self,
        room: &Arc<Semaphore>,
    ) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
        let place = room.clone().acquire_owned().await.map_err(io::Error::other)?;
        let (stream, peer) = self.socket.accept().await?;
        // Answers are written whole: there is nothing to wait for.
        stream.set_nodelay(true)?;
        Ok((stream, peer, place))
    }

    fn begin(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        place: OwnedSemaphorePermit,
        builder: &Arc<Builder<Tracked>>,
    ) {
        let open = self.metrics.open_connection();
        let connection = connection::Connection {
            stream,
            peer,
            entry: self.entry.clone(),
            secure: self.secure.clone(),
            builder: builder.clone(),
            outside: connection::Outside {
                leaving: self.leaving.clone(),
                gone: self.gone.clone(),
                patience: self.limits.header_time,
            },
        };
        self.tasks.spawn(async move {
            connection.serve().await;
            drop((open, place));
        });
    }
}

/// Runs what a connection has to run beside itself.
#[derive(Clone, Debug)]
struct Tracked(TaskTracker);

impl<F> Executor<F> for Tracked
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}

fn builder(limits: &HttpLimits, tasks: &TaskTracker) -> Builder<Tracked> {
    let mut builder = Builder::new(Tracked(tasks.clone()));
    let mut first = builder.http1();
    first
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.header_bytes.max(LEAST_BUFFER));
    if limits.headers != USUAL_HEADERS {
        first.max_headers(limits.headers);
    }
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.calls_per_connection)
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .keep_alive_interval(PING)
        .keep_alive_timeout(PONG);
    builder
}
