//! Headers of error responses: `Retry-After`, `Location`, `Content-Encoding`.

use std::time::{Duration, SystemTime};

use latimer_client::{Client, Error, user_message};
use latimer_protocol::Version;
use latimer_protocol::card::ProtocolBinding;

use crate::malformed_responses::{TEST_LIMITS, get_task_call, http_pairs, run_to_end, stream_call};
use crate::support::{Stub, StubResponse, transport_with_limits};

#[tokio::test]
async fn retry_after_header_is_reported() {
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(600));
    for (status, body) in [
        (429, ""),
        (429, "<h1>Slow down</h1>"),
        (429, r#"{"error":{"code":429,"message":"m"}}"#),
        (503, "<h1>Away</h1>"),
        (503, r#"{"error":{"code":503,"message":"m"}}"#),
    ] {
        for (value, want) in [("7", 7..=7), (&*date, 500..=600)] {
            let headers = format!("retry-after: {value}\r\n");
            let stub =
                Stub::start(move |_| StubResponse::with_headers(status, &headers, body)).await;
            for pair in http_pairs() {
                let transport = transport_with_limits(stub.address(), pair.clone(), TEST_LIMITS);
                let case = format!("{pair:?} {status} {body} {value}");
                for call in [get_task_call(), stream_call()] {
                    let is_streaming = call.request.operation().is_streaming();
                    if is_streaming && pair == (ProtocolBinding::HttpJson, Version::V0_1) {
                        continue;
                    }
                    let error = run_to_end(&*transport, call).await.unwrap_err();
                    let wait = error.retry_after().map(|it| it.as_secs());
                    assert!(wait.is_some_and(|it| want.contains(&it)), "{case}: {error:?}");
                    // As a gateway relays it.
                    let relayed = latimer_protocol::Error::from(error).retry_after_seconds();
                    assert!(relayed.is_some_and(|it| want.contains(&it)), "{case}: {relayed:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn retry_after_is_ignored_for_permanent_errors() {
    let stub = Stub::start(|_| {
        StubResponse::with_headers(400, "retry-after: 7\r\n", "{\"message\":\"m\"}")
    });
    let stub = stub.await;
    for pair in http_pairs() {
        let transport = transport_with_limits(stub.address(), pair.clone(), TEST_LIMITS);
        assert_eq!(
            run_to_end(&*transport, get_task_call()).await.unwrap_err().retry_after(),
            None,
            "{pair:?}"
        );
    }
}

#[tokio::test]
async fn redirect_error_names_target_origin() {
    for status in [301, 302, 303, 307, 308] {
        let headers = "location: https://agents.example/moved?key=k\r\n";
        let stub = Stub::start(move |_| StubResponse::with_headers(status, headers, "")).await;
        let client = Client::new(&stub.url()).unwrap();
        let send_result = client.send(user_message("hello")).await.map(drop);
        for result in [send_result, client.stream(user_message("hello")).await.map(drop)] {
            let error = result.unwrap_err();
            assert!(matches!(&error, Error::InvalidResponse { .. }), "{status}: {error:?}");
            let want = "it redirects to https://agents.example:443, which received nothing";
            assert!(error.to_string().contains(want), "{status}: {error}");
            assert!(!error.to_string().contains("key"), "{error}");
        }
    }
    let stub = Stub::start(|_| StubResponse::with_headers(307, "", "")).await;
    let client = Client::new(&stub.url()).unwrap();
    let send_result = client.send(user_message("hello")).await.map(drop);
    for result in [send_result, client.stream(user_message("hello")).await.map(drop)] {
        let error = result.unwrap_err();
        assert!(matches!(&error, Error::InvalidResponse { .. }), "{error:?}");
        assert!(error.to_string().contains("307, it is a redirect without a location"), "{error}");
    }
}

#[tokio::test]
async fn stream_follows_same_origin_redirect() {
    let event = r#"{"task":{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
    let stub = Stub::start(move |request| match request.path.ends_with('/') {
        true => StubResponse::Close(StubResponse::stream(&format!("data: {event}\n\n"))),
        false => StubResponse::with_headers(307, &format!("location: {}/\r\n", request.path), ""),
    })
    .await;
    let pair = (ProtocolBinding::HttpJson, Version::V1_0);
    let transport = transport_with_limits(stub.address(), pair, TEST_LIMITS);
    assert_eq!(run_to_end(&*transport, stream_call()).await.unwrap(), 1);
    let [first, second] = stub.requests().try_into().expect("asked twice");
    assert_eq!((&second.method, &second.body), (&first.method, &first.body));
    assert!(!second.body.is_empty(), "the body is sent again");
}

#[tokio::test]
async fn unrequested_compression_is_reported() {
    for (encoding, is_reported) in [("gzip", true), ("br", true), ("identity", false)] {
        let headers = format!("content-encoding: {encoding}\r\n");
        let stub =
            Stub::start(move |_| StubResponse::with_headers(200, &headers, "\u{1f}\u{8b}")).await;
        for pair in http_pairs() {
            let transport = transport_with_limits(stub.address(), pair.clone(), TEST_LIMITS);
            let error = run_to_end(&*transport, get_task_call()).await.unwrap_err();
            assert!(matches!(&error, Error::InvalidResponse { .. }), "{pair:?}: {error:?}");
            let want = format!("compressed ({encoding}), which was not requested");
            assert_eq!(error.to_string().contains(&want), is_reported, "{pair:?}: {error}");
        }
    }
}
