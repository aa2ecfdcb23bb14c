//! How a task changes: events, and the one fold over them.
//!
//! A task is an append-only log of events. The engine, a replay and a client all come to the same
//! task because they share [`Task::apply`]. It knows no clock and no store.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{
    Artifact, ContextId, Message, StreamResponse, Task, TaskArtifactUpdateEvent, TaskId, TaskState,
    TaskStatusUpdateEvent,
};

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// The task came into being as this, or stands like this by the word of whoever owns it.
    Created(Task),
    /// Something was said. It has no form of its own on the wire: it shows in the history.
    Message(Arc<Message>),
    /// The status changed.
    Status(TaskStatusUpdateEvent),
    /// There is an artifact, or a further piece of one.
    Artifact(TaskArtifactUpdateEvent),
}

impl Event {
    /// The event that a stream tells of; none for a direct message, which has no task.
    #[must_use]
    pub fn from_stream(response: StreamResponse) -> Option<Self> {
        match response {
            StreamResponse::Task(task) => Some(Self::Created(task)),
            StreamResponse::Message(_) => None,
            StreamResponse::StatusUpdate(update) => Some(Self::Status(update)),
            StreamResponse::ArtifactUpdate(update) => Some(Self::Artifact(update)),
        }
    }

    /// What a stream tells of the event; none for a message, which only shows in the history.
    #[must_use]
    pub fn into_stream(self) -> Option<StreamResponse> {
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

/// Why an event was not applied. The task is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The task is over: nothing changes it any more.
    #[error("task {task} is over ({state})")]
    Finished {
        /// The task.
        task: TaskId,
        /// How it ended.
        state: TaskState,
    },
    /// The event is about another task.
    #[error("the event is about task {found}, not {task}")]
    OtherTask {
        /// The task it was applied to.
        task: TaskId,
        /// The task it is about.
        found: TaskId,
    },
    /// The event is about another conversation.
    #[error("task {task} belongs to another conversation")]
    OtherContext {
        /// The task it was applied to.
        task: TaskId,
    },
    /// The event carries a status without a state.
    #[error("the new status of task {task} has no state")]
    NoState {
        /// The task.
        task: TaskId,
    },
    /// The first event of a log was not the creation of the task.
    #[error("a task must be created before anything happens to it")]
    NotCreated,
}

impl Task {
    /// Folds one event into the task. Pure: the engine, replay and the client share it.
    ///
    /// ```
    /// # use latimer_protocol::{ContextId, Event, Task, TaskId, TaskState, TaskStatusUpdateEvent};
    /// let (id, context) = (TaskId::new("t1")?, ContextId::new("c1")?);
    /// let mut task = Task::new(id.clone(), context, TaskState::Submitted);
    /// task.apply(Event::Status(TaskStatusUpdateEvent::new(id.clone(), TaskState::Completed)))?;
    /// assert_eq!(task.status.state, TaskState::Completed);
    ///
    /// let late = Event::Status(TaskStatusUpdateEvent::new(id, TaskState::Working));
    /// assert!(task.apply(late).is_err(), "a finished task never changes");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the task is over, or the event is about another task or has no state.
    pub fn apply(&mut self, event: Event) -> Result<(), Refused> {
        if self.is_told_again(&event) {
            return Ok(());
        }
        self.admit(&event)?;
        match event {
            Event::Created(task) => {
                let known = self.context_id.take();
                *self = task;
                self.adopt(known);
            }
            Event::Message(message) => {
                self.retire_status_message();
                self.remember(message);
            }
            Event::Status(update) => {
                self.retire_status_message();
                self.status = update.status;
                self.metadata.extend(update.metadata);
                self.adopt(update.context_id);
            }
            Event::Artifact(update) => {
                self.merge(update.artifact, update.append);
                self.adopt(update.context_id);
            }
        }
        Ok(())
    }

    /// The task that a whole log amounts to; none when the log is empty.
    ///
    /// # Errors
    /// When the log does not begin with the task's creation, or an event of it is refused.
    pub fn replay(log: impl IntoIterator<Item = Event>) -> Result<Option<Self>, Refused> {
        let mut log = log.into_iter();
        let mut task = match log.next() {
            None => return Ok(None),
            Some(Event::Created(task)) if task.status.state == TaskState::Unspecified => {
                return Err(Refused::NoState { task: task.id });
            }
            Some(Event::Created(task)) => task,
            Some(Event::Message(_) | Event::Status(_) | Event::Artifact(_)) => {
                return Err(Refused::NotCreated);
            }
        };
        log.try_for_each(|event| task.apply(event))?;
        Ok(Some(task))
    }

    /// §11.7: a stream may end with the finished task once more. It says nothing new.
    fn is_told_again(&self, event: &Event) -> bool {
        let finished = self.status.state;
        matches!(event, Event::Created(task)
            if finished.is_terminal() && task.id == self.id && task.status.state == finished)
    }

    fn admit(&self, event: &Event) -> Result<(), Refused> {
        let task = || self.id.clone();
        if let Some(found) = event.task_id().filter(|found| **found != self.id) {
            return Err(Refused::OtherTask { task: task(), found: found.clone() });
        }
        if let (Some(ours), Some(found)) = (&self.context_id, event.context_id())
            && ours != found
        {
            return Err(Refused::OtherContext { task: task() });
        }
        if self.status.state.is_terminal() {
            return Err(Refused::Finished { task: task(), state: self.status.state });
        }
        match event {
            Event::Status(TaskStatusUpdateEvent { status, .. })
            | Event::Created(Self { status, .. })
                if status.state == TaskState::Unspecified =>
            {
                Err(Refused::NoState { task: task() })
            }
            Event::Created(_) | Event::Message(_) | Event::Status(_) | Event::Artifact(_) => Ok(()),
        }
    }

    /// What the agent said with a status stays in the history when the next thing happens.
    fn retire_status_message(&mut self) {
        if let Some(message) = self.status.message.take() {
            self.remember(message);
        }
    }

    /// Adds to the history; a message that is repeated at once is one message.
    fn remember(&mut self, message: Arc<Message>) {
        let newest = self.history.last();
        if newest.is_none_or(|newest| newest.message_id != message.message_id) {
            self.history.push(message);
        }
    }

    fn adopt(&mut self, context_id: Option<ContextId>) {
        if self.context_id.is_none() {
            self.context_id = context_id;
        }
    }

    /// §4.2.2: a piece goes behind the parts that are there, a whole replaces what is there, and
    /// either begins the artifact when there is none of that name.
    fn merge(&mut self, piece: Arc<Artifact>, append: bool) {
        let known = self.artifacts.iter_mut().rfind(|it| it.artifact_id == piece.artifact_id);
        match known {
            None => self.artifacts.push(piece),
            Some(whole) if !append => *whole = piece,
            Some(whole) => {
                let (whole, piece) = (Arc::make_mut(whole), Arc::unwrap_or_clone(piece));
                whole.parts.extend(piece.parts);
                whole.name = piece.name.or(whole.name.take());
                whole.description = piece.description.or(whole.description.take());
                whole.metadata.extend(piece.metadata);
                let mut known: HashSet<String> = whole.extensions.iter().cloned().collect();
                let new = piece.extensions.into_iter().filter(|it| known.insert(it.clone()));
                whole.extensions.extend(new);
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

    fn says(id: &str) -> Message {
        Message::agent(MessageId::new(id).unwrap(), id)
    }

    fn chunk(name: &str, text: &str, append: bool) -> Event {
        let artifact = Artifact::new(ArtifactId::new(name).unwrap(), Part::text(text));
        let update = TaskArtifactUpdateEvent::new(TaskId::new("t").unwrap(), artifact);
        Event::Artifact(TaskArtifactUpdateEvent { append, ..update })
    }

    #[test]
    fn every_edge_but_those_out_of_a_terminal_state_is_allowed() {
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
    fn a_finished_task_takes_no_event_at_all() {
        for state in TaskState::ALL.into_iter().filter(|it| it.is_terminal()) {
            for event in [
                status(TaskState::Working),
                status(state),
                chunk("a", "x", true),
                Event::Message(says("m").into()),
                Event::Created(task(TaskState::Working)),
            ] {
                let mut finished = task(state);
                assert!(matches!(finished.apply(event), Err(Refused::Finished { .. })));
                assert_eq!(finished, task(state));
            }
        }
    }

    #[test]
    fn a_finished_task_may_be_told_once_more_and_stays_as_it_is() {
        let mut finished = task(TaskState::Completed);
        let mut again = finished.clone();
        again.history = vec![says("late").into()];
        assert_eq!(finished.apply(Event::Created(again)), Ok(()));
        assert_eq!(finished, task(TaskState::Completed));
    }

    #[test]
    fn pieces_are_joined_by_artifact_and_wholes_replace() {
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
        let asks = TaskStatus::from(TaskState::InputRequired).with_message(says("question"));
        let id = task.id.clone();
        task.apply(Event::Status(TaskStatusUpdateEvent::new(id, asks))).unwrap();
        assert!(task.history.is_empty());
        task.apply(Event::Message(says("answer").into())).unwrap();
        task.apply(status(TaskState::Working)).unwrap();
        let ids: Vec<_> = task.history.iter().map(|it| it.message_id.as_str()).collect();
        assert_eq!(ids, ["question", "answer"]);
    }

    #[test]
    fn events_of_other_tasks_are_refused() {
        let mut ours = task(TaskState::Working);
        let other = TaskStatusUpdateEvent::new(TaskId::new("u").unwrap(), TaskState::Failed);
        assert!(matches!(ours.apply(Event::Status(other)), Err(Refused::OtherTask { .. })));
        let mut foreign = TaskStatusUpdateEvent::new(ours.id.clone(), TaskState::Failed);
        foreign.context_id = Some(ContextId::new("d").unwrap());
        assert!(matches!(ours.apply(Event::Status(foreign)), Err(Refused::OtherContext { .. })));
    }

    #[test]
    fn a_log_begins_with_the_creation() {
        assert_eq!(Task::replay([]), Ok(None));
        assert_eq!(Task::replay([status(TaskState::Working)]), Err(Refused::NotCreated));
        let log = [Event::Created(task(TaskState::Submitted)), status(TaskState::Working)];
        assert_eq!(Task::replay(log), Ok(Some(task(TaskState::Working))));
    }
}
