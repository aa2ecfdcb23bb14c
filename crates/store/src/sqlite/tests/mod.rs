//! Tests of internals: group commit, full disks and the write-ahead log.

mod caches;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Waker};

use latimer_protocol::{
    ContextId, Dialect, Event, Message, MessageId, Task, TaskState, TaskStatus,
    TaskStatusUpdateEvent,
};
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::{PendingWork, TaskHeader};

fn open(directory: &TempDir, durability: Durability) -> SqliteStore {
    let config = SqliteConfig { durability, ..SqliteConfig::default() };
    SqliteStore::open(directory.path().join("tasks.db"), config).unwrap()
}

fn key(id: &str) -> TaskKey {
    TaskKey { owner: "caller".into(), agent: "agent".into(), id: TaskId::new(id).unwrap() }
}

/// Returns an append that creates a running task with a message.
fn create_append(id: &str, text: &str) -> Append {
    let (status_changed_at, context) = (time(1), ContextId::new("c").unwrap());
    let status = TaskStatus::from(TaskState::Working).with_timestamp(status_changed_at);
    let mut task = Task::new(TaskId::new(id).unwrap(), context.clone(), status);
    task.history.push(Message::user(MessageId::new("m").unwrap(), text).into());
    let (state, created_in) = (TaskState::Working, Dialect::V1_0);
    Append {
        key: key(id),
        expected: Revision::START,
        events: vec![Event::Created(task)],
        header: TaskHeader {
            context,
            state,
            status_changed_at,
            created_in,
            pending_work: PendingWork::Running,
            note: None,
        },
        snapshot: None,
        idempotency: None,
        webhook: None,
    }
}

/// Returns an append that creates and completes a task, with a record that expires at a time.
fn finished_append(id: &str, at: i64, message: u8, expires_at: i64) -> Append {
    let mut append = create_append(id, "x");
    let (state, status_changed_at) = (TaskState::Completed, time(at));
    append.header =
        TaskHeader { state, status_changed_at, pending_work: PendingWork::None, ..append.header };
    let status = TaskStatus::from(state).with_timestamp(status_changed_at);
    append.events.push(Event::Status(TaskStatusUpdateEvent::new(key(id).id, status)));
    append.snapshot = Task::replay(append.events.iter().cloned()).unwrap().map(Arc::new);
    append.idempotency = Some(IdempotencyRecord {
        key: IdempotencyKey([message; 16]),
        expires_at: time(expires_at),
    });
    append
}

fn time(at: i64) -> Timestamp {
    Timestamp::from_millis(at).unwrap()
}

/// Write operation that calls a function with the writer's connection.
struct WriteFn<F>(F);

impl<F: FnMut(&Connection) -> rusqlite::Result<()> + Send + 'static> writer::WriteOp
    for WriteFn<F>
{
    type Output = ();

    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<(), Error>> {
        (self.0)(writer.connection()).map(Ok)
    }
}

/// Returns an operation that limits the number of pages, which simulates a full disk.
fn limit_disk_pages(pages: i64) -> impl writer::WriteOp<Output = ()> {
    WriteFn(move |db: &Connection| {
        db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
    })
}

/// Append that was queued, and may have completed already.
enum StartedAppend<'a> {
    Completed(Result<Revision, Error>),
    Pending(Pin<Box<dyn Future<Output = Result<Revision, Error>> + Send + 'a>>),
}

impl StartedAppend<'_> {
    async fn wait(self) -> Result<Revision, Error> {
        match self {
            Self::Completed(done) => done,
            Self::Pending(appending) => appending.await,
        }
    }
}

/// Polls an append once, which queues it.
fn start_append(store: &SqliteStore, append: Append) -> StartedAppend<'_> {
    let mut appending = store.append(append);
    match appending.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => StartedAppend::Completed(done),
        Poll::Pending => StartedAppend::Pending(appending),
    }
}

/// Blocks the writer, so that all operations queued meanwhile form one group.
struct WriterPause<'a> {
    resume_sender: Sender<()>,
    paused: Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>,
}

impl<'a> WriterPause<'a> {
    fn start(store: &'a SqliteStore) -> Self {
        let ((resume_sender, resume_receiver), (started, start)) = (channel(), channel());
        let mut paused = Box::pin(store.writer.run(WriteFn(move |_: &Connection| {
            started.send(()).unwrap();
            resume_receiver.recv().unwrap();
            Ok(())
        })));
        assert!(paused.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        start.recv().unwrap();
        Self { resume_sender, paused }
    }

    async fn resume(self) {
        self.resume_sender.send(()).unwrap();
        self.paused.await.unwrap();
    }
}

/// Queues appends while the writer is blocked, so that they form one group.
async fn append_as_group(
    store: &SqliteStore,
    appends: impl Iterator<Item = Append>,
) -> Vec<StartedAppend<'_>> {
    let pause = WriterPause::start(store);
    let started = appends.map(|it| start_append(store, it)).collect();
    pause.resume().await;
    started
}

#[test]
fn durability_sets_synchronous_pragma() {
    for (durability, want) in [(Durability::Full, 2), (Durability::Process, 1)] {
        let directory = TempDir::new().unwrap();
        let path = open::ensure_database_file(&directory.path().join("tasks.db")).unwrap();
        let database = open::open(&path, durability).unwrap();
        for connection in [&database.writer, &database.checkpoint_connection] {
            let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0));
            let synchronous: i64 = pragma("synchronous").unwrap();
            assert_eq!(synchronous, want, "{durability:?}");
            let mode = connection.pragma_query_value(None, "journal_mode", |row| row.get(0));
            assert_eq!(mode, Ok("wal".to_owned()), "{durability:?}");
        }
    }
}

#[tokio::test]
async fn queued_appends_share_one_commit() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory, Durability::Process);
    let before = store.commits();
    let appends = (0..50).map(|it| create_append(&format!("t{it}"), "x"));
    for appending in append_as_group(&store, appends).await {
        // The others complete without being polled again.
        appending.wait().await.unwrap();
    }
    let commits = store.commits() - before;
    assert_eq!(commits, 2, "one for the pause and one for 50 appends");

    let before = store.commits();
    store.append(create_append("alone", "x")).await.unwrap();
    assert_eq!(store.commits() - before, 1, "a single append is committed on its own");
}

#[tokio::test]
async fn group_completes_when_some_callers_are_dropped() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory, Durability::Process);
    for dropped in [0, 5, 9] {
        let appends = (0..10).map(|it| create_append(&format!("t{dropped}.{it}"), "x"));
        let mut started = append_as_group(&store, appends).await;
        drop(started.remove(dropped));
        for appending in started {
            appending.wait().await.unwrap();
        }
    }
    assert_eq!(total(&store).await, 30);
}

#[tokio::test]
async fn queued_appends_are_written_before_drop_returns() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory, Durability::Process);
    for number in 0..100 {
        // The caller does not wait for it.
        drop(start_append(&store, create_append(&format!("t{number}"), "x")));
    }
    drop(store);
    let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().flatten().collect();
    let names: Vec<_> = names.iter().map(std::fs::DirEntry::file_name).collect();
    assert_eq!(names.len(), 2, "the database and its lock: {names:?}");
    let store = open(&directory, Durability::Process);
    for number in 0..100 {
        assert!(store.load(&key(&format!("t{number}"))).await.unwrap().is_some(), "{number}");
    }
}

#[tokio::test]
async fn full_disk_loses_nothing_and_store_recovers() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory, Durability::Process);
    store.append(create_append("first", "x")).await.unwrap();
    store.writer.run(limit_disk_pages(20)).await.unwrap();
    let long_text = "x".repeat(10_000);
    let mut stored_ids = Vec::new();
    for round in 0..10 {
        let ids: Vec<_> = (0..8).map(|it| format!("t{round}.{it}")).collect();
        let started: Vec<_> =
            ids.iter().map(|it| start_append(&store, create_append(it, &long_text))).collect();
        for (id, appending) in ids.iter().zip(started) {
            match appending.wait().await {
                Ok(_) => stored_ids.push(id.clone()),
                Err(Error::Unavailable { .. }) => {
                    assert!(store.load(&key(id)).await.unwrap().is_none(), "{id} must not exist");
                }
                Err(other) => panic!("{id}: {other}"),
            }
        }
    }
    assert!((1..20).contains(&stored_ids.len()), "{} tasks of 10 kB on 160 kB", stored_ids.len());
    assert_eq!(total(&store).await, stored_ids.len() as u64 + 1);

    store.writer.run(limit_disk_pages(1_000_000)).await.unwrap();
    store.append(create_append("last", &long_text)).await.unwrap();
    stored_ids.extend(["first".to_owned(), "last".to_owned()]);
    for id in &stored_ids {
        assert!(store.load(&key(id)).await.unwrap().is_some(), "{id} must exist");
    }
    assert_eq!(total(&store).await, stored_ids.len() as u64);
    drop(store);
    assert_eq!(total(&open(&directory, Durability::Process)).await, stored_ids.len() as u64);
}

#[tokio::test]
async fn write_ahead_log_stays_short_under_load() {
    let directory = TempDir::new().unwrap();
    let store = Arc::new(open(&directory, Durability::Process));
    let long_text = "x".repeat(500_000);
    for number in 0..140 {
        store.append(create_append(&format!("t{number}"), &long_text)).await.unwrap();
    }
    let log = std::fs::metadata(directory.path().join("tasks.db-wal")).unwrap().len();
    assert!(log < 50_000_000, "the log is {log} bytes long after 70 MB of writes");
}

async fn total(store: &SqliteStore) -> u64 {
    let owner = "caller".into();
    let (agent, context, state, status_changed_since, after) = (None, None, None, None, None);
    let excluded_agents = Vec::new();
    let query = TaskQuery {
        owner,
        agent,
        excluded_agents,
        context,
        state,
        status_changed_since,
        after,
        limit: 1,
    };
    store.list(&query).await.unwrap().total
}
