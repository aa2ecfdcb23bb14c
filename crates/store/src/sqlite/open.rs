//! Opening of the database: ownership and schema checks, migrations, connection settings.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Durability, LockHolder, seal};
use crate::BoxError;

/// Error of opening a store. The file is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the store open.
    #[error(
        "{} is locked by {holder}: stop that process or choose another file",
        path.display()
    )]
    Locked {
        /// Path of the database.
        path: PathBuf,
        /// Process that has the store open.
        holder: LockHolder,
    },
    /// The database was written by a newer version.
    #[error(
        "{} was written by a newer version (schema {found}; this version supports up to {supported}): \
         use that version or choose another file",
        path.display()
    )]
    NewerSchema {
        /// Path of the database.
        path: PathBuf,
        /// Schema version of the database.
        found: u32,
        /// Newest supported schema version.
        supported: u32,
    },
    /// The file is not a task store.
    #[error("{} is not a task store: choose another file", path.display())]
    NotATaskStore {
        /// Path of the file.
        path: PathBuf,
    },
    /// The key file is missing, and the database has webhooks that are encrypted with it.
    #[error(
        "the key file {} is missing, and {} contains webhooks that are encrypted with it: \
         restore the key file or choose another database",
        key_path.display(),
        path.display()
    )]
    MissingKey {
        /// Path of the database.
        path: PathBuf,
        /// Path of the key file.
        key_path: PathBuf,
    },
    /// A file could not be opened.
    #[error("cannot open {}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Underlying error.
        source: io::Error,
    },
    /// The database could not be opened.
    #[error("cannot open the database {}: {source}", path.display())]
    Database {
        /// Path of the database.
        path: PathBuf,
        /// Underlying error.
        source: BoxError,
    },
}

/// SQLite application id of a task store: "Latm".
const APPLICATION_ID: i64 = 0x4c61_746d;

/// Migrations to each schema version, in order. A released migration must never change.
const MIGRATIONS: [&str; 5] = [
    include_str!("migrations/0001_tasks.sql"),
    include_str!("migrations/0002_webhooks.sql"),
    include_str!("migrations/0003_shorter_order.sql"),
    include_str!("migrations/0004_notes.sql"),
    include_str!("migrations/0005_held_tasks.sql"),
];

/// Current schema version.
const SCHEMA_VERSION: u32 = MIGRATIONS.len() as u32;

/// Maximum wait for a lock that another program holds on the database.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// Page size of a new database in bytes. Several short tasks fit into a page, and concurrent
/// appends modify few pages.
const PAGE_BYTES: i64 = 8 * 1024;

/// Page cache of the writer in KiB: enough that appends rarely read from the file. The operating
/// system caches the rest.
const WRITER_CACHE_KIB: i64 = 8 * 1024;

/// Page cache of each reader in KiB.
const READER_CACHE_KIB: i64 = 2 * 1024;

/// Size in bytes to which the write-ahead log is truncated when it restarts.
const WAL_LIMIT_BYTES: i64 = 64 * 1024 * 1024;

/// Capacity of the statement cache of a connection: more than there are statements.
const STATEMENT_CACHE_SIZE: usize = 64;

/// Creates the file if it does not exist, readable only by its owner. Returns its canonical path,
/// so that two names of one file share one lock.
pub(super) fn ensure_database_file(path: &Path) -> Result<PathBuf, OpenError> {
    let io_error = |source| OpenError::Io { path: path.into(), source };
    let mut options = OpenOptions::new();
    // Only a new file is opened: closing an existing one would release the locks that another store
    // of this process may hold on it.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io_error(error)),
        Ok(_) | Err(_) => {}
    }
    std::fs::canonicalize(path).map_err(io_error)
}

/// Database connections of the writer.
pub(super) struct OpenDatabase {
    /// Connection of the writer thread.
    pub(super) writer: Connection,
    /// Connection of the checkpoint thread.
    pub(super) checkpoint_connection: Connection,
    /// Number of this opening of the database, which identifies the process in task rows.
    pub(super) epoch: i64,
}

/// Opens a database for writing.
pub(super) fn open(path: &Path, durability: Durability) -> Result<OpenDatabase, OpenError> {
    let failed = |error| open_error(path, error);
    let mut writer = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    check_schema(path, &writer)?;
    // Migrations run first: otherwise a crash could leave a non-empty file without the application
    // id, which would be rejected as a foreign file.
    migrate(&mut writer).map_err(failed)?;
    configure(&writer, durability).map_err(failed)?;
    check_key_file(path, &writer)?;
    let epoch = "UPDATE store SET epoch = epoch + 1 RETURNING epoch";
    let epoch = writer.query_row(epoch, [], |row| row.get(0)).map_err(failed)?;
    let checkpoint_connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    configure(&checkpoint_connection, durability).map_err(failed)?;
    Ok(OpenDatabase { writer, checkpoint_connection, epoch })
}

/// Opens a read-only connection.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(connection)
}

fn connect(path: &Path, mode: OpenFlags) -> rusqlite::Result<Connection> {
    // No mutex is needed: each connection is used by one thread at a time.
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // Query plans must not depend on bound values, or statements are prepared again for new values.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Rejects foreign files and newer schemas before the first write.
fn check_schema(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    let read_pragma =
        |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let read_pragma = |pragma| read_pragma(pragma).map_err(|error| open_error(path, error));
    let (application_id, version) = (read_pragma("application_id")?, read_pragma("user_version")?);
    // A new database has no schema changes.
    if (application_id, version, read_pragma("schema_version")?) == (0, 0, 0) {
        return Ok(());
    }
    if application_id != APPLICATION_ID {
        return Err(OpenError::NotATaskStore { path: path.into() });
    }
    match u32::try_from(version) {
        Ok(found) if found <= SCHEMA_VERSION => Ok(()),
        Ok(found) => {
            Err(OpenError::NewerSchema { path: path.into(), found, supported: SCHEMA_VERSION })
        }
        Err(_) => Err(OpenError::NotATaskStore { path: path.into() }),
    }
}

/// Fails if the database has encrypted rows and no key file. A new key could not decrypt them.
fn check_key_file(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    let has_sealed_rows = "SELECT EXISTS (SELECT 1 FROM webhooks)";
    let has_sealed_rows = connection.query_row(has_sealed_rows, [], |row| row.get(0));
    let key_path = seal::key_path(path);
    let io_error = |source| OpenError::Io { path: key_path.clone(), source };
    match has_sealed_rows.map_err(|error| open_error(path, error))? {
        true if !key_path.try_exists().map_err(io_error)? => {
            Err(OpenError::MissingKey { path: path.into(), key_path })
        }
        true | false => Ok(()),
    }
}

fn configure(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    // With a write-ahead log, FULL syncs at each commit and NORMAL only at checkpoints. In both
    // cases the operating system has the committed data, so it survives a crash of the process.
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Process => "NORMAL",
    };
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    // A log that grew because of a long-running reader is truncated when it restarts.
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_LIMIT_BYTES, |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    // Applies to new files only.
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    let transaction = connection.transaction()?;
    let applied: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let applied = usize::try_from(applied).unwrap_or_default();
    for step in MIGRATIONS.iter().skip(applied) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()
}

fn open_error(path: &Path, error: rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => OpenError::NotATaskStore { path: path.into() },
        _ => OpenError::Database { path: path.into(), source: error.into() },
    }
}
