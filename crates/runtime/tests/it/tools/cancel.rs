//! Tests of cancellation of tool calls. The legacy REST API is not included: it does not report the
//! task id before the task has finished.

use std::time::{Duration, Instant};

use latimer_client::Client;
use latimer_protocol::{ListTasksRequest, TaskId, TaskState};
use latimer_runtime::tools::{AgentTool, ToolContext, Toolbox};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{VERSIONS, into_object, tool, toolbox};
use crate::remote::stub::{Stub, StubResponse};
use crate::remote::{
    BINDING_VERSIONS, TEST_TIMEOUT, client_for, start_demo, supports_streaming, wait_until,
};

/// Waits until an agent has a working task, and returns its id.
pub(super) async fn wait_until_working(client: &Client) -> TaskId {
    let since = Instant::now();
    loop {
        let page = client.list_tasks(ListTasksRequest::default()).await.unwrap();
        let mut tasks = page.tasks.iter();
        if let Some(task) = tasks.find(|it| it.status.state == TaskState::Working) {
            return task.id.clone();
        }
        assert!(since.elapsed() < TEST_TIMEOUT, "{page:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn call_long_task(tools: &Toolbox, context: &ToolContext) -> String {
    let arguments = into_object(json!({"message": "wait 600000"}));
    let name = &tools.definitions()[0].name;
    let result = timeout(2 * TEST_TIMEOUT, tools.call(name, arguments, context)).await;
    let error = result.expect("the call returns").unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    error.message().to_owned()
}

#[tokio::test]
async fn token_cancels_remote_task_and_call() {
    for pair in BINDING_VERSIONS.into_iter().filter(supports_streaming) {
        let demo = start_demo().await;
        let client = client_for(demo.address(), &VERSIONS[0]);
        let tools = toolbox(tool("demo", demo.address(), &pair));
        let token = CancellationToken::new();
        let context = ToolContext::default().with_cancellation(token.clone());
        let cancel = async {
            let task = wait_until_working(&client).await;
            token.cancel();
            task
        };
        let (message, task) = tokio::join!(call_long_task(&tools, &context), cancel);
        assert_eq!(message, "the call was canceled", "{pair:?}");
        let task = client.get_task(task).await.unwrap();
        assert_eq!(
            task.status.state,
            TaskState::Canceled,
            "{pair:?}: canceled before the call returns"
        );
    }
}

#[tokio::test]
async fn dropped_call_cancels_remote_task() {
    for pair in BINDING_VERSIONS.into_iter().filter(supports_streaming) {
        let demo = start_demo().await;
        let client = client_for(demo.address(), &VERSIONS[0]);
        let tools = toolbox(tool("demo", demo.address(), &pair));
        let context = ToolContext::default();
        let task = tokio::select! {
            message = call_long_task(&tools, &context) => panic!("{pair:?}: {message}"),
            task = wait_until_working(&client) => task,
        };
        wait_until(&client, &task, |it| it.status.state == TaskState::Canceled).await;
    }
}

#[tokio::test]
async fn cancel_during_discovery_returns_promptly() {
    let stub = Stub::start(|_| StubResponse::Hang(String::new())).await;
    let agent = AgentTool::new("stub", format!("http://{}", stub.address()));
    let tools = toolbox(agent);
    let token = CancellationToken::new();
    let context = ToolContext::default().with_cancellation(token.clone());
    let cancel = async {
        let since = Instant::now();
        while stub.requests().is_empty() {
            assert!(since.elapsed() < TEST_TIMEOUT);
            tokio::task::yield_now().await;
        }
        token.cancel();
    };
    let since = Instant::now();
    let (message, ()) = tokio::join!(call_long_task(&tools, &context), cancel);
    assert_eq!(message, "the call was canceled");
    assert!(since.elapsed() < TEST_TIMEOUT);
}
