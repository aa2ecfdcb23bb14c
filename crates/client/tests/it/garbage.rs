//! What is no answer of an agent becomes an error that says so, and in time.

use std::time::Duration;

use futures_util::StreamExt;
use latimer_client::transport::{Limits, Outcome, Transport};
use latimer_client::{Error, says};
use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{Call, ErrorKind, GetTaskRequest, Request, TaskId, Version};

use crate::support::{Answer, PAIRS, Stub, demo, transport_within};

pub(crate) const HASTY: Limits = Limits { call: PATIENT, idle: PATIENT, body: 64 * 1024 };
/// More than any answer here takes, on a busy machine too.
const PATIENT: Duration = Duration::from_secs(20);

pub(crate) fn pairs() -> impl Iterator<Item = (ProtocolBinding, Version)> {
    PAIRS.into_iter().filter(|(binding, _)| *binding != ProtocolBinding::Grpc)
}

pub(crate) fn get() -> Call {
    Call::new(Request::GetTask(GetTaskRequest::from(TaskId::new("t1").unwrap())))
}

pub(crate) fn stream() -> Call {
    Call::new(Request::SendStreamingMessage(says("hello").into()))
}

/// How a call ends, be it with its first event or its last.
pub(crate) async fn end(transport: &dyn Transport, call: Call) -> Result<usize, Error> {
    match transport.exchange(&call).await?.outcome {
        Outcome::Reply(_) => Ok(1),
        Outcome::Events(mut events) => {
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
async fn pages_and_nothing_at_all_are_told_by_status_and_first_words() {
    for (status, content_type, body, want) in [
        (200, "text/html", "<html><body>Welcome</body></html>", "\"Welcome\""),
        (500, "text/html", "<h1>Oops</h1>", "HTTP status 500, it is not JSON"),
        (200, "application/json", "", "nothing"),
        (200, "application/json", "not json", "\"not json\""),
        (302, "text/plain", "moved", "HTTP status 302"),
    ] {
        let stub = Stub::start(move |_| Answer::of(status, content_type, body)).await;
        for pair in pairs() {
            let transport = transport_within(stub.address(), pair.clone(), HASTY);
            let error = end(&*transport, get()).await.unwrap_err();
            assert!(matches!(error, Error::Unreadable { .. }), "{pair:?}: {error:?}");
            assert!(error.to_string().contains(want), "{pair:?}: {error}");
            if pair != (ProtocolBinding::HttpJson, Version::V0_1) {
                let error = end(&*transport, stream()).await.unwrap_err();
                assert!(matches!(error, Error::Unreadable { .. }), "{pair:?}: {error:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_proxy_without_its_agent_is_told_apart() {
    for (status, body) in [(502, "<h1>Bad Gateway</h1>"), (503, ""), (504, "upstream timed out")] {
        let stub = Stub::start(move |_| Answer::of(status, "text/html", body)).await;
        for pair in pairs() {
            let transport = transport_within(stub.address(), pair.clone(), HASTY);
            let error = end(&*transport, get()).await.unwrap_err();
            assert!(matches!(error, Error::Away { .. }), "{pair:?} {status}: {error:?}");
            assert!(error.is_passing() && !error.is_unsent(), "{error}");
            assert!(error.to_string().contains(&format!("HTTP status {status}")), "{error}");
        }
    }
}

#[tokio::test]
async fn errors_of_every_shape_are_the_agents() {
    for (status, body, want) in [
        (200, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001}}"#, ErrorKind::TaskNotFound),
        (500, r#"{"error":{"code":-32001,"message":"m"}}"#, ErrorKind::TaskNotFound),
        (404, r#"{"error":{"code":404,"status":"NOT_FOUND"}}"#, ErrorKind::TaskNotFound),
        (404, r#"{"message":"no task"}"#, ErrorKind::TaskNotFound),
        (401, r#"{"detail":"no token"}"#, ErrorKind::Unauthenticated),
        (503, r#"{"error":{"code":503}}"#, ErrorKind::Unavailable),
    ] {
        let stub = Stub::start(move |_| Answer::of(status, "application/json", body)).await;
        for pair in pairs() {
            let transport = transport_within(stub.address(), pair.clone(), HASTY);
            let Err(Error::Agent(error)) = end(&*transport, get()).await else {
                panic!("{pair:?} {body}")
            };
            assert_eq!(error.kind(), want, "{pair:?} {body}");
        }
    }
}

#[tokio::test]
async fn an_address_where_nobody_is_is_no_missing_task() {
    let stub = Stub::start(|_| Answer::of(404, "application/json", r#"{"detail":"Not Found"}"#));
    let stub = stub.await;
    for pair in pairs().filter(|(binding, _)| *binding == ProtocolBinding::HttpJson) {
        let transport = transport_within(stub.address(), pair.clone(), HASTY);
        let mut message = says("hello");
        for want in [ErrorKind::MethodNotFound, ErrorKind::TaskNotFound] {
            let send = Call::new(Request::SendMessage(message.clone().into()));
            let Err(Error::Agent(error)) = end(&*transport, send).await else { panic!("{pair:?}") };
            assert_eq!(error.kind(), want, "{pair:?}");
            message.task_id = TaskId::new("t1").ok();
        }
    }
    // One that says so in so many words means it.
    let said = latimer_protocol::Error::task_not_found("t0").to_http(Version::V1_0).body;
    let stub = Stub::start(move |_| Answer::of(404, "application/json", &said.to_string())).await;
    let pair = (ProtocolBinding::HttpJson, Version::V1_0);
    let transport = transport_within(stub.address(), pair, HASTY);
    for call in [stream(), Call::new(Request::SendMessage(says("hello").into()))] {
        let Err(Error::Agent(error)) = end(&*transport, call).await else { panic!() };
        assert_eq!(error.kind(), ErrorKind::TaskNotFound);
    }
}

#[tokio::test]
async fn an_answer_under_another_id_is_still_the_answer() {
    let task = r#"{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}"#;
    for id in ["\"other\"", "7", "null"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{task}}}"#);
        let stub = Stub::start(move |_| Answer::json(&body)).await;
        let pair = (ProtocolBinding::JsonRpc, Version::V1_0);
        let transport = transport_within(stub.address(), pair, HASTY);
        assert_eq!(end(&*transport, get()).await.unwrap(), 1, "{id}");
    }
}

const WORKING: &str = r#"{"task":{"id":"t1","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str = r#"{"statusUpdate":{"taskId":"t1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

async fn streamed(
    idle: Duration,
    answer: impl Fn() -> Answer + Send + Sync + 'static,
) -> Result<usize, Error> {
    let stub = Stub::start(move |_| answer()).await;
    let pair = (ProtocolBinding::HttpJson, Version::V1_0);
    let limits = Limits { idle, ..HASTY };
    end(&*transport_within(stub.address(), pair, limits), stream()).await
}

#[tokio::test]
async fn a_stream_ends_with_its_task_and_not_before() {
    let told = |frames: &[&str]| {
        let frames: String = frames.iter().map(|it| format!("data: {it}\n\n")).collect();
        Answer::stream(&frames)
    };
    let whole = told(&[WORKING, DONE]);
    let cut = told(&[WORKING]);
    for (answer, want) in [
        (whole.clone(), Ok(2)),
        (format!("{whole}data: [DONE]\n\n"), Ok(2)),
        (format!("{whole}event: done\n\n"), Ok(2)),
        (format!("{whole}[DONE]\n"), Ok(2)),
        (whole.trim_end().to_owned(), Ok(2)),
        (cut.clone(), Err("was cut off")),
        (format!("{cut}[DONE]\n"), Err("was cut off")),
        (Answer::stream(""), Err("was cut off")),
        (format!("{cut}event: error\ndata: {{\"message\":\"broken\"}}\n\n"), Err("broken")),
        (
            format!("{cut}data: {{\"error\":{{\"code\":-32603,\"message\":\"sad\"}}}}\n\n"),
            Err("sad"),
        ),
        (format!("{cut}data: nonsense\n\n"), Err("an event of its stream")),
    ] {
        let shown = answer.clone();
        let got = streamed(PATIENT, move || Answer::Close(answer.clone())).await;
        match (got, want) {
            (Ok(got), Ok(want)) => assert_eq!(got, want, "{shown}"),
            (Err(got), Err(want)) => assert!(got.to_string().contains(want), "{shown}: {got}"),
            (got, want) => panic!("{shown}: {got:?}, not {want:?}"),
        }
    }
}

#[tokio::test]
async fn a_stream_that_does_not_close_ends_with_its_task_all_the_same() {
    let frames = format!("data: {WORKING}\n\ndata: {DONE}\n\n");
    let got = streamed(PATIENT, move || Answer::Hang(Answer::stream(&frames))).await;
    assert_eq!(got.unwrap(), 2);
}

#[tokio::test]
async fn a_silent_stream_is_given_up() {
    let frames = format!("data: {WORKING}\n\n");
    let idle = Duration::from_millis(600);
    let error = streamed(idle, move || Answer::Hang(Answer::stream(&frames))).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
    let server = demo().await;
    for pair in PAIRS.into_iter().filter(|(binding, _)| *binding == ProtocolBinding::Grpc) {
        let limits = Limits { idle, ..HASTY };
        let transport = transport_within(server.address(), pair.clone(), limits);
        let call = Call::new(Request::SendStreamingMessage(says("wait 60000").into()));
        let error = end(&*transport, call).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{pair:?}: {error:?}");
    }
}

#[tokio::test]
async fn what_never_ends_is_bounded() {
    let line = format!("data: {}", "x".repeat(100_000));
    let error = streamed(PATIENT, move || Answer::Hang(Answer::stream(&line))).await.unwrap_err();
    assert!(error.to_string().contains("larger than 65536 bytes"), "{error}");

    let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{".to_owned();
    let stub = Stub::start(move |_| Answer::Hang(head.clone())).await;
    let limits = Limits { call: Duration::from_millis(300), ..HASTY };
    for pair in pairs() {
        let transport = transport_within(stub.address(), pair.clone(), limits.clone());
        let error = end(&*transport, get()).await.unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{pair:?}: {error:?}");
    }
}

#[tokio::test]
async fn nobody_there_is_not_the_same_as_nobody_answering() {
    // Bound, so that it is nobody else's, and not listened at.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let gone = socket.local_addr().unwrap();
    let rude = Stub::start(|_| Answer::Close(String::new())).await;
    for pair in PAIRS {
        let transport = transport_within(gone, pair.clone(), HASTY);
        let error = end(&*transport, get()).await.unwrap_err();
        assert!(error.is_unsent(), "{pair:?}: {error:?}");
    }
    for pair in pairs() {
        let transport = transport_within(rude.address(), pair.clone(), HASTY);
        let error = end(&*transport, get()).await.unwrap_err();
        assert!(matches!(error, Error::Lost { .. }), "{pair:?}: {error:?}");
    }
}
