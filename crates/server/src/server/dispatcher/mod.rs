//! The webhook dispatcher of a server.

use std::net::SocketAddr;
use std::sync::Arc;

use latimer_store::TaskStore;

use super::Server;
use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::push::WebhookDispatcher;
use crate::settings::Settings;

/// Makes a dispatcher for a store.
pub(super) type DispatcherFactory =
    Arc<dyn Fn(Arc<dyn TaskStore>) -> WebhookDispatcher + Send + Sync>;

impl Server {
    /// Delivers to webhooks with a dispatcher of the embedder's own, made for the store of the server.
    pub fn with_dispatcher(
        mut self,
        factory: impl Fn(Arc<dyn TaskStore>) -> WebhookDispatcher + Send + Sync + 'static,
    ) -> Self {
        self.dispatcher = Some(Arc::new(factory));
        self
    }

    /// Makes the dispatcher; none when webhooks are disabled.
    pub(super) fn make_dispatcher(
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
        let dispatcher = dispatcher.with_counters(metrics.deliveries());
        Ok(Some(match self.keyring.clone() {
            Some(keyring) => {
                dispatcher.with_signer(keyring, public_url.clone().unwrap_or_else(fallback_issuer))
            }
            None => dispatcher,
        }))
    }
}
