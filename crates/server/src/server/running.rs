//! A server that runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use crate::binding::Frontend;
use crate::engine::Engine;

/// How long connections have to end by themselves once no turn is left.
const CONNECTION_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that runs until it is shut down, or this is dropped: then it stops at once.
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
    /// The address it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many tasks of a former process it took over.
    #[must_use]
    pub fn recovered_tasks(&self) -> u64 {
        self.recovered_tasks
    }

    /// Stops in order: takes no new work, lets turns end, and then connections.
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
            warn!("connections were still open and are cut");
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
