//! One connection: TLS handshake, HTTP and graceful close.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use http::header::CONNECTION;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::client_stream::ClientStream;
use super::wake_gated::WakeGated;
use super::{ReloadingTls, RequestHandler, TrackedExecutor};
use crate::auth::ClientCertificate;

/// Maximum duration of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// An accepted connection with everything needed to serve it.
pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
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
}

/// Way to close a connection.
enum CloseMode {
    /// Close after the current calls.
    Drain,
    /// Abort the current calls.
    Abort,
}

impl Connection {
    pub(super) async fn serve(self) {
        let Self { stream, peer, handler, tls, builder, signals } = self;
        let request_unread = Arc::<AtomicBool>::default();
        let stream = ClientStream::new(stream, request_unread.clone());
        let http =
            HttpConnection { peer, handler, certificate: None, builder, signals, request_unread };
        match tls {
            None => http.serve(stream).await,
            Some(tls) => Box::pin(http.serve_tls(stream, &tls)).await,
        }
    }
}

/// Serves HTTP on an established byte stream.
struct HttpConnection {
    peer: SocketAddr,
    handler: RequestHandler,
    certificate: Option<ClientCertificate>,
    builder: Arc<Builder<TrackedExecutor>>,
    signals: ConnectionSignals,
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
        let Self { peer, handler, certificate, builder, signals, request_unread } = self;
        let request_started = Arc::new(AtomicBool::new(false));
        let service = service_fn(|request| {
            request_started.store(true, Relaxed);
            let (handler, certificate) = (handler.clone(), certificate.clone());
            let request_unread = request_unread.clone();
            async move {
                let response = handler.handle(request, peer, certificate).await;
                if response.headers().contains_key(CONNECTION) {
                    request_unread.store(true, Relaxed);
                }
                Ok::<_, Infallible>(response)
            }
        });
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let mut close_signal =
            WakeGated::new(signals.clone().wait_close_mode(request_started.clone()));
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
                CloseMode::Drain => {
                    connection.as_mut().graceful_shutdown();
                    close_signal = WakeGated::new(signals.clone().wait_abort());
                }
            }
        }
    }
}

impl ConnectionSignals {
    /// Waits for a signal or timeout that closes the connection.
    async fn wait_close_mode(self, request_started: Arc<AtomicBool>) -> CloseMode {
        let no_request = async {
            tokio::time::sleep(self.first_request_timeout).await;
            if request_started.load(Relaxed) {
                pending::<()>().await;
            }
            debug!("connection closed without a request");
        };
        tokio::select! {
            () = self.abort_token.cancelled() => CloseMode::Abort,
            () = self.drain_token.cancelled() => CloseMode::Drain,
            () = no_request => CloseMode::Abort,
        }
    }

    /// Waits for the signal that aborts a draining connection.
    async fn wait_abort(self) -> CloseMode {
        self.abort_token.cancelled().await;
        CloseMode::Abort
    }
}
