//! Delays between attempts.

use std::time::Duration;

/// Exponential backoff: delays that double from an initial value up to a maximum.
///
/// ```
/// # use std::time::Duration;
/// # use latimer_outbound::Backoff;
/// let backoff = Backoff { initial: Duration::from_secs(1), max: Duration::from_secs(60) };
/// assert_eq!(backoff.delay(1), Duration::from_secs(1));
/// assert_eq!(backoff.delay(3), Duration::from_secs(4));
/// assert_eq!(backoff.delay(99), Duration::from_secs(60));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Delay after the first attempt.
    pub initial: Duration,
    /// Maximum delay.
    pub max: Duration,
}

impl Backoff {
    /// Returns the delay after the `attempt`-th attempt. The first attempt has number 1.
    #[must_use]
    pub fn delay(&self, attempt: u32) -> Duration {
        let factor = 2_u32.saturating_pow(attempt.saturating_sub(1));
        self.initial.saturating_mul(factor).min(self.max)
    }

    /// Returns a random delay from the second half of [`delay`](Self::delay), so that clients that
    /// failed together do not retry together.
    #[cfg(feature = "client")]
    #[must_use]
    pub fn jittered_delay(&self, attempt: u32) -> Duration {
        self.delay(attempt).mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_doubles_up_to_maximum() {
        let backoff = Backoff { initial: Duration::from_millis(500), max: Duration::from_secs(5) };
        for (attempt, want) in
            [(0, 500), (1, 500), (2, 1000), (3, 2000), (4, 4000), (5, 5000), (u32::MAX, 5000)]
        {
            assert_eq!(backoff.delay(attempt), Duration::from_millis(want), "{attempt}");
        }
        let constant = Backoff { initial: Duration::from_secs(9), max: Duration::from_secs(5) };
        assert_eq!(constant.delay(1), Duration::from_secs(5));
    }

    #[test]
    fn jittered_delays_spread_over_the_second_half() {
        let backoff = Backoff { initial: Duration::from_secs(8), max: Duration::from_secs(60) };
        let delays: Vec<_> = (0..1_000).map(|_| backoff.jittered_delay(1)).collect();
        let (half, full) = (Duration::from_secs(4), Duration::from_secs(8));
        assert!(delays.iter().all(|it| (half..=full).contains(it)));
        assert!(delays.iter().any(|it| *it < Duration::from_secs(5)));
        assert!(delays.iter().any(|it| *it > Duration::from_secs(7)));
    }
}
