//! Baseline server for gRPC.

use std::pin::Pin;

use futures_util::Stream;
use latimer_pb::v1::server::{A2aService, A2aServiceServer};
use latimer_pb::v1::{
    AgentCard, Artifact, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, Message, Part, Role, SendMessageRequest,
    SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task, TaskArtifactUpdateEvent,
    TaskPushNotificationConfig, TaskState, TaskStatus, TaskStatusUpdateEvent, part,
    send_message_response, stream_response,
};
use tonic::{Request, Response, Status};

use super::wire_types::new_id;
use crate::BenchError;

type Events = Pin<Box<dyn Stream<Item = Result<StreamResponse, Status>> + Send>>;

pub(super) async fn serve(address: &str) -> Result<(), BenchError> {
    let server = tonic::transport::Server::builder().tcp_nodelay(true);
    Ok({ server }.add_service(A2aServiceServer::new(Baseline)).serve(address.parse()?).await?)
}

struct Baseline;

#[tonic::async_trait]
impl A2aService for Baseline {
    type SendStreamingMessageStream = Events;
    type SubscribeToTaskStream = Events;

    async fn send_message(
        &self,
        request: Request<SendMessageRequest>,
    ) -> Result<Response<SendMessageResponse>, Status> {
        let task = task(message(request)?, TaskState::Completed, true);
        let payload = Some(send_message_response::Payload::Task(task));
        Ok(Response::new(SendMessageResponse { payload }))
    }

    async fn send_streaming_message(
        &self,
        request: Request<SendMessageRequest>,
    ) -> Result<Response<Events>, Status> {
        let mut task = task(message(request)?, TaskState::Submitted, true);
        let artifact = TaskArtifactUpdateEvent {
            task_id: task.id.clone(),
            context_id: task.context_id.clone(),
            artifact: task.artifacts.pop(),
            last_chunk: true,
            ..TaskArtifactUpdateEvent::default()
        };
        let status = TaskStatusUpdateEvent {
            task_id: task.id.clone(),
            context_id: task.context_id.clone(),
            status: Some(status(TaskState::Completed)),
            metadata: None,
        };
        let events = [
            stream_response::Payload::Task(task),
            stream_response::Payload::ArtifactUpdate(artifact),
            stream_response::Payload::StatusUpdate(status),
        ];
        let events = events.map(|it| Ok(StreamResponse { payload: Some(it) }));
        Ok(Response::new(Box::pin(futures_util::stream::iter(events))))
    }

    async fn get_task(&self, request: Request<GetTaskRequest>) -> Result<Response<Task>, Status> {
        let text = "The quick brown fox jumps over the lazy dog.".to_owned();
        let message = Message {
            message_id: "msg-0000000000000000-1".to_owned(),
            role: Role::User.into(),
            parts: vec![Part { content: Some(part::Content::Text(text)), ..Part::default() }],
            ..Message::default()
        };
        let id = request.into_inner().id;
        Ok(Response::new(Task { id, ..task(message, TaskState::Completed, true) }))
    }

    async fn list_tasks(
        &self,
        _: Request<ListTasksRequest>,
    ) -> Result<Response<ListTasksResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn cancel_task(&self, _: Request<CancelTaskRequest>) -> Result<Response<Task>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn subscribe_to_task(
        &self,
        _: Request<SubscribeToTaskRequest>,
    ) -> Result<Response<Events>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn create_task_push_notification_config(
        &self,
        _: Request<TaskPushNotificationConfig>,
    ) -> Result<Response<TaskPushNotificationConfig>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn get_task_push_notification_config(
        &self,
        _: Request<GetTaskPushNotificationConfigRequest>,
    ) -> Result<Response<TaskPushNotificationConfig>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn list_task_push_notification_configs(
        &self,
        _: Request<ListTaskPushNotificationConfigsRequest>,
    ) -> Result<Response<ListTaskPushNotificationConfigsResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn get_extended_agent_card(
        &self,
        _: Request<GetExtendedAgentCardRequest>,
    ) -> Result<Response<AgentCard>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn delete_task_push_notification_config(
        &self,
        _: Request<DeleteTaskPushNotificationConfigRequest>,
    ) -> Result<Response<()>, Status> {
        Err(Status::unimplemented(""))
    }
}

fn message(request: Request<SendMessageRequest>) -> Result<Message, Status> {
    request.into_inner().message.ok_or_else(|| Status::invalid_argument(""))
}

fn task(mut message: Message, state: TaskState, with_artifact: bool) -> Task {
    let (id, context_id) = (new_id(), new_id());
    let parts = message.parts.clone();
    message.task_id = id.clone();
    message.context_id = context_id.clone();
    let artifact = Artifact { artifact_id: "artifact-1".to_owned(), parts, ..Artifact::default() };
    Task {
        id,
        context_id,
        status: Some(status(state)),
        artifacts: with_artifact.then_some(artifact).into_iter().collect(),
        history: vec![message],
        metadata: None,
    }
}

fn status(state: TaskState) -> TaskStatus {
    let timestamp = Some(prost_types::Timestamp { seconds: 1_767_225_600, nanos: 0 });
    TaskStatus { state: state.into(), message: None, timestamp }
}
