//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::{pending, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::wake_gated::WakeGated;
use super::{ReloadingTls, RequestHandler, TrackedExecutor};
use crate::auth::ClientCertificate;

/// How long a peer may take to agree on a secret.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) handler: RequestHandler,
    pub(super) tls: Option<ReloadingTls>,
    pub(super) builder: Arc<Builder<TrackedExecutor>>,
    pub(super) signals: ConnectionSignals,
}

/// What can happen to a connection from outside.
#[derive(Clone)]
pub(super) struct ConnectionSignals {
    /// It is to end with the calls it is at.
    pub(super) drain_token: CancellationToken,
    /// It is to end now.
    pub(super) abort_token: CancellationToken,
    /// How long the first request may keep us waiting. From then on hyper has its own limit; what
    /// it does not limit is how long a peer takes to show which version of HTTP it speaks.
    pub(super) first_request_timeout: Duration,
}

/// What to do about it.
enum CloseMode {
    Drain,
    Abort,
}

impl Connection {
    pub(super) async fn serve(self) {
        let Self { stream, peer, handler, tls, builder, signals } = self;
        let http = HttpConnection { peer, handler, certificate: None, builder, signals };
        match tls {
            None => http.serve(stream).await,
            Some(tls) => Box::pin(http.serve_tls(stream, &tls)).await,
        }
    }
}

/// What is spoken on a connection, once it is there.
struct HttpConnection {
    peer: SocketAddr,
    handler: RequestHandler,
    certificate: Option<ClientCertificate>,
    builder: Arc<Builder<TrackedExecutor>>,
    signals: ConnectionSignals,
}

impl HttpConnection {
    /// Agrees on a secret first. Nobody but the peer waits for that.
    async fn serve_tls(mut self, stream: TcpStream, tls: &ReloadingTls) {
        let timeout = HANDSHAKE_TIMEOUT.min(self.signals.first_request_timeout);
        let handshake = tokio::time::timeout(timeout, tls.accept(stream));
        let (stream, certificate) = tokio::select! {
            () = self.signals.abort_token.cancelled() => return,
            () = self.signals.drain_token.cancelled() => return,
            handshake = handshake => match handshake {
                Ok(Ok(accepted)) => accepted,
                Ok(Err(error)) => return debug!(%error, "handshake failed"),
                Err(_) => return debug!("handshake took too long"),
            },
        };
        self.certificate = certificate;
        self.serve(stream).await;
    }

    async fn serve<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { peer, handler, certificate, builder, signals } = self;
        let request_started = Arc::new(AtomicBool::new(false));
        let service = service_fn(|request| {
            request_started.store(true, Relaxed);
            let (handler, certificate) = (handler.clone(), certificate.clone());
            async move { Ok::<_, Infallible>(handler.handle(request, peer, certificate).await) }
        });
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let mut close_signal =
            WakeGated::new(signals.clone().wait_close_mode(request_started.clone()));
        loop {
            let next = poll_fn(|context| match connection.as_mut().poll(context) {
                Poll::Ready(result) => {
                    // Peers go away as they please; whoever cares asks for the details.
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
    /// The first thing that happens.
    async fn wait_close_mode(self, request_started: Arc<AtomicBool>) -> CloseMode {
        let no_request = async {
            tokio::time::sleep(self.first_request_timeout).await;
            if request_started.load(Relaxed) {
                pending::<()>().await;
            }
            debug!("connection closed: no request came");
        };
        tokio::select! {
            () = self.abort_token.cancelled() => CloseMode::Abort,
            () = self.drain_token.cancelled() => CloseMode::Drain,
            () = no_request => CloseMode::Abort,
        }
    }

    /// The only thing that can still happen to one that is leaving.
    async fn wait_abort(self) -> CloseMode {
        self.abort_token.cancelled().await;
        CloseMode::Abort
    }
}
