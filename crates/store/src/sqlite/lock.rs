//! Exclusive lock of a store: a locked file next to the database, which also describes its holder.
//!
//! The operating system releases the lock when the process ends for any reason. The file is not
//! deleted: otherwise two processes could lock two different files of the same name.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use latimer_protocol::Timestamp;

use super::OpenError;

/// Lock of an open store. Dropping it releases the lock.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks the database at `path` for this process.
    pub(super) fn acquire(path: &Path, holder: &str) -> Result<Self, OpenError> {
        let lock_path = lock_path(path);
        let io_error = |source| OpenError::Io { path: lock_path.clone(), source };
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&lock_path).map_err(io_error)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // An unreadable description only makes the error less specific.
                let _ = file.read_to_string(&mut text);
                return Err(OpenError::Locked {
                    path: path.into(),
                    holder: LockHolder::parse(&text),
                });
            }
            Err(TryLockError::Error(source)) => return Err(io_error(source)),
        }
        write_holder(&mut file, &LockHolder::for_this_process(holder)).map_err(io_error)?;
        Ok(Self { _file: file })
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
