//! Events of a task, and how they change it.
//!
//! A task is an append-only log of events. The engine, replay and the client all compute the task
//! with [`Task::apply`], so they agree on the result. The function is deterministic: it uses no
//! clock and no store.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{
    Artifact, ContextId, Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskId, TaskState,
    TaskStatusUpdateEvent,
};

/// One entry in the log of a task.
///
/// ```
/// use latimer_protocol::{ContextId, Event, StreamResponse, Task, TaskId, TaskState};
///
/// let task = Task::new(TaskId::new("t1")?, ContextId::new("c1")?, TaskState::Submitted);
/// let event = Event::from_stream_response(StreamResponse::Task(task.clone()));
/// assert_eq!(event, Some(Event::Created(task)));
/// # Ok::<(), latimer_protocol::InvalidId>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// The task was created, or a client received a complete snapshot of it.
    Created(Task),
    /// A message was added to the history. Streams do not carry this event.
    Message(Arc<Message>),
    /// The status changed.
    Status(TaskStatusUpdateEvent),
    /// An artifact was added or replaced, or a chunk was appended to it.
    Artifact(TaskArtifactUpdateEvent),
}

impl Event {
    /// Converts an event of a stream; returns `None` for a direct reply, which belongs to no task.
    #[must_use]
    pub fn from_stream_response(response: StreamResponse) -> Option<Self> {
        match response {
            StreamResponse::Task(task) => Some(Self::Created(task)),
            StreamResponse::Message(_) => None,
            StreamResponse::StatusUpdate(update) => Some(Self::Status(update)),
            StreamResponse::ArtifactUpdate(update) => Some(Self::Artifact(update)),
        }
    }

    /// Converts the event for a stream; returns `None` for a message, which appears only in the
    /// history.
    #[must_use]
    pub fn into_stream_response(self) -> Option<StreamResponse> {
        match self {
            Self::Created(task) => Some(StreamResponse::Task(task)),
            Self::Message(_) => None,
            Self::Status(update) => Some(StreamResponse::StatusUpdate(update)),
            Self::Artifact(update) => Some(StreamResponse::ArtifactUpdate(update)),
        }
    }

    fn task_id(&self) -> Option<&TaskId> {
        match self {
            Self::Created(task) => Some(&task.id),
            Self::Message(message) => message.task_id.as_ref(),
            Self::Status(update) => Some(&update.task_id),
            Self::Artifact(update) => Some(&update.task_id),
        }
    }

    fn context_id(&self) -> Option<&ContextId> {
        match self {
            Self::Created(task) => task.context_id.as_ref(),
            Self::Message(message) => message.context_id.as_ref(),
            Self::Status(update) => update.context_id.as_ref(),
            Self::Artifact(update) => update.context_id.as_ref(),
        }
    }
}

/// Reason why an event was not applied. The task is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The task is in a terminal state.
    #[error("task {task} is already terminal ({state})")]
    Finished {
        /// Identifier of the task.
        task: TaskId,
        /// The terminal state.
        state: TaskState,
    },
    /// The event belongs to another task.
    #[error("the event belongs to task {event_task}, not {task}")]
    WrongTask {
        /// Task that the event was applied to.
        task: TaskId,
        /// Task that the event belongs to.
        event_task: TaskId,
    },
    /// The event belongs to another context.
    #[error("the event belongs to another context than task {task}")]
    WrongContext {
        /// Task that the event was applied to.
        task: TaskId,
    },
    /// The event sets a status without a state.
    #[error("the new status of task {task} has no state")]
    MissingState {
        /// Identifier of the task.
        task: TaskId,
    },
    /// The first event of the log does not create the task.
    #[error("the first event of a log must create the task")]
    NotCreated,
}

impl Task {
    /// Applies one event to the task.
    ///
    /// A status message moves to the history when the next status or message arrives. A repeated
    /// snapshot of a terminal task is ignored (§11.7).
    ///
    /// ```
    /// # use latimer_protocol::{ContextId, Event, Task, TaskId, TaskState, TaskStatusUpdateEvent};
    /// let (id, context) = (TaskId::new("t1")?, ContextId::new("c1")?);
    /// let mut task = Task::new(id.clone(), context, TaskState::Submitted);
    /// task.apply(Event::Status(TaskStatusUpdateEvent::new(id.clone(), TaskState::Completed)))?;
    /// assert_eq!(task.status.state, TaskState::Completed);
    ///
    /// let late = Event::Status(TaskStatusUpdateEvent::new(id, TaskState::Working));
    /// assert!(task.apply(late).is_err(), "a terminal task never changes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ApplyError`] if the task is terminal, the event belongs to another task or
    /// context, or the event sets no state. The task is unchanged.
    pub fn apply(&mut self, event: Event) -> Result<(), ApplyError> {
        if self.is_repeated_snapshot(&event) {
            return Ok(());
        }
        self.check_applicable(&event)?;
        match event {
            Event::Created(task) => {
                let previous_context_id = self.context_id.take();
                *self = task;
                self.fill_context_id(previous_context_id);
            }
            Event::Message(message) => {
                self.move_status_message_to_history();
                self.push_history(message);
            }
            Event::Status(update) => {
                self.move_status_message_to_history();
                self.status = update.status;
                self.metadata.extend(update.metadata);
                self.fill_context_id(update.context_id);
            }
            Event::Artifact(update) => {
                self.merge_artifact(update.artifact, update.append);
                self.fill_context_id(update.context_id);
            }
        }
        Ok(())
    }

    /// Computes the task from its complete log; returns `None` if the log is empty.
    ///
    /// # Errors
    /// Returns [`ApplyError`] if the first event does not create the task, or an event cannot be
    /// applied.
    pub fn replay(log: impl IntoIterator<Item = Event>) -> Result<Option<Self>, ApplyError> {
        let mut log = log.into_iter();
        let mut task = match log.next() {
            None => return Ok(None),
            Some(Event::Created(task)) if task.status.state == TaskState::Unspecified => {
                return Err(ApplyError::MissingState { task: task.id });
            }
            Some(Event::Created(task)) => task,
            Some(Event::Message(_) | Event::Status(_) | Event::Artifact(_)) => {
                return Err(ApplyError::NotCreated);
            }
        };
        log.try_for_each(|event| task.apply(event))?;
        Ok(Some(task))
    }

    /// Returns whether the event repeats a terminal task, as a stream may do at its end (§11.7).
    fn is_repeated_snapshot(&self, event: &Event) -> bool {
        let state = self.status.state;
        matches!(event, Event::Created(task)
            if state.is_terminal() && task.id == self.id && task.status.state == state)
    }

    fn check_applicable(&self, event: &Event) -> Result<(), ApplyError> {
        let task = || self.id.clone();
        if let Some(event_task) = event.task_id().filter(|id| **id != self.id) {
            return Err(ApplyError::WrongTask { task: task(), event_task: event_task.clone() });
        }
        if let (Some(task_context), Some(event_context)) = (&self.context_id, event.context_id())
            && task_context != event_context
        {
            return Err(ApplyError::WrongContext { task: task() });
        }
        if self.status.state.is_terminal() {
            return Err(ApplyError::Finished { task: task(), state: self.status.state });
        }
        match event {
            Event::Status(TaskStatusUpdateEvent { status, .. })
            | Event::Created(Self { status, .. })
                if status.state == TaskState::Unspecified =>
            {
                Err(ApplyError::MissingState { task: task() })
            }
            Event::Created(_) | Event::Message(_) | Event::Status(_) | Event::Artifact(_) => Ok(()),
        }
    }

    /// Moves the message of the current status to the history.
    fn move_status_message_to_history(&mut self) {
        if let Some(message) = self.status.message.take() {
            self.push_history(message);
        }
    }

    /// Appends a message to the history, unless it repeats the newest one.
    fn push_history(&mut self, message: Arc<Message>) {
        let newest = self.history.last();
        if newest.is_none_or(|newest| newest.message_id != message.message_id) {
            self.history.push(message);
        }
    }

    fn fill_context_id(&mut self, context_id: Option<ContextId>) {
        if self.context_id.is_none() {
            self.context_id = context_id;
        }
    }

    /// §4.2.2: a chunk is appended to the artifact with its id, a complete artifact replaces it; if
    /// there is none, either is added.
    fn merge_artifact(&mut self, chunk: Arc<Artifact>, append: bool) {
        let existing = self.artifacts.iter_mut().rfind(|it| it.artifact_id == chunk.artifact_id);
        match existing {
            None => self.artifacts.push(chunk),
            Some(existing) if !append => *existing = chunk,
            Some(existing) => {
                let (artifact, chunk) = (Arc::make_mut(existing), Arc::unwrap_or_clone(chunk));
                artifact.parts.extend(chunk.parts);
                artifact.name = chunk.name.or(artifact.name.take());
                artifact.description = chunk.description.or(artifact.description.take());
                artifact.metadata.extend(chunk.metadata);
                let mut seen: HashSet<String> = artifact.extensions.iter().cloned().collect();
                let new = chunk.extensions.into_iter().filter(|it| seen.insert(it.clone()));
                artifact.extensions.extend(new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ArtifactId, MessageId, Part, TaskStatus};

    fn task(state: TaskState) -> Task {
        Task::new(TaskId::new("t").unwrap(), ContextId::new("c").unwrap(), state)
    }

    fn status(state: TaskState) -> Event {
        Event::Status(TaskStatusUpdateEvent::new(TaskId::new("t").unwrap(), state))
    }

    fn agent_message(id: &str) -> Message {
        Message::agent(MessageId::new(id).unwrap(), id)
    }

    fn chunk(name: &str, text: &str, append: bool) -> Event {
        let artifact = Artifact::new(ArtifactId::new(name).unwrap(), Part::text(text));
        let update = TaskArtifactUpdateEvent::new(TaskId::new("t").unwrap(), artifact);
        Event::Artifact(TaskArtifactUpdateEvent { append, ..update })
    }

    #[test]
    fn every_transition_except_from_terminal_states_is_allowed() {
        for from in TaskState::ALL {
            for to in TaskState::ALL {
                let mut task = task(from);
                let allowed = !from.is_terminal() && to != TaskState::Unspecified;
                assert_eq!(task.apply(status(to)).is_ok(), allowed, "{from} to {to}");
                assert_eq!(task.status.state, if allowed { to } else { from });
            }
        }
    }

    #[test]
    fn terminal_task_rejects_every_event() {
        for state in TaskState::ALL.into_iter().filter(|it| it.is_terminal()) {
            for event in [
                status(TaskState::Working),
                status(state),
                chunk("a", "x", true),
                Event::Message(agent_message("m").into()),
                Event::Created(task(TaskState::Working)),
            ] {
                let mut finished = task(state);
                assert!(matches!(finished.apply(event), Err(ApplyError::Finished { .. })));
                assert_eq!(finished, task(state));
            }
        }
    }

    #[test]
    fn repeated_terminal_snapshot_is_ignored() {
        let mut finished = task(TaskState::Completed);
        let mut repeated = finished.clone();
        repeated.history = vec![agent_message("late").into()];
        assert_eq!(finished.apply(Event::Created(repeated)), Ok(()));
        assert_eq!(finished, task(TaskState::Completed));
    }

    #[test]
    fn artifact_chunks_append_and_full_artifacts_replace() {
        let mut task = task(TaskState::Working);
        for event in [
            chunk("a", "1", false),
            chunk("b", "x", true),
            chunk("a", "2", true),
            chunk("b", "y", true),
            chunk("b", "z", false),
        ] {
            task.apply(event).unwrap();
        }
        let texts: Vec<_> = task.artifacts.iter().map(|it| it.text()).collect();
        assert_eq!(texts, ["1\n2", "z"]);
    }

    #[test]
    fn status_messages_move_to_the_history_in_order() {
        let mut task = task(TaskState::Working);
        let input_required =
            TaskStatus::from(TaskState::InputRequired).with_message(agent_message("question"));
        let id = task.id.clone();
        task.apply(Event::Status(TaskStatusUpdateEvent::new(id, input_required))).unwrap();
        assert!(task.history.is_empty());
        task.apply(Event::Message(agent_message("answer").into())).unwrap();
        task.apply(status(TaskState::Working)).unwrap();
        let ids: Vec<_> = task.history.iter().map(|it| it.message_id.as_str()).collect();
        assert_eq!(ids, ["question", "answer"]);
    }

    #[test]
    fn event_of_another_task_or_context_is_rejected() {
        let mut task = task(TaskState::Working);
        let other_task = TaskStatusUpdateEvent::new(TaskId::new("u").unwrap(), TaskState::Failed);
        assert!(matches!(task.apply(Event::Status(other_task)), Err(ApplyError::WrongTask { .. })));
        let mut other_context = TaskStatusUpdateEvent::new(task.id.clone(), TaskState::Failed);
        other_context.context_id = Some(ContextId::new("d").unwrap());
        assert!(matches!(
            task.apply(Event::Status(other_context)),
            Err(ApplyError::WrongContext { .. })
        ));
    }

    #[test]
    fn replay_requires_creation_as_the_first_event() {
        assert_eq!(Task::replay([]), Ok(None));
        assert_eq!(Task::replay([status(TaskState::Working)]), Err(ApplyError::NotCreated));
        let log = [Event::Created(task(TaskState::Submitted)), status(TaskState::Working)];
        assert_eq!(Task::replay(log), Ok(Some(task(TaskState::Working))));
    }
}
