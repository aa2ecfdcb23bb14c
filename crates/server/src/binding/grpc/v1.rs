//! Messages of the package `lf.a2a.v1`.

use bytes::Bytes;
use latimer_pb::v1 as pb;
use latimer_protocol::{Error, ErrorKind, Operation, Reply, Request};

use super::decode_message;
use super::frames::encode_frame;

/// Decodes the request of an operation.
pub(super) fn read_request(operation: Operation, bytes: Bytes) -> Result<Request, Error> {
    Ok(match operation {
        Operation::SendMessage => {
            Request::SendMessage(decode_message::<pb::SendMessageRequest, _>(bytes)?)
        }
        Operation::SendStreamingMessage => {
            Request::SendStreamingMessage(decode_message::<pb::SendMessageRequest, _>(bytes)?)
        }
        Operation::GetTask => Request::GetTask(decode_message::<pb::GetTaskRequest, _>(bytes)?),
        Operation::ListTasks => {
            Request::ListTasks(decode_message::<pb::ListTasksRequest, _>(bytes)?)
        }
        Operation::CancelTask => {
            Request::CancelTask(decode_message::<pb::CancelTaskRequest, _>(bytes)?)
        }
        Operation::SubscribeToTask => {
            Request::SubscribeToTask(decode_message::<pb::SubscribeToTaskRequest, _>(bytes)?)
        }
        Operation::CreateTaskPushNotificationConfig => {
            Request::CreateTaskPushNotificationConfig(decode_message::<
                pb::TaskPushNotificationConfig,
                _,
            >(bytes)?)
        }
        Operation::GetTaskPushNotificationConfig => {
            Request::GetTaskPushNotificationConfig(decode_message::<
                pb::GetTaskPushNotificationConfigRequest,
                _,
            >(bytes)?)
        }
        Operation::ListTaskPushNotificationConfigs => {
            Request::ListTaskPushNotificationConfigs(decode_message::<
                pb::ListTaskPushNotificationConfigsRequest,
                _,
            >(bytes)?)
        }
        Operation::DeleteTaskPushNotificationConfig => {
            Request::DeleteTaskPushNotificationConfig(decode_message::<
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

/// Encodes a reply as a framed message.
pub(super) fn write_reply(reply: &Reply) -> Result<Bytes, Error> {
    match reply {
        Reply::SendMessage(it) => encode_frame(&pb::SendMessageResponse::from(it)),
        Reply::Task(it) => encode_frame(&pb::Task::from(&**it)),
        Reply::TaskList(it) => encode_frame(&pb::ListTasksResponse::from(it)),
        Reply::PushConfig(it) => encode_frame(&pb::TaskPushNotificationConfig::from(it)),
        Reply::PushConfigList(it) => {
            encode_frame(&pb::ListTaskPushNotificationConfigsResponse::from(it))
        }
        Reply::PushConfigsDeleted(_) => encode_frame(&()),
        Reply::Card(it) => encode_frame(&pb::AgentCard::from(&**it)),
    }
}
