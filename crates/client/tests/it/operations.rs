//! All operations over each binding, in each version that has them.

use futures_util::TryStreamExt;
use latimer_client::transport::Transport;
use latimer_client::{CallOptions, Client, Credentials, Error, user_message};
use latimer_protocol::{
    Call, CallResponse, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, ErrorKind,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, ListTaskPushNotificationConfigsRequest,
    ListTasksRequest, Message, Operation, Reply, ReplyKind, Request, Secret,
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskId, TaskPushNotificationConfig, TaskState, Version,
};
use latimer_runtime::DemoAgent;
use latimer_server::{ApiKeys, Server};

use crate::support::{BINDING_VERSIONS, demo, listen, transport};

async fn call_single(transport: &dyn Transport, request: Request) -> Result<Reply, Error> {
    match transport.exchange(&Call::new(request), &CallOptions::default()).await? {
        CallResponse { kind: ReplyKind::Single(reply), .. } => Ok(reply),
        other => panic!("{other:?}"),
    }
}

async fn collect_events(
    transport: &dyn Transport,
    call: Call,
) -> Result<Vec<StreamResponse>, Error> {
    let ReplyKind::Stream(events) = transport.exchange(&call, &CallOptions::default()).await?.kind
    else {
        panic!("no stream")
    };
    let events: Vec<_> = events.try_collect().await?;
    Ok(events.iter().map(|it| it.event.event().clone()).collect())
}

async fn call_for_task(transport: &dyn Transport, request: Request) -> Task {
    match call_single(transport, request).await {
        Ok(Reply::SendMessage(SendMessageResponse::Task(task)) | Reply::Task(task)) => {
            (*task).clone()
        }
        other => panic!("{other:?}"),
    }
}

fn send_request(message: Message) -> Request {
    Request::SendMessage(message.into())
}

/// A message whose call returns as soon as the task exists.
fn immediate_send_request(message: Message) -> Request {
    let configuration = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    let request = SendMessageRequest::from(message);
    Request::SendMessage(SendMessageRequest { configuration: Some(configuration), ..request })
}

#[tokio::test]
async fn messages_are_sent_and_tasks_fetched_and_canceled() {
    let server = demo().await;
    for (binding, version) in BINDING_VERSIONS {
        let name = format!("{binding} {version}");
        let transport = &*transport(server.address(), (binding, version));
        let echoed = call_for_task(transport, send_request(user_message("echo hello"))).await;
        assert_eq!(echoed.status.state, TaskState::Completed, "{name}");
        assert_eq!(echoed.text(), "hello", "{name}");
        let fetched =
            call_for_task(transport, Request::GetTask(GetTaskRequest::from(echoed.id.clone())))
                .await;
        assert_eq!((&fetched.id, fetched.text().as_str()), (&echoed.id, "hello"), "{name}");

        let question = call_for_task(transport, send_request(user_message("ask Which one?"))).await;
        assert_eq!(question.status.state, TaskState::InputRequired, "{name}");
        let mut answer = user_message("that one").with_task(question.id.clone());
        answer.context_id = question.context_id.clone();
        let answered = call_for_task(transport, send_request(answer)).await;
        assert_eq!(answered.status.state, TaskState::Completed, "{name}");

        let question = call_for_task(transport, send_request(user_message("ask Which one?"))).await;
        let cancel = || Request::CancelTask(CancelTaskRequest::from(question.id.clone()));
        assert_eq!(
            call_for_task(transport, cancel()).await.status.state,
            TaskState::Canceled,
            "{name}"
        );
        let cancel = Request::CancelTask(CancelTaskRequest::from(echoed.id.clone()));
        let Err(Error::Agent(error)) = call_single(transport, cancel).await else {
            panic!("{name}")
        };
        assert_eq!(error.kind(), ErrorKind::TaskNotCancelable, "{name}");

        let none = Request::GetTask(GetTaskRequest::from(TaskId::new("none").unwrap()));
        let Err(Error::Agent(error)) = call_single(transport, none).await else { panic!("{name}") };
        assert_eq!(error.kind(), ErrorKind::TaskNotFound, "{name}");
    }
}

#[tokio::test]
async fn direct_replies_and_files_arrive_unchanged() {
    let server = demo().await;
    for (binding, version) in BINDING_VERSIONS.into_iter().filter(|(_, it)| *it != Version::V0_1) {
        let name = format!("{binding} {version}");
        let transport = &*transport(server.address(), (binding, version));
        let Ok(Reply::SendMessage(SendMessageResponse::Message(reply))) =
            call_single(transport, send_request(user_message("say hello"))).await
        else {
            panic!("{name}: no message")
        };
        assert_eq!(reply.text(), "hello", "{name}");
        let task =
            call_for_task(transport, send_request(user_message("file letters.bin 1000"))).await;
        let part = &task.artifacts[0].parts[0];
        assert!(format!("{:?}", part.content).len() > 1000, "{name}: {part:?}");
        assert_eq!(part.filename.as_deref(), Some("letters.bin"), "{name}");
    }
}

#[tokio::test]
async fn streams_deliver_all_events_and_resume() {
    let server = demo().await;
    for (binding, version) in BINDING_VERSIONS {
        let name = format!("{binding} {version}");
        let transport = &*transport(server.address(), (binding.clone(), version));
        let request = SendMessageRequest::from(user_message("chunks 3"));
        let call = Call::new(Request::SendStreamingMessage(request));
        if Operation::SendStreamingMessage.route(version).is_none()
            && binding == latimer_protocol::card::ProtocolBinding::HttpJson
        {
            let error = transport.exchange(&call, &CallOptions::default()).await.unwrap_err();
            assert!(matches!(error, Error::Agent(_)), "{name}: {error}");
            continue;
        }
        let received =
            collect_events(transport, call).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let id = received[0].task_id().expect("a task").clone();
        let chunks = received.iter().filter(|it| matches!(it, StreamResponse::ArtifactUpdate(_)));
        assert!(chunks.count() >= 3, "{name}: {received:?}");
        let last = received.iter().rev().find_map(StreamResponse::status).unwrap();
        assert_eq!(last.state, TaskState::Completed, "{name}");

        let mut call = Call::new(Request::SubscribeToTask(SubscribeToTaskRequest::from(id)));
        let error = collect_events(transport, call.clone()).await.unwrap_err();
        let Error::Agent(error) = error else { panic!("{name}: {error}") };
        assert!(error.message().contains("already ended"), "{name}: {error}");
        call.context.resume_after = Some(latimer_protocol::Revision::new(1));
        let resumed =
            collect_events(transport, call).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(resumed.len() < received.len() + 1 && !resumed.is_empty(), "{name}: {resumed:?}");
        let chunks = resumed.iter().filter(|it| matches!(it, StreamResponse::ArtifactUpdate(_)));
        assert!(chunks.count() >= 3, "{name}: {resumed:?}");
    }
}

#[tokio::test]
async fn tasks_are_listed_in_versions_that_support_it() {
    let server = demo().await;
    for (binding, version) in BINDING_VERSIONS {
        let name = format!("{binding} {version}");
        let transport = &*transport(server.address(), (binding.clone(), version));
        let task = call_for_task(transport, send_request(user_message("echo hello"))).await;
        let request =
            ListTasksRequest { context_id: task.context_id.clone(), ..Default::default() };
        match call_single(transport, Request::ListTasks(request)).await {
            Ok(Reply::TaskList(page)) => {
                assert_eq!((page.total_size, page.tasks.len()), (1, 1), "{name}");
                assert_eq!(page.tasks[0].id, task.id, "{name}");
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
async fn webhooks_are_created_fetched_and_deleted() {
    let server = demo().await;
    for (binding, version) in BINDING_VERSIONS.into_iter().filter(|(_, it)| *it != Version::V0_1) {
        let name = format!("{binding} {version}");
        let transport = &*transport(server.address(), (binding, version));
        let task =
            call_for_task(transport, immediate_send_request(user_message("wait 60000"))).await;
        let config = TaskPushNotificationConfig {
            task_id: Some(task.id.clone()),
            url: "http://127.0.0.1:1/hook".into(),
            ..Default::default()
        };
        let created = Request::CreateTaskPushNotificationConfig(config);
        let Ok(Reply::PushConfig(created)) = call_single(transport, created).await else {
            panic!("{name}: not created")
        };
        let get = GetTaskPushNotificationConfigRequest {
            tenant: None,
            task_id: task.id.clone(),
            id: created.id.clone(),
        };
        let get = Request::GetTaskPushNotificationConfig(get);
        let Ok(Reply::PushConfig(fetched)) = call_single(transport, get.clone()).await else {
            panic!("{name}: not fetched")
        };
        assert_eq!(fetched.url, "http://127.0.0.1:1/hook", "{name}");
        let list = ListTaskPushNotificationConfigsRequest {
            tenant: None,
            task_id: task.id.clone(),
            page_size: None,
            page_token: None,
        };
        let list = Request::ListTaskPushNotificationConfigs(list);
        let Ok(Reply::PushConfigList(listed)) = call_single(transport, list).await else {
            panic!("{name}: not listed")
        };
        assert_eq!(listed.configs.len(), 1, "{name}");
        let delete = DeleteTaskPushNotificationConfigRequest {
            tenant: None,
            task_id: task.id.clone(),
            id: created.id.clone(),
        };
        let delete = Request::DeleteTaskPushNotificationConfig(delete);
        assert!(
            matches!(call_single(transport, delete).await, Ok(Reply::PushConfigsDeleted(_))),
            "{name}"
        );
        assert!(call_single(transport, get).await.is_err(), "{name}: still there");
    }
}

#[tokio::test]
async fn extended_card_is_fetched_in_versions_that_have_it() {
    let agent = DemoAgent::new_agent("demo").with_extended_card(DemoAgent::extended_card("demo"));
    let keys = ApiKeys::default().with_operator_key(&Secret::new("sesame"));
    let server = listen(Server::new(agent).authenticate(keys)).await;
    let url = format!("http://{}/a2a", server.address());
    for (binding, version) in BINDING_VERSIONS.into_iter().filter(|(_, it)| *it != Version::V0_1) {
        let name = format!("{binding} {version}");
        let credentials = Credentials::bearer(Secret::new("sesame")).unwrap();
        let client = Client::builder(&url).bindings([binding]).versions([version]);
        let client = client.credentials(credentials).connect().await.unwrap();
        let card = client.extended_card().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(card.description.contains("extended card"), "{name}: {}", card.description);
    }
}
