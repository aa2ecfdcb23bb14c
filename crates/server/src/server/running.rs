//! A server that serves a socket.

use std::net::SocketAddr;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::handle::ServerHandle;

/// Time connections have to close after the last turn has ended.
const CONNECTION_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that serves a socket until it is shut down. Dropping it stops it at once.
#[derive(Debug)]
pub struct RunningServer {
    pub(super) address: SocketAddr,
    pub(super) recovered_tasks: u64,
    pub(super) handle: ServerHandle,
    pub(super) is_loopback_only: bool,
    pub(super) drain_timeout: Duration,
    /// Cancelled when connections are to close after the calls they carry.
    pub(super) drain_token: CancellationToken,
    /// Cancelled when connections are to close at once.
    pub(super) abort_token: CancellationToken,
    pub(super) tasks: TaskTracker,
}

impl RunningServer {
    /// Returns the address of the socket.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns how many tasks of an ended process the server recovered when it was assembled.
    #[must_use]
    pub fn recovered_tasks(&self) -> u64 {
        self.recovered_tasks
    }

    /// Returns a handle to the server.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        self.handle.clone()
    }

    /// Drains the server for at most [`Settings::drain_timeout`](crate::Settings::drain_timeout) and
    /// closes its connections.
    ///
    /// Connections that do not close within five seconds after the last turn are cut.
    pub async fn shutdown(self) {
        self.handle.drain(self.drain_timeout).await;
        self.drain_token.cancel();
        self.tasks.close();
        if tokio::time::timeout(CONNECTION_CLOSE_TIMEOUT, self.tasks.wait()).await.is_err() {
            warn!("closing connections that are still open");
            self.abort_token.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.handle.stop_now();
        self.drain_token.cancel();
        self.abort_token.cancel();
    }
}
