//! gRPC: the bytes of each message, and the status of each failure.

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
use crate::then;

pub(super) fn check(fixture: &Fixture, findings: &mut Findings) {
    let response = &fixture.response;
    if response.code != 0 {
        status(fixture, findings);
    }
    let operation = fixture.operation.expect("an operation");
    let request = fixture.request.as_ref().and_then(|it| it.message.as_deref());
    if let Some(bytes) = request {
        check_request(fixture, operation, &bytes_of(bytes), findings);
    }
    for message in &response.messages {
        check_reply(fixture, operation, &bytes_of(&message.message), findings);
    }
}

fn bytes_of(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).expect("base64")
}

/// Decodes a message, converts it to the model and back, and compares.
struct Turn<'a> {
    fixture: &'a Fixture,
    what: &'static str,
    bytes: &'a [u8],
    findings: &'a mut Findings,
}

impl Turn<'_> {
    fn through<M, T>(self, back: impl Fn(&T) -> M)
    where
        M: Message + Default + std::fmt::Debug,
        T: TryFrom<M, Error: std::fmt::Display>,
    {
        let theirs = M::decode(self.bytes).expect("a message of the package");
        let again = M::decode(self.bytes).expect("a message of the package");
        match T::try_from(theirs) {
            Ok(model) => {
                let ours = back(&model);
                // Debug tells messages apart as well as a path would, field by field.
                let (theirs, ours) = (lines(&again), lines(&ours));
                self.findings.compare_lines(self.fixture, self.what, &theirs, &ours);
            }
            Err(error) => self.findings.refused(self.fixture, error),
        }
    }
}

/// A message as lines, one per field. Two things are evened out: nanoseconds, of which we keep
/// milliseconds, and free-form members that are there and empty, which are as good as absent.
fn lines(message: &impl std::fmt::Debug) -> Vec<String> {
    let text = format!("{message:#?}");
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let mut kept = Vec::new();
    let mut rest = lines.as_slice();
    while let [line, behind @ ..] = rest {
        rest = match (*line, behind) {
            ("metadata: Some(", ["Struct {", "fields: {},", "},", "),", after @ ..]) => {
                kept.push("metadata: None,".to_owned());
                after
            }
            (line, _) => {
                let nanos = line.strip_prefix("nanos: ").and_then(|it| it.strip_suffix(','));
                let nanos = nanos.and_then(|it| it.parse::<u32>().ok());
                kept.push(match nanos {
                    Some(nanos) => format!("nanos: {},", nanos / 1_000_000 * 1_000_000),
                    None => line.to_owned(),
                });
                behind
            }
        };
    }
    kept
}

fn check_request(fixture: &Fixture, operation: Operation, bytes: &[u8], findings: &mut Findings) {
    let turn = Turn { fixture, what: "request", bytes, findings };
    match (fixture.version, operation) {
        (Version::V1_0, Operation::SendMessage | Operation::SendStreamingMessage) => {
            turn.through(|it: &SendMessageRequest| v1::SendMessageRequest::from(it));
        }
        (Version::V1_0, Operation::GetTask) => {
            turn.through(|it: &GetTaskRequest| v1::GetTaskRequest::from(it));
        }
        (Version::V1_0, Operation::ListTasks) => {
            turn.through(|it: &ListTasksRequest| v1::ListTasksRequest::from(it));
        }
        (Version::V1_0, Operation::CancelTask) => {
            turn.through(|it: &CancelTaskRequest| v1::CancelTaskRequest::from(it));
        }
        (Version::V1_0, Operation::SubscribeToTask) => {
            turn.through(|it: &SubscribeToTaskRequest| v1::SubscribeToTaskRequest::from(it));
        }
        (Version::V1_0, Operation::CreateTaskPushNotificationConfig) => {
            turn.through(|it: &TaskPushNotificationConfig| {
                v1::TaskPushNotificationConfig::from(it)
            });
        }
        (Version::V1_0, Operation::GetTaskPushNotificationConfig) => {
            turn.through(|it: &GetTaskPushNotificationConfigRequest| {
                v1::GetTaskPushNotificationConfigRequest::from(it)
            });
        }
        (Version::V1_0, Operation::ListTaskPushNotificationConfigs) => {
            turn.through(|it: &ListTaskPushNotificationConfigsRequest| {
                v1::ListTaskPushNotificationConfigsRequest::from(it)
            });
        }
        (Version::V1_0, Operation::DeleteTaskPushNotificationConfig) => {
            turn.through(|it: &DeleteTaskPushNotificationConfigRequest| {
                v1::DeleteTaskPushNotificationConfigRequest::from(it)
            });
        }
        (Version::V1_0, Operation::GetExtendedAgentCard) => {
            turn.through(|it: &GetExtendedAgentCardRequest| {
                v1::GetExtendedAgentCardRequest::from(it)
            });
        }
        (_, Operation::SendMessage | Operation::SendStreamingMessage) => {
            turn.through(|it: &SendMessageRequest| v0_3::SendMessageRequest::from(it));
        }
        (_, Operation::GetTask) => {
            turn.through(|it: &GetTaskRequest| v0_3::GetTaskRequest::from(it));
        }
        (_, Operation::ListTasks) => {
            turn.through(|it: &ListTasksRequest| v0_3::ListTasksRequest::from(it));
        }
        (_, Operation::CancelTask) => {
            turn.through(|it: &CancelTaskRequest| v0_3::CancelTaskRequest::from(it));
        }
        (_, Operation::SubscribeToTask) => {
            turn.through(|it: &SubscribeToTaskRequest| v0_3::TaskSubscriptionRequest::from(it));
        }
        (_, Operation::CreateTaskPushNotificationConfig) => {
            turn.through(|it: &TaskPushNotificationConfig| {
                v0_3::CreateTaskPushNotificationConfigRequest::from(it)
            });
        }
        (_, Operation::GetTaskPushNotificationConfig) => {
            turn.through(|it: &GetTaskPushNotificationConfigRequest| {
                v0_3::GetTaskPushNotificationConfigRequest::from(it)
            });
        }
        (_, Operation::ListTaskPushNotificationConfigs) => {
            turn.through(|it: &ListTaskPushNotificationConfigsRequest| {
                v0_3::ListTaskPushNotificationConfigRequest::from(it)
            });
        }
        (_, Operation::DeleteTaskPushNotificationConfig) => {
            turn.through(|it: &DeleteTaskPushNotificationConfigRequest| {
                v0_3::DeleteTaskPushNotificationConfigRequest::from(it)
            });
        }
        (_, Operation::GetExtendedAgentCard | Operation::GetAgentCard) => {
            assert!(bytes.is_empty(), "{}: an empty message", fixture.name);
        }
    }
}

fn check_reply(fixture: &Fixture, operation: Operation, bytes: &[u8], findings: &mut Findings) {
    let turn = Turn { fixture, what: "reply", bytes, findings };
    match (fixture.version, operation) {
        (Version::V1_0, Operation::SendMessage) => {
            turn.through(|it: &SendMessageResponse| v1::SendMessageResponse::from(it));
        }
        (Version::V1_0, Operation::SendStreamingMessage | Operation::SubscribeToTask) => {
            turn.through(|it: &StreamResponse| v1::StreamResponse::from(it));
        }
        (Version::V1_0, Operation::GetTask | Operation::CancelTask) => {
            turn.through(|it: &Task| v1::Task::from(it));
        }
        (Version::V1_0, Operation::ListTasks) => {
            turn.through(|it: &ListTasksResponse| v1::ListTasksResponse::from(it));
        }
        (
            Version::V1_0,
            Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig,
        ) => {
            turn.through(|it: &TaskPushNotificationConfig| {
                v1::TaskPushNotificationConfig::from(it)
            });
        }
        (Version::V1_0, Operation::ListTaskPushNotificationConfigs) => {
            turn.through(|it: &ListTaskPushNotificationConfigsResponse| {
                v1::ListTaskPushNotificationConfigsResponse::from(it)
            });
        }
        (Version::V1_0, Operation::GetExtendedAgentCard | Operation::GetAgentCard) => {
            turn.through(|it: &AgentCard| v1::AgentCard::from(it));
        }
        (_, Operation::SendMessage) => {
            turn.through(|it: &SendMessageResponse| v0_3::SendMessageResponse::from(it));
        }
        (_, Operation::SendStreamingMessage | Operation::SubscribeToTask) => {
            use v0_3::stream_response::Payload;
            let message = v0_3::StreamResponse::decode(bytes).expect("an event");
            let closes = matches!(message.payload, Some(Payload::StatusUpdate(it)) if it.r#final);
            turn.through(|it: &StreamResponse| protobuf::v0_3_stream_response(it, then(closes)));
        }
        (_, Operation::GetTask | Operation::CancelTask) => {
            turn.through(|it: &Task| v0_3::Task::from(it));
        }
        (_, Operation::ListTasks) => {
            turn.through(|it: &ListTasksResponse| v0_3::ListTasksResponse::from(it));
        }
        (
            _,
            Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig,
        ) => {
            turn.through(|it: &TaskPushNotificationConfig| {
                v0_3::TaskPushNotificationConfig::from(it)
            });
        }
        (_, Operation::ListTaskPushNotificationConfigs) => {
            turn.through(|it: &ListTaskPushNotificationConfigsResponse| {
                v0_3::ListTaskPushNotificationConfigResponse::from(it)
            });
        }
        (_, Operation::DeleteTaskPushNotificationConfig) => {
            assert!(bytes.is_empty(), "{}: an empty message", fixture.name);
        }
        (_, Operation::GetExtendedAgentCard | Operation::GetAgentCard) => {
            let message = v0_3::AgentCard::decode(bytes).expect("a card");
            let history = match message.capabilities {
                Some(it) if it.state_transition_history => TransitionHistory::Kept,
                _ => TransitionHistory::NotKept,
            };
            turn.through(|it: &AgentCard| protobuf::v0_3_card(it, history));
        }
    }
}

fn status(fixture: &Fixture, findings: &mut Findings) {
    let response = &fixture.response;
    let theirs = GrpcStatus {
        code: response.code,
        message: response.text.clone().unwrap_or_default(),
        details: response.details.as_deref().map(bytes_of).unwrap_or_default(),
    };
    let ours = Error::from_grpc(&theirs).to_grpc(fixture.version);
    findings.compare(
        fixture,
        "error",
        &json!({ "code": theirs.code }),
        &json!({ "code": ours.code }),
    );
}
