//! Repetition of failed calls.

use std::time::Duration;

use latimer_outbound::Backoff;
use latimer_protocol::{Call, Dialect, Operation};
use tokio::time::sleep;

use crate::error::Error;

/// Policy for repeating failed calls.
///
/// - Calls that only read, and calls that are safe to repeat, are repeated after transient errors.
/// - All other calls are repeated only if nothing was sent. A message keeps its id.
/// - If the server is known to recognize repeated messages
///   ([`idempotent_sends`](Self::idempotent_sends)), messages are repeated like reads.
///
/// Backoffs double up to a maximum, with jitter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of attempts, the first one included.
    pub max_attempts: u32,
    /// Backoff before the second attempt.
    pub initial_backoff: Duration,
    /// Maximum backoff, which also bounds the delay that an agent asks for.
    pub max_backoff: Duration,
    /// Whether the server recognizes a repeated message by its id.
    pub idempotent_sends: bool,
}

impl Default for RetryPolicy {
    /// Three attempts, with a backoff that starts at half a second and is at most five seconds.
    fn default() -> Self {
        Self {
            max_attempts: 3,
            initial_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(5),
            idempotent_sends: false,
        }
    }
}

/// Condition under which a call may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetrySafety {
    /// After every transient error.
    Idempotent,
    /// If nothing was sent.
    OnlyIfUnsent,
}

impl RetryPolicy {
    pub(super) fn safety(&self, call: &Call, dialect: Dialect) -> RetrySafety {
        match call.request.operation() {
            Operation::GetTask
            | Operation::ListTasks
            | Operation::SubscribeToTask
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
            | Operation::GetExtendedAgentCard
            | Operation::GetAgentCard => RetrySafety::Idempotent,
            Operation::SendMessage | Operation::SendStreamingMessage
                if self.idempotent_sends && dialect.has_message_ids() =>
            {
                RetrySafety::Idempotent
            }
            Operation::SendMessage
            | Operation::SendStreamingMessage
            | Operation::CancelTask
            | Operation::CreateTaskPushNotificationConfig => RetrySafety::OnlyIfUnsent,
        }
    }

    pub(super) async fn run<T, F>(
        &self,
        safety: RetrySafety,
        mut call: impl FnMut() -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut attempt = 1;
        loop {
            let error = match call().await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let is_retryable = match safety {
                RetrySafety::Idempotent => error.is_transient(),
                RetrySafety::OnlyIfUnsent => error.is_unsent(),
            };
            if !is_retryable || attempt >= self.max_attempts {
                return Err(error);
            }
            tracing::debug!(attempt, %error, "call failed, retrying");
            sleep(self.backoff(attempt, &error)).await;
            attempt += 1;
        }
    }

    /// Returns the time to wait after a failed attempt.
    pub(super) fn backoff(&self, attempt: u32, error: &Error) -> Duration {
        let requested = error.retry_after();
        let backoff = Backoff { initial: self.initial_backoff, max: self.max_backoff };
        let jittered = backoff.jittered_delay(attempt);
        requested.map_or(jittered, |requested| requested.min(self.max_backoff).max(jittered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate_limited(seconds: u64) -> Error {
        let error = latimer_protocol::Error::from(latimer_protocol::ErrorKind::RateLimited);
        error.with_retry_after(Duration::from_secs(seconds)).into()
    }

    #[test]
    fn backoff_doubles_up_to_maximum() {
        let policy = RetryPolicy::default();
        let error = Error::StreamInterrupted { origin: "o".into() };
        for (attempt, min, max) in
            [(1, 250, 500), (2, 500, 1000), (4, 2000, 4000), (40, 2500, 5000)]
        {
            let backoff = policy.backoff(attempt, &error).as_millis();
            assert!((min..=max).contains(&backoff), "{attempt}: {backoff}");
        }
        assert_eq!(policy.backoff(1, &rate_limited(3)), Duration::from_secs(3));
        assert_eq!(policy.backoff(1, &rate_limited(3600)), Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn call_that_may_have_been_sent_is_not_repeated() {
        for (safety, is_lost, want) in [
            (RetrySafety::Idempotent, true, 3),
            (RetrySafety::OnlyIfUnsent, true, 1),
            (RetrySafety::OnlyIfUnsent, false, 3),
        ] {
            let mut attempts = 0;
            let result: Result<(), Error> = RetryPolicy::default()
                .run(safety, || {
                    attempts += 1;
                    let origin = String::new();
                    let source =
                        latimer_outbound::RequestError::Broken { source: "it broke".into() };
                    std::future::ready(Err(match is_lost {
                        true => Error::ConnectionLost { origin, source },
                        false => Error::Unreachable { origin, source },
                    }))
                })
                .await;
            assert!(result.is_err());
            assert_eq!(attempts, want, "{safety:?}");
        }
    }
}
