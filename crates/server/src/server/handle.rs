//! Control over a server while it runs.

use std::sync::Arc;
use std::time::Duration;

use latimer_protocol::Service;
use tracing::info;

use crate::binding::Frontend;
use crate::engine::{Activity, Engine};

/// Controls an [`AssembledServer`](super::AssembledServer), the routers created from it, and the
/// [`RunningServer`](super::RunningServer) that it becomes.
///
/// Cheap to clone; all clones control the same server. Dropping a handle does not stop the server.
#[derive(Clone, Debug)]
pub struct ServerHandle(Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    /// Frontend of the assembled server. Its service, readiness and support services are those of
    /// every socket and router, too.
    pub(super) frontend: Arc<Frontend>,
    /// `None` if the embedder's own service answers calls.
    pub(super) engine: Option<Engine>,
}

impl ServerHandle {
    pub(super) fn new(shared: Shared) -> Self {
        Self(Arc::new(shared))
    }

    /// Returns the service that answers calls, for calls within the process.
    ///
    /// The caller is taken from the [`CallContext`](latimer_protocol::CallContext): such calls are
    /// neither authenticated nor rate limited.
    #[must_use]
    pub fn service(&self) -> Arc<dyn Service> {
        Arc::clone(&self.0.frontend.service)
    }

    /// Returns how many tasks, turns and streams are active. All counts are zero if the embedder's
    /// own service answers calls ([`Server::with_service`](super::Server::with_service)).
    #[must_use]
    pub fn activity(&self) -> Activity {
        self.0.engine.as_ref().map(Engine::activity).unwrap_or_default()
    }

    /// Stops accepting work, waits until the running turns have ended, at most for `limit`, and then
    /// stops the rest.
    ///
    /// Readiness reports 503 from the start. Turns and webhook deliveries that are stopped continue
    /// in the next process that opens the same store. Sockets stay open:
    /// [`RunningServer::shutdown`](super::RunningServer::shutdown) closes those of a running server,
    /// and an application that mounted the router closes its own. If the embedder's own service
    /// answers calls, only readiness changes. Dropping the future leaves the server draining.
    pub async fn drain(&self, limit: Duration) {
        let Shared { frontend, engine } = &*self.0;
        frontend.readiness.drain();
        frontend.support_services.set_serving(false).await;
        if let Some(engine) = engine {
            info!(time = ?limit, "draining");
            engine.drain(limit).await;
        }
    }

    /// Stops at once. Unfinished turns are left for the next process.
    pub(super) fn stop_now(&self) {
        if let Some(engine) = &self.0.engine {
            engine.stop_now();
        }
    }
}
