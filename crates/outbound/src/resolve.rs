//! Host name resolution.

use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;

/// Resolves host names for a [`Guard`](crate::Guard), which checks every returned address.
///
/// ```
/// # use std::io;
/// # use std::net::IpAddr;
/// # use std::sync::Arc;
/// # use latimer_outbound::{Forbidden, Guard, Resolve, Rules};
/// #[derive(Debug)]
/// struct Loopback;
///
/// #[async_trait::async_trait]
/// impl Resolve for Loopback {
///     async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
///         Ok(vec![[127, 0, 0, 1].into()])
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let guard = Guard::with_resolver(Rules::default(), Arc::new(Loopback));
/// assert_eq!(guard.check("https://hooks.example/").await, Err(Forbidden::Address));
/// # }
/// ```
#[async_trait]
pub trait Resolve: fmt::Debug + Send + Sync + 'static {
    /// Returns all addresses of the host `name`.
    ///
    /// # Errors
    /// An I/O error if the name has no address, or the lookup fails or times out.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Timeout of one lookup.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of concurrent lookups. Each blocks a thread, and an untrusted name server can
/// delay its response until the system's own timeout.
const MAX_LOOKUPS: usize = 64;

/// Resolver of the operating system.
#[derive(Debug)]
pub(crate) struct SystemResolver {
    lookups: Arc<Semaphore>,
}

impl SystemResolver {
    pub(crate) fn new() -> Self {
        Self { lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }

    async fn look_up(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let permit = Arc::clone(&self.lookups).acquire_owned().await.map_err(io::Error::other)?;
        let name = name.to_owned();
        let lookup = tokio::task::spawn_blocking(move || {
            let addresses = (name.as_str(), 0).to_socket_addrs();
            drop(permit);
            addresses
        });
        Ok(lookup.await.map_err(io::Error::other)??.map(|it| it.ip()).collect())
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let timed_out = |_| io::Error::from(io::ErrorKind::TimedOut);
        tokio::time::timeout(RESOLVE_TIMEOUT, self.look_up(name)).await.map_err(timed_out)?
    }
}
