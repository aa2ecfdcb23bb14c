//! A short spelling of the events of a task that is one row.
//!
//! Every event names its task and its conversation, and so does the row. What usual events say
//! besides is written in a fixed order, without names; any other event is written as it is. It is a
//! third of the bytes, and less work to write. What is read is exactly what was meant.

use std::borrow::Cow;
use std::sync::Arc;

use latimer_protocol::{
    Artifact, ContextId, Event, Message, MessageId, Part, Role, Task, TaskArtifactUpdateEvent,
    TaskId, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::failure::Damage;

/// What the row says of its task, and its events need not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub(super) task: &'a TaskId,
    pub(super) context: &'a ContextId,
}

/// An event without what its row says. Written to disk: it never changes its meaning.
#[derive(Serialize, Deserialize)]
pub(super) enum Short<'a> {
    /// The task came into being, with its history.
    #[serde(rename = "c")]
    Created(Status, Vec<Said<'a>>),
    #[serde(rename = "s")]
    Status(Status),
    /// An artifact; whether it goes behind what is there, and whether it is complete.
    #[serde(rename = "a")]
    Artifact(Cow<'a, Artifact>, bool, bool),
    /// Anything else.
    #[serde(rename = "e")]
    Event(Cow<'a, Event>),
}

/// The number of a state, and since when, in milliseconds since the start of 1970.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Status(i32, i64);

/// A message: its id, whose it is, and what it says.
#[derive(Serialize, Deserialize)]
pub(super) struct Said<'a>(Cow<'a, MessageId>, Role, Cow<'a, [Part]>);

impl<'a> Short<'a> {
    /// Shortens an event of the task that is so named.
    pub(super) fn new(event: &'a Event, names: Names<'_>) -> Self {
        let short = match event {
            Event::Created(task) => created(task, names),
            Event::Status(update) => status_update(update, names),
            Event::Artifact(update) => artifact_update(update, names),
            Event::Message(_) => None,
        };
        short.unwrap_or(Self::Event(Cow::Borrowed(event)))
    }

    /// The event of the task that is so named.
    pub(super) fn expand(self, names: Names<'_>) -> Result<Event, Damage> {
        let (task_id, context_id) = (names.task.clone(), Some(names.context.clone()));
        Ok(match self {
            Self::Created(status, said) => {
                let mut task = Task::new(task_id, names.context.clone(), status.expand()?);
                task.history = said.into_iter().map(|it| Arc::new(it.expand(names))).collect();
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

fn created<'a>(task: &'a Task, names: Names<'_>) -> Option<Short<'a>> {
    let Task { id, context_id, status, artifacts, history, metadata } = task;
    let is_usual =
        names.are(Some(id), context_id.as_ref()) && artifacts.is_empty() && metadata.is_empty();
    let said = history.iter().map(|it| Said::new(it, names)).collect::<Option<_>>()?;
    is_usual.then_some(Short::Created(Status::new(status)?, said))
}

fn status_update<'a>(update: &TaskStatusUpdateEvent, names: Names<'_>) -> Option<Short<'a>> {
    let TaskStatusUpdateEvent { task_id, context_id, status, metadata } = update;
    let is_usual = names.are(Some(task_id), context_id.as_ref()) && metadata.is_empty();
    is_usual.then_some(Short::Status(Status::new(status)?))
}

fn artifact_update<'a>(update: &'a TaskArtifactUpdateEvent, names: Names<'_>) -> Option<Short<'a>> {
    let TaskArtifactUpdateEvent { task_id, context_id, artifact, append, last_chunk, metadata } =
        update;
    let is_usual = names.are(Some(task_id), context_id.as_ref()) && metadata.is_empty();
    is_usual.then_some(Short::Artifact(Cow::Borrowed(artifact), *append, *last_chunk))
}

impl Names<'_> {
    fn are(self, task: Option<&TaskId>, context: Option<&ContextId>) -> bool {
        task == Some(self.task) && context == Some(self.context)
    }
}

impl Status {
    fn new(status: &TaskStatus) -> Option<Self> {
        let TaskStatus { state, message, timestamp } = status;
        message.is_none().then_some(Self(state.number(), timestamp.as_ref()?.as_millis()))
    }

    fn expand(self) -> Result<TaskStatus, Damage> {
        let Self(number, millis) = self;
        let state = TaskState::from_number(number.into());
        let state = state.ok_or_else(|| Damage::new(format!("no state {number}")))?;
        let at = Timestamp::from_millis(millis).map_err(Damage::new)?;
        Ok(TaskStatus::from(state).with_timestamp(at))
    }
}

impl<'a> Said<'a> {
    fn new(message: &'a Message, names: Names<'_>) -> Option<Self> {
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
        let is_usual = names.are(task_id.as_ref(), context_id.as_ref())
            && metadata.is_empty()
            && extensions.is_empty()
            && reference_task_ids.is_empty();
        is_usual.then_some(Self(Cow::Borrowed(message_id), *role, Cow::Borrowed(parts)))
    }

    fn expand(self, names: Names<'_>) -> Message {
        let Self(message_id, role, parts) = self;
        Message {
            message_id: message_id.into_owned(),
            context_id: Some(names.context.clone()),
            task_id: Some(names.task.clone()),
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
    use crate::sqlite::codec::{self, PLAIN, SHORT};

    fn names() -> (TaskId, ContextId) {
        (TaskId::new("t").unwrap(), ContextId::new("c").unwrap())
    }

    /// Creation, work, an artifact and the end, as the engine writes them.
    fn echo() -> Vec<Event> {
        let (task_id, context) = names();
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

    fn write(events: &[Event]) -> String {
        let (task, context) = names();
        let names = Names { task: &task, context: &context };
        let body = codec::write_row(events, names).unwrap();
        let count = i64::try_from(events.len()).unwrap();
        assert_eq!(codec::read_row(SHORT, count, &body, names).unwrap(), events);
        assert!(codec::read_row(SHORT, count + 1, &body, names).is_err());
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn what_an_agent_says_that_answers_at_once_is_short() {
        let body = r#"[{"c":[[1,7],[["m","ROLE_USER",[{"text":"hello"}]]]]},{"s":[2,7]},"#;
        let rest =
            r#"{"a":[{"artifactId":"a","parts":[{"text":"hello"}]},false,true]},{"s":[3,7]}]"#;
        assert_eq!(write(&echo()), format!("{body}{rest}"));
    }

    #[test]
    fn what_was_written_before_is_read() {
        let (task, context) = names();
        let body = serde_json::to_vec(&echo()).unwrap();
        let names = Names { task: &task, context: &context };
        assert_eq!(codec::read_row(PLAIN, 4, &body, names).unwrap(), echo());
    }

    fn metadata() -> Metadata {
        serde_json::from_str(r#"{"x":1}"#).unwrap()
    }

    fn said(task: &mut Task) -> &mut Message {
        Arc::make_mut(&mut task.history[0])
    }

    #[test]
    fn nothing_unusual_is_lost() {
        let creations: [fn(&mut Task); 12] = [
            |it| it.id = TaskId::new("other").unwrap(),
            |it| it.context_id = None,
            |it| it.status.message = Some(it.history[0].clone()),
            |it| it.status.timestamp = None,
            |it| it.artifacts.push(Artifact::new(ArtifactId::new("a").unwrap(), "x").into()),
            |it| it.metadata = metadata(),
            |it| it.history.clear(),
            |it| said(it).task_id = None,
            |it| said(it).context_id = Some(ContextId::new("other").unwrap()),
            |it| said(it).metadata = metadata(),
            |it| said(it).extensions.push("x".to_owned()),
            |it| said(it).reference_task_ids.push(TaskId::new("x").unwrap()),
        ];
        for change in creations {
            let mut events = echo();
            let Event::Created(task) = &mut events[0] else { panic!("no creation") };
            change(task);
            write(&events);
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
            let mut events = echo();
            let Event::Status(update) = &mut events[1] else { panic!("no status") };
            change(update);
            write(&events);
        }
        let artifacts: [fn(&mut TaskArtifactUpdateEvent); 5] = [
            |it| it.task_id = TaskId::new("other").unwrap(),
            |it| it.context_id = None,
            |it| it.metadata = metadata(),
            |it| (it.append, it.last_chunk) = (true, false),
            |it| Arc::make_mut(&mut it.artifact).metadata = metadata(),
        ];
        for change in artifacts {
            let mut events = echo();
            let Event::Artifact(update) = &mut events[2] else { panic!("no artifact") };
            change(update);
            write(&events);
        }
        let mut events = echo();
        let Event::Created(task) = &events[0] else { panic!("no creation") };
        events.push(Event::Message(task.history[0].clone()));
        write(&events);
    }
}
