//! Responses that are not A2A become errors, within the limits.

use std::time::Duration;

use futures_util::StreamExt;
use latimer_client::transport::{CallLimits, Transport};
use latimer_client::{CallOptions, Error, user_message};
use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{Call, ErrorKind, GetTaskRequest, ReplyKind, Request, TaskId, Version};

use crate::support::{BINDING_VERSIONS, Stub, StubResponse, demo, transport_with_limits};

pub(crate) const TEST_LIMITS: CallLimits =
    CallLimits { timeout: TEST_TIMEOUT, idle_timeout: TEST_TIMEOUT, max_body_bytes: 64 * 1024 };
/// Exceeds the duration of every response here, also on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn http_pairs() -> impl Iterator<Item = (ProtocolBinding, Version)> {
    BINDING_VERSIONS.into_iter().filter(|(binding, _)| *binding != ProtocolBinding::Grpc)
}

pub(crate) fn get_task_call() -> Call {
    Call::new(Request::GetTask(GetTaskRequest::from(TaskId::new("t1").unwrap())))
}

pub(crate) fn stream_call() -> Call {
    Call::new(Request::SendStreamingMessage(user_message("hello").into()))
}

/// Runs a call to its end, and returns the number of its events.
pub(crate) async fn run_to_end(transport: &dyn Transport, call: Call) -> Result<usize, Error> {
    match transport.exchange(&call, &CallOptions::default()).await?.kind {
        ReplyKind::Single(_) => Ok(1),
        ReplyKind::Stream(mut events) => {
            let mut count = 0;
            while let Some(event) = events.next().await {
                event?;
                count += 1;
            }
            Ok(count)
        }
    }
}

#[tokio::test]
async fn non_json_response_error_shows_status_and_excerpt() {
    for (status, content_type, body, want) in [
        (200, "text/html", "<html><body>Welcome</body></html>", "\"Welcome\""),
        (500, "text/html", "<h1>Oops</h1>", "HTTP status 500, it is not JSON"),
        (200, "application/json", "", "the body is empty"),
        (200, "application/json", "not json", "\"not json\""),
        (302, "text/plain", "moved", "HTTP status 302"),
    ] {
        let stub = Stub::start(move |_| StubResponse::new(status, content_type, body)).await;
        for pair in http_pairs() {
            let transport = transport_with_limits(stub.address(), pair.clone(), TEST_LIMITS);
            let error = run_to_end(&*transport, get_task_call()).await.unwrap_err();
            assert!(matches!(error, Error::InvalidResponse { .. }), "{pair:?}: {error:?}");
            assert!(error.to_string().contains(want), "{pair:?}: {error}");
            if pair != (ProtocolBinding::HttpJson, Version::V0_1) {
                let error = run_to_end(&*transport, stream_call()).await.unwrap_err();
                assert!(matches!(error, Error::InvalidResponse { .. }), "{pair:?}: {error:?}");
            }
        }
    }
}

#[tokio::test]
async fn gateway_status_is_upstream_unavailable() {
    for (status, body) in [(502, "<h1>Bad Gateway</h1>"), (503, ""), (504, "upstream timed out")] {
        let stub = Stub::start(move |_| StubResponse::new(status, "text/html", body)).await;
        for pair in http_pairs() {
            let transport = transport_with_limits(stub.address(), pair.clone(), TEST_LIMITS);
            let error = run_to_end(&*transport, get_task_call()).await.unwrap_err();
            assert!(
                matches!(error, Error::UpstreamUnavailable { .. }),
                "{pair:?} {status}: {error:?}"
            );
            assert!(error.is_transient() && !error.is_unsent(), "{error}");
            assert!(error.to_string().contains(&format!("HTTP status {status}")), "{error}");
        }
    }
}

#[tokio::test]
async fn error_body_of_every_shape_is_an_agent_error() {
    for (status, body, want) in [
        (200, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001}}"#, ErrorKind::TaskNotFound),
        (500, r#"{"error":{"code":-32001,"message":"m"}}"#, ErrorKind::TaskNotFound),
        (404, r#"{"error":{"code":404,"status":"NOT_FOUND"}}"#, ErrorKind::TaskNotFound),
        (404, r#"{"message":"no task"}"#, ErrorKind::TaskNotFound),
        (401, r#"{"detail":"no token"}"#, ErrorKind::Unauthenticated),
        (503, r#"{"error":{"code":503}}"#, ErrorKind::Unavailable),
    ] {
        let stub = Stub::start(move |_| StubResponse::new(status, "application/json", body)).await;
        for pair in http_pairs() {
            let transport = transport_with_limits(stub.address(), pair.clone(), TEST_LIMITS);
            let Err(Error::Agent(error)) = run_to_end(&*transport, get_task_call()).await else {
                panic!("{pair:?} {body}")
            };
            assert_eq!(error.kind(), want, "{pair:?} {body}");
        }
    }
}

#[tokio::test]
async fn not_found_without_task_id_is_method_not_found() {
    let stub =
        Stub::start(|_| StubResponse::new(404, "application/json", r#"{"detail":"Not Found"}"#));
    let stub = stub.await;
    for pair in http_pairs().filter(|(binding, _)| *binding == ProtocolBinding::HttpJson) {
        let transport = transport_with_limits(stub.address(), pair.clone(), TEST_LIMITS);
        let mut message = user_message("hello");
        for want in [ErrorKind::MethodNotFound, ErrorKind::TaskNotFound] {
            let send = Call::new(Request::SendMessage(message.clone().into()));
            let Err(Error::Agent(error)) = run_to_end(&*transport, send).await else {
                panic!("{pair:?}")
            };
            assert_eq!(error.kind(), want, "{pair:?}");
            message.task_id = TaskId::new("t1").ok();
        }
    }
    // A body can state that the task is not found.
    let body = latimer_protocol::Error::task_not_found("t0").to_http(Version::V1_0).body;
    let stub =
        Stub::start(move |_| StubResponse::new(404, "application/json", &body.to_string())).await;
    let pair = (ProtocolBinding::HttpJson, Version::V1_0);
    let transport = transport_with_limits(stub.address(), pair, TEST_LIMITS);
    for call in [stream_call(), Call::new(Request::SendMessage(user_message("hello").into()))] {
        let Err(Error::Agent(error)) = run_to_end(&*transport, call).await else { panic!() };
        assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    }
}

#[tokio::test]
async fn jsonrpc_response_with_another_id_is_accepted() {
    let task = r#"{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}"#;
    for id in ["\"other\"", "7", "null"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{task}}}"#);
        let stub = Stub::start(move |_| StubResponse::json(&body)).await;
        let pair = (ProtocolBinding::JsonRpc, Version::V1_0);
        let transport = transport_with_limits(stub.address(), pair, TEST_LIMITS);
        assert_eq!(run_to_end(&*transport, get_task_call()).await.unwrap(), 1, "{id}");
    }
}

const WORKING: &str = r#"{"task":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str = r#"{"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

async fn run_stream(
    idle_timeout: Duration,
    respond: impl Fn() -> StubResponse + Send + Sync + 'static,
) -> Result<usize, Error> {
    let stub = Stub::start(move |_| respond()).await;
    let pair = (ProtocolBinding::HttpJson, Version::V1_0);
    let limits = CallLimits { idle_timeout, ..TEST_LIMITS };
    run_to_end(&*transport_with_limits(stub.address(), pair, limits), stream_call()).await
}

#[tokio::test]
async fn stream_must_end_with_its_task() {
    let sse_response = |frames: &[&str]| {
        let frames: String = frames.iter().map(|it| format!("data: {it}\n\n")).collect();
        StubResponse::stream(&frames)
    };
    let complete = sse_response(&[WORKING, DONE]);
    let truncated = sse_response(&[WORKING]);
    for (response, want) in [
        (complete.clone(), Ok(2)),
        (format!("{complete}data: [DONE]\n\n"), Ok(2)),
        (format!("{complete}event: done\n\n"), Ok(2)),
        (format!("{complete}[DONE]\n"), Ok(2)),
        (complete.trim_end().to_owned(), Ok(2)),
        (truncated.clone(), Err("was interrupted")),
        (format!("{truncated}[DONE]\n"), Err("was interrupted")),
        (StubResponse::stream(""), Err("was interrupted")),
        (format!("{truncated}event: error\ndata: {{\"message\":\"broken\"}}\n\n"), Err("broken")),
        (
            format!("{truncated}data: {{\"error\":{{\"code\":-32603,\"message\":\"sad\"}}}}\n\n"),
            Err("sad"),
        ),
        (format!("{truncated}data: nonsense\n\n"), Err("invalid event in the stream")),
    ] {
        let description = response.clone();
        let got = run_stream(TEST_TIMEOUT, move || StubResponse::Close(response.clone())).await;
        match (got, want) {
            (Ok(got), Ok(want)) => assert_eq!(got, want, "{description}"),
            (Err(got), Err(want)) => {
                assert!(got.to_string().contains(want), "{description}: {got}")
            }
            (got, want) => panic!("{description}: {got:?}, not {want:?}"),
        }
    }
}

#[tokio::test]
async fn unclosed_stream_ends_with_its_task() {
    let frames = format!("data: {WORKING}\n\ndata: {DONE}\n\n");
    let got =
        run_stream(TEST_TIMEOUT, move || StubResponse::Hang(StubResponse::stream(&frames))).await;
    assert_eq!(got.unwrap(), 2);
}

#[tokio::test]
async fn silent_stream_times_out() {
    let frames = format!("data: {WORKING}\n\n");
    let idle_timeout = Duration::from_millis(600);
    let error = run_stream(idle_timeout, move || StubResponse::Hang(StubResponse::stream(&frames)))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    let server = demo().await;
    for pair in
        BINDING_VERSIONS.into_iter().filter(|(binding, _)| *binding == ProtocolBinding::Grpc)
    {
        let limits = CallLimits { idle_timeout, ..TEST_LIMITS };
        let transport = transport_with_limits(server.address(), pair.clone(), limits);
        let call = Call::new(Request::SendStreamingMessage(user_message("wait 60000").into()));
        let error = run_to_end(&*transport, call).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{pair:?}: {error:?}");
    }
}

#[tokio::test]
async fn endless_response_is_bounded() {
    let line = format!("data: {}", "x".repeat(100_000));
    let error = run_stream(TEST_TIMEOUT, move || StubResponse::Hang(StubResponse::stream(&line)))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("exceeds 65536 bytes"), "{error}");

    let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{".to_owned();
    let stub = Stub::start(move |_| StubResponse::Hang(head.clone())).await;
    let limits = CallLimits { timeout: Duration::from_millis(300), ..TEST_LIMITS };
    for pair in http_pairs() {
        let transport = transport_with_limits(stub.address(), pair.clone(), limits.clone());
        let error = run_to_end(&*transport, get_task_call()).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{pair:?}: {error:?}");
    }
}

#[tokio::test]
async fn refused_connection_is_unsent_and_closed_one_is_lost() {
    // Bound but not listened on, so that no other process can use the port.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let unreachable = socket.local_addr().unwrap();
    let closing = Stub::start(|_| StubResponse::Close(String::new())).await;
    for pair in BINDING_VERSIONS {
        let transport = transport_with_limits(unreachable, pair.clone(), TEST_LIMITS);
        let error = run_to_end(&*transport, get_task_call()).await.unwrap_err();
        assert!(error.is_unsent(), "{pair:?}: {error:?}");
    }
    for pair in http_pairs() {
        let transport = transport_with_limits(closing.address(), pair.clone(), TEST_LIMITS);
        let error = run_to_end(&*transport, get_task_call()).await.unwrap_err();
        assert!(matches!(error, Error::ConnectionLost { .. }), "{pair:?}: {error:?}");
    }
}
