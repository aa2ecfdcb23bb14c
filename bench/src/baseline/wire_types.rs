//! Types of protocol version 1.0 that the baseline reads and writes, borrowed where possible.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use uuid::Uuid;

const FIXED_TIMESTAMP: &str = "2026-01-01T00:00:00.000Z";
const ARTIFACT_ID: &str = "artifact-1";

#[derive(Debug, Deserialize)]
pub(super) struct JsonRpcRequest<'a> {
    #[serde(borrow)]
    pub(super) id: &'a RawValue,
    pub(super) method: &'a str,
    pub(super) params: Params<'a>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Params<'a> {
    #[serde(borrow)]
    pub(super) message: Option<Message<'a>>,
    pub(super) id: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SendMessageParams<'a> {
    #[serde(borrow)]
    pub(super) message: Message<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message<'a> {
    message_id: &'a str,
    role: &'a str,
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Part<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Debug, Serialize)]
pub(super) struct JsonRpcResponse<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: T,
}

impl<'a, T> JsonRpcResponse<'a, T> {
    pub(super) fn new(id: &'a RawValue, result: T) -> Self {
        Self { jsonrpc: "2.0", id, result }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct SendMessageResult<'a> {
    pub(super) task: Task<'a>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task<'a> {
    id: &'a str,
    context_id: &'a str,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts: Option<[Artifact<'a>; 1]>,
    history: [HistoryMessage<'a>; 1],
}

#[derive(Debug, Serialize)]
pub(super) struct Status {
    state: &'static str,
    timestamp: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Artifact<'a> {
    artifact_id: &'static str,
    parts: &'a [Part<'a>],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HistoryMessage<'a> {
    message_id: &'a str,
    context_id: &'a str,
    task_id: &'a str,
    role: &'a str,
    parts: &'a [Part<'a>],
}

#[derive(Debug, Serialize)]
#[serde(rename_all_fields = "camelCase")]
pub(super) enum StreamUpdate<'a> {
    #[serde(rename = "task")]
    Task(Task<'a>),
    #[serde(rename = "artifactUpdate")]
    Artifact { task_id: &'a str, context_id: &'a str, artifact: Artifact<'a>, last_chunk: bool },
    #[serde(rename = "statusUpdate")]
    Status { task_id: &'a str, context_id: &'a str, status: Status },
}

/// A message, and the ids of the task that echoes it.
#[derive(Debug)]
pub(super) struct EchoTask<'a> {
    message: Message<'a>,
    task_id: Cow<'a, str>,
    context_id: String,
}

impl<'a> EchoTask<'a> {
    pub(super) fn new(message: Message<'a>) -> Self {
        Self { message, task_id: new_id().into(), context_id: new_id() }
    }

    /// Creates a task with a fixed message, as if it were stored.
    pub(super) fn for_task_id(task_id: &'a str) -> Self {
        let text = Cow::Borrowed("The quick brown fox jumps over the lazy dog.");
        let message = Message {
            message_id: "msg-0000000000000000-1",
            role: "ROLE_USER",
            parts: vec![Part { text }],
        };
        Self { message, task_id: task_id.into(), context_id: new_id() }
    }

    pub(super) fn completed(&self) -> Task<'_> {
        Task { artifacts: Some([self.artifact()]), ..self.task("TASK_STATE_COMPLETED") }
    }

    pub(super) fn updates(&self) -> [StreamUpdate<'_>; 3] {
        let (task_id, context_id) = (&*self.task_id, &*self.context_id);
        let status = Status { state: "TASK_STATE_COMPLETED", timestamp: FIXED_TIMESTAMP };
        [
            StreamUpdate::Task(self.task("TASK_STATE_SUBMITTED")),
            StreamUpdate::Artifact {
                task_id,
                context_id,
                artifact: self.artifact(),
                last_chunk: true,
            },
            StreamUpdate::Status { task_id, context_id, status },
        ]
    }

    fn task(&self, state: &'static str) -> Task<'_> {
        let Message { message_id, role, parts } = &self.message;
        let (task_id, context_id) = (&*self.task_id, &*self.context_id);
        Task {
            id: task_id,
            context_id,
            status: Status { state, timestamp: FIXED_TIMESTAMP },
            artifacts: None,
            history: [HistoryMessage { message_id, context_id, task_id, role, parts }],
        }
    }

    fn artifact(&self) -> Artifact<'_> {
        Artifact { artifact_id: ARTIFACT_ID, parts: &self.message.parts }
    }
}

pub(super) fn new_id() -> String {
    Uuid::now_v7().to_string()
}
