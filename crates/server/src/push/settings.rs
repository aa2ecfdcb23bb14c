//! How webhooks are delivered.

use std::time::Duration;

use http::HeaderValue;
use latimer_outbound::AllowRule;

/// How webhooks are delivered. Plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushSettings {
    /// Whether there are webhooks at all.
    pub enabled: bool,
    /// Whether they may lead to this machine. When nothing is said, they may as long as the server
    /// can only be reached from it too.
    pub allow_loopback: Option<bool>,
    /// Where else they may lead, beside HTTPS on the public internet.
    pub allow: Vec<AllowRule>,
    /// How many webhooks a task may have.
    pub max_per_task: usize,
    /// How many webhooks with something to do a caller may have.
    pub max_per_caller: usize,
    /// How long a receiver may take to answer.
    pub timeout: Duration,
    /// How often a delivery is tried before it is given up.
    pub max_attempts: u32,
    /// For how long a receiver may fail before deliveries are given up at their first failure.
    pub give_up_after: Duration,
    /// How long to wait after the first failure; each further one doubles it.
    pub initial_backoff: Duration,
    /// The longest wait between two attempts.
    pub max_backoff: Duration,
    /// What webhooks are sent that were registered in 0.3.
    pub v0_3_body: V0_3Body,
    /// What we call ourselves, if not what everybody does.
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

/// What webhooks are sent that were registered in 0.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum V0_3Body {
    /// The task, as the official SDKs have it.
    #[default]
    Task,
    /// The event in the envelope of JSON-RPC, as a stream has it.
    Envelope,
}
