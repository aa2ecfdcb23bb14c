//! Stand-in for webhook deliveries without the feature `push`: a server has no dispatcher.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use latimer_store::TaskStore;

use super::Server;
use crate::error::Result;
use crate::metrics::Metrics;
use crate::push::WebhookDispatcher;

/// Uninhabited, because a dispatcher requires the feature `push`.
#[derive(Clone)]
pub(super) struct DispatcherFactory(Infallible);

impl Server {
    pub(super) fn create_dispatcher(
        &self,
        _: &Arc<dyn TaskStore>,
        _: &Metrics,
        _: Option<SocketAddr>,
    ) -> Result<Option<WebhookDispatcher>> {
        match &self.dispatcher {
            Some(never) => match never.0 {},
            None => Ok(None),
        }
    }
}
