//! Canceling where the agent behind does not stop, or cannot be told to.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use latimer_client::{Client, Error, user_message};
use latimer_protocol::{
    ErrorKind, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, TaskId, TaskState,
};
use latimer_server::{Policy, RunningServer};

use super::stub::{Answer, Asked, Stub};
use super::{PAIRS, PATIENT, caller, gateway_of, remote, until};

/// How long the gateway gives an agent to stop.
const GRACE: Duration = Duration::from_millis(200);

fn task(state: &str) -> String {
    format!(r#"{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_{state}"}}}}"#)
}

fn answer(member: &str, value: &str) -> Answer {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"{member}":{value}}}"#);
    Answer::of(200, "application/json", &body)
}

/// The state of the task behind; nothing when it is forgotten there.
type State = Arc<Mutex<Option<&'static str>>>;

fn going_on() -> State {
    Arc::new(Mutex::new(Some("WORKING")))
}

/// A task that goes on behind a gateway, whose agent is looked at and answers to a cancel as it likes.
async fn working(
    cancel: impl Fn() -> Answer + Send + Sync + 'static,
    state: State,
) -> (Stub, RunningServer, Client, TaskId) {
    let stub = Stub::start(move |asked: &Asked| match () {
        () if ["SendStreaming", "Subscribe"].iter().any(|it| asked.body.contains(it)) => {
            answer("error", r#"{"code":-32004,"message":"no streams"}"#)
        }
        () if asked.body.contains("SendMessage") => {
            answer("result", &format!(r#"{{"task":{}}}"#, task("WORKING")))
        }
        () if asked.body.contains("CancelTask") => cancel(),
        () => match *state.lock().unwrap() {
            Some(state) => answer("result", &task(state)),
            None => answer("error", r#"{"code":-32001,"message":"no such task"}"#),
        },
    })
    .await;
    let policy = Policy { cancel_grace: GRACE, ..Policy::default() };
    let agent = remote(stub.address(), &PAIRS[0]).agent("proxy").with_policy(policy);
    let gateway = gateway_of([agent]).await;
    let client = caller(gateway.address(), &PAIRS[0]);
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    let request = SendMessageRequest::from(user_message("hello"));
    let request = SendMessageRequest { configuration: Some(configuration), ..request };
    let Ok(SendMessageResponse::Task(begun)) = client.send(request).await else {
        panic!("no task")
    };
    until(&client, &begun.id, |it| it.status.state == TaskState::Working).await;
    let since = Instant::now();
    while !stub.asked().iter().any(|it| it.body.contains("GetTask")) {
        assert!(since.elapsed() < PATIENT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (stub, gateway, client, begun.id.clone())
}

#[tokio::test]
async fn who_does_not_stop_goes_on_and_its_end_counts() {
    for (end, want) in [(Some("COMPLETED"), TaskState::Completed), (None, TaskState::Failed)] {
        let state = going_on();
        let refuses = || answer("error", r#"{"code":-32002,"message":"too late"}"#);
        let (_stub, _gateway, client, id) = working(refuses, Arc::clone(&state)).await;
        for _ in 0..2 {
            let refused = client.cancel_task(id.clone()).await;
            let Err(Error::Agent(error)) = refused else { panic!("{refused:?}") };
            assert_eq!(error.kind(), ErrorKind::TaskNotCancelable);
            assert!(error.message().contains("does not stop"), "{error}");
        }
        // Longer than an agent has that is canceled.
        tokio::time::sleep(GRACE * 2).await;
        assert_eq!(client.get_task(id.clone()).await.unwrap().status.state, TaskState::Working);
        *state.lock().unwrap() = end;
        until(&client, &id, |it| it.status.state == want).await;
    }
}

#[tokio::test]
async fn who_cannot_be_told_to_stop_is_told_later() {
    let (tries, stopped) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let told = Arc::clone(&stopped);
    let away = move || match tries.fetch_add(1, SeqCst) {
        0..4 => Answer::of(503, "text/html", "away"),
        _ => {
            told.store(true, SeqCst);
            answer("result", &task("CANCELED"))
        }
    };
    let (_stub, _gateway, client, id) = working(away, going_on()).await;
    let canceled = client.cancel_task(id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    let since = Instant::now();
    while !stopped.load(SeqCst) {
        assert!(since.elapsed() < PATIENT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
