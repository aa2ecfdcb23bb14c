//! Fuzz targets for protobuf: requests and replies of both packages, and error details.

use std::fmt::Debug;

use bolero::check;
use latimer_pb::{v0_3, v1};
use latimer_protocol::card::{AgentCard, TransitionHistory};
use latimer_protocol::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, Error, Finality,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest, GrpcStatus,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig, Version, protobuf,
};
use prost::Message;

use crate::corpus::{MESSAGES, Mutation, mutate};

/// Checks messages whose names equal those of the model.
macro_rules! check_round_trips {
    ($pb:ident, $bytes:expr, [$($name:ident),* $(,)?]) => {
        $(check_round_trip::<$pb::$name, $name>($bytes);)*
    };
}

#[test]
fn mutated_v1_0_protobuf_round_trips() {
    check!().with_type::<Mutation>().for_each(|mutation| {
        let bytes = mutate(&MESSAGES, mutation);
        check_round_trips!(
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
fn mutated_v0_3_protobuf_round_trips() {
    type Push = TaskPushNotificationConfig;
    type ListPush = ListTaskPushNotificationConfigsRequest;
    type PushList = ListTaskPushNotificationConfigsResponse;
    check!().with_type::<Mutation>().for_each(|mutation| {
        let bytes = mutate(&MESSAGES, mutation);
        check_round_trips!(
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
        check_round_trip::<v0_3::TaskSubscriptionRequest, SubscribeToTaskRequest>(&bytes);
        check_round_trip::<v0_3::CreateTaskPushNotificationConfigRequest, Push>(&bytes);
        check_round_trip::<v0_3::ListTaskPushNotificationConfigRequest, ListPush>(&bytes);
        assert_unchanged(round_trip(&bytes, |it| {
            protobuf::v0_3_stream_response(it, Finality::Last)
        }));
        // An id with a slash results in a resource name that is rejected.
        drop(round_trip(&bytes, |it: &Push| v0_3::TaskPushNotificationConfig::from(it)));
        let list = |it: &PushList| v0_3::ListTaskPushNotificationConfigResponse::from(it);
        drop(round_trip(&bytes, list));
        // Signatures are omitted, and 0.2 becomes 0.3.
        let card = round_trip(&bytes, |it| protobuf::v0_3_card(it, TransitionHistory::Recorded));
        assert!(card.is_none_or(|(_, reread): (AgentCard, _)| reread.is_ok()));
    });
}

fn check_round_trip<M, T>(bytes: &[u8])
where
    M: Message + Default + for<'a> From<&'a T>,
    T: TryFrom<M, Error: Debug> + PartialEq + Debug,
{
    assert_unchanged(round_trip(bytes, |it: &T| M::from(it)));
}

/// Asserts that a decoded value is unchanged after encoding and decoding.
fn assert_unchanged<T: PartialEq + Debug, E: Debug>(result: Option<(T, Result<T, E>)>) {
    let Some((read, reread)) = result else { return };
    assert!(reread.as_ref().is_ok_and(|it| *it == read), "{read:?} became {reread:?}");
}

/// Returns the decoded value, and the value after encoding and decoding it again.
fn round_trip<M, T>(bytes: &[u8], write: impl Fn(&T) -> M) -> Option<(T, Result<T, T::Error>)>
where
    M: Message + Default,
    T: TryFrom<M>,
{
    let read = T::try_from(M::decode(bytes).ok()?).ok()?;
    let written = write(&read).encode_to_vec();
    let reread = M::decode(written.as_slice()).expect("encoder writes protobuf");
    Some((read, T::try_from(reread)))
}
