//! Webhook deliveries without the feature `signing`: none is signed.

use latimer_protocol::TaskPushNotificationConfig;

use super::WebhookDispatcher;
use crate::signing::Keyring;

/// Signs nothing.
#[derive(Debug, Default)]
pub(super) struct Signer;

impl WebhookDispatcher {
    pub(crate) fn with_signer(self, _: Keyring, _: impl Into<String>) -> Self {
        self
    }
}

impl Signer {
    pub(super) fn sign(
        &self,
        _: &TaskPushNotificationConfig,
        _: &str,
        _: &[u8],
    ) -> Result<Option<String>, &'static str> {
        Ok(None)
    }
}
