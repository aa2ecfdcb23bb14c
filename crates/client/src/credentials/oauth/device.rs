//! Logging in on another device: RFC 8628.

use std::time::Duration;

use latimer_protocol::Secret;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::server::AuthorizationServer;
use super::tokens::Tokens;
use crate::error::Error;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// §3.5: what to wait longer for each time the server says so.
const SLOWER: Duration = Duration::from_secs(5);

/// Lets somebody log in on another device.
#[derive(Clone, Debug)]
pub struct DeviceFlow {
    server: AuthorizationServer,
    device_url: String,
}

/// What to show to whoever is to log in.
#[derive(Clone, Debug, Deserialize)]
pub struct Prompt {
    /// The page to open.
    #[serde(alias = "verification_url")]
    pub verification_uri: String,
    /// The page with the code in it, for a picture to scan.
    pub verification_uri_complete: Option<String>,
    /// The code to type in there.
    pub user_code: String,
    device_code: Secret,
    #[serde(default = "usual_time")]
    expires_in: u64,
    #[serde(default = "usual_interval")]
    interval: u64,
}

fn usual_time() -> u64 {
    1800
}

fn usual_interval() -> u64 {
    5
}

impl DeviceFlow {
    /// Asks for codes at this address of an authorization server.
    #[must_use]
    pub fn new(server: AuthorizationServer, device_url: impl Into<String>) -> Self {
        Self { server, device_url: device_url.into() }
    }

    /// Asks for a code.
    ///
    /// # Errors
    /// [`Error::Credentials`] when there is none.
    pub async fn start(&self) -> Result<Prompt, Error> {
        let scope = self.server.client().scopes.join(" ");
        let id = &*self.server.client().id;
        let mut form = Vec::new();
        // Who has a secret shows it in a header, and this form wants the name all the same.
        form.extend(self.server.client().secret.is_some().then_some(("client_id", id)));
        form.extend((!scope.is_empty()).then_some(("scope", scope.as_str())));
        Ok(self.server.post(&self.device_url, &form).await?)
    }

    /// Waits until somebody has logged in with the code.
    ///
    /// # Errors
    /// [`Error::Credentials`] when they decline, or the code expires.
    pub async fn finish(&self, prompt: &Prompt) -> Result<Tokens, Error> {
        let until = Instant::now() + Duration::from_secs(prompt.expires_in.min(usual_time()));
        let mut interval = Duration::from_secs(prompt.interval);
        let form = [("grant_type", GRANT), ("device_code", prompt.device_code.reveal())];
        loop {
            sleep(interval).await;
            let refusal = match self.server.token(&form).await {
                Ok(token) => return Ok(Tokens::of_login(self.server.clone(), token)),
                Err(refusal) => refusal,
            };
            match refusal.code.as_str() {
                "slow_down" => interval += SLOWER,
                "authorization_pending" => {}
                _ => return Err(refusal.into()),
            }
            if Instant::now() >= until {
                return Err(Error::Credentials("nobody has logged in".into()));
            }
        }
    }
}
