//! What is wrong, and what is only what was to be expected.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::context::{ServerStatus, SoakContext};

/// How long anybody waits for an answer, or for the next event.
pub const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Why an errand ends early.
#[derive(Debug)]
pub enum ScenarioError {
    /// The server went away, as it was told to.
    ServerRestarted,
    /// Something that should not be.
    Violation(String),
}

impl From<String> for ScenarioError {
    fn from(message: String) -> Self {
        Self::Violation(message)
    }
}

/// What came of an errand, or of a part of it.
pub type ScenarioResult<T = ()> = Result<T, ScenarioError>;

/// When something began, so that its end can be judged.
#[derive(Clone, Debug)]
pub(super) struct ServerEpoch {
    context: Arc<SoakContext>,
    generation: u32,
}

impl ServerEpoch {
    /// Before anything began.
    pub(super) fn new(context: &Arc<SoakContext>) -> Self {
        Self { context: context.clone(), generation: 0 }
    }

    /// Waits until the server can be called; true when that is another one than before.
    pub(super) async fn wait_until_up(&mut self) -> bool {
        let previous = std::mem::replace(&mut self.generation, self.context.wait_until_up().await);
        previous != self.generation
    }

    /// What is wrong, unless the server went away meanwhile.
    pub(super) fn classify(&self, message: String) -> ScenarioError {
        match self.context.server_status()
            == (ServerStatus { generation: self.generation, up: true })
        {
            true => ScenarioError::Violation(message),
            false => ScenarioError::ServerRestarted,
        }
    }

    /// Waits for something, but not for ever.
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
            Err(_) => Err(self.classify(format!("nothing for {RESPONSE_TIMEOUT:?}"))),
        }
    }
}
