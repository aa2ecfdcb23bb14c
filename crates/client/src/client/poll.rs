//! Polling of tasks.

use std::sync::Arc;
use std::time::Duration;

use latimer_protocol::{Phase, Task, TaskId};
use tokio::time::sleep;

use super::Client;
use crate::error::Error;

/// Interval and maximum number of polls, for agents that cannot stream and streams that end early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollPolicy {
    /// Time between two polls.
    pub interval: Duration,
    /// Maximum number of polls by [`Client::poll_until_settled`].
    pub max_polls: u32,
}

impl Default for PollPolicy {
    /// One poll per second, 60 polls.
    fn default() -> Self {
        Self { interval: Duration::from_secs(1), max_polls: 60 }
    }
}

impl Client {
    /// Polls a task until it is settled.
    ///
    /// # Errors
    /// [`Error::PollLimitReached`] after the last poll of the [`PollPolicy`]; a permanent error of
    /// a poll, or the transient one of the last.
    pub async fn poll_until_settled(&self, id: TaskId) -> Result<Arc<Task>, Error> {
        let policy = self.0.polling;
        for poll in 1..=policy.max_polls {
            match self.get_task(id.clone()).await {
                Ok(task) if task.status.state.phase() != Phase::Active => return Ok(task),
                Ok(_) => {}
                Err(error) if error.is_transient() && poll < policy.max_polls => {
                    tracing::debug!(%error, "poll failed");
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
