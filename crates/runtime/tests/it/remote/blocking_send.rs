//! Tests of blocking calls: the gateway makes a blocking call upstream and follows the task if it
//! takes long.

use std::time::{Duration, Instant};

use latimer_client::{Client, user_message};
use latimer_protocol::{Message, SendMessageResponse, Task, TaskId, TaskState};

use super::stub::{RecordedRequest, Stub, StubResponse};
use super::{
    BINDING_VERSIONS, TEST_TIMEOUT, client_for, remote_agent, start_demo, start_gateway,
    supports_streaming,
};

const COMPLETED_TASK: &str =
    r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

fn is_method(request: &RecordedRequest, method: &str) -> bool {
    request.body.contains(&format!("\"{method}\""))
}

fn json_rpc_result(body: &str) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{body}}}"#);
    let StubResponse::Close(response) = StubResponse::new(200, "application/json", &body) else {
        unreachable!()
    };
    response
}

/// Creates a page of tasks in the requested context, or in another one.
fn task_page(request: &RecordedRequest, tasks: &[&str], context: Option<&str>) -> String {
    let body: serde_json::Value = serde_json::from_str(&request.body).unwrap();
    let context = context.or(body["params"]["contextId"].as_str()).unwrap();
    let tasks = tasks.iter().map(|id| {
        format!(
            r#"{{"id":"{id}","contextId":"{context}","status":{{"state":"TASK_STATE_WORKING"}}}}"#
        )
    });
    let tasks = tasks.collect::<Vec<_>>().join(",");
    json_rpc_result(&format!(
        r#"{{"tasks":[{tasks}],"nextPageToken":"","pageSize":2,"totalSize":1}}"#
    ))
}

async fn send_for_task(client: &Client, message: impl Into<Message>) -> Task {
    match client.send(message.into()).await.unwrap() {
        SendMessageResponse::Task(task) => (*task).clone(),
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

/// Waits until the list of tasks contains one that matches, and returns its id.
async fn wait_until_listed(client: &Client, want: impl Fn(&Task) -> bool) -> TaskId {
    let since = Instant::now();
    loop {
        let page = client.list_tasks(Default::default()).await.unwrap();
        if let Some(task) = page.tasks.iter().find(|it| want(it)) {
            return task.id.clone();
        }
        assert!(since.elapsed() < TEST_TIMEOUT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Sends a first message, with which the gateway probes whether tasks can be looked up by context.
/// Returns whether later messages are blocking calls; `want` is the expected result.
async fn probe_task_lookup(client: &Client, stub: &Stub, want: bool) -> bool {
    let since = Instant::now();
    send_for_task(client, user_message("hello")).await;
    while !stub.requests().iter().any(|it| is_method(it, "ListTasks")) {
        assert!(since.elapsed() < TEST_TIMEOUT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The gateway evaluates the probe shortly after the response.
    let max_wait = if want { TEST_TIMEOUT } else { Duration::from_millis(500) };
    let blocking_sends =
        || stub.requests().iter().filter(|it| is_method(it, "SendMessage")).count();
    while blocking_sends() == 0 && since.elapsed() < max_wait {
        send_for_task(client, user_message("hello")).await;
    }
    blocking_sends() > 0
}

/// Starts an agent that returns the same task for every message, and lists `tasks` in the requested
/// context or in another one.
async fn start_listing_stub(tasks: &'static [&'static str], context: Option<&'static str>) -> Stub {
    Stub::start(move |request| match request {
        request if is_method(request, "ListTasks") => {
            StubResponse::Close(task_page(request, tasks, context))
        }
        request if is_method(request, "SendStreamingMessage") => {
            StubResponse::Close(StubResponse::event_stream(&[COMPLETED_TASK]))
        }
        _ => StubResponse::Close(json_rpc_result(COMPLETED_TASK)),
    })
    .await
}

#[tokio::test]
async fn blocking_send_is_used_if_tasks_are_found_by_context() {
    for (tasks, context, want) in [
        (&["t1"][..], None, true),
        (&["t1"], Some("another"), false),
        (&["t1", "t2"], None, false),
        (&["t2"], None, false),
        (&[], None, false),
    ] {
        let stub = start_listing_stub(tasks, context).await;
        let gateway = start_gateway(remote_agent(stub.address(), &BINDING_VERSIONS[0])).await;
        let client = client_for(gateway.address(), &BINDING_VERSIONS[0]);
        assert_eq!(probe_task_lookup(&client, &stub, want).await, want, "{tasks:?} {context:?}");
        let lookups = stub.requests().iter().filter(|it| is_method(it, "ListTasks")).count();
        assert_eq!(lookups, 1, "the agent is probed once");
    }
}

#[tokio::test]
async fn streaming_call_uses_upstream_stream() {
    let stub = start_listing_stub(&["t1"], None).await;
    let gateway = start_gateway(remote_agent(stub.address(), &BINDING_VERSIONS[0])).await;
    let client = client_for(gateway.address(), &BINDING_VERSIONS[0]);
    assert!(probe_task_lookup(&client, &stub, true).await);
    let stream_calls =
        || stub.requests().iter().filter(|it| is_method(it, "SendStreamingMessage")).count();
    let before = stream_calls();
    client.follow(user_message("hello")).result().await.unwrap();
    assert_eq!(stream_calls(), before + 1);
}

#[tokio::test]
async fn slow_agent_is_followed_during_blocking_send() {
    let demo = start_demo().await;
    for upstream in BINDING_VERSIONS.into_iter().filter(supports_streaming) {
        let gateway = start_gateway(remote_agent(demo.address(), &upstream)).await;
        let client = client_for(gateway.address(), &BINDING_VERSIONS[0]);
        warm_up(&client).await;
        let watcher = client.clone();
        let watch_task = tokio::spawn(async move {
            // Other clients see the progress before the blocking call returns.
            let id = wait_until_listed(&watcher, |it| it.status.state == TaskState::Working).await;
            super::wait_until(&watcher, &id, |it| {
                it.status.state == TaskState::Working && !it.artifacts.is_empty()
            })
            .await;
        });
        let task = send_for_task(&client, user_message("chunks 12 300")).await;
        let want: Vec<_> = (1..=12).map(|number| format!("chunk {number} of 12\n")).collect();
        assert_eq!(task.text(), want.join("\n"), "{upstream:?}");
        watch_task.await.unwrap();
        gateway.shutdown().await;
    }
}

/// Lets the gateway probe its agent. The tests also hold if the probe takes longer.
async fn warm_up(client: &Client) {
    send_for_task(client, user_message("hello")).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
}

#[tokio::test]
async fn cancel_does_not_wait_for_blocking_send() {
    let demo = start_demo().await;
    let gateway = start_gateway(remote_agent(demo.address(), &BINDING_VERSIONS[0])).await;
    warm_up(&client_for(gateway.address(), &BINDING_VERSIONS[0])).await;
    // Where clients assign task ids, a task can be canceled before its first event.
    let client = client_for(gateway.address(), &BINDING_VERSIONS[2]);
    let id = TaskId::new("client-id").unwrap();
    let (sender, message) = (client.clone(), user_message("wait 60000").with_task(id.clone()));
    let send_task = tokio::spawn(async move { send_for_task(&sender, message).await });
    let upstream = client_for(demo.address(), &BINDING_VERSIONS[0]);
    wait_until_listed(&upstream, |it| it.status.state == TaskState::Working).await;
    client.cancel_task(id).await.unwrap();
    wait_until_listed(&upstream, |it| it.status.state == TaskState::Canceled).await;
    assert_eq!(send_task.await.unwrap().status.state, TaskState::Canceled);
}

#[tokio::test]
async fn lost_reply_is_recovered_by_context_lookup() {
    let working_task = r#"{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}"#;
    let stub = Stub::start(move |request| match request {
        request if is_method(request, "ListTasks") => {
            StubResponse::Close(task_page(request, &["t1"], None))
        }
        request if is_method(request, "SubscribeToTask") => {
            StubResponse::Close(StubResponse::event_stream(&[
                &format!(r#"{{"task":{working_task}}}"#),
                COMPLETED_TASK,
            ]))
        }
        request if is_method(request, "SendStreamingMessage") => {
            StubResponse::Close(StubResponse::event_stream(&[COMPLETED_TASK]))
        }
        // An empty response.
        _ => StubResponse::Close(String::new()),
    })
    .await;
    let gateway = start_gateway(remote_agent(stub.address(), &BINDING_VERSIONS[0])).await;
    let client = client_for(gateway.address(), &BINDING_VERSIONS[0]);
    assert!(probe_task_lookup(&client, &stub, true).await);
    let requests = stub.requests();
    let count = |method| requests.iter().filter(|it| is_method(it, method)).count();
    assert_eq!(
        (count("SendMessage"), count("SubscribeToTask")),
        (1, 1),
        "the message is not resent"
    );
}
