//! Settings of webhook deliveries.

use std::time::Duration;

use http::HeaderValue;
use latimer_outbound::AllowRule;

/// Settings of webhook deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushSettings {
    /// Whether clients can register webhooks.
    pub enabled: bool,
    /// Whether webhook URLs may have loopback addresses. `None` allows them if only local clients can
    /// reach the server.
    pub allow_loopback: Option<bool>,
    /// Rules for receivers that are allowed in addition to HTTPS URLs with public addresses.
    pub allow: Vec<AllowRule>,
    /// Maximum number of webhooks of one task.
    pub max_per_task: usize,
    /// Maximum number of active webhooks of one caller.
    pub max_per_caller: usize,
    /// Timeout of one attempt, including the connection.
    pub timeout: Duration,
    /// Number of attempts before a delivery is abandoned.
    pub max_attempts: u32,
    /// Maximum time for which a receiver may fail. Afterwards each delivery is abandoned at its first
    /// failure, until one succeeds.
    pub give_up_after: Duration,
    /// Backoff after the first failure. Each further failure doubles it.
    pub initial_backoff: Duration,
    /// Maximum backoff between two attempts.
    pub max_backoff: Duration,
    /// Body of deliveries to webhooks that were registered with version 0.3.
    pub v0_3_body: V0_3Body,
    /// `User-Agent` of deliveries. `None` sends the default.
    pub user_agent: Option<HeaderValue>,
}

impl Default for PushSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            allow_loopback: None,
            allow: Vec::new(),
            max_per_task: 10,
            max_per_caller: 10_000,
            timeout: Duration::from_secs(15),
            max_attempts: 12,
            give_up_after: Duration::from_secs(24 * 60 * 60),
            initial_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(10 * 60),
            v0_3_body: V0_3Body::Task,
            user_agent: None,
        }
    }
}

/// Body of deliveries to webhooks that were registered with version 0.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum V0_3Body {
    /// The whole task, as the official SDKs send it.
    #[default]
    Task,
    /// The event in a JSON-RPC envelope, as streams send it.
    Envelope,
}
