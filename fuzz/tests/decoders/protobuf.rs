//! Protobuf: every request and every reply of both packages, and the details of errors.

use std::fmt::Debug;

use bolero::check;
use latimer_pb::{v0_3, v1};
use latimer_protocol::card::{AgentCard, TransitionHistory};
use latimer_protocol::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, Error, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, GrpcStatus,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig, Then, Version, protobuf,
};
use prost::Message;

use crate::corpus::{MESSAGES, Recipe, bake};

/// Tries the messages whose names are those of the model.
macro_rules! survive {
    ($pb:ident, $bytes:expr, [$($name:ident),* $(,)?]) => {
        $(survives::<$pb::$name, $name>($bytes);)*
    };
}

#[test]
fn protobuf_of_1_0() {
    check!().with_type::<Recipe>().for_each(|recipe| {
        let bytes = bake(&MESSAGES, recipe);
        survive!(
            v1,
            &bytes,
            [
                SendMessageRequest,
                SendMessageResponse,
                StreamResponse,
                GetTaskRequest,
                Task,
                ListTasksRequest,
                ListTasksResponse,
                CancelTaskRequest,
                SubscribeToTaskRequest,
                TaskPushNotificationConfig,
                GetTaskPushNotificationConfigRequest,
                ListTaskPushNotificationConfigsRequest,
                ListTaskPushNotificationConfigsResponse,
                DeleteTaskPushNotificationConfigRequest,
                GetExtendedAgentCardRequest,
                AgentCard,
            ]
        );
        let status = GrpcStatus { code: 5, message: String::new(), details: bytes };
        drop(Error::from_grpc(&status).to_grpc(Version::V1_0));
    });
}

#[test]
fn protobuf_of_0_3() {
    type Push = TaskPushNotificationConfig;
    type ListPush = ListTaskPushNotificationConfigsRequest;
    type ListedPush = ListTaskPushNotificationConfigsResponse;
    check!().with_type::<Recipe>().for_each(|recipe| {
        let bytes = bake(&MESSAGES, recipe);
        survive!(
            v0_3,
            &bytes,
            [
                SendMessageRequest,
                SendMessageResponse,
                GetTaskRequest,
                Task,
                ListTasksRequest,
                ListTasksResponse,
                CancelTaskRequest,
                GetTaskPushNotificationConfigRequest,
                DeleteTaskPushNotificationConfigRequest,
            ]
        );
        survives::<v0_3::TaskSubscriptionRequest, SubscribeToTaskRequest>(&bytes);
        survives::<v0_3::CreateTaskPushNotificationConfigRequest, Push>(&bytes);
        survives::<v0_3::ListTaskPushNotificationConfigRequest, ListPush>(&bytes);
        same(rewritten(&bytes, |it| protobuf::v0_3_stream_response(it, Then::Closes)));
        // An id with a slash in it makes a name that is refused.
        drop(rewritten(&bytes, |it: &Push| v0_3::TaskPushNotificationConfig::from(it)));
        let list = |it: &ListedPush| v0_3::ListTaskPushNotificationConfigResponse::from(it);
        drop(rewritten(&bytes, list));
        // The signatures are left out, and 0.2 becomes 0.3.
        let card = rewritten(&bytes, |it| protobuf::v0_3_card(it, TransitionHistory::Kept));
        assert!(card.is_none_or(|(_, again): (AgentCard, _)| again.is_ok()));
    });
}

fn survives<M, T>(bytes: &[u8])
where
    M: Message + Default + for<'a> From<&'a T>,
    T: TryFrom<M, Error: Debug> + PartialEq + Debug,
{
    same(rewritten(bytes, |it: &T| M::from(it)));
}

/// What can be read can be written, and then reads as the same.
fn same<T: PartialEq + Debug, E: Debug>(rewritten: Option<(T, Result<T, E>)>) {
    let Some((read, again)) = rewritten else { return };
    assert!(again.as_ref().is_ok_and(|it| *it == read), "{read:?} became {again:?}");
}

/// What the bytes say, and what it is after it was written and read again.
fn rewritten<M, T>(bytes: &[u8], write: impl Fn(&T) -> M) -> Option<(T, Result<T, T::Error>)>
where
    M: Message + Default,
    T: TryFrom<M>,
{
    let read = T::try_from(M::decode(bytes).ok()?).ok()?;
    let written = write(&read).encode_to_vec();
    let again = M::decode(written.as_slice()).expect("we write protobuf");
    Some((read, T::try_from(again)))
}
