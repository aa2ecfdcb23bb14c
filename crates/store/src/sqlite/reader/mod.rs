//! Reading, beside the writer: each reader sees all that was committed when it began.

mod list;
mod log;
mod sent;
mod task;
mod webhook;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::failure::unavailable;
use super::open;
use crate::Error;

pub(super) use self::list::list;
pub(super) use self::log::events;
pub(super) use self::sent::{answer, key};
pub(super) use self::task::{Loaded, load, load_numbered, locate};
pub(super) use self::webhook::{about, active, dead_letter, dead_letters, webhook, webhooks};

/// How many connections to keep for later. More are opened while more are needed.
const IDLE: usize = 8;

/// How many long reads there may be at once: each has a thread, a connection and its memory.
const LONG: usize = 4;

/// Connections that only read.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    long: Semaphore,
}

impl Readers {
    /// Readers of the database at `path`, which is open for writing.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default(), long: Semaphore::new(LONG) }
    }

    /// Reads on this thread: for what takes microseconds, which is less than it takes to have
    /// another thread do it.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let idle = self.idle().pop();
        let connection = idle.map_or_else(|| open::reader(&self.path), Ok).map_err(unavailable)?;
        let found = read(&connection);
        let mut idle = self.idle();
        if idle.len() < IDLE {
            idle.push(connection);
        }
        found
    }

    /// Reads on a thread where it may take its time. Goes on to the end when it is dropped.
    pub(super) async fn read_long<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let _permit = self.long.acquire().await.map_err(unavailable)?;
        let readers = self.clone();
        let read = tokio::task::spawn_blocking(move || readers.read(read));
        read.await.map_err(unavailable)?
    }

    /// Nothing can panic while this is held.
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
