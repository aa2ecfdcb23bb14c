//! Small tasks to store.

use std::path::Path;

use latimer_protocol::{
    Artifact, ArtifactId, ContextId, Dialect, Event, Part, Revision, Task, TaskArtifactUpdateEvent,
    TaskId, TaskState, TaskStatus, Timestamp,
};
use latimer_store::{Append, Durability, Header, Key, Sqlite, SqliteConfig, Work};

pub(crate) fn open(folder: &Path, durability: Durability) -> Sqlite {
    let config = SqliteConfig { durability, ..SqliteConfig::default() };
    Sqlite::open(folder.join("tasks.db"), config).expect("it opens")
}

pub(crate) fn key(id: &str) -> Key {
    Key { caller: "caller".into(), agent: "agent".into(), id: TaskId::new(id).expect("an id") }
}

pub(crate) fn time(at: i64) -> Timestamp {
    Timestamp::from_millis(at).expect("a time")
}

/// A task comes into being, and is worked on.
pub(crate) fn create(id: &str) -> Append {
    let context = ContextId::new("c").expect("an id");
    let status = TaskStatus::from(TaskState::Working).with_timestamp(time(1));
    let task = Task::new(key(id).id, context.clone(), status);
    Append {
        key: key(id),
        expected: Revision::START,
        events: vec![Event::Created(task)],
        header: Header {
            context,
            state: TaskState::Working,
            updated: time(1),
            dialect: Dialect::V1_0,
            work: Work::Running,
            note: None,
        },
        snapshot: None,
        sent: None,
        webhook: None,
    }
}

/// A task that is worked on has a further piece of its artifact.
pub(crate) fn grow(id: &str, expected: Revision, text: &str) -> Append {
    let artifact = Artifact::new(ArtifactId::first(), Part::text(text));
    let update = TaskArtifactUpdateEvent::new(key(id).id, artifact);
    let piece = Event::Artifact(TaskArtifactUpdateEvent { append: true, ..update });
    Append { expected, events: vec![piece], ..create(id) }
}
