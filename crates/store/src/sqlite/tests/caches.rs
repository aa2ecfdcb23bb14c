//! Tests that the in-memory caches agree with the database.

use std::time::Duration;

use tokio::task::JoinSet;

use super::*;

/// Length of a text that takes many pages, but is small enough for the cache.
const LONG_TEXT_BYTES: usize = 100_000;

fn open_with(directory: &TempDir, retention: Retention) -> SqliteStore {
    let durability = Durability::Process;
    let config = SqliteConfig { durability, retention, ..SqliteConfig::default() };
    SqliteStore::open(directory.path().join("tasks.db"), config).unwrap()
}

fn reply(number: u8) -> Message {
    Message::agent(MessageId::new(format!("m{number}")).unwrap(), "reply")
}

fn idempotency_record(number: u8, expires_at: i64) -> IdempotencyRecord {
    IdempotencyRecord { key: IdempotencyKey([number; 16]), expires_at: time(expires_at) }
}

/// Returns the numbers of the messages that have an unexpired record.
async fn known_messages(store: &SqliteStore, now: i64) -> Vec<u8> {
    let mut numbers = Vec::new();
    for number in 0..20 {
        if store
            .find_prior_outcome(&IdempotencyKey([number; 16]), time(now))
            .await
            .unwrap()
            .is_some()
        {
            numbers.push(number);
        }
    }
    numbers
}

/// Returns the number of rows of a table.
fn row_count(store: &SqliteStore, table: &str) -> i64 {
    let count = format!("SELECT count(*) FROM {table}");
    let count = |db: &Connection| db.query_row(&count, [], |row| row.get(0)).map_err(unavailable);
    store.readers.read(count).unwrap()
}

/// Returns whether a task is cached, and panics if it differs from the database.
fn is_cached(store: &SqliteStore, id: &str) -> bool {
    let cached = store.finished_cache.get(&key(id));
    let loaded = store.readers.read(|db| reader::load(db, &key(id))).unwrap();
    match (cached, loaded) {
        (Some(cached), Some(loaded)) => {
            assert_eq!(cached, loaded.stored, "{id}");
            true
        }
        (Some(_), None) => panic!("{id} is only in the cache"),
        (None, _) => false,
    }
}

/// Loads a task, which caches it if it has finished. Returns whether it exists.
async fn is_loadable(store: &SqliteStore, id: &str) -> bool {
    store.load(&key(id)).await.unwrap().is_some()
}

#[tokio::test]
async fn idempotency_cache_is_rebuilt_on_reopen() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory, Durability::Process);
    let group = (0..3).map(|it| finished_append(&format!("t{it}"), 10, it, 100));
    for appending in append_as_group(&store, group).await {
        appending.wait().await.unwrap();
    }
    store.record_direct_reply(idempotency_record(3, 200), &reply(3)).await.unwrap();
    store.record_direct_reply(idempotency_record(0, 200), &reply(0)).await.unwrap();
    let before: Vec<_> =
        (0..4).map(|it| store.idempotency_cache.get(&IdempotencyKey([it; 16]))).collect();
    assert_eq!(row_count(&store, "sent"), 3, "one row per transaction");
    drop(store);

    let store = open(&directory, Durability::Process);
    let after: Vec<_> =
        (0..4).map(|it| store.idempotency_cache.get(&IdempotencyKey([it; 16]))).collect();
    assert_eq!(after, before);
    assert_eq!(known_messages(&store, 99).await, [0, 1, 2, 3]);
    let first = store.find_prior_outcome(&IdempotencyKey([0; 16]), time(99)).await.unwrap();
    assert_eq!(first, Some(PriorOutcome::DirectReply(reply(0))), "the latest record wins");
    store.append(finished_append("t4", 20, 4, 300)).await.unwrap();
    assert_eq!(known_messages(&store, 100).await, [0, 3, 4]);
}

#[tokio::test]
async fn expired_records_leave_cache_and_file() {
    let directory = TempDir::new().unwrap();
    let mut store = open(&directory, Durability::Process);
    let group = [finished_append("a", 10, 1, 50), finished_append("b", 10, 2, 100)];
    for appending in append_as_group(&store, group.into_iter()).await {
        appending.wait().await.unwrap();
    }
    store.record_direct_reply(idempotency_record(3, 50), &reply(3)).await.unwrap();
    store.record_direct_reply(idempotency_record(4, 500), &reply(4)).await.unwrap();
    store.append(finished_append("c", 10, 5, 60)).await.unwrap();
    for (now, rows_left, left) in [(49, 4, 5), (60, 2, 3), (99, 2, 3), (100, 1, 1), (500, 0, 0)] {
        store.sweep(time(now)).await.unwrap();
        assert_eq!(
            (row_count(&store, "sent"), store.idempotency_cache.len()),
            (rows_left, left),
            "at {now}"
        );
        drop(store);
        store = open(&directory, Durability::Process);
        assert_eq!(store.idempotency_cache.len(), left, "reopened at {now}");
    }
}

#[tokio::test]
async fn repeated_record_survives_sweep_of_its_earlier_row() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory, Durability::Process);
    store.record_direct_reply(idempotency_record(1, 50), &reply(1)).await.unwrap();
    store.append(finished_append("a", 10, 1, 100)).await.unwrap();
    store.sweep(time(50)).await.unwrap();
    assert_eq!((row_count(&store, "sent"), known_messages(&store, 99).await), (1, vec![1]));
}

#[tokio::test]
async fn idempotency_records_are_capped() {
    let directory = TempDir::new().unwrap();
    let store = open_with(&directory, Retention { max_tasks: 1, ..Retention::DEFAULT_DISK });
    let store = Arc::new(store);
    let record_for = |number: u16| {
        let mut key = [0; 16];
        key[..2].copy_from_slice(&number.to_be_bytes());
        // Later records expire earlier.
        IdempotencyRecord {
            key: IdempotencyKey(key),
            expires_at: time(100_000 - i64::from(number)),
        }
    };
    for first in (0..10_500).step_by(500) {
        let mut running = JoinSet::new();
        for number in first..first + 500 {
            let (store, record) = (store.clone(), record_for(number));
            running
                .spawn(async move { store.record_direct_reply(record, &reply(0)).await.unwrap() });
        }
        running.join_all().await;
    }
    store.append(finished_append("t", 1, 1, 1)).await.unwrap();
    assert_eq!(
        store.idempotency_cache.len() as i64,
        row_count(&store, "sent"),
        "cache and database agree"
    );
    assert_eq!(store.idempotency_cache.len(), 10_000);
    let is_known = |number| store.idempotency_cache.get(&record_for(number).key).is_some();
    assert!(
        is_known(0) && is_known(9_000) && !is_known(10_499),
        "records that expire first are removed first"
    );
}

#[tokio::test]
async fn loaded_finished_tasks_are_cached_until_removed() {
    let directory = TempDir::new().unwrap();
    let max_age = Duration::from_millis(1_000);
    let store =
        open_with(&directory, Retention { max_tasks: 3, max_age, ..Retention::DEFAULT_DISK });
    store.append(create_append("live", "x")).await.unwrap();
    assert!(
        is_loadable(&store, "live").await && !is_cached(&store, "live"),
        "unfinished tasks are not cached"
    );
    for (number, id) in (1..).zip(["a", "b"]) {
        store.append(finished_append(id, i64::from(number), number, 9)).await.unwrap();
        assert!(!is_cached(&store, id), "{id} has not been loaded yet");
        assert!(is_loadable(&store, id).await && is_cached(&store, id), "{id}");
    }
    store.append(finished_append("c", 3, 3, 9)).await.unwrap();
    assert!(is_loadable(&store, "c").await);
    assert!(!is_cached(&store, "a") && is_cached(&store, "b") && is_cached(&store, "c"));
    assert!(!is_loadable(&store, "a").await, "the task was evicted");
    assert_eq!(known_messages(&store, 5).await, [2, 3], "its record was removed, too");
    assert_eq!(store.sweep(time(1_002)).await.unwrap(), 1);
    assert!(!is_cached(&store, "b") && is_cached(&store, "c"));
    drop(store);

    let store =
        open_with(&directory, Retention { max_tasks: 3, max_age, ..Retention::DEFAULT_DISK });
    assert!(!is_cached(&store, "c"), "the task has not been loaded yet");
    assert!(is_loadable(&store, "c").await && is_loadable(&store, "live").await);
    assert!(is_cached(&store, "c") && !is_cached(&store, "live"));
    assert_eq!(store.sweep(time(2_000)).await.unwrap(), 1);
    assert!(!is_cached(&store, "c"));
}

#[tokio::test]
async fn task_evicted_in_its_own_transaction_leaves_nothing() {
    let directory = TempDir::new().unwrap();
    let store = open_with(&directory, Retention { max_tasks: 2, ..Retention::DEFAULT_DISK });
    let group = (0..6).map(|it| finished_append(&format!("t{it}"), 1, it, 100));
    for appending in append_as_group(&store, group).await {
        appending.wait().await.unwrap();
    }
    for number in 0..6 {
        assert_eq!(is_loadable(&store, &format!("t{number}")).await, number > 3, "t{number}");
    }
    assert_eq!((total(&store).await, known_messages(&store, 2).await), (2, vec![4, 5]));
}

#[tokio::test]
async fn eviction_resumes_within_partially_consumed_row() {
    let directory = TempDir::new().unwrap();
    let retention = || Retention { max_tasks: 6, ..Retention::DEFAULT_DISK };
    let store = open_with(&directory, retention());
    let group = (0..6).map(|it| finished_append(&format!("t{it}"), 1, it, 100));
    for appending in append_as_group(&store, group).await {
        appending.wait().await.unwrap();
    }
    assert_eq!(row_count(&store, "finished"), 1, "one row per transaction");
    store.append(create_append("new 0", "x")).await.unwrap();
    store.append(create_append("new 1", "x")).await.unwrap();
    drop(store);
    let store = open_with(&directory, retention());
    for number in 2..6 {
        assert!(store.load(&key(&format!("t{number}"))).await.unwrap().is_some(), "t{number}");
        store.append(create_append(&format!("new {number}"), "x")).await.unwrap();
        assert!(store.load(&key(&format!("t{number}"))).await.unwrap().is_none(), "t{number}");
        assert_eq!(total(&store).await, 6);
    }
    let full = store.append(create_append("rejected", "x")).await.unwrap_err();
    assert!(matches!(full, Error::Full { tasks: 6 }), "{full}");
    assert_eq!(row_count(&store, "finished"), 0);
}

/// Returns an append like [`finished_append`] that takes many pages.
fn long_append(id: &str, at: i64, message: u8, expires_at: i64) -> Append {
    let mut append = finished_append(id, at, message, expires_at);
    let Event::Created(task) = &mut append.events[0] else { panic!("not a creation") };
    task.history
        .push(Message::user(MessageId::new("m").unwrap(), "x".repeat(LONG_TEXT_BYTES)).into());
    append
}

#[tokio::test]
async fn failed_transaction_is_rolled_back_in_memory() {
    let directory = TempDir::new().unwrap();
    let store = open_with(&directory, Retention { max_tasks: 2, ..Retention::DEFAULT_DISK });
    store.append(finished_append("a", 1, 1, 50)).await.unwrap();
    store.append(finished_append("b", 2, 2, 100)).await.unwrap();
    // Succeeds in the group, which fails at its last operation; retried alone, each finds a full
    // disk.
    let mut runs = 0;
    let disk_limit = WriteFn(move |db: &Connection| {
        runs += 1;
        let pages = if runs == 1 { 1_000_000 } else { 1 };
        db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
    });
    let fault = WriteFn(|_: &Connection| Err(rusqlite::Error::InvalidQuery));
    let pause = WriterPause::start(&store);
    let mut disk_limit = Box::pin(store.writer.run(disk_limit));
    assert!(disk_limit.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let appending = start_append(&store, long_append("c", 3, 3, 100));
    let reply = Message::agent(MessageId::new("m").unwrap(), "x".repeat(LONG_TEXT_BYTES));
    let mut recording = Box::pin(store.record_direct_reply(idempotency_record(5, 100), &reply));
    assert!(recording.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut sweep = Box::pin(store.sweep(time(50)));
    assert!(sweep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut fault = Box::pin(store.writer.run(fault));
    assert!(fault.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    pause.resume().await;
    disk_limit.await.unwrap();
    appending.wait().await.unwrap_err();
    recording.await.unwrap_err();
    sweep.await.unwrap();
    fault.await.unwrap_err();

    assert!(!is_loadable(&store, "c").await);
    assert_eq!((known_messages(&store, 9).await, store.idempotency_cache.len()), (vec![2], 1));
    assert_eq!(row_count(&store, "sent"), 1, "the retried sweep succeeded");
    store.writer.run(limit_disk_pages(1_000_000)).await.unwrap();
    store.append(finished_append("d", 4, 4, 100)).await.unwrap();
    assert_eq!(row_count(&store, "finished WHERE length(tasks) = 16"), 3, "one task per row");
    assert_eq!(row_count(&store, "sent WHERE length(messages) = 32"), 2, "one record per row");
    assert_eq!(total(&store).await, 2);
    store.sweep(time(100)).await.unwrap();
    assert_eq!((row_count(&store, "sent"), store.idempotency_cache.len()), (0, 0));
    assert!(!is_loadable(&store, "a").await && is_loadable(&store, "d").await);
}

#[tokio::test]
async fn uncommitted_changes_are_not_cached() {
    let directory = TempDir::new().unwrap();
    let store = open_with(&directory, Retention { max_tasks: 2, ..Retention::DEFAULT_DISK });
    store.append(finished_append("a", 1, 1, 100)).await.unwrap();
    store.append(finished_append("b", 2, 2, 100)).await.unwrap();
    store.writer.run(limit_disk_pages(1)).await.unwrap();
    let append = long_append("c", 3, 3, 100);
    store.append(append).await.unwrap_err();
    assert!(!is_loadable(&store, "c").await);
    assert_eq!(known_messages(&store, 5).await, [1, 2], "the eviction was rolled back");
    assert_eq!(store.idempotency_cache.len(), 2);
    assert!(is_loadable(&store, "a").await && is_cached(&store, "a"));

    store.writer.run(limit_disk_pages(1_000_000)).await.unwrap();
    store.append(finished_append("c", 3, 3, 100)).await.unwrap();
    assert!(!is_cached(&store, "a") && is_loadable(&store, "c").await);
    store.sweep(time(100)).await.unwrap();
    assert_eq!((row_count(&store, "sent"), store.idempotency_cache.len()), (0, 0));
}

#[tokio::test]
async fn record_stays_cached_until_removal_commits() {
    let directory = TempDir::new().unwrap();
    let store = open_with(&directory, Retention::DEFAULT_DISK);
    store.append(finished_append("a", 1, 1, 50)).await.unwrap();
    // A group that finds the file locked is not retried one by one.
    let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
    let fault = WriteFn(move |_: &Connection| Err(rusqlite::Error::SqliteFailure(busy, None)));
    let pause = WriterPause::start(&store);
    let mut sweep = Box::pin(store.sweep(time(50)));
    assert!(sweep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut fault = Box::pin(store.writer.run(fault));
    assert!(fault.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    pause.resume().await;
    sweep.await.unwrap_err();
    fault.await.unwrap_err();

    assert_eq!((known_messages(&store, 9).await, row_count(&store, "sent")), (vec![1], 1));
    store.sweep(time(50)).await.unwrap();
    assert_eq!((known_messages(&store, 9).await, row_count(&store, "sent")), (vec![], 0));
}
