//! What an agent said, as what came of a call.

use latimer_protocol::{Content, ContextId, Message, Part, SendMessageResponse, TaskId, TaskState};
use serde_json::Value;

use super::connector::ConnectedAgent;
use crate::tools::{ToolError, ToolErrorCode, ToolOutput};

/// What came of a call that was answered, but for its conversation. Files stay behind: an output is
/// text and data.
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
        // What it made so far may be what the question is about.
        TaskState::InputRequired | TaskState::AuthRequired => {
            format!("{artifact_text}\n{status_text}")
        }
        TaskState::Failed => return task_error("the agent failed"),
        TaskState::Rejected => return task_error("the agent declined"),
        TaskState::Canceled => return task_error("the agent's task was canceled"),
        TaskState::Unspecified | TaskState::Submitted | TaskState::Working => {
            return task_error("the agent has not come to an end");
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

/// What came of a call whose agent is at it.
pub(super) fn still_running(task_id: Option<&TaskId>, context_id: ContextId) -> ToolOutput {
    let text = "The agent is at work. Call again with this contextId to wait for what comes of it.";
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
