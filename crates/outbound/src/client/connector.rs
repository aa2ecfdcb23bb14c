//! Connector of the HTTP client. The only place that opens sockets, after a check by the guard.

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
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use super::Protocol;
use super::tls::{Stream, Tls};
use crate::dial::Dial;
use crate::forbidden::Forbidden;
use crate::guard::{Guard, ResolveError};
use crate::target::Target;

/// Opens connections to targets that the guard allows.
#[derive(Clone)]
pub(super) struct Connector(Arc<Inner>);

struct Inner {
    guard: Guard,
    dialer: Arc<dyn Dial>,
    tls: Tls,
    connect_timeout: Duration,
}

impl Connector {
    pub(super) fn new(
        guard: Guard,
        dialer: Arc<dyn Dial>,
        tls: Tls,
        connect_timeout: Duration,
    ) -> Self {
        Self(Arc::new(Inner { guard, dialer, tls, connect_timeout }))
    }

    /// Returns a copy of the connector that negotiates the given versions of HTTP.
    pub(super) fn with_protocol(&self, protocol: Protocol) -> Self {
        let Inner { guard, dialer, tls, connect_timeout } = &*self.0;
        Self::new(guard.clone(), Arc::clone(dialer), tls.with_protocol(protocol), *connect_timeout)
    }
}

impl Inner {
    async fn connect(&self, target: &Target) -> Result<Stream, ConnectError> {
        let addresses = self.guard.resolve_allowed(target).await?;
        let stream = self.dial(&addresses).await?;
        self.tls.connect(target, stream).await.map_err(ConnectError::Tls)
    }

    /// Connects to the first reachable address. Each attempt gets an equal share of the timeout.
    async fn dial(&self, addresses: &[SocketAddr]) -> Result<TcpStream, ConnectError> {
        let attempt_timeout =
            self.connect_timeout / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut last_error = ConnectError::Timeout;
        for address in addresses {
            match timeout(attempt_timeout, self.dialer.dial(*address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => last_error = ConnectError::Unreachable(error),
                Err(_) => last_error = ConnectError::Timeout,
            }
        }
        Err(last_error)
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Stream>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let target = inner.guard.check_without_dns(&uri.to_string())?;
            let stream = timeout(inner.connect_timeout, inner.connect(&target)).await;
            Ok(TokioIo::new(stream.map_err(|_| ConnectError::Timeout)??))
        })
    }
}

/// Error of opening a connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("forbidden: {0}")]
    Forbidden(Forbidden),
    #[error("the host name does not resolve")]
    Unresolved(#[source] io::Error),
    #[error("no address accepted the connection")]
    Unreachable(#[source] io::Error),
    #[error("TLS failed")]
    Tls(#[source] io::Error),
    #[error("timed out")]
    Timeout,
}

impl From<Forbidden> for ConnectError {
    fn from(forbidden: Forbidden) -> Self {
        Self::Forbidden(forbidden)
    }
}

impl From<ResolveError> for ConnectError {
    fn from(error: ResolveError) -> Self {
        match error {
            ResolveError::Forbidden(forbidden) => Self::Forbidden(forbidden),
            ResolveError::Unresolved(error) => Self::Unresolved(error),
        }
    }
}

/// Returns the connector's error in the source chain of `error`, if there is one.
pub(super) fn connect_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a ConnectError> {
    match error.downcast_ref() {
        Some(found) => Some(found),
        None => error.source().and_then(connect_error),
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Connector")
    }
}
