//! Compact encoding of the events of a task that is stored in a single row.
//!
//! Task id and context id are stored once in the row and omitted from the events. The remaining
//! fields of common events are encoded by position, without names; other events are encoded as
//! plain JSON. This takes a third of the bytes and less CPU time. Decoding restores every event
//! exactly.

use std::borrow::Cow;
use std::sync::Arc;

use latimer_protocol::{
    Artifact, ContextId, Event, Message, MessageId, Part, Role, Task, TaskArtifactUpdateEvent,
    TaskId, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::error::RowError;

/// Ids stored in the row, which its events omit.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowIds<'a> {
    pub(super) task: &'a TaskId,
    pub(super) context: &'a ContextId,
}

/// Compact event. Written to disk, so its encoding must never change.
#[derive(Serialize, Deserialize)]
pub(super) enum CompactEvent<'a> {
    /// Creation of the task, with its history.
    #[serde(rename = "c")]
    Created(CompactStatus, Vec<CompactMessage<'a>>),
    #[serde(rename = "s")]
    Status(CompactStatus),
    /// Artifact update, with its flags `append` and `last_chunk`.
    #[serde(rename = "a")]
    Artifact(Cow<'a, Artifact>, bool, bool),
    /// Any other event, as plain JSON.
    #[serde(rename = "e")]
    Event(Cow<'a, Event>),
}

/// State number and timestamp in milliseconds since the Unix epoch.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct CompactStatus(i32, i64);

/// Message id, role and parts.
#[derive(Serialize, Deserialize)]
pub(super) struct CompactMessage<'a>(Cow<'a, MessageId>, Role, Cow<'a, [Part]>);

impl<'a> CompactEvent<'a> {
    /// Converts an event of the task with these ids.
    pub(super) fn new(event: &'a Event, ids: RowIds<'_>) -> Self {
        let compact = match event {
            Event::Created(task) => created(task, ids),
            Event::Status(update) => status_update(update, ids),
            Event::Artifact(update) => artifact_update(update, ids),
            Event::Message(_) => None,
        };
        compact.unwrap_or(Self::Event(Cow::Borrowed(event)))
    }

    /// Restores the event of the task with these ids.
    pub(super) fn expand(self, ids: RowIds<'_>) -> Result<Event, RowError> {
        let (task_id, context_id) = (ids.task.clone(), Some(ids.context.clone()));
        Ok(match self {
            Self::Created(status, messages) => {
                let mut task = Task::new(task_id, ids.context.clone(), status.expand()?);
                task.history = messages.into_iter().map(|it| Arc::new(it.expand(ids))).collect();
                Event::Created(task)
            }
            Self::Status(status) => {
                let update = TaskStatusUpdateEvent::new(task_id, status.expand()?);
                Event::Status(TaskStatusUpdateEvent { context_id, ..update })
            }
            Self::Artifact(artifact, append, last_chunk) => {
                let artifact = Arc::new(artifact.into_owned());
                let metadata = Default::default();
                Event::Artifact(TaskArtifactUpdateEvent {
                    task_id,
                    context_id,
                    artifact,
                    append,
                    last_chunk,
                    metadata,
                })
            }
            Self::Event(event) => event.into_owned(),
        })
    }
}

fn created<'a>(task: &'a Task, ids: RowIds<'_>) -> Option<CompactEvent<'a>> {
    let Task { id, context_id, status, artifacts, history, metadata } = task;
    let is_compactable =
        ids.matches(Some(id), context_id.as_ref()) && artifacts.is_empty() && metadata.is_empty();
    let messages = history.iter().map(|it| CompactMessage::new(it, ids)).collect::<Option<_>>()?;
    is_compactable.then_some(CompactEvent::Created(CompactStatus::new(status)?, messages))
}

fn status_update<'a>(update: &TaskStatusUpdateEvent, ids: RowIds<'_>) -> Option<CompactEvent<'a>> {
    let TaskStatusUpdateEvent { task_id, context_id, status, metadata } = update;
    let is_compactable = ids.matches(Some(task_id), context_id.as_ref()) && metadata.is_empty();
    is_compactable.then_some(CompactEvent::Status(CompactStatus::new(status)?))
}

fn artifact_update<'a>(
    update: &'a TaskArtifactUpdateEvent,
    ids: RowIds<'_>,
) -> Option<CompactEvent<'a>> {
    let TaskArtifactUpdateEvent { task_id, context_id, artifact, append, last_chunk, metadata } =
        update;
    let is_compactable = ids.matches(Some(task_id), context_id.as_ref()) && metadata.is_empty();
    is_compactable.then_some(CompactEvent::Artifact(Cow::Borrowed(artifact), *append, *last_chunk))
}

impl RowIds<'_> {
    fn matches(self, task: Option<&TaskId>, context: Option<&ContextId>) -> bool {
        task == Some(self.task) && context == Some(self.context)
    }
}

impl CompactStatus {
    fn new(status: &TaskStatus) -> Option<Self> {
        let TaskStatus { state, message, timestamp } = status;
        message.is_none().then_some(Self(state.number(), timestamp.as_ref()?.as_millis()))
    }

    fn expand(self) -> Result<TaskStatus, RowError> {
        let Self(number, millis) = self;
        let state = TaskState::from_number(number.into());
        let state = state.ok_or_else(|| RowError::corrupt(format!("unknown state {number}")))?;
        let at = Timestamp::from_millis(millis).map_err(RowError::corrupt)?;
        Ok(TaskStatus::from(state).with_timestamp(at))
    }
}

impl<'a> CompactMessage<'a> {
    fn new(message: &'a Message, ids: RowIds<'_>) -> Option<Self> {
        let Message {
            message_id,
            context_id,
            task_id,
            role,
            parts,
            metadata,
            extensions,
            reference_task_ids,
        } = message;
        let is_compactable = ids.matches(task_id.as_ref(), context_id.as_ref())
            && metadata.is_empty()
            && extensions.is_empty()
            && reference_task_ids.is_empty();
        is_compactable.then_some(Self(Cow::Borrowed(message_id), *role, Cow::Borrowed(parts)))
    }

    fn expand(self, ids: RowIds<'_>) -> Message {
        let Self(message_id, role, parts) = self;
        Message {
            message_id: message_id.into_owned(),
            context_id: Some(ids.context.clone()),
            task_id: Some(ids.task.clone()),
            role,
            parts: parts.into_owned(),
            metadata: Default::default(),
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use latimer_protocol::{ArtifactId, Metadata};

    use super::*;
    use crate::sqlite::codec::{self, FORMAT_COMPACT, FORMAT_JSON};

    fn row_ids() -> (TaskId, ContextId) {
        (TaskId::new("t").unwrap(), ContextId::new("c").unwrap())
    }

    /// Returns the events that the engine writes for an echo task.
    fn echo_events() -> Vec<Event> {
        let (task_id, context) = row_ids();
        let (context_id, at) = (Some(context.clone()), Timestamp::from_millis(7).unwrap());
        let mut message = Message::user(MessageId::new("m").unwrap(), "hello");
        (message.task_id, message.context_id) = (Some(task_id.clone()), context_id.clone());
        let status = |state| TaskStatus::from(state).with_timestamp(at);
        let mut task = Task::new(task_id.clone(), context, status(TaskState::Submitted));
        task.history.push(message.into());
        let update = |state| {
            let update = TaskStatusUpdateEvent::new(task_id.clone(), status(state));
            Event::Status(TaskStatusUpdateEvent { context_id: context_id.clone(), ..update })
        };
        let artifact = TaskArtifactUpdateEvent {
            task_id: task_id.clone(),
            context_id: context_id.clone(),
            artifact: Artifact::new(ArtifactId::new("a").unwrap(), "hello").into(),
            append: false,
            last_chunk: true,
            metadata: Default::default(),
        };
        let artifact = Event::Artifact(artifact);
        let (working, completed) = (update(TaskState::Working), update(TaskState::Completed));
        vec![Event::Created(task), working, artifact, completed]
    }

    fn assert_round_trip(events: &[Event]) -> String {
        let (task, context) = row_ids();
        let ids = RowIds { task: &task, context: &context };
        let body = codec::write_single_row_events(events, ids).unwrap();
        let count = i64::try_from(events.len()).unwrap();
        assert_eq!(
            codec::read_single_row_events(FORMAT_COMPACT, count, &body, ids).unwrap(),
            events
        );
        assert!(codec::read_single_row_events(FORMAT_COMPACT, count + 1, &body, ids).is_err());
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn echo_task_has_compact_encoding() {
        let body = r#"[{"c":[[1,7],[["m","ROLE_USER",[{"text":"hello"}]]]]},{"s":[2,7]},"#;
        let rest =
            r#"{"a":[{"artifactId":"a","parts":[{"text":"hello"}]},false,true]},{"s":[3,7]}]"#;
        assert_eq!(assert_round_trip(&echo_events()), format!("{body}{rest}"));
    }

    #[test]
    fn plain_json_events_are_still_readable() {
        let (task, context) = row_ids();
        let body = serde_json::to_vec(&echo_events()).unwrap();
        let ids = RowIds { task: &task, context: &context };
        assert_eq!(
            codec::read_single_row_events(FORMAT_JSON, 4, &body, ids).unwrap(),
            echo_events()
        );
    }

    fn metadata() -> Metadata {
        serde_json::from_str(r#"{"x":1}"#).unwrap()
    }

    fn first_message(task: &mut Task) -> &mut Message {
        Arc::make_mut(&mut task.history[0])
    }

    #[test]
    fn unusual_events_round_trip() {
        let creations: [fn(&mut Task); 12] = [
            |it| it.id = TaskId::new("other").unwrap(),
            |it| it.context_id = None,
            |it| it.status.message = Some(it.history[0].clone()),
            |it| it.status.timestamp = None,
            |it| it.artifacts.push(Artifact::new(ArtifactId::new("a").unwrap(), "x").into()),
            |it| it.metadata = metadata(),
            |it| it.history.clear(),
            |it| first_message(it).task_id = None,
            |it| first_message(it).context_id = Some(ContextId::new("other").unwrap()),
            |it| first_message(it).metadata = metadata(),
            |it| first_message(it).extensions.push("x".to_owned()),
            |it| first_message(it).reference_task_ids.push(TaskId::new("x").unwrap()),
        ];
        for change in creations {
            let mut events = echo_events();
            let Event::Created(task) = &mut events[0] else { panic!("not a creation") };
            change(task);
            assert_round_trip(&events);
        }
        let updates: [fn(&mut TaskStatusUpdateEvent); 5] = [
            |it| it.task_id = TaskId::new("other").unwrap(),
            |it| it.context_id = None,
            |it| it.metadata = metadata(),
            |it| it.status.timestamp = None,
            |it| {
                it.status = TaskStatus::from(TaskState::Failed)
                    .with_message(Message::user(MessageId::new("w").unwrap(), "why"))
            },
        ];
        for change in updates {
            let mut events = echo_events();
            let Event::Status(update) = &mut events[1] else { panic!("not a status") };
            change(update);
            assert_round_trip(&events);
        }
        let artifacts: [fn(&mut TaskArtifactUpdateEvent); 5] = [
            |it| it.task_id = TaskId::new("other").unwrap(),
            |it| it.context_id = None,
            |it| it.metadata = metadata(),
            |it| (it.append, it.last_chunk) = (true, false),
            |it| Arc::make_mut(&mut it.artifact).metadata = metadata(),
        ];
        for change in artifacts {
            let mut events = echo_events();
            let Event::Artifact(update) = &mut events[2] else { panic!("not an artifact") };
            change(update);
            assert_round_trip(&events);
        }
        let mut events = echo_events();
        let Event::Created(task) = &events[0] else { panic!("not a creation") };
        events.push(Event::Message(task.history[0].clone()));
        assert_round_trip(&events);
    }
}
