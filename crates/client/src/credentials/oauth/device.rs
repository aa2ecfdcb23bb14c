//! Login on another device (RFC 8628).

use std::time::Duration;

use latimer_protocol::Secret;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::server::{AuthorizationServer, TokenError};
use super::tokens::TokenSource;
use crate::error::Error;

/// Name of the grant.
pub(super) const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Minimum and maximum backoff after requests that the server does not answer.
const MIN_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(60);
/// Increase of the interval for each `slow_down` response (section 3.5).
const SLOW_DOWN_STEP: Duration = Duration::from_secs(5);

/// Login on another device.
#[derive(Clone, Debug)]
pub struct DeviceFlow {
    server: AuthorizationServer,
    device_url: String,
}

/// Instructions to show to the user.
#[derive(Clone, Debug, Deserialize)]
pub struct DevicePrompt {
    /// Page to open.
    #[serde(alias = "verification_url")]
    pub verification_uri: String,
    /// Page that includes the code, for a QR code.
    pub verification_uri_complete: Option<String>,
    /// Code to enter on the page.
    pub user_code: String,
    device_code: Secret,
    #[serde(default = "default_expires_in")]
    expires_in: u64,
    #[serde(default = "default_interval")]
    interval: u64,
}

fn default_expires_in() -> u64 {
    1800
}

fn default_interval() -> u64 {
    5
}

impl DeviceFlow {
    /// Creates a flow for the device authorization endpoint of a server.
    #[must_use]
    pub fn new(server: AuthorizationServer, device_url: impl Into<String>) -> Self {
        Self { server, device_url: device_url.into() }
    }

    /// Requests a code.
    ///
    /// # Errors
    /// [`Error::NoCredentials`] if the server denies it or does not answer.
    pub async fn start(&self) -> Result<DevicePrompt, Error> {
        let scope = self.server.client().scopes.join(" ");
        // Section 3.1 requires the client id in the form, even if a header has it.
        let mut form = vec![("client_id", self.server.client().client_id.as_str())];
        form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        let prompt = self.server.post_form(&self.device_url, &form).await;
        prompt.map_err(|error| error.into_client_error(&self.device_url))
    }

    /// Waits until the user has entered the code. Increases the interval while the server does not
    /// answer, until the code expires.
    ///
    /// # Errors
    /// [`Error::NoCredentials`] if the user denies the login, or the code expires.
    pub async fn finish(&self, prompt: &DevicePrompt) -> Result<TokenSource, Error> {
        let deadline =
            Instant::now() + Duration::from_secs(prompt.expires_in.min(default_expires_in()));
        let mut interval = Duration::from_secs(prompt.interval);
        let form = [("grant_type", GRANT_TYPE), ("device_code", prompt.device_code.reveal())];
        loop {
            sleep(interval.min(deadline - Instant::now())).await;
            let error = match self.server.request_token(&form).await {
                Ok(token) => return Ok(TokenSource::from_login(self.server.clone(), token)),
                Err(error) => error,
            };
            interval = match &error {
                TokenError::Transient(_) => next_backoff(interval),
                TokenError::Denied { code, .. } if code == "slow_down" => {
                    interval.saturating_add(SLOW_DOWN_STEP)
                }
                TokenError::Denied { code, .. } if code == "authorization_pending" => interval,
                TokenError::Denied { .. } | TokenError::LoginExpired | TokenError::Other(_) => {
                    return Err(self.server.token_request_error(error));
                }
            };
            if Instant::now() >= deadline {
                return Err(match error {
                    TokenError::Transient(_) => self.server.token_request_error(error),
                    _ => Error::NoCredentials("the login was not finished in time".into()),
                });
            }
        }
    }
}

/// Doubles the interval after a request that the server did not answer (section 3.5).
///
/// [`Backoff`](latimer_outbound::Backoff) computes a delay from the number of the attempt. Here
/// `slow_down` responses add five seconds in between, so the next delay follows from the last one.
fn next_backoff(interval: Duration) -> Duration {
    let doubled = interval.saturating_mul(2).clamp(MIN_BACKOFF, MAX_BACKOFF);
    interval.max(doubled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polling_interval_doubles_up_to_maximum() {
        for (interval, want) in [(0, 100), (100, 200), (5_000, 10_000), (40_000, 60_000)] {
            let interval = Duration::from_millis(interval);
            assert_eq!(next_backoff(interval), Duration::from_millis(want), "{interval:?}");
        }
        assert_eq!(
            next_backoff(Duration::MAX),
            Duration::MAX,
            "not more often than the interval of the server"
        );
    }
}
