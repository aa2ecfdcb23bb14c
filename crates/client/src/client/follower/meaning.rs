//! What events and errors mean to a follower.

use latimer_protocol::{
    ContextId, Error as AgentError, ErrorKind, Metadata, Phase, StreamResponse, Task, TaskId,
    TaskState, TaskStatus,
};

use crate::error::Error;

/// The task that a first event tells of. Not every server begins with the task itself.
pub(super) fn task_from_event(event: &StreamResponse) -> Result<Task, Error> {
    let bare_task = |id: &TaskId, context_id: &Option<ContextId>, status: TaskStatus| Task {
        id: id.clone(),
        context_id: context_id.clone(),
        status,
        artifacts: Vec::new(),
        history: Vec::new(),
        metadata: Metadata::new(),
    };
    match event {
        StreamResponse::Task(task) => Ok(task.clone()),
        StreamResponse::StatusUpdate(it) => {
            Ok(bare_task(&it.task_id, &it.context_id, it.status.clone()))
        }
        StreamResponse::ArtifactUpdate(it) => {
            let mut task = bare_task(&it.task_id, &it.context_id, TaskState::Working.into());
            task.artifacts.push(it.artifact.clone());
            Ok(task)
        }
        StreamResponse::Message(_) => Err(protocol_violation("a message is no task")),
    }
}

/// Whether a follower has nothing to wait for behind an event.
pub(super) fn settles_task(event: &StreamResponse) -> bool {
    matches!(event, StreamResponse::Message(_))
        || event.status().is_some_and(|it| it.state.phase() != Phase::Active)
}

/// Whether an agent says that it does not stream. Nothing was carried out then.
pub(super) fn is_streaming_unsupported(error: &AgentError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StreamingNotSupported
            | ErrorKind::UnsupportedOperation
            | ErrorKind::MethodNotFound
    )
}

/// Whether an agent does not want to talk to us at all.
pub(super) fn is_access_denied(error: &AgentError) -> bool {
    matches!(error.kind(), ErrorKind::Unauthenticated | ErrorKind::PermissionDenied)
}

/// Whether an agent asks to come back later.
pub(super) fn is_transient(error: &AgentError) -> bool {
    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::RateLimited)
}

pub(super) fn protocol_violation(problem: &str) -> Error {
    AgentError::new(ErrorKind::InvalidAgentResponse, problem.to_owned()).into()
}
