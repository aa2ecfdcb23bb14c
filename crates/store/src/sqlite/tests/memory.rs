//! What is in memory is what is in the file.

use std::time::Duration;

use tokio::task::JoinSet;

use super::*;

/// Many pages of the file, and yet little enough to be in memory.
const LONG: usize = 100_000;

fn open_with(folder: &TempDir, retention: Retention) -> Sqlite {
    let durability = Durability::Process;
    let config = SqliteConfig { durability, retention, ..SqliteConfig::default() };
    Sqlite::open(folder.path().join("tasks.db"), config).unwrap()
}

fn answer(number: u8) -> Message {
    Message::agent(MessageId::new(format!("m{number}")).unwrap(), "an answer")
}

fn sent(number: u8, expires: i64) -> Sent {
    Sent { key: SentKey([number; 16]), expires: time(expires) }
}

/// The messages that are known then.
async fn known(store: &Sqlite, now: i64) -> Vec<u8> {
    let mut known = Vec::new();
    for number in 0..20 {
        if store.sent(&SentKey([number; 16]), time(now)).await.unwrap().is_some() {
            known.push(number);
        }
    }
    known
}

/// How many rows a table has.
fn rows(store: &Sqlite, table: &str) -> i64 {
    let count = format!("SELECT count(*) FROM {table}");
    let count = |db: &Connection| db.query_row(&count, [], |row| row.get(0)).map_err(unavailable);
    store.readers.read(count).unwrap()
}

/// A task as it is in memory, if it is, which must be as it is in the file.
fn in_memory(store: &Sqlite, id: &str) -> bool {
    let recent = store.recent.get(&key(id));
    let loaded = store.readers.read(|db| reader::load(db, &key(id))).unwrap();
    match (recent, loaded) {
        (Some(recent), Some(loaded)) => {
            assert_eq!(recent, loaded.stored, "{id}");
            true
        }
        (Some(_), None) => panic!("{id} is in memory only"),
        (None, _) => false,
    }
}

/// Asks for a task, which brings it into memory if it is finished.
async fn ask(store: &Sqlite, id: &str) -> bool {
    store.load(&key(id)).await.unwrap().is_some()
}

#[tokio::test]
async fn messages_are_known_again_after_reopening() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, Durability::Process);
    let group = (0..3).map(|it| finished(&format!("t{it}"), 10, it, 100));
    for appending in together(&store, group).await {
        appending.end().await.unwrap();
    }
    store.remember(sent(3, 200), &answer(3)).await.unwrap();
    store.remember(sent(0, 200), &answer(0)).await.unwrap();
    let before: Vec<_> = (0..4).map(|it| store.messages.get(&SentKey([it; 16]))).collect();
    assert_eq!(rows(&store, "sent"), 3, "those of a transaction are one row");
    drop(store);

    let store = open(&folder, Durability::Process);
    let after: Vec<_> = (0..4).map(|it| store.messages.get(&SentKey([it; 16]))).collect();
    assert_eq!(after, before);
    assert_eq!(known(&store, 99).await, [0, 1, 2, 3]);
    let first = store.sent(&SentKey([0; 16]), time(99)).await.unwrap();
    assert_eq!(first, Some(Outcome::Message(answer(0))), "what was remembered last counts");
    store.append(finished("t4", 20, 4, 300)).await.unwrap();
    assert_eq!(known(&store, 100).await, [0, 3, 4]);
}

#[tokio::test]
async fn expired_messages_leave_memory_and_the_file() {
    let folder = TempDir::new().unwrap();
    let mut store = open(&folder, Durability::Process);
    let group = [finished("a", 10, 1, 50), finished("b", 10, 2, 100)];
    for appending in together(&store, group.into_iter()).await {
        appending.end().await.unwrap();
    }
    store.remember(sent(3, 50), &answer(3)).await.unwrap();
    store.remember(sent(4, 500), &answer(4)).await.unwrap();
    store.append(finished("c", 10, 5, 60)).await.unwrap();
    for (now, rows_left, left) in [(49, 4, 5), (60, 2, 3), (99, 2, 3), (100, 1, 1), (500, 0, 0)] {
        store.sweep(time(now)).await.unwrap();
        assert_eq!((rows(&store, "sent"), store.messages.len()), (rows_left, left), "at {now}");
        drop(store);
        store = open(&folder, Durability::Process);
        assert_eq!(store.messages.len(), left, "reopened at {now}");
    }
}

#[tokio::test]
async fn a_message_that_came_again_is_forgotten_with_its_last_row() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder, Durability::Process);
    store.remember(sent(1, 50), &answer(1)).await.unwrap();
    store.append(finished("a", 10, 1, 100)).await.unwrap();
    store.sweep(time(50)).await.unwrap();
    assert_eq!((rows(&store, "sent"), known(&store, 99).await), (1, vec![1]));
}

#[tokio::test]
async fn there_is_an_end_to_what_is_remembered() {
    let folder = TempDir::new().unwrap();
    let store = open_with(&folder, Retention { max_tasks: 1, ..Retention::DISK });
    let store = Arc::new(store);
    let message = |number: u16| {
        let mut key = [0; 16];
        key[..2].copy_from_slice(&number.to_be_bytes());
        // Later ones expire earlier.
        Sent { key: SentKey(key), expires: time(100_000 - i64::from(number)) }
    };
    for first in (0..10_500).step_by(500) {
        let mut running = JoinSet::new();
        for number in first..first + 500 {
            let (store, sent) = (store.clone(), message(number));
            running.spawn(async move { store.remember(sent, &answer(0)).await.unwrap() });
        }
        running.join_all().await;
    }
    store.append(finished("t", 1, 1, 1)).await.unwrap();
    assert_eq!(store.messages.len() as i64, rows(&store, "sent"), "memory and file agree");
    assert_eq!(store.messages.len(), 10_000);
    let knows = |number| store.messages.get(&message(number).key).is_some();
    assert!(knows(0) && knows(9_000) && !knows(10_499), "what expires first is forgotten first");
}

#[tokio::test]
async fn finished_tasks_that_were_asked_for_are_in_memory_until_they_go() {
    let folder = TempDir::new().unwrap();
    let max_age = Duration::from_millis(1_000);
    let store = open_with(&folder, Retention { max_tasks: 3, max_age, ..Retention::DISK });
    store.append(creation("live", "x")).await.unwrap();
    assert!(ask(&store, "live").await && !in_memory(&store, "live"), "it may change");
    for (number, id) in (1..).zip(["a", "b"]) {
        store.append(finished(id, i64::from(number), number, 9)).await.unwrap();
        assert!(!in_memory(&store, id), "nobody asked for {id} yet");
        assert!(ask(&store, id).await && in_memory(&store, id), "{id}");
    }
    store.append(finished("c", 3, 3, 9)).await.unwrap();
    assert!(ask(&store, "c").await);
    assert!(!in_memory(&store, "a") && in_memory(&store, "b") && in_memory(&store, "c"));
    assert!(!ask(&store, "a").await, "it made room");
    assert_eq!(known(&store, 5).await, [2, 3], "its message went with it");
    assert_eq!(store.sweep(time(1_002)).await.unwrap(), 1);
    assert!(!in_memory(&store, "b") && in_memory(&store, "c"));
    drop(store);

    let store = open_with(&folder, Retention { max_tasks: 3, max_age, ..Retention::DISK });
    assert!(!in_memory(&store, "c"), "nobody asked for it yet");
    assert!(ask(&store, "c").await && ask(&store, "live").await);
    assert!(in_memory(&store, "c") && !in_memory(&store, "live"));
    assert_eq!(store.sweep(time(2_000)).await.unwrap(), 1);
    assert!(!in_memory(&store, "c"));
}

#[tokio::test]
async fn what_comes_and_goes_in_one_transaction_leaves_nothing_behind() {
    let folder = TempDir::new().unwrap();
    let store = open_with(&folder, Retention { max_tasks: 2, ..Retention::DISK });
    let group = (0..6).map(|it| finished(&format!("t{it}"), 1, it, 100));
    for appending in together(&store, group).await {
        appending.end().await.unwrap();
    }
    for number in 0..6 {
        assert_eq!(ask(&store, &format!("t{number}")).await, number > 3, "t{number}");
    }
    assert_eq!((total(&store).await, known(&store, 2).await), (2, vec![4, 5]));
}

#[tokio::test]
async fn the_order_of_leaving_goes_on_in_the_middle_of_a_row() {
    let folder = TempDir::new().unwrap();
    let retention = || Retention { max_tasks: 6, ..Retention::DISK };
    let store = open_with(&folder, retention());
    let group = (0..6).map(|it| finished(&format!("t{it}"), 1, it, 100));
    for appending in together(&store, group).await {
        appending.end().await.unwrap();
    }
    assert_eq!(rows(&store, "finished"), 1, "those of a transaction are one row");
    store.append(creation("new 0", "x")).await.unwrap();
    store.append(creation("new 1", "x")).await.unwrap();
    drop(store);
    let store = open_with(&folder, retention());
    for number in 2..6 {
        assert!(store.load(&key(&format!("t{number}"))).await.unwrap().is_some(), "t{number}");
        store.append(creation(&format!("new {number}"), "x")).await.unwrap();
        assert!(store.load(&key(&format!("t{number}"))).await.unwrap().is_none(), "t{number}");
        assert_eq!(total(&store).await, 6);
    }
    let full = store.append(creation("one too many", "x")).await.unwrap_err();
    assert!(matches!(full, Error::Full { tasks: 6 }), "{full}");
    assert_eq!(rows(&store, "finished"), 0);
}

/// A task as by [`finished`], of some pages.
fn long(id: &str, at: i64, message: u8, expires: i64) -> Append {
    let mut append = finished(id, at, message, expires);
    let Event::Created(task) = &mut append.events[0] else { panic!("no creation") };
    task.history.push(Message::user(MessageId::new("m").unwrap(), "x".repeat(LONG)).into());
    append
}

#[tokio::test]
async fn what_a_transaction_did_that_failed_is_taken_back() {
    let folder = TempDir::new().unwrap();
    let store = open_with(&folder, Retention { max_tasks: 2, ..Retention::DISK });
    store.append(finished("a", 1, 1, 50)).await.unwrap();
    store.append(finished("b", 2, 2, 100)).await.unwrap();
    // Goes well in the group, which fails for its last; on its own each finds a full disk.
    let mut runs = 0;
    let disk = Meanwhile(move |db: &Connection| {
        runs += 1;
        let pages = if runs == 1 { 1_000_000 } else { 1 };
        db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
    });
    let fault = Meanwhile(|_: &Connection| Err(rusqlite::Error::InvalidQuery));
    let pause = Pause::begin(&store);
    let mut disk = Box::pin(store.writer.run(disk));
    assert!(disk.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let appending = begin(&store, long("c", 3, 3, 100));
    let answer = Message::agent(MessageId::new("m").unwrap(), "x".repeat(LONG));
    let mut remembering = Box::pin(store.remember(sent(5, 100), &answer));
    assert!(remembering.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut sweep = Box::pin(store.sweep(time(50)));
    assert!(sweep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut fault = Box::pin(store.writer.run(fault));
    assert!(fault.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    pause.end().await;
    disk.await.unwrap();
    appending.end().await.unwrap_err();
    remembering.await.unwrap_err();
    sweep.await.unwrap();
    fault.await.unwrap_err();

    assert!(!ask(&store, "c").await);
    assert_eq!((known(&store, 9).await, store.messages.len()), (vec![2], 1));
    assert_eq!(rows(&store, "sent"), 1, "the sweep did its work the second time");
    store.writer.run(end_of_disk(1_000_000)).await.unwrap();
    store.append(finished("d", 4, 4, 100)).await.unwrap();
    assert_eq!(rows(&store, "finished WHERE length(tasks) = 16"), 3, "one task in each row");
    assert_eq!(rows(&store, "sent WHERE length(messages) = 32"), 2, "one message in each row");
    assert_eq!(total(&store).await, 2);
    store.sweep(time(100)).await.unwrap();
    assert_eq!((rows(&store, "sent"), store.messages.len()), (0, 0));
    assert!(!ask(&store, "a").await && ask(&store, "d").await);
}

#[tokio::test]
async fn what_was_not_committed_is_not_in_memory() {
    let folder = TempDir::new().unwrap();
    let store = open_with(&folder, Retention { max_tasks: 2, ..Retention::DISK });
    store.append(finished("a", 1, 1, 100)).await.unwrap();
    store.append(finished("b", 2, 2, 100)).await.unwrap();
    store.writer.run(end_of_disk(1)).await.unwrap();
    let long = long("c", 3, 3, 100);
    store.append(long).await.unwrap_err();
    assert!(!ask(&store, "c").await);
    assert_eq!(known(&store, 5).await, [1, 2], "what made room for it is there again");
    assert_eq!(store.messages.len(), 2);
    assert!(ask(&store, "a").await && in_memory(&store, "a"));

    store.writer.run(end_of_disk(1_000_000)).await.unwrap();
    store.append(finished("c", 3, 3, 100)).await.unwrap();
    assert!(!in_memory(&store, "a") && ask(&store, "c").await);
    store.sweep(time(100)).await.unwrap();
    assert_eq!((rows(&store, "sent"), store.messages.len()), (0, 0));
}

#[tokio::test]
async fn a_message_is_known_until_it_is_forgotten_for_good() {
    let folder = TempDir::new().unwrap();
    let store = open_with(&folder, Retention::DISK);
    store.append(finished("a", 1, 1, 50)).await.unwrap();
    // A group that finds the file locked is not tried again one by one.
    let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
    let fault = Meanwhile(move |_: &Connection| Err(rusqlite::Error::SqliteFailure(busy, None)));
    let pause = Pause::begin(&store);
    let mut sweep = Box::pin(store.sweep(time(50)));
    assert!(sweep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut fault = Box::pin(store.writer.run(fault));
    assert!(fault.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    pause.end().await;
    sweep.await.unwrap_err();
    fault.await.unwrap_err();

    assert_eq!((known(&store, 9).await, rows(&store, "sent")), (vec![1], 1));
    store.sweep(time(50)).await.unwrap();
    assert_eq!((known(&store, 9).await, rows(&store, "sent")), (vec![], 0));
}
