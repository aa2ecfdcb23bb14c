//! Callers of every version, agents of every version, over every binding.

use std::collections::HashSet;

use futures_util::TryStreamExt;
use latimer_client::{Client, Credentials, Error, user_message};
use latimer_protocol::{
    Caller, Content, ContextId, ErrorKind, MessageId, Secret, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, StreamResponse, Task, TaskId, TaskState, Version,
};
use latimer_server::Server;

use super::{PAIRS, Pair, caller, demo, gateway, listen, remote, streams, until};

fn task(sent: SendMessageResponse) -> Task {
    match sent {
        SendMessageResponse::Task(task) => (*task).clone(),
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

async fn sent(client: &Client, text: &str) -> Task {
    task(client.send(user_message(text)).await.unwrap_or_else(|error| panic!("{text}: {error}")))
}

async fn begun(client: &Client, text: &str) -> Task {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    let request = SendMessageRequest::from(user_message(text));
    let request = SendMessageRequest { configuration: Some(configuration), ..request };
    task(client.send(request).await.unwrap())
}

/// Everything that a caller can do, through a gateway.
async fn works(client: &Client, caller: &Pair, behind: &Pair) {
    let name = format!("{caller:?} through {behind:?}");
    let echoed = sent(client, "echo hello").await;
    assert_eq!(
        (echoed.status.state, echoed.text().as_str()),
        (TaskState::Completed, "hello"),
        "{name}"
    );
    let shown = client.get_task(echoed.id.clone()).await.unwrap();
    assert_eq!(shown.text(), "hello", "{name}");

    if streams(caller) {
        let events = client.stream(user_message("chunks 3")).await.unwrap();
        let events: Vec<_> = events.try_collect().await.unwrap();
        let mut text = String::new();
        for event in &events {
            if let StreamResponse::ArtifactUpdate(update) = event.event.event() {
                let parts = update.artifact.parts.iter();
                text.extend(parts.filter_map(|it| it.as_text()));
            }
        }
        assert_eq!(text, "chunk 1 of 3\nchunk 2 of 3\nchunk 3 of 3\n", "{name}: {events:?}");
        let last = events.iter().rev().find_map(|it| it.event.event().status().cloned());
        assert_eq!(last.unwrap().state, TaskState::Completed, "{name}");
    }

    let asked = sent(client, "ask Which one?").await;
    assert_eq!(asked.status.state, TaskState::InputRequired, "{name}");
    if streams(caller) && streams(behind) {
        let question = asked.status.message.as_ref().map(|it| it.text());
        assert_eq!(question.as_deref(), Some("Which one?"), "{name}");
    }
    let mut answer = user_message("that one").with_task(asked.id.clone());
    answer.context_id = asked.context_id.clone();
    let answered = task(client.send(answer).await.unwrap());
    assert_eq!(answered.status.state, TaskState::Completed, "{name}");
    assert_eq!(answered.text(), "that one", "{name}");

    // Over the oldest HTTP an agent tells of no task before it is over: there is nothing to cancel.
    if caller.1 != Version::V0_1 && streams(behind) {
        let waiting = begun(client, "wait 60000").await;
        let canceled = client.cancel_task(waiting.id.clone()).await.unwrap();
        assert_eq!(canceled.status.state, TaskState::Canceled, "{name}");
    }
    // What the oldest callers send is always waited for; what asks something is not.
    let asked = sent(client, "ask Which one?").await;
    let canceled = client.cancel_task(asked.id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled, "{name}");

    let made = sent(client, "file letters.bin 100").await;
    let part = &made.artifacts[0].parts[0];
    let Content::Raw(bytes) = &part.content else { panic!("{name}: {part:?}") };
    assert_eq!(bytes.len(), 100, "{name}");

    let failed = sent(client, "fail out of coffee").await;
    assert_eq!(failed.status.state, TaskState::Failed, "{name}");
    let none = client.get_task(TaskId::new("none").unwrap()).await.unwrap_err();
    assert!(matches!(&none, Error::Agent(it) if it.kind() == ErrorKind::TaskNotFound), "{name}");
    let over = client.cancel_task(echoed.id).await.unwrap_err();
    let Error::Agent(over) = &over else { panic!("{name}: {over}") };
    assert_eq!(over.kind(), ErrorKind::TaskNotCancelable, "{name}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_caller_reaches_every_agent() {
    let demo = demo().await;
    for behind in PAIRS {
        let gateway = gateway(remote(demo.address(), &behind)).await;
        for pair in PAIRS {
            works(&caller(gateway.address(), &pair), &pair, &behind).await;
        }
        gateway.shutdown().await;
    }
}

#[tokio::test]
async fn cancel_reaches_the_agent_behind() {
    let demo = demo().await;
    let pair = PAIRS[0].clone();
    let gateway = gateway(remote(demo.address(), &pair)).await;
    let (client, behind) = (caller(gateway.address(), &pair), caller(demo.address(), &pair));
    let listed = async |state| {
        let page = behind.list_tasks(Default::default()).await.unwrap();
        page.tasks.iter().filter(|it| it.status.state == state).count()
    };

    let working = begun(&client, "wait 60000").await;
    until(&client, &working.id, |it| it.status.message.is_some()).await;
    client.cancel_task(working.id).await.unwrap();
    assert_eq!(listed(TaskState::Canceled).await, 1);

    let asked = sent(&client, "ask Which one?").await;
    client.cancel_task(asked.id).await.unwrap();
    assert_eq!(listed(TaskState::Canceled).await, 2, "nobody was at it, and it is canceled");

    let stubborn = begun(&client, "stubborn 300").await;
    until(&client, &stubborn.id, |it| it.status.message.is_some()).await;
    let refused = client.cancel_task(stubborn.id.clone()).await;
    let ended = client.get_task(stubborn.id).await.unwrap().status.state;
    let direct = behind.list_tasks(Default::default()).await.unwrap().tasks[0].status.state;
    assert_eq!(ended, direct, "what the agent came to is what it came to here: {refused:?}");
}

#[tokio::test]
async fn an_authorization_that_is_asked_for_goes_through() {
    let demo = demo().await;
    for behind in PAIRS.into_iter().filter(|(_, version)| *version != Version::V0_1) {
        let gateway = gateway(remote(demo.address(), &behind)).await;
        let client = caller(gateway.address(), &PAIRS[0]);
        let asked = sent(&client, "auth").await;
        assert_eq!(asked.status.state, TaskState::AuthRequired, "{behind:?}");
        let given =
            task(client.send(user_message("here you are").with_task(asked.id)).await.unwrap());
        assert_eq!(given.status.state, TaskState::Completed, "{behind:?}");
    }
}

#[tokio::test]
async fn a_conversation_is_one_for_the_agent_behind_too() {
    let demo = demo().await;
    let pair = PAIRS[0].clone();
    let gateway = gateway(remote(demo.address(), &pair)).await;
    let (client, behind) = (caller(gateway.address(), &pair), caller(demo.address(), &pair));
    let first = sent(&client, "echo one").await;
    let mut more = user_message("echo two");
    more.context_id = first.context_id.clone();
    client.send(more).await.unwrap();
    sent(&client, "echo elsewhere").await;
    let tasks = behind.list_tasks(Default::default()).await.unwrap().tasks;
    let contexts: Vec<_> = tasks.iter().rev().map(|it| it.context_id.clone()).collect();
    assert_eq!(contexts[0], contexts[1]);
    assert_ne!(contexts[0], contexts[2]);
    assert_ne!(contexts[0], first.context_id, "names are not shared");
}

#[tokio::test]
async fn two_callers_conversations_never_meet() {
    let demo = demo().await;
    let pair = PAIRS[0].clone();
    let known = |headers: &http::HeaderMap| {
        let shown = headers.get("authorization")?.to_str().ok()?;
        Some(Caller::new(shown.to_owned()))
    };
    let server = Server::new(remote(demo.address(), &pair).agent("proxy")).authenticate_with(known);
    let gateway = listen(server).await;
    let context = ContextId::new("the-same").unwrap();
    for name in ["one", "other", "one"] {
        let client = Client::builder(format!("http://{}/a2a", gateway.address()))
            .credentials(Credentials::bearer(Secret::new(name)).unwrap())
            .build()
            .unwrap();
        // The same words under the same id, too.
        let mut message = user_message("echo hello").with_context(context.clone());
        message.message_id = MessageId::new("m").unwrap();
        client.send(message).await.unwrap();
    }
    let behind = caller(demo.address(), &pair);
    let tasks = behind.list_tasks(Default::default()).await.unwrap().tasks;
    let contexts: HashSet<_> = tasks.iter().map(|it| it.context_id.clone()).collect();
    assert_eq!((tasks.len(), contexts.len()), (2, 2), "{tasks:?}");
    for task in tasks {
        let id = behind.get_task(task.id.clone()).await.unwrap().history[0].message_id.clone();
        assert!(id.as_str().starts_with("m-"), "{id} is known by what its caller calls it");
    }
}
