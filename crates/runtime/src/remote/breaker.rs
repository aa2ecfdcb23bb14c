//! Circuit breaker for calls to an upstream agent.

use std::time::Duration;

use latimer_outbound::Backoff;
use tokio::time::Instant;

/// Number of consecutive failures that open the circuit.
const FAILURE_THRESHOLD: u32 = 5;

/// Time for which the circuit stays open. Each failure after the first opening doubles it.
const OPEN_INTERVAL: Backoff =
    Backoff { initial: Duration::from_secs(1), max: Duration::from_secs(60) };

/// Counts consecutive failures and decides when the next call may be made. Reads no clock: the time
/// is an argument.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker {
    failures: u32,
    open_until: Option<Instant>,
}

impl CircuitBreaker {
    /// Returns `Ok` if a call may be made now, otherwise the time to wait. After the open interval
    /// one call is admitted as a probe; others are rejected until it succeeds or the next interval
    /// has passed.
    pub(super) fn try_acquire(&mut self, now: Instant) -> Result<(), Duration> {
        match self.open_until {
            None => Ok(()),
            Some(until) if now < until => Err(until - now),
            Some(_) => {
                self.open_until = Some(now + self.open_interval());
                Ok(())
            }
        }
    }

    /// Returns the time for which no call may be made.
    pub(super) fn open_for(&self, now: Instant) -> Option<Duration> {
        self.open_until.filter(|until| now < *until).map(|until| until - now)
    }

    /// Closes the circuit after a successful call.
    pub(super) fn record_success(&mut self) {
        *self = Self::default();
    }

    /// Counts a failed call, and opens the circuit at the threshold.
    pub(super) fn record_failure(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= FAILURE_THRESHOLD {
            self.open_until = Some(now + self.open_interval());
        }
    }

    /// Returns whether the circuit is open.
    pub(super) fn is_open(&self) -> bool {
        self.open_until.is_some()
    }

    fn open_interval(&self) -> Duration {
        OPEN_INTERVAL.delay(self.failures.saturating_sub(FAILURE_THRESHOLD) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn breaker_opens_after_consecutive_failures() {
        let mut breaker = CircuitBreaker::default();
        let start = Instant::now();
        for _ in 0..FAILURE_THRESHOLD - 1 {
            breaker.record_failure(start);
        }
        assert_eq!(breaker.try_acquire(start), Ok(()));
        breaker.record_failure(start);
        assert_eq!(breaker.try_acquire(start), Err(SECOND));
        assert!(breaker.is_open());
        // One probe is admitted, other calls are rejected.
        assert_eq!(breaker.try_acquire(start + SECOND), Ok(()));
        assert_eq!(breaker.try_acquire(start + SECOND), Err(SECOND));
        breaker.record_failure(start + SECOND);
        assert_eq!(breaker.try_acquire(start + SECOND), Err(2 * SECOND));
        assert_eq!(breaker.try_acquire(start + 3 * SECOND), Ok(()));
        breaker.record_success();
        assert!(!breaker.is_open());
        assert_eq!(breaker.try_acquire(start + 3 * SECOND), Ok(()));
    }

    #[test]
    fn success_resets_failures_and_open_interval_is_capped() {
        let mut breaker = CircuitBreaker::default();
        let now = Instant::now();
        for _ in 0..10 * FAILURE_THRESHOLD {
            breaker.record_failure(now);
            breaker.record_success();
        }
        assert_eq!(breaker.try_acquire(now), Ok(()));
        for _ in 0..100 {
            breaker.record_failure(now);
        }
        assert_eq!(breaker.try_acquire(now), Err(OPEN_INTERVAL.max));
    }
}
