//! Control over a server while it runs.

use std::sync::Arc;
use std::time::Duration;

use latimer_protocol::Service;
use tracing::{info, warn};

use crate::binding::Frontend;
use crate::engine::{Activity, Engine};

/// Controls an [`AssembledServer`](super::AssembledServer), the routers created from it, and the
/// [`RunningServer`](super::RunningServer) that it becomes.
///
/// Cheap to clone; all clones control the same server. Dropping a handle does not stop the server.
#[derive(Clone, Debug)]
pub struct ServerHandle(Arc<ServerState>);

/// State that all clones of a handle share.
#[derive(Debug)]
pub(super) struct ServerState {
    /// Frontend of the assembled server. Every socket and router shares its service, readiness and
    /// support services.
    pub(super) frontend: Arc<Frontend>,
    /// `None` if a service of the embedder handles calls.
    pub(super) engine: Option<Engine>,
}

impl ServerHandle {
    pub(super) fn new(state: ServerState) -> Self {
        Self(Arc::new(state))
    }

    /// Returns the service that handles calls, for calls within the process.
    ///
    /// Such calls are neither authenticated nor rate limited: the caller is the one in the
    /// [`CallContext`](latimer_protocol::CallContext).
    #[must_use]
    pub fn service(&self) -> Arc<dyn Service> {
        Arc::clone(&self.0.frontend.service)
    }

    /// Returns the number of active tasks, turns and streams. All are zero if a service of the
    /// embedder handles calls ([`Server::with_service`](super::Server::with_service)).
    #[must_use]
    pub fn activity(&self) -> Activity {
        self.0.engine.as_ref().map(Engine::activity).unwrap_or_default()
    }

    /// Stops accepting work, waits up to `limit` for the running turns to end, and stops the turns
    /// that are then still running.
    ///
    /// Readiness reports 503 from the start. The next process that opens the same store
    /// [recovers](crate::Executor::recover) turns that are stopped, and continues webhook deliveries. Sockets stay open:
    /// [`RunningServer::shutdown`](super::RunningServer::shutdown) closes those of a running server,
    /// and an application that mounted the router closes its own. If a service of the embedder
    /// handles calls, only readiness changes. Dropping the future leaves the server draining.
    ///
    /// Returns the number of turns that were stopped.
    pub async fn drain(&self, limit: Duration) -> usize {
        let ServerState { frontend, engine } = &*self.0;
        frontend.readiness.drain();
        frontend.support_services.set_serving(false).await;
        let Some(engine) = engine else { return 0 };
        let Activity { turns, streams, .. } = engine.activity();
        info!(turns, streams, time = ?limit, "draining: waiting for running turns");
        let stopped_turns = engine.drain(limit).await;
        if stopped_turns > 0 {
            warn!(turns = stopped_turns, "running turns stopped at the end of the drain time");
        }
        stopped_turns
    }

    /// Stops the engine without draining. The next process that opens the store recovers the
    /// unfinished turns.
    pub(super) fn stop_now(&self) {
        if let Some(engine) = &self.0.engine {
            engine.stop_now();
        }
    }
}
