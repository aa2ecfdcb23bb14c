//! What can only be seen from inside.

mod memory;

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
use crate::{Header, Work};

fn open(folder: &TempDir, durability: Durability) -> Sqlite {
    let config = SqliteConfig { durability, ..SqliteConfig::default() };
    Sqlite::open(folder.path().join("tasks.db"), config).unwrap()
}

fn key(id: &str) -> Key {
    Key { caller: "caller".into(), agent: "agent".into(), id: TaskId::new(id).unwrap() }
}

/// A new task that says this.
fn creation(id: &str, says: &str) -> Append {
    let (updated, context) = (time(1), ContextId::new("c").unwrap());
    let status = TaskStatus::from(TaskState::Working).with_timestamp(updated);
    let mut task = Task::new(TaskId::new(id).unwrap(), context.clone(), status);
    task.history.push(Message::user(MessageId::new("m").unwrap(), says).into());
    let (state, dialect) = (TaskState::Working, Dialect::V1_0);
    Append {
        key: key(id),
        expected: Revision::START,
        events: vec![Event::Created(task)],
        header: Header { context, state, updated, dialect, work: Work::Running, note: None },
        snapshot: None,
        sent: None,
        webhook: None,
    }
}

/// A task that is created and completed in one append, by a message that is remembered until then.
fn finished(id: &str, at: i64, message: u8, expires: i64) -> Append {
    let mut append = creation(id, "x");
    let (state, updated) = (TaskState::Completed, time(at));
    append.header = Header { state, updated, work: Work::None, ..append.header };
    let status = TaskStatus::from(state).with_timestamp(updated);
    append.events.push(Event::Status(TaskStatusUpdateEvent::new(key(id).id, status)));
    append.snapshot = Task::replay(append.events.iter().cloned()).unwrap().map(Arc::new);
    append.sent = Some(Sent { key: SentKey([message; 16]), expires: time(expires) });
    append
}

fn time(at: i64) -> Timestamp {
    Timestamp::from_millis(at).unwrap()
}

/// Lets something be done by the writer, between appends.
struct Meanwhile<F>(F);

impl<F: FnMut(&Connection) -> rusqlite::Result<()> + Send + 'static> writer::Work for Meanwhile<F> {
    type Answer = ();

    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<(), Error>> {
        (self.0)(desk.connection()).map(Ok)
    }
}

/// How many pages the database may have at most, as if the disk had an end.
fn end_of_disk(pages: i64) -> impl writer::Work<Answer = ()> {
    Meanwhile(move |db: &Connection| {
        db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
    })
}

/// An append that was handed to the writer, which may have been fast.
enum Begun<'a> {
    Done(Result<Revision, Error>),
    Waiting(Pin<Box<dyn Future<Output = Result<Revision, Error>> + Send + 'a>>),
}

impl Begun<'_> {
    async fn end(self) -> Result<Revision, Error> {
        match self {
            Self::Done(done) => done,
            Self::Waiting(appending) => appending.await,
        }
    }
}

/// Begins to append, as far as it goes without waiting.
fn begin(store: &Sqlite, append: Append) -> Begun<'_> {
    let mut appending = store.append(append);
    match appending.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Begun::Done(done),
        Poll::Pending => Begun::Waiting(appending),
    }
}

/// The writer is busy, so that all that is begun meanwhile is one group.
struct Pause<'a> {
    go: Sender<()>,
    pausing: Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>,
}

impl<'a> Pause<'a> {
    fn begin(store: &'a Sqlite) -> Self {
        let ((go, wait), (started, start)) = (channel(), channel());
        let mut pausing = Box::pin(store.writer.run(Meanwhile(move |_: &Connection| {
            started.send(()).unwrap();
            wait.recv().unwrap();
            Ok(())
        })));
        assert!(pausing.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        start.recv().unwrap();
        Self { go, pausing }
    }

    async fn end(self) {
        self.go.send(()).unwrap();
        self.pausing.await.unwrap();
    }
}

/// Begins to append while the writer is busy.
async fn together(store: &Sqlite, appends: impl Iterator<Item = Append>) -> Vec<Begun<'_>> {
    let pause = Pause::begin(store);
    let begun = appends.map(|it| begin(store, it)).collect();
    pause.end().await;
    begun
}

#[test]
fn the_disk_is_waited_for_as_promised() {
    for (durability, want) in [(Durability::Full, 2), (Durability::Process, 1)] {
        let folder = TempDir::new().unwrap();
        let path = open::locate(&folder.path().join("tasks.db")).unwrap();
        let opened = open::open(&path, durability).unwrap();
        for connection in [&opened.writer, &opened.helper] {
            let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0));
            let synchronous: i64 = pragma("synchronous").unwrap();
            assert_eq!(synchronous, want, "{durability:?}");
            let mode = connection.pragma_query_value(None, "journal_mode", |row| row.get(0));
            assert_eq!(mode, Ok("wal".to_owned()), "{durability:?}");
        }
    }
}

#[tokio::test]
async fn what_waits_for_the_writer_is_committed_together() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, Durability::Process);
    let before = store.commits();
    let appends = (0..50).map(|it| creation(&format!("t{it}"), "x"));
    for appending in together(&store, appends).await {
        // None but the first of them is looked at before it is done.
        appending.end().await.unwrap();
    }
    let commits = store.commits() - before;
    assert_eq!(commits, 2, "the pause, and 50 appends");

    let before = store.commits();
    store.append(creation("alone", "x")).await.unwrap();
    assert_eq!(store.commits() - before, 1, "one alone does not wait for company");
}

#[tokio::test]
async fn a_group_hears_of_its_end_without_some_of_it() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, Durability::Process);
    for gone in [0, 5, 9] {
        let appends = (0..10).map(|it| creation(&format!("t{gone}.{it}"), "x"));
        let mut begun = together(&store, appends).await;
        drop(begun.remove(gone));
        for appending in begun {
            appending.end().await.unwrap();
        }
    }
    assert_eq!(total(&store).await, 30);
}

#[tokio::test]
async fn what_was_handed_over_is_written_before_the_store_goes() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, Durability::Process);
    for number in 0..100 {
        // Nobody waits for it.
        drop(begin(&store, creation(&format!("t{number}"), "x")));
    }
    drop(store);
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().flatten().collect();
    let names: Vec<_> = names.iter().map(std::fs::DirEntry::file_name).collect();
    assert_eq!(names.len(), 2, "the database and its lock: {names:?}");
    let store = open(&folder, Durability::Process);
    for number in 0..100 {
        assert!(store.load(&key(&format!("t{number}"))).await.unwrap().is_some(), "{number}");
    }
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_is_got_over() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, Durability::Process);
    store.append(creation("first", "x")).await.unwrap();
    store.writer.run(end_of_disk(20)).await.unwrap();
    let long = "x".repeat(10_000);
    let mut taken = Vec::new();
    for round in 0..10 {
        let ids: Vec<_> = (0..8).map(|it| format!("t{round}.{it}")).collect();
        let waiting: Vec<_> = ids.iter().map(|it| begin(&store, creation(it, &long))).collect();
        for (id, appending) in ids.iter().zip(waiting) {
            match appending.end().await {
                Ok(_) => taken.push(id.clone()),
                Err(Error::Unavailable { .. }) => {
                    assert!(store.load(&key(id)).await.unwrap().is_none(), "{id} is not there");
                }
                Err(other) => panic!("{id}: {other}"),
            }
        }
    }
    assert!((1..20).contains(&taken.len()), "{} tasks of 10 kB on 160 kB", taken.len());
    assert_eq!(total(&store).await, taken.len() as u64 + 1);

    store.writer.run(end_of_disk(1_000_000)).await.unwrap();
    store.append(creation("last", &long)).await.unwrap();
    taken.extend(["first".to_owned(), "last".to_owned()]);
    for id in &taken {
        assert!(store.load(&key(id)).await.unwrap().is_some(), "{id} is there");
    }
    assert_eq!(total(&store).await, taken.len() as u64);
    drop(store);
    assert_eq!(total(&open(&folder, Durability::Process)).await, taken.len() as u64);
}

#[tokio::test]
async fn the_log_is_kept_short_while_it_is_written() {
    let folder = TempDir::new().unwrap();
    let store = Arc::new(open(&folder, Durability::Process));
    let long = "x".repeat(500_000);
    for number in 0..140 {
        store.append(creation(&format!("t{number}"), &long)).await.unwrap();
    }
    let log = std::fs::metadata(folder.path().join("tasks.db-wal")).unwrap().len();
    assert!(log < 50_000_000, "the log of 70 MB written is {log} bytes long");
}

async fn total(store: &Sqlite) -> u64 {
    let caller = "caller".into();
    let (agent, context, state, updated_since, behind) = (None, None, None, None, None);
    let except = Vec::new();
    let query = Query { caller, agent, except, context, state, updated_since, behind, limit: 1 };
    store.list(&query).await.unwrap().total
}
