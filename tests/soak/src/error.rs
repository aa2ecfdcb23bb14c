//! Scenario errors, and their attribution to server stops.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::context::{ServerStatus, SoakContext};

/// Maximum time to wait for a response or for the next event of a stream.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Reason why a scenario ended early.
#[derive(Debug)]
pub enum ScenarioError {
    /// The soak test stopped the server while the scenario ran.
    ServerRestarted,
    /// The server behaved unexpectedly.
    Violation(String),
}

impl From<String> for ScenarioError {
    fn from(message: String) -> Self {
        Self::Violation(message)
    }
}

/// Result of a scenario or of one of its steps.
pub type ScenarioResult<T = ()> = Result<T, ScenarioError>;

/// Server process during which a scenario started. Distinguishes failures that a server stop
/// explains from violations.
#[derive(Clone, Debug)]
pub(super) struct ServerEpoch {
    context: Arc<SoakContext>,
    generation: u32,
}

impl ServerEpoch {
    /// Creates an epoch that belongs to no server process yet.
    pub(super) fn new(context: &Arc<SoakContext>) -> Self {
        Self { context: context.clone(), generation: 0 }
    }

    /// Waits until the server is ready. Returns whether it is another process than before.
    pub(super) async fn wait_until_up(&mut self) -> bool {
        let previous = std::mem::replace(&mut self.generation, self.context.wait_until_up().await);
        previous != self.generation
    }

    /// Returns a violation with `message`, or [`ScenarioError::ServerRestarted`] if the server was
    /// stopped since the epoch began.
    pub(super) fn classify(&self, message: String) -> ScenarioError {
        match self.context.server_status()
            == (ServerStatus { generation: self.generation, up: true })
        {
            true => ScenarioError::Violation(message),
            false => ScenarioError::ServerRestarted,
        }
    }

    /// Awaits `operation` for at most [`RESPONSE_TIMEOUT`], and classifies its failure.
    pub(super) async fn with_timeout<T>(
        &self,
        operation: impl Future<Output = std::io::Result<T>>,
    ) -> ScenarioResult<T> {
        let start = Instant::now();
        match timeout(RESPONSE_TIMEOUT, operation).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                let elapsed = start.elapsed();
                Err(self.classify(format!("the connection broke after {elapsed:?}: {error}")))
            }
            Err(_) => Err(self.classify(format!("no response within {RESPONSE_TIMEOUT:?}"))),
        }
    }
}
