//! Tests of DNS rebinding: names that resolve to another address after the check.

use latimer_outbound::{RequestError, Rules};

use crate::support::{Harness, Listener, StubResponse, allow_only};

const PUBLIC: &str = "93.184.216.34";

#[tokio::test]
async fn dns_change_to_internal_address_after_check_is_rejected() {
    let listener = Listener::start(|_| StubResponse::text("secret")).await;
    let harness = Harness::new(Rules::default());
    for internal in
        ["127.0.0.1", "::1", "0.0.0.0", "10.0.0.1", "169.254.169.254", "::ffff:127.0.0.1"]
    {
        harness.resolver.set("rebinding.test", &[&[PUBLIC], &[internal]]);
        let url = format!("https://rebinding.test:{}/hook", listener.port());
        harness.guard.check(&url).await.expect("a public address");
        let failure = harness.post(&url).await.unwrap_err();
        assert!(matches!(failure, RequestError::Forbidden(_)), "{internal}: {failure:?}");
        assert_eq!(harness.dialer.take_dialed(), [], "{internal}");
    }
    assert_eq!(listener.accepted(), 0);
}

/// The checked addresses are those that are dialed, so a change between check and dialing has no
/// effect.
#[tokio::test]
async fn name_is_resolved_once_per_connection() {
    let harness = Harness::new(Rules::default());
    harness.resolver.set("rebinding.test", &[&[PUBLIC], &["127.0.0.1"]]);
    let failure = harness.post("https://rebinding.test/hook").await.unwrap_err();
    assert!(matches!(failure, RequestError::Unreachable { .. }), "{failure:?}");
    assert_eq!(harness.dialer.take_dialed(), [format!("{PUBLIC}:443").parse().unwrap()]);
    assert_eq!(harness.resolver.lookup_count("rebinding.test"), 1);
}

/// A single forbidden address suffices, in any position.
#[tokio::test]
async fn name_with_any_forbidden_address_is_rejected() {
    let harness = Harness::new(Rules::default());
    for addresses in [[PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC]] {
        harness.resolver.set("mixed.test", &[&[PUBLIC], &addresses]);
        harness.guard.check("https://mixed.test/").await.expect("a public address");
        let failure = harness.post("https://mixed.test/").await.unwrap_err();
        assert!(matches!(failure, RequestError::Forbidden(_)), "{addresses:?}: {failure:?}");
        assert_eq!(harness.dialer.take_dialed(), [], "{addresses:?}");
    }
}

#[tokio::test]
async fn dns_change_before_redirect_is_rejected() {
    let secret = Listener::start(|_| StubResponse::text("secret")).await;
    let location = format!("https://rebinding.test:{}/", secret.port());
    let redirector = Listener::start(move |_| StubResponse::redirect(302, &location)).await;
    let harness = Harness::new(allow_only([&redirector.address.to_string()]));
    harness.resolver.set("rebinding.test", &[&[PUBLIC], &["127.0.0.1"]]);
    harness
        .guard
        .check(&format!("https://rebinding.test:{}/", secret.port()))
        .await
        .expect("public");
    let failure = harness.get(&redirector.url("/")).await.unwrap_err();
    assert!(matches!(failure, RequestError::Forbidden(_)), "{failure:?}");
    assert_eq!(harness.dialer.take_dialed(), [redirector.address]);
    assert_eq!(secret.accepted(), 0);
}
