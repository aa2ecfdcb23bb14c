//! Every operation, over every binding, in every version that has it.

use futures_util::TryStreamExt;
use latimer_client::transport::{Exchanged, Outcome, Transport};
use latimer_client::{Error, says};
use latimer_protocol::{
    Call, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, ErrorKind,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTasksRequest, Message, Operation, Reply, Request,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskId, TaskPushNotificationConfig, TaskState, Version,
};

use crate::support::{PAIRS, demo, transport};

async fn ask(transport: &dyn Transport, request: Request) -> Result<Reply, Error> {
    match transport.exchange(&Call::new(request)).await? {
        Exchanged { outcome: Outcome::Reply(reply), .. } => Ok(reply),
        other => panic!("{other:?}"),
    }
}

async fn events(transport: &dyn Transport, call: Call) -> Result<Vec<StreamResponse>, Error> {
    let Outcome::Events(events) = transport.exchange(&call).await?.outcome else {
        panic!("no stream")
    };
    let events: Vec<_> = events.try_collect().await?;
    Ok(events.iter().map(|it| it.event.event().clone()).collect())
}

async fn task(transport: &dyn Transport, request: Request) -> Task {
    match ask(transport, request).await {
        Ok(Reply::SendMessage(SendMessageResponse::Task(task)) | Reply::Task(task)) => {
            (*task).clone()
        }
        other => panic!("{other:?}"),
    }
}

fn send(message: Message) -> Request {
    Request::SendMessage(message.into())
}

/// A message that is answered as soon as there is a task.
fn begin(message: Message) -> Request {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    let request = SendMessageRequest::from(message);
    Request::SendMessage(SendMessageRequest { configuration: Some(configuration), ..request })
}

#[tokio::test]
async fn messages_are_sent_and_tasks_shown_and_canceled() {
    let server = demo().await;
    for (binding, version) in PAIRS {
        let name = format!("{binding} {version}");
        let transport = &*transport(server.address(), (binding, version));
        let echoed = task(transport, send(says("echo hello"))).await;
        assert_eq!(echoed.status.state, TaskState::Completed, "{name}");
        assert_eq!(echoed.text(), "hello", "{name}");
        let shown =
            task(transport, Request::GetTask(GetTaskRequest::from(echoed.id.clone()))).await;
        assert_eq!((&shown.id, shown.text().as_str()), (&echoed.id, "hello"), "{name}");

        let asked = task(transport, send(says("ask Which one?"))).await;
        assert_eq!(asked.status.state, TaskState::InputRequired, "{name}");
        let mut answer = says("that one").with_task(asked.id.clone());
        answer.context_id = asked.context_id.clone();
        let answered = task(transport, send(answer)).await;
        assert_eq!(answered.status.state, TaskState::Completed, "{name}");

        let asked = task(transport, send(says("ask Which one?"))).await;
        let cancel = || Request::CancelTask(CancelTaskRequest::from(asked.id.clone()));
        assert_eq!(task(transport, cancel()).await.status.state, TaskState::Canceled, "{name}");
        let cancel = Request::CancelTask(CancelTaskRequest::from(echoed.id.clone()));
        let Err(Error::Agent(error)) = ask(transport, cancel).await else { panic!("{name}") };
        assert_eq!(error.kind(), ErrorKind::TaskNotCancelable, "{name}");

        let none = Request::GetTask(GetTaskRequest::from(TaskId::new("none").unwrap()));
        let Err(Error::Agent(error)) = ask(transport, none).await else { panic!("{name}") };
        assert_eq!(error.kind(), ErrorKind::TaskNotFound, "{name}");
    }
}

#[tokio::test]
async fn what_an_agent_says_and_makes_comes_as_it_is() {
    let server = demo().await;
    for (binding, version) in PAIRS.into_iter().filter(|(_, it)| *it != Version::V0_1) {
        let name = format!("{binding} {version}");
        let transport = &*transport(server.address(), (binding, version));
        let Ok(Reply::SendMessage(SendMessageResponse::Message(said))) =
            ask(transport, send(says("say hello"))).await
        else {
            panic!("{name}: no message")
        };
        assert_eq!(said.text(), "hello", "{name}");
        let made = task(transport, send(says("file letters.bin 1000"))).await;
        let part = &made.artifacts[0].parts[0];
        assert!(format!("{:?}", part.content).len() > 1000, "{name}: {part:?}");
        assert_eq!(part.filename.as_deref(), Some("letters.bin"), "{name}");
    }
}

#[tokio::test]
async fn streams_tell_all_and_resume() {
    let server = demo().await;
    for (binding, version) in PAIRS {
        let name = format!("{binding} {version}");
        let transport = &*transport(server.address(), (binding.clone(), version));
        let request = SendMessageRequest::from(says("chunks 3"));
        let call = Call::new(Request::SendStreamingMessage(request));
        if Operation::SendStreamingMessage.route(version).is_none()
            && binding == latimer_protocol::card::ProtocolBinding::HttpJson
        {
            let error = transport.exchange(&call).await.unwrap_err();
            assert!(matches!(error, Error::Agent(_)), "{name}: {error}");
            continue;
        }
        let told = events(transport, call).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let id = told[0].task_id().expect("a task").clone();
        let chunks = told.iter().filter(|it| matches!(it, StreamResponse::ArtifactUpdate(_)));
        assert!(chunks.count() >= 3, "{name}: {told:?}");
        let last = told.iter().rev().find_map(StreamResponse::status).unwrap();
        assert_eq!(last.state, TaskState::Completed, "{name}");

        let mut call = Call::new(Request::SubscribeToTask(SubscribeToTaskRequest::from(id)));
        let error = events(transport, call.clone()).await.unwrap_err();
        let Error::Agent(error) = error else { panic!("{name}: {error}") };
        assert!(error.message().contains("over"), "{name}: {error}");
        call.resume_after = Some(latimer_protocol::Revision::new(1));
        let again = events(transport, call).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(again.len() < told.len() + 1 && !again.is_empty(), "{name}: {again:?}");
        let chunks = again.iter().filter(|it| matches!(it, StreamResponse::ArtifactUpdate(_)));
        assert!(chunks.count() >= 3, "{name}: {again:?}");
    }
}

#[tokio::test]
async fn tasks_are_listed_where_the_version_can() {
    let server = demo().await;
    for (binding, version) in PAIRS {
        let name = format!("{binding} {version}");
        let transport = &*transport(server.address(), (binding.clone(), version));
        let made = task(transport, send(says("echo hello"))).await;
        let request =
            ListTasksRequest { context_id: made.context_id.clone(), ..Default::default() };
        match ask(transport, Request::ListTasks(request)).await {
            Ok(Reply::TaskList(page)) => {
                assert_eq!((page.total_size, page.tasks.len()), (1, 1), "{name}");
                assert_eq!(page.tasks[0].id, made.id, "{name}");
            }
            Err(Error::Agent(error)) => {
                assert_eq!(error.kind(), ErrorKind::UnsupportedOperation, "{name}");
                assert_ne!(version, Version::V1_0, "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn webhooks_are_registered_shown_and_removed() {
    let server = demo().await;
    for (binding, version) in PAIRS.into_iter().filter(|(_, it)| *it != Version::V0_1) {
        let name = format!("{binding} {version}");
        let transport = &*transport(server.address(), (binding, version));
        let made = task(transport, begin(says("wait 60000"))).await;
        let config = TaskPushNotificationConfig {
            task_id: Some(made.id.clone()),
            url: "http://127.0.0.1:1/hook".into(),
            ..Default::default()
        };
        let created = Request::CreateTaskPushNotificationConfig(config);
        let Ok(Reply::PushConfig(created)) = ask(transport, created).await else {
            panic!("{name}: not created")
        };
        let get = GetTaskPushNotificationConfigRequest {
            tenant: None,
            task_id: made.id.clone(),
            id: created.id.clone(),
        };
        let get = Request::GetTaskPushNotificationConfig(get);
        let Ok(Reply::PushConfig(shown)) = ask(transport, get.clone()).await else {
            panic!("{name}: not shown")
        };
        assert_eq!(shown.url, "http://127.0.0.1:1/hook", "{name}");
        let list = ListTaskPushNotificationConfigsRequest {
            tenant: None,
            task_id: made.id.clone(),
            page_size: None,
            page_token: None,
        };
        let list = Request::ListTaskPushNotificationConfigs(list);
        let Ok(Reply::PushConfigList(listed)) = ask(transport, list).await else {
            panic!("{name}: not listed")
        };
        assert_eq!(listed.configs.len(), 1, "{name}");
        let delete = DeleteTaskPushNotificationConfigRequest {
            tenant: None,
            task_id: made.id.clone(),
            id: created.id.clone(),
        };
        let delete = Request::DeleteTaskPushNotificationConfig(delete);
        assert!(matches!(ask(transport, delete).await, Ok(Reply::PushConfigsDeleted(_))), "{name}");
        assert!(ask(transport, get).await.is_err(), "{name}: still there");
    }
}

#[tokio::test]
async fn the_extended_card_is_read_where_the_version_has_one() {
    let server = demo().await;
    for (binding, version) in PAIRS.into_iter().filter(|(_, it)| *it != Version::V0_1) {
        let name = format!("{binding} {version}");
        let transport = &*transport(server.address(), (binding, version));
        let request = Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
        let answer = ask(transport, request).await;
        let Ok(Reply::Card(card)) = answer else { panic!("{name}: {answer:?}") };
        assert!(card.description.contains("extended card"), "{name}: {}", card.description);
    }
}
