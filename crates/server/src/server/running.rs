//! Handle of a running server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use crate::binding::Frontend;
use crate::engine::Engine;

/// How long connections may take to close after all turns have ended.
const CONNECTION_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Handle of a running server. Dropping it stops the server immediately;
/// [`RunningServer::shutdown`] stops it gracefully.
#[derive(Debug)]
pub struct RunningServer {
    pub(super) address: SocketAddr,
    pub(super) recovered_tasks: u64,
    pub(super) frontend: Arc<Frontend>,
    pub(super) engine: Option<Engine>,
    pub(super) drain_timeout: Duration,
    pub(super) drain_token: CancellationToken,
    pub(super) abort_token: CancellationToken,
    pub(super) tasks: TaskTracker,
}

impl RunningServer {
    /// Returns the address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of tasks claimed from ended processes at startup.
    #[must_use]
    pub fn recovered_tasks(&self) -> u64 {
        self.recovered_tasks
    }

    /// Stops the server gracefully: rejects new messages, waits for running turns for at most the
    /// drain timeout, and then closes connections.
    pub async fn shutdown(self) {
        self.frontend.readiness.drain();
        self.frontend.support_services.set_serving(false).await;
        if let Some(engine) = &self.engine {
            info!(time = ?self.drain_timeout, "draining");
            engine.drain(self.drain_timeout).await;
        }
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
        if let Some(engine) = &self.engine {
            engine.stop_now();
        }
        self.drain_token.cancel();
        self.abort_token.cancel();
    }
}
