//! A damaged row is the trouble of its task alone.

use latimer_protocol::{Revision, TaskState};
use latimer_store::{Durability, Error, Query, Sqlite, TaskStore};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::sample::{create, grow, key, open};

/// A store of three tasks, of which the second was damaged by `sql`.
async fn damaged(folder: &TempDir, sql: &str) -> Sqlite {
    let store = open(folder.path(), Durability::Process);
    for id in ["a", "b", "c"] {
        let mut revision = store.append(create(id)).await.unwrap();
        for _ in 0..3 {
            revision = store.append(grow(id, revision, "x")).await.unwrap();
        }
    }
    drop(store);
    let database = Connection::open(folder.path().join("tasks.db")).unwrap();
    assert!(database.execute(sql, []).unwrap() > 0, "{sql}");
    drop(database);
    open(folder.path(), Durability::Process)
}

/// The rows of the second task.
const EVENTS: &str = "place >> 24 = (SELECT number FROM tasks WHERE id = 'b')";

#[tokio::test]
async fn a_damaged_task_is_told_and_the_others_are_well() {
    for (sql, why) in [
        (format!("UPDATE events SET body = x'00' WHERE {EVENTS}"), "expected value"),
        (format!("UPDATE events SET body = '[]' WHERE {EVENTS}"), "0 events where 1 should be"),
        (format!("UPDATE events SET format = 2 WHERE {EVENTS}"), "its format is 2"),
        (format!("DELETE FROM events WHERE {EVENTS} AND place & 3 = 2"), "behind revision 1"),
        (format!("DELETE FROM events WHERE {EVENTS} AND place & 7 = 4"), "end at revision 3"),
        ("UPDATE tasks SET dialect = 77 WHERE id = 'b'".to_owned(), "no dialect 77"),
    ] {
        let folder = TempDir::new().unwrap();
        let sql = sql.replace("body = '[]'", "body = x'5b5d'");
        let store = damaged(&folder, &sql).await;
        match store.load(&key("b")).await {
            Err(Error::Unreadable { task, source, .. }) => {
                assert_eq!(task, "b", "{sql}");
                assert!(source.to_string().contains(why), "{sql}: {source}");
            }
            other => panic!("{sql}: {other:?}"),
        }
        for id in ["a", "c"] {
            let stored = store.load(&key(id)).await.unwrap().expect("it is there");
            assert_eq!(stored.revision, Revision::new(4), "{sql}");
        }
        let listed = store.list(&everything()).await.unwrap();
        let ids: Vec<_> = listed.tasks.iter().map(|it| it.id.as_str()).collect();
        assert_eq!((ids, listed.total), (vec!["c", "b", "a"], 3), "{sql}");
        let taken = store.take_abandoned(1).await.unwrap();
        assert_eq!(taken.len(), 1, "{sql}");
        let taken = store.take_abandoned(1).await.unwrap();
        assert_eq!(taken[0].key, key("c"), "what cannot be read is passed over: {sql}");
        store.append(create("new")).await.unwrap();
    }
}

#[tokio::test]
async fn the_events_of_a_damaged_task_are_told_as_well() {
    let folder = TempDir::new().unwrap();
    let store = damaged(&folder, &format!("UPDATE events SET body = x'00' WHERE {EVENTS}")).await;
    let error = store.events(&key("b"), Revision::START, 10).await.unwrap_err();
    assert!(matches!(error, Error::Unreadable { .. }), "{error}");
    assert_eq!(store.events(&key("a"), Revision::START, 10).await.unwrap().len(), 4);
}

#[tokio::test]
async fn a_task_that_cannot_be_read_is_listed_by_its_header() {
    let folder = TempDir::new().unwrap();
    let store = damaged(&folder, &format!("DELETE FROM events WHERE {EVENTS}")).await;
    let listed = store.list(&everything()).await.unwrap();
    assert_eq!(listed.tasks[1].id, "b");
    assert_eq!(listed.tasks[1].status.state, TaskState::Working);
    assert!(listed.tasks[1].artifacts.is_empty());
}

fn everything() -> Query {
    Query {
        caller: "caller".into(),
        agent: None,
        context: None,
        state: None,
        updated_since: None,
        behind: None,
        limit: 10,
    }
}
