//! Recorded gRPC exchanges: message bytes and statuses.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use latimer_pb::{v0_3, v1};
use latimer_protocol::card::{AgentCard, TransitionHistory};
use latimer_protocol::{
    CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, Error, GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest, GetTaskRequest, GrpcStatus,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, Operation, SendMessageRequest, SendMessageResponse,
    StreamResponse, SubscribeToTaskRequest, Task, TaskPushNotificationConfig, Version, protobuf,
};
use prost::Message;
use serde_json::json;

use super::difference::Findings;
use super::fixture::Fixture;
use crate::finality;

pub(super) fn check(fixture: &Fixture, findings: &mut Findings) {
    let response = &fixture.response;
    if response.code != 0 {
        check_status(fixture, findings);
    }
    let operation = fixture.operation.expect("recorded operation");
    let request = fixture.request.as_ref().and_then(|it| it.message.as_deref());
    if let Some(bytes) = request {
        check_request(fixture, operation, &decode_base64(bytes), findings);
    }
    for message in &response.messages {
        check_reply(fixture, operation, &decode_base64(&message.message), findings);
    }
}

fn decode_base64(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).expect("base64")
}

/// Decodes a message, converts it to the model and back, and compares the results.
struct RoundTrip<'a> {
    fixture: &'a Fixture,
    what: &'static str,
    bytes: &'a [u8],
    findings: &'a mut Findings,
}

impl RoundTrip<'_> {
    fn check<M, T>(self, to_message: impl Fn(&T) -> M)
    where
        M: Message + Default + std::fmt::Debug,
        T: TryFrom<M, Error: std::fmt::Display>,
    {
        let peer = M::decode(self.bytes).expect("valid message");
        let original = M::decode(self.bytes).expect("valid message");
        match T::try_from(peer) {
            Ok(model) => {
                let latimer = to_message(&model);
                // The debug output identifies each field.
                let (peer, latimer) = (lines(&original), lines(&latimer));
                self.findings.compare_lines(self.fixture, self.what, &peer, &latimer);
            }
            Err(error) => self.findings.record_rejection(self.fixture, error),
        }
    }
}

/// Prints a message with one field per line. Normalizes timestamps to milliseconds and empty
/// metadata to absent metadata.
fn lines(message: &impl std::fmt::Debug) -> Vec<String> {
    let text = format!("{message:#?}");
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let mut normalized = Vec::new();
    let mut remaining = lines.as_slice();
    while let [line, following @ ..] = remaining {
        remaining = match (*line, following) {
            ("metadata: Some(", ["Struct {", "fields: {},", "},", "),", after @ ..]) => {
                normalized.push("metadata: None,".to_owned());
                after
            }
            (line, _) => {
                let nanos = line.strip_prefix("nanos: ").and_then(|it| it.strip_suffix(','));
                let nanos = nanos.and_then(|it| it.parse::<u32>().ok());
                normalized.push(match nanos {
                    Some(nanos) => format!("nanos: {},", nanos / 1_000_000 * 1_000_000),
                    None => line.to_owned(),
                });
                following
            }
        };
    }
    normalized
}

fn check_request(fixture: &Fixture, operation: Operation, bytes: &[u8], findings: &mut Findings) {
    let round_trip = RoundTrip { fixture, what: "request", bytes, findings };
    match (fixture.version, operation) {
        (Version::V1_0, Operation::SendMessage | Operation::SendStreamingMessage) => {
            round_trip.check(|it: &SendMessageRequest| v1::SendMessageRequest::from(it));
        }
        (Version::V1_0, Operation::GetTask) => {
            round_trip.check(|it: &GetTaskRequest| v1::GetTaskRequest::from(it));
        }
        (Version::V1_0, Operation::ListTasks) => {
            round_trip.check(|it: &ListTasksRequest| v1::ListTasksRequest::from(it));
        }
        (Version::V1_0, Operation::CancelTask) => {
            round_trip.check(|it: &CancelTaskRequest| v1::CancelTaskRequest::from(it));
        }
        (Version::V1_0, Operation::SubscribeToTask) => {
            round_trip.check(|it: &SubscribeToTaskRequest| v1::SubscribeToTaskRequest::from(it));
        }
        (Version::V1_0, Operation::CreateTaskPushNotificationConfig) => {
            round_trip
                .check(|it: &TaskPushNotificationConfig| v1::TaskPushNotificationConfig::from(it));
        }
        (Version::V1_0, Operation::GetTaskPushNotificationConfig) => {
            round_trip.check(|it: &GetTaskPushNotificationConfigRequest| {
                v1::GetTaskPushNotificationConfigRequest::from(it)
            });
        }
        (Version::V1_0, Operation::ListTaskPushNotificationConfigs) => {
            round_trip.check(|it: &ListTaskPushNotificationConfigsRequest| {
                v1::ListTaskPushNotificationConfigsRequest::from(it)
            });
        }
        (Version::V1_0, Operation::DeleteTaskPushNotificationConfig) => {
            round_trip.check(|it: &DeleteTaskPushNotificationConfigRequest| {
                v1::DeleteTaskPushNotificationConfigRequest::from(it)
            });
        }
        (Version::V1_0, Operation::GetExtendedAgentCard) => {
            round_trip.check(|it: &GetExtendedAgentCardRequest| {
                v1::GetExtendedAgentCardRequest::from(it)
            });
        }
        (_, Operation::SendMessage | Operation::SendStreamingMessage) => {
            round_trip.check(|it: &SendMessageRequest| v0_3::SendMessageRequest::from(it));
        }
        (_, Operation::GetTask) => {
            round_trip.check(|it: &GetTaskRequest| v0_3::GetTaskRequest::from(it));
        }
        (_, Operation::ListTasks) => {
            round_trip.check(|it: &ListTasksRequest| v0_3::ListTasksRequest::from(it));
        }
        (_, Operation::CancelTask) => {
            round_trip.check(|it: &CancelTaskRequest| v0_3::CancelTaskRequest::from(it));
        }
        (_, Operation::SubscribeToTask) => {
            round_trip.check(|it: &SubscribeToTaskRequest| v0_3::TaskSubscriptionRequest::from(it));
        }
        (_, Operation::CreateTaskPushNotificationConfig) => {
            round_trip.check(|it: &TaskPushNotificationConfig| {
                v0_3::CreateTaskPushNotificationConfigRequest::from(it)
            });
        }
        (_, Operation::GetTaskPushNotificationConfig) => {
            round_trip.check(|it: &GetTaskPushNotificationConfigRequest| {
                v0_3::GetTaskPushNotificationConfigRequest::from(it)
            });
        }
        (_, Operation::ListTaskPushNotificationConfigs) => {
            round_trip.check(|it: &ListTaskPushNotificationConfigsRequest| {
                v0_3::ListTaskPushNotificationConfigRequest::from(it)
            });
        }
        (_, Operation::DeleteTaskPushNotificationConfig) => {
            round_trip.check(|it: &DeleteTaskPushNotificationConfigRequest| {
                v0_3::DeleteTaskPushNotificationConfigRequest::from(it)
            });
        }
        (_, Operation::GetExtendedAgentCard | Operation::GetAgentCard) => {
            assert!(bytes.is_empty(), "{}: expected an empty message", fixture.name);
        }
    }
}

fn check_reply(fixture: &Fixture, operation: Operation, bytes: &[u8], findings: &mut Findings) {
    let round_trip = RoundTrip { fixture, what: "reply", bytes, findings };
    match (fixture.version, operation) {
        (Version::V1_0, Operation::SendMessage) => {
            round_trip.check(|it: &SendMessageResponse| v1::SendMessageResponse::from(it));
        }
        (Version::V1_0, Operation::SendStreamingMessage | Operation::SubscribeToTask) => {
            round_trip.check(|it: &StreamResponse| v1::StreamResponse::from(it));
        }
        (Version::V1_0, Operation::GetTask | Operation::CancelTask) => {
            round_trip.check(|it: &Task| v1::Task::from(it));
        }
        (Version::V1_0, Operation::ListTasks) => {
            round_trip.check(|it: &ListTasksResponse| v1::ListTasksResponse::from(it));
        }
        (
            Version::V1_0,
            Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig,
        ) => {
            round_trip
                .check(|it: &TaskPushNotificationConfig| v1::TaskPushNotificationConfig::from(it));
        }
        (Version::V1_0, Operation::ListTaskPushNotificationConfigs) => {
            round_trip.check(|it: &ListTaskPushNotificationConfigsResponse| {
                v1::ListTaskPushNotificationConfigsResponse::from(it)
            });
        }
        (Version::V1_0, Operation::GetExtendedAgentCard | Operation::GetAgentCard) => {
            round_trip.check(|it: &AgentCard| v1::AgentCard::from(it));
        }
        (_, Operation::SendMessage) => {
            round_trip.check(|it: &SendMessageResponse| v0_3::SendMessageResponse::from(it));
        }
        (_, Operation::SendStreamingMessage | Operation::SubscribeToTask) => {
            use v0_3::stream_response::Payload;
            let message = v0_3::StreamResponse::decode(bytes).expect("valid event");
            let is_last = matches!(message.payload, Some(Payload::StatusUpdate(it)) if it.r#final);
            round_trip
                .check(|it: &StreamResponse| protobuf::v0_3_stream_response(it, finality(is_last)));
        }
        (_, Operation::GetTask | Operation::CancelTask) => {
            round_trip.check(|it: &Task| v0_3::Task::from(it));
        }
        (_, Operation::ListTasks) => {
            round_trip.check(|it: &ListTasksResponse| v0_3::ListTasksResponse::from(it));
        }
        (
            _,
            Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig,
        ) => {
            round_trip.check(|it: &TaskPushNotificationConfig| {
                v0_3::TaskPushNotificationConfig::from(it)
            });
        }
        (_, Operation::ListTaskPushNotificationConfigs) => {
            round_trip.check(|it: &ListTaskPushNotificationConfigsResponse| {
                v0_3::ListTaskPushNotificationConfigResponse::from(it)
            });
        }
        (_, Operation::DeleteTaskPushNotificationConfig) => {
            assert!(bytes.is_empty(), "{}: expected an empty message", fixture.name);
        }
        (_, Operation::GetExtendedAgentCard | Operation::GetAgentCard) => {
            let message = v0_3::AgentCard::decode(bytes).expect("valid card");
            let history = match message.capabilities {
                Some(it) if it.state_transition_history => TransitionHistory::Recorded,
                _ => TransitionHistory::NotRecorded,
            };
            round_trip.check(|it: &AgentCard| protobuf::v0_3_card(it, history));
        }
    }
}

fn check_status(fixture: &Fixture, findings: &mut Findings) {
    let response = &fixture.response;
    let peer = GrpcStatus {
        code: response.code,
        message: response.text.clone().unwrap_or_default(),
        details: response.details.as_deref().map(decode_base64).unwrap_or_default(),
    };
    let latimer = Error::from_grpc(&peer).to_grpc(fixture.version);
    findings.compare(
        fixture,
        "error",
        &json!({ "code": peer.code }),
        &json!({ "code": latimer.code }),
    );
}
