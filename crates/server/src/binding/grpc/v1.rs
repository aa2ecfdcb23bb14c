//! The messages of `lf.a2a.v1`.

use bytes::Bytes;
use latimer_pb::v1 as pb;
use latimer_protocol::{Error, ErrorKind, Operation, Reply, Request};

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
            Request::SubscribeToTask(message::<pb::SubscribeToTaskRequest, _>(bytes)?)
        }
        Operation::CreateTaskPushNotificationConfig => Request::CreateTaskPushNotificationConfig(
            message::<pb::TaskPushNotificationConfig, _>(bytes)?,
        ),
        Operation::GetTaskPushNotificationConfig => {
            Request::GetTaskPushNotificationConfig(message::<
                pb::GetTaskPushNotificationConfigRequest,
                _,
            >(bytes)?)
        }
        Operation::ListTaskPushNotificationConfigs => {
            Request::ListTaskPushNotificationConfigs(message::<
                pb::ListTaskPushNotificationConfigsRequest,
                _,
            >(bytes)?)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            Request::DeleteTaskPushNotificationConfig(message::<
                pb::DeleteTaskPushNotificationConfigRequest,
                _,
            >(bytes)?)
        }
        Operation::GetExtendedAgentCard => {
            let request = <pb::GetExtendedAgentCardRequest as prost::Message>::decode(bytes);
            Request::GetExtendedAgentCard(request.map_err(|_| ErrorKind::Parse)?.into())
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
        Reply::PushConfigList(it) => framed(&pb::ListTaskPushNotificationConfigsResponse::from(it)),
        Reply::PushConfigsDeleted(_) => framed(&()),
        Reply::Card(it) => framed(&pb::AgentCard::from(&**it)),
        Reply::Stream(_) => Err(Error::internal()),
    }
}
