//! Two processes never share a store: a locked file beside the database says who has it.
//!
//! The operating system frees the lock when its holder is gone, however that came about. The file
//! stays: to remove it would let two holders lock two files of one name.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use latimer_protocol::Timestamp;

use super::OpenError;

/// Held as long as the store is open.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Locks the database at `path` for this process.
    pub(super) fn acquire(path: &Path, holder: &str) -> Result<Self, OpenError> {
        let beside = beside(path);
        let io = |source| OpenError::Io { path: beside.clone(), source };
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&beside).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                // The lock is what counts; who holds it is a courtesy.
                let _ = file.read_to_string(&mut text);
                return Err(OpenError::InUse { path: path.into(), holder: Holder::read(&text) });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        write(&mut file, &Holder::this(holder)).map_err(io)?;
        Ok(Self { _file: file })
    }
}

/// Who has a store open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Its process.
    pub pid: Option<u32>,
    /// Since when.
    pub since: Option<Timestamp>,
    /// What it is, in its own words.
    pub name: String,
}

impl Holder {
    fn this(name: &str) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = i64::try_from(since.as_millis()).ok();
        Self {
            pid: Some(std::process::id()),
            since: since.and_then(|it| Timestamp::from_millis(it).ok()),
            // One line, whatever it was.
            name: name.split(char::is_control).collect::<Vec<_>>().join(" "),
        }
    }

    /// Reads what it can: it may be in the middle of being written.
    fn read(text: &str) -> Self {
        let member = |name| {
            let line = text.lines().filter_map(|line| line.split_once(": "));
            line.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
        };
        Self {
            pid: member("pid").and_then(|it| it.parse().ok()),
            since: member("since").and_then(|it| it.parse().ok()),
            name: member("holder").unwrap_or_default().to_owned(),
        }
    }
}

impl fmt::Display for Holder {
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

fn write(file: &mut File, holder: &Holder) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    let Holder { pid, since, name } = holder;
    if let Some(pid) = pid {
        writeln!(file, "pid: {pid}")?;
    }
    if let Some(since) = since {
        writeln!(file, "since: {since}")?;
    }
    writeln!(file, "holder: {name}")?;
    file.flush()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}
