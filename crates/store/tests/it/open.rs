//! Tests of opening a SQLite store.

use std::fs;

use latimer_store::{Durability, OpenError, SqliteConfig, SqliteStore, TaskStore};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::fixtures::{create_append, key, open, open_with};

#[test]
fn second_open_reports_lock_holder() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tasks.db");
    let config = || SqliteConfig { holder: "the\nfirst".to_owned(), ..SqliteConfig::default() };
    let store = SqliteStore::open(&path, config()).unwrap();
    let error = SqliteStore::open(&path, SqliteConfig::default()).unwrap_err();
    let OpenError::Locked { holder, .. } = &error else { panic!("{error}") };
    let since = holder.since.expect("the time of the lock");
    let pid = std::process::id();
    assert!(
        error.to_string().contains(&format!("locked by process {pid} (the first) since {since}:")),
        "{error}"
    );
    drop(store);
    open_with(directory.path(), config());
}

#[cfg(unix)]
#[test]
fn symlink_to_open_store_is_locked() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path(), Durability::Process);
    let other = directory.path().join("other.db");
    std::os::unix::fs::symlink(directory.path().join("tasks.db"), &other).unwrap();
    let error = SqliteStore::open(&other, SqliteConfig::default()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
    drop(store);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn store_stays_locked_without_its_lock_file() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tasks.db");
    let lock_path = directory.path().join("tasks.db.lock");
    let store = open(directory.path(), Durability::Process);
    let assert_locked = |change: &str| {
        let error = SqliteStore::open(&path, SqliteConfig::default()).unwrap_err();
        assert!(matches!(error, OpenError::Locked { .. }), "lock file {change}: {error}");
    };
    fs::remove_file(&lock_path).unwrap();
    assert_locked("deleted");
    let other = directory.path().join("other.lock");
    fs::write(&other, "").unwrap();
    fs::rename(&other, &lock_path).unwrap();
    assert_locked("replaced");
    // The refused attempts leave the locks of SQLite in place: other programs cannot delete the
    // write-ahead log, as the last connection to a database does.
    store.append(create_append("t")).await.unwrap();
    let database = Connection::open(&path).unwrap();
    database.query_row("SELECT count(*) FROM tasks", [], |row| row.get::<_, i64>(0)).unwrap();
    drop(database);
    assert!(directory.path().join("tasks.db-wal").exists());
    drop(store);
    let store = open(directory.path(), Durability::Process);
    assert!(store.load(&key("t")).await.unwrap().is_some());
}

#[tokio::test]
async fn missing_key_of_stored_webhooks_is_reported() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("tasks.db");
    drop(open(directory.path(), Durability::Process));
    let insert = "INSERT INTO webhooks (task, id, dialect, seen, attempts, format, config)
         VALUES (1, 'w', 1, 0, 0, 1, x'00')";
    Connection::open(&path).unwrap().execute_batch(insert).unwrap();
    let error = SqliteStore::open(&path, SqliteConfig::default()).unwrap_err();
    assert!(matches!(error, OpenError::MissingKey { .. }), "{error}");
    assert!(error.to_string().contains("tasks.db.key is missing"), "{error}");
    assert!(!directory.path().join("tasks.db.key").exists(), "no new key is created");
    fs::write(directory.path().join("tasks.db.key"), [0; 32]).unwrap();
    open(directory.path(), Durability::Process);
}

#[cfg(unix)]
#[test]
fn store_files_are_readable_only_by_owner() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TempDir::new().unwrap();
    let _store = open(directory.path(), Durability::Process);
    for name in ["tasks.db", "tasks.db-wal", "tasks.db-shm", "tasks.db.lock"] {
        let mode = fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn newer_schema_is_rejected() {
    let directory = TempDir::new().unwrap();
    drop(open(directory.path(), Durability::Process));
    let path = directory.path().join("tasks.db");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = SqliteStore::open(&path, SqliteConfig::default()).unwrap_err();
    assert!(matches!(error, OpenError::NewerSchema { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("newer version (schema 99;"), "{error}");
}

#[tokio::test]
async fn older_schema_is_migrated() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path(), Durability::Process);
    store.append(create_append("t")).await.unwrap();
    drop(store);
    let path = directory.path().join("tasks.db");
    let old = "DROP TABLE webhooks; DROP TABLE dead_letters; DROP INDEX tasks_by_time;
         CREATE INDEX tasks_by_time ON tasks (caller, updated, id, agent, state, context);
         DROP INDEX tasks_interrupted; DROP INDEX tasks_with_work;
         CREATE INDEX tasks_with_work ON tasks (number) WHERE work <> 0;
         ALTER TABLE tasks DROP COLUMN note; PRAGMA user_version = 1;";
    Connection::open(&path).unwrap().execute_batch(old).unwrap();
    let store = open(directory.path(), Durability::Process);
    assert!(store.load(&key("t")).await.unwrap().is_some());
    assert_eq!(store.webhooks().list_active().await.unwrap(), []);
    drop(store);
    let index = "SELECT count(*) FROM pragma_index_info('tasks_by_time')";
    let columns = Connection::open(&path).unwrap().query_row(index, [], |row| row.get::<_, i64>(0));
    assert_eq!(columns, Ok(5), "the list index has no ids");
}

#[test]
fn foreign_file_is_rejected_and_unchanged() {
    let directory = TempDir::new().unwrap();
    let text = directory.path().join("text");
    fs::write(&text, "some text\n".repeat(1_000)).unwrap();
    let foreign = directory.path().join("foreign.db");
    let database = Connection::open(&foreign).unwrap();
    database.execute_batch("CREATE TABLE tasks (number INTEGER)").unwrap();
    drop(database);
    let marked = directory.path().join("marked.db");
    Connection::open(&marked).unwrap().pragma_update(None, "application_id", 7).unwrap();
    for path in [text, foreign, marked] {
        let before = fs::read(&path).unwrap();
        let error = SqliteStore::open(&path, SqliteConfig::default()).unwrap_err();
        assert!(matches!(error, OpenError::NotATaskStore { .. }), "{error}");
        assert!(fs::read(&path).unwrap() == before, "{} is unchanged", path.display());
    }
}

#[tokio::test]
async fn empty_file_is_initialized_as_store() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("tasks.db"), "").unwrap();
    let store = open(directory.path(), Durability::Process);
    store.append(create_append("t")).await.unwrap();
    drop(store);
    let store = open(directory.path(), Durability::Full);
    assert!(store.load(&key("t")).await.unwrap().is_some());
}

#[test]
fn missing_directory_is_io_error() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("missing/tasks.db");
    let error = SqliteStore::open(path, SqliteConfig::default()).unwrap_err();
    assert!(matches!(error, OpenError::Io { .. }), "{error}");
}
