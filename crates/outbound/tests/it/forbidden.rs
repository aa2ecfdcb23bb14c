//! Tests of forbidden addresses in every notation: they are rejected by checks and by requests, and
//! never dialed.

use http::{Request, Uri};
use latimer_outbound::{Forbidden, RequestError, RequestLimits, Rules, is_loopback_host};

use crate::support::{Harness, Listener, StubResponse, Transport, allow_only, post};

/// Notations of loopback and unspecified addresses.
const LOOPBACK_HOSTS: [&str; 24] = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.1",
    "017700000001",
    "0x7F.0.0x0.01",
    "%31%32%37.0.0.1",
    "127.0.0.%31",
    "127\u{3002}0\u{3002}0\u{3002}1",
    "\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}",
    "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
    "0.0.0.0",
    "0",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
];

/// Notations of other addresses that are not public.
const NON_PUBLIC_HOSTS: [&str; 56] = [
    "10.0.0.1",
    "10.255.255.255",
    "012.0.0.1",
    "167772161",
    "100.64.0.1",
    "100.127.255.254",
    "172.16.0.1",
    "172.31.255.254",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.1",
    "0xc0a80001",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "0.1.2.3",
    "169.254.0.1",
    "169.254.169.254",
    "169.254.169.254.",
    "169.254.43518",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "metadata",
    "metadata.goog",
    "metadata.google.internal",
    "METADATA.Google.Internal.",
    "instance-data.ec2.internal",
    "[::ffff:10.0.0.1]",
    "[::ffff:169.254.169.254]",
    "[::ffff:0:10.0.0.1]",
    "[::10.0.0.1]",
    "[64:ff9b::10.0.0.1]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::8.8.8.8]",
    "[2002:a00:1::1]",
    "[2001:0:808:808::f5ff:fffe]",
    "[2a00::5efe:10.0.0.1]",
    "[100::1]",
    "[2001:db8::1]",
    "[3fff::1]",
    "[5f00::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fe80::1]",
    "[ff02::1]",
];

/// Names and the forbidden addresses that they resolve to.
const FORBIDDEN_NAMES: [(&str, &[&str]); 11] = [
    ("localhost", &["127.0.0.1", "::1"]),
    ("own.test", &["127.0.0.1"]),
    ("own6.test", &["::1"]),
    ("mapped.test", &["::ffff:127.0.0.1"]),
    ("unspecified.test", &["0.0.0.0"]),
    ("private.test", &["10.0.0.1"]),
    ("unique.test", &["fd12::1"]),
    ("cloud.test", &["169.254.169.254"]),
    ("translated.test", &["64:ff9b::a00:1"]),
    ("mixed.test", &["93.184.216.34", "10.0.0.1"]),
    ("mixed-own.test", &["127.0.0.1", "93.184.216.34"]),
];

#[tokio::test]
async fn forbidden_hosts_are_never_connected_to() {
    let listener = Listener::start(|_| StubResponse::text("secret")).await;
    // The same port over IPv6, if the machine supports it.
    let ipv6_address = format!("[::1]:{}", listener.port());
    let ipv6_listener =
        Listener::start_at(&ipv6_address, Transport::PlainHttp1, |_| StubResponse::text("secret"))
            .await
            .ok();
    let harness = Harness::new(Rules::default());
    for (name, addresses) in FORBIDDEN_NAMES {
        harness.resolver.set(name, &[addresses]);
    }
    let names = FORBIDDEN_NAMES.iter().map(|(name, _)| name);
    for host in LOOPBACK_HOSTS.iter().chain(&NON_PUBLIC_HOSTS).chain(names) {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}:{}/hook", listener.port());
            assert!(harness.guard.check(&url).await.is_err(), "registration of {url}");
            assert_rejected(&harness, &url).await;
        }
    }
    assert_eq!(listener.accepted() + ipv6_listener.map_or(0, |it| it.accepted()), 0);
}

/// IP literals are rejected without a lookup, and names are not looked up.
#[test]
fn ip_literal_is_rejected_without_dns_lookup() {
    let harness = Harness::new(Rules::default());
    for host in LOOPBACK_HOSTS.iter().chain(&NON_PUBLIC_HOSTS) {
        assert_eq!(
            harness.guard.check_without_dns(&format!("https://{host}/")),
            Err(Forbidden::Address),
            "{host}"
        );
    }
    for (name, _) in FORBIDDEN_NAMES {
        let checked = harness.guard.check_without_dns(&format!("https://{name}/"));
        assert_eq!(checked.is_err(), is_loopback_host(name), "{name}");
        assert_eq!(harness.resolver.lookup_count(name), 0);
    }
}

/// The same hosts as locations of redirects.
#[tokio::test]
async fn redirect_to_forbidden_host_is_rejected() {
    let secret = Listener::start(|_| StubResponse::text("secret")).await;
    let port = secret.port();
    let redirector = Listener::start(move |request| {
        let host = request.uri.query().expect("a host");
        StubResponse::redirect(307, &format!("https://{host}:{port}/hook"))
    })
    .await;
    let harness = Harness::new(allow_only([&redirector.address.to_string()]));
    for (name, addresses) in FORBIDDEN_NAMES {
        harness.resolver.set(name, &[addresses]);
    }
    let names = FORBIDDEN_NAMES.iter().map(|(name, _)| name);
    let hosts = LOOPBACK_HOSTS.iter().chain(&NON_PUBLIC_HOSTS).chain(names);
    // A header cannot contain other characters.
    for host in hosts.filter(|it| it.is_ascii()) {
        let result = harness.get(&redirector.url(&format!("/?{host}"))).await;
        assert!(matches!(result, Err(RequestError::Forbidden(_))), "{host}: {result:?}");
        let is_other_address = |it: &std::net::SocketAddr| *it != redirector.address;
        assert!(!harness.dialer.take_dialed().iter().any(is_other_address), "{host}");
    }
    assert_eq!(secret.accepted(), 0);
}

/// `allow_loopback` allows no other addresses.
#[tokio::test]
async fn loopback_rule_does_not_allow_private_networks() {
    let harness = Harness::new(Rules { allow_loopback: true, ..Rules::default() });
    for host in NON_PUBLIC_HOSTS {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}/hook");
            assert!(harness.guard.check(&url).await.is_err(), "{url}");
            assert_rejected(&harness, &url).await;
        }
    }
    for (name, address) in [("private.test", "10.0.0.1"), ("mixed.test", "10.0.0.1")] {
        harness.resolver.set(name, &[&["127.0.0.1", address]]);
        assert_rejected(&harness, &format!("http://{name}/hook")).await;
    }
}

/// Rules for all networks do not allow metadata services.
#[tokio::test]
async fn metadata_hosts_are_rejected_despite_allow_rules() {
    let harness = Harness::new(allow_only(["0.0.0.0/0", "::/0", "rebound.test:80"]));
    harness.resolver.set("rebound.test", &[&["169.254.169.254"]]);
    for host in [
        "169.254.169.254",
        "0xa9fea9fe",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "metadata.google.internal",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "[fe80::a9fe:a9fe]",
        "rebound.test",
    ] {
        let url = format!("http://{host}/latest/meta-data/");
        assert!(harness.guard.check(&url).await.is_err(), "{url}");
        assert_rejected(&harness, &url).await;
    }
}

#[tokio::test]
async fn invalid_url_is_rejected_with_specific_error() {
    let harness = Harness::new(Rules { allow_loopback: true, ..Rules::default() });
    harness.resolver.set("public.test", &[&["93.184.216.34"]]);
    for (url, want) in [
        ("", Forbidden::Url),
        ("hooks", Forbidden::Url),
        ("/hooks", Forbidden::Url),
        ("https://", Forbidden::Url),
        ("https://.", Forbidden::Url),
        ("https://[fe80::1%25eth0]/", Forbidden::Url),
        ("https://256.256.256.256/", Forbidden::Url),
        ("https://1.2.3.4.5/", Forbidden::Url),
        ("https://public.test:99999/", Forbidden::Url),
        ("ftp://public.test/", Forbidden::Scheme),
        ("file:///etc/passwd", Forbidden::Scheme),
        ("gopher://127.0.0.1/", Forbidden::Scheme),
        ("unix:/run/socket", Forbidden::Scheme),
        ("data:text/plain,x", Forbidden::Scheme),
        ("http://public.test/", Forbidden::Scheme),
        ("http://93.184.216.34/", Forbidden::Scheme),
        ("http://unresolved.test/", Forbidden::Scheme),
        ("https://user@public.test/", Forbidden::UserInfo),
        ("https://user:password@public.test/", Forbidden::UserInfo),
        ("https://public.test@127.0.0.1/", Forbidden::UserInfo),
        ("https://public.test:0/", Forbidden::Port),
        ("https://93.184.216.34:0/", Forbidden::Port),
    ] {
        assert_eq!(harness.guard.check(url).await, Err(want), "{url}");
    }
    assert_rejected(&harness, "http://public.test/").await;
    assert_rejected(&harness, "https://user@public.test/").await;
}

/// Errors are the same for internal, public and unknown names.
#[tokio::test]
async fn rejection_does_not_reveal_resolved_address() {
    let harness = Harness::new(Rules { allow_loopback: true, ..Rules::default() });
    harness.resolver.set("private.test", &[&["10.20.30.40"]]);
    harness.resolver.set("public.test", &[&["93.184.216.34"]]);
    let mut messages = Vec::new();
    for name in ["private.test", "public.test", "unresolved.test"] {
        messages
            .push(harness.guard.check(&format!("http://{name}/")).await.unwrap_err().to_string());
    }
    messages.dedup();
    assert_eq!(messages, ["must begin with https://"]);
    let failure = harness.post("https://private.test/").await.unwrap_err();
    assert!(!format!("{failure} {failure:?}").contains("10.20.30.40"), "{failure:?}");
    assert!(!failure.is_retryable());
}

/// Sends requests to `url` with every method of the client. Each must be rejected without dialing.
async fn assert_rejected(harness: &Harness, url: &str) {
    // A URL that `http` cannot parse cannot be requested.
    if url.parse::<Uri>().is_ok() {
        let result = harness.post(url).await;
        assert!(matches!(result, Err(RequestError::Forbidden(_))), "{url}: {result:?}");
        let result = harness.client.send_streaming(post(url).map(http_body_util::Full::new)).await;
        assert!(matches!(result, Err(RequestError::Forbidden(_))), "{url}: {result:?}");
    }
    // The normalized URL is rejected, too.
    if let Ok(target) = harness.guard.check_without_dns(url) {
        let request = Request::post(target.uri()).body("{}".into()).expect("a request");
        let result = harness.client.send(request, &RequestLimits::default()).await;
        assert!(matches!(result, Err(RequestError::Forbidden(_))), "{url}: {result:?}");
    }
    assert_eq!(harness.dialer.take_dialed(), [], "{url}");
}

/// Names below `localhost` are loopback addresses, also where they do not resolve.
#[tokio::test]
async fn localhost_names_follow_the_rules_for_loopback() {
    let network = Rules { allow: vec!["127.0.0.0/8".parse().unwrap()], ..Rules::default() };
    let host = Rules { allow: vec!["agent.localhost:443".parse().unwrap()], ..Rules::default() };
    let loopback = Rules { allow_loopback: true, ..Rules::default() };
    for (rules, is_allowed) in
        [(Rules::default(), false), (network, true), (host, true), (loopback, true)]
    {
        let harness = Harness::new(rules);
        let result = harness.guard.check("https://agent.localhost/").await;
        let want = if is_allowed { None } else { Some(Forbidden::Address) };
        assert_eq!(result.err(), want);
        for (url, want) in [
            ("https://a.B.LocalHost./", Forbidden::Address),
            ("http://b.localhost/", Forbidden::Scheme),
        ] {
            let result = harness.guard.check_without_dns(url);
            let is_ruled = harness.guard.check_without_dns("https://other.localhost/").is_ok();
            assert_eq!(result.err(), (!is_ruled).then_some(want), "{url}");
        }
        let result = harness.guard.check("https://localhost.public.test/").await;
        assert!(result.is_ok(), "an unrelated name: {result:?}");
    }
}
