//! Where sockets are opened, and the only place: behind the guard.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use super::Protocol;
use super::stream::Stream;
use super::tls::Tls;
use crate::dial::Dial;
use crate::forbidden::Forbidden;
use crate::guard::{Guard, Unreachable};
use crate::host::Host;
use crate::target::{Scheme, Target};

/// Connects to what the guard lets through.
#[derive(Clone)]
pub(super) struct Connector(Arc<Inner>);

struct Inner {
    guard: Guard,
    dial: Arc<dyn Dial>,
    tls: Tls,
    patience: Duration,
}

impl Connector {
    pub(super) fn new(guard: Guard, dial: Arc<dyn Dial>, tls: Tls, patience: Duration) -> Self {
        Self(Arc::new(Inner { guard, dial, tls, patience }))
    }

    /// The same, for these versions of HTTP.
    pub(super) fn speaking(&self, protocol: Protocol) -> Self {
        let Inner { guard, dial, tls, patience } = &*self.0;
        Self::new(guard.clone(), Arc::clone(dial), tls.speaking(protocol), *patience)
    }
}

impl Inner {
    async fn connect(&self, target: &Target) -> Result<Stream, Problem> {
        let addresses = self.guard.addresses(target).await?;
        let stream = self.dial(&addresses).await?;
        match target.scheme() {
            Scheme::Http => Ok(Stream::Plain(stream)),
            Scheme::Https => {
                let name = server_name(target.host())?;
                let connector = self.tls.connector(target);
                let stream = connector.connect(name, stream).await.map_err(Problem::Tls)?;
                Ok(Stream::Tls(Box::new(stream)))
            }
        }
    }

    /// One of some addresses, each with its share of the time.
    async fn dial(&self, addresses: &[SocketAddr]) -> Result<TcpStream, Problem> {
        let share = self.patience / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut last = Problem::Timeout;
        for address in addresses {
            match timeout(share, self.dial.dial(*address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last = Problem::Unreachable(error),
                Err(_) => last = Problem::Timeout,
            }
        }
        Err(last)
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = Problem;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Stream>, Problem>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Problem>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let target = inner.guard.target(&uri.to_string())?;
            let stream = timeout(inner.patience, inner.connect(&target)).await;
            Ok(TokioIo::new(stream.map_err(|_| Problem::Timeout)??))
        })
    }
}

fn server_name(host: &Host) -> Result<ServerName<'static>, Problem> {
    match host {
        Host::Address(address) => Ok(ServerName::from(*address)),
        Host::Name(name) => ServerName::try_from(name.clone())
            .map_err(|error| Problem::Tls(io::Error::other(error))),
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("forbidden: {0}")]
    Forbidden(Forbidden),
    #[error("the name does not resolve")]
    Unresolved(#[source] io::Error),
    #[error("nobody answers")]
    Unreachable(#[source] io::Error),
    #[error("TLS failed")]
    Tls(#[source] io::Error),
    #[error("took too long")]
    Timeout,
}

impl From<Forbidden> for Problem {
    fn from(forbidden: Forbidden) -> Self {
        Self::Forbidden(forbidden)
    }
}

impl From<Unreachable> for Problem {
    fn from(unreachable: Unreachable) -> Self {
        match unreachable {
            Unreachable::Forbidden(forbidden) => Self::Forbidden(forbidden),
            Unreachable::Unresolved(error) => Self::Unresolved(error),
        }
    }
}

/// The problem behind an error, if a connector had one.
pub(super) fn problem<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Problem> {
    match error.downcast_ref() {
        Some(problem) => Some(problem),
        None => error.source().and_then(problem),
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Connector")
    }
}
