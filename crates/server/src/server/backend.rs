//! The backend of a server: the task engine with its store, or the embedder's service.

use std::net::SocketAddr;
use std::sync::Arc;

use latimer_protocol::Service;
use latimer_store::MemoryStore;

use super::Server;
use crate::agent::AgentRegistry;
use crate::binding::Readiness;
use crate::engine::{Activity, Engine, ids};
use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::push::WebhookDispatcher;

/// Service that handles the calls of a server, and the components that it needs.
pub(super) struct Backend {
    pub(super) service: Arc<dyn Service>,
    /// `None` if a service of the embedder handles calls.
    pub(super) engine: Option<Engine>,
    pub(super) dispatcher: Option<WebhookDispatcher>,
    pub(super) readiness: Readiness,
}

impl Backend {
    /// Creates the backend of a configured server. It starts no task before
    /// [`Self::publish_and_recover`].
    ///
    /// # Errors
    /// Fails if the webhook dispatcher cannot be created.
    pub(super) fn new(
        server: &Server,
        registry: &Arc<AgentRegistry>,
        metrics: &Metrics,
        listen_address: Option<SocketAddr>,
    ) -> Result<Self> {
        if let Some(service) = server.service.clone() {
            let readiness = Readiness::default();
            return Ok(Self { service, engine: None, dispatcher: None, readiness });
        }
        let store = server.store.clone().unwrap_or_else(|| Arc::new(MemoryStore::default()));
        let dispatcher = server.create_dispatcher(&store, metrics, listen_address)?;
        let limits = server.settings.limits.clone();
        let mut engine = Engine::new(registry.clone(), store.clone(), limits);
        if let Some(dispatcher) = &dispatcher {
            engine = engine.with_dispatcher(dispatcher.clone());
        }
        let readiness = Readiness::with_store(move || {
            let store = store.clone();
            // No task has this id. The query only tests whether the store responds.
            async move { store.find_agents("", &ids::task()).await.is_ok() }
        });
        Ok(Self { service: Arc::new(engine.clone()), engine: Some(engine), dispatcher, readiness })
    }

    /// Publishes the agents and recovers the tasks of an ended process. Returns the number of
    /// recovered tasks.
    ///
    /// # Errors
    /// Returns [`Error::Store`] if the store cannot be read.
    pub(super) async fn publish_and_recover(
        &self,
        registry: &Arc<AgentRegistry>,
        metrics: &Metrics,
    ) -> Result<u64> {
        for agent in registry.iter() {
            agent.executor().on_publish(agent.card_handle());
        }
        metrics.watch_agent_health(registry);
        let mut recovered_tasks = 0;
        if let Some(engine) = &self.engine {
            recovered_tasks = engine.recover().await.map_err(Error::Store)?;
            register_gauges(engine, metrics);
        }
        if let Some(dispatcher) = self.dispatcher.clone() {
            let help = "Webhooks with pending or future deliveries";
            metrics.register_gauge("webhooks", help, move || dispatcher.active_count());
        }
        Ok(recovered_tasks)
    }
}

/// Registers gauges of the engine's activity.
fn register_gauges(engine: &Engine, metrics: &Metrics) {
    type ReadActivity = fn(Activity) -> usize;
    let gauges: [(&str, &str, ReadActivity); 5] = [
        ("live_tasks", "Tasks with a running turn or a reader", |it| it.live_tasks),
        ("turns", "Running and waiting turns", |it| it.turns),
        ("streams", "Open event streams", |it| it.streams),
        (
            "held_tasks",
            "Tasks that callers cannot see yet, because the agent may reply with a message",
            |it| it.held_tasks,
        ),
        ("unrecovered_tasks", "Tasks of ended processes that are not recovered yet", |it| {
            it.unrecovered_tasks
        }),
    ];
    for (name, help, read) in gauges {
        let engine = engine.clone();
        metrics.register_gauge(name, help, move || read(engine.activity()));
    }
}
