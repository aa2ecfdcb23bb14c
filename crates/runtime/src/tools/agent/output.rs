//! Conversion of an agent's reply to the output of the tool.

use latimer_protocol::{Content, ContextId, Message, Part, SendMessageResponse, TaskId, TaskState};
use serde_json::Value;

use super::connector::ConnectedAgent;
use crate::tools::{ToolError, ToolErrorCode, ToolOutput};

/// Converts a reply to an output without a context id. Files are omitted: an output contains text
/// and data. Fails if the task has failed or was rejected or canceled.
pub(super) fn from_reply(
    reply: &SendMessageResponse,
    agent: &ConnectedAgent,
) -> Result<ToolOutput, ToolError> {
    let task = match reply {
        SendMessageResponse::Message(message) => {
            let data = data(&message.parts);
            return Ok(ToolOutput { text: message.text(), data, ..ToolOutput::default() });
        }
        SendMessageResponse::Task(task) => task,
    };
    let status_text = task.status.message.as_deref().map(Message::text).unwrap_or_default();
    let artifact_texts: Vec<_> = task.artifacts.iter().map(|it| it.text()).collect();
    let artifact_text = artifact_texts.join("\n");
    let task_error = |summary: &str| {
        let message = match status_text.is_empty() {
            true => summary.to_owned(),
            false => format!("{summary}: {}", agent.redact(&status_text)),
        };
        Err(ToolError::new(ToolErrorCode::A2aError, message))
    };
    let text = match task.status.state {
        TaskState::Completed | TaskState::InputRequired | TaskState::AuthRequired
            if artifact_text.is_empty() =>
        {
            status_text
        }
        TaskState::Completed => artifact_text,
        // The question may refer to the artifacts.
        TaskState::InputRequired | TaskState::AuthRequired => {
            format!("{artifact_text}\n{status_text}")
        }
        TaskState::Failed => return task_error("the agent failed"),
        TaskState::Rejected => return task_error("the agent rejected the task"),
        TaskState::Canceled => return task_error("the agent's task was canceled"),
        TaskState::Unspecified | TaskState::Submitted | TaskState::Working => {
            return task_error("the agent has not finished");
        }
    };
    Ok(ToolOutput {
        text,
        data: task.artifacts.iter().flat_map(|it| data(&it.parts)).collect(),
        state: Some(task.status.state),
        context_id: None,
        task_id: Some(task.id.clone()),
    })
}

/// Returns the output of a call whose agent is still running.
pub(super) fn still_running(task_id: Option<&TaskId>, context_id: ContextId) -> ToolOutput {
    let text = "The agent is still working. Call again with this contextId to wait for the result.";
    ToolOutput {
        text: text.to_owned(),
        state: Some(TaskState::Working),
        context_id: Some(context_id),
        task_id: task_id.cloned(),
        ..ToolOutput::default()
    }
}

fn data(parts: &[Part]) -> Vec<Value> {
    let data = |part: &Part| match &part.content {
        Content::Data(value) => Some(value.as_ref().clone()),
        Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
    };
    parts.iter().filter_map(data).collect()
}
