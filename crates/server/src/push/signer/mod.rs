//! Signatures of webhook deliveries.

use std::sync::OnceLock;
use std::time::SystemTime;

use http::Uri;
use http::uri::Authority;
use latimer_protocol::TaskPushNotificationConfig;

use super::WebhookDispatcher;
use crate::signing::{DeliveryClaims, Keyring};

/// Signs deliveries once it has a keyring.
#[derive(Debug, Default)]
pub(super) struct Signer(OnceLock<SignerState>);

#[derive(Debug)]
struct SignerState {
    keyring: Keyring,
    issuer: String,
}

impl WebhookDispatcher {
    /// Signs deliveries with a keyring; `issuer` becomes the claim `iss`. Only the first call has an effect.
    #[must_use]
    pub fn with_signer(self, keyring: Keyring, issuer: impl Into<String>) -> Self {
        self.0.signer.0.get_or_init(|| SignerState { keyring, issuer: issuer.into() });
        self
    }
}

impl Signer {
    /// Returns the token that authenticates a delivery; `None` without a keyring.
    ///
    /// # Errors
    /// Fails if the URL of the webhook is invalid or the key cannot sign.
    pub(super) fn sign(
        &self,
        config: &TaskPushNotificationConfig,
        id: &str,
        body: &[u8],
    ) -> Result<Option<String>, &'static str> {
        let Some(SignerState { keyring, issuer }) = self.0.get() else { return Ok(None) };
        let target: Uri = config.url.parse().map_err(|_| "the webhook URL is invalid")?;
        let (scheme, authority) = (target.scheme_str(), target.authority());
        let audience = format!(
            "{}://{}",
            scheme.unwrap_or_default(),
            authority.map(Authority::as_str).unwrap_or_default()
        );
        let token = keyring.delivery_token(&DeliveryClaims {
            issuer,
            audience: &audience,
            id,
            issued_at: SystemTime::now(),
            body,
        });
        token.map(Some).map_err(|_| "signing the delivery failed")
    }
}
