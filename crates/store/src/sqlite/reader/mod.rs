//! Reading, beside the writer: each reader sees all that was committed when it began.

mod list;
mod log;
mod prior_outcome;
mod task;
mod webhook;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::error::unavailable;
use super::open;
use crate::Error;
use crate::sync::lock_unpoisoned;

pub(super) use self::list::list;
pub(super) use self::log::events;
pub(super) use self::prior_outcome::{direct_reply, task_key};
pub(super) use self::task::{LoadedTask, find_agents, load, load_by_number};
pub(super) use self::webhook::{
    active_webhooks, dead_letter, dead_letters, webhook, webhook_associated_data, webhooks,
};

/// How many connections to keep for later. More are opened while more are needed.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// How many long reads there may be at once: each has a thread, a connection and its memory.
const MAX_BLOCKING_READS: usize = 4;

/// Connections that only read.
#[derive(Debug)]
pub(super) struct ReaderPool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    blocking_permits: Semaphore,
}

impl ReaderPool {
    /// Readers of the database at `path`, which is open for writing.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default(), blocking_permits: Semaphore::new(MAX_BLOCKING_READS) }
    }

    /// Reads on this thread: for what takes microseconds, which is less than it takes to have
    /// another thread do it.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let idle = self.idle().pop();
        let connection =
            idle.map_or_else(|| open::open_reader(&self.path), Ok).map_err(unavailable)?;
        let result = read(&connection);
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE_CONNECTIONS {
            idle.push(connection);
        }
        result
    }

    /// Reads on a thread where it may take its time. Goes on to the end when it is dropped.
    pub(super) async fn read_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let _permit = self.blocking_permits.acquire().await.map_err(unavailable)?;
        let pool = self.clone();
        let read = tokio::task::spawn_blocking(move || pool.read(read));
        read.await.map_err(unavailable)?
    }

    /// Nothing can panic while this is held.
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        lock_unpoisoned(&self.idle)
    }
}
