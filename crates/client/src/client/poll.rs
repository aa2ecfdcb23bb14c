//! Waiting for a task by looking at it again and again.

use std::sync::Arc;
use std::time::Duration;

use latimer_protocol::{Phase, Task, TaskId};
use tokio::time::sleep;

use super::Client;
use crate::error::Error;

/// How often a task is looked at where nobody tells what happens to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollPolicy {
    /// The time between two looks.
    pub interval: Duration,
    /// How often [`Client::poll_until_settled`] looks at most.
    pub max_polls: u32,
}

impl Default for PollPolicy {
    /// Every second, sixty times.
    fn default() -> Self {
        Self { interval: Duration::from_secs(1), max_polls: 60 }
    }
}

impl Client {
    /// Waits until a task is over or asks for something, by looking at it again and again.
    ///
    /// # Errors
    /// [`Error::PollLimitReached`] when it takes longer than the client was set up for; whatever a look
    /// fails with, unless it may pass.
    pub async fn poll_until_settled(&self, id: TaskId) -> Result<Arc<Task>, Error> {
        let policy = self.0.polling;
        for poll in 1..=policy.max_polls {
            match self.get_task(id.clone()).await {
                Ok(task) if task.status.state.phase() != Phase::Active => return Ok(task),
                Ok(_) => {}
                Err(error) if error.is_transient() && poll < policy.max_polls => {
                    tracing::debug!(%error, "a look at a task failed");
                }
                Err(error) => return Err(error),
            }
            if poll < policy.max_polls {
                sleep(policy.interval).await;
            }
        }
        Err(Error::PollLimitReached { task: id, polls: policy.max_polls })
    }
}
