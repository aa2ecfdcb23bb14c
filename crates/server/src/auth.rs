//! Who asks: the seam where callers are told apart.

use std::fmt;
use std::net::SocketAddr;

use async_trait::async_trait;
use http::HeaderMap;
use latimer_protocol::{Caller, Error, ErrorKind};

/// Finds out who makes a request.
///
/// It is asked before a body is read. Cards, health and metrics are for everybody.
#[async_trait]
pub trait Authenticate: fmt::Debug + Send + Sync + 'static {
    /// The caller, by what the request shows.
    ///
    /// # Errors
    /// [`ErrorKind::Unauthenticated`] when it shows nothing that counts, and
    /// [`ErrorKind::PermissionDenied`] when that is known and not welcome.
    async fn authenticate(&self, shown: Credentials<'_>) -> Result<Caller, Error>;

    /// What the `WWW-Authenticate` header asks for.
    fn challenge(&self) -> &str {
        "Bearer"
    }
}

/// What a request shows of its sender.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Credentials<'a> {
    /// Its headers, or the metadata of gRPC.
    pub headers: &'a HeaderMap,
    /// Where it came from, if that is known.
    pub peer: Option<SocketAddr>,
}

impl<'a> Credentials<'a> {
    /// What a request with these headers shows.
    #[must_use]
    pub fn new(headers: &'a HeaderMap) -> Self {
        Self { headers, peer: None }
    }
}

/// A function that knows callers by their headers.
pub(crate) struct Extractor<F>(pub(crate) F);

impl<F> fmt::Debug for Extractor<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Extractor")
    }
}

#[async_trait]
impl<F> Authenticate for Extractor<F>
where
    F: Fn(&HeaderMap) -> Option<Caller> + Send + Sync + 'static,
{
    async fn authenticate(&self, shown: Credentials<'_>) -> Result<Caller, Error> {
        (self.0)(shown.headers).ok_or_else(|| ErrorKind::Unauthenticated.into())
    }
}
