//! What an agent said, as what came of a call.

use latimer_protocol::{Content, ContextId, Message, Part, SendMessageResponse, TaskId, TaskState};
use serde_json::Value;

use super::found::Found;
use crate::tools::{Code, Output, ToolError};

/// What came of a call that was answered, but for its conversation. Files stay behind: an output is
/// text and data.
pub(super) fn output(answer: &SendMessageResponse, found: &Found) -> Result<Output, ToolError> {
    let task = match answer {
        SendMessageResponse::Message(message) => {
            let data = data(&message.parts);
            return Ok(Output { text: message.text(), data, ..Output::default() });
        }
        SendMessageResponse::Task(task) => task,
    };
    let said = task.status.message.as_deref().map(Message::text).unwrap_or_default();
    let made: Vec<_> = task.artifacts.iter().map(|it| it.text()).collect();
    let made = made.join("\n");
    let failed = |what: &str| {
        let message = match said.is_empty() {
            true => what.to_owned(),
            false => format!("{what}: {}", found.clean(&said)),
        };
        Err(ToolError::new(Code::A2aError, message))
    };
    let text = match task.status.state {
        TaskState::Completed | TaskState::InputRequired | TaskState::AuthRequired
            if made.is_empty() =>
        {
            said
        }
        TaskState::Completed => made,
        // What it made so far may be what the question is about.
        TaskState::InputRequired | TaskState::AuthRequired => format!("{made}\n{said}"),
        TaskState::Failed => return failed("the agent failed"),
        TaskState::Rejected => return failed("the agent declined"),
        TaskState::Canceled => return failed("the agent's task was canceled"),
        TaskState::Unspecified | TaskState::Submitted | TaskState::Working => {
            return failed("the agent has not come to an end");
        }
    };
    Ok(Output {
        text,
        data: task.artifacts.iter().flat_map(|it| data(&it.parts)).collect(),
        state: Some(task.status.state),
        context_id: None,
        task_id: Some(task.id.clone()),
    })
}

/// What came of a call whose agent is at it.
pub(super) fn unfinished(task: Option<&TaskId>, context: ContextId) -> Output {
    let text = "The agent is at work. Call again with this contextId to wait for what comes of it.";
    Output {
        text: text.to_owned(),
        state: Some(TaskState::Working),
        context_id: Some(context),
        task_id: task.cloned(),
        ..Output::default()
    }
}

fn data(parts: &[Part]) -> Vec<Value> {
    let data = |part: &Part| match &part.content {
        Content::Data(value) => Some(value.as_ref().clone()),
        Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
    };
    parts.iter().filter_map(data).collect()
}
