//! The messages of `a2a.v1`.

use bytes::Bytes;
use latimer_pb::v0_3 as pb;
use latimer_protocol::card::TransitionHistory;
use latimer_protocol::{
    Error, ErrorKind, GetExtendedAgentCardRequest, Operation, Reply, Request, protobuf,
};

use super::frames::framed;
use super::message;

/// Reads the request of an operation.
pub(super) fn read(operation: Operation, bytes: Bytes) -> Result<Request, Error> {
    Ok(match operation {
        Operation::SendMessage => {
            Request::SendMessage(message::<pb::SendMessageRequest, _>(bytes)?)
        }
        Operation::SendStreamingMessage => {
            Request::SendStreamingMessage(message::<pb::SendMessageRequest, _>(bytes)?)
        }
        Operation::GetTask => Request::GetTask(message::<pb::GetTaskRequest, _>(bytes)?),
        Operation::ListTasks => Request::ListTasks(message::<pb::ListTasksRequest, _>(bytes)?),
        Operation::CancelTask => Request::CancelTask(message::<pb::CancelTaskRequest, _>(bytes)?),
        Operation::SubscribeToTask => {
            Request::SubscribeToTask(message::<pb::TaskSubscriptionRequest, _>(bytes)?)
        }
        Operation::CreateTaskPushNotificationConfig => {
            Request::CreateTaskPushNotificationConfig(message::<
                pb::CreateTaskPushNotificationConfigRequest,
                _,
            >(bytes)?)
        }
        Operation::GetTaskPushNotificationConfig => {
            Request::GetTaskPushNotificationConfig(message::<
                pb::GetTaskPushNotificationConfigRequest,
                _,
            >(bytes)?)
        }
        Operation::ListTaskPushNotificationConfigs => {
            Request::ListTaskPushNotificationConfigs(message::<
                pb::ListTaskPushNotificationConfigRequest,
                _,
            >(bytes)?)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            Request::DeleteTaskPushNotificationConfig(message::<
                pb::DeleteTaskPushNotificationConfigRequest,
                _,
            >(bytes)?)
        }
        // There is nothing in its request.
        Operation::GetExtendedAgentCard => {
            Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
        }
        Operation::GetAgentCard => return Err(ErrorKind::MethodNotFound.into()),
    })
}

/// Writes a reply, as a message in its frame.
pub(super) fn write(reply: &Reply) -> Result<Bytes, Error> {
    match reply {
        Reply::SendMessage(it) => framed(&pb::SendMessageResponse::from(it)),
        Reply::Task(it) => framed(&pb::Task::from(&**it)),
        Reply::TaskList(it) => framed(&pb::ListTasksResponse::from(it)),
        Reply::PushConfig(it) => framed(&pb::TaskPushNotificationConfig::from(it)),
        Reply::PushConfigList(it) => framed(&pb::ListTaskPushNotificationConfigResponse::from(it)),
        Reply::PushConfigsDeleted(_) => framed(&()),
        Reply::Card(it) => framed(&protobuf::v0_3_card(it, TransitionHistory::Recorded)),
        Reply::Stream(_) => Err(Error::internal()),
    }
}
