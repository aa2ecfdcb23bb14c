//! Opening a store on disk.

use std::fs;

use latimer_store::{Durability, OpenError, Sqlite, SqliteConfig, TaskStore};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::sample::{create, key, open};

#[test]
fn a_store_is_open_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("tasks.db");
    let config = || SqliteConfig { holder: "the\nfirst".to_owned(), ..SqliteConfig::default() };
    let store = Sqlite::open(&path, config()).unwrap();
    let error = Sqlite::open(&path, SqliteConfig::default()).unwrap_err();
    let OpenError::InUse { holder, .. } = &error else { panic!("{error}") };
    let since = holder.since.expect("since when");
    let pid = std::process::id();
    assert!(
        error.to_string().ends_with(&format!("in use by process {pid} (the first) since {since}")),
        "{error}"
    );
    drop(store);
    Sqlite::open(&path, config()).unwrap();
}

#[cfg(unix)]
#[test]
fn two_names_of_a_file_are_one_store() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path(), Durability::Process);
    let other = folder.path().join("other.db");
    std::os::unix::fs::symlink(folder.path().join("tasks.db"), &other).unwrap();
    let error = Sqlite::open(&other, SqliteConfig::default()).unwrap_err();
    assert!(matches!(error, OpenError::InUse { .. }), "{error}");
    drop(store);
}

#[cfg(unix)]
#[test]
fn a_store_is_its_owners() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let _store = open(folder.path(), Durability::Process);
    for name in ["tasks.db", "tasks.db-wal"] {
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_store_of_a_newer_version_is_refused() {
    let folder = TempDir::new().unwrap();
    drop(open(folder.path(), Durability::Process));
    let path = folder.path().join("tasks.db");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = Sqlite::open(&path, SqliteConfig::default()).unwrap_err();
    assert!(matches!(error, OpenError::Newer { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("newer version (schema 99;"), "{error}");
}

#[tokio::test]
async fn a_store_of_an_older_version_is_brought_up_to_date() {
    let folder = TempDir::new().unwrap();
    let store = open(folder.path(), Durability::Process);
    store.append(create("t")).await.unwrap();
    drop(store);
    let path = folder.path().join("tasks.db");
    let old = "DROP TABLE webhooks; DROP TABLE dead_letters; DROP INDEX tasks_by_time;
         CREATE INDEX tasks_by_time ON tasks (caller, updated, id, agent, state, context);
         ALTER TABLE tasks DROP COLUMN note; PRAGMA user_version = 1;";
    Connection::open(&path).unwrap().execute_batch(old).unwrap();
    let store = open(folder.path(), Durability::Process);
    assert!(store.load(&key("t")).await.unwrap().is_some());
    assert_eq!(store.webhooks().active().await.unwrap(), []);
    drop(store);
    let index = "SELECT count(*) FROM pragma_index_info('tasks_by_time')";
    let columns = Connection::open(&path).unwrap().query_row(index, [], |row| row.get::<_, i64>(0));
    assert_eq!(columns, Ok(5), "the order of lists has no ids");
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let folder = TempDir::new().unwrap();
    let text = folder.path().join("text");
    fs::write(&text, "Dear diary,\n".repeat(1_000)).unwrap();
    let foreign = folder.path().join("foreign.db");
    let database = Connection::open(&foreign).unwrap();
    database.execute_batch("CREATE TABLE tasks (number INTEGER)").unwrap();
    drop(database);
    let marked = folder.path().join("marked.db");
    Connection::open(&marked).unwrap().pragma_update(None, "application_id", 7).unwrap();
    for path in [text, foreign, marked] {
        let before = fs::read(&path).unwrap();
        let error = Sqlite::open(&path, SqliteConfig::default()).unwrap_err();
        assert!(matches!(error, OpenError::Foreign { .. }), "{error}");
        assert!(fs::read(&path).unwrap() == before, "{} is as it was", path.display());
    }
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("tasks.db"), "").unwrap();
    let store = open(folder.path(), Durability::Process);
    store.append(create("t")).await.unwrap();
    drop(store);
    let store = open(folder.path(), Durability::Full);
    assert!(store.load(&key("t")).await.unwrap().is_some());
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("nowhere/tasks.db");
    let error = Sqlite::open(path, SqliteConfig::default()).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
}
