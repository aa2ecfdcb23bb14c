//! When to try again, and when to give up.

use std::time::Duration;

use latimer_protocol::Timestamp;
use latimer_store::DeliveryProgress;

use super::PushSettings;

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Try again, at this time.
    Again(Timestamp),
    /// Give it up.
    Enough,
}

impl PushSettings {
    /// What to do about an event that was just tried in vain, for the `attempts`-th time. `asked` is
    /// how long the receiver wants to be left alone, and `chance` anything from 0 to 1.
    pub(super) fn judge(
        &self,
        attempts: u32,
        failing_since: Timestamp,
        now: Timestamp,
        asked: Option<Duration>,
        chance: f64,
    ) -> Verdict {
        let age = now.as_millis().saturating_sub(failing_since.as_millis());
        let max_age = i64::try_from(self.max_age.as_millis()).unwrap_or(i64::MAX);
        if attempts >= self.attempts || age >= max_age {
            return Verdict::Enough;
        }
        let doubled = 2_u32.saturating_pow(attempts.saturating_sub(1));
        let pause = self.first_pause.saturating_mul(doubled).min(self.longest_pause);
        // Never all at once: those that failed together come back at different times.
        let pause = pause.mul_f64(0.5 + 0.5 * chance.clamp(0.0, 1.0));
        let pause = pause.max(asked.unwrap_or_default().min(self.longest_pause));
        let pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
        let due = Timestamp::from_millis(now.as_millis().saturating_add(pause));
        due.map_or(Verdict::Enough, Verdict::Again)
    }
}

/// How far a webhook is once it need not try an event again.
pub(super) fn done(progress: DeliveryProgress, delivered: bool) -> DeliveryProgress {
    DeliveryProgress {
        cursor: progress.cursor.next(),
        attempts: 0,
        // A receiver that failed for too long gets one chance per event, until it takes one.
        failing_since: progress.failing_since.filter(|_| !delivered),
        next_attempt_at: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(1_780_000_000_000 + millis).unwrap()
    }

    #[test]
    fn pauses_double_up_to_a_limit_and_are_never_the_same() {
        let settings = PushSettings {
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(8),
            ..PushSettings::default()
        };
        let pause = |attempts, chance| match settings.judge(attempts, at(0), at(0), None, chance) {
            Verdict::Again(due) => due.as_millis() - at(0).as_millis(),
            Verdict::Enough => panic!("not yet"),
        };
        assert_eq!(
            [1, 2, 3, 4, 5, 6].map(|it| pause(it, 1.0)),
            [1000, 2000, 4000, 8000, 8000, 8000]
        );
        assert_eq!([1, 4].map(|it| pause(it, 0.0)), [500, 4000]);
    }

    #[test]
    fn a_receiver_may_ask_for_time_but_not_for_ever() {
        let settings =
            PushSettings { longest_pause: Duration::from_secs(60), ..PushSettings::default() };
        for (asked, want) in [(30, 30_000), (3_600, 60_000), (0, 1_000)] {
            let asked = Some(Duration::from_secs(asked));
            let verdict = settings.judge(1, at(0), at(0), asked, 1.0);
            assert_eq!(verdict, Verdict::Again(at(want)));
        }
    }

    #[test]
    fn there_is_an_end_to_trying() {
        let settings = PushSettings {
            attempts: 3,
            max_age: Duration::from_secs(60),
            ..PushSettings::default()
        };
        let judge = |attempts, age| settings.judge(attempts, at(0), at(age), None, 0.5);
        assert!(matches!(judge(2, 59_999), Verdict::Again(_)));
        assert_eq!(judge(3, 0), Verdict::Enough);
        assert_eq!(judge(1, 60_000), Verdict::Enough);
    }

    #[test]
    fn what_was_delivered_ends_the_failing_and_what_was_given_up_does_not() {
        let failing = DeliveryProgress {
            attempts: 3,
            failing_since: Some(at(1)),
            ..DeliveryProgress::default()
        };
        assert_eq!(done(failing, true).failing_since, None);
        assert_eq!(done(failing, false).failing_since, Some(at(1)));
        assert_eq!((done(failing, false).cursor.get(), done(failing, false).attempts), (1, 0));
    }
}
