//! Rate limits of calls and of failed authentications.
//!
//! Each caller has a bucket that refills at a constant rate (GCRA). An operation takes its weight
//! from the bucket; if the bucket has less, the call is rejected with the time to wait. Anonymous
//! callers, and callers with invalid credentials, are identified by their IP address.

mod buckets;
mod credentials;

use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::{NotUntil, Quota, RateLimiter};
use latimer_outbound::is_loopback_ip;
use latimer_protocol::{Error, ErrorKind};

use buckets::{BucketQuery, Buckets, Charge};
pub(crate) use credentials::CredentialHash;
use credentials::CredentialHistory;

/// Rate limits of calls and of failed authentications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Weight that a caller may use per minute. Sending a message weighs 5, a list or a
    /// subscription 3, a cancellation 2, and reading a task or a card 1. Zero disables the limit.
    pub per_minute: u32,
    /// Weight that a caller may use in one burst.
    pub burst: u32,
    /// Distinct wrong credentials allowed per IP address and minute; further attempts are rejected,
    /// except those with credentials that were right before. Zero disables the limit.
    pub auth_failures_per_minute: u32,
    /// Whether the limits also apply to loopback addresses. Authenticated callers are limited at
    /// every address.
    pub include_loopback: bool,
}

impl Default for RateLimit {
    fn default() -> Self {
        Self {
            per_minute: 6_000,
            burst: 1_200,
            auth_failures_per_minute: 60,
            include_loopback: false,
        }
    }
}

/// Key of a bucket.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RateKey {
    /// An authenticated caller.
    Caller(Arc<str>),
    /// All callers at an IPv4 address, or in an IPv6 network of 56 bits, because one subscriber
    /// usually has a whole network.
    Address(IpAddr),
}

impl RateKey {
    /// Returns the key of an IP address.
    pub(crate) fn for_address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(it) => IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() & IPV6_NETWORK_MASK)),
            v4 => v4,
        })
    }
}

/// Mask of the first 56 bits of an address.
const IPV6_NETWORK_MASK: u128 = u128::MAX << (128 - 56);

/// Counts calls and failed authentications against their limits.
#[derive(Debug)]
pub(crate) struct CallLimiter {
    calls: Option<Limiter>,
    auth_failures: Option<Limiter>,
    credentials: CredentialHistory,
    include_loopback: bool,
}

impl CallLimiter {
    pub(crate) fn new(rate: &RateLimit) -> Self {
        Self {
            calls: Limiter::new(rate.per_minute, rate.burst, MonotonicClock),
            auth_failures: Limiter::new(
                rate.auth_failures_per_minute,
                rate.auth_failures_per_minute,
                MonotonicClock,
            ),
            credentials: CredentialHistory::default(),
            include_loopback: rate.include_loopback,
        }
    }

    /// Returns whether calls are limited.
    pub(crate) fn limits_calls(&self) -> bool {
        self.calls.is_some()
    }

    /// Returns whether failed authentications are limited.
    pub(crate) fn limits_auth_failures(&self) -> bool {
        self.auth_failures.is_some()
    }

    /// Charges a call of this weight.
    ///
    /// # Errors
    /// Returns [`ErrorKind::RateLimited`] if the limit is exceeded.
    pub(crate) fn charge(&self, key: RateKey, weight: u32) -> Result<(), Error> {
        match &self.calls {
            Some(calls) if self.applies_to(&key) => calls.take(key, weight).map_err(rate_limited),
            _ => Ok(()),
        }
    }

    /// Hashes presented credentials for the other methods.
    pub(crate) fn hash_credentials(&self, values: impl Hash) -> CredentialHash {
        self.credentials.hash(values)
    }

    /// Counts wrong credentials of an address, unless they were already wrong at this address.
    pub(crate) fn record_auth_failure(&self, key: RateKey, credentials: CredentialHash) {
        if let Some(failures) = self.auth_failures.as_ref().filter(|_| self.applies_to(&key))
            && self.credentials.record_wrong(&key, credentials)
        {
            // The next `check_auth_failures` reports an exceeded limit.
            let _ = failures.take(key, 1);
        }
    }

    /// Exempts credentials from later checks, because they were right.
    pub(crate) fn record_auth_success(&self, key: &RateKey, credentials: CredentialHash) {
        if self.auth_failures.is_some() && self.applies_to(key) {
            self.credentials.record_right(credentials);
        }
    }

    /// Checks whether an authentication may be attempted. Counts nothing. Credentials that were right
    /// before may always be tried.
    ///
    /// # Errors
    /// Returns [`ErrorKind::RateLimited`] if the address had too many wrong credentials.
    pub(crate) fn check_auth_failures(
        &self,
        key: RateKey,
        credentials: CredentialHash,
    ) -> Result<(), Error> {
        match &self.auth_failures {
            Some(failures) if self.applies_to(&key) => match failures.peek(key) {
                Err(_) if self.credentials.was_right(credentials) => Ok(()),
                result => result.map_err(too_many_auth_failures),
            },
            _ => Ok(()),
        }
    }

    /// Returns whether limits apply to a key. Those for addresses exempt loopback by default.
    pub(crate) fn applies_to(&self, key: &RateKey) -> bool {
        match key {
            RateKey::Caller(_) => true,
            RateKey::Address(address) => self.include_loopback || !is_loopback_ip(*address),
        }
    }
}

/// Buckets with one quota.
#[derive(Debug)]
struct Limiter<C: Clock = MonotonicClock> {
    buckets: RateLimiter<BucketQuery, Buckets, C, NoOpMiddleware<C::Instant>>,
    burst: u32,
    /// Number of buckets ever created.
    created: Arc<AtomicUsize>,
    /// Value of `created` at which the next sweep is due.
    sweep_at: AtomicUsize,
}

/// Minimum number of new buckets between two sweeps.
const MIN_SWEEP_THRESHOLD: usize = 1024;

impl<C: Clock> Limiter<C> {
    /// Creates buckets that refill at this rate. `None` if the rate is zero.
    fn new(per_minute: u32, burst: u32, clock: C) -> Option<Self> {
        let quota = Quota::per_minute(NonZeroU32::new(per_minute)?);
        let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
        let created = Arc::<AtomicUsize>::default();
        let buckets = Buckets::new(Arc::clone(&created));
        Some(Self {
            buckets: RateLimiter::new(quota.allow_burst(burst), buckets, clock),
            burst: burst.get(),
            created,
            sweep_at: AtomicUsize::new(MIN_SWEEP_THRESHOLD),
        })
    }

    /// Takes a weight from a bucket, or returns the time to wait.
    fn take(&self, key: RateKey, weight: u32) -> Result<(), Duration> {
        // A weight above the burst takes a full bucket.
        let weight = NonZeroU32::new(weight.min(self.burst)).unwrap_or(NonZeroU32::MIN);
        let decision =
            self.buckets.check_key_n(&BucketQuery { key, charge: Charge::Weight }, weight);
        if self.created.load(Relaxed) >= self.sweep_at.load(Relaxed) {
            self.sweep();
        }
        self.wait_time(decision.unwrap_or(Ok(())))
    }

    /// Returns the time to wait before a weight of one can be taken. Takes nothing.
    fn peek(&self, key: RateKey) -> Result<(), Duration> {
        self.wait_time(self.buckets.check_key(&BucketQuery { key, charge: Charge::Nothing }))
    }

    fn wait_time(&self, decision: Result<(), NotUntil<C::Instant>>) -> Result<(), Duration> {
        decision.map_err(|until| until.wait_time_from(self.buckets.clock().now()))
    }

    /// Removes full buckets, which equal missing ones. The next sweep is due after as many new
    /// buckets as remain, so the cost per bucket is constant.
    fn sweep(&self) {
        let created = self.created.load(Relaxed);
        self.sweep_at.store(created + MIN_SWEEP_THRESHOLD.max(self.buckets.len()), Relaxed);
        self.buckets.retain_recent();
    }
}

fn rate_limited(wait: Duration) -> Error {
    let message = format!("too many requests; try again in {}", format_wait(wait));
    Error::new(ErrorKind::RateLimited, message).with_retry_after(wait)
}

fn too_many_auth_failures(wait: Duration) -> Error {
    let message = format!("too many failed authentications; try again in {}", format_wait(wait));
    Error::new(ErrorKind::RateLimited, message).with_retry_after(wait)
}

fn format_wait(wait: Duration) -> String {
    match wait.as_secs_f64().ceil() {
        ..=1.0 => "a second".to_owned(),
        seconds => format!("{seconds} seconds"),
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn caller_key(name: &str) -> RateKey {
        RateKey::Caller(name.into())
    }

    fn address_key(address: &str) -> RateKey {
        RateKey::for_address(address.parse().unwrap())
    }

    #[test]
    fn bucket_drains_by_weight_and_refills_over_time() {
        let clock = FakeRelativeClock::default();
        let limiter = Limiter::new(60, 10, clock.clone()).unwrap();
        assert_eq!(limiter.take(caller_key("a"), 5), Ok(()));
        assert_eq!(limiter.take(caller_key("a"), 5), Ok(()));
        assert_eq!(limiter.take(caller_key("a"), 3), Err(Duration::from_secs(3)));
        assert_eq!(limiter.take(caller_key("b"), 10), Ok(()), "each key has its own bucket");
        clock.advance(Duration::from_secs(2));
        assert_eq!(limiter.take(caller_key("a"), 3), Err(Duration::from_secs(1)));
        clock.advance(Duration::from_secs(1));
        assert_eq!(limiter.take(caller_key("a"), 3), Ok(()));
        clock.advance(Duration::from_secs(10));
        assert_eq!(
            limiter.take(caller_key("a"), 99),
            Ok(()),
            "a weight above the burst takes a full bucket"
        );
        assert!(limiter.take(caller_key("a"), 1).is_err());
    }

    #[test]
    fn peek_consumes_nothing() {
        let limiter = Limiter::new(60, 2, FakeRelativeClock::default()).unwrap();
        for taken in 0..2 {
            for _ in 0..3 {
                assert_eq!(limiter.peek(address_key("192.0.2.1")), Ok(()), "{taken}");
            }
            assert_eq!(limiter.buckets.len(), taken);
            assert_eq!(limiter.take(address_key("192.0.2.1"), 1), Ok(()));
        }
        for _ in 0..3 {
            assert_eq!(limiter.peek(address_key("192.0.2.1")), Err(Duration::from_secs(1)));
        }
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_rate_key() {
        for (one, other, same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("2001:db8:0:aa00::1", "2001:db8:0:aaff:1::2", true),
            ("2001:db8:0:aa00::1", "2001:db8:0:ab00::1", false),
        ] {
            assert_eq!(address_key(one) == address_key(other), same, "{one} {other}");
        }
        assert_ne!(address_key("127.0.0.1"), caller_key("127.0.0.1"));
    }

    #[test]
    fn full_buckets_are_swept_and_bucket_count_is_bounded() {
        let clock = FakeRelativeClock::default();
        let limiter = Limiter::new(60, 1, clock.clone()).unwrap();
        for number in 0..MIN_SWEEP_THRESHOLD - 1 {
            limiter.take(caller_key(&number.to_string()), 1).unwrap();
        }
        assert_eq!(limiter.buckets.len(), MIN_SWEEP_THRESHOLD - 1);
        clock.advance(Duration::from_secs(5));
        limiter.take(caller_key("one more"), 1).unwrap();
        assert_eq!(limiter.buckets.len(), 1, "full buckets were removed");
        for number in 0..2 * Buckets::MAX_BUCKETS {
            limiter.take(caller_key(&number.to_string()), 1).unwrap();
        }
        assert!(limiter.buckets.len() <= Buckets::MAX_BUCKETS, "{}", limiter.buckets.len());
    }

    #[test]
    fn loopback_addresses_are_exempt_unless_authenticated() {
        let rate = RateLimit {
            per_minute: 1,
            burst: 1,
            auth_failures_per_minute: 1,
            include_loopback: false,
        };
        let limiter = CallLimiter::new(&rate);
        for key in
            [address_key("127.0.0.1"), address_key("127.8.9.1"), address_key("::ffff:127.0.0.1")]
        {
            for attempt in 0..3 {
                assert_eq!(limiter.charge(key.clone(), 1), Ok(()), "{key:?}");
                let wrong = limiter.hash_credentials(attempt);
                limiter.record_auth_failure(key.clone(), wrong);
                assert_eq!(limiter.check_auth_failures(key.clone(), wrong), Ok(()), "{key:?}");
            }
        }
        for key in [caller_key("alice"), address_key("192.0.2.1")] {
            assert_eq!(limiter.charge(key.clone(), 1), Ok(()), "{key:?}");
            let error = limiter.charge(key, 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::RateLimited);
            assert_eq!(error.metadata()["retryAfter"], "60");
        }
        let wrong = limiter.hash_credentials("wrong");
        limiter.record_auth_failure(address_key("192.0.2.1"), wrong);
        assert!(limiter.check_auth_failures(address_key("192.0.2.1"), wrong).is_err());
        assert_eq!(limiter.check_auth_failures(address_key("192.0.2.2"), wrong), Ok(()));
        let including_loopback = CallLimiter::new(&RateLimit { include_loopback: true, ..rate });
        assert_eq!(including_loopback.charge(address_key("127.0.0.1"), 1), Ok(()));
        assert!(including_loopback.charge(address_key("127.0.0.1"), 1).is_err());
        let disabled = CallLimiter::new(&RateLimit {
            per_minute: 0,
            auth_failures_per_minute: 0,
            ..RateLimit::default()
        });
        assert!(!disabled.limits_calls() && !disabled.limits_auth_failures());
        assert_eq!(disabled.charge(caller_key("alice"), 1), Ok(()));
    }
}
