//! Whoever does not want an answer any more has the agent stop. The oldest HTTP does not say which
//! task it is before it is over.

use std::time::{Duration, Instant};

use latimer_client::Client;
use latimer_protocol::{ListTasksRequest, TaskId, TaskState};
use latimer_runtime::tools::{AgentTool, Occasion, Toolbox};
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{VERSIONS, members, tool, toolbox};
use crate::remote::stub::{Answer, Stub};
use crate::remote::{PAIRS, PATIENT, caller, demo, streams, until};

/// The only task of an agent, once it is at work.
pub(super) async fn at_work(client: &Client) -> TaskId {
    let since = Instant::now();
    loop {
        let page = client.list_tasks(ListTasksRequest::default()).await.unwrap();
        let mut tasks = page.tasks.iter();
        if let Some(task) = tasks.find(|it| it.status.state == TaskState::Working) {
            return task.id.clone();
        }
        assert!(since.elapsed() < PATIENT, "{page:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn long(tools: &Toolbox, occasion: &Occasion) -> String {
    let arguments = members(json!({"message": "wait 600000"}));
    let name = &tools.definitions()[0].name;
    let called = timeout(2 * PATIENT, tools.call(name, arguments, occasion)).await;
    let error = called.expect("it ends").unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    error.message().to_owned()
}

#[tokio::test]
async fn a_token_stops_the_task_elsewhere_and_the_call() {
    for pair in PAIRS.into_iter().filter(streams) {
        let demo = demo().await;
        let client = caller(demo.address(), &VERSIONS[0]);
        let tools = toolbox(tool("demo", demo.address(), &pair));
        let token = CancellationToken::new();
        let occasion = Occasion::default().cancelled_by(token.clone());
        let stop = async {
            let task = at_work(&client).await;
            token.cancel();
            task
        };
        let (words, task) = tokio::join!(long(&tools, &occasion), stop);
        assert_eq!(words, "the call was canceled", "{pair:?}");
        let task = client.get_task(task).await.unwrap();
        assert_eq!(task.status.state, TaskState::Canceled, "{pair:?}: told before the call ends");
    }
}

#[tokio::test]
async fn dropping_a_call_stops_the_task_elsewhere() {
    for pair in PAIRS.into_iter().filter(streams) {
        let demo = demo().await;
        let client = caller(demo.address(), &VERSIONS[0]);
        let tools = toolbox(tool("demo", demo.address(), &pair));
        let occasion = Occasion::default();
        let task = tokio::select! {
            words = long(&tools, &occasion) => panic!("{pair:?}: {words}"),
            task = at_work(&client) => task,
        };
        until(&client, &task, |it| it.status.state == TaskState::Canceled).await;
    }
}

#[tokio::test]
async fn who_stops_before_the_agent_is_found_does_not_wait() {
    let stub = Stub::start(|_| Answer::Hang(String::new())).await;
    let agent = AgentTool::new("stub", format!("http://{}", stub.address()));
    let tools = toolbox(agent);
    let token = CancellationToken::new();
    let occasion = Occasion::default().cancelled_by(token.clone());
    let stop = async {
        let since = Instant::now();
        while stub.asked().is_empty() {
            assert!(since.elapsed() < PATIENT);
            tokio::task::yield_now().await;
        }
        token.cancel();
    };
    let since = Instant::now();
    let (words, ()) = tokio::join!(long(&tools, &occasion), stop);
    assert_eq!(words, "the call was canceled");
    assert!(since.elapsed() < PATIENT);
}
