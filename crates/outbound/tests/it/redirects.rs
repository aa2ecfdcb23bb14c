//! Which redirects are followed, and what of a request goes with them.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode};
use latimer_outbound::{Failure, Limits, Redirect, Rules};

use crate::support::{Answer, Bench, Listener, post};

fn bench() -> Bench {
    Bench::new(Rules { loopback: true, ..Rules::default() })
}

#[tokio::test]
async fn a_redirect_at_home_keeps_the_request_as_it_is() {
    let listener = Listener::start(|seen| match seen.uri.path() {
        "/a" => Answer::redirect(307, "/b/c?x=1"),
        "/b/c" => Answer::redirect(308, "../d"),
        _ => Answer::text("there"),
    })
    .await;
    let bench = bench();
    let mut request = post(&listener.url("/a"));
    request.headers_mut().insert("authorization", HeaderValue::from_static("Bearer x"));
    request.headers_mut().insert("host", HeaderValue::from_static("elsewhere.test"));
    let response = bench.client.send(request, &Limits::default()).await.expect("an answer");
    assert_eq!((response.status(), &response.body()[..]), (StatusCode::OK, &b"there"[..]));
    let seen = listener.seen();
    let paths: Vec<_> = seen.iter().map(|it| it.uri.path()).collect();
    assert_eq!(paths, ["/a", "/b/c", "/d"]);
    for seen in &seen {
        assert_eq!((&seen.method, &seen.body[..]), (&Method::POST, &b"{}"[..]));
        assert_eq!(seen.headers["authorization"], "Bearer x");
        assert_eq!(seen.headers["host"], listener.address.to_string());
    }
}

#[tokio::test]
async fn a_post_never_becomes_a_get() {
    for status in [301, 302, 303] {
        let listener = Listener::start(move |_| Answer::redirect(status, "/b")).await;
        let failure = bench().post(&listener.url("/a")).await.unwrap_err();
        let Failure::Redirect(Redirect::OtherMethod { origin }) = &failure else {
            panic!("{failure:?}")
        };
        assert_eq!(*origin, listener.url("").trim_end_matches('/'));
        assert!(!failure.is_retryable());
        assert_eq!(listener.seen().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn only_what_reads_without_credentials_goes_to_another_host() {
    let there = Listener::start(|_| Answer::text("there")).await;
    for (method, header, sensitive, want) in [
        (Method::GET, None, false, true),
        (Method::HEAD, None, false, true),
        (Method::GET, Some("accept"), false, true),
        (Method::GET, Some("x-custom"), true, false),
        (Method::GET, Some("authorization"), false, false),
        (Method::GET, Some("cookie"), false, false),
        (Method::GET, Some("x-api-key"), false, false),
        (Method::GET, Some("x-a2a-notification-token"), false, false),
        (Method::POST, None, false, false),
        (Method::POST, Some("authorization"), false, false),
        (Method::PUT, None, false, false),
    ] {
        let location = there.url("/b");
        let here = Listener::start(move |_| Answer::redirect(307, &location)).await;
        let before = there.accepted();
        let mut request = Request::builder().method(&method).uri(here.url("/a"));
        if let Some(name) = header {
            let mut value = HeaderValue::from_static("x");
            value.set_sensitive(sensitive);
            request = request.header(name, value);
        }
        let request = request.body(Bytes::new()).expect("a request");
        let found = bench().client.send(request, &Limits::default()).await;
        let name = format!("{method} with {header:?}: {found:?}");
        match found {
            Ok(_) => assert!(want, "{name}"),
            Err(Failure::Redirect(Redirect::Elsewhere { origin })) => {
                assert!(!want, "{name}");
                assert_eq!(origin, there.url("").trim_end_matches('/'), "{name}");
                assert_eq!(there.accepted(), before, "{name}");
            }
            Err(_) => panic!("{name}"),
        }
    }
}

/// A scheme or a port is part of where a credential belongs.
#[tokio::test]
async fn another_port_or_scheme_is_another_host() {
    for location in ["https://127.0.0.1:{port}/", "http://127.0.0.2:{port}/", "//127.0.0.1:1/"] {
        let here = Listener::start(move |seen| {
            let port = seen.uri.query().expect("a port");
            Answer::redirect(308, &location.replace("{port}", port))
        })
        .await;
        let url = here.url(&format!("/?{}", here.port()));
        let failure = bench().post(&url).await.unwrap_err();
        let elsewhere = matches!(failure, Failure::Redirect(Redirect::Elsewhere { .. }));
        assert!(elsewhere, "{location}: {failure:?}");
    }
}

#[tokio::test]
async fn redirects_come_to_an_end() {
    let listener = Listener::start(|_| Answer::redirect(302, "/again")).await;
    for redirects in [0, 1, 3] {
        let before = listener.seen().len();
        let request = Request::get(listener.url("/")).body(Bytes::new()).expect("a request");
        let limits = Limits { redirects, ..Limits::default() };
        let failure = bench().client.send(request, &limits).await.unwrap_err();
        assert!(matches!(failure, Failure::Redirect(Redirect::TooMany)), "{failure:?}");
        assert_eq!(listener.seen().len() - before, redirects + 1);
    }
}

#[tokio::test]
async fn a_redirect_to_nowhere_is_a_failure() {
    for (location, refused) in [
        ("https://", true),
        ("ftp://127.0.0.1/", true),
        ("http://user@127.0.0.1/", true),
        ("http://10.0.0.1/", true),
        ("\u{e9}", false),
    ] {
        let listener = Listener::start(move |_| {
            let mut response = http::Response::new(Bytes::new());
            *response.status_mut() = StatusCode::FOUND;
            let value = HeaderValue::from_bytes(location.as_bytes()).expect("a header");
            response.headers_mut().insert("location", value);
            Answer::With(response)
        })
        .await;
        let failure = bench().get(&listener.url("/")).await.unwrap_err();
        let fits = match failure {
            Failure::Forbidden(_) => refused,
            Failure::Redirect(Redirect::Unreadable) => !refused,
            _ => false,
        };
        assert!(fits, "{location}: {failure:?}");
    }
}

#[tokio::test]
async fn what_is_no_redirect_is_an_answer() {
    for status in [300, 304, 401, 500] {
        let listener = Listener::start(move |_| Answer::redirect(status, "/b")).await;
        let response = bench().get(&listener.url("/")).await.expect("an answer");
        assert_eq!(response.status(), status);
    }
    let listener = Listener::start(|_| {
        let response = http::Response::builder().status(302).body(Bytes::new());
        Answer::With(response.expect("a response"))
    })
    .await;
    let response = bench().get(&listener.url("/")).await.expect("an answer");
    assert_eq!(response.status(), StatusCode::FOUND, "without a location");
    let listener = Listener::start(|_| Answer::redirect(302, "/b")).await;
    let request = post(&listener.url("/")).map(http_body_util::Full::new);
    let response = bench().client.open(request).await.expect("an answer");
    assert_eq!(response.status(), StatusCode::FOUND, "an open answer is the caller's");
}
