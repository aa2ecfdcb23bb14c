//! Retry schedule and retry budget.

use std::time::Duration;

use latimer_protocol::Timestamp;
use latimer_store::DeliveryProgress;

use super::PushSettings;

/// What to do after a failed delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryDecision {
    /// Retry at this time.
    RetryAt(Timestamp),
    /// Abandon the delivery.
    GiveUp,
}

impl PushSettings {
    /// Decides what to do after the `attempts`-th failed attempt to deliver an event. The backoff
    /// doubles with each attempt; `jitter` from 0 to 1 selects a point in its second half.
    /// `retry_after` is the pause that the receiver requested; `max_backoff` limits it.
    pub(super) fn next_retry(
        &self,
        attempts: u32,
        failing_since: Timestamp,
        now: Timestamp,
        retry_after: Option<Duration>,
        jitter: f64,
    ) -> RetryDecision {
        let age = now.as_millis().saturating_sub(failing_since.as_millis());
        let give_up_after = i64::try_from(self.give_up_after.as_millis()).unwrap_or(i64::MAX);
        if attempts >= self.max_attempts || age >= give_up_after {
            return RetryDecision::GiveUp;
        }
        let factor = 2_u32.saturating_pow(attempts.saturating_sub(1));
        let backoff = self.initial_backoff.saturating_mul(factor).min(self.max_backoff);
        // Jitter separates the retries of deliveries that failed together.
        let backoff = backoff.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0));
        let backoff = backoff.max(retry_after.unwrap_or_default().min(self.max_backoff));
        let backoff = i64::try_from(backoff.as_millis()).unwrap_or(i64::MAX);
        let due = Timestamp::from_millis(now.as_millis().saturating_add(backoff));
        due.map_or(RetryDecision::GiveUp, RetryDecision::RetryAt)
    }
}

/// Returns the progress after an event was delivered or abandoned.
pub(super) fn advance(progress: DeliveryProgress, delivered: bool) -> DeliveryProgress {
    DeliveryProgress {
        cursor: progress.cursor.next(),
        attempts: 0,
        // After `give_up_after`, each event gets one attempt until a delivery succeeds.
        failing_since: progress.failing_since.filter(|_| !delivered),
        next_attempt_at: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_780_000_000_000 + millis).unwrap()
    }

    #[test]
    fn backoff_doubles_up_to_maximum_with_jitter() {
        let settings = PushSettings {
            initial_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(8),
            ..PushSettings::default()
        };
        let backoff = |attempts, jitter| match settings.next_retry(
            attempts,
            time_at(0),
            time_at(0),
            None,
            jitter,
        ) {
            RetryDecision::RetryAt(due) => due.as_millis() - time_at(0).as_millis(),
            RetryDecision::GiveUp => panic!("the budget is not spent"),
        };
        assert_eq!(
            [1, 2, 3, 4, 5, 6].map(|it| backoff(it, 1.0)),
            [1000, 2000, 4000, 8000, 8000, 8000]
        );
        assert_eq!([1, 4].map(|it| backoff(it, 0.0)), [500, 4000]);
    }

    #[test]
    fn retry_after_is_honored_up_to_max_backoff() {
        let settings =
            PushSettings { max_backoff: Duration::from_secs(60), ..PushSettings::default() };
        for (retry_after, want) in [(30, 30_000), (3_600, 60_000), (0, 1_000)] {
            let retry_after = Some(Duration::from_secs(retry_after));
            let decision = settings.next_retry(1, time_at(0), time_at(0), retry_after, 1.0);
            assert_eq!(decision, RetryDecision::RetryAt(time_at(want)));
        }
    }

    #[test]
    fn retries_end_at_attempt_or_age_limit() {
        let settings = PushSettings {
            max_attempts: 3,
            give_up_after: Duration::from_secs(60),
            ..PushSettings::default()
        };
        let decide =
            |attempts, age| settings.next_retry(attempts, time_at(0), time_at(age), None, 0.5);
        assert!(matches!(decide(2, 59_999), RetryDecision::RetryAt(_)));
        assert_eq!(decide(3, 0), RetryDecision::GiveUp);
        assert_eq!(decide(1, 60_000), RetryDecision::GiveUp);
    }

    #[test]
    fn failing_since_is_cleared_by_delivery_not_by_give_up() {
        let failing = DeliveryProgress {
            attempts: 3,
            failing_since: Some(time_at(1)),
            ..DeliveryProgress::default()
        };
        assert_eq!(advance(failing, true).failing_since, None);
        assert_eq!(advance(failing, false).failing_since, Some(time_at(1)));
        assert_eq!(
            (advance(failing, false).cursor.get(), advance(failing, false).attempts),
            (1, 0)
        );
    }
}
