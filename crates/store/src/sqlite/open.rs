//! Opening the file: whose it is, which version wrote it, and how it is to be written.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{Durability, LockHolder};
use crate::BoxError;

/// Why a store could not be opened. The file is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Somebody has it open.
    #[error("{} is in use by {holder}", path.display())]
    Locked {
        /// The database.
        path: PathBuf,
        /// Who has it.
        holder: LockHolder,
    },
    /// A newer version wrote it.
    #[error(
        "{} was written by a newer version (schema {found}; this one knows up to {supported}): \
         use that version, or another file",
        path.display()
    )]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema that is known.
        supported: u32,
    },
    /// It is a file of something else.
    #[error("{} is not a store of tasks: use another file", path.display())]
    NotATaskStore {
        /// The file.
        path: PathBuf,
    },
    /// A file could not be opened.
    #[error("cannot open {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database could not be opened.
    #[error("cannot open the database {}: {source}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// Why.
        source: BoxError,
    },
}

/// Marks a file as ours: "Latm".
const APPLICATION_ID: i64 = 0x4c61_746d;

/// What brings a database to the next version of its schema, in order. A step never changes once it
/// was released.
const MIGRATIONS: [&str; 4] = [
    include_str!("migrations/0001_tasks.sql"),
    include_str!("migrations/0002_webhooks.sql"),
    include_str!("migrations/0003_shorter_order.sql"),
    include_str!("migrations/0004_notes.sql"),
];

/// The version of the schema that is written.
const SCHEMA_VERSION: u32 = MIGRATIONS.len() as u32;

/// How long to wait for somebody who looks into the file with other tools.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// The bytes of a page: several short tasks fit into one with little to spare, and what many callers
/// append at once is few pages to write.
const PAGE_BYTES: i64 = 8 * 1024;

/// What the writer keeps of the file in memory, in KiB: enough that appends rarely read. The system
/// keeps the rest.
const WRITER_CACHE_KIB: i64 = 8 * 1024;

/// The same for each reader.
const READER_CACHE_KIB: i64 = 2 * 1024;

/// How long the write-ahead log may stay, in bytes.
const WAL_LIMIT_BYTES: i64 = 64 * 1024 * 1024;

/// How many statements a connection keeps ready: more than there are.
const STATEMENT_CACHE_SIZE: usize = 64;

/// Makes the file if there is none, readable by its owner only, and says where it really is, so that
/// two names of one file are one store.
pub(super) fn ensure_database_file(path: &Path) -> Result<PathBuf, OpenError> {
    let io_error = |source| OpenError::Io { path: path.into(), source };
    let mut options = OpenOptions::new();
    // Only a new one: to close a file that is there would free the locks that a store of this
    // process may have on it.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io_error(error)),
        Ok(_) | Err(_) => {}
    }
    std::fs::canonicalize(path).map_err(io_error)
}

/// A database that is open for writing.
pub(super) struct OpenDatabase {
    /// The connection that writes.
    pub(super) writer: Connection,
    /// A connection that moves what was written from the log into the database.
    pub(super) checkpoint_connection: Connection,
    /// The number of this opening.
    pub(super) epoch: i64,
}

/// Opens a database for writing.
pub(super) fn open(path: &Path, durability: Durability) -> Result<OpenDatabase, OpenError> {
    let failed = |error| open_error(path, error);
    let mut writer = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    check_schema(path, &writer)?;
    // The tables first: a new file that is never quite empty and not yet ours cannot be told from
    // somebody else's.
    migrate(&mut writer).map_err(failed)?;
    configure(&writer, durability).map_err(failed)?;
    let epoch = "UPDATE store SET epoch = epoch + 1 RETURNING epoch";
    let epoch = writer.query_row(epoch, [], |row| row.get(0)).map_err(failed)?;
    let checkpoint_connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    configure(&checkpoint_connection, durability).map_err(failed)?;
    Ok(OpenDatabase { writer, checkpoint_connection, epoch })
}

/// A connection that only reads.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    Ok(connection)
}

fn connect(path: &Path, mode: OpenFlags) -> rusqlite::Result<Connection> {
    // Each connection is used by one thread at a time.
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_SIZE);
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // Plans stay what they are: otherwise each new value has its statement prepared again.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Refuses what is not ours, or too new, before anything is written.
fn check_schema(path: &Path, connection: &Connection) -> Result<(), OpenError> {
    let read_pragma =
        |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let read_pragma = |pragma| read_pragma(pragma).map_err(|error| open_error(path, error));
    let (application_id, version) = (read_pragma("application_id")?, read_pragma("user_version")?);
    // Its schema counts its changes.
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

fn configure(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    // With a write-ahead log, FULL waits for the disk at each commit, NORMAL at checkpoints only.
    // Either way what was committed is with the operating system, which outlives the process.
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Process => "NORMAL",
    };
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    // A log that a long reader made grow is cut when it is begun anew.
    connection.pragma_update_and_check(None, "journal_size_limit", WAL_LIMIT_BYTES, |_| Ok(()))?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    // Of a new file; one that is there keeps its own.
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
