//! Round trips between models and protobuf messages.

use latimer_pb::{v0_3, v1};
use latimer_protocol::{
    Finality, GetExtendedAgentCardRequest, InvalidField, Request, StreamResponse,
    protobuf::v0_3_stream_response,
};
use prost::Message;

use crate::arbitrary::ComparableReply;

/// Function that transports the bytes of a message and returns the bytes of the result.
pub(crate) type Transport<'a> = &'a mut dyn FnMut(Vec<u8>) -> Vec<u8>;

/// Encodes a message, decodes the transported bytes as the same type, and converts the result.
pub(crate) fn round_trip_model<M, T>(message: &M, transport: Transport<'_>) -> T
where
    M: Message + Default,
    T: TryFrom<M, Error = InvalidField>,
{
    T::try_from(round_trip_message(message, transport)).expect("transported message is convertible")
}

/// Encodes a message and decodes the transported bytes.
pub(crate) fn round_trip_message<M: Message + Default>(message: &M, transport: Transport<'_>) -> M {
    M::decode(transport(message.encode_to_vec()).as_slice())
        .expect("transported bytes are decodable")
}

/// Transports a request as a 1.0 protobuf message.
pub(crate) fn v1_0_request(request: &Request, transport: Transport<'_>) -> Request {
    match request {
        Request::SendMessage(it) => {
            Request::SendMessage(round_trip_model(&v1::SendMessageRequest::from(it), transport))
        }
        Request::SendStreamingMessage(it) => Request::SendStreamingMessage(round_trip_model(
            &v1::SendMessageRequest::from(it),
            transport,
        )),
        Request::GetTask(it) => {
            Request::GetTask(round_trip_model(&v1::GetTaskRequest::from(it), transport))
        }
        Request::ListTasks(it) => {
            Request::ListTasks(round_trip_model(&v1::ListTasksRequest::from(it), transport))
        }
        Request::CancelTask(it) => {
            Request::CancelTask(round_trip_model(&v1::CancelTaskRequest::from(it), transport))
        }
        Request::SubscribeToTask(it) => Request::SubscribeToTask(round_trip_model(
            &v1::SubscribeToTaskRequest::from(it),
            transport,
        )),
        Request::CreateTaskPushNotificationConfig(it) => {
            let message = v1::TaskPushNotificationConfig::from(it);
            Request::CreateTaskPushNotificationConfig(round_trip_model(&message, transport))
        }
        Request::GetTaskPushNotificationConfig(it) => {
            let message = v1::GetTaskPushNotificationConfigRequest::from(it);
            Request::GetTaskPushNotificationConfig(round_trip_model(&message, transport))
        }
        Request::ListTaskPushNotificationConfigs(it) => {
            let message = v1::ListTaskPushNotificationConfigsRequest::from(it);
            Request::ListTaskPushNotificationConfigs(round_trip_model(&message, transport))
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            let message = v1::DeleteTaskPushNotificationConfigRequest::from(it);
            Request::DeleteTaskPushNotificationConfig(round_trip_model(&message, transport))
        }
        Request::GetExtendedAgentCard(it) => {
            let message = v1::GetExtendedAgentCardRequest::from(it);
            Request::GetExtendedAgentCard(round_trip_message(&message, transport).into())
        }
        Request::GetAgentCard => request.clone(),
    }
}

/// Transports a request as a 0.3 protobuf message.
pub(crate) fn v0_3_request(request: &Request, transport: Transport<'_>) -> Request {
    match request {
        Request::SendMessage(it) => {
            Request::SendMessage(round_trip_model(&v0_3::SendMessageRequest::from(it), transport))
        }
        Request::SendStreamingMessage(it) => Request::SendStreamingMessage(round_trip_model(
            &v0_3::SendMessageRequest::from(it),
            transport,
        )),
        Request::GetTask(it) => {
            Request::GetTask(round_trip_model(&v0_3::GetTaskRequest::from(it), transport))
        }
        Request::ListTasks(it) => {
            Request::ListTasks(round_trip_model(&v0_3::ListTasksRequest::from(it), transport))
        }
        Request::CancelTask(it) => {
            Request::CancelTask(round_trip_model(&v0_3::CancelTaskRequest::from(it), transport))
        }
        Request::SubscribeToTask(it) => Request::SubscribeToTask(round_trip_model(
            &v0_3::TaskSubscriptionRequest::from(it),
            transport,
        )),
        Request::CreateTaskPushNotificationConfig(it) => {
            let message = v0_3::CreateTaskPushNotificationConfigRequest::from(it);
            Request::CreateTaskPushNotificationConfig(round_trip_model(&message, transport))
        }
        Request::GetTaskPushNotificationConfig(it) => {
            let message = v0_3::GetTaskPushNotificationConfigRequest::from(it);
            Request::GetTaskPushNotificationConfig(round_trip_model(&message, transport))
        }
        Request::ListTaskPushNotificationConfigs(it) => {
            let message = v0_3::ListTaskPushNotificationConfigRequest::from(it);
            Request::ListTaskPushNotificationConfigs(round_trip_model(&message, transport))
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            let message = v0_3::DeleteTaskPushNotificationConfigRequest::from(it);
            Request::DeleteTaskPushNotificationConfig(round_trip_model(&message, transport))
        }
        Request::GetExtendedAgentCard(_) => {
            round_trip_message(&v0_3::GetAgentCardRequest {}, transport);
            Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
        }
        Request::GetAgentCard => request.clone(),
    }
}

/// Transports a reply as a 1.0 protobuf message.
pub(crate) fn v1_0_reply(reply: &ComparableReply, transport: Transport<'_>) -> ComparableReply {
    match reply {
        ComparableReply::SendMessage(it) => ComparableReply::SendMessage(round_trip_model(
            &v1::SendMessageResponse::from(it),
            transport,
        )),
        ComparableReply::Task(it) => {
            ComparableReply::Task(round_trip_model(&v1::Task::from(it), transport))
        }
        ComparableReply::TaskList(it) => {
            ComparableReply::TaskList(round_trip_model(&v1::ListTasksResponse::from(it), transport))
        }
        ComparableReply::PushConfig(it) => ComparableReply::PushConfig(round_trip_model(
            &v1::TaskPushNotificationConfig::from(it),
            transport,
        )),
        ComparableReply::PushConfigList(it) => {
            let message = v1::ListTaskPushNotificationConfigsResponse::from(it);
            ComparableReply::PushConfigList(round_trip_model(&message, transport))
        }
    }
}

/// Transports a reply as a 0.3 protobuf message.
pub(crate) fn v0_3_reply(reply: &ComparableReply, transport: Transport<'_>) -> ComparableReply {
    match reply {
        ComparableReply::SendMessage(it) => ComparableReply::SendMessage(round_trip_model(
            &v0_3::SendMessageResponse::from(it),
            transport,
        )),
        ComparableReply::Task(it) => {
            ComparableReply::Task(round_trip_model(&v0_3::Task::from(it), transport))
        }
        ComparableReply::TaskList(it) => ComparableReply::TaskList(round_trip_model(
            &v0_3::ListTasksResponse::from(it),
            transport,
        )),
        ComparableReply::PushConfig(it) => ComparableReply::PushConfig(round_trip_model(
            &v0_3::TaskPushNotificationConfig::from(it),
            transport,
        )),
        ComparableReply::PushConfigList(it) => {
            let message = v0_3::ListTaskPushNotificationConfigResponse::from(it);
            ComparableReply::PushConfigList(round_trip_model(&message, transport))
        }
    }
}

/// Transports an event as a 1.0 protobuf message.
pub(crate) fn v1_0_event(event: &StreamResponse, transport: Transport<'_>) -> StreamResponse {
    round_trip_model(&v1::StreamResponse::from(event), transport)
}

/// Transports an event as a 0.3 protobuf message.
pub(crate) fn v0_3_event(
    event: &StreamResponse,
    finality: Finality,
    transport: Transport<'_>,
) -> StreamResponse {
    round_trip_model(&v0_3_stream_response(event, finality), transport)
}
