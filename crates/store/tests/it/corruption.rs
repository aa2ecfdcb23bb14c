//! Tests that a corrupt row affects only its own task.

use latimer_protocol::{Revision, TaskState};
use latimer_store::{
    Durability, Error, IdempotencyKey, IdempotencyRecord, Retention, SqliteConfig, SqliteStore,
    TaskQuery, TaskStore,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::fixtures::{chunk_append, create_append, key, open, open_with, time};

/// Returns a store with three tasks, of which `sql` has corrupted the second.
async fn store_with_corrupt_task(directory: &TempDir, sql: &str) -> SqliteStore {
    let store = open(directory.path(), Durability::Process);
    for id in ["a", "b", "c"] {
        let mut revision = store.append(create_append(id)).await.unwrap();
        for _ in 0..3 {
            revision = store.append(chunk_append(id, revision, "x")).await.unwrap();
        }
    }
    drop(store);
    let database = Connection::open(directory.path().join("tasks.db")).unwrap();
    assert!(database.execute(sql, []).unwrap() > 0, "{sql}");
    drop(database);
    open(directory.path(), Durability::Process)
}

/// SQL condition for the events of the second task.
const EVENTS: &str = "place >> 24 = (SELECT number FROM tasks WHERE id = 'b')";

#[tokio::test]
async fn corrupt_task_is_reported_and_others_stay_readable() {
    for (sql, why) in [
        (format!("UPDATE events SET body = x'00' WHERE {EVENTS}"), "expected value"),
        (format!("UPDATE events SET body = '[]' WHERE {EVENTS}"), "expected 1 events, found 0"),
        (format!("UPDATE events SET format = 2 WHERE {EVENTS}"), "unknown format 2"),
        (format!("DELETE FROM events WHERE {EVENTS} AND place & 3 = 2"), "after revision 1"),
        (format!("DELETE FROM events WHERE {EVENTS} AND place & 7 = 4"), "ends at revision 3"),
        ("UPDATE tasks SET dialect = 77 WHERE id = 'b'".to_owned(), "unknown dialect 77"),
    ] {
        let directory = TempDir::new().unwrap();
        let sql = sql.replace("body = '[]'", "body = x'5b5d'");
        let store = store_with_corrupt_task(&directory, &sql).await;
        match store.load(&key("b")).await {
            Err(Error::Unreadable { task, source, .. }) => {
                assert_eq!(task, "b", "{sql}");
                assert!(source.to_string().contains(why), "{sql}: {source}");
            }
            other => panic!("{sql}: {other:?}"),
        }
        for id in ["a", "c"] {
            let stored = store.load(&key(id)).await.unwrap().expect("the task exists");
            assert_eq!(stored.revision, Revision::new(4), "{sql}");
        }
        let listed = store.list(&query_all()).await.unwrap();
        let ids: Vec<_> = listed.tasks.iter().map(|it| it.id.as_str()).collect();
        assert_eq!((ids, listed.total), (vec!["c", "b", "a"], 3), "{sql}");
        let claimed = store.claim_abandoned(1).await.unwrap();
        assert_eq!(claimed.len(), 1, "{sql}");
        let claimed = store.claim_abandoned(1).await.unwrap();
        assert_eq!(claimed[0].key, key("c"), "corrupt tasks are skipped: {sql}");
        store.append(create_append("new")).await.unwrap();
    }
}

#[tokio::test]
async fn corrupt_single_row_task_is_reported() {
    for (damage, why) in [
        ("body = x'00'", "expected value"),
        ("body = x'5b5d'", "expected 1 events, found 0"),
        ("format = 3", "unknown format 3"),
        ("format = NULL", "ends at revision 0"),
        ("body = NULL", "Invalid type"),
    ] {
        let directory = TempDir::new().unwrap();
        let store = open(directory.path(), Durability::Process);
        for id in ["a", "b", "c"] {
            let mut append = create_append(id);
            append.header.state = TaskState::Completed;
            store.append(append).await.unwrap();
        }
        drop(store);
        let database = Connection::open(directory.path().join("tasks.db")).unwrap();
        let sql = format!("UPDATE tasks SET {damage} WHERE id = 'b'");
        assert_eq!(database.execute(&sql, []), Ok(1), "{sql}");
        drop(database);
        let store = open(directory.path(), Durability::Process);
        let error = store.load(&key("b")).await.unwrap_err();
        assert!(matches!(error, Error::Unreadable { .. }), "{sql}: {error}");
        assert!(error.to_string().contains(why), "{sql}: {error}");
        for id in ["a", "c"] {
            assert!(store.load(&key(id)).await.unwrap().is_some(), "{sql}");
            let events = store.events(&key(id), Revision::START, 10).await.unwrap();
            assert_eq!(events.len(), 1, "{sql}");
        }
        assert_eq!(store.list(&query_all()).await.unwrap().tasks.len(), 3, "{sql}");
    }
}

#[tokio::test]
async fn corrupt_finished_and_idempotency_rows_are_skipped() {
    let directory = TempDir::new().unwrap();
    let retention = Retention { max_tasks: 2, ..Retention::DEFAULT_DISK };
    let reopen = || {
        let config = SqliteConfig { retention: retention.clone(), ..SqliteConfig::default() };
        open_with(directory.path(), config)
    };
    let store = reopen();
    for (number, id) in (1..).zip(["a", "b"]) {
        let mut append = create_append(id);
        append.header.state = TaskState::Completed;
        append.idempotency =
            Some(IdempotencyRecord { key: IdempotencyKey([number; 16]), expires_at: time(100) });
        store.append(append).await.unwrap();
    }
    drop(store);
    let database = Connection::open(directory.path().join("tasks.db")).unwrap();
    for sql in [
        "UPDATE finished SET tasks = x'00' WHERE place = 1",
        "UPDATE sent SET messages = x'0011' WHERE place = 1",
    ] {
        assert_eq!(database.execute(sql, []), Ok(1), "{sql}");
    }
    drop(database);
    let store = reopen();
    assert!(store.find_prior_outcome(&IdempotencyKey([1; 16]), time(1)).await.unwrap().is_none());
    assert!(store.find_prior_outcome(&IdempotencyKey([2; 16]), time(1)).await.unwrap().is_some());
    store.append(create_append("c")).await.unwrap();
    assert!(
        store.load(&key("b")).await.unwrap().is_none(),
        "the next readable candidate was evicted"
    );
    assert_eq!(store.sweep(time(100)).await.unwrap(), 0);
}

#[tokio::test]
async fn reading_events_of_corrupt_task_fails() {
    let directory = TempDir::new().unwrap();
    let store = store_with_corrupt_task(
        &directory,
        &format!("UPDATE events SET body = x'00' WHERE {EVENTS}"),
    )
    .await;
    let error = store.events(&key("b"), Revision::START, 10).await.unwrap_err();
    assert!(matches!(error, Error::Unreadable { .. }), "{error}");
    assert_eq!(store.events(&key("a"), Revision::START, 10).await.unwrap().len(), 4);
}

#[tokio::test]
async fn unreadable_task_is_listed_by_its_header() {
    let directory = TempDir::new().unwrap();
    let store =
        store_with_corrupt_task(&directory, &format!("DELETE FROM events WHERE {EVENTS}")).await;
    let listed = store.list(&query_all()).await.unwrap();
    assert_eq!(listed.tasks[1].id, "b");
    assert_eq!(listed.tasks[1].status.state, TaskState::Working);
    assert!(listed.tasks[1].artifacts.is_empty());
}

fn query_all() -> TaskQuery {
    TaskQuery {
        owner: "caller".into(),
        agent: None,
        excluded_agents: Vec::new(),
        context: None,
        state: None,
        status_changed_since: None,
        after: None,
        limit: 10,
    }
}
