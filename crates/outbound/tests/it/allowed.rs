//! What may be called: the public internet over HTTPS, and exceptions.

use http::StatusCode;
use latimer_outbound::{Failure, Forbidden, Guard, Rules};

use crate::support::{Answer, Bench, Listener, allowing};

#[tokio::test]
async fn the_public_internet_is_dialed_over_https() {
    let bench = Bench::new(Rules::default());
    bench.names.set("public.test", &[&["93.184.216.34", "2606:2800:220:1::1"]]);
    for (url, want) in [
        ("https://public.test/hook", &["93.184.216.34:443", "[2606:2800:220:1::1]:443"][..]),
        ("https://Public.Test.:8443/hook", &["93.184.216.34:8443", "[2606:2800:220:1::1]:8443"]),
        ("https://8.8.8.8/", &["8.8.8.8:443"]),
        ("https://0x8080808/", &["8.8.8.8:443"]),
        ("https://[::ffff:8.8.8.8]/", &["8.8.8.8:443"]),
        ("https://[64:ff9b::8.8.8.8]/", &["[64:ff9b::808:808]:443"]),
        ("https://[2606:4700::1111]/", &["[2606:4700::1111]:443"]),
    ] {
        bench.guard.check(url).await.expect(url);
        let failure = bench.post(url).await.unwrap_err();
        assert!(matches!(failure, Failure::Unreachable { .. }), "{url}: {failure:?}");
        assert!(failure.is_retryable());
        let dialed: Vec<_> = bench.dialer.take().iter().map(ToString::to_string).collect();
        assert_eq!(dialed, want, "{url}");
    }
}

#[tokio::test]
async fn a_name_that_does_not_resolve_passes_for_now() {
    let bench = Bench::new(Rules::default());
    let target = bench.guard.check("https://later.test/hook?token=abc").await.expect("it passes");
    assert_eq!(target.uri(), "https://later.test/hook?token=abc");
    assert_eq!(format!("{target:?}"), "Target(\"https://later.test:443\")");
    let failure = bench.post("https://later.test/hook").await.unwrap_err();
    assert!(matches!(failure, Failure::Unresolved { .. }), "{failure:?}");
    assert!(failure.is_retryable());
    bench.names.set("empty.test", &[&[]]);
    let failure = bench.post("https://empty.test/hook").await.unwrap_err();
    assert!(matches!(failure, Failure::Unresolved { .. }), "{failure:?}");
    assert_eq!(bench.dialer.take(), []);
    let bench = Bench::new(allowing(["later.test:80"]));
    bench.guard.check("http://later.test/").await.expect("it is known by its name");
    let other = bench.guard.check("http://later.test:81/").await;
    assert_eq!(other, Err(Forbidden::Scheme));
}

#[tokio::test]
async fn an_allowed_port_works_and_its_neighbour_does_not() {
    let allowed = Listener::start(|_| Answer::text("hello")).await;
    let neighbour = Listener::start(|_| Answer::text("secret")).await;
    let bench = Bench::new(allowing([&format!("127.1:{}", allowed.port())]));
    bench.names.set("localhost", &[&["127.0.0.1"]]);
    let response = bench.post(&allowed.url("/hook")).await.expect("an answer");
    assert_eq!((response.status(), &response.body()[..]), (StatusCode::OK, &b"hello"[..]));
    let seen = allowed.seen();
    assert_eq!((seen[0].method.as_str(), &seen[0].body[..]), ("POST", &b"{}"[..]));
    for url in [
        neighbour.url("/hook"),
        format!("http://127.0.0.2:{}/", allowed.port()),
        format!("http://localhost:{}/", allowed.port()),
        format!("http://[::1]:{}/", allowed.port()),
    ] {
        let failure = bench.post(&url).await.unwrap_err();
        assert!(matches!(failure, Failure::Forbidden(_)), "{url}: {failure:?}");
        assert!(bench.guard.check(&url).await.is_err(), "{url}");
    }
    assert_eq!((allowed.accepted(), neighbour.accepted()), (1, 0));
}

#[tokio::test]
async fn a_name_is_allowed_with_its_port_wherever_it_is() {
    let listener = Listener::start(|_| Answer::text("hello")).await;
    let port = listener.port();
    let bench = Bench::new(allowing([&format!("Hooks.Internal.:{port}")]));
    bench.names.set("hooks.internal", &[&["127.0.0.1"]]);
    bench.names.set("other.internal", &[&["127.0.0.1"]]);
    for host in ["hooks.internal", "HOOKS.internal", "hooks.internal."] {
        bench.post(&format!("http://{host}:{port}/")).await.expect(host);
    }
    let other = bench.post(&format!("http://other.internal:{port}/")).await.unwrap_err();
    assert!(matches!(other, Failure::Forbidden(Forbidden::Scheme)), "{other:?}");
}

#[tokio::test]
async fn a_network_is_allowed_with_all_its_ports() {
    let listener = Listener::start(|_| Answer::text("hello")).await;
    let bench = Bench::new(allowing(["127.0.0.0/30", "10.1.0.0/16"]));
    bench.names.set("own.test", &[&["127.0.0.1"]]);
    bench.post(&listener.url("/")).await.expect("an answer");
    bench.post(&format!("http://own.test:{}/", listener.port())).await.expect("an answer");
    for (url, want) in [
        ("http://10.1.2.3/", true),
        ("https://[::ffff:10.1.2.3]:8443/", true),
        ("http://10.2.0.1/", false),
        ("https://127.0.0.4/", false),
        ("https://[64:ff9b::10.1.2.3]/", false),
    ] {
        assert_eq!(bench.guard.check(url).await.is_ok(), want, "{url}");
    }
}

#[tokio::test]
async fn loopback_is_allowed_when_the_rules_say_so() {
    let listener = Listener::start(|_| Answer::text("hello")).await;
    let bench = Bench::new(Rules { loopback: true, ..Rules::default() });
    bench.names.set("localhost", &[&["127.0.0.1"]]);
    for host in ["127.0.0.1", "2130706433", "127.1", "[::ffff:127.0.0.1]", "localhost"] {
        let url = format!("http://{host}:{}/", listener.port());
        bench.guard.check(&url).await.expect(host);
        bench.post(&url).await.expect(host);
        for dialed in bench.dialer.take() {
            assert_eq!(dialed, listener.address, "{host}");
        }
    }
    assert!(listener.seen().iter().all(|it| it.headers.contains_key("host")));
    let hidden = bench.post(&format!("http://0.0.0.0:{}/", listener.port())).await.unwrap_err();
    assert!(matches!(hidden, Failure::Forbidden(Forbidden::Address)), "{hidden:?}");
}

/// The one name that every machine knows without asking another.
#[tokio::test]
async fn the_operating_system_resolves_names() {
    let guard = |loopback| Guard::new(Rules { loopback, ..Rules::default() });
    guard(true).check("http://localhost:9/").await.expect("it is this machine");
    let forbidden = guard(false).check("https://localhost:9/").await;
    assert_eq!(forbidden, Err(Forbidden::Address));
}
