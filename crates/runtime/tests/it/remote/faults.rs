//! Tests of failing upstream agents: each failure ends in a clear error within a bounded time or is
//! recovered, and other agents are not affected.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use latimer_client::transport::CallLimits;
use latimer_client::{Error, user_message};
use latimer_protocol::{SendMessageResponse, StreamResponse, TaskState};
use latimer_runtime::EchoAgent;

use super::stub::{RecordedRequest, Stub, StubResponse};
use super::{
    BINDING_VERSIONS, TEST_TIMEOUT, client_for, remote_agent, short_timeouts, start_gateway_with,
};

const SUBMITTED: &str =
    r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_SUBMITTED"}}}"#;
const WORKING: &str =
    r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str = r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

fn chunk_event(text: &str, append: bool) -> String {
    format!(
        r#"{{"artifactUpdate":{{"taskId":"t1","contextId":"c1","append":{append},"artifact":{{"artifactId":"a","parts":[{{"text":"{text}"}}]}}}}}}"#
    )
}

/// Creates a task with these chunks, as returned by `GetTask`.
fn task_json(state: &str, chunks: &[&str]) -> String {
    let parts: Vec<_> = chunks.iter().map(|it| format!(r#"{{"text":"{it}"}}"#)).collect();
    let artifacts = match parts.is_empty() {
        true => String::new(),
        false => format!(r#"{{"artifactId":"a","parts":[{}]}}"#, parts.join(",")),
    };
    format!(
        r#"{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_{state}"}},"artifacts":[{artifacts}]}}"#
    )
}

fn json_rpc_result(body: &str) -> StubResponse {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{body}}}"#);
    StubResponse::new(200, "application/json", &body)
}

fn is_method(request: &RecordedRequest, method: &str) -> bool {
    request.body.contains(&format!("\"{method}\""))
}

/// Result of a message.
#[derive(Debug, PartialEq)]
enum SendResult {
    /// Task in this state with this artifact text.
    Task(TaskState, String),
    /// Error of the agent.
    Error,
}

/// Sends a message through a gateway to an agent with these responses, and concurrently checks that
/// another agent of the same gateway works.
async fn send_through_gateway(
    respond: impl Fn(&RecordedRequest) -> StubResponse + Send + Sync + 'static,
) -> (SendResult, String) {
    let stub = Stub::start(respond).await;
    let limits = CallLimits {
        timeout: Duration::from_millis(500),
        idle_timeout: Duration::from_millis(500),
        ..CallLimits::default()
    };
    let upstream = remote_agent(stub.address(), &BINDING_VERSIONS[0])
        .configure_client(move |client| Ok(short_timeouts(client)?.limits(limits.clone())));
    let gateway =
        start_gateway_with([upstream.into_agent("proxy"), EchoAgent::new_agent("echo")]).await;
    let client = client_for(gateway.address(), &BINDING_VERSIONS[0]);
    let other =
        latimer_client::Client::new(&format!("http://{}/a2a/agents/echo", gateway.address()));
    let other = other.unwrap();
    let since = Instant::now();
    let (sent, echoed) =
        tokio::join!(client.send(user_message("hello")), other.send(user_message("still here")));
    assert!(since.elapsed() < TEST_TIMEOUT);
    let Ok(SendMessageResponse::Task(echoed)) = echoed else { panic!("{echoed:?}") };
    assert_eq!(echoed.text(), "still here");
    match sent {
        Ok(SendMessageResponse::Task(task)) => {
            let parts = task.artifacts.iter().flat_map(|it| &it.parts);
            let text = parts.filter_map(|it| it.as_text()).collect();
            let status_text = task.status.message.as_ref().map(|it| it.text()).unwrap_or_default();
            (SendResult::Task(task.status.state, text), status_text)
        }
        Ok(SendMessageResponse::Message(message)) => panic!("{message:?}"),
        Err(Error::Agent(error)) => (SendResult::Error, error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn invalid_response_returns_clear_error() {
    for (name, response, want) in [
        ("page", (200, "text/html", "<html>Welcome</html>"), "is invalid"),
        ("500", (500, "text/html", "<h1>Oops</h1>"), "is invalid"),
        ("503", (503, "application/json", ""), "does not respond to the proxy in front of it"),
        (
            "502",
            (502, "text/html", "<h1>Bad Gateway</h1>"),
            "does not respond to the proxy in front of it",
        ),
        ("nothing", (200, "application/json", ""), "is invalid"),
        ("garbage", (200, "application/json", "\u{0}\u{1}garbage"), "is invalid"),
        (
            "other",
            (200, "application/json", r#"{"jsonrpc":"2.0","id":1,"result":[]}"#),
            "is invalid",
        ),
        (
            "unauthorized",
            (401, "application/json", r#"{"detail":"no token"}"#),
            "rejected the credentials",
        ),
    ] {
        let (status, content_type, body) = response;
        let (result, message) =
            send_through_gateway(move |_| StubResponse::new(status, content_type, body)).await;
        assert_eq!(result, SendResult::Error, "{name}: {message}");
        assert!(message.to_lowercase().contains(want), "{name}: {message}");
    }
}

#[tokio::test]
async fn hanging_upstream_times_out() {
    let (result, message) = send_through_gateway(|_| StubResponse::Hang(String::new())).await;
    assert_eq!(result, SendResult::Error, "{message}");
    assert!(message.contains("in time"), "{message}");
}

#[tokio::test]
async fn cut_stream_resumes_by_subscribe_or_polling() {
    let chunks = [chunk_event("one ", false), chunk_event("two ", true)];
    let first_stream = StubResponse::event_stream(&[SUBMITTED, WORKING, &chunks[0], &chunks[1]]);
    for (name, subscribed) in [
        (
            "subscribe",
            StubResponse::event_stream(&[
                &format!(r#"{{"task":{}}}"#, task_json("WORKING", &["one ", "two ", "three "])),
                &chunk_event("four", true),
                DONE,
            ]),
        ),
        (
            "polling",
            r#"HTTP/1.1 200 OK
content-type: application/json
connection: close

{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no"}}"#
                .replace('\n', "\r\n"),
        ),
    ] {
        for hangs in [false, true] {
            let (first_stream, subscribed) = (first_stream.clone(), subscribed.clone());
            let (result, message) = send_through_gateway(move |request| match request {
                request if is_method(request, "SubscribeToTask") => {
                    StubResponse::Close(subscribed.clone())
                }
                request if is_method(request, "GetTask") => {
                    json_rpc_result(&task_json("COMPLETED", &["one ", "two ", "three ", "four"]))
                }
                _ if hangs => StubResponse::Hang(first_stream.clone()),
                _ => StubResponse::Close(first_stream.clone()),
            })
            .await;
            let want = SendResult::Task(TaskState::Completed, "one two three four".into());
            assert_eq!(result, want, "{name}, hangs: {hangs}: {message}");
        }
    }
}

#[tokio::test]
async fn gateway_errors_are_retried_during_upstream_restart() {
    let first_stream =
        StubResponse::event_stream(&[SUBMITTED, WORKING, &chunk_event("one ", false)]);
    let resubscriptions = AtomicUsize::new(0);
    let (result, message) = send_through_gateway(move |request| match request {
        request if is_method(request, "SubscribeToTask") => match resubscriptions
            .fetch_add(1, SeqCst)
        {
            0 => StubResponse::new(502, "text/html", "<h1>Bad Gateway</h1>"),
            1 => StubResponse::new(503, "text/plain", ""),
            _ => {
                let snapshot = format!(r#"{{"task":{}}}"#, task_json("WORKING", &["one ", "two"]));
                StubResponse::Close(StubResponse::event_stream(&[&snapshot, DONE]))
            }
        },
        _ => StubResponse::Close(first_stream.clone()),
    })
    .await;
    assert_eq!(result, SendResult::Task(TaskState::Completed, "one two".into()), "{message}");
}

#[tokio::test]
async fn task_fails_if_upstream_lost_it() {
    let first_stream = StubResponse::event_stream(&[SUBMITTED, WORKING]);
    let (result, message) = send_through_gateway(move |request| match request {
        request if is_method(request, "SubscribeToTask") || is_method(request, "GetTask") => {
            let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"not found"}}"#;
            StubResponse::new(200, "application/json", error)
        }
        _ => StubResponse::Close(first_stream.clone()),
    })
    .await;
    assert_eq!(result, SendResult::Task(TaskState::Failed, String::new()), "{message}");
    assert!(message.contains("no longer has this task"), "{message}");
}

#[tokio::test]
async fn duplicate_and_unordered_events_build_one_task() {
    let (one, two) = (chunk_event("one ", false), chunk_event("two", true));
    let duplicated = [SUBMITTED, SUBMITTED, WORKING, WORKING, &one, &two, DONE, DONE];
    let (early, late) = (chunk_event("one ", true), chunk_event("late", true));
    let unordered = [early.as_str(), SUBMITTED, &two, DONE, &late, WORKING];
    for (name, events) in [("duplicated", &duplicated[..]), ("unordered", &unordered)] {
        let stream = StubResponse::event_stream(events);
        let (result, message) =
            send_through_gateway(move |_| StubResponse::Close(stream.clone())).await;
        let want = SendResult::Task(TaskState::Completed, "one two".into());
        assert_eq!(result, want, "{name}: {message}");
    }
}

#[tokio::test]
async fn final_event_is_relayed_whatever_its_event_id() {
    let failed = DONE.replace("COMPLETED", "FAILED");
    let one = chunk_event("one", false);
    let stream =
        StubResponse::event_stream(&[SUBMITTED, &one, &failed]).replace("data: ", "id: 17\ndata: ");
    let (result, message) =
        send_through_gateway(move |_| StubResponse::Close(stream.clone())).await;
    assert_eq!(result, SendResult::Task(TaskState::Failed, "one".into()), "{message}");
}

#[tokio::test]
async fn append_to_unknown_artifact_creates_it() {
    let (early, two) = (chunk_event("one ", true), chunk_event("two", true));
    let stream = StubResponse::event_stream(&[SUBMITTED, &early, &two, DONE]);
    let stub = Stub::start(move |_| StubResponse::Close(stream.clone())).await;
    let gateway =
        start_gateway_with(
            [remote_agent(stub.address(), &BINDING_VERSIONS[0]).into_agent("proxy")],
        )
        .await;
    let events = client_for(gateway.address(), &BINDING_VERSIONS[0])
        .stream(user_message("hello"))
        .await
        .unwrap();
    let events: Vec<_> = events.try_collect().await.unwrap();
    let appends: Vec<_> = events
        .iter()
        .filter_map(|it| match it.event.event() {
            StreamResponse::ArtifactUpdate(update) => Some(update.append),
            _ => None,
        })
        .collect();
    assert_eq!(appends, [false, true]);
}

#[tokio::test]
async fn agent_without_streaming_is_polled() {
    for refusal in [-32004, -32601] {
        let (result, message) = send_through_gateway(move |request| match request {
            request if is_method(request, "SendMessage") => {
                json_rpc_result(&format!(r#"{{"task":{}}}"#, task_json("WORKING", &[])))
            }
            request if is_method(request, "GetTask") => {
                json_rpc_result(&task_json("COMPLETED", &["looked"]))
            }
            _ => {
                let error = format!(
                    r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{refusal},"message":"no"}}}}"#
                );
                StubResponse::new(200, "application/json", &error)
            }
        })
        .await;
        assert_eq!(result, SendResult::Task(TaskState::Completed, "looked".into()), "{message}");
    }
}

#[tokio::test]
async fn forbidden_upstream_address_opens_circuit() {
    let redirect = "HTTP/1.1 307 X\r\nlocation: ftp://inner.example/\r\ncontent-length: 0\r\n\r\n";
    let stub = Stub::start(move |_| StubResponse::Close(redirect.to_owned())).await;
    let upstream = remote_agent(stub.address(), &BINDING_VERSIONS[0])
        .configure_client(|client| Ok(short_timeouts(client)?.disable_streaming()))
        .into_agent("proxy");
    let gateway = start_gateway_with([upstream]).await;
    let client = client_for(gateway.address(), &BINDING_VERSIONS[0]);
    let mut messages = Vec::new();
    for _ in 0..20 {
        let Err(Error::Agent(error)) = client.send(user_message("hello")).await else {
            panic!("no error")
        };
        messages.push(error.message().to_owned());
    }
    let want = "the address of the upstream agent is not allowed (reference ";
    assert!(messages[0].starts_with(want), "{messages:?}");
    let rejected = messages.iter().filter(|it| it.contains("not responding; try again later"));
    assert!(rejected.count() > 5, "{messages:?}");
}

#[tokio::test]
async fn repeated_failures_open_circuit() {
    let calls = Arc::new(AtomicUsize::new(0));
    let call_counter = Arc::clone(&calls);
    let stub = Stub::start(move |_| {
        call_counter.fetch_add(1, SeqCst);
        StubResponse::new(500, "text/html", "<h1>Oops</h1>")
    })
    .await;
    let gateway =
        start_gateway_with(
            [remote_agent(stub.address(), &BINDING_VERSIONS[0]).into_agent("proxy")],
        )
        .await;
    let client = client_for(gateway.address(), &BINDING_VERSIONS[0]);
    let mut messages = Vec::new();
    for _ in 0..20 {
        let Err(Error::Agent(error)) = client.send(user_message("hello")).await else {
            panic!("no error")
        };
        messages.push((error.to_string(), error.retry_after_seconds().is_some()));
    }
    let call_count = calls.load(SeqCst);
    assert!((5..12).contains(&call_count), "{call_count} calls: {messages:?}");
    let (last, has_retry_after) = messages.last().unwrap();
    assert!(last.contains("not responding") && *has_retry_after, "{messages:?}");
}
