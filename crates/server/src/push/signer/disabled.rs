//! Stand-in for the signer of webhook deliveries without the feature `signing`: deliveries are not
//! signed.

use latimer_protocol::TaskPushNotificationConfig;

use super::WebhookDispatcher;
use crate::signing::Keyring;

/// Signer that adds no signature.
#[derive(Debug, Default)]
pub(super) struct Signer {}

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
