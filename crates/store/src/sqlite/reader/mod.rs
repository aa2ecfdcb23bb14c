//! Queries, concurrent with the writer. Each one sees everything committed before it began.
//!
//! | module | contents |
//! | --- | --- |
//! | `task` | tasks: snapshot and later events |
//! | `log` | events |
//! | `list` | lists of tasks |
//! | `prior_outcome` | outcomes of idempotency records |
//! | `webhook` | webhooks and dead letters |

mod list;
mod log;
mod prior_outcome;
mod task;
mod webhook;

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::error::unavailable;
use super::open;
use crate::Error;

pub(super) use self::list::{count_abandoned, list, list_interrupted};
pub(super) use self::log::events;
pub(super) use self::prior_outcome::{direct_reply, task_key};
pub(super) use self::task::{LoadedTask, find_agents, load, load_by_number};
pub(super) use self::webhook::{
    active_webhooks, dead_letter, dead_letters, webhook, webhook_associated_data, webhooks,
};

/// Maximum number of idle connections. More are opened on demand and closed after use.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// Maximum number of concurrent long reads, each of which uses a thread and a connection.
const MAX_BLOCKING_READS: usize = 4;

/// Pool of read-only connections.
#[derive(Debug)]
pub(super) struct ReaderPool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    blocking_permits: Semaphore,
}

impl ReaderPool {
    /// Creates a pool for the database at `path`, which the writer has opened.
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default(), blocking_permits: Semaphore::new(MAX_BLOCKING_READS) }
    }

    /// Runs a query on the current thread. For queries that take microseconds, which is less than
    /// handing them to another thread.
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

    /// Runs a query on a blocking thread. Dropping the future does not abort a query that has
    /// started.
    pub(super) async fn read_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        read: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let _permit = self.blocking_permits.acquire().await.map_err(unavailable)?;
        let pool = self.clone();
        let read = tokio::task::spawn_blocking(move || pool.read(read));
        read.await.map_err(unavailable)?
    }

    /// Locks the idle connections.
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock()
    }
}
