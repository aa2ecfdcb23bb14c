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
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::aside::Aside;
use super::{Entry, Secure, Tracked};
use crate::auth::ClientCertificate;

/// How long a peer may take to agree on a secret.
const HANDSHAKE: Duration = Duration::from_secs(10);

pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) entry: Entry,
    pub(super) secure: Option<Secure>,
    pub(super) builder: Arc<Builder<Tracked>>,
    pub(super) outside: Outside,
}

/// What can happen to a connection from outside.
#[derive(Clone)]
pub(super) struct Outside {
    /// It is to end with the calls it is at.
    pub(super) leaving: CancellationToken,
    /// It is to end now.
    pub(super) gone: CancellationToken,
    /// How long the first request may keep us waiting. From then on hyper has its own limit; what
    /// it does not limit is how long a peer takes to show which version of HTTP it speaks.
    pub(super) patience: Duration,
}

/// What to do about it.
enum Then {
    Leave,
    End,
}

impl Connection {
    pub(super) async fn serve(self) {
        let Self { stream, peer, entry, secure, builder, outside } = self;
        let http = Http { peer, entry, certificate: None, builder, outside };
        match secure {
            None => http.serve(stream).await,
            Some(secure) => Box::pin(http.serve_securely(stream, &secure)).await,
        }
    }
}

/// What is spoken on a connection, once it is there.
struct Http {
    peer: SocketAddr,
    entry: Entry,
    certificate: Option<ClientCertificate>,
    builder: Arc<Builder<Tracked>>,
    outside: Outside,
}

impl Http {
    /// Agrees on a secret first. Nobody but the peer waits for that.
    async fn serve_securely(mut self, stream: TcpStream, secure: &Secure) {
        let limit = HANDSHAKE.min(self.outside.patience);
        let handshake = tokio::time::timeout(limit, secure.acceptor().accept(stream));
        let stream = tokio::select! {
            () = self.outside.gone.cancelled() => return,
            () = self.outside.leaving.cancelled() => return,
            handshake = handshake => match handshake {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => return debug!(%error, "handshake failed"),
                Err(_) => return debug!("handshake took too long"),
            },
        };
        match certificate(&stream) {
            Ok(certificate) => self.certificate = certificate,
            Err(error) => return debug!(%error, "client certificate cannot be read"),
        }
        self.serve(stream).await;
    }

    async fn serve<S>(self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { peer, entry, certificate, builder, outside } = self;
        let begun = Arc::new(AtomicBool::new(false));
        let service = service_fn(|request| {
            begun.store(true, Relaxed);
            let (entry, certificate) = (entry.clone(), certificate.clone());
            async move { Ok::<_, Infallible>(entry.answer(request, peer, certificate).await) }
        });
        let served = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut served = pin!(served);
        let mut aside = Aside::new(outside.clone().first(begun.clone()));
        loop {
            let next = poll_fn(|context| match served.as_mut().poll(context) {
                Poll::Ready(ended) => {
                    // Peers go away as they please; whoever cares asks for the details.
                    if let Err(error) = ended {
                        debug!(%error, "connection ended");
                    }
                    Poll::Ready(Then::End)
                }
                Poll::Pending => aside.poll(context),
            });
            match next.await {
                Then::End => return,
                Then::Leave => {
                    served.as_mut().graceful_shutdown();
                    aside = Aside::new(outside.clone().last());
                }
            }
        }
    }
}

/// The certificate that the peer has shown, if it has.
fn certificate<S>(
    stream: &TlsStream<S>,
) -> Result<Option<ClientCertificate>, crate::auth::InvalidCertificate> {
    let (_, session) = stream.get_ref();
    let shown = session.peer_certificates().and_then(<[_]>::first);
    shown.map(|it| ClientCertificate::from_der(it)).transpose()
}

impl Outside {
    /// The first thing that happens.
    async fn first(self, begun: Arc<AtomicBool>) -> Then {
        let nobody = async {
            tokio::time::sleep(self.patience).await;
            if begun.load(Relaxed) {
                pending::<()>().await;
            }
            debug!("connection closed: no request came");
        };
        tokio::select! {
            () = self.gone.cancelled() => Then::End,
            () = self.leaving.cancelled() => Then::Leave,
            () = nobody => Then::End,
        }
    }

    /// The only thing that can still happen to one that is leaving.
    async fn last(self) -> Then {
        self.gone.cancelled().await;
        Then::End
    }
}
