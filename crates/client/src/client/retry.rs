//! What is tried again, and when.

use std::time::Duration;

use latimer_protocol::{Call, Dialect, Operation};
use tokio::time::sleep;

use crate::error::Error;

/// What is tried again, and when.
///
/// - A call that only reads, or that may be carried out twice without harm, is tried again when the
///   connection fails or the agent says that it is not available.
/// - Any other call is tried again only when no connection came about, so that nothing was sent. A
///   message keeps its id.
/// - Where a server is known to recognise a message that it has seen
///   ([`idempotent_sends`](Self::idempotent_sends)), messages are tried again like reads.
///
/// Pauses double, and each is cut short by chance, so that those who failed together do not come back
/// together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often a call is tried in all.
    pub attempts: u32,
    /// The pause before the second try.
    pub first_pause: Duration,
    /// The longest pause, also if the agent asks for a longer one.
    pub longest_pause: Duration,
    /// Whether the server recognises a message that it has seen, by its id.
    pub idempotent_sends: bool,
}

impl Default for Retry {
    /// Three times, half a second apart.
    fn default() -> Self {
        Self {
            attempts: 3,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(5),
            idempotent_sends: false,
        }
    }
}

/// When a call may be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Safety {
    /// Whenever that may help.
    Always,
    /// When nothing was sent.
    Unsent,
}

impl Retry {
    pub(super) fn safety(&self, call: &Call, dialect: Dialect) -> Safety {
        match call.request.operation() {
            Operation::GetTask
            | Operation::ListTasks
            | Operation::SubscribeToTask
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::DeleteTaskPushNotificationConfig
            | Operation::GetExtendedAgentCard
            | Operation::GetAgentCard => Safety::Always,
            Operation::SendMessage | Operation::SendStreamingMessage
                if self.idempotent_sends && dialect.has_message_ids() =>
            {
                Safety::Always
            }
            Operation::SendMessage
            | Operation::SendStreamingMessage
            | Operation::CancelTask
            | Operation::CreateTaskPushNotificationConfig => Safety::Unsent,
        }
    }

    pub(super) async fn run<T, F>(
        &self,
        safety: Safety,
        mut call: impl FnMut() -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut attempt = 1;
        loop {
            let error = match call().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let again = match safety {
                Safety::Always => error.is_passing(),
                Safety::Unsent => error.is_unsent(),
            };
            if !again || attempt >= self.attempts {
                return Err(error);
            }
            tracing::debug!(attempt, %error, "trying again");
            sleep(self.pause(attempt, &error)).await;
            attempt += 1;
        }
    }

    /// How long to wait behind a try that failed.
    pub(super) fn pause(&self, attempt: u32, error: &Error) -> Duration {
        let asked = error.retry_after();
        let doubled = self.first_pause.saturating_mul(1 << attempt.saturating_sub(1).min(16));
        let own = doubled.min(self.longest_pause).mul_f64(0.5 + chance() / 2.0);
        asked.map_or(own, |asked| asked.min(self.longest_pause).max(own))
    }
}

/// A number from 0 to 1.
fn chance() -> f64 {
    let bytes = uuid::Uuid::now_v7().into_bytes();
    f64::from(u16::from_be_bytes([bytes[14], bytes[15]])) / f64::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(seconds: u64) -> Error {
        let error = latimer_protocol::Error::from(latimer_protocol::ErrorKind::RateLimited);
        error.with_retry_after(Duration::from_secs(seconds)).into()
    }

    #[test]
    fn pauses_double_and_have_an_end() {
        let retry = Retry::default();
        let error = Error::Cut { origin: "o".into() };
        for (attempt, least, most) in
            [(1, 250, 500), (2, 500, 1000), (4, 2000, 4000), (40, 2500, 5000)]
        {
            let pause = retry.pause(attempt, &error).as_millis();
            assert!((least..=most).contains(&pause), "{attempt}: {pause}");
        }
        assert_eq!(retry.pause(1, &refused(3)), Duration::from_secs(3));
        assert_eq!(retry.pause(1, &refused(3600)), Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_sent_is_not_sent_again() {
        for (safety, lost, want) in
            [(Safety::Always, true, 3), (Safety::Unsent, true, 1), (Safety::Unsent, false, 3)]
        {
            let mut tries = 0;
            let failed: Result<(), Error> = Retry::default()
                .run(safety, || {
                    tries += 1;
                    let origin = String::new();
                    let source =
                        latimer_outbound::RequestError::Broken { source: "it broke".into() };
                    std::future::ready(Err(match lost {
                        true => Error::Lost { origin, source },
                        false => Error::Unreachable { origin, source },
                    }))
                })
                .await;
            assert!(failed.is_err());
            assert_eq!(tries, want, "{safety:?}");
        }
    }
}
