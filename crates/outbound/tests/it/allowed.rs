//! Tests of allowed targets: the public internet over HTTPS, and exceptions.

use http::StatusCode;
use latimer_outbound::{Forbidden, Guard, RequestError, Rules};

use crate::support::{Harness, Listener, StubResponse, allow_only};

#[tokio::test]
async fn public_https_addresses_are_dialed() {
    let harness = Harness::new(Rules::default());
    harness.resolver.set("public.test", &[&["93.184.216.34", "2606:2800:220:1::1"]]);
    for (url, want) in [
        ("https://public.test/hook", &["93.184.216.34:443", "[2606:2800:220:1::1]:443"][..]),
        ("https://Public.Test.:8443/hook", &["93.184.216.34:8443", "[2606:2800:220:1::1]:8443"]),
        ("https://8.8.8.8/", &["8.8.8.8:443"]),
        ("https://0x8080808/", &["8.8.8.8:443"]),
        ("https://[::ffff:8.8.8.8]/", &["8.8.8.8:443"]),
        ("https://[64:ff9b::8.8.8.8]/", &["[64:ff9b::808:808]:443"]),
        ("https://[2606:4700::1111]/", &["[2606:4700::1111]:443"]),
    ] {
        harness.guard.check(url).await.expect(url);
        let failure = harness.post(url).await.unwrap_err();
        assert!(matches!(failure, RequestError::Unreachable { .. }), "{url}: {failure:?}");
        assert!(failure.is_retryable());
        let dialed: Vec<_> = harness.dialer.take_dialed().iter().map(ToString::to_string).collect();
        assert_eq!(dialed, want, "{url}");
    }
}

#[tokio::test]
async fn check_accepts_unresolvable_name_but_send_fails() {
    let harness = Harness::new(Rules::default());
    let target = harness
        .guard
        .check("https://later.test/hook?token=abc")
        .await
        .expect("unresolvable HTTPS names are accepted");
    assert_eq!(target.uri(), "https://later.test/hook?token=abc");
    assert_eq!(format!("{target:?}"), "Target(\"https://later.test:443\")");
    let failure = harness.post("https://later.test/hook").await.unwrap_err();
    assert!(matches!(failure, RequestError::Unresolved { .. }), "{failure:?}");
    assert!(failure.is_retryable());
    harness.resolver.set("empty.test", &[&[]]);
    let failure = harness.post("https://empty.test/hook").await.unwrap_err();
    assert!(matches!(failure, RequestError::Unresolved { .. }), "{failure:?}");
    assert_eq!(harness.dialer.take_dialed(), []);
    let harness = Harness::new(allow_only(["later.test:80"]));
    harness.guard.check("http://later.test/").await.expect("the host rule matches");
    let other = harness.guard.check("http://later.test:81/").await;
    assert_eq!(other, Err(Forbidden::Scheme));
}

#[tokio::test]
async fn allowed_port_is_reachable_but_other_ports_are_not() {
    let allowed = Listener::start(|_| StubResponse::text("hello")).await;
    let other_port = Listener::start(|_| StubResponse::text("secret")).await;
    let harness = Harness::new(allow_only([&format!("127.1:{}", allowed.port())]));
    harness.resolver.set("localhost", &[&["127.0.0.1"]]);
    let response = harness.post(&allowed.url("/hook")).await.expect("a response");
    assert_eq!((response.status(), &response.body()[..]), (StatusCode::OK, &b"hello"[..]));
    let requests = allowed.requests();
    assert_eq!((requests[0].method.as_str(), &requests[0].body[..]), ("POST", &b"{}"[..]));
    for url in [
        other_port.url("/hook"),
        format!("http://127.0.0.2:{}/", allowed.port()),
        format!("http://localhost:{}/", allowed.port()),
        format!("http://[::1]:{}/", allowed.port()),
    ] {
        let failure = harness.post(&url).await.unwrap_err();
        assert!(matches!(failure, RequestError::Forbidden(_)), "{url}: {failure:?}");
        assert!(harness.guard.check(&url).await.is_err(), "{url}");
    }
    assert_eq!((allowed.accepted(), other_port.accepted()), (1, 0));
}

#[tokio::test]
async fn host_port_rule_allows_any_resolved_address() {
    let listener = Listener::start(|_| StubResponse::text("hello")).await;
    let port = listener.port();
    let harness = Harness::new(allow_only([&format!("Hooks.Internal.:{port}")]));
    harness.resolver.set("hooks.internal", &[&["127.0.0.1"]]);
    harness.resolver.set("other.internal", &[&["127.0.0.1"]]);
    for host in ["hooks.internal", "HOOKS.internal", "hooks.internal."] {
        harness.post(&format!("http://{host}:{port}/")).await.expect(host);
    }
    let other = harness.post(&format!("http://other.internal:{port}/")).await.unwrap_err();
    assert!(matches!(other, RequestError::Forbidden(Forbidden::Scheme)), "{other:?}");
}

#[tokio::test]
async fn network_rule_allows_all_ports() {
    let listener = Listener::start(|_| StubResponse::text("hello")).await;
    let harness = Harness::new(allow_only(["127.0.0.0/30", "10.1.0.0/16"]));
    harness.resolver.set("own.test", &[&["127.0.0.1"]]);
    harness.post(&listener.url("/")).await.expect("a response");
    harness.post(&format!("http://own.test:{}/", listener.port())).await.expect("a response");
    for (url, want) in [
        ("http://10.1.2.3/", true),
        ("https://[::ffff:10.1.2.3]:8443/", true),
        ("http://10.2.0.1/", false),
        ("https://127.0.0.4/", false),
        ("https://[64:ff9b::10.1.2.3]/", false),
    ] {
        assert_eq!(harness.guard.check(url).await.is_ok(), want, "{url}");
    }
}

#[tokio::test]
async fn loopback_rule_allows_every_loopback_spelling() {
    let listener = Listener::start(|_| StubResponse::text("hello")).await;
    let harness = Harness::new(Rules { allow_loopback: true, ..Rules::default() });
    harness.resolver.set("localhost", &[&["127.0.0.1"]]);
    for host in ["127.0.0.1", "2130706433", "127.1", "[::ffff:127.0.0.1]", "localhost"] {
        let url = format!("http://{host}:{}/", listener.port());
        harness.guard.check(&url).await.expect(host);
        harness.post(&url).await.expect(host);
        for dialed in harness.dialer.take_dialed() {
            assert_eq!(dialed, listener.address, "{host}");
        }
    }
    assert!(listener.requests().iter().all(|it| it.headers.contains_key("host")));
    let unspecified =
        harness.post(&format!("http://0.0.0.0:{}/", listener.port())).await.unwrap_err();
    assert!(matches!(unspecified, RequestError::Forbidden(Forbidden::Address)), "{unspecified:?}");
}

/// `localhost` is the only name that every machine resolves without a name server.
#[tokio::test]
async fn system_resolver_resolves_localhost() {
    let guard = |allow_loopback| Guard::new(Rules { allow_loopback, ..Rules::default() });
    guard(true).check("http://localhost:9/").await.expect("localhost is allowed");
    let forbidden = guard(false).check("https://localhost:9/").await;
    assert_eq!(forbidden, Err(Forbidden::Address));
}
