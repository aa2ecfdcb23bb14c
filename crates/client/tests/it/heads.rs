//! What the head of an answer says of an error: when to come back, where to go, why it cannot be read.

use std::time::{Duration, SystemTime};

use latimer_client::{Client, Error, says};
use latimer_protocol::Version;
use latimer_protocol::card::ProtocolBinding;

use crate::garbage::{HASTY, end, get, pairs, stream};
use crate::support::{Answer, Stub, transport_within};

#[tokio::test]
async fn how_long_to_wait_is_told() {
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(600));
    for (status, body) in [
        (429, ""),
        (429, "<h1>Slow down</h1>"),
        (429, r#"{"error":{"code":429,"message":"m"}}"#),
        (503, "<h1>Away</h1>"),
        (503, r#"{"error":{"code":503,"message":"m"}}"#),
    ] {
        for (said, want) in [("7", 7..=7), (&*date, 500..=600)] {
            let headers = format!("retry-after: {said}\r\n");
            let stub = Stub::start(move |_| Answer::with(status, &headers, body)).await;
            for pair in pairs() {
                let transport = transport_within(stub.address(), pair.clone(), HASTY);
                let what = format!("{pair:?} {status} {body} {said}");
                for call in [get(), stream()] {
                    let streams = call.request.operation().is_streaming();
                    if streams && pair == (ProtocolBinding::HttpJson, Version::V0_1) {
                        continue;
                    }
                    let error = end(&*transport, call).await.unwrap_err();
                    let wait = error.retry_after().map(|it| it.as_secs());
                    assert!(wait.is_some_and(|it| want.contains(&it)), "{what}: {error:?}");
                    // As a gateway would relay it.
                    let relayed = latimer_protocol::Error::from(error).retry_after_seconds();
                    assert!(relayed.is_some_and(|it| want.contains(&it)), "{what}: {relayed:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn what_is_refused_for_good_is_not_to_be_waited_for() {
    let stub = Stub::start(|_| Answer::with(400, "retry-after: 7\r\n", "{\"message\":\"m\"}"));
    let stub = stub.await;
    for pair in pairs() {
        let transport = transport_within(stub.address(), pair.clone(), HASTY);
        assert_eq!(end(&*transport, get()).await.unwrap_err().retry_after(), None, "{pair:?}");
    }
}

#[tokio::test]
async fn an_address_that_redirects_says_where_to() {
    for status in [301, 302, 303, 307, 308] {
        let headers = "location: https://agents.example/moved?key=k\r\n";
        let stub = Stub::start(move |_| Answer::with(status, headers, "")).await;
        let client = Client::new(&stub.url()).unwrap();
        let sent = client.send(says("hello")).await.map(drop);
        for answer in [sent, client.stream(says("hello")).await.map(drop)] {
            let error = answer.unwrap_err();
            assert!(matches!(&error, Error::Unreadable { .. }), "{status}: {error:?}");
            let want = "it redirects to https://agents.example:443, where nothing was sent";
            assert!(error.to_string().contains(want), "{status}: {error}");
            assert!(!error.to_string().contains("key"), "{error}");
        }
    }
    let stub = Stub::start(|_| Answer::with(307, "", "")).await;
    let client = Client::new(&stub.url()).unwrap();
    let sent = client.send(says("hello")).await.map(drop);
    for answer in [sent, client.stream(says("hello")).await.map(drop)] {
        let error = answer.unwrap_err();
        assert!(matches!(&error, Error::Unreadable { .. }), "{error:?}");
        assert!(error.to_string().contains("307, it leads nowhere"), "{error}");
    }
}

#[tokio::test]
async fn a_stream_follows_a_redirect_within_its_origin() {
    let event = r#"{"task":{"id":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;
    let stub = Stub::start(move |asked| match asked.path.ends_with('/') {
        true => Answer::Close(Answer::stream(&format!("data: {event}\n\n"))),
        false => Answer::with(307, &format!("location: {}/\r\n", asked.path), ""),
    })
    .await;
    let pair = (ProtocolBinding::HttpJson, Version::V1_0);
    let transport = transport_within(stub.address(), pair, HASTY);
    assert_eq!(end(&*transport, stream()).await.unwrap(), 1);
    let [first, second] = stub.asked().try_into().expect("asked twice");
    assert_eq!((&second.method, &second.body), (&first.method, &first.body));
    assert!(!second.body.is_empty(), "what is sent is sent again");
}

#[tokio::test]
async fn what_is_compressed_unasked_is_called_so() {
    for (encoding, compressed) in [("gzip", true), ("br", true), ("identity", false)] {
        let headers = format!("content-encoding: {encoding}\r\n");
        let stub = Stub::start(move |_| Answer::with(200, &headers, "\u{1f}\u{8b}")).await;
        for pair in pairs() {
            let transport = transport_within(stub.address(), pair.clone(), HASTY);
            let error = end(&*transport, get()).await.unwrap_err();
            assert!(matches!(&error, Error::Unreadable { .. }), "{pair:?}: {error:?}");
            let want = format!("compressed ({encoding}), which nobody asked for");
            assert_eq!(error.to_string().contains(&want), compressed, "{pair:?}: {error}");
        }
    }
}
