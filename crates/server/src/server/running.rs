//! A server that serves a socket.

use std::net::SocketAddr;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::handle::ServerHandle;

/// Time that connections have to close after the drain, before they are aborted.
const CONNECTION_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Server that serves a socket until it is shut down.
///
/// Dropping it closes the socket and all connections without draining. The next process that opens
/// the same store recovers the unfinished turns.
///
/// ```
/// use latimer_server::Server;
/// use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
/// use tokio::net::TcpStream;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let running = Server::echo().bind("127.0.0.1:0").listen().await?;
///
/// let mut connection = TcpStream::connect(running.address()).await?;
/// connection.write_all(b"GET /ready HTTP/1.0\r\nhost: localhost\r\n\r\n").await?;
/// let mut response = String::new();
/// connection.read_to_string(&mut response).await?;
/// assert!(response.contains("200 OK"));
///
/// running.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RunningServer {
    pub(super) address: SocketAddr,
    pub(super) recovered_tasks: u64,
    pub(super) handle: ServerHandle,
    pub(super) is_loopback_only: bool,
    pub(super) drain_timeout: Duration,
    /// Canceled to close each connection after its current calls.
    pub(super) drain_token: CancellationToken,
    /// Canceled to abort all connections.
    pub(super) abort_token: CancellationToken,
    /// Background tasks of the listener and its connections.
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
    /// Connections that are still open five seconds after the drain are aborted. Returns the number
    /// of turns that were stopped because they did not end in time.
    pub async fn shutdown(self) -> usize {
        let stopped_turns = self.handle.drain(self.drain_timeout).await;
        self.drain_token.cancel();
        self.tasks.close();
        if tokio::time::timeout(CONNECTION_CLOSE_TIMEOUT, self.tasks.wait()).await.is_err() {
            warn!("open connections aborted after the close timeout");
            self.abort_token.cancel();
            self.tasks.wait().await;
        }
        stopped_turns
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.handle.stop_now();
        self.drain_token.cancel();
        self.abort_token.cancel();
    }
}
