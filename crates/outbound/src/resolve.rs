//! Names to addresses.

use std::fmt;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;

/// Finds the addresses of a name. What it answers is checked, every time.
#[async_trait]
pub trait Resolve: fmt::Debug + Send + Sync + 'static {
    /// All addresses of the host `name`.
    ///
    /// # Errors
    /// When there are none, or nobody answered in time.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// How long a name may take.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// How many names may be looked for at once. Each takes a thread, and a stranger's name server may
/// keep it for as long as the system's own limits let it.
const MAX_LOOKUPS: usize = 64;

/// The resolver of the operating system.
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
