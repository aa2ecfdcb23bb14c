//! Callers who wait for an answer: the agent behind is asked for one, and followed when it takes its time.

use std::time::{Duration, Instant};

use latimer_client::{Client, user_message};
use latimer_protocol::{Message, SendMessageResponse, Task, TaskId, TaskState};

use super::stub::{Answer, Asked, Stub};
use super::{PAIRS, PATIENT, caller, demo, gateway, remote, streams};

const DONE: &str =
    r#"{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

fn is(asked: &Asked, method: &str) -> bool {
    asked.body.contains(&format!("\"{method}\""))
}

fn result(body: &str) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{body}}}"#);
    let Answer::Close(answer) = Answer::of(200, "application/json", &body) else { unreachable!() };
    answer
}

/// A list of tasks in the conversation that is asked for, or in another one.
fn page(asked: &Asked, tasks: &[&str], context: Option<&str>) -> String {
    let body: serde_json::Value = serde_json::from_str(&asked.body).unwrap();
    let context = context.or(body["params"]["contextId"].as_str()).unwrap();
    let tasks = tasks.iter().map(|id| {
        format!(
            r#"{{"id":"{id}","contextId":"{context}","status":{{"state":"TASK_STATE_WORKING"}}}}"#
        )
    });
    let tasks = tasks.collect::<Vec<_>>().join(",");
    result(&format!(r#"{{"tasks":[{tasks}],"nextPageToken":"","pageSize":2,"totalSize":1}}"#))
}

async fn sent(client: &Client, message: impl Into<Message>) -> Task {
    match client.send(message.into()).await.unwrap() {
        SendMessageResponse::Task(task) => (*task).clone(),
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

/// Waits until a client has a task that a test wants.
async fn until_listed(client: &Client, want: impl Fn(&Task) -> bool) -> TaskId {
    let since = Instant::now();
    loop {
        let page = client.list_tasks(Default::default()).await.unwrap();
        if let Some(task) = page.tasks.iter().find(|it| want(it)) {
            return task.id.clone();
        }
        assert!(since.elapsed() < PATIENT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Has an agent tried out: with its first task, it is seen whether its tasks are found by their
/// conversations. Says whether it is asked for answers from then on, as is wanted.
async fn try_out(client: &Client, stub: &Stub, want: bool) -> bool {
    let since = Instant::now();
    sent(client, user_message("hello")).await;
    while !stub.asked().iter().any(|it| is(it, "ListTasks")) {
        assert!(since.elapsed() < PATIENT);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // What comes of it is known soon after it was answered.
    let patience = if want { PATIENT } else { Duration::from_millis(500) };
    let answers = || stub.asked().iter().filter(|it| is(it, "SendMessage")).count();
    while answers() == 0 && since.elapsed() < patience {
        sent(client, user_message("hello")).await;
    }
    answers() > 0
}

/// An agent that makes one and the same task of everything, and tells of these tasks in a list, in the
/// conversation that is asked for or in another one.
async fn listing(tasks: &'static [&'static str], context: Option<&'static str>) -> Stub {
    Stub::start(move |asked| match asked {
        asked if is(asked, "ListTasks") => Answer::Close(page(asked, tasks, context)),
        asked if is(asked, "SendStreamingMessage") => Answer::Close(Answer::stream(&[DONE])),
        _ => Answer::Close(result(DONE)),
    })
    .await
}

#[tokio::test]
async fn an_answer_is_asked_for_where_tasks_are_found_by_their_conversations() {
    for (tasks, context, want) in [
        (&["t1"][..], None, true),
        (&["t1"], Some("another"), false),
        (&["t1", "t2"], None, false),
        (&["t2"], None, false),
        (&[], None, false),
    ] {
        let stub = listing(tasks, context).await;
        let gateway = gateway(remote(stub.address(), &PAIRS[0])).await;
        let client = caller(gateway.address(), &PAIRS[0]);
        assert_eq!(try_out(&client, &stub, want).await, want, "{tasks:?} {context:?}");
        let looks = stub.asked().iter().filter(|it| is(it, "ListTasks")).count();
        assert_eq!(looks, 1, "it is tried out once");
    }
}

#[tokio::test]
async fn a_stream_is_asked_for_where_one_is_read() {
    let stub = listing(&["t1"], None).await;
    let gateway = gateway(remote(stub.address(), &PAIRS[0])).await;
    let client = caller(gateway.address(), &PAIRS[0]);
    assert!(try_out(&client, &stub, true).await);
    let streams = || stub.asked().iter().filter(|it| is(it, "SendStreamingMessage")).count();
    let before = streams();
    client.follow(user_message("hello")).result().await.unwrap();
    assert_eq!(streams(), before + 1);
}

#[tokio::test]
async fn an_agent_that_takes_its_time_is_followed() {
    let demo = demo().await;
    for behind in PAIRS.into_iter().filter(streams) {
        let gateway = gateway(remote(demo.address(), &behind)).await;
        let client = caller(gateway.address(), &PAIRS[0]);
        tried_out(&client).await;
        let watching = client.clone();
        let watched = tokio::spawn(async move {
            // Before there is an answer, others see what is there of it.
            let id = until_listed(&watching, |it| it.status.state == TaskState::Working).await;
            super::until(&watching, &id, |it| {
                it.status.state == TaskState::Working && !it.artifacts.is_empty()
            })
            .await;
        });
        let task = sent(&client, user_message("chunks 12 300")).await;
        let want: Vec<_> = (1..=12).map(|number| format!("chunk {number} of 12\n")).collect();
        assert_eq!(task.text(), want.join("\n"), "{behind:?}");
        watched.await.unwrap();
        gateway.shutdown().await;
    }
}

/// Has an agent that does everything right tried out. Whatever follows holds also where that takes longer.
async fn tried_out(client: &Client) {
    sent(client, user_message("hello")).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
}

#[tokio::test]
async fn cancel_does_not_wait_for_an_answer() {
    let demo = demo().await;
    let gateway = gateway(remote(demo.address(), &PAIRS[0])).await;
    tried_out(&caller(gateway.address(), &PAIRS[0])).await;
    // Where callers name tasks, one can be canceled before anybody heard of it.
    let client = caller(gateway.address(), &PAIRS[2]);
    let id = TaskId::new("mine").unwrap();
    let (asking, message) = (client.clone(), user_message("wait 60000").with_task(id.clone()));
    let asked = tokio::spawn(async move { sent(&asking, message).await });
    let behind = caller(demo.address(), &PAIRS[0]);
    until_listed(&behind, |it| it.status.state == TaskState::Working).await;
    client.cancel_task(id).await.unwrap();
    until_listed(&behind, |it| it.status.state == TaskState::Canceled).await;
    assert_eq!(asked.await.unwrap().status.state, TaskState::Canceled);
}

#[tokio::test]
async fn an_answer_that_is_lost_is_found_by_its_conversation() {
    let now = r#"{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}"#;
    let stub = Stub::start(move |asked| match asked {
        asked if is(asked, "ListTasks") => Answer::Close(page(asked, &["t1"], None)),
        asked if is(asked, "SubscribeToTask") => {
            Answer::Close(Answer::stream(&[&format!(r#"{{"task":{now}}}"#), DONE]))
        }
        asked if is(asked, "SendStreamingMessage") => Answer::Close(Answer::stream(&[DONE])),
        // Nothing at all.
        _ => Answer::Close(String::new()),
    })
    .await;
    let gateway = gateway(remote(stub.address(), &PAIRS[0])).await;
    let client = caller(gateway.address(), &PAIRS[0]);
    assert!(try_out(&client, &stub, true).await);
    let asked = stub.asked();
    let of = |method| asked.iter().filter(|it| is(it, method)).count();
    assert_eq!((of("SendMessage"), of("SubscribeToTask")), (1, 1), "it is not sent again");
}
