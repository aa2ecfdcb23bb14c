//! Stand-in for the webhook dispatcher without the feature `push`: a dispatcher cannot be created.

use std::convert::Infallible;

use latimer_protocol::{Dialect, Error, PushConfigId, Revision, TaskPushNotificationConfig};
use latimer_store::{Error as StoreError, TaskKey, Webhook};

/// Dispatcher of webhook deliveries. Uninhabited, because it requires the feature `push`.
#[derive(Clone, Debug)]
pub struct WebhookDispatcher(Infallible);

impl WebhookDispatcher {
    pub(crate) fn max_per_task(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn active_count(&self) -> usize {
        match self.0 {}
    }

    pub(crate) async fn validate(
        &self,
        _: TaskPushNotificationConfig,
        _: TaskKey,
        _: Revision,
        _: Dialect,
    ) -> Result<Webhook, Error> {
        match self.0 {}
    }

    pub(crate) fn activate(&self, _: &TaskKey, _: &PushConfigId) {
        match self.0 {}
    }

    pub(crate) fn notify_changed(&self, _: &TaskKey) {
        match self.0 {}
    }

    pub(crate) fn notify(&self, _: &TaskKey) {
        match self.0 {}
    }

    pub(crate) async fn resume(&self) -> Result<(), StoreError> {
        match self.0 {}
    }

    pub(crate) fn stop(&self) {
        match self.0 {}
    }

    pub(crate) async fn stopped(&self) {
        match self.0 {}
    }
}
