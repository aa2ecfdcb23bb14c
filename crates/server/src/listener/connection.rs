//! One connection: TLS handshake, HTTP and graceful close.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use http::header::CONNECTION;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::client_stream::ClientStream;
use super::connections::{Activity, Admission, ConnectionEntry, TrackedBody};
use super::wake_gated::WakeGated;
use super::{ReloadingTls, RequestHandler, TrackedExecutor};
use crate::auth::ClientCertificate;

/// Maximum duration of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum duration of a connection that may only make probes.
const PROBE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// An accepted connection with everything needed to serve it.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) entry: ConnectionEntry,
    pub(super) handler: RequestHandler,
    pub(super) tls: Option<ReloadingTls>,
    pub(super) builder: Arc<Builder<TrackedExecutor>>,
    pub(super) signals: ConnectionSignals,
}

/// Signals and timeouts that close a connection.
#[derive(Clone)]
pub(super) struct ConnectionSignals {
    /// Closes the connection after its current calls.
    pub(super) drain_token: CancellationToken,
    /// Aborts the connection.
    pub(super) abort_token: CancellationToken,
    /// Maximum time until the first request arrives. Hyper limits the time for later requests itself,
    /// but not the time until a client sends the bytes that determine its HTTP version.
    pub(super) first_request_timeout: Duration,
    /// Maximum idle time of an HTTP/2 connection.
    pub(super) http2_idle_timeout: Duration,
}

/// Way to close a connection.
enum CloseMode {
    /// Close after the current calls.
    Drain,
    /// Close at once unless there are calls, otherwise after them.
    CloseIfIdle,
    /// Abort the current calls.
    Abort,
}

impl Connection {
    pub(super) async fn serve(self) {
        let Self { stream, peer, entry, handler, tls, builder, signals } = self;
        let (activity, admission) = (Arc::clone(&entry.activity), entry.admission);
        let request_unread = Arc::<AtomicBool>::default();
        let stream = ClientStream::new(stream, request_unread.clone());
        let http = HttpConnection {
            peer,
            handler,
            certificate: None,
            builder,
            signals,
            activity,
            admission,
            request_unread,
        };
        let serve = async {
            match tls {
                None => http.serve(stream).await,
                Some(tls) => Box::pin(http.serve_tls(stream, &tls)).await,
            }
        };
        match admission {
            Admission::Full => serve.await,
            Admission::ProbesOnly => {
                // A connection that exceeds the time is dropped.
                let _ = Box::pin(tokio::time::timeout(PROBE_CONNECTION_TIMEOUT, serve)).await;
            }
        }
        drop(entry);
    }
}

/// Serves HTTP on an established byte stream.
struct HttpConnection {
    peer: SocketAddr,
    handler: RequestHandler,
    certificate: Option<ClientCertificate>,
    builder: Arc<Builder<TrackedExecutor>>,
    signals: ConnectionSignals,
    activity: Arc<Activity>,
    admission: Admission,
    /// Set when a response left a part of its request unread.
    request_unread: Arc<AtomicBool>,
}

impl HttpConnection {
    /// Performs the TLS handshake, then serves HTTP.
    async fn serve_tls(mut self, stream: ClientStream, tls: &ReloadingTls) {
        let timeout = HANDSHAKE_TIMEOUT.min(self.signals.first_request_timeout);
        let handshake = tokio::time::timeout(timeout, tls.accept(stream));
        let (stream, certificate) = tokio::select! {
            () = self.signals.abort_token.cancelled() => return,
            () = self.signals.drain_token.cancelled() => return,
            () = self.activity.evicted() => return,
            handshake = handshake => match handshake {
                Ok(Ok(accepted)) => accepted,
                Ok(Err(error)) => return debug!(%error, "TLS handshake failed"),
                Err(_) => return debug!("TLS handshake timed out"),
            },
        };
        self.certificate = certificate;
        self.serve(stream).await;
    }

    async fn serve<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self {
            peer,
            handler,
            certificate,
            builder,
            signals,
            activity,
            admission,
            request_unread,
        } = self;
        let service = service_fn(|request: Request<Incoming>| {
            let request_guard = activity.start_request(request.version());
            let (handler, certificate) = (handler.clone(), certificate.clone());
            let request_unread = request_unread.clone();
            async move {
                let response = match admission {
                    Admission::Full => handler.handle(request, peer, certificate).await,
                    Admission::ProbesOnly => handler.handle_probe(request, peer).await,
                };
                if response.headers().contains_key(CONNECTION) {
                    request_unread.store(true, Relaxed);
                }
                let (head, body) = response.into_parts();
                let body = TrackedBody { body, _request: request_guard };
                Ok::<_, Infallible>(Response::from_parts(head, body))
            }
        });
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let mut close_signal =
            WakeGated::new(signals.clone().wait_close_mode(Arc::clone(&activity)));
        loop {
            let next = poll_fn(|context| match connection.as_mut().poll(context) {
                Poll::Ready(result) => {
                    // Clients may disconnect at any time, so this is not a warning.
                    if let Err(error) = result {
                        debug!(%error, "connection ended");
                    }
                    Poll::Ready(CloseMode::Abort)
                }
                Poll::Pending => close_signal.poll(context),
            });
            match next.await {
                CloseMode::Abort => return,
                mode @ (CloseMode::Drain | CloseMode::CloseIfIdle) => {
                    connection.as_mut().graceful_shutdown();
                    if matches!(mode, CloseMode::CloseIfIdle) {
                        // Announces the end to an HTTP/2 client.
                        let polled = poll_fn(|context| {
                            Poll::Ready(connection.as_mut().poll(context).is_ready())
                        });
                        if polled.await || activity.is_idle() {
                            return;
                        }
                    }
                    close_signal = WakeGated::new(signals.clone().wait_abort());
                }
            }
        }
    }
}

impl ConnectionSignals {
    /// Waits for a signal or timeout that closes the connection.
    async fn wait_close_mode(self, activity: Arc<Activity>) -> CloseMode {
        let unused = async {
            tokio::time::sleep(self.first_request_timeout).await;
            if !activity.has_request() {
                debug!("connection closed without a request");
                return CloseMode::Abort;
            }
            activity.http2_idle(self.http2_idle_timeout).await;
            debug!("idle connection closed");
            CloseMode::CloseIfIdle
        };
        tokio::select! {
            () = self.abort_token.cancelled() => CloseMode::Abort,
            () = self.drain_token.cancelled() => CloseMode::Drain,
            () = activity.evicted() => CloseMode::CloseIfIdle,
            mode = unused => mode,
        }
    }

    /// Waits for the signal that aborts a draining connection.
    async fn wait_abort(self) -> CloseMode {
        self.abort_token.cancelled().await;
        CloseMode::Abort
    }
}
