//! How often callers may ask.
//!
//! Each caller has a bucket that fills at a steady rate (GCRA); an operation takes as much as it
//! weighs, and what does not fit is refused with the time to wait. Whoever did not say who they are
//! is known by the address, and so is whoever shows credentials that do not count.

mod buckets;

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::{NotUntil, Quota, RateLimiter};
use latimer_protocol::{Error, ErrorKind};

use buckets::{Ask, Buckets, Take};

/// How often callers may ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How much a caller may ask for in a minute, by the weights of operations: a message weighs 5,
    /// a list or a subscription 3, to cancel 2, and a look at a task or a card 1. Zero: any number.
    pub per_minute: u32,
    /// How much of it may come at once.
    pub burst: u32,
    /// How often in a minute credentials from one address may be wrong before it is not listened to
    /// for a while. Zero: any number.
    pub failures: u32,
    /// Whether this also holds for addresses of this machine. Callers that said who they are are
    /// limited wherever they are.
    pub loopback: bool,
}

impl Default for Rate {
    fn default() -> Self {
        Self { per_minute: 6_000, burst: 1_200, failures: 60, loopback: false }
    }
}

/// Whose bucket it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    /// Somebody who said who they are.
    Caller(Arc<str>),
    /// Everybody at an address: of IPv6 at a network, as one customer has many addresses of it.
    Address(IpAddr),
}

impl Who {
    /// Everybody at an address.
    pub(crate) fn at(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(it) => IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() & NETWORK)),
            four => four,
        })
    }
}

/// The first 56 bits of an address.
const NETWORK: u128 = u128::MAX << (128 - 56);

/// Knows how often everybody has asked.
#[derive(Debug)]
pub(crate) struct Rates {
    calls: Option<Limiter>,
    failures: Option<Limiter>,
    loopback: bool,
}

impl Rates {
    pub(crate) fn new(rate: &Rate) -> Self {
        Self {
            calls: Limiter::new(rate.per_minute, rate.burst, MonotonicClock),
            failures: Limiter::new(rate.failures, rate.failures, MonotonicClock),
            loopback: rate.loopback,
        }
    }

    /// Whether calls are counted at all.
    pub(crate) fn counts_calls(&self) -> bool {
        self.calls.is_some()
    }

    /// Whether wrong credentials are counted at all.
    pub(crate) fn counts_failures(&self) -> bool {
        self.failures.is_some()
    }

    /// Counts something that weighs so much.
    ///
    /// # Errors
    /// [`ErrorKind::RateLimited`] when it is too much.
    pub(crate) fn charge(&self, who: Who, weight: u32) -> Result<(), Error> {
        match &self.calls {
            Some(calls) if self.limits(&who) => calls.take(who, weight).map_err(too_often),
            _ => Ok(()),
        }
    }

    /// Counts credentials that were wrong.
    pub(crate) fn failed(&self, who: Who) {
        if let Some(failures) = self.failures.as_ref().filter(|_| self.limits(&who)) {
            // Whoever comes next is told.
            let _ = failures.take(who, 1);
        }
    }

    /// Whether credentials are looked at.
    ///
    /// # Errors
    /// [`ErrorKind::RateLimited`] when too many of them were wrong.
    pub(crate) fn check_failures(&self, who: Who) -> Result<(), Error> {
        match &self.failures {
            Some(failures) if self.limits(&who) => failures.look(who).map_err(too_many_failures),
            _ => Ok(()),
        }
    }

    fn limits(&self, who: &Who) -> bool {
        match who {
            Who::Caller(_) => true,
            Who::Address(address) => self.loopback || !address.is_loopback(),
        }
    }
}

/// Buckets of one size.
#[derive(Debug)]
struct Limiter<C: Clock = MonotonicClock> {
    buckets: RateLimiter<Ask, Buckets, C, NoOpMiddleware<C::Instant>>,
    burst: u32,
    /// How many buckets were ever made.
    made: Arc<AtomicUsize>,
    /// When that many were made, the full ones are removed.
    sweep_at: AtomicUsize,
}

/// Fewer buckets than this are not worth a sweep.
const LEAST_SWEEP: usize = 1024;

impl<C: Clock> Limiter<C> {
    /// Buckets that fill at this rate; none when there is none.
    fn new(per_minute: u32, burst: u32, clock: C) -> Option<Self> {
        let quota = Quota::per_minute(NonZeroU32::new(per_minute)?);
        let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
        let made = Arc::<AtomicUsize>::default();
        let buckets = Buckets::new(Arc::clone(&made));
        Some(Self {
            buckets: RateLimiter::new(quota.allow_burst(burst), buckets, clock),
            burst: burst.get(),
            made,
            sweep_at: AtomicUsize::new(LEAST_SWEEP),
        })
    }

    /// Takes so much, or says how long to wait.
    fn take(&self, who: Who, weight: u32) -> Result<(), Duration> {
        // What is heavier than a bucket is large takes all of it.
        let weight = NonZeroU32::new(weight.min(self.burst)).unwrap_or(NonZeroU32::MIN);
        let taken = self.buckets.check_key_n(&Ask { who, take: Take::Weight }, weight);
        if self.made.load(Relaxed) >= self.sweep_at.load(Relaxed) {
            self.sweep();
        }
        self.wait(taken.unwrap_or(Ok(())))
    }

    /// Says how long to wait before anything can be taken, and takes nothing.
    fn look(&self, who: Who) -> Result<(), Duration> {
        self.wait(self.buckets.check_key(&Ask { who, take: Take::Nothing }))
    }

    fn wait(&self, taken: Result<(), NotUntil<C::Instant>>) -> Result<(), Duration> {
        taken.map_err(|until| until.wait_time_from(self.buckets.clock().now()))
    }

    /// Removes full buckets: they are like those that are not there. Next when as many were made
    /// as are left, so that a bucket costs a look or two however many there are.
    fn sweep(&self) {
        let made = self.made.load(Relaxed);
        self.sweep_at.store(made + LEAST_SWEEP.max(self.buckets.len()), Relaxed);
        self.buckets.retain_recent();
    }
}

fn too_often(wait: Duration) -> Error {
    let message = format!("too many requests; try again in {}", seconds(wait));
    Error::new(ErrorKind::RateLimited, message).with_retry_after(wait)
}

fn too_many_failures(wait: Duration) -> Error {
    let message = format!("too many wrong credentials; try again in {}", seconds(wait));
    Error::new(ErrorKind::RateLimited, message).with_retry_after(wait)
}

fn seconds(wait: Duration) -> String {
    match wait.as_secs_f64().ceil() {
        ..=1.0 => "a second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn caller(name: &str) -> Who {
        Who::Caller(name.into())
    }

    fn at(address: &str) -> Who {
        Who::at(address.parse().unwrap())
    }

    #[test]
    fn a_bucket_empties_by_weight_and_fills_with_time() {
        let clock = FakeRelativeClock::default();
        let limiter = Limiter::new(60, 10, clock.clone()).unwrap();
        assert_eq!(limiter.take(caller("a"), 5), Ok(()));
        assert_eq!(limiter.take(caller("a"), 5), Ok(()));
        assert_eq!(limiter.take(caller("a"), 3), Err(Duration::from_secs(3)));
        assert_eq!(limiter.take(caller("b"), 10), Ok(()), "everybody has their own");
        clock.advance(Duration::from_secs(2));
        assert_eq!(limiter.take(caller("a"), 3), Err(Duration::from_secs(1)));
        clock.advance(Duration::from_secs(1));
        assert_eq!(limiter.take(caller("a"), 3), Ok(()));
        clock.advance(Duration::from_secs(10));
        assert_eq!(limiter.take(caller("a"), 99), Ok(()), "more than there ever is takes all");
        assert!(limiter.take(caller("a"), 1).is_err());
    }

    #[test]
    fn a_look_takes_nothing() {
        let limiter = Limiter::new(60, 2, FakeRelativeClock::default()).unwrap();
        for taken in 0..2 {
            for _ in 0..3 {
                assert_eq!(limiter.look(at("192.0.2.1")), Ok(()), "{taken}");
            }
            assert_eq!(limiter.buckets.len(), taken);
            assert_eq!(limiter.take(at("192.0.2.1"), 1), Ok(()));
        }
        for _ in 0..3 {
            assert_eq!(limiter.look(at("192.0.2.1")), Err(Duration::from_secs(1)));
        }
    }

    #[test]
    fn addresses_are_told_apart_by_what_one_customer_has() {
        for (one, other, same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("2001:db8:0:aa00::1", "2001:db8:0:aaff:1::2", true),
            ("2001:db8:0:aa00::1", "2001:db8:0:ab00::1", false),
        ] {
            assert_eq!(at(one) == at(other), same, "{one} {other}");
        }
        assert_ne!(at("127.0.0.1"), caller("127.0.0.1"));
    }

    #[test]
    fn full_buckets_are_swept_and_the_others_are_bounded() {
        let clock = FakeRelativeClock::default();
        let limiter = Limiter::new(60, 1, clock.clone()).unwrap();
        for number in 0..LEAST_SWEEP - 1 {
            limiter.take(caller(&number.to_string()), 1).unwrap();
        }
        assert_eq!(limiter.buckets.len(), LEAST_SWEEP - 1);
        clock.advance(Duration::from_secs(5));
        limiter.take(caller("one more"), 1).unwrap();
        assert_eq!(limiter.buckets.len(), 1, "the others were as good as new");
        for number in 0..2 * Buckets::MOST {
            limiter.take(caller(&number.to_string()), 1).unwrap();
        }
        assert!(limiter.buckets.len() <= Buckets::MOST, "{}", limiter.buckets.len());
    }

    #[test]
    fn callers_of_this_machine_are_not_limited_unless_they_are_somebody() {
        let rate = Rate { per_minute: 1, burst: 1, failures: 1, loopback: false };
        let rates = Rates::new(&rate);
        for who in [at("127.0.0.1"), at("127.8.9.1"), at("::ffff:127.0.0.1")] {
            for _ in 0..3 {
                assert_eq!(rates.charge(who.clone(), 1), Ok(()), "{who:?}");
                rates.failed(who.clone());
                assert_eq!(rates.check_failures(who.clone()), Ok(()), "{who:?}");
            }
        }
        for who in [caller("alice"), at("192.0.2.1")] {
            assert_eq!(rates.charge(who.clone(), 1), Ok(()), "{who:?}");
            let error = rates.charge(who, 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::RateLimited);
            assert_eq!(error.metadata()["retryAfter"], "60");
        }
        rates.failed(at("192.0.2.1"));
        assert!(rates.check_failures(at("192.0.2.1")).is_err());
        assert_eq!(rates.check_failures(at("192.0.2.2")), Ok(()));
        let everywhere = Rates::new(&Rate { loopback: true, ..rate });
        assert_eq!(everywhere.charge(at("127.0.0.1"), 1), Ok(()));
        assert!(everywhere.charge(at("127.0.0.1"), 1).is_err());
        let off = Rates::new(&Rate { per_minute: 0, failures: 0, ..Rate::default() });
        assert!(!off.counts_calls() && !off.counts_failures());
        assert_eq!(off.charge(caller("alice"), 1), Ok(()));
    }
}
