//! A server that runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use crate::binding::Front;
use crate::engine::Engine;

/// How long connections have to end by themselves once no turn is left.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A server that runs until it is shut down, or this is dropped: then it stops at once.
#[derive(Debug)]
pub struct Running {
    pub(super) address: SocketAddr,
    pub(super) recovered: u64,
    pub(super) front: Arc<Front>,
    pub(super) engine: Option<Engine>,
    pub(super) drain: Duration,
    pub(super) leaving: CancellationToken,
    pub(super) gone: CancellationToken,
    pub(super) tasks: TaskTracker,
}

impl Running {
    /// The address it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many tasks of a former process it took over.
    #[must_use]
    pub fn recovered(&self) -> u64 {
        self.recovered
    }

    /// Stops in order: takes no new work, lets turns end, and then connections.
    pub async fn shutdown(self) {
        self.front.readiness.drain();
        self.front.helpers.serve(false).await;
        if let Some(engine) = &self.engine {
            info!(time = ?self.drain, "draining");
            engine.drain(self.drain).await;
        }
        self.leaving.cancel();
        self.tasks.close();
        if tokio::time::timeout(LAST_WORDS, self.tasks.wait()).await.is_err() {
            warn!("connections were still open and are cut");
            self.gone.cancel();
            self.tasks.wait().await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.leaving.cancel();
        self.gone.cancel();
    }
}
