//! Agents behind that fail in every way: each comes to a stated end within a bound, or heals, and
//! nobody else notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use latimer_client::transport::CallLimits;
use latimer_client::{Error, user_message};
use latimer_protocol::{SendMessageResponse, StreamResponse, TaskState};
use latimer_runtime::Echo;

use super::stub::{Answer, Asked, Stub};
use super::{PAIRS, PATIENT, caller, gateway_of, hasty, remote};

const SUBMITTED: &str =
    r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_SUBMITTED"}}}"#;
const WORKING: &str =
    r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str = r#"{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

fn piece(text: &str, append: bool) -> String {
    format!(
        r#"{{"artifactUpdate":{{"taskId":"t1","contextId":"c1","append":{append},"artifact":{{"artifactId":"a","parts":[{{"text":"{text}"}}]}}}}}}"#
    )
}

/// The task as it stands, with its pieces, as an answer to `GetTask`.
fn task(state: &str, pieces: &[&str]) -> String {
    let parts: Vec<_> = pieces.iter().map(|it| format!(r#"{{"text":"{it}"}}"#)).collect();
    let artifacts = match parts.is_empty() {
        true => String::new(),
        false => format!(r#"{{"artifactId":"a","parts":[{}]}}"#, parts.join(",")),
    };
    format!(
        r#"{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_{state}"}},"artifacts":[{artifacts}]}}"#
    )
}

fn result(body: &str) -> Answer {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{body}}}"#);
    Answer::of(200, "application/json", &body)
}

fn is(asked: &Asked, method: &str) -> bool {
    asked.body.contains(&format!("\"{method}\""))
}

/// What a message comes to.
#[derive(Debug, PartialEq)]
enum End {
    /// A task in this state with this text.
    Task(TaskState, String),
    /// An error.
    Error,
}

/// Sends a message through a gateway to an agent that answers like this. Another agent of the same
/// gateway is asked meanwhile.
async fn through(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> (End, String) {
    let stub = Stub::start(answer).await;
    let limits = CallLimits {
        timeout: Duration::from_millis(500),
        idle_timeout: Duration::from_millis(500),
        ..CallLimits::default()
    };
    let behind = remote(stub.address(), &PAIRS[0])
        .client(move |client| Ok(hasty(client)?.limits(limits.clone())));
    let gateway = gateway_of([behind.agent("proxy"), Echo::agent("echo")]).await;
    let client = caller(gateway.address(), &PAIRS[0]);
    let other =
        latimer_client::Client::new(&format!("http://{}/a2a/agents/echo", gateway.address()));
    let other = other.unwrap();
    let since = Instant::now();
    let (sent, echoed) =
        tokio::join!(client.send(user_message("hello")), other.send(user_message("still here")));
    assert!(since.elapsed() < PATIENT);
    let Ok(SendMessageResponse::Task(echoed)) = echoed else { panic!("{echoed:?}") };
    assert_eq!(echoed.text(), "still here");
    match sent {
        Ok(SendMessageResponse::Task(task)) => {
            let parts = task.artifacts.iter().flat_map(|it| &it.parts);
            let text = parts.filter_map(|it| it.as_text()).collect();
            let said = task.status.message.as_ref().map(|it| it.text()).unwrap_or_default();
            (End::Task(task.status.state, text), said)
        }
        Ok(SendMessageResponse::Message(message)) => panic!("{message:?}"),
        Err(Error::Agent(error)) => (End::Error, error.to_string()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn what_is_no_answer_is_an_error_that_says_so() {
    for (name, answer, want) in [
        ("page", (200, "text/html", "<html>Welcome</html>"), "not valid"),
        ("500", (500, "text/html", "<h1>Oops</h1>"), "not valid"),
        ("503", (503, "application/json", ""), "does not answer whoever stands before it"),
        (
            "502",
            (502, "text/html", "<h1>Bad Gateway</h1>"),
            "does not answer whoever stands before it",
        ),
        ("nothing", (200, "application/json", ""), "not valid"),
        ("garbage", (200, "application/json", "\u{0}\u{1}garbage"), "not valid"),
        (
            "other",
            (200, "application/json", r#"{"jsonrpc":"2.0","id":1,"result":[]}"#),
            "not valid",
        ),
        ("refused", (401, "application/json", r#"{"detail":"no token"}"#), "does not let it in"),
    ] {
        let (status, content_type, body) = answer;
        let (end, words) = through(move |_| Answer::of(status, content_type, body)).await;
        assert_eq!(end, End::Error, "{name}: {words}");
        assert!(words.to_lowercase().contains(want), "{name}: {words}");
    }
}

#[tokio::test]
async fn silence_has_an_end() {
    let (end, words) = through(|_| Answer::Hang(String::new())).await;
    assert_eq!(end, End::Error, "{words}");
    assert!(words.contains("in time"), "{words}");
}

#[tokio::test]
async fn a_cut_stream_goes_on_by_another_or_by_looking() {
    let pieces = [piece("one ", false), piece("two ", true)];
    let begun = Answer::stream(&[SUBMITTED, WORKING, &pieces[0], &pieces[1]]);
    for (name, subscribed) in [
        (
            "another stream",
            Answer::stream(&[
                &format!(r#"{{"task":{}}}"#, task("WORKING", &["one ", "two ", "three "])),
                &piece("four", true),
                DONE,
            ]),
        ),
        (
            "a look",
            r#"HTTP/1.1 200 OK
content-type: application/json
connection: close

{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no"}}"#
                .replace('\n', "\r\n"),
        ),
    ] {
        for hangs in [false, true] {
            let (begun, subscribed) = (begun.clone(), subscribed.clone());
            let (end, words) = through(move |asked| match asked {
                asked if is(asked, "SubscribeToTask") => Answer::Close(subscribed.clone()),
                asked if is(asked, "GetTask") => {
                    result(&task("COMPLETED", &["one ", "two ", "three ", "four"]))
                }
                _ if hangs => Answer::Hang(begun.clone()),
                _ => Answer::Close(begun.clone()),
            })
            .await;
            let want = End::Task(TaskState::Completed, "one two three four".into());
            assert_eq!(end, want, "{name}, hangs: {hangs}: {words}");
        }
    }
}

#[tokio::test]
async fn a_proxy_before_an_agent_that_restarts_is_asked_again() {
    let begun = Answer::stream(&[SUBMITTED, WORKING, &piece("one ", false)]);
    let asked_again = AtomicUsize::new(0);
    let (end, words) = through(move |asked| match asked {
        asked if is(asked, "SubscribeToTask") => match asked_again.fetch_add(1, SeqCst) {
            0 => Answer::of(502, "text/html", "<h1>Bad Gateway</h1>"),
            1 => Answer::of(503, "text/plain", ""),
            _ => {
                let now = format!(r#"{{"task":{}}}"#, task("WORKING", &["one ", "two"]));
                Answer::Close(Answer::stream(&[&now, DONE]))
            }
        },
        _ => Answer::Close(begun.clone()),
    })
    .await;
    assert_eq!(end, End::Task(TaskState::Completed, "one two".into()), "{words}");
}

#[tokio::test]
async fn an_agent_that_forgot_its_task_has_failed() {
    let begun = Answer::stream(&[SUBMITTED, WORKING]);
    let (end, words) = through(move |asked| match asked {
        asked if is(asked, "SubscribeToTask") || is(asked, "GetTask") => {
            let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"gone"}}"#;
            Answer::of(200, "application/json", error)
        }
        _ => Answer::Close(begun.clone()),
    })
    .await;
    assert_eq!(end, End::Task(TaskState::Failed, String::new()), "{words}");
    assert!(words.contains("does not know the task any more"), "{words}");
}

#[tokio::test]
async fn events_in_any_order_make_a_task() {
    let (one, two) = (piece("one ", false), piece("two", true));
    let again = [SUBMITTED, SUBMITTED, WORKING, WORKING, &one, &two, DONE, DONE];
    let (early, late) = (piece("one ", true), piece("late", true));
    let unordered = [early.as_str(), SUBMITTED, &two, DONE, &late, WORKING];
    for (name, events) in [("again", &again[..]), ("unordered", &unordered)] {
        let stream = Answer::stream(events);
        let (end, words) = through(move |_| Answer::Close(stream.clone())).await;
        let want = End::Task(TaskState::Completed, "one two".into());
        assert_eq!(end, want, "{name}: {words}");
    }
}

#[tokio::test]
async fn an_end_is_told_whatever_number_it_has() {
    let failed = DONE.replace("COMPLETED", "FAILED");
    let one = piece("one", false);
    let stream = Answer::stream(&[SUBMITTED, &one, &failed]).replace("data: ", "id: 17\ndata: ");
    let (end, words) = through(move |_| Answer::Close(stream.clone())).await;
    assert_eq!(end, End::Task(TaskState::Failed, "one".into()), "{words}");
}

#[tokio::test]
async fn more_of_what_was_never_begun_is_a_beginning() {
    let (early, two) = (piece("one ", true), piece("two", true));
    let stream = Answer::stream(&[SUBMITTED, &early, &two, DONE]);
    let stub = Stub::start(move |_| Answer::Close(stream.clone())).await;
    let gateway = gateway_of([remote(stub.address(), &PAIRS[0]).agent("proxy")]).await;
    let events = caller(gateway.address(), &PAIRS[0]).stream(user_message("hello")).await.unwrap();
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
async fn who_only_claims_to_stream_is_looked_at() {
    for refusal in [-32004, -32601] {
        let (end, words) = through(move |asked| match asked {
            asked if is(asked, "SendMessage") => {
                result(&format!(r#"{{"task":{}}}"#, task("WORKING", &[])))
            }
            asked if is(asked, "GetTask") => result(&task("COMPLETED", &["looked"])),
            _ => {
                let error = format!(
                    r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{refusal},"message":"no"}}}}"#
                );
                Answer::of(200, "application/json", &error)
            }
        })
        .await;
        assert_eq!(end, End::Task(TaskState::Completed, "looked".into()), "{words}");
    }
}

#[tokio::test]
async fn an_agent_at_an_address_that_may_not_be_called_counts_as_failing() {
    let astray = "HTTP/1.1 307 X\r\nlocation: ftp://inner.example/\r\ncontent-length: 0\r\n\r\n";
    let stub = Stub::start(move |_| Answer::Close(astray.to_owned())).await;
    let behind = remote(stub.address(), &PAIRS[0])
        .client(|client| Ok(hasty(client)?.disable_streaming()))
        .agent("proxy");
    let gateway = gateway_of([behind]).await;
    let client = caller(gateway.address(), &PAIRS[0]);
    let mut words = Vec::new();
    for _ in 0..20 {
        let Err(Error::Agent(error)) = client.send(user_message("hello")).await else {
            panic!("no error")
        };
        words.push(error.message().to_owned());
    }
    let want = "the agent behind this one is at an address that may not be called";
    assert_eq!(words[0], want);
    let left_alone = words.iter().filter(|it| it.contains("does not answer; try again later"));
    assert!(left_alone.count() > 5, "{words:?}");
}

#[tokio::test]
async fn an_agent_that_fails_again_and_again_is_left_alone() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let stub = Stub::start(move |_| {
        counted.fetch_add(1, SeqCst);
        Answer::of(500, "text/html", "<h1>Oops</h1>")
    })
    .await;
    let gateway = gateway_of([remote(stub.address(), &PAIRS[0]).agent("proxy")]).await;
    let client = caller(gateway.address(), &PAIRS[0]);
    let mut words = Vec::new();
    for _ in 0..20 {
        let Err(Error::Agent(error)) = client.send(user_message("hello")).await else {
            panic!("no error")
        };
        words.push((error.to_string(), error.retry_after_seconds().is_some()));
    }
    let made = calls.load(SeqCst);
    assert!((5..12).contains(&made), "{made} calls: {words:?}");
    let (last, says_when) = words.last().unwrap();
    assert!(last.contains("does not answer") && *says_when, "{words:?}");
}
