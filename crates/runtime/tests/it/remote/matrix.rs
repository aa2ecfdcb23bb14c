//! Tests of clients of every version and binding with upstream agents of every version and binding.

use std::collections::HashSet;

use futures_util::TryStreamExt;
use latimer_client::{Client, Credentials, Error, user_message};
use latimer_protocol::card::AgentCard;
use latimer_protocol::{
    Caller, Content, ContextId, ErrorKind, Message, MessageId, Part, Secret,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse, Task,
    TaskId, TaskState, Version,
};
use latimer_runtime::RemoteAgent;
use latimer_server::{Agent, Policy, Server, Turn};

use super::{
    BINDING_VERSIONS, BindingVersion, client_for, remote_agent, start_demo, start_gateway,
    start_server, supports_streaming, wait_until,
};

fn expect_task(response: SendMessageResponse) -> Task {
    match response {
        SendMessageResponse::Task(task) => (*task).clone(),
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

async fn send_text(client: &Client, text: &str) -> Task {
    expect_task(
        client.send(user_message(text)).await.unwrap_or_else(|error| panic!("{text}: {error}")),
    )
}

async fn start_task(client: &Client, text: &str) -> Task {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    let request = SendMessageRequest::from(user_message(text));
    let request = SendMessageRequest { configuration: Some(configuration), ..request };
    expect_task(client.send(request).await.unwrap())
}

/// Checks every operation through a gateway.
async fn check_operations(client: &Client, caller: &BindingVersion, upstream: &BindingVersion) {
    let label = format!("{caller:?} through {upstream:?}");
    let echoed = send_text(client, "echo hello").await;
    assert_eq!(
        (echoed.status.state, echoed.text().as_str()),
        (TaskState::Completed, "hello"),
        "{label}"
    );
    let fetched = client.get_task(echoed.id.clone()).await.unwrap();
    assert_eq!(fetched.text(), "hello", "{label}");

    if supports_streaming(caller) {
        let events = client.stream(user_message("chunks 3")).await.unwrap();
        let events: Vec<_> = events.try_collect().await.unwrap();
        let mut text = String::new();
        for event in &events {
            if let StreamResponse::ArtifactUpdate(update) = event.event.event() {
                let parts = update.artifact.parts.iter();
                text.extend(parts.filter_map(|it| it.as_text()));
            }
        }
        assert_eq!(text, "chunk 1 of 3\nchunk 2 of 3\nchunk 3 of 3\n", "{label}: {events:?}");
        let last = events.iter().rev().find_map(|it| it.event.event().status().cloned());
        assert_eq!(last.unwrap().state, TaskState::Completed, "{label}");
    }

    let interrupted = send_text(client, "ask Which one?").await;
    assert_eq!(interrupted.status.state, TaskState::InputRequired, "{label}");
    if supports_streaming(caller) && supports_streaming(upstream) {
        let question = interrupted.status.message.as_ref().map(|it| it.text());
        assert_eq!(question.as_deref(), Some("Which one?"), "{label}");
    }
    let mut reply = user_message("that one").with_task(interrupted.id.clone());
    reply.context_id = interrupted.context_id.clone();
    let answered = expect_task(client.send(reply).await.unwrap());
    assert_eq!(answered.status.state, TaskState::Completed, "{label}");
    assert_eq!(answered.text(), "that one", "{label}");

    // The legacy REST API reports no task before it has finished, so there is nothing to cancel.
    if caller.1 != Version::V0_1 && supports_streaming(upstream) {
        let waiting = start_task(client, "wait 60000").await;
        let canceled = client.cancel_task(waiting.id.clone()).await.unwrap();
        assert_eq!(canceled.status.state, TaskState::Canceled, "{label}");
    }
    // Calls of version 0.1 always block, but return at a question.
    let interrupted = send_text(client, "ask Which one?").await;
    let canceled = client.cancel_task(interrupted.id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled, "{label}");

    let file_task = send_text(client, "file letters.bin 100").await;
    let part = &file_task.artifacts[0].parts[0];
    let Content::Raw(bytes) = &part.content else { panic!("{label}: {part:?}") };
    assert_eq!(bytes.len(), 100, "{label}");

    let failed = send_text(client, "fail out of coffee").await;
    assert_eq!(failed.status.state, TaskState::Failed, "{label}");
    let none = client.get_task(TaskId::new("none").unwrap()).await.unwrap_err();
    assert!(matches!(&none, Error::Agent(it) if it.kind() == ErrorKind::TaskNotFound), "{label}");
    let error = client.cancel_task(echoed.id).await.unwrap_err();
    let Error::Agent(error) = &error else { panic!("{label}: {error}") };
    assert_eq!(error.kind(), ErrorKind::TaskNotCancelable, "{label}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_client_version_reaches_every_agent_version() {
    let demo = start_demo().await;
    for upstream in BINDING_VERSIONS {
        let gateway = start_gateway(remote_agent(demo.address(), &upstream)).await;
        for pair in BINDING_VERSIONS {
            check_operations(&client_for(gateway.address(), &pair), &pair, &upstream).await;
        }
        gateway.shutdown().await;
    }
}

#[tokio::test]
async fn cancel_reaches_upstream_agent() {
    let demo = start_demo().await;
    let pair = BINDING_VERSIONS[0].clone();
    let gateway = start_gateway(remote_agent(demo.address(), &pair)).await;
    let (client, upstream) =
        (client_for(gateway.address(), &pair), client_for(demo.address(), &pair));
    let count_in_state = async |state| {
        let page = upstream.list_tasks(Default::default()).await.unwrap();
        page.tasks.iter().filter(|it| it.status.state == state).count()
    };

    let working = start_task(&client, "wait 60000").await;
    wait_until(&client, &working.id, |it| it.status.message.is_some()).await;
    client.cancel_task(working.id).await.unwrap();
    assert_eq!(count_in_state(TaskState::Canceled).await, 1);

    let interrupted = send_text(&client, "ask Which one?").await;
    client.cancel_task(interrupted.id).await.unwrap();
    assert_eq!(
        count_in_state(TaskState::Canceled).await,
        2,
        "an interrupted task is canceled, too"
    );

    let stubborn = start_task(&client, "stubborn 300").await;
    wait_until(&client, &stubborn.id, |it| it.status.message.is_some()).await;
    let refused = client.cancel_task(stubborn.id.clone()).await;
    let ended = client.get_task(stubborn.id).await.unwrap().status.state;
    let direct = upstream.list_tasks(Default::default()).await.unwrap().tasks[0].status.state;
    assert_eq!(ended, direct, "the final state is that of the upstream task: {refused:?}");
}

#[tokio::test]
async fn auth_required_task_completes_after_answer() {
    let demo = start_demo().await;
    for upstream in BINDING_VERSIONS.into_iter().filter(|(_, version)| *version != Version::V0_1) {
        let gateway = start_gateway(remote_agent(demo.address(), &upstream)).await;
        let client = client_for(gateway.address(), &BINDING_VERSIONS[0]);
        let interrupted = send_text(&client, "auth").await;
        assert_eq!(interrupted.status.state, TaskState::AuthRequired, "{upstream:?}");
        let answered = expect_task(
            client.send(user_message("here you are").with_task(interrupted.id)).await.unwrap(),
        );
        assert_eq!(answered.status.state, TaskState::Completed, "{upstream:?}");
    }
}

#[tokio::test]
async fn context_maps_to_one_upstream_context() {
    let demo = start_demo().await;
    let pair = BINDING_VERSIONS[0].clone();
    let gateway = start_gateway(remote_agent(demo.address(), &pair)).await;
    let (client, upstream) =
        (client_for(gateway.address(), &pair), client_for(demo.address(), &pair));
    let first = send_text(&client, "echo one").await;
    let mut follow_up = user_message("echo two");
    follow_up.context_id = first.context_id.clone();
    client.send(follow_up).await.unwrap();
    send_text(&client, "echo three").await;
    let tasks = upstream.list_tasks(Default::default()).await.unwrap().tasks;
    let contexts: Vec<_> = tasks.iter().rev().map(|it| it.context_id.clone()).collect();
    assert_eq!(contexts[0], contexts[1]);
    assert_ne!(contexts[0], contexts[2]);
    assert_ne!(contexts[0], first.context_id, "upstream ids differ from local ids");
}

#[tokio::test]
async fn contexts_of_different_callers_are_isolated() {
    let demo = start_demo().await;
    let pair = BINDING_VERSIONS[0].clone();
    let authenticate = |headers: &http::HeaderMap| {
        let token = headers.get("authorization")?.to_str().ok()?;
        Some(Caller::new(token.to_owned()))
    };
    let server = Server::new(remote_agent(demo.address(), &pair).into_agent("proxy"))
        .authenticate_with(authenticate);
    let gateway = start_server(server).await;
    let context = ContextId::new("the-same").unwrap();
    for name in ["one", "other", "one"] {
        let client = Client::builder(format!("http://{}/a2a", gateway.address()))
            .credentials(Credentials::bearer(Secret::new(name)).unwrap())
            .build()
            .unwrap();
        // Message id and content are equal as well.
        let mut message = user_message("echo hello").with_context(context.clone());
        message.message_id = MessageId::new("m").unwrap();
        client.send(message).await.unwrap();
    }
    let upstream = client_for(demo.address(), &pair);
    let tasks = upstream.list_tasks(Default::default()).await.unwrap().tasks;
    let contexts: HashSet<_> = tasks.iter().map(|it| it.context_id.clone()).collect();
    assert_eq!((tasks.len(), contexts.len()), (2, 2), "{tasks:?}");
    for task in tasks {
        let id = upstream.get_task(task.id.clone()).await.unwrap().history[0].message_id.clone();
        assert!(id.as_str().starts_with("m-"), "{id} starts with the caller's id");
    }
}

/// Many agents accept more media types than their cards declare.
#[tokio::test]
async fn media_types_are_left_to_the_agent_unless_enforced() {
    let card = AgentCard {
        name: "narrow".into(),
        default_input_modes: vec!["text/plain".into()],
        ..AgentCard::default()
    };
    let echo = Agent::from_fn("narrow", |turn: Turn| async move {
        let part = turn.message().parts[0].clone();
        turn.reply(format!("got {part:?}")).await
    })
    .with_card(card);
    let checks = echo.policy().clone();
    let tolerant = Policy { enforce_input_modes: false, ..checks };
    let data = || {
        let id = MessageId::new(format!("{:?}", std::time::Instant::now())).unwrap();
        Message { parts: vec![Part::data(serde_json::json!({"a": 1}))], ..Message::user(id, "") }
    };
    for (agent, enforce, succeeds) in [
        (echo.clone().with_policy(tolerant.clone()), false, true),
        (echo.clone().with_policy(tolerant), true, false),
        (echo, false, false),
    ] {
        let upstream = start_server(Server::new(agent)).await;
        let url = format!("http://{}", upstream.address());
        let gateway = RemoteAgent::new(&url).into_agent("proxy");
        let policy = Policy { enforce_input_modes: enforce, ..gateway.policy().clone() };
        let gateway = start_server(Server::new(gateway.with_policy(policy))).await;
        for pair in &BINDING_VERSIONS {
            let client = client_for(gateway.address(), pair);
            send_text(&client, "hello").await;
            match client.send(data()).await {
                Ok(response) => {
                    let task = expect_task(response);
                    // 0.1 clients get the task at once, so that the agent's refusal fails it.
                    let is_refused = pair.1 == Version::V0_1 && !succeeds && !enforce;
                    let want = if is_refused { TaskState::Failed } else { TaskState::Completed };
                    assert!(succeeds || is_refused, "{pair:?}: {task:?}");
                    assert_eq!(task.status.state, want, "{pair:?}: {task:?}");
                }
                Err(error) => {
                    assert!(!succeeds, "{pair:?}: {error}");
                    let Error::Agent(error) = &error else { panic!("{pair:?}: {error:?}") };
                    assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported, "{pair:?}");
                }
            }
        }
    }
}
