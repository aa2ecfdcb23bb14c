//! Models as protobuf messages, out and back.

use latimer_pb::{v0_3, v1};
use latimer_protocol::{
    GetExtendedAgentCardRequest, Invalid, Request, StreamResponse, Then,
    protobuf::v0_3_stream_response,
};
use prost::Message;

use crate::arbitrary::Answer;

/// Takes the bytes of a message somewhere, and brings back what came of them.
pub(crate) type Carry<'a> = &'a mut dyn FnMut(Vec<u8>) -> Vec<u8>;

/// Encodes a message, decodes what `carry` brings back as the same message, and converts it.
pub(crate) fn through<M, T>(message: &M, carry: Carry<'_>) -> T
where
    M: Message + Default,
    T: TryFrom<M, Error = Invalid>,
{
    T::try_from(back(message, carry)).expect("a message of the same type")
}

/// The message that comes back.
pub(crate) fn back<M: Message + Default>(message: &M, carry: Carry<'_>) -> M {
    M::decode(carry(message.encode_to_vec()).as_slice()).expect("bytes of the same type")
}

/// A request over the gRPC of 1.0.
pub(crate) fn v1_0_request(request: &Request, carry: Carry<'_>) -> Request {
    match request {
        Request::SendMessage(it) => {
            Request::SendMessage(through(&v1::SendMessageRequest::from(it), carry))
        }
        Request::SendStreamingMessage(it) => {
            Request::SendStreamingMessage(through(&v1::SendMessageRequest::from(it), carry))
        }
        Request::GetTask(it) => Request::GetTask(through(&v1::GetTaskRequest::from(it), carry)),
        Request::ListTasks(it) => {
            Request::ListTasks(through(&v1::ListTasksRequest::from(it), carry))
        }
        Request::CancelTask(it) => {
            Request::CancelTask(through(&v1::CancelTaskRequest::from(it), carry))
        }
        Request::SubscribeToTask(it) => {
            Request::SubscribeToTask(through(&v1::SubscribeToTaskRequest::from(it), carry))
        }
        Request::CreateTaskPushNotificationConfig(it) => {
            let message = v1::TaskPushNotificationConfig::from(it);
            Request::CreateTaskPushNotificationConfig(through(&message, carry))
        }
        Request::GetTaskPushNotificationConfig(it) => {
            let message = v1::GetTaskPushNotificationConfigRequest::from(it);
            Request::GetTaskPushNotificationConfig(through(&message, carry))
        }
        Request::ListTaskPushNotificationConfigs(it) => {
            let message = v1::ListTaskPushNotificationConfigsRequest::from(it);
            Request::ListTaskPushNotificationConfigs(through(&message, carry))
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            let message = v1::DeleteTaskPushNotificationConfigRequest::from(it);
            Request::DeleteTaskPushNotificationConfig(through(&message, carry))
        }
        Request::GetExtendedAgentCard(it) => {
            let message = v1::GetExtendedAgentCardRequest::from(it);
            Request::GetExtendedAgentCard(back(&message, carry).into())
        }
        Request::GetAgentCard => request.clone(),
    }
}

/// A request over the gRPC of 0.3.
pub(crate) fn v0_3_request(request: &Request, carry: Carry<'_>) -> Request {
    match request {
        Request::SendMessage(it) => {
            Request::SendMessage(through(&v0_3::SendMessageRequest::from(it), carry))
        }
        Request::SendStreamingMessage(it) => {
            Request::SendStreamingMessage(through(&v0_3::SendMessageRequest::from(it), carry))
        }
        Request::GetTask(it) => Request::GetTask(through(&v0_3::GetTaskRequest::from(it), carry)),
        Request::ListTasks(it) => {
            Request::ListTasks(through(&v0_3::ListTasksRequest::from(it), carry))
        }
        Request::CancelTask(it) => {
            Request::CancelTask(through(&v0_3::CancelTaskRequest::from(it), carry))
        }
        Request::SubscribeToTask(it) => {
            Request::SubscribeToTask(through(&v0_3::TaskSubscriptionRequest::from(it), carry))
        }
        Request::CreateTaskPushNotificationConfig(it) => {
            let message = v0_3::CreateTaskPushNotificationConfigRequest::from(it);
            Request::CreateTaskPushNotificationConfig(through(&message, carry))
        }
        Request::GetTaskPushNotificationConfig(it) => {
            let message = v0_3::GetTaskPushNotificationConfigRequest::from(it);
            Request::GetTaskPushNotificationConfig(through(&message, carry))
        }
        Request::ListTaskPushNotificationConfigs(it) => {
            let message = v0_3::ListTaskPushNotificationConfigRequest::from(it);
            Request::ListTaskPushNotificationConfigs(through(&message, carry))
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            let message = v0_3::DeleteTaskPushNotificationConfigRequest::from(it);
            Request::DeleteTaskPushNotificationConfig(through(&message, carry))
        }
        Request::GetExtendedAgentCard(_) => {
            back(&v0_3::GetAgentCardRequest {}, carry);
            Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
        }
        Request::GetAgentCard => request.clone(),
    }
}

/// A reply over the gRPC of 1.0.
pub(crate) fn v1_0_answer(answer: &Answer, carry: Carry<'_>) -> Answer {
    match answer {
        Answer::Sent(it) => Answer::Sent(through(&v1::SendMessageResponse::from(it), carry)),
        Answer::Task(it) => Answer::Task(through(&v1::Task::from(it), carry)),
        Answer::Tasks(it) => Answer::Tasks(through(&v1::ListTasksResponse::from(it), carry)),
        Answer::PushConfig(it) => {
            Answer::PushConfig(through(&v1::TaskPushNotificationConfig::from(it), carry))
        }
        Answer::PushConfigs(it) => {
            let message = v1::ListTaskPushNotificationConfigsResponse::from(it);
            Answer::PushConfigs(through(&message, carry))
        }
    }
}

/// A reply over the gRPC of 0.3.
pub(crate) fn v0_3_answer(answer: &Answer, carry: Carry<'_>) -> Answer {
    match answer {
        Answer::Sent(it) => Answer::Sent(through(&v0_3::SendMessageResponse::from(it), carry)),
        Answer::Task(it) => Answer::Task(through(&v0_3::Task::from(it), carry)),
        Answer::Tasks(it) => Answer::Tasks(through(&v0_3::ListTasksResponse::from(it), carry)),
        Answer::PushConfig(it) => {
            Answer::PushConfig(through(&v0_3::TaskPushNotificationConfig::from(it), carry))
        }
        Answer::PushConfigs(it) => {
            let message = v0_3::ListTaskPushNotificationConfigResponse::from(it);
            Answer::PushConfigs(through(&message, carry))
        }
    }
}

/// An event over the gRPC of 1.0.
pub(crate) fn v1_0_event(event: &StreamResponse, carry: Carry<'_>) -> StreamResponse {
    through(&v1::StreamResponse::from(event), carry)
}

/// An event over the gRPC of 0.3.
pub(crate) fn v0_3_event(event: &StreamResponse, then: Then, carry: Carry<'_>) -> StreamResponse {
    through(&v0_3_stream_response(event, then), carry)
}
