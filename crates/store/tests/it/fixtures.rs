//! Test support: opening stores and creating appends.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use latimer_protocol::{
    Artifact, ArtifactId, ContextId, Dialect, Event, Part, Revision, Task, TaskArtifactUpdateEvent,
    TaskId, TaskState, TaskStatus, Timestamp,
};
use latimer_store::{
    Append, Durability, OpenError, PendingWork, SqliteConfig, SqliteStore, TaskHeader, TaskKey,
};

pub(crate) fn open(directory: &Path, durability: Durability) -> SqliteStore {
    let config = SqliteConfig { durability, ..SqliteConfig::default() };
    open_with(directory, config)
}

/// Opens the store in a directory, which may have been closed a moment ago.
///
/// Other tests of this process start children. Between fork and exec a child has a copy of every
/// file descriptor, also of the lock file of a store that is closed just then.
pub(crate) fn open_with(directory: &Path, config: SqliteConfig) -> SqliteStore {
    let path = directory.join("tasks.db");
    let deadline = Instant::now() + Duration::from_secs(1);
    loop {
        match SqliteStore::open(&path, config.clone()) {
            Err(OpenError::Locked { .. }) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(1));
            }
            opened => return opened.expect("the store opens"),
        }
    }
}

pub(crate) fn key(id: &str) -> TaskKey {
    TaskKey { owner: "caller".into(), agent: "agent".into(), id: TaskId::new(id).expect("an id") }
}

pub(crate) fn time(at: i64) -> Timestamp {
    Timestamp::from_millis(at).expect("a time")
}

/// Returns an append that creates a running task.
pub(crate) fn create_append(id: &str) -> Append {
    let context = ContextId::new("c").expect("an id");
    let status = TaskStatus::from(TaskState::Working).with_timestamp(time(1));
    let task = Task::new(key(id).id, context.clone(), status);
    Append {
        key: key(id),
        expected: Revision::START,
        events: vec![Event::Created(task)],
        header: TaskHeader {
            context,
            state: TaskState::Working,
            status_changed_at: time(1),
            created_in: Dialect::V1_0,
            pending_work: PendingWork::Running,
            note: None,
        },
        snapshot: None,
        idempotency: None,
        webhook: None,
    }
}

/// Returns an append that extends the artifact of a running task.
pub(crate) fn chunk_append(id: &str, expected: Revision, text: &str) -> Append {
    let artifact = Artifact::new(ArtifactId::first(), Part::text(text));
    let update = TaskArtifactUpdateEvent::new(key(id).id, artifact);
    let chunk = Event::Artifact(TaskArtifactUpdateEvent { append: true, ..update });
    Append { expected, events: vec![chunk], ..create_append(id) }
}
