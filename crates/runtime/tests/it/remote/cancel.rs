//! Tests of cancellations that the upstream agent rejects or cannot receive.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use latimer_client::{Client, Error, user_message};
use latimer_protocol::{
    ErrorKind, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, TaskId, TaskState,
};
use latimer_server::{Policy, RunningServer};

use super::stub::{RecordedRequest, Stub, StubResponse};
use super::{
    BINDING_VERSIONS, TEST_TIMEOUT, client_for, remote_agent, start_gateway_with, wait_until,
};

/// Cancel grace of the gateway.
const GRACE: Duration = Duration::from_millis(200);

fn task_json(state: &str) -> String {
    format!(r#"{{"id":"t1","contextId":"c1","status":{{"state":"TASK_STATE_{state}"}}}}"#)
}

fn json_rpc_response(member: &str, value: &str) -> StubResponse {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"{member}":{value}}}"#);
    StubResponse::new(200, "application/json", &body)
}

/// State of the upstream task; `None` if the upstream agent has no such task.
type UpstreamState = Arc<Mutex<Option<&'static str>>>;

fn working_state() -> UpstreamState {
    Arc::new(Mutex::new(Some("WORKING")))
}

/// Starts a task that runs at a stub agent, which is polled and responds to cancel requests with
/// `cancel`.
async fn start_working_task(
    cancel: impl Fn() -> StubResponse + Send + Sync + 'static,
    state: UpstreamState,
) -> (Stub, RunningServer, Client, TaskId) {
    let stub = Stub::start(move |request: &RecordedRequest| match () {
        () if ["SendStreaming", "Subscribe"].iter().any(|it| request.body.contains(it)) => {
            json_rpc_response("error", r#"{"code":-32004,"message":"no streams"}"#)
        }
        () if request.body.contains("SendMessage") => {
            json_rpc_response("result", &format!(r#"{{"task":{}}}"#, task_json("WORKING")))
        }
        () if request.body.contains("CancelTask") => cancel(),
        () => match *state.lock().unwrap() {
            Some(state) => json_rpc_response("result", &task_json(state)),
            None => json_rpc_response("error", r#"{"code":-32001,"message":"no such task"}"#),
        },
    })
    .await;
    let agent = remote_agent(stub.address(), &BINDING_VERSIONS[0]).into_agent("proxy");
    let policy = Policy { cancel_grace: GRACE, ..agent.policy().clone() };
    let agent = agent.with_policy(policy);
    let gateway = start_gateway_with([agent]).await;
    let client = client_for(gateway.address(), &BINDING_VERSIONS[0]);
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    let request = SendMessageRequest::from(user_message("hello"));
    let request = SendMessageRequest { configuration: Some(configuration), ..request };
    let Ok(SendMessageResponse::Task(started)) = client.send(request).await else {
        panic!("no task")
    };
    wait_until(&client, &started.id, |it| it.status.state == TaskState::Working).await;
    let since = Instant::now();
    while !stub.requests().iter().any(|it| it.body.contains("GetTask")) {
        assert!(since.elapsed() < TEST_TIMEOUT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (stub, gateway, client, started.id.clone())
}

#[tokio::test]
async fn rejected_cancel_preserves_task_and_final_state() {
    for (end, want) in [(Some("COMPLETED"), TaskState::Completed), (None, TaskState::Failed)] {
        let state = working_state();
        let refuse = || json_rpc_response("error", r#"{"code":-32002,"message":"too late"}"#);
        let (_stub, _gateway, client, id) = start_working_task(refuse, Arc::clone(&state)).await;
        for _ in 0..2 {
            let result = client.cancel_task(id.clone()).await;
            let Err(Error::Agent(error)) = result else { panic!("{result:?}") };
            assert_eq!(error.kind(), ErrorKind::TaskNotCancelable);
            assert!(
                error.message().contains("the upstream agent rejected the cancellation"),
                "{error}"
            );
        }
        // Longer than the cancel grace.
        tokio::time::sleep(GRACE * 2).await;
        assert_eq!(client.get_task(id.clone()).await.unwrap().status.state, TaskState::Working);
        *state.lock().unwrap() = end;
        wait_until(&client, &id, |it| it.status.state == want).await;
    }
}

#[tokio::test]
async fn failed_upstream_cancel_is_retried() {
    let (attempts, was_canceled) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let cancel_flag = Arc::clone(&was_canceled);
    let respond = move || match attempts.fetch_add(1, SeqCst) {
        0..4 => StubResponse::new(503, "text/html", "unavailable"),
        _ => {
            cancel_flag.store(true, SeqCst);
            json_rpc_response("result", &task_json("CANCELED"))
        }
    };
    let (_stub, _gateway, client, id) = start_working_task(respond, working_state()).await;
    let canceled = client.cancel_task(id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
    let since = Instant::now();
    while !was_canceled.load(SeqCst) {
        assert!(since.elapsed() < TEST_TIMEOUT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
