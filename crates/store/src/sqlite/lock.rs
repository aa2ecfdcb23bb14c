//! Exclusive lock of a store: a locked file next to the database, which also describes its holder.
//!
//! The operating system releases the lock when the process ends for any reason. The file is not
//! deleted: otherwise two processes could lock two different files of the same name. On Linux the
//! database itself is locked as well, so that a deleted or replaced lock file admits no second
//! process. There `flock` is independent of the POSIX locks that SQLite uses; on other systems the
//! two kinds conflict.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use latimer_protocol::Timestamp;

use super::OpenError;

/// Lock of an open store. Dropping it releases the lock, and the POSIX locks of SQLite on the
/// database, so all connections must be closed before.
#[derive(Debug)]
pub(super) struct Lock {
    _database: Option<File>,
    _file: File,
}

impl Lock {
    /// Locks the database at `path` for this process.
    pub(super) fn acquire(path: &Path, holder: &str) -> Result<Self, OpenError> {
        let lock_path = lock_path(path);
        let io_error = |source| OpenError::Io { path: lock_path.clone(), source };
        let mut file = open_lock_file(&lock_path).map_err(io_error)?;
        let is_locked = try_lock(&file).map_err(io_error)?;
        let database = match is_locked {
            true => lock_database(path)?,
            false => DatabaseLock::Held,
        };
        let database = match database {
            DatabaseLock::Acquired(database) => Some(database),
            DatabaseLock::Unsupported => None,
            DatabaseLock::Held => {
                let mut text = String::new();
                // An unreadable description only makes the error less specific.
                let _ = file.read_to_string(&mut text);
                let holder = LockHolder::parse(&text);
                return Err(OpenError::Locked { path: path.into(), holder });
            }
        };
        write_holder(&mut file, &LockHolder::for_this_process(holder)).map_err(io_error)?;
        Ok(Self { _database: database, _file: file })
    }
}

/// Result of locking the database file.
enum DatabaseLock {
    /// The lock is held until the file is closed.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux locks the file"))]
    Acquired(File),
    /// The system has no lock that is independent of the locks of SQLite.
    #[cfg_attr(target_os = "linux", expect(dead_code, reason = "Linux has such a lock"))]
    Unsupported,
    /// Another process, or another store of this process, holds the lock.
    Held,
}

#[cfg(target_os = "linux")]
fn lock_database(path: &Path) -> Result<DatabaseLock, OpenError> {
    let io_error = |source| OpenError::Io { path: path.into(), source };
    let database = File::open(path).map_err(io_error)?;
    let result = try_lock(&database);
    match result {
        Ok(true) => Ok(DatabaseLock::Acquired(database)),
        Ok(false) | Err(_) => {
            // Closing the file would release the POSIX locks of another store of this process.
            std::mem::forget(database);
            result.map(|_| DatabaseLock::Held).map_err(io_error)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn lock_database(_path: &Path) -> Result<DatabaseLock, OpenError> {
    Ok(DatabaseLock::Unsupported)
}

/// Opens the lock file. A new one is readable only by its owner.
fn open_lock_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns whether the file was locked. Fails if the system cannot lock it.
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Process that has a store open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockHolder {
    /// Process id.
    pub pid: Option<u32>,
    /// Time at which the store was opened.
    pub since: Option<Timestamp>,
    /// Description from [`SqliteConfig::holder`](crate::SqliteConfig::holder).
    pub name: String,
}

impl LockHolder {
    fn for_this_process(name: &str) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = i64::try_from(since.as_millis()).ok();
        Self {
            pid: Some(std::process::id()),
            since: since.and_then(|it| Timestamp::from_millis(it).ok()),
            // The file has one line per field.
            name: name.split(char::is_control).collect::<Vec<_>>().join(" "),
        }
    }

    /// Parses the fields that are present: the file may be incomplete while it is being written.
    fn parse(text: &str) -> Self {
        let field = |name| {
            let line = text.lines().filter_map(|line| line.split_once(": "));
            line.into_iter().find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        Self {
            pid: field("pid").and_then(|it| it.parse().ok()),
            since: field("since").and_then(|it| it.parse().ok()),
            name: field("holder").unwrap_or_default().to_owned(),
        }
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(out, "process {pid}")?,
            None => out.write_str("another process")?,
        }
        if !self.name.is_empty() {
            write!(out, " ({})", self.name)?;
        }
        match self.since {
            Some(since) => write!(out, " since {since}"),
            None => Ok(()),
        }
    }
}

fn write_holder(file: &mut File, holder: &LockHolder) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    let LockHolder { pid, since, name } = holder;
    if let Some(pid) = pid {
        writeln!(file, "pid: {pid}")?;
    }
    if let Some(since) = since {
        writeln!(file, "since: {since}")?;
    }
    writeln!(file, "holder: {name}")?;
    file.flush()
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}
