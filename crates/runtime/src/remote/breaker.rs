//! Leaves an agent alone that does not answer, for a while.

use std::time::Duration;

use tokio::time::Instant;

/// How many calls in a row have to fail.
const FAILURE_THRESHOLD: u32 = 5;

/// How long an agent is left alone at first. Each failure after that doubles it.
const INITIAL_OPEN_INTERVAL: Duration = Duration::from_secs(1);

/// How long at most.
const MAX_OPEN_INTERVAL: Duration = Duration::from_secs(60);

/// Counts calls that fail, and says when the next one may be made. Pure: the time is an argument.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker {
    failures: u32,
    open_until: Option<Instant>,
}

impl CircuitBreaker {
    /// Whether a call may be made now, or how long to wait. Whoever comes first after a pause tries
    /// it for all others, who wait for another pause.
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

    /// A call was answered.
    pub(super) fn record_success(&mut self) {
        *self = Self::default();
    }

    /// A call was not.
    pub(super) fn record_failure(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= FAILURE_THRESHOLD {
            self.open_until = Some(now + self.open_interval());
        }
    }

    /// Whether calls are held back.
    pub(super) fn is_open(&self) -> bool {
        self.open_until.is_some()
    }

    fn open_interval(&self) -> Duration {
        let doublings = self.failures.saturating_sub(FAILURE_THRESHOLD).min(16);
        INITIAL_OPEN_INTERVAL.saturating_mul(1 << doublings).min(MAX_OPEN_INTERVAL)
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
        // One tries it, the others wait.
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
        assert_eq!(breaker.try_acquire(now), Err(MAX_OPEN_INTERVAL));
    }
}
