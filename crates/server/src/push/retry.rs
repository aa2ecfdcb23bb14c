//! Retry schedule and retry budget.

use std::time::Duration;

use latimer_outbound::Backoff;
use latimer_protocol::Timestamp;
use latimer_store::DeliveryProgress;

use super::PushSettings;

/// Decision after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryDecision {
    /// Retry at this time.
    RetryAt(Timestamp),
    /// Abandon the delivery.
    GiveUp,
}

impl PushSettings {
    /// Decides what to do after the `attempts`-th failed attempt to deliver an event. The backoff
    /// doubles with each attempt and is randomized, so that deliveries that failed together are not
    /// retried together. `retry_after` is the pause that the receiver requested; `max_backoff` limits it.
    pub(super) fn next_retry(
        &self,
        attempts: u32,
        failing_since: Timestamp,
        now: Timestamp,
        retry_after: Option<Duration>,
    ) -> RetryDecision {
        let age = now.as_millis().saturating_sub(failing_since.as_millis());
        let give_up_after = i64::try_from(self.give_up_after.as_millis()).unwrap_or(i64::MAX);
        if attempts >= self.max_attempts || age >= give_up_after {
            return RetryDecision::GiveUp;
        }
        let backoff = Backoff { initial: self.initial_backoff, max: self.max_backoff };
        let backoff = backoff
            .jittered_delay(attempts)
            .max(retry_after.unwrap_or_default().min(self.max_backoff));
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
        let backoff = |attempts| match settings.next_retry(attempts, time_at(0), time_at(0), None) {
            RetryDecision::RetryAt(due) => due.as_millis() - time_at(0).as_millis(),
            RetryDecision::GiveUp => panic!("the budget is not spent"),
        };
        for (attempts, max) in [(1, 1000), (2, 2000), (3, 4000), (4, 8000), (5, 8000), (6, 8000)] {
            let backoffs: Vec<_> = (0..100).map(|_| backoff(attempts)).collect();
            assert!(backoffs.iter().all(|it| (max / 2..=max).contains(it)), "{backoffs:?}");
            assert!(backoffs.iter().any(|it| *it != backoffs[0]), "without jitter: {backoffs:?}");
        }
    }

    #[test]
    fn retry_after_is_honored_up_to_max_backoff() {
        let settings =
            PushSettings { max_backoff: Duration::from_secs(60), ..PushSettings::default() };
        for (retry_after, want) in [(30, 30_000), (3_600, 60_000)] {
            let retry_after = Some(Duration::from_secs(retry_after));
            let decision = settings.next_retry(1, time_at(0), time_at(0), retry_after);
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
        let decide = |attempts, age| settings.next_retry(attempts, time_at(0), time_at(age), None);
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
