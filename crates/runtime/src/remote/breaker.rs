//! Leaves an agent alone that does not answer, for a while.

use std::time::Duration;

use tokio::time::Instant;

/// How many calls in a row have to fail.
const PATIENCE: u32 = 5;

/// How long an agent is left alone at first. Each failure after that doubles it.
const FIRST: Duration = Duration::from_secs(1);

/// How long at most.
const LONGEST: Duration = Duration::from_secs(60);

/// Counts calls that fail, and says when the next one may be made. Pure: the time is an argument.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    closed_until: Option<Instant>,
}

impl Breaker {
    /// Whether a call may be made now, or how long to wait. Whoever comes first after a pause tries
    /// it for all others, who wait for another pause.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        match self.closed_until {
            None => Ok(()),
            Some(until) if now < until => Err(until - now),
            Some(_) => {
                self.closed_until = Some(now + self.pause());
                Ok(())
            }
        }
    }

    /// A call was answered.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// A call was not.
    pub(super) fn failed(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= PATIENCE {
            self.closed_until = Some(now + self.pause());
        }
    }

    /// Whether calls are held back.
    pub(super) fn is_open(&self) -> bool {
        self.closed_until.is_some()
    }

    fn pause(&self) -> Duration {
        let doublings = self.failures.saturating_sub(PATIENCE).min(16);
        FIRST.saturating_mul(1 << doublings).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn calls_are_held_back_after_a_row_of_failures() {
        let mut breaker = Breaker::default();
        let begin = Instant::now();
        for _ in 0..PATIENCE - 1 {
            breaker.failed(begin);
        }
        assert_eq!(breaker.admit(begin), Ok(()));
        breaker.failed(begin);
        assert_eq!(breaker.admit(begin), Err(SECOND));
        assert!(breaker.is_open());
        // One tries it, the others wait.
        assert_eq!(breaker.admit(begin + SECOND), Ok(()));
        assert_eq!(breaker.admit(begin + SECOND), Err(SECOND));
        breaker.failed(begin + SECOND);
        assert_eq!(breaker.admit(begin + SECOND), Err(2 * SECOND));
        assert_eq!(breaker.admit(begin + 3 * SECOND), Ok(()));
        breaker.answered();
        assert!(!breaker.is_open());
        assert_eq!(breaker.admit(begin + 3 * SECOND), Ok(()));
    }

    #[test]
    fn failures_that_are_not_in_a_row_do_no_harm_and_pauses_have_an_end() {
        let mut breaker = Breaker::default();
        let now = Instant::now();
        for _ in 0..10 * PATIENCE {
            breaker.failed(now);
            breaker.answered();
        }
        assert_eq!(breaker.admit(now), Ok(()));
        for _ in 0..100 {
            breaker.failed(now);
        }
        assert_eq!(breaker.admit(now), Err(LONGEST));
    }
}
