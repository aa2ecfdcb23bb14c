//! Creation of the webhook dispatcher of a server.

use std::net::SocketAddr;
use std::sync::Arc;

use latimer_store::TaskStore;

use super::Server;
use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::push::WebhookDispatcher;
use crate::settings::Settings;

/// Function that creates a dispatcher for the store of a server.
pub(super) type DispatcherFactory =
    Arc<dyn Fn(Arc<dyn TaskStore>) -> WebhookDispatcher + Send + Sync>;

impl Server {
    /// Sets a function that creates the webhook dispatcher. It receives the store of the server and is
    /// called once, when the server is assembled. [`Settings::push`] then only decides whether
    /// webhooks are enabled.
    pub fn with_dispatcher(
        mut self,
        factory: impl Fn(Arc<dyn TaskStore>) -> WebhookDispatcher + Send + Sync + 'static,
    ) -> Self {
        self.dispatcher = Some(Arc::new(factory));
        self
    }

    /// Creates the dispatcher; returns `None` if webhooks are disabled.
    ///
    /// # Errors
    /// Returns [`Error::Setting`] if the HTTP client of the dispatcher cannot be created.
    pub(super) fn create_dispatcher(
        &self,
        store: &Arc<dyn TaskStore>,
        metrics: &Metrics,
        listen_address: Option<SocketAddr>,
    ) -> Result<Option<WebhookDispatcher>> {
        let Settings { push, public_url, .. } = &self.settings;
        if !push.enabled {
            return Ok(None);
        }
        let dispatcher = match &self.dispatcher {
            Some(factory) => factory(Arc::clone(store)),
            None => WebhookDispatcher::new(
                Arc::clone(store),
                push.clone(),
                listen_address.is_some_and(|it| self.settings.is_loopback_only(it)),
            )
            .map_err(|it| Error::setting("push", it.to_string()))?,
        };
        let fallback_issuer = || {
            let scheme = if self.tls.is_some() { "https" } else { "http" };
            listen_address.map_or_else(|| "latimer".to_owned(), |it| format!("{scheme}://{it}"))
        };
        let dispatcher = dispatcher.with_counters(metrics.delivery_counters());
        Ok(Some(match self.keyring.clone() {
            Some(keyring) => {
                dispatcher.with_signer(keyring, public_url.clone().unwrap_or_else(fallback_issuer))
            }
            None => dispatcher,
        }))
    }
}
