//! Tests of redirects.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode};
use latimer_outbound::{RedirectError, RequestError, RequestLimits, Rules};

use crate::support::{Harness, Listener, StubResponse, post};

fn harness() -> Harness {
    Harness::new(Rules { allow_loopback: true, ..Rules::default() })
}

#[tokio::test]
async fn same_origin_redirect_preserves_request() {
    let listener = Listener::start(|request| match request.uri.path() {
        "/a" => StubResponse::redirect(307, "/b/c?x=1"),
        "/b/c" => StubResponse::redirect(308, "../d"),
        _ => StubResponse::text("target"),
    })
    .await;
    let harness = harness();
    let mut request = post(&listener.url("/a"));
    request.headers_mut().insert("authorization", HeaderValue::from_static("Bearer x"));
    request.headers_mut().insert("host", HeaderValue::from_static("other.test"));
    let response =
        harness.client.send(request, &RequestLimits::default()).await.expect("a response");
    assert_eq!((response.status(), &response.body()[..]), (StatusCode::OK, &b"target"[..]));
    let requests = listener.requests();
    let paths: Vec<_> = requests.iter().map(|it| it.uri.path()).collect();
    assert_eq!(paths, ["/a", "/b/c", "/d"]);
    for request in &requests {
        assert_eq!((&request.method, &request.body[..]), (&Method::POST, &b"{}"[..]));
        assert_eq!(request.headers["authorization"], "Bearer x");
        assert_eq!(request.headers["host"], listener.address.to_string());
    }
}

#[tokio::test]
async fn post_redirect_that_changes_method_is_rejected() {
    for status in [301, 302, 303] {
        let listener = Listener::start(move |_| StubResponse::redirect(status, "/b")).await;
        let failure = harness().post(&listener.url("/a")).await.unwrap_err();
        let RequestError::Redirect(RedirectError::MethodChange { origin }) = &failure else {
            panic!("{failure:?}")
        };
        assert_eq!(*origin, listener.url("").trim_end_matches('/'));
        assert!(!failure.is_retryable());
        assert_eq!(listener.requests().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn only_safe_requests_without_credentials_cross_origins() {
    let destination = Listener::start(|_| StubResponse::text("target")).await;
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
        let location = destination.url("/b");
        let redirector = Listener::start(move |_| StubResponse::redirect(307, &location)).await;
        let before = destination.accepted();
        let mut request = Request::builder().method(&method).uri(redirector.url("/a"));
        if let Some(name) = header {
            let mut value = HeaderValue::from_static("x");
            value.set_sensitive(sensitive);
            request = request.header(name, value);
        }
        let request = request.body(Bytes::new()).expect("a request");
        let result = harness().client.send(request, &RequestLimits::default()).await;
        let name = format!("{method} with {header:?}: {result:?}");
        match result {
            Ok(_) => assert!(want, "{name}"),
            Err(RequestError::Redirect(RedirectError::CrossOrigin { origin })) => {
                assert!(!want, "{name}");
                assert_eq!(origin, destination.url("").trim_end_matches('/'), "{name}");
                assert_eq!(destination.accepted(), before, "{name}");
            }
            Err(_) => panic!("{name}"),
        }
    }
}

/// Scheme and port are part of an origin.
#[tokio::test]
async fn different_port_or_scheme_is_cross_origin() {
    for location in ["https://127.0.0.1:{port}/", "http://127.0.0.2:{port}/", "//127.0.0.1:1/"] {
        let redirector = Listener::start(move |request| {
            let port = request.uri.query().expect("a port");
            StubResponse::redirect(308, &location.replace("{port}", port))
        })
        .await;
        let url = redirector.url(&format!("/?{}", redirector.port()));
        let failure = harness().post(&url).await.unwrap_err();
        let is_cross_origin =
            matches!(failure, RequestError::Redirect(RedirectError::CrossOrigin { .. }));
        assert!(is_cross_origin, "{location}: {failure:?}");
    }
}

#[tokio::test]
async fn redirect_limit_is_enforced() {
    let listener = Listener::start(|_| StubResponse::redirect(302, "/again")).await;
    for max_redirects in [0, 1, 3] {
        let before = listener.requests().len();
        let request = Request::get(listener.url("/")).body(Bytes::new()).expect("a request");
        let limits = RequestLimits { max_redirects, ..RequestLimits::default() };
        let failure = harness().client.send(request, &limits).await.unwrap_err();
        assert!(matches!(failure, RequestError::Redirect(RedirectError::TooMany)), "{failure:?}");
        assert_eq!(listener.requests().len() - before, max_redirects + 1);
    }
}

#[tokio::test]
async fn redirect_to_invalid_location_is_rejected() {
    for (location, is_forbidden) in [
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
            StubResponse::Complete(response)
        })
        .await;
        let failure = harness().get(&listener.url("/")).await.unwrap_err();
        let matches_expected = match failure {
            RequestError::Forbidden(_) => is_forbidden,
            RequestError::Redirect(RedirectError::InvalidLocation) => !is_forbidden,
            _ => false,
        };
        assert!(matches_expected, "{location}: {failure:?}");
    }
}

#[tokio::test]
async fn non_redirect_status_is_returned_as_response() {
    for status in [300, 304, 401, 500] {
        let listener = Listener::start(move |_| StubResponse::redirect(status, "/b")).await;
        let response = harness().get(&listener.url("/")).await.expect("a response");
        assert_eq!(response.status(), status);
    }
    let listener = Listener::start(|_| {
        let response = http::Response::builder().status(302).body(Bytes::new());
        StubResponse::Complete(response.expect("a response"))
    })
    .await;
    let response = harness().get(&listener.url("/")).await.expect("a response");
    assert_eq!(response.status(), StatusCode::FOUND, "without location");
    let listener = Listener::start(|_| StubResponse::redirect(302, "/b")).await;
    let request = post(&listener.url("/")).map(http_body_util::Full::new);
    let response = harness().client.send_streaming(request).await.expect("a response");
    assert_eq!(response.status(), StatusCode::FOUND, "streaming requests return redirects");
}
